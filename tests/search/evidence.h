/* evidence.h - trials with known causes, for the tests of importance: random points of a space, and a score that is a
 * function of them. Header only; one user at a time per test program. */
#ifndef TESTS_SEARCH_EVIDENCE_H
#define TESTS_SEARCH_EVIDENCE_H

#include "search/insight/importance.h"
#include "tests/search/spaces.h"

#include "tests/unit.h"

struct evidence {
    struct importance_data data;
    float *units;
    double *gains, *points;
};

static inline struct evidence evidence_new(const struct space *s, int n, uint64_t seed,
                                           double (*gain)(const double *point, struct rng *r))
{
    size_t d = (size_t)s->n;
    struct evidence e = { .units = calloc((size_t)n * d + 1, sizeof *e.units),
                          .gains = calloc((size_t)n + 1, sizeof *e.gains),
                          .points = calloc((size_t)n * d + 1, sizeof *e.points) };
    struct rng r;

    assert_true(e.units && e.gains && e.points);
    rng_init(&r, test_seed(), seed);
    for (int i = 0; i < n; i++) {
        double *point = e.points + (size_t)i * d, unit[SPACE_MAX_PARAMS];
        spaces_point(s, &r, point);
        space_to_unit(s, point, unit);
        for (size_t j = 0; j < d; j++)
            e.units[(size_t)i * d + j] = (float)unit[j];
        e.gains[i] = gain(point, &r);
    }
    e.data = (struct importance_data){ s, n, e.units, e.gains };
    return e;
}

static inline void evidence_free(struct evidence *e)
{
    free(e->units);
    free(e->gains);
    free(e->points);
}

#endif
