/* decide.h - the question that settle/ asks about a study: what follows from what has happened?
 * There are two orders in which results count: as they arrive (live.h), for studies with a limit in
 * time, and by a virtual clock (plan.h), for deterministic studies. A study that finishes is the
 * matter of finish.h. */
#ifndef CONTROLLER_DECIDE_DECIDE_H
#define CONTROLLER_DECIDE_DECIDE_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

/* Takes into account what happened since the last call (study.happened): 1 = these actions follow,
 * and must be carried out in their order before the next call, 0 = nothing follows now, -1. `out`
 * is empty before the call. */
int decide_next(struct study *st, struct actions *out, struct err *err);
/* What a trial that has just reported this level shall do. Asked after decide_hear, or, in a
 * deterministic study, after decide_next had nothing more to say. */
struct sched_decision decide_said(const struct study *st, int64_t number, int level);
/* Tells sampler, scheduler and stop rules what happened. Nothing is decided by this. */
int decide_hear(struct study *st, struct err *err);
/* A user's trial gets the next number. A deterministic study tells its searchers of it only when
 * its virtual clock comes to that number. */
int decide_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct actions *out, struct err *err);
/* Creates the trial for which a suggestion was begun beside the loop, if the suggestion is ready.
 * Returns as decide_next does. */
int decide_begun(struct study *st, struct actions *out, struct err *err);
/* Monotonic ms at which something will follow even if nothing happens; INT64_MAX = never. */
int64_t decide_due(const struct study *st);

#endif
