/* option.h - what a sampler or scheduler is opened with: the seed, hints from the study, and its
 * own options. Options are numbers named by a table of the searcher ("eta", 2..16, default 3). The
 * check of a spec, `assay searchers` and docs/SPEC.md all read that table. The caller turns `{kind:
 * hyperband, eta: 4}` into one double per row. Pure data, libc only. */
#ifndef SEARCH_CONTRACT_OPTION_H
#define SEARCH_CONTRACT_OPTION_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct search_option {
    const char *name;
    double lo, hi, def; /* inclusive */
    bool is_int;
    const char *help;
};

struct search_setup {
    uint64_t seed;
    const double *options; /* one per row of ops->options; NULL = the defaults */
    int64_t budget_trials; /* 0 = not limited; a hint for the size of brackets and grids */
    int parallel;          /* trials in flight, a hint; 0 = unknown */
    int n_objectives;      /* 0 means 1 */
    int fuse; /* this many trials in a row share their shape parameters; 0 or 1 = none */
    /* Families, as bits by the number that stands for them (scheduler_ops.start), whose levels below
     * the top are parts of a fit: values at such a level are comparable within the family only. */
    uint64_t partial;
};

enum { SEARCH_MAX_OPTIONS = 16 };

/* Fills out[0..n) with the defaults. */
void search_options_default(const struct search_option *options, int n, double *out);
/* Sets one option by name. ERR_ARG for an unknown name (the text has the nearest known one) or a
 * value out of range. */
int search_option_set(const struct search_option *options, int n, const char *name, double value,
                      double *out, struct err *err);

#endif
