/* base.c - reports a failed CHECK on stderr and aborts. It uses no logger, because the logger may
 * be what is broken. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

void base_check_failed(const char *expr, const char *file, int line, const char *func)
{
    fprintf(stderr, "CHECK failed: %s, in %s at %s:%d\n", expr, func, file, line);
    fflush(stderr);
    abort();
}
