/* script.h - what a study tries before its sampler: baseline, the user's list, the first configuration of each family, a
 * warm start's best, and the portfolios of the families. Private to controller/. */
#ifndef CONTROLLER_DECIDE_SCRIPT_H
#define CONTROLLER_DECIDE_SCRIPT_H

#include "controller/state/study.h"

int script_make(struct study *st, struct err *err);
void script_fini(struct study *st);
/* The next one, taken; NULL = ask the sampler. In a study with a limit in time a family that is behind the others
 * (scheduler.h) gives its portfolio when the others have given theirs, as one trial in four. Valid until the next call. */
const struct script_item *script_next(struct study *st);
/* The trial with this hash (trial_mem.config) was taken from it in a former life. */
void script_took(struct study *st, uint64_t config);

#endif
