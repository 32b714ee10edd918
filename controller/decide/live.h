/* live.h - decisions in the order in which results arrive: studies with a limit in time. Sampler and scheduler hear of each
 * result when it is recorded, and new trials are made when somebody asks for work. */
#ifndef CONTROLLER_DECIDE_LIVE_H
#define CONTROLLER_DECIDE_LIVE_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

/* Tells sampler, scheduler and stop rules what happened since the last call. */
int live_hear(struct study *st, struct err *err);
/* What the scheduler said of the last report that was heard. */
struct sched_decision live_said(const struct study *st);
/* What follows for the study as it is: prunes what will never be resumed, ends the search. 1 = actions, 0 = nothing, -1. */
int live_next(struct study *st, struct actions *out, struct err *err);

/* One step towards `want` trials in the queue: one more is made, or a paused one promoted. 1 = actions, 0 = no more, -1. */
int live_fill(struct study *st, int want, struct actions *out, struct err *err);
/* One new trial: 1, 0 = no more may be made, AHEAD_LATER (actions may hold a journal line all the same), -1. */
int live_create(struct study *st, struct actions *out, struct err *err);
/* A user's trial with the next number, which the searchers hear of now. */
int live_adopt(struct study *st, const struct config *c, enum trial_source source, int64_t retry_of,
               struct actions *out, struct err *err);

/* How many trials may be in flight. Trials whose answer was `pause` or `keep` hold no device and come on top, but at most
 * LIVE_LEAVING_MOST times as many, which limits how many files can wait for a slow upload link. Where the last trial took
 * less than LIVE_SHORT_MS, each device gets its next trial before the result of the last has arrived: that trial is chosen
 * without this result, as with one more worker. */
enum { LIVE_SHORT_MS = 400, LIVE_LEAVING_MOST = 4 };
int64_t live_parallel(const struct study *st);
/* How many trials a client of the user's (api/ask.c) may be given beyond those that it runs, to work on without asking in
 * between: none where their results, or what others may run, could change what is tried next; near the end of the study a
 * share of what is left, so that the last trials do not all wait for one client. wish: how many it would keep. */
int64_t live_ahead(const struct study *st, int64_t wish);
/* How many more trials may be made now, beside those that are queued or running; 0 for a deterministic study, which makes
 * them by its plan. */
int64_t live_room(const struct study *st);
/* Whether new trials may be made at all: the search goes on, and the number of trials allows it. */
bool live_may_create(const struct study *st);

/* Replay (serve/replay.c): the journal's lines in their order, each told again. */
int live_recreate(struct study *st, int64_t number, struct err *err);
int live_hear_one(struct study *st, const struct happening *h, struct err *err);
int live_resume_again(struct study *st, bool idle, struct err *err);
/* Families whose trials are not to go on (scheduler_ops.hold). */
void live_hold_again(struct study *st, uint64_t families);
int live_retire_again(struct study *st, bool closing, struct err *err);

#endif
