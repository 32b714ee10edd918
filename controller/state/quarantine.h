/* quarantine.h - devices that fail one trial after another get no work for a while. The third
 * different trial in a row that fails by the machine on one device (not by its own configuration)
 * puts that device into quarantine. A quarantine ends by itself: the first lasts
 * conf.quarantine_ms, each further one twice as long, up to QUARANTINE_GROWTH times the first. Then
 * the device is on probation: it gets one trial or task at a time. One that ends well lifts the
 * probation, and the next quarantine is a short one again; one that fails by the machine puts the
 * device back into quarantine. A runner whose devices are all in quarantine has the state
 * "quarantined". All of this is stored in the runner's row, so that a restart of the controller
 * keeps it. A user's "enable" ends quarantine and probation at once. Called by serve/ (message.c,
 * dispatch.c, wait.c, turn.c), state/task.c and api/runner.c. */
#ifndef CONTROLLER_STATE_QUARANTINE_H
#define CONTROLLER_STATE_QUARANTINE_H

#include "controller/state/runner.h"

enum {
    QUARANTINE_FAILS = RUNNER_FAILS_MAX, /* different trials in a row */
    QUARANTINE_GROWTH = 60               /* 60 s become at most 1 h */
};

/* Says that a trial (or a task, by minus its id; or a group of trials whose worker died, by
 * quarantine_group, because that is one failure) failed by the machine on this device: 1 = the
 * device goes into quarantine for it, 0 = not yet, -1. */
int quarantine_failed(struct ctl *ctl, int64_t runner, const char *device, int64_t trial,
                      struct err *err);
static inline int64_t quarantine_group(int64_t group)
{
    return INT64_MIN + group;
}
/* Says that a trial or task ended well on this device, or failed by its own configuration: the
 * device works. */
int quarantine_worked(struct ctl *ctl, int64_t runner, const char *device, struct err *err);
/* Ends quarantine and probation of all devices, because a user says so. The caller writes the
 * row. */
void quarantine_lift(struct runner *r);

/* Whether this device may get work now: it is not in quarantine, and if it is on probation it holds
 * nothing. */
bool quarantine_allows(const struct device *d);
/* How many trials it may get at once if it asks for `max`. */
int quarantine_lanes(const struct device *d, int max);

/* Monotonic ms when the first of its devices comes out of quarantine; INT64_MAX = none is in it. */
int64_t quarantine_ends(const struct runner *r);
/* The runner's reason as it is stored, and how long its quarantine still lasts; "" = it has no
 * reason. */
void quarantine_reason(const struct ctl *ctl, const struct runner *r, char *out, size_t size);

/* Puts devices whose quarantine is over on probation. */
int quarantine_tick(struct ctl *ctl, struct err *err);
int64_t quarantine_due(const struct ctl *ctl); /* monotonic ms before which none ends */

#endif
