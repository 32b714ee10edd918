/* runner.h - rows of known runners, of tasks (leased work that is no trial), and of datasets. */
#ifndef STORE_RUNNER_H
#define STORE_RUNNER_H

#include "store/store.h"

struct runner_row {
    int64_t id;
    char *name, *session, *numeric_sig, *labels, *devices; /* devices: JSON */
    char *state;  /* enabled | draining | quarantined | gone */
    char *reason; /* NULL */
    int64_t first_seen, last_seen;
    int64_t token; /* whose session it is; 0 = the Unix socket, -1 = not known (migration 002) */
};
void runner_row_fini(struct runner_row *r);
/* Insert when id = 0; journal "runner" when new or when state or reason changed. */
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
    char *config, *result, *error; /* JSON, JSON, text; NULL */
    int64_t created_at, ended_at;
};
void task_row_fini(struct task_row *r);
/* Insert when id = 0; journal "task.<state>" when new or when the state changed. */
int store_task_put(struct store *s, struct task_row *r, struct err *err);
int store_task_get(struct store *s, int64_t id, struct task_row *out, struct err *err);
int store_task_each(struct store *s, bool only_open, int (*on_row)(void *arg, struct task_row *row),
                    void *arg, struct err *err);

struct dataset_row {
    int64_t id;
    char *name;                /* unique among live ones */
    char blob[SHA256_HEX];     /* the uploaded file */
    char identity[SHA256_HEX]; /* hash(file hash, parser version, column overrides) */
    char *columns;             /* overrides JSON or NULL */
    char *file_name;
    char *state; /* ingesting | ready | failed */
    char *error;
    char frame[SHA256_HEX];
    char *schema; /* JSON, NULL until ready */
    int64_t rows, cols, bytes, created_at;
};
void dataset_row_fini(struct dataset_row *r);
/* Journal "dataset". */
int store_dataset_put(struct store *s, struct dataset_row *r, struct err *err);
int store_dataset_get(struct store *s, int64_t id, struct dataset_row *out, struct err *err);
/* Name, identity, blob or frame. */
int store_dataset_find(struct store *s, const char *name_or_hash, struct dataset_row *out,
                       struct err *err);
int store_dataset_each(struct store *s, int (*on_row)(void *arg, struct dataset_row *row),
                       void *arg, struct err *err);
/* ERR_CONFLICT while an unfinished study uses it; its open tasks are the caller's to cancel. Ended studies keep naming the
 * id, but it is gone for get, find and each. */
int store_dataset_delete(struct store *s, int64_t id, struct err *err);

#endif
