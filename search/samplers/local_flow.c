/* local_flow.c - FLOW2 with a few changes. The step also grows, by half, on success. It is halved
 * after 2 d + 2 failures instead of 2^(d-1), which is more than a whole budget in spaces of usual
 * size. Categories change by mutation, because a direction means nothing to them. Steps are in
 * units of the root of d, so that a coordinate moves equally far in every dimension. */
#include "search/samplers/local_flow.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { TAG = 0x10ca1 }; /* keeps its draws apart from others of the same seed */
static const double STEP_FIRST = 0.1, STEP_MOST = 0.3, STEP_LEAST = 0.004,
                    BELOW_ONE = 0x1.fffffffffffffp-1;

static bool is_movable(const struct flow *w, int i)
{
    const struct param *p = &w->space->params[i];

    return i != w->fixed && p->kind != PARAM_CONSTANT && p->axis != AXIS_FREE && param_size(p) > 1;
}

void flow_init(struct flow *w, const struct space *space, int fixed, double value)
{
    *w = (struct flow){ .space = space, .fixed = fixed, .step = STEP_FIRST };
    w->centre = mem_array((size_t)space->n, sizeof *w->centre);
    for (int i = 0; i < space->n; i++) {
        const struct param *p = &space->params[i];
        double at = p->kind == PARAM_CONSTANT ? p->lo : i == fixed ? value : p->def;
        w->centre[i] = param_to_unit(p, at);
        w->d += is_movable(w, i);
    }
}

void flow_fini(struct flow *w)
{
    mem_free(w->centre);
}

static void centre_set(struct flow *w, const double *unit, int64_t newest)
{
    for (int i = 0; i < w->space->n; i++) {
        if (!isnan(unit[i]) && i != w->fixed)
            w->centre[i] = unit[i];
    }
    w->last = newest;
    w->moves++;
    w->asked = w->failed = 0;
}

void flow_restart(struct flow *w, const double *unit, int64_t newest)
{
    centre_set(w, unit, newest);
    w->has_incumbent = false;
    w->step = STEP_FIRST;
}

void flow_move(struct flow *w, int64_t trial, const double *unit, int64_t newest)
{
    bool is_first = !w->has_incumbent;

    centre_set(w, unit, newest);
    w->has_incumbent = true;
    w->incumbent = trial;
    if (!is_first)
        w->step = MIN(w->step * 1.5, STEP_MOST);
}

bool flow_fail(struct flow *w, int64_t trial)
{
    if (trial <= w->last || ++w->failed < 2 * (uint32_t)w->d + 2)
        return false;
    w->failed = 0;
    w->step *= 0.5;
    return w->step < STEP_LEAST;
}

void flow_asked(struct flow *w)
{
    w->asked++;
}

/* A number reflected at the ends of the unit interval. */
static double folded(double u)
{
    if (u < 0 || u >= 2)
        u -= 2 * floor(u / 2);
    u = u >= 1 ? 2 - u : u;
    return MIN(u, BELOW_ONE);
}

/* Fills unit with a normal vector, whose direction is uniform. Returns the factor that scales it to
 * length root of d. */
static double direction(const struct flow *w, struct rng *r, double *unit)
{
    double norm2 = 0;

    for (int i = 0; i < w->space->n; i++) {
        unit[i] = is_movable(w, i) ? rng_normal(r) : 0;
        if (w->space->params[i].kind != PARAM_CATEGORICAL)
            norm2 += unit[i] * unit[i];
    }
    return norm2 > 0 ? 1 / sqrt(norm2 / w->d) : 0;
}

void flow_next(const struct flow *w, uint64_t seed, int attempt, double *unit)
{
    uint32_t ask =
        w->has_incumbent ? w->asked : w->asked - 1; /* two for each direction, there and back */
    double sign = ask % 2 ? -1 : 1, step = w->step;
    struct rng there, own;

    if (!w->has_incumbent && w->asked == 0 && attempt == 0) {
        memcpy(unit, w->centre, (size_t)w->space->n * sizeof *unit);
        return;
    }
    seed = rng_mix(rng_mix(seed, TAG), (uint64_t)w->moves << 16 | (uint64_t)attempt);
    rng_init(&there, seed, ask / 2);
    rng_init(&own, ~seed, ask);
    for (int k = 0; k < attempt; k++)
        step = MIN(step * 1.25, 1);
    double scale = direction(w, &there, unit);
    for (int i = 0; i < w->space->n; i++) {
        const struct param *p = &w->space->params[i];
        double draw = rng_unit(&own), other = rng_unit(&own);
        if (!is_movable(w, i))
            unit[i] = w->centre[i];
        else if (p->kind == PARAM_CATEGORICAL)
            unit[i] = draw * w->d < 1 ? other : w->centre[i];
        else
            unit[i] = folded(w->centre[i] + sign * step * scale * unit[i]);
    }
}
