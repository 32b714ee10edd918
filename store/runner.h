/* runner.h - rows of runners (runner.c), of tasks (task.c) and of datasets (dataset.c).
 *
 * A task is leased work that is not a trial: reading a dataset, or refitting the best model. The
 * strings of a row are on the heap and are freed by its _fini function. Each change of state is
 * written together with its journal row. Called on the loop's thread by the controller. */
#ifndef STORE_RUNNER_H
#define STORE_RUNNER_H

#include "store/store.h"

struct runner_row {
    int64_t id;
    char *name, *session, *numeric_sig, *labels, *devices; /* devices: JSON */
    char *state;  /* enabled | draining | quarantined | gone */
    char *reason; /* NULL */
    int64_t first_seen, last_seen;
    /* The token that opened the session; 0 = the Unix socket, -1 = not known, because the row is
     * older than migration 002. */
    int64_t token;
};
void runner_row_fini(struct runner_row *r);
/* Inserts the row when its id is 0, else updates it. Adds the journal row "runner" for a new runner
 * and when the state or the reason has changed. */
int store_runner_put(struct store *s, struct runner_row *r, struct err *err);
/* 1/0/-1. */
int store_runner_find(struct store *s, const char *session, struct runner_row *out,
                      struct err *err);
int store_runner_each(struct store *s, int (*on_row)(void *arg, struct runner_row *row), void *arg,
                      struct err *err);

struct task_row {
    int64_t id;
    char *kind;             /* ingest | refit */
    int64_t study, dataset; /* 0 = none */
    char *state;            /* queued | running | done | failed | cancelled */
    int64_t fence, msg_seq, attempts;
    char *config, *result, *error; /* JSON, JSON, text; each may be NULL */
    int64_t created_at, ended_at;
};
void task_row_fini(struct task_row *r);
/* Inserts the row when its id is 0, else updates it. Adds the journal row "task.<state>" for a new
 * task and when the state has changed. */
int store_task_put(struct store *s, struct task_row *r, struct err *err);
int store_task_get(struct store *s, int64_t id, struct task_row *out, struct err *err);
int store_task_each(struct store *s, bool only_open, int (*on_row)(void *arg, struct task_row *row),
                    void *arg, struct err *err);

struct dataset_row {
    int64_t id;
    char *name;                /* unique among datasets that are not deleted */
    char blob[SHA256_HEX];     /* the uploaded file */
    char identity[SHA256_HEX]; /* hash(file hash, parser version, column overrides) */
    char *columns;             /* JSON of the user's column overrides, or NULL */
    char *file_name;
    char *state; /* ingesting | ready | failed */
    char *error;
    char frame[SHA256_HEX];
    char *schema; /* JSON, NULL until ready */
    int64_t rows, cols, bytes, created_at;
};
void dataset_row_fini(struct dataset_row *r);
/* Inserts the row when its id is 0, else updates it; always with a journal row "dataset". */
int store_dataset_put(struct store *s, struct dataset_row *r, struct err *err);
int store_dataset_get(struct store *s, int64_t id, struct dataset_row *out, struct err *err);
/* Only its name, because the schema of a wide table takes megabytes, and whether it was deleted: 1
 * with the name, which the caller frees, 0 = there never was one, -1. */
int store_dataset_name(struct store *s, int64_t id, char **name, bool *is_deleted, struct err *err);
/* Finds a dataset by its name or by one of its hashes: identity, blob or frame. */
int store_dataset_find(struct store *s, const char *name_or_hash, struct dataset_row *out,
                       struct err *err);
int store_dataset_each(struct store *s, int (*on_row)(void *arg, struct dataset_row *row),
                       void *arg, struct err *err);
/* ERR_CONFLICT while an unfinished study uses the dataset. The caller cancels its open tasks. The row
 * stays, because ended studies refer to it, but get, find and each no longer return it. */
int store_dataset_delete(struct store *s, int64_t id, struct err *err);

#endif
