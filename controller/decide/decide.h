/* decide.h - the one question that serve/ asks: what follows? Live studies and deterministic ones answer it in two orders
 * (live.h: as results arrive; plan.h: by a virtual clock), and a study that finishes by finish.h. */
#ifndef CONTROLLER_DECIDE_DECIDE_H
#define CONTROLLER_DECIDE_DECIDE_H

#include "controller/decide/action.h"

/* Takes into account what happened since the last call (study.happened) and answers: 1 = these actions, to be carried out in
 * their order before the next call, 0 = nothing follows now, -1. `out` is empty before the call. */
int decide_next(struct study *st, struct actions *out, struct err *err);
/* What a trial that has just reported this level is to do, after decide_hear and, in a deterministic study, after
 * decide_next has nothing more. */
struct sched_decision decide_said(const struct study *st, int64_t number, int level);
/* Sampler, scheduler and stop rules hear what happened, and nothing is decided yet. */
int decide_hear(struct study *st, struct err *err);
/* A user's trial gets the next number. A deterministic study tells its searchers of it when its virtual clock comes there. */
int decide_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct actions *out, struct err *err);
/* The trial that a suggestion was begun for beside the loop is made, if the suggestion is there: as decide_next. */
int decide_begun(struct study *st, struct actions *out, struct err *err);
/* Monotonic ms at which time alone makes something follow; INT64_MAX = never. */
int64_t decide_due(const struct study *st);

#endif
