/* gp_pick.h - the point with the largest expected improvement under a Gaussian process, among
 * points that were not proposed before. A small space is tried completely. In a larger one random
 * points and neighbours of the best trials are tried first, then the most promising are improved by
 * hill climbing. Pure; keyed by (seed, trial). */
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
    bool is_noisy;                       /* the mean is to improve, not the function (gp.c) */
    const double *elites[GP_MAX_ELITES]; /* the best points, in the unit cube (space_to_unit) */
    int n_elites;
    uint64_t seed;
    int64_t trial;
    int budget; /* predictions it may make */
};

/* Returns 1 and the point, or 0 if no unseen point was found. */
int gp_pick_point(const struct gp_pick *p, double *point);
/* How many predictions take about `work` multiplications with this model. */
int gp_pick_budget(const struct gp_code *code, const struct gp_model *m, double work);

#endif
