#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CChildProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "supervisor.h"

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

int child_spawn(const struct child_request *request, struct child_handle *handle) {
    int commands[2] = {-1, -1}, reports[2] = {-1, -1}, master = -1, slave = -1, problem = 0;
    if (open_pipe(commands) != 0 || open_pipe(reports) != 0) problem = errno;
    if (problem == 0 && request->kind != CHILD_PLAIN
        && open_terminal(&master, &slave, request->rows, request->columns) != 0)
        problem = errno;
    pid_t pid = -1;
    if (problem == 0) {
        // Nothing may be handled in the new process before it has put the signals right.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = fork();
        if (pid < 0) problem = errno;
        if (pid == 0) supervise(request, slave, commands[0], reports[1]);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
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
