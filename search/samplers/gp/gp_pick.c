/* gp_pick.c - maximises the log expected improvement without gradients, so choices, steps and
 * conditions are handled like smooth ranges. One half of the budget looks around: a third of it at
 * random, the rest by changing some parameters of the best trials by amounts of several sizes. The
 * other half climbs from the LEADERS best points found. Each step keeps the best of a few
 * neighbours, and the size of the steps shrinks as it goes. */
#include "search/samplers/gp/gp_pick.h"

#include "search/space/constraint.h"
#include "search/space/exact_math.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* TAG keeps these draws apart from others. TERMS: see quick_log_ei. LEAST, MOST: predictions for one
 * point, where six hundred found no more on grids (docs/measurements/2026-11-27.md). MOST_CHOICE is
 * added for each choice, because no slope leads from one value of a choice to another. Where a
 * number has more than FINE values, as where it is continuous, MOST_FINE climb closer to the top.
 */
enum {
    LEADERS = 4,
    NEIGHBOURS = 4,
    TAG = 0x6e1,
    TERMS = 8,
    LEAST = 60,
    MOST = 200,
    MOST_CHOICE = 60,
    MOST_FINE = 600,
    FINE = 256,
    TRIED = 1024
};
static const double LOG_SQRT_2PI = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */

struct leader {
    double score;
    double *unit, *point;
};
struct climb {
    const struct gp_pick *p;
    const struct space *space;
    struct rng rng;
    int left; /* predictions that may still be made */
    struct leader leaders[LEADERS];
    int n_leaders;
    double *unit, *point;  /* scratch */
    uint64_t tried[TRIED]; /* hashes of the points that were scored; 0 = free */
};

/* A prediction solves a triangular system (n^2 / 2) and computes n covariances of about 3 d + 30
 * operations. At least LEAST predictions are made, whatever they cost. */
int gp_pick_budget(const struct gp_code *code, const struct gp_model *m, double work)
{
    int most = MOST;
    bool is_fine = false;

    double n = m->points.n, each = n * n / 2 + n * (3.0 * m->points.d + 30) + 100;
    double budget = work / each;

    for (int k = 0; k < code->d; k++) {
        most += code->is_choice[k] ? MOST_CHOICE : 0;
        is_fine |= param_size(&code->space->params[code->params[k]]) > FINE;
    }
    most = is_fine ? MAX(most, MOST_FINE) : most;
    return (int)(budget < LEAST ? LEAST : budget > most ? most : budget);
}

/* The logarithm of the expected improvement over 0 of a normal variable, to about 1e-3: all that a
 * comparison of points needs, at a fifth of what normal_log_ei costs. The terms of its continued
 * fraction beyond TERMS are replaced by f of f = TERMS / (x + f), which they are close to. */
static double quick_log_ei(double mean, double sd)
{
    double z = mean / sd, x = fabs(z), c = 0.5 * (sqrt(x * x + 4 * TERMS - 2) - x);

    for (int k = TERMS - 1; k >= 1; k--)
        c = k / (x + c);
    double share = c / (x + c) * sd;
    if (z <= 0)
        return search_log(share) - 0.5 * x * x - LOG_SQRT_2PI;
    return search_log(mean + share * search_exp(-0.5 * x * x - LOG_SQRT_2PI));
}

/* The log expected improvement where the model has this mean and deviation. Where results are noisy,
 * what can improve is the model's mean after one more result there, not the function: a result moves
 * the mean by less than the deviation, s^2 / sqrt(s^2 + noise) (Picheny, Ginsbourger, Richet and
 * Caplin, Technometrics 2013: the expected quantile improvement, equations 10-13, of the quantile
 * 1/2). So a place far from all trials is worth less the more noise there is. */
static double log_ei(const struct climb *c, double mean, double sd)
{
    double variance = sd * sd;

    if (c->p->is_noisy)
        sd = variance / sqrt(variance + c->p->model->kernel.noise);
    return quick_log_ei(mean - c->p->best, sd);
}

