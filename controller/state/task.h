/* task.h - tasks: leased work that is no trial. There are four kinds. `ingest` reads an uploaded
 * file and makes the columnar file (frame) of a dataset; `refit` trains a study's best
 * configuration once more on all rows; `ensemble` makes one model
 * of several; `rank` helps to train a trial of several devices. A task has a fence, a sequence of messages and a lease, as a
 * trial has.
 *
 * Memory holds the open tasks (queued or running), in order of their ids. This file records what
 * happens to them; who gets a task, and what follows from its end, is decided in serve/task.h. */
#ifndef CONTROLLER_STATE_TASK_H
#define CONTROLLER_STATE_TASK_H

#include "controller/state/ctl.h"
#include "controller/state/study.h"
#include "store/runner.h"

/* A task that the machines which held it lost so often has failed: it probably kills them. */
enum { TASK_ATTEMPTS_MAX = 3 };

struct task {
    struct task_row row;
    /* Of a `rank`: its trial, the fence under which it trains it, and its number among the trial's
     * ranks, from 1. */
    int64_t trial, trial_fence;
    int rank;
};

/* Reads all open tasks from their rows, in the place of those in memory, and makes leases match
 * them: running tasks without a lease get one, and leases of other tasks go. On failure nothing
 * changes. */
int task_load_all(struct ctl *ctl, struct err *err);
void task_free_all(struct ctl *ctl);
struct task *task_find(struct ctl *ctl, int64_t id); /* an open task; NULL = none */

/* Create a queued task. The configuration of a refit is that of the study's trial `number`. */
int task_create_ingest(struct ctl *ctl, int64_t dataset, struct err *err);
int task_create_refit(struct study *st, int64_t number, int64_t *id, struct err *err);
/* config: what the grant will say (settle/ship.c); the reference is taken. */
int task_create_ensemble(struct study *st, json_t *config, int64_t *id, struct err *err);
/* A task for rank `rank` of a trial that is leased under this fence. It is held from its creation on
 * (task_hold), and it ends with that lease. */
int task_create_rank(struct study *st, int64_t trial, int64_t fence, int rank, int64_t *id,
                     struct err *err);
/* Makes this device the holder of a queued task: its row with a new fence, and a lease. */
struct runner;
int task_hold(struct ctl *ctl, struct task *t, const struct runner *r, const struct msg_ask *ask,
              struct err *err);
/* Ends the `rank` tasks of trials that are not leased any more under the fence that they serve. */
int task_sweep_ranks(struct ctl *ctl, struct err *err);
/* End all open tasks of a study or a dataset as cancelled. */
int task_cancel_of_study(struct ctl *ctl, int64_t study, struct err *err);
int task_cancel_of_dataset(struct ctl *ctl, int64_t dataset, struct err *err);

/* Writes the row with this state, which is not a last one: the task stays open. */
int task_put(struct ctl *ctl, struct task *t, const char *state, struct err *err);
/* Writes the row with its last state. The task and its lease leave memory, and t is freed. */
int task_end(struct ctl *ctl, struct task *t, const char *state, struct err *err);

#endif
