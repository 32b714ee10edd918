/* problem.h - benchmark problems that are made from their published definitions, so that a first
 * run needs no file. Each problem is a generator of rows, with the best score that any model can
 * reach on it. */
#ifndef CLI_PROBLEM_H
#define CLI_PROBLEM_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>
#include <stdio.h>

struct problem {
    const char *name;
    const char *source; /* who published it */
    const char *target;
    const char *metric;
    double best; /* best possible expected score by that metric */
    const char *best_why;
    int64_t rows;   /* default number of rows; all rows of an enumerated problem */
    int enumerated; /* 1 = the rows are all possible cases, so --rows is refused */
    void (*header)(FILE *out);
    void (*row)(FILE *out, struct rng *r, int64_t i, int64_t n); /* generated ones */
    int64_t (*all)(FILE *out); /* enumerated ones; returns the rows written */
};

const struct problem *problem_find(const char *name, struct err *err); /* names the nearest */
const struct problem *problem_at(int i);                               /* NULL past the end */
/* Writes header and rows; the same (seed, rows) gives the same bytes. Returns the number of rows,
 * -1 on error. */
int64_t problem_write(const struct problem *p, int64_t rows, uint64_t seed, const char *path,
                      struct err *err);

#endif
