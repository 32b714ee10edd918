/* peaks.h - what this machine can do at best, measured in this process: the micro kernels under the rooflines of
 * bench_roofline. Each rate is tried in several forms, many short times; the best is the peak, and the median of the best
 * form is what was left beside other load in the same minutes. One thread. */
#ifndef TESTS_BENCH_ROOFLINE_PEAKS_H
#define TESTS_BENCH_ROOFLINE_PEAKS_H

#include <stdint.h>

/* Seconds per unit. */
struct peak {
    double best, median;
    /* of the best form */
    const char *form;
};

/* The least seconds of some work: at the best of the peaks, and at their medians. */
struct bound {
    double best, median;
};

enum peak_level { LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_MEMORY, LEVELS };

struct peaks {
    /* seconds of a cycle: of a chain of additions that wait for each other */
    double cycle;
    /* one addition to a bin of a histogram in the first-level cache */
    struct peak add;
    /* one row number sent to either side by its bin */
    struct peak part_row;
    /* one byte of columns sent to either side, row by marked row */
    struct peak part_byte;
    /* one bin of a histogram added up and scored as a cut */
    struct peak score;
    /* one byte read, and one byte read and written elsewhere, by where it lies */
    struct peak read[LEVELS], copy[LEVELS];
    int64_t level_bytes[LEVELS];
};

/* Prints each form. */
void peaks_measure(struct peaks *p);
/* The nearest cache that holds so many bytes. */
enum peak_level peak_level_of(const struct peaks *p, int64_t bytes);
const char *peak_level_name(enum peak_level level);

#endif
