/* journal.h - the append-only record of every state change and rung report.
 *
 * It serves as the audit, as the source of the event stream of the page and the command line, and
 * as the reference from which `assay debug replay` rebuilds the state. Rows of all studies are
 * numbered in one sequence. Rows are written by store/ together with the change that they record;
 * callers outside store/ add only events that change no row. */
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
int64_t journal_last(const struct store *s);    /* the highest number written, this turn included */
int64_t journal_durable(const struct store *s); /* the highest number that no power cut can undo */
/* Rows with a number above `after`, in order; study 0 = of all studies. The callback returns 0 to
 * go on, > 0 to stop, -1 to fail. */
int store_journal_each(struct store *s, int64_t study, int64_t after, int limit,
                       int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                       struct err *err);
/* Counts a study's rows with a number above `after`, but not further than `limit`, so that the cost
 * is bounded for a long journal. */
int store_journal_count(struct store *s, int64_t study, int64_t after, int64_t limit, int64_t *out,
                        struct err *err);
/* The rows of one trial, oldest first. */
int store_journal_trial(struct store *s, int64_t trial, int limit,
                        int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                        struct err *err);
/* Rebuilds the states of studies and trials from the journal by the tables of proto/trial.h and
 * compares them with the rows. Each difference is passed to on_diff as one line. 0 = identical,
 * 1 = differences, -1 = error. */
int store_replay(struct store *s, void (*on_diff)(void *arg, const char *line), void *arg,
                 struct err *err);

#endif
