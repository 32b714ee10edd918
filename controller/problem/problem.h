/* problem.h - the learning problem of a study: what its spec means once the dataset is known. That
 * is the task, the metric, the folds, the test rows, and the shape of the data from which costs are
 * estimated. It is stored as JSON in the study's row and is then fixed. One exception: a study that
 * chooses its validation by measuring (probe.c) decides that later, once (problem_decide). */
#ifndef CONTROLLER_PROBLEM_PROBLEM_H
#define CONTROLLER_PROBLEM_PROBLEM_H

#include "controller/problem/metric.h"
#include "ml/family/family.h"
#include "proto/msg.h"
#include "proto/spec.h"
#include "store/runner.h"

/* The searchers of the study. sampler_why and scheduler_why hold the reason where `auto` chose,
 * else "". budget_trials and fuse are what the searchers were told when the study began. They stay
 * as they were, also when the budget is raised later, so that a restart opens the same searchers. */
struct search_choice {
    int64_t budget_trials;
    int fuse; /* search/contract/option.h */
    char sampler[32], scheduler[32];
    char sampler_why[160], scheduler_why[160];
};

struct problem {
    bool is_ready;
    struct msg_data data;
    int task; /* FT_* */
    const struct metric *metric;
    struct metric own_metric; /* what `metric` points to in a study with a space of its own */
    bool is_undecided; /* validation is auto and time is limited: a probe decides (probe.c) */
    int kfolds;        /* number of folds if the validation is or becomes kfold */
    /* Trials with this number or a higher one are on short ladders (ladder.h); 0 = none is. */
    int64_t short_from;
    struct family_shape shape;
    struct search_choice search; /* filled by searchers.c */
};

/* Fills *p from the spec and the dataset's schema. test: NULL or the test table. An error names the
 * key of the spec that does not fit the data (target, positive, metric, test ...). */
int problem_resolve(struct problem *p, const struct spec *spec, const struct dataset_row *train,
                    const struct dataset_row *test, struct err *err);
/* The same for a study with a space of its own: there is no table. */
void problem_own(struct problem *p, const struct spec *spec);
/* The stored form, a new reference, and reading it back. */
json_t *problem_json_new(const struct problem *p);
int problem_load(struct problem *p, const char *text, struct err *err);
/* Whether the winner is fitted once more on all rows in the end: after a holdout, and forward in
 * time, where folds have not seen the newest rows. */
bool problem_refits(const struct problem *p);
/* Decides the validation of an undecided problem. next: number of the next trial to be made. */
void problem_decide(struct problem *p, bool kfold, int64_t next);

#endif
