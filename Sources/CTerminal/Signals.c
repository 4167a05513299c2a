// Everything that runs in a signal handler. Only async-signal-safe calls: write, tcsetattr, tcflush, poll, sigaction,
// raise, pthread_kill, alarm, clock_gettime and their like.
//
// A signal that asks for the end or for a stop is handed to the loop through a pipe, and an alarm is set: if the loop
// is blocked, in a write to a stalled terminal for instance, the handler acts instead. A crash is handled at once. Only
// the session's own thread touches the terminal, so that no half-written frame can follow the restore.

#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1

#include "CTerminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { string_capacity = 1024, loop_grace_seconds = 3, signal_limit = 64 };

// Faults, and other signals whose default action ends the process.
static const int crash_signals[] = {SIGSEGV, SIGABRT, SIGILL,  SIGTRAP, SIGBUS,  SIGFPE,
                                    SIGSYS,  SIGPIPE, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2};
static const int death_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
static const int own_signals[] = {SIGTSTP, SIGCONT, SIGWINCH, SIGALRM};

static struct sigaction previous_actions[signal_limit];
static bool installed[signal_limit];
static pthread_t session_thread;
static volatile sig_atomic_t has_session_thread;

static int wake_read = -1;
static int wake_write = -1;

static struct termios outside_modes;
static struct termios inside_modes;
static volatile sig_atomic_t has_outside_modes;
static uint8_t restore_string[string_capacity];
static uint8_t enter_string[string_capacity];
static volatile size_t restore_length;
static volatile size_t enter_length;

static atomic_bool active;
static atomic_bool takes_keys;
static atomic_int events;
static atomic_int pending_death;
static atomic_bool pending_stop;
static atomic_bool stopping;
static struct timespec death_time;

static int captured_read = -1;
static int real_errors = -1;

// MARK: writing

static bool can_write(int fd, int milliseconds) {
    struct pollfd item = {.fd = fd, .events = POLLOUT};
    return poll(&item, 1, milliseconds) == 1 && (item.revents & POLLOUT) != 0;
}

static void write_all(int fd, const uint8_t *bytes, size_t count) {
    // A terminal that no one reads would keep the process from ending, so its queued output is discarded.
    if (!can_write(fd, 100)) {
        tcflush(fd, TCOFLUSH);
        if (!can_write(fd, 0)) {
            return;
        }
    }
    while (count > 0) {
        const ssize_t written = write(fd, bytes, count);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (written < 0 && errno != EINTR) {
            return;
        }
    }
}

static void replay_errors(void) {
    if (captured_read < 0 || real_errors < 0) {
        return;
    }
    uint8_t buffer[2048];
    for (int i = 0; i < 32; i++) {
        const ssize_t count = read(captured_read, buffer, sizeof buffer);
        if (count <= 0) {
            return;
        }
        write_all(real_errors, buffer, (size_t)count);
    }
}

