/* local.c - local search that starts where trials are cheap: one direct search (local_flow.h) for
 * each family, and a chooser (chooser.h) that gives the next trial to the family expected to
 * improve soonest for its cost. The families are the choices of the first categorical parameter at
 * the root that opens others; a space without one is a single family. Each search starts at its
 * family's defaults, which the author of a model puts where trials are cheap. Restarts follow Wang,
 * Wu, Huang and Saied, Economical Hyperparameter Optimization with Blended Search Strategy, ICLR
 * 2021.
 *
 * Trials are compared at equal levels, by the incumbent's own value there. A trial that got further
 * than the incumbent is better; of two equal values the cheaper one is better. A search that has
 * converged starts again, alternately from its best point with half of the coordinates drawn anew,
 * and from a random point. */
#include "search/contract/history.h"
#include "search/samplers/chooser.h"
#include "search/samplers/local_flow.h"
#include "search/samplers/samplers.h"
#include "search/space/fresh_points.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ATTEMPTS: places along the search, and then random ones, that are tried before the arm counts as
 * used up. TAG keeps the draws apart from others of the same seed. */
enum { ATTEMPTS = 24, TAG = 0x10ca2 };

struct arm {
    struct flow flow;
    bool has_best; /* over all searches of the arm, restarts included */
    int64_t best;
    uint32_t restarts;
};
struct local {
    struct sampler base;
    struct fresh_points fresh;
    struct history history;
    struct chooser chooser;
    struct arm *arms;
    int root;            /* the parameter that names the family, -1 = none */
    int64_t newest;      /* largest trial suggested */
    double *unit, *seen; /* scratch: a proposal, a point from the history */
};

static struct local *of(struct sampler *s)
{
    return (struct local *)s;
}

static struct sampler *local_open(const struct space *space, const struct search_setup *setup,
                                  struct err *err)
{
    if (setup->n_objectives > 1) {
        (void)err_set(err, ERR_ARG, "sampler local searches for one objective, not %d: use tpe",
                      setup->n_objectives);
        return NULL;
    }
    struct local *l = mem_zalloc(sizeof *l);
    l->base = (struct sampler){ &search_local, space, setup->seed };
    l->root = space_root(space);
    fresh_points_init(&l->fresh, space);
    l->fresh.fuse = setup->fuse;
    history_init(&l->history, space);
    chooser_init(&l->chooser, l->root < 0 ? 1 : space->params[l->root].n_choices);
    l->arms = mem_array((size_t)l->chooser.n, sizeof *l->arms);
    l->unit = mem_array((size_t)space->n, sizeof *l->unit);
    l->seen = mem_array((size_t)space->n, sizeof *l->seen);
    for (int i = 0; i < l->chooser.n; i++)
        flow_init(&l->arms[i].flow, space, l->root, i);
    return &l->base;
}

static void local_close(struct sampler *s)
{
    struct local *l = of(s);

    for (int i = 0; i < l->chooser.n; i++)
        flow_fini(&l->arms[i].flow);
    mem_free(l->arms);
    mem_free(l->unit);
    mem_free(l->seen);
    chooser_fini(&l->chooser);
    history_fini(&l->history);
    fresh_points_fini(&l->fresh);
    mem_free(l);
}

static int arm_of(const struct local *l, const double *point)
{
    return l->root < 0 ? 0 : (int)point[l->root];
}

static int arm_of_row(const struct local *l, int row)
{
    history_point(&l->history, row, l->seen);
    return arm_of(l, l->seen);
}

/* Overwritten by the next call. */
static const double *unit_of_row(const struct local *l, int row)
{
    history_unit(&l->history, row, l->seen);
    return l->seen;
}

/* Turns l->unit into a point. True if the point is new; it counts as seen from then on. */
static bool take(struct local *l, double *point)
{
    const struct space *s = l->base.space;

    space_from_unit(s, l->unit, point);
    for (int i = 0; i < s->n; i++) {
        if (s->params[i].axis == AXIS_FREE && !isnan(point[i]))
            point[i] = s->params[i].def;
    }
    return fresh_points_mark(&l->fresh, point);
}

/* Fills l->unit with random coordinates. Each coordinate of `keep`, if given, is kept with
 * probability 1/2. */
static void random_unit(struct local *l, int arm, uint64_t what, uint64_t number,
                        const double *keep)
{
    struct rng r;

    rng_init(&r, rng_mix(rng_mix(l->base.seed, TAG), rng_mix((uint64_t)arm, what)), number);
    for (int i = 0; i < l->base.space->n; i++) {
        double u = rng_unit(&r), coin = rng_unit(&r);
        bool is_kept = keep && coin < 0.5 && !isnan(keep[i]);
        l->unit[i] = i == l->root ? l->arms[arm].flow.centre[i] : is_kept ? keep[i] : u;
    }
}

