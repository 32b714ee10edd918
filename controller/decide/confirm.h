/* confirm.h - a trial that was cut before all folds were scored may have the best score because its
 * folds were easy. While time is left, its configuration is tried once more on all folds, without the
 * limit that cut it, before it may ship. */
#ifndef CONTROLLER_DECIDE_CONFIRM_H
#define CONTROLLER_DECIDE_CONFIRM_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

/* Whether a trial should be confirmed now: 1 and its number and what is to be tried (with as many trees
 * as it had when it was cut), 0, or -1. Live studies only. */
int confirm_wanted(struct study *st, int64_t *number, struct config *c, struct err *err);

#endif
