#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

// Made once and kept: a handler may be running whenever anything is closed.
static atomic_int reader = -1;
static atomic_int writer = -1;

static void note(int number) {
    int error = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(atomic_load(&writer), &byte, 1);
    errno = error;
}

static int open_pipe(void) {
    int ends[2];
    if (pipe(ends) < 0) return -errno;
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
    }
    atomic_store(&writer, ends[1]);
    atomic_store(&reader, ends[0]);
    return ends[0];
}

static void act(const int *numbers, int count, void (*handler)(int), int flags) {
    struct sigaction action;
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < count; index++) {
        struct sigaction present;
        const int number = numbers[index];
        // A closed terminal sends SIGHUP by its own way and by the shell's: the second one asks for nothing new.
        action.sa_flags = number == SIGHUP ? flags & ~(int)SA_RESETHAND : flags;
        const bool may_be_ignored = number == SIGHUP || number == SIGTSTP;
        if (may_be_ignored && sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_IGN) {
            continue;
        }
        sigaction(number, &action, NULL);
    }
}

int cprocess_watch_signals(const int *numbers, int count) {
    int descriptor = atomic_load(&reader);
    if (descriptor < 0) descriptor = open_pipe();
    if (descriptor < 0) return descriptor;
    // What came for an earlier watcher is not for this one.
    char old[16];
    while (read(descriptor, old, sizeof old) > 0) {}
    act(numbers, count, note, SA_RESTART | SA_RESETHAND);
    return descriptor;
}

void cprocess_stop(void) {
    const int number = SIGTSTP;
    act(&number, 1, SIG_DFL, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    // Directed to this thread, so that it has stopped before the next line runs.
    raise(number);
    act(&number, 1, note, SA_RESTART | SA_RESETHAND);
}

void cprocess_leave_signals(const int *numbers, int count) { act(numbers, count, SIG_DFL, 0); }
