/* stop_points.h - the points along a ladder at which a rule of early stopping looks at a trial:
 * every `interval` levels, and the top. Shared by median.c and patience.c. These rules stop a trial
 * or let it run on; they never pause it. */
#ifndef SEARCH_SCHEDULERS_STOP_POINTS_H
#define SEARCH_SCHEDULERS_STOP_POINTS_H

#include "base/base.h"

#include <stdint.h>

enum { STOP_POINTS_MOST = 50 }; /* with interval 0, a long ladder has about this many points */

/* Levels between two points. interval 0: every level, but at most about STOP_POINTS_MOST points. */
static inline int stop_point_stride(int max_level, int interval)
{
    return interval > 0 ? interval : 1 + (max_level - 1) / STOP_POINTS_MOST;
}

/* The level of a point, counted from 0; the last point is the top. */
static inline int stop_point_level(int max_level, int interval, int point)
{
    int64_t level = ((int64_t)point + 1) * stop_point_stride(max_level, interval);

    return (int)MIN(level, max_level);
}

/* How many points a ladder has. */
static inline int stop_point_count(int max_level, int interval)
{
    int stride = stop_point_stride(max_level, interval);

    return 1 + (max_level - 1) / stride;
}

#endif
