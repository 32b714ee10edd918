/* probe.h - validation: auto in a study with a limit in time. Either the cost formula says clearly whether ten trials with
 * all folds fit the time, or one trial, the probe, is fitted on one fold under a short deadline and its time decides.
 * Nothing else runs before the decision, so that no two trials are ever compared on different footings. */
#ifndef CONTROLLER_DECIDE_PROBE_H
#define CONTROLLER_DECIDE_PROBE_H

#include "controller/state/study.h"

/* Before a grant to a runner of this signature: decides at once, or names the probe (st->probe). */
int probe_prepare(struct study *st, const char *sig, struct err *err);
int64_t probe_deadline_ms(
    const struct study *st); /* monotonic, of the probe's lane when it is granted now */
/* The probe's lane ended (fit_us of a finished fit, 0 = cut, failed or lost): the validation is decided. */
int probe_decide(struct study *st, int64_t fit_us, struct err *err);
int probe_step(struct study *st,
               struct err *err); /* gives up on a probe that overran its deadline */
int64_t probe_due(const struct study *st);

#endif
