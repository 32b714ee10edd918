/* ahead.h - suggestions that take long are made beside the loop, by a thread of the loop's pool, so
 * that requests do not wait for a sampler. The pool does them before its other jobs.
 *
 * A sampler is lent to the pool for one suggestion at a time. Results that arrive meanwhile are
 * kept and told to the sampler when it is back. The order of its calls is therefore always: the
 * suggestion at the time when it was begun, then everything that came after. A replay can repeat
 * that order: a live study notes the beginning in its journal ("search.suggest"), and a
 * deterministic study begins only suggestions that its plan is about to start.
 *
 * The suggestion is made for one trial number, which no other trial may take; a user's trial that
 * would take it waits until it is made (api/trial.c). Without a loop, or without threads in its
 * pool, everything happens in place. All calls are on the loop's thread. Used by propose.c,
 * decide.c and api/trial.c. */
#ifndef CONTROLLER_DECIDE_AHEAD_H
#define CONTROLLER_DECIDE_AHEAD_H

#include "controller/decide/search.h"

/* The answer "not yet": a tick of the loop comes when the suggestion is ready. */
enum { AHEAD_LATER = 2 };

/* Whether the next suggestion should be made beside the loop, by the processor time that the last
 * ones took. */
bool ahead_is_wanted(const struct study *st);
/* Notes that a suggestion took so much processor time. in_turn = it was made on the loop, in this turn. */
void ahead_took(struct study *st, int64_t us, bool in_turn);
/* Whether a suggestion was begun and has not been taken. */
bool ahead_is_open(const struct study *st);
/* Whether one was begun for this number and is ready to be taken. */
bool ahead_is_made(const struct study *st, int64_t number);
/* Begins a suggestion for this number. None may be open. */
void ahead_begin(struct study *st, int64_t number);
/* Takes the open suggestion, which must be for this number: 1 and the point, 0 = the space has no
 * further point, AHEAD_LATER, or -1. */
int ahead_take(struct study *st, int64_t number, double *point, struct err *err);
/* Tells the sampler a result, now or when it is back. */
int ahead_observe(struct study *st, const struct observation *o, struct err *err);
/* Waits until the sampler is back, and tells it what it has missed. Called before anything else is
 * done with the sampler. The suggestion stays open and can be taken. */
int ahead_settle(struct study *st, struct err *err);
/* Gives the open suggestion up, if there is one; waits for the thread. Called before the sampler is
 * closed. */
void ahead_close(struct study *st);

#endif
