// Starts one program for a test and goes with it: a parent that does job control as a shell would, in a process as
// small as this one, since a fork of the test process copies the tables of all its memory.
//
// child-supervisor KIND DIRECTORY PROGRAM ARGUMENT...: an empty directory is the caller's; the arguments begin with the
// program's name. Standard streams and environment are the program's; the other descriptors are named in the header.
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CChildProcess.h"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

extern char **environ;

struct request {
    int kind;
    const char *directory;
    const char *path;
    char **arguments;
};

static int wake_reader = -1, wake_writer = -1;

static void wake(int signal_number) {
    int saved = errno;
    unsigned char byte = (unsigned char)signal_number;
    (void)!write(wake_writer, &byte, 1);
    errno = saved;
}

static void handle_signal(int signal_number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

static void default_signals(void) {
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP) handle_signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void report(int kind, int value) {
    struct child_record record = {kind, value};
    while (write(CHILD_REPORTS, &record, sizeof record) < 0 && errno == EINTR) {
    }
}

static void close_from(int first) {
#if defined(__linux__)
    if (close_range((unsigned)first, UINT_MAX, 0) == 0) return;
#endif
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < limit; fd++) close(fd);
}

/// Everything written before it has reached the reader when the reader sees it.
static void mark(int kind) {
    char text[] = CHILD_MARK "?\033\\";
    text[sizeof text - 4] = (char)kind;
    size_t sent = 0;
    while (sent < sizeof text - 1) {
        ssize_t count = write(CHILD_TERMINAL, text + sent, sizeof text - 1 - sent);
        if (count < 0 && errno != EINTR) return;
        if (count > 0) sent += (size_t)count;
    }
}

static _Noreturn void become(const struct request *request, int verdict) {
    int problem = 0;
    if (request->kind == CHILD_SESSION_LEADER) {
        if (setsid() < 0 || ioctl(CHILD_TERMINAL, TIOCSCTTY, 0) != 0) problem = errno;
    } else {
        setpgid(0, 0);
        // SIGTTOU is still ignored here, so the job may take the foreground from the background.
        if (request->kind == CHILD_SHELL_JOB && tcsetpgrp(CHILD_TERMINAL, getpgrp()) != 0) problem = errno;
    }
    if (dup2(verdict, 3) < 0) problem = errno;
    fcntl(3, F_SETFD, FD_CLOEXEC);
    close_from(4);
    default_signals();
    if (problem == 0 && request->directory[0] != 0 && chdir(request->directory) != 0) problem = errno;
    if (problem == 0) {
        execve(request->path, request->arguments, environ);
        problem = errno;
    }
    (void)!write(3, &problem, sizeof problem);
    _exit(127);
}

static void follow(const struct request *request, pid_t *child) {
    int status;
    pid_t pid = *child;
    while (*child > 0 && waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid) {
        if (WIFCONTINUED(status)) {
            report(CHILD_REPORT_CONTINUED, 0);
            continue;
        }
        int kind = WIFSTOPPED(status) ? CHILD_REPORT_STOPPED : CHILD_REPORT_EXITED;
        if (kind == CHILD_REPORT_EXITED) *child = 0;
        if (request->kind == CHILD_SHELL_JOB) tcsetpgrp(CHILD_TERMINAL, getpgrp());
        report(kind, kind == CHILD_REPORT_STOPPED ? WSTOPSIG(status) : status);
        if (request->kind != CHILD_PLAIN) mark(kind);
    }
}

static void obey(struct child_record command, pid_t child, pid_t group) {
    switch (command.kind) {
    case CHILD_COMMAND_SIGNAL:
        if (child > 0) kill(child, command.value);
        break;
    case CHILD_COMMAND_SIGNAL_GROUP:
        kill(-group, command.value);
        break;
    case CHILD_COMMAND_FOREGROUND:
        if (child > 0) {
            tcsetpgrp(CHILD_TERMINAL, group);
            kill(-group, SIGCONT);
        }
        break;
    }
}

int main(int argc, char **argv) {
    if (argc < 5) return 126;
    const struct request request = {atoi(argv[1]), argv[2], argv[3], argv + 4};
    close_from(request.kind == CHILD_PLAIN ? CHILD_TERMINAL : CHILD_TERMINAL + 1);
    handle_signal(SIGTTOU, SIG_IGN);
    setsid();
#if defined(__linux__)
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    int ends[2], verdict[2];
    if (pipe(ends) != 0 || pipe(verdict) != 0) _exit(126);
    fcntl(verdict[1], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    wake_reader = ends[0];
    wake_writer = ends[1];
    if (request.kind == CHILD_SHELL_JOB && ioctl(CHILD_TERMINAL, TIOCSCTTY, 0) != 0) {
        report(CHILD_REPORT_FAILED, errno);
        _exit(126);
    }
    handle_signal(SIGCHLD, wake);
    handle_signal(SIGHUP, wake);
    for (int i = 0; i < 4; i++) handle_signal((int[]){SIGINT, SIGQUIT, SIGTSTP, SIGTTIN}[i], SIG_IGN);
    handle_signal(SIGPIPE, SIG_IGN);

    pid_t child = fork();
    if (child == 0) become(&request, verdict[1]);
    const pid_t group = child;
    close(verdict[1]);
    // The streams are the program's alone, so that their readers see its end.
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(nothing, i);
    close(nothing);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int problem = child < 0 ? errno : 0;
    ssize_t count;
    do count = read(verdict[0], &problem, sizeof problem);
    while (count < 0 && errno == EINTR);
    if (problem != 0) {
        report(CHILD_REPORT_FAILED, problem);
        _exit(126);
    }
    report(CHILD_REPORT_STARTED, child);

    struct pollfd waits[2] = {{.fd = CHILD_COMMANDS, .events = POLLIN}, {.fd = wake_reader, .events = POLLIN}};
    for (;;) {
        // Woken by the child's signals; now and then as well, since sanitizers may swallow one.
        if (poll(waits, 2, child > 0 ? 200 : -1) < 0) {
            if (errno != EINTR) break;
            waits[0].revents = 0;
        }
        unsigned char signals[64];
        ssize_t woken = read(wake_reader, signals, sizeof signals);
        for (ssize_t i = 0; i < woken; i++)
            if (signals[i] == SIGHUP && child > 0) kill(-group, SIGHUP);  // as a shell does for its jobs
        follow(&request, &child);
        if (waits[0].revents == 0) continue;
        struct child_record command;
        ssize_t size = read(CHILD_COMMANDS, &command, sizeof command);
        if (size == sizeof command) obey(command, child, group);
        else if (size == 0 || errno != EINTR) break;
    }
    // The test process has let go, or is gone: nothing stays behind.
    if (group > 0) kill(-group, SIGKILL);
    if (child > 0) kill(child, SIGKILL);
    // Orphans of the group are this process's to reap where the system has subreapers.
    while (group > 0 && (waitpid(-group, NULL, 0) > 0 || errno == EINTR)) {
    }
    if (child > 0) waitpid(child, NULL, 0);
    _exit(0);
}
