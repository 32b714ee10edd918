/* tabular.c - a tabular benchmark. It is checked completely when it is built, so every access later
 * is plain arithmetic. The distance in curve tables, the regret and the mixed-radix numbering of
 * grids are those of the public tables (NAS-Bench-201, HPOBench, LCBench; see docs/SIMULATE.md). */
#include "search/lab/tabular.h"

#include "base/mem.h"
#include "base/str.h"
#include "search/space/exact_math.h"

#include <math.h>
#include <stdlib.h>

/* ---- access ---- */

double tabular_value(const struct tabular *t, size_t config, int epoch)
{
    CHECK(config < t->n && epoch >= 1 && epoch <= t->epochs);
    size_t at = config * (size_t)t->epochs + (size_t)epoch - 1;
    double v = t->data[t->is_grid ? at : 2 * at];

    return t->is_minimised ? -v : v;
}

double tabular_seconds(const struct tabular *t, size_t config, int epoch)
{
    CHECK(config < t->n && epoch >= 0 && epoch <= t->epochs);
    if (epoch == 0)
        return 0;
    return t->is_grid ? 1 : t->data[2 * (config * (size_t)t->epochs + (size_t)epoch - 1) + 1];
}

double tabular_best_until(const struct tabular *t, size_t config, int epoch)
{
    double best = NAN;

    for (int e = 1; e <= epoch; e++)
        best = fmax(best, tabular_value(t, config, e)); /* fmax ignores NaN */
    return best;
}

/* ---- scaling ---- */

/* A value on [0, 1], on the log scale if the parameter has one. A category stays the index of its
 * choice. */
static double scaled(const struct param *p, double v)
{
    double lo = p->lo, hi = p->hi;

    if (p->kind == PARAM_CATEGORICAL || p->kind == PARAM_CONSTANT)
        return v;
    if (p->kind == PARAM_ORDINAL) {
        lo = 0;
        hi = p->n_choices - 1;
    } else if (p->is_log) {
        lo = search_log(lo);
        hi = search_log(hi);
        v = search_log(v);
    }
    return hi > lo ? (v - lo) / (hi - lo) : 0;
}

/* Two different categories are at distance 1. Stops as soon as the sum reaches `at_most`. */
static double squared_distance(const struct space *s, const double *a, const double *b,
                               double at_most)
{
    double sum = 0;

    for (int i = 0; i < s->n && sum < at_most; i++) {
        double d = a[i] - b[i];
        sum += s->params[i].kind == PARAM_CATEGORICAL ? (d != 0) : d * d;
    }
    return sum;
}

static size_t grid_entry(const struct tabular *t, const double *point)
{
    double at = 0;

    for (int i = 0; i < t->space->n; i++) {
        const struct param *p = &t->space->params[i];
        at = at * param_size(p) + (isnan(point[i]) ? 0 : param_cell(p, point[i]));
    }
    CHECK(at >= 0 && at < (double)t->n);
    return (size_t)at;
}

size_t tabular_find(const struct tabular *t, const double *point, const bool *taken)
{
    size_t d = (size_t)t->space->n, nearest = TABULAR_NONE;
    double least = INFINITY, at[SPACE_MAX_PARAMS];

    if (t->is_grid)
        return grid_entry(t, point);
    for (size_t i = 0; i < d; i++)
        at[i] = scaled(&t->space->params[i], point[i]);
    for (size_t c = 0; c < t->n; c++) {
        if (taken[c])
            continue;
        double far = squared_distance(t->space, at, t->place + c * d, least);
        if (far < least || nearest == TABULAR_NONE) {
            least = far;
            nearest = c;
        }
    }
    return nearest;
}

/* ---- regret ---- */

