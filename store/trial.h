/* trial.h - rows of trials, their rung reports and their attempts (one attempt = one lease). */
#ifndef STORE_TRIAL_H
#define STORE_TRIAL_H

#include "store/store.h"

struct trial_row {
    int64_t id, study, number; /* number counts from 1 within the study */
    char *config;              /* JSON */
    char config_hash[17];
    char *family, *shape_key;
    uint64_t seed;
    enum trial_state state;
    enum trial_reason reason;
    char *detail; /* text; NULL */
    int64_t fence, msg_seq;
    char *msg_answer;             /* JSON of the reply to msg_seq, for repeats; NULL */
    int level, max_level, run_to; /* reached; of the family; current target */
    double score, score_se, select_value, test_score, test_se; /* NaN = NULL in SQL */
    char checkpoint[SHA256_HEX];
    int checkpoint_level;
    char artifact[SHA256_HEX];
    char *info; /* JSON: fit_us, predict_ns_row, model_bytes, free values, curve, device, cut */
    int64_t crashes_alone;
    int64_t retry_of;
    int64_t vstart, vcost; /* virtual time units of deterministic studies; 0 otherwise */
    int64_t created_at, started_at, ended_at;
};
void trial_row_fini(struct trial_row *r);

/* Journal "create" with the config. */
int store_trial_insert(struct store *s, struct trial_row *r, struct err *err);
/* Writes every mutable column (not study, number, config, hash, family, shape, seed) and journals "trial.<ev>" with
 * data_json in one step. r->state is the state after ev; the stored one must allow it, else ERR_CONFLICT. checkpoint and
 * artifact must have their rows in blob (ERR_CONFLICT). */
int store_trial_event(struct store *s, const struct trial_row *r, enum trial_event ev,
                      const char *data_json, struct err *err);
/* No state change. */
int store_trial_update(struct store *s, const struct trial_row *r, struct err *err);
/* 1/0/-1. */
int store_trial_get(struct store *s, int64_t id, struct trial_row *out, struct err *err);
/* By number. */
int store_trial_each(struct store *s, int64_t study,
                     int (*on_row)(void *arg, struct trial_row *row), void *arg, struct err *err);

/* How many are in each state. */
int store_trial_count(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err);

/* Journals "report"; same (trial, level) again: ERR_CONFLICT. */
int store_report_add(struct store *s, int64_t trial, int level, double value, double se,
                     struct err *err);
int store_report_each(struct store *s, int64_t trial,
                      int (*on_row)(void *arg, int level, double value, double se), void *arg,
                      struct err *err);

struct attempt_row {
    int64_t trial, fence, runner;
    char session[33], device[32];
    int from_level, to_level;
    char *end_reason; /* NULL while it runs */
    int64_t started_at, ended_at;
};
int store_attempt_open(struct store *s, const struct attempt_row *a, struct err *err);
int store_attempt_close(struct store *s, int64_t trial, int64_t fence, const char *end_reason,
                        struct err *err);
/* A lost trial was taken up again under the same fence (REJOIN): its attempt goes on. */
int store_attempt_reopen(struct store *s, int64_t trial, int64_t fence, struct err *err);
int store_attempt_each(struct store *s, int64_t trial,
                       int (*on_row)(void *arg, const struct attempt_row *row), void *arg,
                       struct err *err);

#endif
