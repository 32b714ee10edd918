/* target_unit.c - a target of numbers in the unit in which it is learnt (target_unit.h). */
#include "ml/model/target_unit.h"

#include "ml/math/fmath.h"

#include <math.h>

/* FAR: the mean is so many spreads from 0 that float would lose more than 1/4000 of the spread.
 * SKEWED: skewness from which the logarithm is tried; an exponential distribution has 2. LEAST_ROWS:
 * the skewness of fewer rows says little. */
#define FAR        4096.0
#define SKEWED     1.5
#define LEAST_ROWS 100

bool target_unit_ok(const struct target_unit *u)
{
    bool is_known = u->kind == TARGET_SHIFTED || u->kind == TARGET_LOG;

    return is_known && isfinite(u->by) && u->smear > 0 && u->smear <= 1e6 &&
           (u->kind == TARGET_LOG ? u->by >= 0 : u->smear == 1);
}

double target_learnt(const struct target_unit *u, double y)
{
    if (u->kind == TARGET_PLAIN)
        return y;
    return u->kind == TARGET_LOG ? fm_log_d(y + u->by) : y - u->by;
}

float target_back(const struct target_unit *u, float learnt)
{
    if (u->kind != TARGET_LOG)
        return learnt;
    return (float)(fm_exp_d((double)learnt) * u->smear - u->by);
}

double target_shift(const struct target_unit *u)
{
    return u->kind == TARGET_SHIFTED ? u->by : 0;
}

/* ---- which unit ---- */

/* Mean, spread and skewness of the values in use, or of their logarithms (plus > 0 or least > 0).
 * Returns how many there are. */
static int64_t moments(const double *y, const uint8_t *use, int64_t n, const struct target_unit *u,
                       double *mean, double *spread, double *skewness)
{
    double top = 0, sum = 0, square = 0, cube = 0;
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++)
        top = use[i] ? fmax(top, fabs(target_learnt(u, y[i]))) : top;
    top = top > 0 ? top : 1;
    for (int64_t i = 0; i < n; i++) {
        sum += use[i] ? target_learnt(u, y[i]) / top : 0;
        m += use[i] != 0;
    }
    double middle = m ? sum / (double)m : 0;
    for (int64_t i = 0; i < n; i++) {
        double e = use[i] ? target_learnt(u, y[i]) / top - middle : 0;
        square += e * e;
        cube += e * e * e;
    }
    double sd = m ? sqrt(square / (double)m) : 0;
    *mean = middle * top;
    *spread = sd * top;
    *skewness = sd > 0 ? cube / (double)m / (sd * sd * sd) : 0;
    return m;
}

struct target_unit target_unit_shifted(const double *y, const uint8_t *use, int64_t n)
{
    struct target_unit u = { TARGET_PLAIN, 0, 1 };
    double mean, spread, skewness;

    (void)moments(y, use, n, &u, &mean, &spread, &skewness);
    if (fabs(mean) > FAR * spread && spread > 0 && isfinite(mean))
        u = (struct target_unit){ TARGET_SHIFTED, mean, 1 };
    return u;
}

bool target_unit_log(const double *y, const uint8_t *use, int64_t n, struct target_unit *out)
{
    struct target_unit plain = { TARGET_PLAIN, 0, 1 };
    double mean, spread, before, after, least = INFINITY, above = INFINITY;

    for (int64_t i = 0; i < n; i++) {
        least = use[i] ? fmin(least, y[i]) : least;
        above = use[i] && y[i] > 0 ? fmin(above, y[i]) : above;
    }
    if (least < 0 || !isfinite(above) ||
        moments(y, use, n, &plain, &mean, &spread, &before) < LEAST_ROWS)
        return false;
    /* zeros: the smallest value above them is the size at which the logarithm bends */
    *out = (struct target_unit){ TARGET_LOG, least > 0 ? 0 : above, 1 };
    (void)moments(y, use, n, out, &mean, &spread, &after);
    return before > SKEWED && fabs(after) < before / 2;
}
