/* probe.h - validation: auto in a study with a limit in time. Either the cost formula says clearly whether enough trials with
 * all folds fit the time, or one trial, the probe, is fitted on one fold under a short deadline and its time decides.
 * Nothing else runs before the decision, so that no two trials are ever compared on different footings. */
#ifndef CONTROLLER_DECIDE_PROBE_H
#define CONTROLLER_DECIDE_PROBE_H

#include "controller/decide/action.h"

/* Before a grant to a runner of this signature: decides by the formula, or makes trials until the probe and names it. 1 =
 * actions, 0 = nothing (the probe is there), -1. */
int probe_next(struct study *st, const char *sig, struct actions *out, struct err *err);
int64_t probe_deadline_ms(
    const struct study *st); /* monotonic, of the probe's trial when it is granted now */
/* The probe's trial ended after this time of fitting (0 = it was cut, failed or lost): the validation is decided. */
void probe_decide(const struct study *st, int64_t fit_us, struct actions *out);
/* The probe overran its deadline. */
bool probe_is_over(const struct study *st);
int64_t probe_due(const struct study *st);

#endif
