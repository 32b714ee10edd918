/* study.c - rows of studies.
 *
 * A study's state changes only by store_study_event. That function asks the table of proto/trial.h
 * whether the stored state allows the event, and writes the row and its journal row in one
 * savepoint. Therefore replaying the journal must give exactly the states of the rows (replay.c
 * checks this). A row that cannot be understood still appears in lists, with state SS_NONE. */
#include "store/study.h"

#include "store/journal.h"
#include "store/query.h"

#include <stdio.h>

static const struct column study_column[] = {
    COLUMN(COL_I64, study_row, id),          COLUMN(COL_TEXT, study_row, name),
    COLUMN(COL_STR, study_row, owner),       COLUMN(COL_TEXT, study_row, spec),
    COLUMN(COL_TEXT, study_row, data),       COLUMN_ENUM(study_row, state, study_state_name),
    COLUMN(COL_TEXT, study_row, reason),     COLUMN(COL_I64, study_row, seed),
    COLUMN(COL_STR, study_row, numeric_sig), COLUMN(COL_I64, study_row, priority),
    COLUMN(COL_I64, study_row, used_ms),     COLUMN(COL_REF, study_row, dataset),
    COLUMN(COL_REF, study_row, best_trial),  COLUMN(COL_CHARS, study_row, artifact),
    COLUMN(COL_TEXT, study_row, result),     COLUMN(COL_BOOL, study_row, is_archived),
    COLUMN(COL_I64, study_row, created_at),  COLUMN(COL_I64, study_row, started_at),
    COLUMN(COL_I64, study_row, ended_at),    COLUMN(COL_TEXT, study_row, counts),
};
static const struct columns study_columns = { study_column, ARRAY_LEN(study_column) };

void study_row_fini(struct study_row *r)
{
    row_fini(&study_columns, r);
}

int store_study_insert(struct store *s, struct study_row *r, struct err *err)
{
    struct savepoint sp;
    struct query q;

    CHECK(r->id == 0 && r->name && r->spec && (r->state == SS_NONE || r->state == SS_QUEUED));
    if (savepoint_open(&sp, s, err) < 0)
        return -1;
    r->state = SS_QUEUED;
    if (!r->created_at)
        r->created_at = clk_wall_ms(s->clk);
    q = query_open(s, SQL_STUDY_INSERT);
    query_row(&q, &study_columns, r);
    r->id = query_insert(&q, err);
    if (r->id < 0 ||
        journal_add_new(s, r->id, 0, "study.create", json_pack("{s:s}", "name", r->name), err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    r->id = 0;
    return err_wrap(err, "study %s", r->name);
}

/* The stored state: 1, or -1 when there is no such study or its state is unknown. */
static int state_get(struct store *s, int64_t id, enum study_state *out, struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_STATE);
    int rc = 0;

    query_i64(&q, ":id", id);
    rc = query_step(&q, err);
    if (rc == 1 && study_state_parse(query_col_text(&q, 0), out, NULL) < 0)
        rc = err_set(err, ERR_DAMAGED, "study %lld: its stored state is nothing known",
                     (long long)id);
    query_close(&q);
    return rc == 0 ? err_set(err, ERR_NOTFOUND, "no study %lld", (long long)id) : rc;
}

static int row_put(struct store *s, const struct study_row *r, struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_UPDATE);

    query_row(&q, &study_columns, r);
    return query_put(&q, "study", r->id, err);
}

int store_study_event(struct store *s, const struct study_row *r, enum study_event ev,
                      const char *data_json, struct err *err)
{
    enum study_state state = SS_NONE;
    struct savepoint sp;
    char event[40];

    CHECK(ev != SE_CREATE);
    if (state_get(s, r->id, &state, err) < 0 || study_next(&state, ev, r->id, err) < 0)
        return -1;
    CHECK(state == r->state); /* the caller must have applied the event to the stored state */
    snprintf(event, sizeof event, "study.%s", study_event_name[ev]);
    if (savepoint_open(&sp, s, err) < 0)
        return -1;
    if (row_put(s, r, err) < 0 || journal_add(s, r->id, 0, event, data_json, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    return err_wrap(err, "study %lld: %s", (long long)r->id, study_event_name[ev]);
}

int store_study_update(struct store *s, const struct study_row *r, struct err *err)
{
    enum study_state state = SS_NONE;

    if (state_get(s, r->id, &state, err) < 0)
        return -1;
    CHECK(state == r->state); /* a change of state needs store_study_event */
    return row_put(s, r, err);
}

int store_study_get(struct store *s, int64_t id, struct study_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_GET);

    query_i64(&q, ":id", id);
    return query_get(&q, &study_columns, out, err);
}

int store_study_find(struct store *s, const char *name, struct study_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_FIND);

    query_text(&q, ":name", name);
    return query_get(&q, &study_columns, out, err);
}

int store_study_id(struct store *s, const char *name, int64_t *id, struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_ID);
    int rc = 0;

    query_text(&q, ":name", name);
    rc = query_step(&q, err);
    if (rc == 1)
        *id = query_col_i64(&q, 0);
    query_close(&q);
    return rc;
}

int store_study_each(struct store *s, uint32_t states_mask, bool with_archived, int64_t after,
                     int limit, int (*on_row)(void *arg, struct study_row *row), void *arg,
                     struct err *err)
{
    struct query q = query_open(s, SQL_STUDY_EACH);
    int rc = 0, stop = 0;

    CHECK(limit >= 0 && after >= 0);
    query_i64(&q, ":states", states_mask);
    query_i64(&q, ":archived", with_archived);
    query_i64(&q, ":after", after);
    query_i64(&q, ":limit", limit);
    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct study_row row = { 0 };

        /* A damaged row is passed on as SS_NONE, so that lists still show the study;
         * store_study_get returns the error that says what is wrong with it. */
        if (query_load(&q, &study_columns, &row, NULL) < 0)
            row.state = SS_NONE;
        stop = on_row(arg, &row);
        study_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_study_delete(struct store *s, int64_t id, struct err *err)
{
    /* Rows that refer to others are deleted first, as the foreign keys require. */
    static const enum sql_id steps[] = { SQL_STUDY_DELETE_REPORTS, SQL_STUDY_DELETE_EPOCHS,
                                         SQL_STUDY_DELETE_OUTPUT,  SQL_STUDY_DELETE_ATTEMPTS,
                                         SQL_STUDY_DELETE_TRIALS,  SQL_STUDY_DELETE_PIPELINES,
                                         SQL_STUDY_DELETE_TASKS,   SQL_STUDY_DELETE_JOURNAL };
    struct savepoint sp;
    struct query q;

    if (savepoint_open(&sp, s, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        q = query_open(s, steps[i]);
        query_i64(&q, ":id", id);
        if (query_run(&q, err) < 0)
            goto rollback;
    }
    q = query_open(s, SQL_STUDY_DELETE);
    query_i64(&q, ":id", id);
    if (query_put(&q, "study", id, err) < 0 || journal_add(s, id, 0, "study.delete", NULL, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    return err_wrap(err, "delete study %lld", (long long)id);
}
