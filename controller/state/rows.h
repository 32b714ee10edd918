/* rows.h - builds a study in memory from its rows; there is no other way to build one. Called by
 * settle/load.c, by settle/load_beside.c on a thread of the loop's pool, and by view/brief.c for
 * lists. */
#ifndef CONTROLLER_STATE_ROWS_H
#define CONTROLLER_STATE_ROWS_H

#include "controller/state/study.h"

/* Fills an empty study from its rows, except for its search and its leases: 1, 0 = there is no such
 * row, or -1. */
int study_fill(struct study *st, int64_t id, struct err *err);
/* Parts of that, for those who need less. */
struct study *study_row_load(struct ctl *ctl, int64_t id, struct err *err);  /* its row and spec */
struct study *study_head_load(struct ctl *ctl, int64_t id, struct err *err); /* and its space */
int study_fill_trials(struct study *st, struct store *store, struct err *err); /* its trials */
/* Builds the space of the spec. The study's data must be known. */
int study_space_load(struct study *st, struct err *err);
/* Reads the row of an ended study again: 0, or -1 if it is gone or has not ended. */
int study_take_row(struct study *st, struct err *err);
/* Makes the leases agree with a study that was just loaded: those of running trials stay, others
 * go, and missing ones are made again from the trials' attempts. */
int lease_restore(struct ctl *ctl, struct study *st, struct err *err);

/* Stores in the row of an ended study how many trials ended in which state, and which was the
 * best, so that lists need not read its trials (view/brief.h). Writes nothing if the row says so
 * already. */
int study_keep_counts(struct study *st, struct err *err);

/* Finds the id that a ref (an id in digits, or a name) stands for. An id in digits need not
 * exist. */
int study_ref(struct ctl *ctl, const char *ref, int64_t *id, struct err *err);
/* The same, and whether that study has ended; reads its row at most: 1, 0 = there is none, -1. */
int study_find(struct ctl *ctl, const char *ref, int64_t *id, bool *is_final, struct err *err);

#endif
