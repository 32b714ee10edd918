/* study.h - rows of studies.
 *
 * The strings of a row are on the heap. Functions that read a row allocate them and the caller
 * frees them with study_row_fini; functions that write a row only borrow them. The callers are
 * controller/state/ for changes and controller/view/ and api/ for lists and damaged studies. */
#ifndef STORE_STUDY_H
#define STORE_STUDY_H

#include "store/store.h"

#include <jansson.h>

struct study_row {
    int64_t id; /* 0 before insert */
    char *name; /* unique */
    char *owner;
    char *spec; /* normalised JSON */
    /* JSON of what the spec was resolved to: frame, rows, columns, task, metric, folds and so on.
     * NULL until the dataset is ready. */
    char *data;
    enum study_state state;
    char *reason; /* why it ended or waits; NULL when there is nothing to say */
    int64_t seed;
    char *numeric_sig; /* "" until the first lease fixes it */
    int64_t priority;
    int64_t used_ms;           /* time used of its budget, without pauses */
    int64_t dataset;           /* id */
    int64_t best_trial;        /* id or 0 */
    char artifact[SHA256_HEX]; /* the blob of the model that users download; "" = none yet */
    char *result;              /* JSON of the ended study: scores of the shipped model; NULL */
    bool is_archived;
    int64_t created_at, started_at, ended_at; /* wall ms, 0 = not yet */
    char *counts; /* JSON: how its trials ended and which is best; NULL until it has ended */
};
void study_row_fini(struct study_row *r);

/* Inserts the row and its journal row "study.create". Sets r->id, and r->state to queued.
 * ERR_CONFLICT when the name is taken. */
int store_study_insert(struct store *s, struct study_row *r, struct err *err);
/* Records a change of state: writes the row and the journal row "study.<event>" with data_json, which
 * may be NULL. r->state is the state after the event (the caller has called study_next).
 * ERR_CONFLICT when the stored state does not allow the event, or when the row names an artifact or
 * a dataset that is not stored. */
int store_study_event(struct store *s, const struct study_row *r, enum study_event ev,
                      const char *data_json, struct err *err);
/* Writes the row when its state has not changed; there is no journal row. */
int store_study_update(struct store *s, const struct study_row *r, struct err *err);
/* 1/0/-1. */
int store_study_get(struct store *s, int64_t id, struct study_row *out, struct err *err);
/* 1/0/-1. */
int store_study_find(struct store *s, const char *name, struct study_row *out, struct err *err);
/* Only the id, which can be read also when the rest of the row is damaged: 1/0/-1. */
int store_study_id(struct store *s, const char *name, int64_t *id, struct err *err);
/* Rows from the newest to the oldest. states_mask: one bit per enum study_state, 0 = all states.
 * after: only ids below this one, 0 = from the newest. The callback returns 0 to go on, > 0 to stop,
 * -1 to fail; it may call every store function except the one that called it. */
int store_study_each(struct store *s, uint32_t states_mask, bool with_archived, int64_t after,
                     int limit, int (*on_row)(void *arg, struct study_row *row), void *arg,
                     struct err *err);
/* Deletes the study with its trials, reports, attempts, tasks and journal rows, and adds one journal
 * row "study.delete". */
int store_study_delete(struct store *s, int64_t id, struct err *err);

/* The rows without interpretation (dump.c), for a study that the other functions cannot read:
 *   {study: {column: value}, trials: [{column: value, reports: [..], attempts: [..]}],
 *    next: number | null, error: text | null}
 * The trials are those with numbers above `after`, at most `limit`; `next` is the number after which
 * to go on. When `error` is a text, the object holds what could be read before it. 0/-1. */
int store_study_dump(struct store *s, int64_t study, int64_t after, int limit, json_t **out,
                     struct err *err);
/* How many trials are in each state, without trials whose stored state is unknown. */
int store_trial_counts(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err);

/* The pipelines of a study's trials (controller/state/pipelines.h): keeps one under its key, unless it
 * is there already or PIPELINES_MOST are. */
enum { PIPELINES_MOST = 256 };
int store_pipeline_put(struct store *s, int64_t study, const char *key, const char *data_json,
                       struct err *err);
/* 1 = found; 0 = there is none. The caller frees *data_json. */
int store_pipeline_get(struct store *s, int64_t study, const char *key, char **data_json,
                       struct err *err);

#endif
