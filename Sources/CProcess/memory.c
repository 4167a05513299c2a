#include "CProcess.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

void cprocess_return_large_blocks(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}
