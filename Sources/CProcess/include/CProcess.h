#ifndef CPROCESS_H
#define CPROCESS_H

#include <sys/types.h>

/// Process calls that Swift lacks, above all ways to start one: fork is not importable, and prctl is variadic. Nor has
/// swift-subprocess 1.0, which runs the shell commands: it sets no parent-death signal, runs none of our code between
/// fork and exec, and leaves no child running, since its calls return when the child has ended.

/// How a process is tied to the one that starts it.
enum cprocess_place {
    /// A child that leads its own process group. On Linux it is sent SIGTERM when the thread that started it ends.
    CPROCESS_CHILD,
    /// In its own session and detached: it survives its parent and its terminal, and no one has to wait for it.
    CPROCESS_DETACHED,
};

/// What to start, and how. The caller owns all memory, which is only read.
struct cprocess_command {
    /// The path of the executable; PATH is not searched.
    const char *path;
    /// The arguments, the name first, ended by NULL.
    char *const *arguments;
    /// The environment, ended by NULL.
    char *const *environment;
    /// The descriptor for standard output and standard error. Standard input is always empty.
    int output_descriptor;
    enum cprocess_place place;
};

/// Starts a process that inherits only its standard descriptors, and no blocked signals or signal handlers. Returns 0
/// and its id, or the errno of the failed fork or exec.
int cprocess_start(const struct cprocess_command *command, pid_t *process);

/// Once this returns, each of these signals is a byte, its number, at the returned descriptor, which does not block and
/// is never closed. A second signal of a kind has its default action. SIGHUP and SIGTSTP are exceptions, which also
/// stay ignored if they are, for nohup: each SIGHUP is a byte, and a SIGTSTP that arrives before `cprocess_stop` has
/// handled an earlier one is dropped, or stops this process at once if that takes more than two seconds. Returns −errno
/// if there is no descriptor.
int cprocess_watch_signals(const int *numbers, int count);

/// Stops this process as an unwatched SIGTSTP would, and returns when it continues; at once if it was stopped already.
void cprocess_stop(void);

/// Restores the default actions of these signals.
void cprocess_leave_signals(const int *numbers, int count);

/// Makes the C library return each block of 512 KiB or more to the system as soon as it is free. By default it stops
/// doing so after the first one, and keeps as much again in each of its arenas. To be called before other threads run;
/// does nothing unless the library is glibc.
void cprocess_return_large_blocks(void);

#endif
