/* target_limits.c - how far predictions of numbers may go (target_limits.h). */
#include "ml/model/target_limits.h"

#include "ml/math/fmath.h"

#include <float.h>
#include <math.h>

/* Shares of the range of the logarithms. */
#define LOG_SHARE   0.25
#define RMSLE_SHARE 0.5

bool target_limits_are(const struct target_limits *l)
{
    return l->most > l->least;
}

bool target_limits_ok(const struct target_limits *l)
{
    return isfinite(l->least) && isfinite(l->most) && l->least < l->most;
}

struct target_limits target_limits_of(const double *truth, const uint8_t *use, int64_t n,
                                      const struct target_unit *u, enum metric_id metric)
{
    const struct target_limits none = { 0, 0 };
    double lo = INFINITY, hi = -INFINITY;

    for (int64_t i = 0; i < n; i++) {
        lo = use[i] ? fmin(lo, truth[i]) : lo;
        hi = use[i] ? fmax(hi, truth[i]) : hi;
    }
    double range = hi - lo, least = lo - range, most = hi + range;
    bool is_log = u->kind == TARGET_LOG;
    if (!(range > 0))
        return none;
    if (lo >= 0 && (is_log || metric_info(metric)->target == METRIC_TARGET_COUNT))
        least = fmax(least, 0);
    if (is_log) {
        double top = target_learnt(u, hi), share = metric == METRIC_RMSLE ? RMSLE_SHARE : LOG_SHARE;
        most = fmax(most, fm_exp_d(top + share * (top - target_learnt(u, lo))) - u->by);
    }
    struct target_limits l = { fmax(least, -(double)FLT_MAX), fmin(most, (double)FLT_MAX) };
    return target_limits_ok(&l) ? l : none;
}

float target_predicted(const struct target_unit *u, const struct target_limits *l, float learnt)
{
    float v = target_back(u, learnt);

    if (!target_limits_are(l) || !isfinite(learnt))
        return v;
    return (float)fmin(fmax((double)v, l->least), l->most);
}
