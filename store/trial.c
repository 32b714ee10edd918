/* trial.c - rows of trials, their reports and their attempts.
 *
 * As with studies, a trial's state changes only by store_trial_event. That function asks the table
 * of proto/trial.h whether the stored state allows the event, and writes the row and its journal
 * row in one savepoint. The columns that define a trial (configuration, seed, family, shape) are
 * written only by the insert. Called on the loop's thread by controller/state/. */
#include "store/trial.h"

#include "store/journal.h"
#include "store/query.h"

#include <math.h>
#include <stdio.h>

static const struct column trial_column[] = {
    COLUMN(COL_I64, trial_row, id),
    COLUMN(COL_I64, trial_row, study),
    COLUMN(COL_I64, trial_row, number),
    COLUMN(COL_TEXT, trial_row, config),
    COLUMN(COL_CHARS, trial_row, config_hash),
    COLUMN(COL_TEXT, trial_row, family),
    COLUMN(COL_TEXT, trial_row, shape_key),
    COLUMN(COL_U64, trial_row, seed),
    COLUMN_ENUM(trial_row, state, trial_state_name),
    COLUMN_ENUM(trial_row, reason, trial_reason_name),
    COLUMN(COL_TEXT, trial_row, detail),
    COLUMN(COL_I64, trial_row, fence),
    COLUMN(COL_I64, trial_row, msg_seq),
    COLUMN(COL_TEXT, trial_row, msg_answer),
    COLUMN(COL_INT, trial_row, level),
    COLUMN(COL_INT, trial_row, max_level),
    COLUMN(COL_INT, trial_row, run_to),
    COLUMN(COL_F64, trial_row, score),
    COLUMN(COL_F64, trial_row, score_se),
    COLUMN(COL_F64, trial_row, select_value),
    COLUMN(COL_F64, trial_row, test_score),
    COLUMN(COL_F64, trial_row, test_se),
    COLUMN(COL_CHARS, trial_row, checkpoint),
    COLUMN(COL_INT, trial_row, checkpoint_level),
    COLUMN(COL_CHARS, trial_row, artifact),
    COLUMN(COL_TEXT, trial_row, info),
    COLUMN(COL_I64, trial_row, crashes_alone),
    COLUMN(COL_REF, trial_row, retry_of),
    COLUMN(COL_I64, trial_row, vstart),
    COLUMN(COL_I64, trial_row, vcost),
    COLUMN(COL_I64, trial_row, created_at),
    COLUMN(COL_I64, trial_row, started_at),
    COLUMN(COL_I64, trial_row, ended_at),
    COLUMN(COL_CHARS, trial_row, predictions),
};
static const struct columns trial_columns = { trial_column, ARRAY_LEN(trial_column) };

static const struct column attempt_column[] = {
    COLUMN(COL_I64, attempt_row, trial),      COLUMN(COL_I64, attempt_row, fence),
    COLUMN(COL_I64, attempt_row, runner),     COLUMN(COL_CHARS, attempt_row, session),
    COLUMN(COL_CHARS, attempt_row, device),   COLUMN(COL_INT, attempt_row, from_level),
    COLUMN(COL_INT, attempt_row, to_level),   COLUMN(COL_TEXT, attempt_row, end_reason),
    COLUMN(COL_I64, attempt_row, started_at), COLUMN(COL_I64, attempt_row, ended_at),
};
static const struct columns attempt_columns = { attempt_column, ARRAY_LEN(attempt_column) };

void trial_row_fini(struct trial_row *r)
{
    json_decref(r->config_json);
    json_decref(r->info_json);
    r->config_json = r->info_json = NULL;
    r->has_answer = false;
    row_fini(&trial_columns, r);
}

/* The data is {"number":3,"config":{...}}. The configuration is copied as text, so the caller must
 * pass valid JSON. */
static int journal_created(struct store *s, const struct trial_row *r, struct err *err)
{
    struct buf data;
    int rc = -1;

    buf_init(&data, 1 << 24);
    if (buf_addf(&data, err, "{\"number\":%lld,\"config\":%s}", (long long)r->number, r->config) ==
        0)
        rc = journal_add(s, r->study, r->id, "trial.create", data.data, err);
    buf_fini(&data);
    return rc;
}

