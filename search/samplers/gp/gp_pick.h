/* gp_pick.h - the point with the largest expected improvement under a Gaussian process, among
 * points that were not proposed before. Candidates are kept from one suggestion to the next
 * (gp_pool.h), since what the model says of them changes little: each suggestion tries only a few new
 * ones, most of them neighbours of the best, and they take the places of the worst. A small space is
 * kept completely. Pure; keyed by (seed, trial) and by the suggestions before. */
#ifndef SEARCH_SAMPLERS_GP_GP_PICK_H
#define SEARCH_SAMPLERS_GP_GP_PICK_H

#include "search/samplers/gp/gp_cells.h"
#include "search/samplers/gp/gp_pool.h"
#include "search/space/hash_set.h"

enum { GP_MAX_ELITES = 8 };

struct gp_pool {
    const struct gp_code *code; /* borrowed; NULL: not made yet */
    struct gp_cells cells;
    struct gp_block kept[GP_BLOCKS], fresh;
    bool is_started, is_whole; /* whole: every point of the space is in `kept` */
    double *unit, *point;      /* room for one */
};
void gp_pool_init(struct gp_pool *p, const struct gp_code *code, int cap);
void gp_pool_fini(struct gp_pool *p);
/* The model's rows from n on have changed. */
void gp_pool_cut(struct gp_pool *p, int n);

struct gp_pick {
    struct gp_pool *pool;
    const struct gp_model *model;
    const struct hash_set *seen;
    struct gp_aim aim;
    const double *elites[GP_MAX_ELITES]; /* the best points, in the unit cube (space_to_unit) */
    int n_elites;
    bool is_brief; /* a round of candidates less, where many trials fail */
    uint64_t seed;
    int64_t trial;
};

/* Returns 1 and the point, or 0 if no unseen point was found. */
int gp_pick_point(const struct gp_pick *p, double *point);

#endif
