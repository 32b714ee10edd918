/* script.h - the configurations that a study tries before it asks its sampler, in this order:
 *
 * 1. the baseline, which predicts without looking at any column;
 * 2. the configurations that the spec's key `enqueue` lists;
 * 3. the first configuration of each family; where time is limited and the first of them takes
 *    more than 2 s or a sixth of the time by its formula, the same with a small number of rounds,
 *    trees or epochs before it;
 * 4. the best configurations of the earlier study that the spec's key `warm_start` names, where
 *    their scores cannot be compared with this study's (warm.h);
 * 5. in an automatic space, the portfolios of the families: configurations that are worth
 *    trying early.
 *
 * No configuration is in the script twice. Called by propose.c. */
#ifndef CONTROLLER_DECIDE_SCRIPT_H
#define CONTROLLER_DECIDE_SCRIPT_H

#include "controller/decide/search.h"

/* Makes the script of a study whose space is known. */
int script_make(struct study *st, struct err *err);
/* Takes the next item; NULL = it is the sampler's turn. wanted: the family that the next trial should
 * be of (share.h), which says whose portfolio is taken; NULL = portfolios are taken in order. The
 * item is valid until the next call. */
const struct script_item *script_next(struct study *st, const struct family *wanted);
/* Replay: the trial with this hash (trial_mem.config) was taken from the script. */
void script_took(struct study *st, uint64_t config);

#endif
