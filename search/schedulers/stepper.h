/* stepper.h - the points along a ladder at which a rule looks at a trial: every `interval` levels
 * below the top. Shared by the rules that judge a trial on its way (median.c, patience.c). These
 * rules never pause a trial. */
#ifndef SEARCH_SCHEDULERS_STEPPER_H
#define SEARCH_SCHEDULERS_STEPPER_H

#include "base/base.h"

#include <stdint.h>

enum { STEPPER_POINTS = 50 }; /* with interval 0, a long ladder has about this many points */

/* Levels between two points. interval 0: every level, but at most about STEPPER_POINTS points. */
static inline int stepper_stride(int max_level, int interval)
{
    return interval > 0 ? interval : 1 + (max_level - 1) / STEPPER_POINTS;
}

/* The level of a point, counted from 0; the last point is the top. */
static inline int stepper_level(int max_level, int interval, int point)
{
    int64_t level = ((int64_t)point + 1) * stepper_stride(max_level, interval);

    return (int)MIN(level, max_level);
}

static inline int stepper_points(int max_level, int interval)
{
    int stride = stepper_stride(max_level, interval);

    return 1 + (max_level - 1) / stride;
}

#endif