/* A new point for one arm: along its search, or else at random. False if the arm has hardly a new
 * point left. */
static bool propose(struct local *l, int arm, int64_t trial, double *point)
{
    struct flow *w = &l->arms[arm].flow;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        flow_next(w, rng_mix(l->base.seed, (uint64_t)arm), attempt, l->unit);
        if (take(l, point)) {
            flow_asked(w);
            return true;
        }
    }
    flow_asked(w);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        random_unit(l, arm, 1 + (uint64_t)attempt, (uint64_t)trial, NULL);
        if (take(l, point))
            return true;
    }
    return false;
}

static int suggest_one(struct local *l, int64_t trial, double *point)
{
    int arm = 0;

    if (fresh_points_is_used_up(&l->fresh)) /* a call that proposes nothing must change nothing */
        return 0;
    while ((arm = chooser_next(&l->chooser, l->base.seed, trial)) >= 0) {
        if (propose(l, arm, trial, point)) {
            chooser_start(&l->chooser, arm);
            return 1;
        }
        chooser_close(&l->chooser, arm);
    }
    return fresh_points_next(&l->fresh, l->base.seed, trial, point);
}

static int local_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    struct local *l = of(s);

    (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (suggest_one(l, first + k, point) == 0)
            return k;
        (void)history_add(&l->history, first + k, point);
        l->newest = MAX(l->newest, first + k);
    }
    return n;
}

static int local_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct local *l = of(s);

    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)fresh_points_mark(&l->fresh, point);
    if (history_add(&l->history, trial, point) >= 0)
        chooser_start(&l->chooser, arm_of(l, point));
    return 0;
}

static double rank_value(const struct history_report *r)
{
    return isnan(r->value) ? -INFINITY : r->value;
}

/* Whether row a is better than row b; both have reports. They are compared at the highest level of
 * a. If b has no value there, the one that got higher is better. */
static bool is_better(const struct history *h, int a, int b)
{
    const struct history_row *x = &h->rows[a], *y = &h->rows[b];
    const struct history_report *own = &x->reports[0], *other = history_at(h, b, own->below);

    if (!other)
        return own->below < y->reports[0].below && rank_value(own) > -INFINITY;
    if (rank_value(own) != rank_value(other))
        return rank_value(own) > rank_value(other);
    return own->below == y->reports[0].below && x->cost < y->cost;
}

static void restart(struct local *l, int arm)
{
    struct arm *a = &l->arms[arm];
    const double *keep = NULL;

    if (a->has_best && a->restarts % 2 == 0)
        keep = unit_of_row(l, history_find(&l->history, a->best));
    random_unit(l, arm, 0, a->restarts++, keep);
    flow_restart(&a->flow, l->unit, l->newest);
}

/* A trial has a new value. is_first: it is the trial's first value, so if it is not better it
 * counts as a failed step. */
static void follow(struct local *l, int arm, int row, bool is_first)
{
    struct arm *a = &l->arms[arm];
    const struct history *h = &l->history;
    int64_t trial = h->rows[row].trial;
    struct flow *w = &a->flow;

    if (rank_value(&h->rows[row].reports[0]) > -INFINITY &&
        (!a->has_best || (a->best != trial && is_better(h, row, history_find(h, a->best))))) {
        a->has_best = true;
        a->best = trial;
    }
    bool is_new = w->has_incumbent
                      ? w->incumbent != trial && is_better(h, row, history_find(h, w->incumbent))
                      : trial > w->last;
    if (is_new && rank_value(&h->rows[row].reports[0]) > -INFINITY)
        flow_move(w, trial, unit_of_row(l, row), l->newest);
    else if (is_first && flow_fail(w, trial))
        restart(l, arm);
}

static int local_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    struct local *l = of(s);
    int row = history_find(&l->history, o->trial);

    (void)err;
    if (row < 0)
        return 0;
    double cost = l->history.rows[row].cost;
    int had = l->history.rows[row].n_reports;
    if (!history_observe(&l->history, o))
        return 0;
    const struct history_row *r = &l->history.rows[row];
    int arm = arm_of_row(l, row);
    bool is_failure = o->state == OBS_FAILED && r->n_reports == 0;
    if (r->cost > cost || (had == 0 && r->n_reports > 0) || is_failure)
        chooser_observe(&l->chooser, arm, r->n_reports > 0 ? r->reports[0].value : NAN,
                        r->cost - cost);
    if (r->n_reports > 0)
        follow(l, arm, row, had == 0);
    else if (is_failure && flow_fail(&l->arms[arm].flow, o->trial))
        restart(l, arm);
    return 0;
}

const struct sampler_ops search_local = {
    .name = "local",
    .ranks_by_one = true,
    .help =
        "local search in each family from its defaults; the family whose improvement costs least is next",
    .open = local_open,
    .close = local_close,
    .suggest = local_suggest,
    .adopt = local_adopt,
    .observe = local_observe,
};
