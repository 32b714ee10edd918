/* grid.c - the grid: every combination of values once, then the end. Parameters with a finite
 * number of values keep them all (choices, integers, floats with a step). A float without a step is
 * cut into `points` values, evenly over its range or its logarithm, including both ends. Free axes
 * are left out.
 *
 * The order is not that of nested loops. Most grids are cut short by a budget, and nested loops
 * would then have tried only one value of most parameters. Here every beginning of the grid is
 * spread over all parameters, families included: a Sobol sequence runs over the cells, and the
 * numbering of the cells finds those that it leaves (quasi_points.h). So a grid of 1e18 points is
 * no more work than a small one. A point is known by its cells, so a retried, enqueued or adopted
 * point changes nothing for the others.
 *
 * The sequence runs over a space of its own, `cells`, in which the cut floats are integers. */
#include "search/samplers/samplers.h"
#include "search/space/constraint.h"
#include "search/space/quasi_points.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_POINTS = 3, USUAL_POINTS = 10 }; /* values of a float, if the spec does not say */

struct grid {
    struct sampler base;
    struct space *cells;
    struct quasi_points points;
    double *point; /* room for one in cells */
};

static const struct search_option options[] = {
    { "points", 0, 1000, 0, true,
      "values that are tried of a number without steps; 0: the most, from 3 to 10, for which the grid fits the budget" },
};

static struct grid *of(struct sampler *s)
{
    return (struct grid *)s;
}

static bool is_cut(const struct param *p)
{
    return isinf(param_size(p)) && p->axis != AXIS_FREE;
}

/* ---- cells ---- */

static struct space *cells_new(const struct space *space, int points)
{
    struct space *cells = space_new();

    for (int i = 0; i < space->n; i++) {
        struct param p = space->params[i];
        if (is_cut(&p)) {
            p.kind = PARAM_INT;
            p.is_log = false;
            p.lo = p.def = 0;
            p.hi = points - 1;
            p.step = 1;
        }
        CHECK(space_add(cells, &p, NULL) == i);
    }
    return cells;
}

/* The most points, from 3 to 10, with which the whole grid fits the budget. */
static int points_for(const struct space *space, int64_t budget)
{
    for (int points = USUAL_POINTS; budget > 0 && points > FEWEST_POINTS; points--) {
        struct space *cells = cells_new(space, points);
        double size = space_search_size(cells);
        space_free(cells);
        if (size <= (double)budget)
            return points;
    }
    return budget > 0 ? FEWEST_POINTS : USUAL_POINTS;
}

static double exact_value(const struct param *p, double cell, double last)
{
    if (last == 0) /* a single point is in the middle */
        return param_from_unit(p, 0.5);
    if (cell == 0 || cell == last)
        return cell == 0 ? p->lo : p->hi;
    return param_from_unit(p, cell / last);
}

/* The distance to the neighbour below, or above if there is none below. */
static double gap_at(const struct param *p, double cell, double last)
{
    if (last == 0)
        return p->hi - p->lo;
    return fabs(exact_value(p, cell, last) - exact_value(p, cell > 0 ? cell - 1 : 1, last));
}

/* A grid value rounded to 12 digits, if that moves it by less than a millionth of the gap. So 0.01
 * is exactly 0.01, although it was computed from a logarithm. */
static double value_of(const struct param *p, double cell, double last)
{
    double v = exact_value(p, cell, last);
    char text[40];

    (void)snprintf(text, sizeof text, "%.12g", v);
    double round = strtod(text, NULL);
    bool is_near = fabs(round - v) <= 1e-6 * gap_at(p, cell, last);
    return is_near && round >= p->lo && round <= p->hi ? round : v;
}

static void cells_to_point(const struct grid *g, const double *cells, double *point)
{
    for (int i = 0; i < g->cells->n; i++) {
        const struct param *p = &g->base.space->params[i];
        point[i] = is_cut(p) && !isnan(cells[i]) ? value_of(p, cells[i], g->cells->params[i].hi)
                                                 : cells[i];
    }
}

/* False if a value lies between the points of the grid. */
static bool point_to_cells(const struct grid *g, const double *point, double *cells)
{
    for (int i = 0; i < g->cells->n; i++) {
        const struct param *p = &g->base.space->params[i];
        cells[i] = point[i];
        if (!is_cut(p) || isnan(point[i]))
            continue;
        double last = g->cells->params[i].hi;
        cells[i] = last == 0 ? 0 : floor(param_to_unit(p, point[i]) * last + 0.5);
        if (fabs(value_of(p, cells[i], last) - point[i]) > 1e-5 * gap_at(p, cells[i], last))
            return false;
    }
    return true;
}

/* ---- the sampler ---- */

static struct sampler *grid_open(const struct space *space, const struct search_setup *setup,
                                 struct err *err)
{
    struct grid *g = mem_zalloc(sizeof *g);
    int points = setup->options ? (int)setup->options[0] : 0;

    (void)err;
    g->base = (struct sampler){ &search_grid, space, setup->seed };
    g->cells = cells_new(space, points > 0 ? points : points_for(space, setup->budget_trials));
    g->point = mem_array((size_t)space->n, sizeof *g->point);
    quasi_points_init(&g->points, g->cells, &sequence_sobol, setup->seed);
    return &g->base;
}

static void grid_close(struct sampler *s)
{
    struct grid *g = of(s);

    quasi_points_fini(&g->points);
    space_free(g->cells);
    mem_free(g->point);
    mem_free(g);
}

static int grid_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    struct grid *g = of(s);

    (void)first, (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;

        do {
            if (quasi_points_next(&g->points, g->point) == 0)
                return k;
            cells_to_point(g, g->point, point);
        } while (!space_holds(s->space, point));
    }
    return n;
}

static int grid_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    (void)trial;
    if (space_check(s->space, point, err) < 0)
        return -1;
    if (point_to_cells(of(s), point, of(s)->point))
        (void)quasi_points_mark(&of(s)->points, of(s)->point);
    return 0;
}

static int grid_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)s, (void)o, (void)err;
    return 0;
}

const struct sampler_ops search_grid = {
    .name = "grid",
    .ignores_results = true,
    .help =
        "tries every combination of values once, in an order that covers the space evenly from the start",
    .options = options,
    .n_options = ARRAY_LEN(options),
    .open = grid_open,
    .close = grid_close,
    .suggest = grid_suggest,
    .adopt = grid_adopt,
    .observe = grid_observe,
};
