#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

// The child's report to its parent: its id if there is a process between them, then the errno of a failed exec. A
// successful exec closes the pipe without a report.
struct report {
    pid_t process;
    int error;
};

// Only async-signal-safe functions may run between fork and exec: another thread may have held any lock.

static void close_from(int first, int limit) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) return;
#endif
    for (int descriptor = first; descriptor < limit; descriptor++) close(descriptor);
}

static void report_and_exit(int pipe_end, int error) {
    struct report report = {0, error};
    while (write(pipe_end, &report, sizeof report) < 0 && errno == EINTR) {}
    _exit(127);
}

static void become(const struct cprocess_command *command, int null_end, int pipe_end, int limit, pid_t parent) {
    (void)parent;
    // The command's own children are in that group too, so that signals reach them.
    if (command->place == CPROCESS_CHILD) setpgid(0, 0);
#ifdef __linux__
    if (command->place != CPROCESS_DETACHED) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(127);
    }
#endif
    struct sigaction standard;
    standard.sa_handler = SIG_DFL;
    standard.sa_flags = 0;
    sigemptyset(&standard.sa_mask);
    for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    int output = command->output_descriptor;
    // All three sources are above the standard descriptors, so no dup2 overwrites one that is still needed.
    if (dup2(null_end, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || dup2(pipe_end, 3) < 0) {
        report_and_exit(pipe_end, errno);
    }
    fcntl(3, F_SETFD, FD_CLOEXEC);
    close_from(4, limit);
    execve(command->path, command->arguments, command->environment);
    report_and_exit(3, errno);
}

// A copy of the descriptor above 3, closed on exec.
static int raised(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
}

int cprocess_start(const struct cprocess_command *command, pid_t *process) {
    int ends[2] = {-1, -1}, null_end = -1, output_end = -1, error = 0;
    struct cprocess_command prepared = *command;
    int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened < 0) return errno;
    null_end = raised(opened);
    close(opened);
    if (null_end < 0) return errno;
    output_end = prepared.output_descriptor = raised(command->output_descriptor);
    if (output_end < 0) {
        error = errno;
        goto done;
    }
    if (pipe(ends) < 0) {
        error = errno;
        goto done;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    int write_end = raised(ends[1]);
    if (write_end < 0) {
        error = errno;
        goto done;
    }
    close(ends[1]);
    ends[1] = write_end;

    long limit = sysconf(_SC_OPEN_MAX);
    if (limit < 256 || limit > 65536) limit = 65536;
    pid_t parent = getpid();
    // None of the parent's handlers may run in the child before they are reset.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        if (prepared.place == CPROCESS_DETACHED) {
            if (setsid() < 0) report_and_exit(ends[1], errno);
            pid_t grandchild = fork();
            if (grandchild < 0) report_and_exit(ends[1], errno);
            if (grandchild > 0) {
                struct report report = {grandchild, 0};
                while (write(ends[1], &report, sizeof report) < 0 && errno == EINTR) {}
                _exit(0);
            }
        }
        become(&prepared, null_end, ends[1], (int)limit, parent);
    }
    error = child < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) goto done;

    close(ends[1]);
    ends[1] = -1;
    pid_t started = prepared.place == CPROCESS_DETACHED ? 0 : child;
    struct report report;
    ssize_t length;
    // Reports are smaller than PIPE_BUF, so each arrives in one piece.
    while ((length = read(ends[0], &report, sizeof report)) != 0) {
        if (length < 0 && errno == EINTR) continue;
        if (length != (ssize_t)sizeof report) break;
        if (report.process > 0) started = report.process;
        if (report.error) error = report.error;
    }
    if (prepared.place == CPROCESS_DETACHED || error) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    }
    if (!error && started <= 0) error = ECHILD;
    if (!error) *process = started;
done:
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    if (output_end >= 0) close(output_end);
    close(null_end);
    return error;
}
