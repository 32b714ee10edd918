/* trial.h - rows of trials, their reports and their attempts.
 *
 * A report is the score of a trial at one level. An attempt is the time under one lease, so a trial
 * that was paused or lost has several. The strings of a row are on the heap; trial_row_fini frees
 * them. Changes come from controller/state/; lists and the page read through controller/view/. */
#ifndef STORE_TRIAL_H
#define STORE_TRIAL_H

#include "store/store.h"

#include <jansson.h>

struct trial_row {
    int64_t id, study, number; /* number counts from 1 within the study */
    char *config;              /* JSON */
    char config_hash[17];
    char *family, *shape_key;
    uint64_t seed;
    enum trial_state state;
    enum trial_reason reason;
    char *detail; /* text for people about `reason`; NULL */
    /* fence: grows by one with each lease, so that messages of an older lease are recognised.
     * msg_seq: number of the last message applied under this fence. */
    int64_t fence, msg_seq;
    char *msg_answer; /* JSON of the reply to msg_seq, sent again when that message is repeated */
    /* The level reached, the highest level of its family, and the level that it runs to now. */
    int level, max_level, run_to;
    double score, score_se, select_value, test_score, test_se; /* NaN = NULL in SQL */
    char checkpoint[SHA256_HEX];
    int checkpoint_level;
    char artifact[SHA256_HEX];
    char *info; /* JSON: fit_us, predict_ns_row, model_bytes, free values, curve, device, cut */
    int64_t crashes_alone;
    int64_t retry_of;
    int64_t vstart, vcost; /* virtual time units of deterministic studies; 0 otherwise */
    int64_t created_at, started_at, ended_at;
    char predictions[SHA256_HEX]; /* out of fold (ml/ensemble/predictions.h); "" = none is kept */
    /* The texts of config and info as values, where somebody has parsed them already (trial_info and
     * trial_config_json in controller/state/trial.h); NULL = not yet; owned. Not in the database. */
    json_t *config_json, *info_json;
    /* msg_answer is already the answer to the message that is being applied, and was written with
     * the change that the message made. Not in the database. */
    bool has_answer;
};
void trial_row_fini(struct trial_row *r);

/* Inserts the row and its journal row "trial.create" with the configuration. Sets r->id, and
 * r->state to queued. */
int store_trial_insert(struct store *s, struct trial_row *r, struct err *err);
/* Records a change of state: writes every mutable column (not study, number, config, hash, family,
 * shape, seed) and the journal row "trial.<ev>" with data_json, both or neither. r->state is the
 * state after ev. ERR_CONFLICT when the stored state does not allow ev, or when the checkpoint,
 * the artifact or the predictions have no row in the table blob. */
int store_trial_event(struct store *s, const struct trial_row *r, enum trial_event ev,
                      const char *data_json, struct err *err);
/* Writes the row when its state has not changed; there is no journal row. */
int store_trial_update(struct store *s, const struct trial_row *r, struct err *err);
/* No trial of the study names its predictions any more. */
int store_trial_forget_predictions(struct store *s, int64_t study, struct err *err);
/* 1/0/-1. */
int store_trial_get(struct store *s, int64_t id, struct trial_row *out, struct err *err);
/* The trials of a study in the order of their numbers. */
int store_trial_each(struct store *s, int64_t study,
                     int (*on_row)(void *arg, struct trial_row *row), void *arg, struct err *err);

/* The highest number of the study's trials; 0 = it has none. */
int store_trial_last(struct store *s, int64_t study, int64_t *number, struct err *err);
/* How many trials are in each state. */
int store_trial_count(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err);

/* Inserts a report and its journal row "report". ERR_CONFLICT when the trial has already reported
 * this level. */
int store_report_add(struct store *s, int64_t trial, int level, double value, double se,
                     struct err *err);
/* The reports of one trial, by level. */
int store_report_each(struct store *s, int64_t trial,
                      int (*on_row)(void *arg, int level, double value, double se), void *arg,
                      struct err *err);

/* How the networks of a trial learned (controller/state/epochs.h has the JSON): writes the row of
 * this level, and deletes those of higher levels and all but the last EPOCHS_RUNS of the others. */
enum { EPOCHS_RUNS = 4 };
int store_epochs_put(struct store *s, int64_t trial, int level, const char *data_json,
                     struct err *err);
/* By level. */
int store_epochs_each(struct store *s, int64_t trial,
                      int (*on_row)(void *arg, int level, const char *data_json), void *arg,
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
/* Opens a closed attempt again: a runner that was thought lost continues its trial under the same
 * fence (event REJOIN). */
int store_attempt_reopen(struct store *s, int64_t trial, int64_t fence, struct err *err);
int store_attempt_each(struct store *s, int64_t trial,
                       int (*on_row)(void *arg, const struct attempt_row *row), void *arg,
                       struct err *err);

/* What a trial's program printed (store/output.c). A piece beyond `most` bytes of the trial in all is
 * left out without an error. */
struct output_row {
    int64_t piece, fence, at;
    const char *text; /* borrowed for the call */
};
int store_output_add(struct store *s, int64_t trial, int64_t fence, const char *text, int64_t most,
                     struct err *err);
/* Up to `limit` pieces after number `after`, in order; on_row returns 1 to end, -1 for an error. */
int store_output_each(struct store *s, int64_t trial, int64_t after, int limit,
                      int (*on_row)(void *arg, const struct output_row *row), void *arg,
                      struct err *err);

#endif
