/* journal.h - the append-only record of every state change and rung report: audit, source of the event stream, and the
 * oracle from which `assay debug replay` rebuilds the state. One sequence for the whole database. */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "store/store.h"

struct journal_row {
    int64_t seq, at;      /* at: wall ms */
    int64_t study, trial; /* 0 = none */
    const char *event;    /* "trial.lease", "study.finish", "report", "dataset", "task.done" ... */
    const char *data;     /* JSON or NULL */
};
int journal_add(struct store *s, int64_t study, int64_t trial, const char *event,
                const char *data_json, struct err *err);
int64_t journal_last(const struct store *s); /* highest sequence written, this turn included */
/* Study 0 = all. */
int store_journal_each(struct store *s, int64_t study, int64_t after, int limit,
                       int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                       struct err *err);
/* How many rows a study has after a number, counted up to a limit: cheap. */
int store_journal_count(struct store *s, int64_t study, int64_t after, int64_t limit, int64_t *out,
                        struct err *err);
/* Oldest first. */
int store_journal_trial(struct store *s, int64_t trial, int limit,
                        int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                        struct err *err);
/* Rebuilds trial and study states from the journal through proto/trial.h's tables and compares with the rows; every
 * difference goes to on_diff as one line. 0 = identical, 1 = differences, -1 = error. */
int store_replay(struct store *s, void (*on_diff)(void *arg, const char *line), void *arg,
                 struct err *err);

#endif
