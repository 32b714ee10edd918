/* gp_pick.h - the unseen point of largest expected improvement under a Gaussian process: all of a small space, else random
 * points and neighbours of the best, then hill climbing from the most promising. Pure; keyed by (seed, trial). */
#ifndef SEARCH_SAMPLERS_GP_GP_PICK_H
#define SEARCH_SAMPLERS_GP_GP_PICK_H

#include "search/samplers/gp/gp_code.h"
#include "search/space/hash_set.h"

enum { GP_MAX_ELITES = 8 };

struct gp_pick {
    const struct gp_code *code;
    struct gp_model *model;
    const struct hash_set *seen;
    double best;                         /* to improve on, in units of the targets */
    const double *elites[GP_MAX_ELITES]; /* the best points, in the unit cube (space_to_unit) */
    int n_elites;
    uint64_t seed;
    int64_t trial;
    int budget; /* predictions it may make */
};

/* 1 and the point, 0 when it met none that is unseen. */
int gp_pick_point(const struct gp_pick *p, double *point);
/* Predictions that take about `work` multiplications with the model as it is. */
int gp_pick_budget(const struct gp_model *m, double work);

#endif
