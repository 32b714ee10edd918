/* analysis.h - what a study's completed trials say: which parameters mattered, and which trials no other beats in two facts,
 * or in the study's objectives, at once. A cache beside the study: rows are read in small slices and kept in columns, estimates are made on the loop's
 * pool from a copy, so that the loop never waits. It begins with the first question and goes when the study is reloaded.
 * Private to controller/. */
#ifndef CONTROLLER_VIEW_ANALYSIS_H
#define CONTROLLER_VIEW_ANALYSIS_H

#include "controller/state/study.h"

enum analysis_method { ANALYSIS_PED_ANOVA, ANALYSIS_FANOVA, ANALYSIS_METHODS };
extern const char *const analysis_method_name[ANALYSIS_METHODS];

/* The key that each objective has in the rows of a leaderboard: what trials can be compared by. */
extern const char *const analysis_fact_name[OBJ_KINDS];

struct analysis_importance {
    bool is_current;      /* made from all trials there are now (fANOVA: from nearly all) */
    int trials;           /* it is made from; 0 = none yet, or too few */
    const double *values; /* one per parameter of the study's space; NULL = none yet; borrowed */
};
/* The newest there is; a newer one is begun when trials were added. -1 only when rows cannot be read. */
int analysis_importance(struct study *st, enum analysis_method method,
                        struct analysis_importance *out, struct err *err);

struct analysis_front {
    bool is_current;
    int n;            /* trials on the front */
    int64_t *numbers; /* by the first fact, best first; owned by the caller: mem_free */
    int compared;     /* trials that have all the facts */
    double
        volume; /* share of the box from the worst to the best of all facts that the front dominates (times and sizes by
                      their logarithm); NaN = nothing to compare */
};
/* Of two different facts, or of the study's own objectives in the order of its spec. */
void analysis_front(struct study *st, const enum spec_objective *facts, int n_facts,
                    struct analysis_front *out);

void analysis_free(struct analysis *a); /* NULL is legal */

#endif
