// Starting programs for tests, under a supervisor that outlives neither the program nor the test run.
//
// The supervisor, a program of its own, gives what swift-subprocess 1.0 does not: a controlling terminal, a parent that
// does job control as a shell would, and a promise that no program is left behind when the test process dies without
// cleaning up.
#pragma once
#include <stdint.h>
#include <sys/types.h>

enum {
    /// Standard streams as given; a process group of its own; no terminal.
    CHILD_PLAIN = 0,
    /// A job in the foreground of a terminal whose session leader, as a shell would be, is the supervisor.
    CHILD_SHELL_JOB = 1,
    /// Leads the terminal's session itself, as a program does that a terminal emulator started directly.
    CHILD_SESSION_LEADER = 2,
};

/// One report from the supervisor, or one command to it.
struct child_record {
    int32_t kind;
    int32_t value;
};

enum {
    CHILD_REPORT_STARTED = 'P',    // value: process id
    CHILD_REPORT_FAILED = 'E',     // value: errno of what could not be done
    CHILD_REPORT_STOPPED = 'S',    // value: signal
    CHILD_REPORT_CONTINUED = 'C',  // value: 0
    CHILD_REPORT_EXITED = 'X',     // value: status of waitpid
};

enum {
    CHILD_COMMAND_SIGNAL = 's',        // value: signal, to the process
    CHILD_COMMAND_SIGNAL_GROUP = 'g',  // value: signal, to its process group
    CHILD_COMMAND_FOREGROUND = 'f',    // what fg does
};

/// Written to the terminal behind the last output before a stop or an exit, followed by the report's kind and ESC \.
#define CHILD_MARK "\033_parley-child:"

/// The supervisor's descriptors beside the program's streams; the terminal is one where the program has one.
enum { CHILD_COMMANDS = 3, CHILD_REPORTS = 4, CHILD_TERMINAL = 5 };

struct child_request {
    const char *supervisor;  // the executable of that name
    const char *path;  // absolute
    char *const *arguments;
    char *const *environment;
    const char *directory;  // NULL: the caller's
    int kind;
    int streams[3];  // for CHILD_PLAIN
    uint16_t rows, columns;
};

struct child_handle {
    pid_t supervisor;
    pid_t process;
    int terminal;  // the terminal's own end, or -1
    int commands;
    int reports;
};

/// Returns 0, or an errno value.
int child_spawn(const struct child_request *request, struct child_handle *handle);

/// Waits for the supervisor, whose command pipe must have been closed, or for another child.
void child_reap(pid_t child);

/// Forks a process that has a copy of every descriptor, as each new process has before its program begins, and that
/// stays so until `release` is closed. Returns its id for `child_reap`, or -1 with errno.
pid_t child_hold(int *release);

/// Returns 0, or an errno value.
int child_resize(int terminal, uint16_t rows, uint16_t columns);

int child_exited(int status);
int child_exit_code(int status);
int child_term_signal(int status);
