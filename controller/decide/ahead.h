/* ahead.h - suggestions that take long are made beside the loop, so that nobody waits for a sampler. The loop's pool makes
 * them, before any other job that waits there. A sampler is lent to it for one suggestion at a time, and what the sampler
 * is told meanwhile waits until it is home again. So the order of its calls is: the suggestion when it was begun, then what came after; a live study journals the beginning
 * ("search.suggest"), a deterministic one begins only what its plan is about to start, and both can be repeated.
 *
 * The result is kept for its trial number, which nobody else may take: a user's trial waits for it (api/trial.c).
 * Without a loop, or without threads in its pool, everything is made in place. Private to controller/. */
#ifndef CONTROLLER_DECIDE_AHEAD_H
#define CONTROLLER_DECIDE_AHEAD_H

#include "controller/state/study.h"

enum { AHEAD_LATER = 2 };

/* Would the next suggestion be made beside the loop? By what the last ones took. */
bool ahead_is_wanted(const struct study *st);
/* A suggestion took so long; in_turn: in this turn of the loop. */
void ahead_took(struct study *st, int64_t us, bool in_turn);
/* A suggestion was begun and not taken. */
bool ahead_is_open(const struct study *st);
/* It is open for this number, and made. */
bool ahead_is_made(const struct study *st, int64_t number);
/* Begins one; none is open. AHEAD_LATER: the loop's tick comes when it is made. */
void ahead_begin(struct study *st, int64_t number);
/* The open one, which is for this number: 1 and the point, 0 = the space has no more, AHEAD_LATER, -1. */
int ahead_take(struct study *st, int64_t number, double *point, struct err *err);
/* For its sampler, which may be lent. */
int ahead_observe(struct study *st, const struct observation *o, struct err *err);
/* Waits until the sampler is home: before anything else is done with it. The result stays to be taken. */
int ahead_settle(struct study *st, struct err *err);
void ahead_close(struct study *st); /* before the sampler is closed */

#endif
