#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

// How long a stop request may take; after that, a further one stops the process by itself.
enum { stop_grace_seconds = 2 };

// Made once and kept, as a handler may be running at any time.
static atomic_int reader = -1;
static atomic_int writer = -1;

// When the pending stop was requested, in seconds; 0 if none is.
static atomic_long stop_asked;

static void note(int number);

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
        // A closed terminal sends SIGHUP itself and through the shell; the second one means nothing new. Nor does a
        // second SIGTSTP while the first is being handled.
        const bool may_come_again = number == SIGHUP || number == SIGTSTP;
        action.sa_flags = may_come_again ? flags & ~(int)SA_RESETHAND : flags;
        if (may_come_again && sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_IGN) {
            continue;
        }
        sigaction(number, &action, NULL);
    }
}

// Handles the stop request, once, whoever is first. Also called by a handler.
static void stop(void) {
    const int number = SIGTSTP;
    act(&number, 1, SIG_DFL, 0);
    if (atomic_exchange(&stop_asked, 0) != 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        // Directed to this thread, so that it has stopped before the next line runs.
        raise(number);
    }
    act(&number, 1, note, SA_RESTART);
}

// True for the only stop request. One that arrives while another is being handled is dropped; if that takes long, the
// other may never be handled, and this one is handled here.
static bool is_first_request(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long moment = (long)now.tv_sec + 1;
    long asked = 0;
    if (atomic_compare_exchange_strong(&stop_asked, &asked, moment)) return true;
    if (moment - asked > stop_grace_seconds) stop();
    return false;
}

static void note(int number) {
    int error = errno;
    if (number != SIGTSTP || is_first_request()) {
        unsigned char byte = (unsigned char)number;
        (void)!write(atomic_load(&writer), &byte, 1);
    }
    errno = error;
}

int cprocess_watch_signals(const int *numbers, int count) {
    int descriptor = atomic_load(&reader);
    if (descriptor < 0) descriptor = open_pipe();
    if (descriptor < 0) return descriptor;
    // Discards the signals of an earlier watcher.
    char old[16];
    while (read(descriptor, old, sizeof old) > 0) {}
    atomic_store(&stop_asked, 0);
    act(numbers, count, note, SA_RESTART | SA_RESETHAND);
    return descriptor;
}

void cprocess_stop(void) { stop(); }

void cprocess_leave_signals(const int *numbers, int count) { act(numbers, count, SIG_DFL, 0); }
