/* auto.h - `sampler: auto` and `scheduler: auto`: which searchers suit a study, and one sentence
 * that says why. Pure: facts come in, a name and a reason come out. The controller stores both with
 * the study, so a later change of the rule changes no old study.
 *
 * Sampler, the first rule that applies:
 *   grid      the whole space has at most as many points as trials may run, so nothing has to be guessed
 *   duo       one objective, no rungs, and at most AUTO_DUO_PARAMS parameters to search: there a Gaussian process beside TPE
 *             needs fewer trials; it gives way to TPE alone when trials become many
 *   families  several families whose trials cost time: each learns for itself, and the study says which is next
 *   tpe       everything else: it learns from conditional, mixed and noisy spaces, works with many trials in flight and
 *             with long histories, takes several objectives, and starts with a stratified design, which suits short studies
 * Scheduler:
 *   none      no family has a rung below its top, or the budget is too small for one promotion to be decided
 *             (AUTO_MIN_TRIALS), or there are several objectives (rungs are ranked by one number)
 *   asha      everything else: it stops no trial for good at an early rung, resumes from checkpoints, and keeps all workers
 *             busy */
#ifndef SEARCH_AUTO_H
#define SEARCH_AUTO_H

#include "search/space/space.h"

enum { AUTO_MIN_TRIALS = 12, AUTO_DUO_PARAMS = 24 };

struct auto_facts {
    const struct space *space;
    int64_t budget_trials; /* 0 = not limited */
    int parallel;          /* trials in flight; 0 = unknown */
    int n_objectives;      /* 0 means 1 */
    int max_level;         /* of the longest ladder in the space */
    bool by_family;        /* the study says which family is next (sampler_ops.prefer) */
};
struct auto_choice {
    const char *name; /* a name of the list in searchers.c */
    char why[160];
};

struct auto_choice auto_sampler(const struct auto_facts *f);
struct auto_choice auto_scheduler(const struct auto_facts *f);

#endif
