/* budget.h - what a study may spend: time, trials, and the rules that stop it early. The time of a
 * study runs from its first lease and leaves out pauses (study_used_ms). A part of it at the end,
 * the reserve, is kept for finishing (receiving models, a refit), so that the study ends within its
 * time.
 *
 * Read by live.c, plan.c, probe.c, finish.c and serve/, which give trials their deadlines. */
#ifndef CONTROLLER_DECIDE_BUDGET_H
#define CONTROLLER_DECIDE_BUDGET_H

#include "controller/decide/search.h"

int64_t budget_left(const struct study *st);    /* ms; INT64_MAX = there is no limit */
int64_t budget_reserve(const struct study *st); /* ms that are kept for finishing */
/* Monotonic ms; INT64_MAX = there is no limit. At `cut` the search is over and trials must have
 * ended. At `hard` the study ends, and whatever has not arrived by then is left out. */
int64_t budget_cut_ms(const struct study *st);
int64_t budget_hard_ms(const struct study *st);
/* How many ms a trial may compute; 0 = there is no limit. That is the spec's limit. In an automatic
 * space with a limit in time, families other than the yardstick's get at most a tenth of the study's
 * time; a quarter if they have one level, and a third if their lower levels are a part of a fit (half
 * where such a trial is judged on its way: stage.h), because only a whole trial shows how good they
 * are. The yardstick's get two thirds after a holdout, and a third where `auto` chose folds; but a
 * confirmation (confirm.h) may have all that is left. Where the lead is dear, it and families with
 * one level get a third. */
int64_t budget_trial_ms(const struct study *st, const struct trial_mem *t);
/* The same for a trial of a path of penalties whose score still gets better fast: twice as much, but never
 * more than the spec's limit; 0 = it has no limit of its own. On 200 classes a path that was cut at its
 * share had a loss of .22, and a quarter more time would have made .01 of it. */
int64_t budget_steep_ms(const struct study *st, const struct trial_mem *t);
/* What one fold of a configuration costs on the way to a level, by the family's formula: about a
 * microsecond of a core a unit. */
int64_t budget_fold_us(const struct study *st, const struct config *c, int to);
/* In an automatic space with a limit in time: whether one fold of the lead family's first trial
 * costs more than a third of the time by its formula. */
bool budget_lead_is_dear(const struct study *st);
/* The configuration by which time is planned: the first of the lead family in an automatic space,
 * else the costliest of the first configurations. */
const struct config *budget_yardstick(const struct study *st);
/* How many ms a refit of the best trial will take, by that trial's own time; 0 = no refit will
 * follow. */
int64_t budget_refit_ms(const struct study *st);
/* Whether the best trial is to be refitted when the study ends, and there is time for that now. */
bool budget_fits_refit(const struct study *st);
/* How many ms are kept for making the ensemble at the end (ensemble.h). */
int64_t budget_ensemble_ms(const struct study *st);
bool budget_allows_trial(const struct study *st); /* by the number of trials */

/* Takes into account that this trial ended with this score (NaN = none) at this wall time, and sets
 * search.closing if a stop rule says that the search is over. Called in the order of decisions,
 * never in the order of arrival in a deterministic study. */
void budget_note_end(struct study *st, int64_t number, double score, int64_t ended_at);

/* The study runs, and `cut` has come. */
bool budget_is_over(const struct study *st);

#endif
