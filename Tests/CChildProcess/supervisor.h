#pragma once
#include <pthread.h>
#include <signal.h>

#include "CChildProcess.h"

/// Runs in the forked process and does not return. Calls only what is safe after fork in a process with threads.
_Noreturn void supervise(const struct child_request *request, int terminal, int commands, int reports);