double tabular_regret(const struct tabular *t, double value)
{
    double scale = t->best - t->median;

    if (isnan(value))
        value = t->worst;
    /* If half of the table is as good as its best, the scale is 0: then such a value has regret 0
     * and any other 1. */
    return scale > 0 ? (t->best - value) / scale : value >= t->best ? 0 : 1;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The values of the last epochs in rising order. Failures come first, as the worst. NULL if no
 * configuration has a value. */
static double *sorted_finals(const struct tabular *t, size_t *n_failed)
{
    double *v = mem_array(t->n, sizeof *v);

    *n_failed = 0;
    for (size_t c = 0; c < t->n; c++) {
        double x = tabular_value(t, c, t->epochs);
        *n_failed += isnan(x);
        v[c] = isnan(x) ? -INFINITY : x;
    }
    qsort(v, t->n, sizeof *v, rising);
    if (*n_failed < t->n)
        return v;
    mem_free(v);
    return NULL;
}

double tabular_random_regret(const struct tabular *t, size_t draws)
{
    size_t failed = 0;
    double *v = sorted_finals(t, &failed), left = 1, mean = 0;

    CHECK(v);
    draws = MIN(draws, t->n);
    /* From the best downwards: the i-th best is the best of the draws if it is drawn and none of
     * the i better ones is. */
    for (size_t i = 0; i < t->n && draws > 0 && left > 0; i++) {
        double others = (double)(t->n - i), hit = MIN(1, (double)draws / others);
        double x = v[t->n - 1 - i];
        mean += left * hit * tabular_regret(t, isinf(x) ? NAN : x);
        left *= 1 - hit;
    }
    mem_free(v);
    return draws > 0 ? mean : tabular_regret(t, NAN);
}

static int measure(struct tabular *t, struct err *err)
{
    size_t failed = 0, n = t->n;
    double *v = sorted_finals(t, &failed), time = 0;

    if (!v)
        return err_set(err, ERR_ARG, "no configuration has a value at the end");
    /* The median of the configurations that have a value. */
    size_t lower = failed + (n - failed - 1) / 2, upper = failed + (n - failed) / 2;
    t->median = (v[lower] + v[upper]) / 2;
    t->worst = v[failed];
    t->best = v[n - 1];
    t->spread = (v[failed + (size_t)(0.84 * (double)(n - failed - 1) + 0.5)] -
                 v[failed + (size_t)(0.16 * (double)(n - failed - 1) + 0.5)]) /
                2;
    mem_free(v);
    for (size_t c = 0; c < n; c++) {
        t->best = fmax(t->best, tabular_best_until(t, c, t->epochs));
        time += tabular_seconds(t, c, t->epochs);
    }
    t->mean_time = time / (double)n;
    return 0;
}

/* ---- building ---- */

void tabular_free(struct tabular *t)
{
    if (!t)
        return;
    space_free(t->space);
    mem_free(t->data);
    mem_free(t->place);
    mem_free(t);
}

static struct tabular *tabular_new(const char *name, struct space *space, bool is_minimised,
                                   size_t n, float *data)
{
    struct tabular *t = mem_zalloc(sizeof *t);

    (void)str_copy(t->name, sizeof t->name, name);
    t->space = space;
    t->is_minimised = is_minimised;
    t->n = n;
    t->data = data;
    return t;
}

static int check_infinite(const struct tabular *t, struct err *err)
{
    size_t per = (size_t)t->epochs;

    for (size_t i = 0; i < t->n * per; i++) {
        if (isinf(t->data[t->is_grid ? i : 2 * i]))
            return err_set(err, ERR_ARG, "configuration %zu has an infinite value at epoch %zu",
                           i / per, i % per + 1);
    }
    return 0;
}

/* The point of an entry, with NaN where a parameter is inactive. Parents come before their children
 * in the space, so a parent's value is known when its child is reached, if cells are taken apart
 * first. */
static void grid_point(const struct space *s, size_t entry, double *point)
{
    for (int i = s->n - 1; i >= 0; i--) {
        size_t size = (size_t)param_size(&s->params[i]);
        point[i] = param_value(&s->params[i], (double)(entry % size));
        entry /= size;
    }
    for (int i = 0; i < s->n; i++)
        point[i] = space_is_active(s, point, i) ? point[i] : NAN;
}

static int check_branches(const struct tabular *t, struct err *err)
{
    double point[SPACE_MAX_PARAMS];
    bool is_tree = false;

    for (int i = 0; i < t->space->n; i++)
        is_tree = is_tree || t->space->params[i].parent >= 0;
    for (size_t i = 0; i < t->n && is_tree; i++) {
        grid_point(t->space, i, point);
        float a = t->data[i], b = t->data[grid_entry(t, point)];
        if (a != b && !(isnan(a) && isnan(b)))
            return err_set(err, ERR_ARG,
                           "entry %zu is %g, but the same configuration without its inactive "
                           "parameters is %g",
                           i, a, b);
    }
    return 0;
}

struct tabular *tabular_grid_new(const char *name, struct space *space, bool is_minimised,
                                 float *values, size_t n, struct err *err)
{
    struct tabular *t = tabular_new(name, space, is_minimised, n, values);
    double size = 1;

    t->is_grid = true;
    t->epochs = 1;
    for (int i = 0; i < space->n; i++) {
        size *= param_size(&space->params[i]);
        if (isinf(size)) {
            err_at(err, space->params[i].name, "a grid has only finite parameters");
            goto fail;
        }
    }
    if (n == 0 || n > TABULAR_MAX_VALUES || size != (double)n) {
        err_set(err, ERR_ARG, "%zu values for a grid of %.0f points", n, size);
        goto fail;
    }
    if (check_branches(t, err) < 0 || check_infinite(t, err) < 0 || measure(t, err) < 0)
        goto fail;
    return t;
fail:
    tabular_free(t);
    return NULL;
}

static int check_times(const struct tabular *t, struct err *err)
{
    for (size_t c = 0; c < t->n; c++) {
        for (int e = 1; e <= t->epochs; e++) {
            double s = tabular_seconds(t, c, e);
            if (!(s > tabular_seconds(t, c, e - 1)) || isinf(s))
                return err_set(err, ERR_ARG,
                               "the time of configuration %zu does not rise at epoch %d", c, e);
        }
    }
    return 0;
}

/* Takes ownership of points and scales them in place. */
static int place_all(struct tabular *t, double *points, struct err *err)
{
    size_t d = (size_t)t->space->n;

    t->place = points;
    for (int i = 0; i < t->space->n; i++) {
        if (t->space->params[i].parent >= 0)
            return err_at(err, t->space->params[i].name, "curves have no conditional parameters");
    }
    for (size_t c = 0; c < t->n; c++) {
        if (space_check(t->space, points + c * d, err) < 0)
            return err_wrap(err, "configuration %zu", c);
        for (size_t i = 0; i < d; i++)
            points[c * d + i] = scaled(&t->space->params[i], points[c * d + i]);
    }
    return 0;
}

struct tabular *tabular_curves_new(const char *name, struct space *space, bool is_minimised,
                                   double *points, size_t n, int epochs, float *data,
                                   struct err *err)
{
    struct tabular *t = tabular_new(name, space, is_minimised, n, data);

    t->epochs = epochs;
    t->place = points;
    if (n == 0 || epochs < 1 || epochs > TABULAR_MAX_EPOCHS ||
        n > TABULAR_MAX_VALUES / 2 / (size_t)epochs) {
        err_set(err, ERR_ARG, "%zu configurations of %d epochs are too few or too many", n, epochs);
        goto fail;
    }
    if (place_all(t, points, err) < 0 || check_times(t, err) < 0 || check_infinite(t, err) < 0 ||
        measure(t, err) < 0)
        goto fail;
    return t;
fail:
    tabular_free(t);
    return NULL;
}

int tabular_ladder(int epochs, double eta, int ladder[TABULAR_MAX_LEVELS])
{
    int down[TABULAR_MAX_LEVELS], n = 0;

    CHECK(epochs >= 1 && eta > 1);
    for (double r = epochs; n < TABULAR_MAX_LEVELS && r >= 1; r /= eta) {
        int e = MAX(1, (int)(r + 0.5));
        if (n == 0 || e < down[n - 1])
            down[n++] = e;
    }
    for (int i = 0; i < n; i++)
        ladder[i] = down[n - 1 - i];
    return n;
}
