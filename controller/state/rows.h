/* rows.h - from rows to memory: the one way to build a study. Called by serve/load.c, by serve/load_beside.c on a thread of
 * the pool, and by view/brief.c for lists. */
#ifndef CONTROLLER_STATE_ROWS_H
#define CONTROLLER_STATE_ROWS_H

#include "controller/state/study.h"

/* Fills an empty study from its rows, all but sampler, scheduler and leases: 1, 0 = there is no such row, -1. */
int study_fill(struct study *st, int64_t id, struct err *err);
/* The steps of it. A study from its row alone, not even its space; from its row, with data and space; its trials. */
struct study *study_row_load(struct ctl *ctl, int64_t id, struct err *err);
struct study *study_head_load(struct ctl *ctl, int64_t id, struct err *err);
int study_fill_trials(struct study *st, struct store *store, struct err *err);
int study_space_load(struct study *st,
                     struct err *err); /* the spec's space, once its data is known */
/* The row of an ended study is read again: 0, or -1 when it is gone or has not ended. */
int study_take_row(struct study *st, struct err *err);
/* After a load: leases of its running trials stay, others of the study go, missing ones are made again. */
int lease_restore(struct ctl *ctl, struct study *st, struct err *err);

/* Stores how the trials of an ended study ended, unless its row says so already: lists need no more of it (view/brief.h). */
int study_keep_counts(struct study *st, struct err *err);

/* What a ref (an id in digits, or a name) means, loaded or not: 0 and the id, or -1. An id in digits need not exist. */
int study_ref(struct ctl *ctl, const char *ref, int64_t *id, struct err *err);
/* Which study is it, and has it ended? Reads its row at most: 1/0/-1. */
int study_find(struct ctl *ctl, const char *ref, int64_t *id, bool *is_final, struct err *err);

#endif
