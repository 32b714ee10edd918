/* task.h - leased work that is no trial: ingest (a file becomes a frame) and refit (the best configuration on all rows).
 * Tasks have fences, sequences and leases like trials; a task that machines lost three times has failed. */
#ifndef CONTROLLER_STATE_TASK_H
#define CONTROLLER_STATE_TASK_H

#include "controller/state/ctl.h"
#include "controller/state/study.h"
#include "store/runner.h"

enum { TASK_ATTEMPTS_MAX = 3 };

struct task {
    struct task_row row;
};

/* Reads the open ones; leases of running ones are made again. On failure the tasks in memory stay as they are. */
int task_load_all(struct ctl *ctl, struct err *err);
void task_free_all(struct ctl *ctl);
struct task *task_find(struct ctl *ctl, int64_t id);

int task_create_ingest(struct ctl *ctl, int64_t dataset, struct err *err);
int task_create_refit(struct study *st, int64_t number, int64_t *id, struct err *err);
int task_cancel_of_study(struct ctl *ctl, int64_t study, struct err *err);
int task_cancel_of_dataset(struct ctl *ctl, int64_t dataset, struct err *err);

/* Writes the row in this state; the task stays open. */
int task_put(struct ctl *ctl, struct task *t, const char *state, struct err *err);
/* Writes it in its last state; the task and its lease leave memory. */
int task_end(struct ctl *ctl, struct task *t, const char *state, struct err *err);

#endif
