/* base.c - what a broken invariant does: say where, then abort. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

void base_check_failed(const char *expr, const char *file, int line, const char *func)
{
    fprintf(stderr, "CHECK failed: %s, in %s at %s:%d\n", expr, func, file, line);
    fflush(stderr);
    abort();
}
