/* check.h - what the programs of `make gpu-check` share: a clock, and the exit of a program whose
 * set-up failed. */
#ifndef ML_CUDA_CHECK_H
#define ML_CUDA_CHECK_H

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds of a clock that never jumps. */
static inline double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the program with the error's text when rc < 0. */
static inline void must(int rc, const struct err *err)
{
    if (rc < 0) {
        printf("FAILED: %s\n", err->text);
        exit(1);
    }
}

#endif
