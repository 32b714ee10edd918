/* propose.h - chooses the configuration of the next trial, and tells sampler and scheduler the
 * results of trials. First comes the script (script.h), then the sampler suggests. Every call to a
 * sampler or a scheduler goes through this file, which also translates between the levels of a
 * family's ladder and those that the scheduler counts (problem/ladder.h). Used by plan.c
 * (deterministic studies, in virtual order) and live.c (other studies, in order of arrival). */
#ifndef CONTROLLER_DECIDE_PROPOSE_H
#define CONTROLLER_DECIDE_PROPOSE_H

#include "controller/decide/action.h"
#include "controller/decide/ahead.h"
#include "controller/decide/search.h"

/* Makes the script and opens sampler and scheduler, after search_open. On an error the search is
 * closed again. */
int propose_open(struct study *st, struct err *err);
/* Closes the whole search of a study, if it has one. Waits for a suggestion under way. */
void propose_close(struct study *st);

/* Microseconds of processor time that samplers may use in one turn of the loop, because a
 * suggestion may take milliseconds and all requests wait for the loop. */
enum { PROPOSE_TURN_US = 4000 };
/* True if samplers have used up this turn and no suggestion for this trial number is ready. The
 * caller then stops; the next turn comes within milliseconds and goes on. Decisions must not depend
 * on where a turn ends. */
bool propose_must_wait(struct study *st, int64_t number);

/* Finds the configuration of this trial number. Returns 1, 0 if the space is exhausted, -1 on an
 * error, or AHEAD_LATER if a thread of the loop's pool is making the suggestion; the loop then gets
 * a tick when it is ready. */
int propose_next(struct study *st, int64_t number, struct config *c, enum trial_source *source,
                 struct actions *out, struct err *err);
/* Brings the sampler to the state that it had after this trial was proposed. For a trial that
 * exists already, because the controller restarted or because a user made it. config NULL: the
 * configuration is read from the trial's row if it is needed. */
int propose_again(struct study *st, int64_t number, enum trial_source source,
                  const struct config *config, struct err *err);

/* Replay of the journal, at the place where the suggestion for this number was begun beside the
 * loop: the sampler is told of it here, where it made the suggestion, and not where the trial was
 * created. */
int propose_begun(struct study *st, int64_t number, struct err *err);

/* Tells the sampler a result. score: in the metric's own direction, NaN = none. */
int propose_observe(struct study *st, int64_t number, enum obs_state state, int level, double score,
                    struct err *err);
/* Returns the level that a new trial runs to first, or -1. The scheduler is not asked about a trial
 * of source SRC_FIRST or SRC_CONFIRM: it runs to its highest level at once, so that the study has a complete model
 * early. These trials are the baseline and some families' first configurations (runs_to_top in
 * script.c). */
int propose_start(struct study *st, int64_t number, enum trial_source source, const char *family,
                  int max_level, struct err *err);
/* Finds a paused trial that is to go on. Returns 1, 0 = none, or -1. idle: no new trial can be
 * started (scheduler.h). */
int propose_resume(struct study *st, bool idle, struct sched_resume *out, struct err *err);
/* Tells the scheduler a result; *out is what the trial does next. */
int propose_report(struct study *st, int64_t number, enum obs_state state, int level, double score,
                   struct sched_decision *out, struct err *err);
/* Translates the final state of a trial for sampler and scheduler. */
enum obs_state propose_obs_of(enum trial_state s);
/* Returns the units of cost of training from one level to another, by the family's formula. */
int64_t propose_cost(const struct study *st, const struct config *c, int from, int to);

#endif
