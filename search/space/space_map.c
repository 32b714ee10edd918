/* space_map.c - the values of parameters: the cells of discrete ones, the maps to the unit cube and
 * back, and whether a point is active and legal. from_unit(to_unit(v)) == v holds for each discrete
 * value, because space.c bounds the ranges. Logarithms and exponentials are those of exact_math.h,
 * so all machines agree to the last bit.
 *
 * An integer v on a log scale owns the interval [v - 1/2, v + 1/2] of the log axis (Optuna does the
 * same): the probability of drawing it is the length of that interval. */
#include "search/space/exact_math.h"
#include "search/space/space.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BELOW_ONE (1 - 0x1p-53) /* the largest double below 1 */

static double clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* floor(v), without the call that it is on a processor of which nothing is known. */
static inline double floor_of(double v)
{
    if (!(fabs(v) < 0x1p52))
        return floor(v);
    double whole = (double)(int64_t)v;
    return whole > v ? whole - 1 : whole;
}

/* The nearest number with 15 digits, so that 0.1 + 2 * 0.1 becomes 0.3. */
static double decimal(double v)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.15g", v);
    return strtod(text, NULL);
}

static bool is_continuous(const struct param *p)
{
    return p->kind == PARAM_FLOAT && p->step == 0 && p->lo < p->hi;
}

/* Asked several times for each value of each candidate. */
static inline double size_of(const struct param *p)
{
    if (p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL)
        return p->n_choices;
    if (p->kind == PARAM_CONSTANT)
        return 1;
    if (is_continuous(p))
        return INFINITY;
    if (p->kind == PARAM_INT)
        return floor_of((p->hi - p->lo) / (p->step > 0 ? p->step : 1) + 0.5) + 1;
    return p->step > 0 ? floor_of((p->hi - p->lo) / p->step + 0.5) + 1 : 1;
}

double param_size(const struct param *p)
{
    return size_of(p);
}

double param_value(const struct param *p, double cell)
{
    double size = size_of(p);

    CHECK(!is_continuous(p) && cell >= 0 && cell < size);
    switch (p->kind) {
    case PARAM_FLOAT:
        if (cell == 0)
            return p->lo;
        return cell == size - 1 ? p->hi : decimal(p->lo + cell * p->step);
    case PARAM_INT:
        return p->lo + cell * (p->step > 0 ? p->step : 1);
    case PARAM_CATEGORICAL:
    case PARAM_ORDINAL:
        return cell;
    case PARAM_CONSTANT:
        break;
    }
    return p->lo;
}

static inline double cell_of(const struct param *p, double v, double size)
{
    double step = p->step > 0 ? p->step : 1;

    if (p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL)
        return clamp(floor_of(v + 0.5), 0, size - 1);
    return clamp(floor_of((v - p->lo) / step + 0.5), 0, size - 1);
}

double param_cell(const struct param *p, double v)
{
    CHECK(!is_continuous(p));
    return cell_of(p, v, size_of(p));
}

bool param_is_legal(const struct param *p, double v)
{
    if (!isfinite(v))
        return false;
    if (is_continuous(p))
        return v >= p->lo && v <= p->hi;
    double want = param_value(p, param_cell(p, v));
    if (p->kind != PARAM_FLOAT || p->step == 0)
        return v == want;
    /* A user writes 0.3 for lo + 3 * step. Such a value may differ from ours by a tiny part of the
     * step and by the rounding of numbers as large as the range (2^-50 of it is eight units in the
     * last place). */
    double slack = 1e-9 * p->step + 0x1p-50 * (fabs(p->lo) + fabs(p->hi));
    return fabs(v - want) <= slack;
}

static double int_log_from_unit(const struct param *p, double u)
{
    double at = p->log_lo + u * (p->log_hi - p->log_lo);

    return clamp(floor_of(search_exp(at) + 0.5), p->lo, p->hi);
}

