#ifndef CPROCESS_H
#define CPROCESS_H

#include <sys/types.h>

/// What Swift cannot reach of processes, above all ways to start one: fork is not importable, and prctl is variadic.
/// Nor can swift-subprocess 1.0, which runs the shell commands: it sets no parent-death signal and runs no code of ours
/// between fork and exec, and it leaves no child running, since its calls return when the child has ended.

/// How a process is tied to the one that starts it.
enum cprocess_place {
    /// A child at the head of a process group of its own. On Linux it is sent SIGTERM when the thread that starts it
    /// ends.
    CPROCESS_CHILD,
    /// In a session of its own and left to the system: it survives its parent and its terminal, and nobody has to wait
    /// for it.
    CPROCESS_DETACHED,
};

/// What to start, and how. All memory belongs to the caller and is only read.
struct cprocess_command {
    /// The path of the executable; PATH is not searched.
    const char *path;
    /// The arguments, the name first, ended by NULL.
    char *const *arguments;
    /// The environment, ended by NULL.
    char *const *environment;
    /// Where standard output and standard error go. Standard input is always empty.
    int output_descriptor;
    enum cprocess_place place;
};

/// Starts a process that inherits no descriptor but its standard ones, no blocked signal and no signal handler.
/// Returns 0 and its id, or the errno that fork or exec failed with.
int cprocess_start(const struct cprocess_command *command, pid_t *process);

/// From the moment that this returns, each of these signals is a byte, its number, at the descriptor that it returns,
/// which does not block and stays this process's. A second one of a kind finds its standard action again. Two are
/// exceptions, which also stay ignored where they are, as nohup wants it: each SIGHUP is a byte, and a SIGTSTP that
/// comes before `cprocess_stop` has carried out the one before it is dropped, or stops this process at once where that
/// takes more than two seconds. Returns −errno when there is no descriptor.
int cprocess_watch_signals(const int *numbers, int count);

/// Stops this process as the SIGTSTP that was heard does where nobody watches, and returns when it runs again. Returns
/// at once where that has stopped it already.
void cprocess_stop(void);

/// Gives these signals their standard action again.
void cprocess_leave_signals(const int *numbers, int count);

/// Has the C library give each block of 512 KiB or more back to the system as soon as it is free. By itself it stops
/// doing so after the first one, and holds as much again in each of its arenas. To be called before other threads run;
/// does nothing where the library is another one than glibc.
void cprocess_return_large_blocks(void);

#endif
