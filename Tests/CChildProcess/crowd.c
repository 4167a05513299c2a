#include <stdlib.h>

// Swift Testing starts all tests at once, some 1,700 of them on as few threads as there are processors: each wait of a
// test then ends behind the work of hundreds of others, and takes seconds that its deadline counts. So few run beside
// each other that a deadline measures the program. Whoever sets the variable has it otherwise.
__attribute__((constructor)) static void run_few_tests_at_once(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "16", 0);
}
