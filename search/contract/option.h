/* option.h - what a searcher (sampler or scheduler) is opened with: the seed, what the study says of itself, and the
 * searcher's own options. Options are numbers named by a table of the searcher ("eta", 2..16, default 3), so that
 * spec check, --help and docs read the same rows; the caller turns `{kind: hyperband, eta: 4}` into one double per
 * row. Pure data, libc only. */
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
    int n_objectives;      /* 0 is read as 1 */
    int fuse;              /* so many trials in a row share their shape parameters; 0, 1 = none */
};

enum { SEARCH_MAX_OPTIONS = 16 };

/* Fills out[0..n) with the defaults. */
void search_options_default(const struct search_option *options, int n, double *out);
/* Sets one by name; unknown name or value out of range is ERR_ARG with the name (nearest known one in the text). */
int search_option_set(const struct search_option *options, int n, const char *name, double value,
                      double *out, struct err *err);

#endif
