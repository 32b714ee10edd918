/* table.h - a table's file that is missing or damaged. Before a grant the controller looks at its own files: a study whose
 * table is gone has it made again from the file that the user brought, where that one is whole (the journal's `dataset`
 * entry says why), and else pauses at once and says which file it is. What only a runner sees (reason `data`) is tried again after a
 * pause that doubles, and pauses the study after a few attempts. Neither is the trial's fault or the runner's. */
#ifndef CONTROLLER_SERVE_TABLE_H
#define CONTROLLER_SERVE_TABLE_H

#include "controller/state/study.h"
#include "store/runner.h"

/* May trials of this study go out to who asks? 1, 0 = not now (it may have been paused), -1. */
int table_check(struct study *st, const struct msg_ask *ask, struct err *err);
/* A runner could not read it. detail: its words, may be NULL. */
int table_failed(struct study *st, const char *detail, struct err *err);
void table_worked(struct study *st);

void table_tick(struct ctl *ctl);
int64_t table_due(const struct ctl *ctl);

#endif
