/* gp_code.c - points as vectors for a Gaussian process; see gp_code.h. */
#include "search/samplers/gp/gp_code.h"

#include <math.h>

int gp_code_init(struct gp_code *c, const struct space *space, struct err *err)
{
    *c = (struct gp_code){ .space = space };
    for (int i = 0; i < space->n; i++) {
        const struct param *p = &space->params[i];
        if (p->kind == PARAM_CONSTANT || p->axis == AXIS_FREE || param_size(p) <= 1)
            continue;
        if (c->d == GP_MAX_DIMS)
            return err_set(err, ERR_ARG,
                           "a Gaussian process takes at most %d parameters to search: use tpe",
                           GP_MAX_DIMS);
        c->is_choice[c->d] = p->kind == PARAM_CATEGORICAL;
        c->params[c->d++] = i;
    }
    return 0;
}

void gp_code_of(const struct gp_code *c, const double *point, double *x)
{
    for (int k = 0; k < c->d; k++) {
        double v = point[c->params[k]];
        if (c->is_choice[k])
            x[k] = isnan(v) ? -1 : v;
        else
            x[k] = isnan(v) ? 0.5 : param_to_unit(&c->space->params[c->params[k]], v);
    }
}
