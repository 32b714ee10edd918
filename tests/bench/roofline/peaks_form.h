/* peaks_form.h - private to the peaks: one form of a micro kernel, timed. */
#ifndef TESTS_BENCH_ROOFLINE_PEAKS_FORM_H
#define TESTS_BENCH_ROOFLINE_PEAKS_FORM_H

#include "tests/bench/roofline/peaks.h"

/* Times run(arg), which does `units` of something, prints it in cycles, and keeps it in *p where it is the fastest form so
 * far. */
void peaks_form(struct peak *p, const char *form, double units, double cycle, void (*run)(void *),
                void *arg);
/* peaks_trees.c: additions to histograms, rows and bytes sent to either side, cuts. */
void peaks_trees_measure(struct peaks *p);

#endif
