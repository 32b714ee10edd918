/* counts.h - what a fit of boosting does, counted between the family and its kernels: the linker sends the calls of these
 * kernels here first (--wrap, in the Makefile), so that no loop of the product counts anything. Per phase it adds up the
 * work, the time, and the least time that this work can take on this machine. One thread. */
#ifndef TESTS_BENCH_ROOFLINE_COUNTS_H
#define TESTS_BENCH_ROOFLINE_COUNTS_H

#include "tests/bench/roofline/peaks.h"

enum phase { PHASE_HIST, PHASE_PART, PHASE_SCAN, PHASE_GRADIENT, PHASE_LEAF, PHASE_SCORE, PHASES };

struct phase_count {
    const char *name, *unit;
    int64_t calls;
    double units, bytes;
    /* ticks of counts_ticks, and the bound in seconds: each call by the larger one of its units at their peak and its bytes at the
     * bandwidth of the cache that would hold them */
    double took;
    struct bound bound;
};

/* From now on calls are counted; the counts of before are forgotten. */
void counts_start(const struct peaks *p);
/* A clock that is read in a few nanoseconds, in units of its own. */
double counts_ticks(void);
/* Calls pass through uncounted. Returns the counts of the phases. */
const struct phase_count *counts_stop(void);

#endif
