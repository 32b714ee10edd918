/* budget.h - what a study may spend: time on its own clock (from the first lease, pauses left out), trials, and the rules
 * that stop it early. The reserve at the end keeps room for finishing, so that the study ends inside its time. */
#ifndef CONTROLLER_DECIDE_BUDGET_H
#define CONTROLLER_DECIDE_BUDGET_H

#include "controller/state/study.h"

int64_t budget_left(const struct study *st);    /* ms; INT64_MAX without a limit */
int64_t budget_reserve(const struct study *st); /* ms kept for finishing */
/* Monotonic times: no slice of a trial may end after cut; the study ends at hard whatever happens. INT64_MAX = none. */
int64_t budget_cut_ms(const struct study *st);
int64_t budget_hard_ms(const struct study *st);
/* How long a trial of this family may compute: the spec's limit, and in an automatic space with a limit in time a tenth of
 * that for families other than the yardstick's; 0 = no limit. */
int64_t budget_trial_ms(const struct study *st, const char *family);
/* The first configuration of the family that matters most for time: the strongest of an automatic space, else the
 * costliest. */
const struct config *budget_yardstick(const struct study *st);
int64_t budget_refit_ms(const struct study *st);  /* estimate of refitting the best; 0 = none */
bool budget_allows_trial(const struct study *st); /* one more may be created */

/* A trial ended with this score (NaN = none), in plan or arrival order: gain, stop score, no_gain_trials. */
void budget_note_end(struct study *st, double score);

/* The study runs and its time for new work is used: the search is over. */
bool budget_is_over(const struct study *st);

#endif