/* The log expected improvement at x, or -INFINITY if it is not above `least`. It rises with the
 * deviation, and the deviation falls with every trial taken into account, so most points are given
 * up after an eighth of the work. */
static double score_at(const struct climb *c, const double *x, double least)
{
    struct gp_model *m = c->p->model;
    double mean = gp_mean(m, x);
    const int stops[] = { m->n_rows * 3 / 8, m->n_rows * 5 / 8, m->n_rows };
    int from = 0;

    if (!(log_ei(c, mean, gp_deviation_bound(m)) > least))
        return -INFINITY;

    for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
        double value = log_ei(c, mean, gp_deviation(m, from, stops[i]));
        if (!(value > least))
            return -INFINITY;
        if (stops[i] == m->n_rows)
            return value;
        from = stops[i];
    }
    return -INFINITY;
}

/* Whether the point with this hash was met before; remembers it. */
static bool was_tried(struct climb *c, uint64_t hash)
{
    size_t at = hash % TRIED;

    for (int k = 0; k < 8; k++, at = (at + 1) % TRIED) {
        if (c->tried[at] == hash)
            return true;
        if (c->tried[at] == 0) {
            c->tried[at] = hash;
            return false;
        }
    }
    return false;
}

/* The log expected improvement at c->unit; its point goes to c->point. -INFINITY if it is not above
 * `least`, or if the point was proposed before. */
static double score(struct climb *c, double least)
{
    double x[GP_MAX_DIMS];

    space_from_unit(c->space, c->unit, c->point);
    c->left--;
    if (!space_holds(c->space, c->point))
        return -INFINITY;
    for (int i = 0; i < c->space->n; i++) {
        if (c->space->params[i].axis == AXIS_FREE && !isnan(c->point[i]))
            c->point[i] = c->space->params[i].def;
    }
    uint64_t hash = space_hash(c->space, c->point);
    if (was_tried(c, hash) || hash_set_has(c->p->seen, hash))
        return -INFINITY;
    gp_code_of(c->p->code, c->point, x);
    return score_at(c, x, least);
}

static void leader_set(struct climb *c, struct leader *l, double value)
{
    size_t size = (size_t)c->space->n * sizeof *l->unit;

    l->score = value;
    memcpy(l->unit, c->unit, size);
    memcpy(l->point, c->point, size);
}

/* Puts the point at c->unit among the leaders if it is one of the best, each only once, best
 * first. */
static void consider(struct climb *c)
{
    int at = c->n_leaders;
    double value = score(c, at < LEADERS ? -INFINITY : c->leaders[at - 1].score);

    if (value == -INFINITY)
        return;
    for (int i = 0; i < c->n_leaders; i++) {
        if (space_points_equal(c->space, c->leaders[i].point, c->point))
            return;
    }
    while (at > 0 && value > c->leaders[at - 1].score)
        at--;
    int last = c->n_leaders < LEADERS ? c->n_leaders++ : LEADERS - 1;
    struct leader freed = c->leaders[last];
    memmove(c->leaders + at + 1, c->leaders + at, (size_t)(last - at) * sizeof *c->leaders);
    c->leaders[at] = freed;
    leader_set(c, &c->leaders[at], value);
}

static void random_unit(struct climb *c)
{
    for (int i = 0; i < c->space->n; i++)
        c->unit[i] = rng_unit(&c->rng);
}

/* Moves parameter i by about `size` in the unit cube, at least to the next cell. A category changes
 * to another one. */
static void move(struct climb *c, int i, double size)
{
    const struct param *p = &c->space->params[i];
    double cells = param_size(p), u = isnan(c->unit[i]) ? rng_unit(&c->rng) : c->unit[i];
    double step = size * rng_normal(&c->rng);

    if (p->kind == PARAM_CATEGORICAL) {
        u += (1 + rng_below(&c->rng, (uint32_t)cells - 1)) / cells;
        u = u >= 1 ? u - 1 : u;
    } else {
        if (fabs(step) * cells < 1)
            step = (step < 0 ? -1 : 1) / cells;
        u += step;
        if (u < 0 || u >= 1) /* beyond an edge: reflect */
            u = u < 0 ? -u : 2 - u;
        u = u < 0 ? 0 : u >= 1 ? 0x1.fffffffffffffp-1 : u;
    }
    c->unit[i] = u;
}

