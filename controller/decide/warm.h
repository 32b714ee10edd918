/* warm.h - warm start: a new study begins with what an earlier study found. The earlier study's
 * best completed trials are read once, when the new study's data is known, and written into its
 * journal ("search.warm"). From then on the new study does not depend on the earlier one, which may
 * go on or be deleted. If the scores of both mean the same, the trials are told to the sampler;
 * otherwise their best configurations are tried first (script.h). Called by settle/load.c and
 * script.c. */
#ifndef CONTROLLER_DECIDE_WARM_H
#define CONTROLLER_DECIDE_WARM_H

#include "controller/decide/search.h"

enum {
    WARM_TRIALS = 200, /* are taken over at most; one line of the journal holds them */
    WARM_FIRST = 10    /* are tried first where scores do not mean the same */
};

/* The best trials of the earlier study as a new JSON object, which becomes search.warm. NULL with
 * an error if the earlier study has no results, or another task or metric. */
json_t *warm_gather(struct study *st, struct study *from, struct err *err);
/* If scores mean the same: tells the fresh sampler the trials, numbered 0, -1, -2 ... */
int warm_tell(struct study *st, struct err *err);
/* If they do not: the i-th configuration to try first: 1, 0 = there are no more. */
int warm_first(const struct study *st, int i, struct config *out);

#endif
