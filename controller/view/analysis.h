/* analysis.h - what a study's completed trials show: which parameters mattered (importance), and
 * which trials no other trial beats in two facts at once, or in all objectives of the study (the
 * Pareto front).
 *
 * Both are kept in a cache beside the study (study.analysis). It begins with the first question and
 * goes when the study leaves memory or is reloaded. Configurations are read from rows a few at a
 * time, and estimates of importance are made on the loop's pool from a copy, so that the loop never
 * waits. An answer says whether it is current; while it is not, the caller shows it as "computing"
 * and asks again. Called by api/analysis.c and show.c; settle/load.c frees it. */
#ifndef CONTROLLER_VIEW_ANALYSIS_H
#define CONTROLLER_VIEW_ANALYSIS_H

#include "controller/state/study.h"

enum analysis_method { ANALYSIS_PED_ANOVA, ANALYSIS_FANOVA, ANALYSIS_METHODS };
extern const char *const analysis_method_name[ANALYSIS_METHODS];

/* The key of each objective in rows of the leaderboard. */
extern const char *const analysis_fact_name[OBJ_KINDS];

/* Whether trials of the study can have it: not all have values that a program told. */
bool analysis_has_fact(const struct study *st, enum spec_objective fact);

struct analysis_importance {
    /* made from all trials there are now (fANOVA: from at least ten elevenths) */
    bool is_current;
    int trials; /* how many trials it is made from; 0 = none yet, or too few */
    /* one for each parameter of the study's space; NULL = none yet; borrowed */
    const double *values;
};
/* The newest estimate there is. If trials were added since, a newer one is begun. Returns -1 only
 * if rows cannot be read. */
int analysis_importance(struct study *st, enum analysis_method method,
                        struct analysis_importance *out, struct err *err);

struct analysis_front {
    bool is_current;
    int n;            /* trials on the front */
    int64_t *numbers; /* best by the first fact first; the caller frees it (mem_free) */
    int compared;     /* trials that have all the facts */
    /* The share of a box that the front dominates. The box reaches from the worst to the best value
     * of each fact among the trials compared; times and sizes count by their logarithm. NaN = there
     * is nothing to compare. */
    double volume;
};
/* The front of two different facts, or of all objectives of the study in the order of its spec. */
void analysis_front(struct study *st, const enum spec_objective *facts, int n_facts,
                    struct analysis_front *out);

void analysis_free(struct analysis *a); /* NULL is legal */

#endif
