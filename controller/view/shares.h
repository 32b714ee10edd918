/* shares.h - how the families of an automatic search share its time, as JSON. */
#ifndef CONTROLLER_VIEW_SHARES_H
#define CONTROLLER_VIEW_SHARES_H

#include "controller/state/study.h"

/* A list with an entry for each family: {family, trials, whole, share (of the computing time so far),
 * best, state, why}; state and why are null once the search has ended. NULL: the study's families do
 * not share its time by decide/share.h. */
json_t *shares_json(const struct study *st);

#endif