int store_trial_insert(struct store *s, struct trial_row *r, struct err *err)
{
    struct savepoint sp;
    struct query q;

    CHECK(r->id == 0 && r->study > 0 && r->config &&
          (r->state == TS_NONE || r->state == TS_QUEUED));
    if (savepoint_join(&sp, s, err) < 0)
        return -1;
    r->state = TS_QUEUED;
    if (!r->created_at)
        r->created_at = clk_wall_ms(s->clk);
    q = query_open(s, SQL_TRIAL_INSERT);
    query_row(&q, &trial_columns, r);
    r->id = query_insert(&q, err);
    if (r->id < 0 || journal_created(s, r, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    r->id = 0;
    return err_wrap(err, "trial %lld of study %lld", (long long)r->number, (long long)r->study);
}

/* What is stored of a trial before it is changed. */
struct stored {
    enum trial_state state;
    int64_t study;
};

static int stored_get(struct store *s, int64_t id, struct stored *out, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_STATE);
    int rc = 0;

    query_i64(&q, ":id", id);
    rc = query_step(&q, err);
    if (rc == 1) {
        if (trial_state_parse(query_col_text(&q, 0), &out->state, NULL) < 0)
            rc = err_set(err, ERR_DAMAGED, "trial %lld: its stored state is nothing known",
                         (long long)id);
        out->study = query_col_i64(&q, 1);
    }
    query_close(&q);
    return rc == 0 ? err_set(err, ERR_NOTFOUND, "no trial %lld", (long long)id) : rc;
}

/* Writes the row if its state is stored as `was` and its blobs as the row has them: 1, 0 = they are
 * not, or there is no such row, -1. This is nearly always so, and it saves reading them before. */
static int row_put_rest(struct store *s, const struct trial_row *r, enum trial_state was,
                        struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_UPDATE_REST);

    query_row(&q, &trial_columns, r);
    query_text(&q, ":was", trial_state_name[was]);
    return query_run(&q, err);
}

static int row_put(struct store *s, const struct trial_row *r, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_UPDATE);

    query_row(&q, &trial_columns, r);
    return query_put(&q, "trial", r->id, err);
}

/* The state from which this event mostly leads to the row's state. */
static enum trial_state state_before(const struct trial_row *r, enum trial_event ev)
{
    static const enum trial_state likely[] = { TS_RUNNING, TS_QUEUED, TS_PAUSED };

    for (size_t i = 0; i < ARRAY_LEN(likely); i++) {
        enum trial_state state = likely[i];

        if (trial_next(&state, ev, r->id, NULL) == 0 && state == r->state)
            return likely[i];
    }
    return TS_NONE;
}

/* Writes the row of a trial to which the event has happened. */
static int row_put_event(struct store *s, const struct trial_row *r, enum trial_event ev,
                         struct err *err)
{
    int rc = row_put_rest(s, r, state_before(r, ev), err);
    struct stored was = { 0 };

    if (rc != 0)
        return MIN(rc, 0);
    if (stored_get(s, r->id, &was, err) < 0 || trial_next(&was.state, ev, r->id, err) < 0)
        return -1;
    /* The caller must have applied the event to the stored state. */
    CHECK(was.state == r->state && was.study == r->study);
    return row_put(s, r, err);
}

