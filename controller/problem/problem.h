/* problem.h - what a spec resolves to once its dataset is known: task, metric, folds, test rows, and the shape from which
 * costs are estimated. Stored in the study's row as JSON, so that it never changes again but for the choice of the
 * validation (probe.c). */
#ifndef CONTROLLER_PROBLEM_PROBLEM_H
#define CONTROLLER_PROBLEM_PROBLEM_H

#include "controller/problem/metric.h"
#include "ml/family/family.h"
#include "proto/msg.h"
#include "proto/spec.h"
#include "store/runner.h"

/* The searchers of the study; a reason where `auto` chose, else "". budget_trials, fuse: what they were told, which stays
 * when the budget is raised or the rule changes. */
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
    bool is_undecided; /* validation auto and a limit in time: a probe decides */
    int kfolds;        /* what kfold would mean */
    int64_t
        short_from; /* trials from this number on were started on ladders without repetition (ladder.h); 0 = none */
    struct family_shape shape;
    struct search_choice search; /* searchers.c fills it */
};

/* From the dataset's schema; errors name what is wrong with target, positive, metric or test. test: NULL or the test table. */
int problem_resolve(struct problem *p, const struct spec *spec, const struct dataset_row *train,
                    const struct dataset_row *test, struct err *err);
json_t *problem_json_new(const struct problem *p);
int problem_load(struct problem *p, const char *text, struct err *err);
/* Ends is_undecided; next: the number of the first trial that is not made yet. */
void problem_decide(struct problem *p, bool kfold, int64_t next);

#endif
