/* runner.c - rows of known runners.
 *
 * One row is one start of a runner process (its session). Rows are never deleted, because attempts
 * refer to them. A change of state (enabled, draining, quarantined, gone) or of its reason has a
 * journal row; an update of last_seen has none, because it would fill the journal. */
#include "store/runner.h"

#include "base/str.h"
#include "store/journal.h"
#include "store/query.h"

#include <string.h>

static const struct column runner_column[] = {
    COLUMN(COL_I64, runner_row, id),         COLUMN(COL_STR, runner_row, name),
    COLUMN(COL_TEXT, runner_row, session),   COLUMN(COL_STR, runner_row, numeric_sig),
    COLUMN(COL_TEXT, runner_row, labels),    COLUMN(COL_TEXT, runner_row, devices),
    COLUMN(COL_TEXT, runner_row, state),     COLUMN(COL_TEXT, runner_row, reason),
    COLUMN(COL_I64, runner_row, first_seen), COLUMN(COL_I64, runner_row, last_seen),
    COLUMN(COL_I64, runner_row, token),
};
static const struct columns runner_columns = { runner_column, ARRAY_LEN(runner_column) };

void runner_row_fini(struct runner_row *r)
{
    row_fini(&runner_columns, r);
}

/* 1 when the state or the reason differs from the stored one, 0 when not, -1 on error. */
static int state_changes(struct store *s, const struct runner_row *r, struct err *err)
{
    struct query q = query_open(s, SQL_RUNNER_STATE);
    int rc = 0;

    query_i64(&q, ":id", r->id);
    rc = query_step(&q, err);
    if (rc == 1)
        rc = !str_eq(query_col_text(&q, 0), r->state) || !str_eq(query_col_text(&q, 1), r->reason);
    else if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no runner %lld", (long long)r->id);
    query_close(&q);
    return rc;
}

static int journal_runner(struct store *s, const struct runner_row *r, struct err *err)
{
    json_t *data = json_pack("{s:I, s:s, s:s, s:s?}", "id", (json_int_t)r->id, "name",
                             r->name ? r->name : "", "state", r->state, "reason", r->reason);

    return journal_add_new(s, 0, 0, "runner", data, err);
}

int store_runner_put(struct store *s, struct runner_row *r, struct err *err)
{
    bool is_new = r->id == 0;
    int is_event = is_new ? 1 : state_changes(s, r, err);
    struct savepoint sp;
    struct query q;

    CHECK(r->session && r->state);
    if (is_event < 0 || savepoint_open(&sp, s, err) < 0)
        return -1;
    q = query_open(s, is_new ? SQL_RUNNER_INSERT : SQL_RUNNER_UPDATE);
    query_row(&q, &runner_columns, r);
    if (is_new && (r->id = query_insert(&q, err)) < 0)
        goto rollback;
    if (!is_new && query_put(&q, "runner", r->id, err) < 0)
        goto rollback;
    if (is_event && journal_runner(s, r, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    r->id = is_new ? 0 : r->id;
    return err_wrap(err, "runner %s", r->session);
}

int store_runner_find(struct store *s, const char *session, struct runner_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_RUNNER_FIND);

    query_text(&q, ":session", session);
    return query_get(&q, &runner_columns, out, err);
}

int store_runner_each(struct store *s, int (*on_row)(void *arg, struct runner_row *row), void *arg,
                      struct err *err)
{
    struct query q = query_open(s, SQL_RUNNER_EACH);
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct runner_row row = { 0 };

        stop = query_load(&q, &runner_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        runner_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}
