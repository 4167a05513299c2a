#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CChildProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int close_on_exec(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC); }

static int open_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    close_on_exec(ends[0]);
    close_on_exec(ends[1]);
    return 0;
}

static void close_all(const int *descriptors, int count) {
    for (int i = 0; i < count; i++)
        if (descriptors[i] >= 0) close(descriptors[i]);
}

static int open_terminal(int *master, int *slave, uint16_t rows, uint16_t columns) {
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0) return -1;
    close_on_exec(*master);
    if (grantpt(*master) != 0 || unlockpt(*master) != 0) return -1;
#if defined(__linux__)
    char name[128];
    if (ptsname_r(*master, name, sizeof name) != 0) return -1;
#else
    const char *name = ptsname(*master);
    if (name == NULL) return -1;
#endif
    *slave = open(name, O_RDWR | O_NOCTTY);
    if (*slave < 0) return -1;
    close_on_exec(*slave);
#if defined(IUTF8)
    struct termios modes;
    if (tcgetattr(*slave, &modes) == 0) {
        modes.c_iflag |= IUTF8;
        tcsetattr(*slave, TCSANOW, &modes);
    }
#endif
    return child_resize(*slave, rows, columns) == 0 ? 0 : -1;
}

/// The first of the descriptors that no standard stream and none of the supervisor's can be.
enum { ABOVE_ALL = 10 };

static int start_supervisor(
    const struct child_request *request, int terminal, int commands, int reports, pid_t *supervisor) {
    const int *streams = request->kind == CHILD_PLAIN ? request->streams : (int[]){terminal, terminal, terminal};
    const int sources[6] = {streams[0], streams[1], streams[2], commands, reports, terminal};
    const int count = request->kind == CHILD_PLAIN ? CHILD_TERMINAL : CHILD_TERMINAL + 1;
    int arguments = 0, problem = 0, raised[6] = {-1, -1, -1, -1, -1, -1};
    while (request->arguments[arguments] != NULL) arguments++;
    char kind[12];
    snprintf(kind, sizeof kind, "%d", request->kind);
    const char *words[4 + arguments + 1];
    words[0] = request->supervisor;
    words[1] = kind;
    words[2] = request->directory == NULL ? "" : request->directory;
    words[3] = request->path;
    memcpy(words + 4, request->arguments, sizeof(char *) * (size_t)(arguments + 1));

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < count && problem == 0; i++) {
        // First out of the way of the places, then into place.
        raised[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
        problem = raised[i] < 0 ? errno : posix_spawn_file_actions_adddup2(&actions, raised[i], i);
    }
    // Nothing may be handled in the new process before it has put the signals right.
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (problem == 0)
        problem = posix_spawn(
            supervisor, request->supervisor, &actions, &attributes, (char *const *)words, request->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close_all(raised, 6);
    return problem;
}

int child_spawn(const struct child_request *request, struct child_handle *handle) {
    int commands[2] = {-1, -1}, reports[2] = {-1, -1}, master = -1, slave = -1, problem = 0;
    if (open_pipe(commands) != 0 || open_pipe(reports) != 0) problem = errno;
    if (problem == 0 && request->kind != CHILD_PLAIN
        && open_terminal(&master, &slave, request->rows, request->columns) != 0)
        problem = errno;
    pid_t pid = -1;
    if (problem == 0) problem = start_supervisor(request, slave, commands[0], reports[1], &pid);
    close_all((int[]){commands[0], reports[1], slave}, 3);
    struct child_record first = {0, 0};
    if (problem == 0) {
        ssize_t count;
        do count = read(reports[0], &first, sizeof first);
        while (count < 0 && errno == EINTR);
        if (count != sizeof first) problem = EPIPE;
        if (first.kind == CHILD_REPORT_FAILED) problem = first.value;
    }
    if (problem != 0) {
        close_all((int[]){commands[1], reports[0], master}, 3);
        if (pid > 0) child_reap(pid);
        return problem;
    }
    *handle = (struct child_handle){pid, first.value, master, commands[1], reports[0]};
    return 0;
}

void child_reap(pid_t child) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

pid_t child_hold(int *release) {
    int ends[2];
    if (open_pipe(ends) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        char byte;
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        _exit(0);
    }
    close(ends[0]);
    if (pid < 0) close(ends[1]);
    *release = ends[1];
    return pid;
}

int child_resize(int terminal, uint16_t rows, uint16_t columns) {
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    return ioctl(terminal, TIOCSWINSZ, &size) == 0 ? 0 : errno;
}

int child_exited(int status) { return WIFEXITED(status); }
int child_exit_code(int status) { return WEXITSTATUS(status); }
int child_term_signal(int status) { return WTERMSIG(status); }
