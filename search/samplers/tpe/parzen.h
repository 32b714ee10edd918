/* parzen.h - Parzen densities over a tree of parameters: the two models of TPE (Bergstra et al., "Algorithms for
 * Hyper-Parameter Optimization", 2011), here joint over all parameters (Falkner et al., BOHB, 2018).
 *
 * A density is a mixture of kernels, each a product over parameters: a normal cut to the range (its mass in the cell,
 * for few cells), or for a category its own choice more likely than the others. Where a kernel's trial did not have the
 * parameter (another branch of the tree), that factor is uniform, and a kernel picks branches top down like a point is
 * built: so each kernel, and the mixture, is a proper density over the whole conditional space. One more kernel is the
 * prior: uniform everywhere. Densities are relative to uniform, so the prior's is 1 and none can be nothing. */
#ifndef SEARCH_SAMPLERS_TPE_PARZEN_H
#define SEARCH_SAMPLERS_TPE_PARZEN_H

#include "base/rng.h"
#include "search/space/space.h"

#include <stdbool.h>
#include <stdint.h>

enum { PARZEN_MAX_CELLS = 32, PARZEN_LEVELS = 11 };

enum parzen_kind { PARZEN_CATEGORY, PARZEN_CELLS, PARZEN_LINE };
struct parzen_dim {
    int param;
    enum parzen_kind kind;
    int cells; /* CATEGORY and CELLS */
    double *masses
        [PARZEN_LEVELS]; /* CELLS: log of mass relative to uniform, [cell][centre], once used */
};
/* The parameters that are searched, with what depends on the space alone. Widths are rounded to levels. */
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
};
void parzen_axes_init(struct parzen_axes *a, const struct space *space);
void parzen_axes_fini(struct parzen_axes *a);

/* A point as densities see it: per dimension its cell, or its place in [0,1); -1 = inactive. */
void parzen_place(const struct parzen_axes *a, const double *point, double *place);

struct parzen {
    struct parzen_axes *axes; /* borrowed; parzen_build adds tables to it */
    int n, cap;
    double *weights;      /* of the kernels */
    double *places;       /* [dimension][kernel] */
    double *norms;        /* LINE: log of the normal's share inside the range, negated */
    int *level;           /* per dimension: its width */
    double *same, *other; /* per dimension: log of a category's chances relative to uniform */
    double prior, total;  /* weights; a kernel's is 1 */
    double *work;
};
void parzen_init(struct parzen *p, struct parzen_axes *axes);
void parzen_fini(struct parzen *p);
void parzen_clear(struct parzen *p);
void parzen_add(struct parzen *p, const double *place, double weight);
/* Once all kernels are in. prior: its weight. width: of the normals, as a share of the range.
 * spread: the share of a category's chances that all choices have alike, the kernel's own has the rest beside. */
void parzen_build(struct parzen *p, double prior, double width, double spread);
/* Log of the density relative to uniform. */
double parzen_log(struct parzen *p, const double *place);
/* A point of the mixture: `shape` decides the kernel and the parameters that make the shape, r the others; they may be one. */
void parzen_draw(const struct parzen *p, struct rng *shape, struct rng *r, double *point);

#endif
