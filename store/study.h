/* study.h - rows of studies. Strings in rows are heap (mem_free via _fini); put copies. */
#ifndef STORE_STUDY_H
#define STORE_STUDY_H

#include "store/store.h"

#include <jansson.h>

struct study_row {
    int64_t id; /* 0 before insert */
    char *name; /* unique */
    char *owner;
    char *spec; /* normalised JSON */
    /* JSON of what the spec resolved to: frame, rows, columns, task, metric, folds ...; NULL until ready */
    char *data;
    enum study_state state;
    char *reason; /* why it ended or waits; NULL */
    int64_t seed;
    char *numeric_sig; /* "" until the first lease fixes it */
    int64_t priority;
    int64_t used_ms;           /* of its time budget, pauses not counted */
    int64_t dataset;           /* id */
    int64_t best_trial;        /* id or 0 */
    char artifact[SHA256_HEX]; /* what ships; "" = none yet */
    char *result;              /* JSON of the ended study: scores of the shipped model; NULL */
    bool is_archived;
    int64_t created_at, started_at, ended_at; /* wall ms, 0 = not yet */
    char *counts; /* JSON: how its trials ended and which is best; NULL until it has ended */
};
void study_row_fini(struct study_row *r);

/* Insert (id set, state queued) with its journal row "study.create". ERR_CONFLICT when the name is taken. An event: r->state
 * is the state after it (study_next was taken); the stored state must allow it, else ERR_CONFLICT; journaled as
 * "study.<event>" with data_json, which may be NULL. artifact and dataset must be stored (ERR_CONFLICT). A row callback
 * returns 0 to go on, > 0 to stop, -1 to fail; it may call every store function but the one that called it. */
int store_study_insert(struct store *s, struct study_row *r, struct err *err);
int store_study_event(struct store *s, const struct study_row *r, enum study_event ev,
                      const char *data_json, struct err *err);
/* Facts that are no state change. */
int store_study_update(struct store *s, const struct study_row *r, struct err *err);
/* 1/0/-1. */
int store_study_get(struct store *s, int64_t id, struct study_row *out, struct err *err);
/* 1/0/-1. */
int store_study_find(struct store *s, const char *name, struct study_row *out, struct err *err);
/* The id alone, also of a study whose row is damaged: 1/0/-1. */
int store_study_id(struct store *s, const char *name, int64_t *id, struct err *err);
/* Newest first; states_mask bit per enum study_state, 0 = all; after = id below which to go on, 0 = from the top. */
int store_study_each(struct store *s, uint32_t states_mask, bool with_archived, int64_t after,
                     int limit, int (*on_row)(void *arg, struct study_row *row), void *arg,
                     struct err *err);
/* With its trials, reports, attempts; journal keeps one row "delete". */
int store_study_delete(struct store *s, int64_t id, struct err *err);

/* The rows as they are (dump.c), for a study that nothing else can read: {study: {column: value}, trials: [{column: value,
 * reports: [..], attempts: [..]}] with numbers above `after`, next: number | null, error: text | null (then what could be
 * read is there)}. 0/-1. */
int store_study_dump(struct store *s, int64_t study, int64_t after, int limit, json_t **out,
                     struct err *err);
int store_trial_counts(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err);

#endif
