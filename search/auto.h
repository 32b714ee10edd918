/* auto.h - `sampler: auto` and `scheduler: auto`: which searchers suit a study, and one sentence why. Pure: facts in, a
 * name and a reason out; the controller stores both with the study, so a later change of the rule changes no old study.
 *
 * Samplers, the first that applies:
 *   grid      the whole space has at most as many points as trials may run: nothing is left to guess
 *   duo       one objective, no rungs, at most AUTO_DUO_PARAMS parameters to search: a Gaussian process beside TPE needs fewer
 *             trials there, and gives way to TPE alone when they become many
 *   tpe       everything else: it learns from conditional, mixed and noisy spaces, stands many trials in flight and long
 *             histories, takes several objectives, and starts with a stratified design, so a short study loses nothing
 * Schedulers:
 *   none      no family has a rung below its top, or the budget is too small for one promotion to be decided
 *             (AUTO_MIN_TRIALS), or several objectives are wanted (rungs are ranked by one number)
 *   asha      else: it stops no trial for good on an early rung, resumes from checkpoints, and leaves no worker idle */
#ifndef SEARCH_AUTO_H
#define SEARCH_AUTO_H

#include "search/space/space.h"

enum { AUTO_MIN_TRIALS = 12, AUTO_DUO_PARAMS = 24 };

struct auto_facts {
    const struct space *space;
    int64_t budget_trials; /* 0 = not limited */
    int parallel;          /* trials in flight; 0 = unknown */
    int n_objectives;      /* 0 is read as 1 */
    int max_level;         /* of the longest ladder in the space */
};
struct auto_choice {
    const char *name; /* of a registered searcher */
    char why[160];
};

struct auto_choice auto_sampler(const struct auto_facts *f);
struct auto_choice auto_scheduler(const struct auto_facts *f);

#endif
