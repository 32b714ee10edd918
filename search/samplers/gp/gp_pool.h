/* gp_pool.h - candidates of a Gaussian process, LANES side by side, and what the model says of each.
 * A candidate keeps v = L^-1 k, where L is the model's factor and k its covariances with the model's
 * points. A point more in the model is one more row of v, for the work of one dot product; a candidate
 * that is kept from one suggestion to the next is nearly free. Mean and variance follow from v: that
 * targets change every time costs nothing more. Single precision, which tells good candidates from bad
 * ones as well and takes half of the time. Pure. */
#ifndef SEARCH_SAMPLERS_GP_GP_POOL_H
#define SEARCH_SAMPLERS_GP_GP_POOL_H

#include "search/samplers/gp/gp_code.h"

#include <stdint.h>

/* GP_BLOCKS: as many as are kept. */
enum { GP_LANES = 16, GP_BLOCKS = 6 };

struct gp_block {
    int rows;               /* of v that are known */
    bool is_half;           /* only the first half of the lanes is in use */
    float *room;            /* that v and x are in */
    float *v;               /* [row][lane] */
    float *x;               /* [dimension][lane] */
    float square[GP_LANES]; /* the sum of squares of the first n_squares rows of v */
    int n_squares;
    double *units;           /* [lane][parameter], in the unit cube */
    double score[GP_LANES];  /* log expected improvement; -INFINITY = none here */
    uint64_t hash[GP_LANES]; /* of the point (space_hash); 0 = none here */
};

/* What a point must improve. */
struct gp_aim {
    double best;   /* in units of the targets */
    bool is_noisy; /* the mean is to improve, not the function (gp.c) */
};

void gp_block_init(struct gp_block *b, int d, int n_params, int cap);
void gp_block_fini(struct gp_block *b);
void gp_block_put(struct gp_block *b, const struct gp_code *c, int lane, const double *x,
                  const double *unit, uint64_t hash);
/* Rows from n on are no longer those of the model. */
void gp_block_cut(struct gp_block *b, int n);
/* Adds the rows that the model has more, and sets the scores. */
void gp_block_score(struct gp_block *b, const struct gp_model *m, const struct gp_aim *aim);
/* The same for GP_BLOCKS blocks, none of them half, side by side. */
void gp_blocks_score(struct gp_block *blocks, const struct gp_model *m, const struct gp_aim *aim);
/* The model's means at n points in the code of the model, x: [n][d]. The block's candidates are lost;
 * it must be as wide as the model. */
void gp_block_means(struct gp_block *b, const struct gp_model *m, const double *x, int n,
                    double *means);
/* Copies a candidate. Both blocks have the same rows. */
void gp_block_copy(struct gp_block *to, int lane, const struct gp_block *from, int at, int d,
                   int n_params);

#endif