/// Leaves the screen, once. SIGTTOU is blocked because tcsetattr would stop a background process.
static void restore_terminal(void) {
    if (!atomic_exchange(&active, false)) {
        return;
    }
    sigset_t background, before;
    sigemptyset(&background);
    sigaddset(&background, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &background, &before);
    tcgetattr(STDIN_FILENO, &inside_modes);
    write_all(STDOUT_FILENO, restore_string, restore_length);
    tcflush(STDIN_FILENO, TCIFLUSH);
    if (has_outside_modes) {
        tcsetattr(STDIN_FILENO, TCSANOW, &outside_modes);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void notify(int event) {
    atomic_fetch_or(&events, event);
    const uint8_t byte = 0;
    // A full pipe already wakes the loop.
    (void)!write(wake_write, &byte, 1);
}

// MARK: ending and stopping

static void set_action(int number, struct sigaction action) {
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void set_unblocked(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void cterminal_die(int number) {
    restore_terminal();
    replay_errors();
    set_action(number, (struct sigaction){.sa_handler = SIG_DFL});
    set_unblocked(number);
    raise(number);
    _exit(128 + number);
}

static bool is_orphaned(void) {
    const pid_t parent = getppid();
    const pid_t parent_group = getpgid(parent);
    return parent <= 1 || parent_group < 0 || parent_group == getpgrp() || getsid(parent) != getsid(0);
}

static void handle_signal(int number, siginfo_t *info, void *context);
static const struct sigaction signal_action = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

bool cterminal_can_stop(void) {
    atomic_store(&pending_stop, false);
    if (atomic_load(&pending_death) == 0) {
        alarm(0);
    }
    return !is_orphaned();
}

bool cterminal_stop_is_pending(void) { return atomic_load(&pending_stop); }

void cterminal_stop(bool whole_group) {
    atomic_store(&stopping, true);
    if (whole_group) {
        set_action(SIGTSTP, (struct sigaction){.sa_handler = SIG_IGN});
        kill(0, SIGTSTP);
    }
    // Directed to this thread, so that it has stopped before the next line runs.
    set_action(SIGTSTP, (struct sigaction){.sa_handler = SIG_DFL});
    set_unblocked(SIGTSTP);
    raise(SIGTSTP);
    set_action(SIGTSTP, signal_action);
    atomic_store(&stopping, false);
}

/// Passes a signal that another thread has received on to the session's thread; false if it did not.
static bool passed_on(int number) {
    if (!has_session_thread || pthread_equal(pthread_self(), session_thread)) {
        return false;
    }
    return pthread_kill(session_thread, number) == 0;
}

// MARK: handlers

static void handle_crash(int number, siginfo_t *info, void *context) {
    (void)context;
    const int error = errno;
    restore_terminal();
    replay_errors();
    // The earlier handler (a debugger's, the runtime's reporter, usually the default) has the last word.
    sigaction(number, &previous_actions[number], NULL);
    errno = error;
    // On return a fault recurs where it happened; a signal that was sent has to be raised again.
    if (info == NULL || info->si_code <= 0) {
        set_unblocked(number);
        raise(number);
    }
}

/// Whether the signal comes from a key pressed while the terminal's modes were not the session's: on the way into a
/// stop or back from one. In the session's modes the same key is input.
static bool was_key_for_others(int number, const siginfo_t *info) {
    if (number != SIGINT && number != SIGQUIT) {
        return false;
    }
#ifdef SI_KERNEL
    const bool is_key = info->si_code == SI_KERNEL;
#else
    const bool is_key = info->si_pid == 0;
#endif
    if (!is_key) {
        return false;
    }
    if (!atomic_load(&active) || !atomic_load(&takes_keys)) {
        return true;
    }
    // By now the session has turned these signals off; if they are on, another program has changed the modes.
    struct termios modes;
    return tcgetattr(STDIN_FILENO, &modes) == 0 && (modes.c_lflag & ISIG) == 0;
}

static void take_death(int number, siginfo_t *info) {
    // When a terminal closes, SIGHUP may come from the kernel and again from the shell, some time apart; this is not a
    // person asking twice.
    if (number == SIGHUP && atomic_load(&pending_death) != 0) {
        return;
    }
    if (!atomic_load(&active) && !has_session_thread) {
        cterminal_die(number);
    }
    // Checked first, because a signal that is passed on loses its origin and arrives when the keys are the session's
    // again.
    if (was_key_for_others(number, info) || passed_on(number)) {
        return;
    }
    if (!atomic_load(&active) && (number == SIGINT || number == SIGQUIT)) {
        // Another program has the terminal, and a key pressed there is meant for it.
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (atomic_load(&pending_death) == 0) {
        death_time = now;
        atomic_store(&pending_death, number);
        notify(CTERMINAL_EVENT_DEATH);
        alarm(loop_grace_seconds);
    } else {
        // Some programs send the signal twice in quick succession; a person who asks again takes longer.
        const int64_t elapsed =
            (int64_t)(now.tv_sec - death_time.tv_sec) * 1000 + (now.tv_nsec - death_time.tv_nsec) / 1000000;
        if (elapsed >= 250) {
            cterminal_die(number);
        }
    }
}

static void take_stop(void) {
    if (atomic_load(&active)) {
        atomic_store(&pending_stop, true);
        notify(CTERMINAL_EVENT_STOP);
        if (atomic_load(&pending_death) == 0) {
            alarm(loop_grace_seconds);
        }
    } else if (cterminal_can_stop()) {
        cterminal_stop(false);
    }
}

static void stop_without_loop(void) {
    if (!cterminal_can_stop() || !atomic_load(&active)) {
        return;
    }
    restore_terminal();
    cterminal_stop(false);
    // In the background this stops the process again, until the shell gives it the terminal.
    tcsetattr(STDIN_FILENO, TCSANOW, &inside_modes);
    write_all(STDOUT_FILENO, enter_string, enter_length);
    atomic_store(&active, true);
    atomic_fetch_and(&events, ~CTERMINAL_EVENT_STOP);
    notify(CTERMINAL_EVENT_CONTINUED);
}

static void take_alarm(void) {
    const int death = atomic_load(&pending_death);
    if (death != 0) {
        cterminal_die(death);
    }
    if (atomic_load(&pending_stop)) {
        stop_without_loop();
    }
}

static void handle_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    const int error = errno;
    if (number == SIGWINCH) {
        notify(CTERMINAL_EVENT_RESIZED);
    } else if (number == SIGCONT) {
        if (!atomic_load(&stopping)) {
            notify(CTERMINAL_EVENT_CONTINUED);
        }
    } else if (number != SIGTSTP && number != SIGALRM) {
        take_death(number, info);
    } else if (!passed_on(number)) {
        if (number == SIGTSTP) {
            take_stop();
        } else {
            take_alarm();
        }
    }
    errno = error;
}

static void restore_at_exit(void) {
    restore_terminal();
    replay_errors();
}

// MARK: the session's side

bool cterminal_make_pipe(int ends[2]) {
    if (pipe(ends) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFL, fcntl(ends[i], F_GETFL) | O_NONBLOCK);
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static void take_signal(int number, struct sigaction action, bool respect_ignored) {
    sigaction(number, NULL, &previous_actions[number]);
    if (respect_ignored && previous_actions[number].sa_handler == SIG_IGN) {
        return;
    }
    set_action(number, action);
    set_unblocked(number);
    installed[number] = true;
}

int cterminal_install(void) {
    if (wake_read < 0) {
        int ends[2];
        if (!cterminal_make_pipe(ends)) {
            return -1;
        }
        wake_read = ends[0];
        wake_write = ends[1];
        atexit(restore_at_exit);
        // After a stack overflow the handler has no other stack to run on.
        const size_t size = 64 * 1024;
        stack_t current;
        if (sigaltstack(NULL, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0) {
            stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
            if (stack.ss_sp != NULL) {
                sigaltstack(&stack, NULL);
            }
        }
    }
    session_thread = pthread_self();
    has_session_thread = 1;
    has_outside_modes = tcgetattr(STDIN_FILENO, &outside_modes) == 0;
    const struct sigaction crash_action = {.sa_sigaction = handle_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof crash_signals / sizeof *crash_signals; i++) {
        take_signal(crash_signals[i], crash_action, true);
    }
    for (size_t i = 0; i < sizeof death_signals / sizeof *death_signals; i++) {
        take_signal(death_signals[i], signal_action, true);
    }
    for (size_t i = 0; i < sizeof own_signals / sizeof *own_signals; i++) {
        take_signal(own_signals[i], signal_action, false);
    }
    return wake_read;
}

void cterminal_uninstall(bool ends_process) {
    if (ends_process && atomic_load(&pending_death) == 0 && installed[SIGHUP]) {
        // SIGHUP must never have its default action, which would end the process before its work is done.
        previous_actions[SIGHUP] = (struct sigaction){.sa_handler = SIG_IGN};
    }
    // A pending death keeps its handler and the alarm, so that a shutdown that hangs is still ended.
    const int death = atomic_load(&pending_death);
    for (int number = 1; number < signal_limit; number++) {
        const bool watched = death != 0 && (number == SIGALRM || number == death);
        if (installed[number] && !watched) {
            sigaction(number, &previous_actions[number], NULL);
            installed[number] = false;
        }
    }
    has_session_thread = 0;
}

bool cterminal_set_strings(const uint8_t *restore, size_t restore_count, const uint8_t *enter, size_t enter_count) {
    if (restore_count > string_capacity || enter_count > string_capacity) {
        return false;
    }
    memcpy(restore_string, restore, restore_count);
    memcpy(enter_string, enter, enter_count);
    restore_length = restore_count;
    enter_length = enter_count;
    return true;
}

void cterminal_set_active(bool value) {
    atomic_store(&takes_keys, value);
    atomic_store(&active, value);
}

void cterminal_stop_taking_keys(void) { atomic_store(&takes_keys, false); }

int cterminal_take_events(void) {
    uint8_t buffer[64];
    while (read(wake_read, buffer, sizeof buffer) > 0) {
    }
    return atomic_exchange(&events, 0);
}

int cterminal_pending_death(void) { return atomic_load(&pending_death); }

void cterminal_extend_grace(unsigned seconds) { alarm(seconds); }

void cterminal_capture_errors(void) {
    int ends[2];
    if (captured_read >= 0 || !isatty(STDERR_FILENO) || !cterminal_make_pipe(ends)) {
        return;
    }
    real_errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (real_errors < 0) {
        close(ends[0]);
        close(ends[1]);
        return;
    }
    captured_read = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
}

void cterminal_release_errors(void) {
    if (captured_read < 0) {
        return;
    }
    dup2(real_errors, STDERR_FILENO);
    replay_errors();
    close(captured_read);
    close(real_errors);
    captured_read = -1;
    real_errors = -1;
}
