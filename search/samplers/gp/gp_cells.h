/* gp_cells.h - places in the unit cube as points, as a Gaussian process sees them. A suggestion makes
 * dozens of candidates, so the values of parameters with few of them stand in tables. The results are
 * those of space_from_unit, gp_code_of and space_hash. */
#ifndef SEARCH_SAMPLERS_GP_GP_CELLS_H
#define SEARCH_SAMPLERS_GP_GP_CELLS_H

#include "search/samplers/gp/gp_code.h"

#include <stdint.h>

struct gp_cells {
    const struct gp_code *code; /* borrowed */
    struct gp_axis {
        int n;        /* cells, equally large; 0: there is no table */
        int dim;      /* in the vector; -1 = none */
        size_t first; /* in `values` and `places` */
    } * axes;         /* of each parameter */
    double *values;   /* of a cell */
    double *places;   /* of a cell, in the vector */
};

void gp_cells_init(struct gp_cells *c, const struct gp_code *code);
void gp_cells_fini(struct gp_cells *c);
/* The point at `unit`, with free axes at their default, and its vector x. Returns its hash. */
uint64_t gp_cells_point(const struct gp_cells *c, const double *unit, double *point, double *x);

#endif
