/* gp_code.h - how a Gaussian process sees a point of a space: as a vector with one dimension for
 * each parameter that is searched and has more than one value. Numbers and ordinals are their place
 * in the unit cube. A category is the index of its choice, which is only compared, never
 * subtracted. An inactive number stands in the middle of its range, and an inactive category is a
 * choice of its own. */
#ifndef SEARCH_SAMPLERS_GP_GP_CODE_H
#define SEARCH_SAMPLERS_GP_GP_CODE_H

#include "search/samplers/gp/gp_model.h"
#include "search/space/space.h"

struct gp_code {
    const struct space *space; /* borrowed */
    int d;
    int params[GP_MAX_DIMS];
    bool is_choice[GP_MAX_DIMS];
};

/* ERR_ARG if there are more than GP_MAX_DIMS dimensions. */
int gp_code_init(struct gp_code *c, const struct space *space, struct err *err);
void gp_code_of(const struct gp_code *c, const double *point, double *x);

#endif
