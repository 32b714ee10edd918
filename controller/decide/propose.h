/* propose.h - which configuration is tried next: first the script (the baseline, what the user enqueued in the spec, the first
 * configuration of every family, then the portfolios interleaved), then what the sampler suggests. And the other direction:
 * telling sampler and scheduler what came of it. Shared by plan.c (virtual order) and live.c (order of arrival). */
#ifndef CONTROLLER_DECIDE_PROPOSE_H
#define CONTROLLER_DECIDE_PROPOSE_H

#include "controller/decide/action.h"
#include "controller/decide/ahead.h"

int propose_open(struct study *st,
                 struct err *err); /* makes the script, opens sampler and scheduler */
void propose_close(struct study *st);

/* Samplers may take milliseconds, and everybody waits for the loop: true when this turn has given them its share. What is
 * put off then goes on in the next turn, within milliseconds; nothing that is decided may depend on it. */
enum { PROPOSE_TURN_US = 4000 };
bool propose_must_wait(struct study *st, int64_t number);

/* The next configuration for this trial number: 1, 0 = the space is exhausted, AHEAD_LATER = it is being made beside the
 * loop, a tick comes when it is there, -1. */
int propose_next(struct study *st, int64_t number, struct config *c, enum trial_source *source,
                 struct actions *out, struct err *err);
/* A trial that exists already (a restart, or a user made it): the sampler goes through what it went through then.
 * config NULL: it is read from the row where it is needed. */
int propose_again(struct study *st, int64_t number, enum trial_source source,
                  const struct config *config, struct err *err);

/* Replay: here the suggestion for this number was begun. */
int propose_begun(struct study *st, int64_t number, struct err *err);

/* An observation for the sampler; score in the metric's own direction, NaN = none. cost: units spent up to `level`. */
int propose_observe(struct study *st, int64_t number, enum obs_state state, int level, double score,
                    struct err *err);
/* To which level a new trial runs first, or -1. The first trials of a study are none of the scheduler's: they go to their
 * top at once, so that a model is there early and every family was seen whole. */
int propose_start(struct study *st, int64_t number, enum trial_source source, const char *family,
                  int max_level, struct err *err);
/* One paused trial that is to go on: 1, 0 = none, -1. idle: nothing new can be made (scheduler.h). */
int propose_resume(struct study *st, bool idle, struct sched_resume *out, struct err *err);
/* A report for the scheduler. */
int propose_report(struct study *st, int64_t number, enum obs_state state, int level, double score,
                   struct sched_decision *out, struct err *err);
enum obs_state propose_obs_of(enum trial_state s); /* of a final state */
/* Cost units from level to level, by the family's formula. */
int64_t propose_cost(const struct study *st, const struct config *c, int from, int to);

#endif
