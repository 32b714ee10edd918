/* parzen.h - Parzen densities over a tree of parameters: the two models of TPE (Bergstra et al.,
 * Algorithms for Hyper-Parameter Optimization, 2011), here joint over all parameters (Falkner et
 * al., BOHB, 2018).
 *
 * A density is a mixture of kernels, one per trial. Each kernel is a product over parameters. For a
 * number the factor is a normal cut to the range (or its mass in each cell, if the number has few
 * values). For a category the kernel's own choice is more likely than the others. If the kernel's
 * trial did not have the parameter, because it was in another branch of the tree, that factor is
 * uniform. A kernel chooses branches from the root downwards, as a point is built. So each kernel,
 * and the mixture, is a proper density over the whole conditional space.
 *
 * One more kernel is the prior, which is uniform everywhere. Densities are relative to the uniform
 * density: the prior's is 1, and no density is ever 0. */
#ifndef SEARCH_SAMPLERS_TPE_PARZEN_H
#define SEARCH_SAMPLERS_TPE_PARZEN_H

#include "base/rng.h"
#include "search/samplers/tpe/parzen_sum.h"
#include "search/space/space.h"

#include <stdbool.h>
#include <stdint.h>

enum { PARZEN_MAX_CELLS = 32, PARZEN_LEVELS = 11 };

enum parzen_kind { PARZEN_CATEGORY, PARZEN_CELLS, PARZEN_LINE };
struct parzen_dim {
    int param;
    enum parzen_kind kind;
    int cells; /* CATEGORY and CELLS */
    /* CELLS: the borders in the unit interval, and the parameter's values; where the table of a
     * batch starts in parzen_axes.tables. By level, once used: the logarithm of the mass relative to
     * uniform, [cell][centre], and the mass up to a cell, [centre][cell]. */
    double *borders, *values;
    size_t table;
    double *masses[PARZEN_LEVELS], *shares[PARZEN_LEVELS];
};
/* The parameters that are searched, and the tables that depend only on the space. The width of a
 * normal is rounded to one of PARZEN_LEVELS, so that a table can be made once for each. */
struct parzen_axes {
    const struct space *space; /* borrowed */
    int n;
    struct parzen_dim *dims;
    int *of_param; /* dimension of a parameter, -1 = not searched */
    bool *
        is_shape; /* of a parameter: AXIS_SHAPE, or it opens others and so is of every shape below it */
    double *lines
        [PARZEN_LEVELS]; /* LINE: what a normal's height is divided by, by its centre; once used */
    int n_joint;         /* parameters active together, at most (seen in a sample) */
    /* Room for one batch of points: what cells add, the places [dimension][point], and whether any
     * point has the dimension. */
    double *tables, *batch;
    size_t n_tables;
    bool *is_used;
};
void parzen_axes_init(struct parzen_axes *a, const struct space *space);
void parzen_axes_fini(struct parzen_axes *a);

/* A point as densities see it: for each dimension its cell, or its place in [0,1), or -1 if it is
 * inactive. */
void parzen_place(const struct parzen_axes *a, const double *point, double *place);

struct parzen {
    struct parzen_axes *axes; /* borrowed; parzen_build adds tables to it */
    int n, cap, n_built;      /* n_built: kernels that have their norms */
    double *weights;          /* of the kernels */
    double *sums;             /* of the weights up to a kernel */
    double *places;           /* [dimension][kernel] */
    double *norms;            /* LINE: log of the normal's share inside the range, negated */
    int level;                /* the width of numbers */
    double *same, *other;     /* per dimension: log of a category's chances relative to uniform */
    double *own;              /* per dimension: a category's chance of the kernel's choice */
    double prior, total;      /* weight of the prior, and of all kernels with it */
    double *logs;             /* room for a batch: [kernel][point] */
};
void parzen_init(struct parzen *p, struct parzen_axes *axes);
void parzen_fini(struct parzen *p);
/* Forgets all kernels but the first n. */
void parzen_keep(struct parzen *p, int n);
void parzen_add(struct parzen *p, const double *place, double weight);
void parzen_kernel(const struct parzen *p, int kernel, double *place); /* where it was added */
/* To be called once all kernels are added. prior: the weight of the prior kernel. width: the
 * normals' standard deviation as a share of the range. spread: the share of a category's
 * probability that is uniform over all choices; the kernel's own choice has the rest in
 * addition. */
void parzen_build(struct parzen *p, double prior, double width, double spread);
/* The logarithms of the density relative to uniform at n <= PARZEN_BATCH points. places: n x
 * axes->n. What a point gets does not depend on the others. */
void parzen_logs(struct parzen *p, const double *places, int n, double *out);
/* Draws a point from the mixture, and its place. `shape` decides the kernel and the parameters that
 * make up the shape, r decides the others; both may be the same stream. Returns the point's
 * space_hash. */
uint64_t parzen_draw(const struct parzen *p, struct rng *shape, struct rng *r, double *point,
                     double *place);

#endif