static double int_log_to_unit(const struct param *p, double v)
{
    double at = (search_log(v - 0.5) + search_log(v + 0.5)) / 2;

    return (at - p->log_lo) / (p->log_hi - p->log_lo);
}

double param_from_unit(const struct param *p, double u)
{
    double size = size_of(p);

    u = u >= 0 ? clamp(u, 0, BELOW_ONE) : 0; /* NaN becomes 0 as well */
    if (p->kind == PARAM_INT && p->is_log)
        return int_log_from_unit(p, u);
    if (!is_continuous(p))
        return param_value(p, clamp(floor_of(u * size), 0, size - 1));
    if (!p->is_log)
        return clamp(p->lo + u * (p->hi - p->lo), p->lo, p->hi);
    return clamp(search_exp(p->log_lo + u * (p->log_hi - p->log_lo)), p->lo, p->hi);
}

double param_to_unit(const struct param *p, double v)
{
    double u = 0;

    if (p->kind == PARAM_INT && p->is_log) {
        u = int_log_to_unit(p, clamp(v, p->lo, p->hi));
    } else if (!is_continuous(p)) {
        double size = size_of(p);
        u = (cell_of(p, v, size) + 0.5) / size;
    } else if (!p->is_log) {
        u = (v - p->lo) / (p->hi - p->lo);
    } else {
        double a = p->log_lo, b = p->log_hi;
        u = a < b ? (search_log(clamp(v, p->lo, p->hi)) - a) / (b - a) : 0.5;
    }
    return clamp(u, 0, BELOW_ONE);
}

/* ---- points ---- */

bool space_is_active(const struct space *s, const double *point, int i)
{
    const struct param *p = &s->params[i];

    if (p->parent < 0)
        return true;
    double c =
        point[p->parent]; /* NaN if the parent itself is inactive; then no comparison holds */
    return c >= 0 && c < 64 && (p->parent_mask >> (unsigned)c & 1);
}

static int check_value(const struct space *s, int i, double v, struct err *err)
{
    const struct param *p = &s->params[i];
    char text[64];

    if (param_is_legal(p, v))
        return 0;
    if (isnan(v))
        return err_at(err, p->name, "is missing");
    if (p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL)
        return err_at(err, p->name, "has no choice number %g", v);
    space_value_text(s, i, v, text, sizeof text);
    if (v >= p->lo && v <= p->hi)
        return err_at(err, p->name, "%s is not a step of %g..%g by %g", text, p->lo, p->hi,
                      p->step);
    return err_at(err, p->name, "%s is outside %g..%g", text, p->lo, p->hi);
}

int space_check(const struct space *s, const double *point, struct err *err)
{
    for (int i = 0; i < s->n; i++) {
        if (space_is_active(s, point, i)) {
            if (check_value(s, i, point[i], err) < 0)
                return -1;
        } else if (!isnan(point[i])) {
            return err_at(err, s->params[i].name, "is not active: it depends on %s",
                          s->params[s->params[i].parent].name);
        }
    }
    return 0;
}

void space_defaults(const struct space *s, double *point)
{
    for (int i = 0; i < s->n; i++)
        point[i] = space_is_active(s, point, i) ? s->params[i].def : NAN;
}

void space_from_unit(const struct space *s, const double *unit, double *point)
{
    for (int i = 0; i < s->n; i++)
        point[i] = space_is_active(s, point, i) ? param_from_unit(&s->params[i], unit[i]) : NAN;
}

void space_to_unit(const struct space *s, const double *point, double *unit)
{
    for (int i = 0; i < s->n; i++)
        unit[i] = isnan(point[i]) ? NAN : param_to_unit(&s->params[i], point[i]);
}

void space_value_text(const struct space *s, int i, double v, char *out, size_t size)
{
    const struct param *p = &s->params[i];

    if (isnan(v)) {
        str_copy(out, size, "-");
        return;
    }
    if ((p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL) && param_is_legal(p, v)) {
        str_copy(out, size, p->choices[(int)v]);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) { /* the shortest text that reads back as v */
        (void)snprintf(out, size, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            return;
    }
}
