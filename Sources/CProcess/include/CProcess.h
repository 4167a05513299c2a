#ifndef CPROCESS_H
#define CPROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/// Starting a process in ways that Swift cannot reach: fork is not importable, and prctl is variadic.

/// What to start, and how. All memory belongs to the caller and is only read.
struct cprocess_command {
    /// The path of the executable; PATH is not searched.
    const char *path;
    /// The arguments, the name first, ended by NULL.
    char *const *arguments;
    /// The environment, ended by NULL.
    char *const *environment;
    /// Where standard output goes; −1 for nowhere. Standard input is always empty.
    int output_descriptor;
    /// Where standard error goes; −1 for nowhere.
    int error_descriptor;
    /// Start it in a session of its own and leave it to the system: it survives its parent and its terminal, and
    /// nobody has to wait for it.
    bool is_detached;
    /// Start it in a session of its own, and so in a process group of its own, without the terminal: not even
    /// /dev/tty leads there. It stays a child. Implied by is_detached.
    bool leads_session;
    /// Have it sent SIGTERM when the thread that starts it ends (Linux; elsewhere nothing happens).
    /// Has no effect together with is_detached.
    bool dies_with_parent;
};

/// Starts a process that inherits no descriptor but its standard ones, no blocked signal and no signal handler.
/// Returns 0 and its id, or the errno that fork or exec failed with.
int cprocess_start(const struct cprocess_command *command, pid_t *process);

#endif