/* Changes one parameter for certain, and each one with probability 1/d, so one more on average. */
static void mutate(struct climb *c, const double *from, double size)
{
    const struct gp_code *code = c->p->code;
    int sure = (int)rng_below(&c->rng, (uint32_t)code->d);

    for (int i = 0; i < c->space->n; i++) /* parameters that were inactive are drawn at random */
        c->unit[i] = isnan(from[i]) ? rng_unit(&c->rng) : from[i];
    for (int k = 0; k < code->d; k++) {
        bool also = rng_unit(&c->rng) * code->d < 1;
        if (k == sure || also)
            move(c, code->params[k], size);
    }
}

static void look_around(struct climb *c, int n)
{
    static const double sizes[] = { 0.3, 0.1, 0.03, 0.01 };

    for (int i = 0; i < n; i++) {
        if (i % 3 == 0 || c->p->n_elites == 0) {
            random_unit(c);
        } else {
            const double *from = c->p->elites[rng_below(&c->rng, (uint32_t)c->p->n_elites)];
            mutate(c, from, sizes[rng_below(&c->rng, ARRAY_LEN(sizes))]);
        }
        consider(c);
    }
}

/* Climbs from all leaders in turn. The step shrinks by a fifth each round from 0.15 to 0.002, then
 * starts again. */
static void climb_on(struct climb *c)
{
    double size = 0.15;

    while (c->left > 0) {
        for (int l = 0; l < c->n_leaders; l++) {
            struct leader *leader = &c->leaders[l];
            for (int k = 0; k < NEIGHBOURS && c->left > 0; k++) {
                mutate(c, leader->unit, size);
                double value = score(c, leader->score);
                if (value > -INFINITY)
                    leader_set(c, leader, value);
            }
        }
        size = size > 0.002 ? size * 0.8 : 0.15;
    }
}

/* Tries every point of a small space. */
static void enumerate(struct climb *c)
{
    uint64_t n = (uint64_t)space_search_size(c->space);

    for (uint64_t i = 0; i < n; i++) {
        space_at(c->space, i, c->point);
        space_to_unit(c->space, c->point, c->unit);
        for (int k = 0; k < c->space->n; k++)
            c->unit[k] = isnan(c->unit[k]) ? 0 : c->unit[k];
        consider(c);
    }
}

static void climb_init(struct climb *c, const struct gp_pick *p)
{
    size_t n = (size_t)p->code->space->n;
    double *room = mem_array(n * (2 * LEADERS + 2), sizeof *room);

    *c = (struct climb){ .p = p, .space = p->code->space, .left = p->budget };
    rng_init(&c->rng, rng_mix(p->seed, TAG), (uint64_t)p->trial);
    c->unit = room;
    c->point = room + n;
    for (int l = 0; l < LEADERS; l++) {
        c->leaders[l].unit = room + (size_t)(2 * l + 2) * n;
        c->leaders[l].point = room + (size_t)(2 * l + 3) * n;
    }
}

int gp_pick_point(const struct gp_pick *p, double *point)
{
    const struct leader *best = NULL;
    struct climb c;

    if (p->code->d == 0)
        return 0;
    climb_init(&c, p);
    if (space_search_size(c.space) <= p->budget) {
        enumerate(&c);
    } else {
        look_around(&c, p->budget / 2);
        if (c.n_leaders > 0)
            climb_on(&c);
    }
    for (int l = 0; l < c.n_leaders; l++)
        best = !best || c.leaders[l].score > best->score ? &c.leaders[l] : best;
    if (best)
        memcpy(point, best->point, (size_t)c.space->n * sizeof *point);
    mem_free(c.unit);
    return best != NULL;
}