int store_trial_event(struct store *s, const struct trial_row *r, enum trial_event ev,
                      const char *data_json, struct err *err)
{
    struct savepoint sp;
    char event[40];

    CHECK(ev != TE_CREATE);
    snprintf(event, sizeof event, "trial.%s", trial_event_name[ev]);
    if (savepoint_join(&sp, s, err) < 0)
        return -1;
    if (row_put_event(s, r, ev, err) < 0 ||
        journal_add(s, r->study, r->id, event, data_json, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    return err_wrap(err, "trial %lld: %s", (long long)r->id, trial_event_name[ev]);
}

int store_trial_update(struct store *s, const struct trial_row *r, struct err *err)
{
    int rc = row_put_rest(s, r, r->state, err);
    struct stored was = { 0 };

    if (rc != 0)
        return MIN(rc, 0);
    if (stored_get(s, r->id, &was, err) < 0)
        return -1;
    CHECK(was.state == r->state); /* a change of state needs store_trial_event */
    return row_put(s, r, err);
}

int store_trial_get(struct store *s, int64_t id, struct trial_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_GET);

    query_i64(&q, ":id", id);
    return query_get(&q, &trial_columns, out, err);
}

int store_trial_each(struct store *s, int64_t study,
                     int (*on_row)(void *arg, struct trial_row *row), void *arg, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_EACH);
    int rc = 0, stop = 0;

    query_i64(&q, ":study", study);
    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct trial_row row = { 0 };

        stop = query_load(&q, &trial_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        trial_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_trial_forget_predictions(struct store *s, int64_t study, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_FORGET_PREDICTIONS);

    query_i64(&q, ":study", study);
    int rc = query_step(&q, err);
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

int store_trial_last(struct store *s, int64_t study, int64_t *number, struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_LAST);
    int rc = 0;

    query_i64(&q, ":study", study);
    rc = query_step(&q, err);
    if (rc == 1)
        *number = query_col_i64(&q, 0);
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

int store_trial_count(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_COUNT);
    int rc = 0;

    query_i64(&q, ":study", study);
    rc = query_step(&q, err);
    for (int k = TS_QUEUED; rc == 1 && k < TS_STATES; k++)
        count[k] = query_col_i64(&q, k - TS_QUEUED);
    query_close(&q);
    return rc == 1 ? 0 : -1;
}

static int journal_report(struct store *s, int64_t study, int64_t trial, int level, double value,
                          double se, struct err *err)
{
    json_t *data = json_pack("{s:i, s:o, s:o}", "level", level, "value", jsonx_real(value), "se",
                             jsonx_real(se));

    return journal_add_new(s, study, trial, "report", data, err);
}

int store_report_add(struct store *s, int64_t trial, int level, double value, double se,
                     struct err *err)
{
    struct stored was = { 0 };
    struct savepoint sp;
    struct query q;

    CHECK(level >= 0);
    /* JSON and SQL store infinities and NaN alike, as null; replay must find the same in both. */
    value = isfinite(value) ? value : NAN;
    se = isfinite(se) ? se : NAN;
    if (stored_get(s, trial, &was, err) < 0 || savepoint_join(&sp, s, err) < 0)
        return -1;
    q = query_open(s, SQL_REPORT_ADD);
    query_i64(&q, ":trial", trial);
    query_i64(&q, ":level", level);
    query_f64(&q, ":value", value);
    query_f64(&q, ":se", se);
    if (query_run(&q, err) < 0 || journal_report(s, was.study, trial, level, value, se, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    return err_wrap(err, "report of trial %lld at level %d", (long long)trial, level);
}

int store_report_each(struct store *s, int64_t trial,
                      int (*on_row)(void *arg, int level, double value, double se), void *arg,
                      struct err *err)
{
    struct query q = query_open(s, SQL_REPORT_EACH);
    int rc = 0, stop = 0;

    query_i64(&q, ":trial", trial);
    while (!stop && (rc = query_step(&q, err)) == 1)
        stop = on_row(arg, (int)query_col_i64(&q, 0), query_col_f64(&q, 1), query_col_f64(&q, 2));
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_attempt_open(struct store *s, const struct attempt_row *a, struct err *err)
{
    struct query q = query_open(s, SQL_ATTEMPT_OPEN);

    CHECK(a->trial > 0 && a->fence > 0 && a->runner > 0);
    query_row(&q, &attempt_columns, a);
    if (query_run(&q, err) < 0)
        return err_wrap(err, "attempt %lld of trial %lld", (long long)a->fence,
                        (long long)a->trial);
    return 0;
}

int store_attempt_close(struct store *s, int64_t trial, int64_t fence, const char *end_reason,
                        struct err *err)
{
    struct query q = query_open(s, SQL_ATTEMPT_CLOSE);
    int n = 0;

    CHECK(end_reason); /* NULL in this column means that the attempt still runs */
    query_i64(&q, ":trial", trial);
    query_i64(&q, ":fence", fence);
    query_text(&q, ":end_reason", end_reason);
    query_i64(&q, ":at", clk_wall_ms(s->clk));
    n = query_run(&q, err);
    if (n == 0)
        err_set(err, ERR_NOTFOUND, "no open attempt %lld of trial %lld", (long long)fence,
                (long long)trial);
    return n == 1 ? 0 : -1;
}

int store_attempt_reopen(struct store *s, int64_t trial, int64_t fence, struct err *err)
{
    struct query q = query_open(s, SQL_ATTEMPT_REOPEN);
    int n = 0;

    query_i64(&q, ":trial", trial);
    query_i64(&q, ":fence", fence);
    n = query_run(&q, err);
    if (n == 0)
        err_set(err, ERR_NOTFOUND, "no attempt %lld of trial %lld", (long long)fence,
                (long long)trial);
    return n == 1 ? 0 : -1;
}

int store_attempt_each(struct store *s, int64_t trial,
                       int (*on_row)(void *arg, const struct attempt_row *row), void *arg,
                       struct err *err)
{
    struct query q = query_open(s, SQL_ATTEMPT_EACH);
    int rc = 0, stop = 0;

    query_i64(&q, ":trial", trial);
    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct attempt_row row = { 0 };

        stop = query_load(&q, &attempt_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        row_fini(&attempt_columns, &row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}
