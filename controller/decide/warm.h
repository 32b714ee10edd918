/* warm.h - warm start: what an earlier study found, told to the sampler of a new one. The earlier study's best completed
 * trials are read once, when the new study's data is known, and journaled ("search.warm") with it, so that it stands on its
 * own from then on, whatever becomes of the other. */
#ifndef CONTROLLER_DECIDE_WARM_H
#define CONTROLLER_DECIDE_WARM_H

#include "controller/state/study.h"

enum { WARM_TRIALS = 200, WARM_FIRST = 10 };

/* The best trials of the earlier study as JSON, a new reference, which becomes st->warm and is journaled; NULL = they do not
 * suit: the other study must have the same task and metric. Problem and space are ready. */
json_t *warm_gather(struct study *st, struct study *from, struct err *err);
/* With the same rows and scoring: the trials become observations 0, -1, -2 ... of the fresh sampler. */
int warm_tell(struct study *st, struct err *err);
/* With other rows scores do not compare: the best few configurations are tried first instead. The i-th: 1, 0 = no more. */
int warm_first(const struct study *st, int i, struct config *out);

#endif
