/* gp_cells.c - see gp_cells.h. */
#include "search/samplers/gp/gp_cells.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>

enum { MOST_CELLS = 256 };

/* How many cells of equal size a parameter has that get a table; 0 = it gets none. */
static int cells_of(const struct param *p)
{
    double size = param_size(p);
    bool is_even = !(p->kind == PARAM_INT && p->is_log);

    return p->axis != AXIS_FREE && is_even && size <= MOST_CELLS ? (int)size : 0;
}

static double place_of(const struct param *p, double value)
{
    return p->kind == PARAM_CATEGORICAL ? value : param_to_unit(p, value);
}

void gp_cells_init(struct gp_cells *c, const struct gp_code *code)
{
    const struct space *s = code->space;
    size_t all = 0;

    *c = (struct gp_cells){ .code = code };
    c->axes = mem_array((size_t)s->n + 1, sizeof *c->axes);
    for (int i = 0; i < s->n; i++) {
        c->axes[i] = (struct gp_axis){ .n = cells_of(&s->params[i]), .dim = -1, .first = all };
        all += (size_t)c->axes[i].n;
    }
    for (int k = 0; k < code->d; k++)
        c->axes[code->params[k]].dim = k;
    c->values = mem_array(2 * all + 1, sizeof *c->values);
    c->places = c->values + all;
    for (int i = 0; i < s->n; i++) {
        for (int cell = 0; cell < c->axes[i].n; cell++) {
            size_t at = c->axes[i].first + (size_t)cell;
            c->values[at] = param_value(&s->params[i], cell);
            c->places[at] = place_of(&s->params[i], c->values[at]);
        }
    }
}

void gp_cells_fini(struct gp_cells *c)
{
    mem_free(c->axes);
    mem_free(c->values);
    *c = (struct gp_cells){ 0 };
}

/* Parameter i without a table. Returns its identity. */
static double value_without(const struct gp_cells *c, int i, double unit, double *point, double *x)
{
    const struct param *p = &c->code->space->params[i];
    int dim = c->axes[i].dim;

    point[i] = p->axis == AXIS_FREE ? p->def : param_from_unit(p, unit);
    if (dim >= 0)
        x[dim] = place_of(p, point[i]);
    return space_identity(p, point[i]);
}

uint64_t gp_cells_point(const struct gp_cells *c, const double *unit, double *point, double *x)
{
    const struct space *s = c->code->space;
    uint64_t hash = space_hash_first(s);

    for (int i = 0; i < s->n; i++) {
        const struct gp_axis *a = &c->axes[i];
        if (s->params[i].parent >= 0 && !space_is_active(s, point, i)) {
            point[i] = NAN;
            if (a->dim >= 0)
                x[a->dim] = c->code->is_choice[a->dim] ? -1 : 0.5;
        } else if (a->n > 0) {
            int cell = MIN((int)(unit[i] * a->n), a->n - 1);
            point[i] = c->values[a->first + (size_t)cell];
            if (a->dim >= 0)
                x[a->dim] = c->places[a->first + (size_t)cell];
            hash = space_hash_next(hash, i, cell);
        } else {
            hash = space_hash_next(hash, i, value_without(c, i, unit[i], point, x));
        }
    }
    return hash;
}
