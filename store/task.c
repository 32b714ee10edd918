/* task.c - rows of tasks: leased work that is not a trial, such as reading a dataset (declared in
 * runner.h).
 *
 * A new task and each change of a task's state have a journal row "task.<state>"; a change of the
 * other columns has none. The row and its journal row are written in one savepoint. */
#include "base/str.h"
#include "store/journal.h"
#include "store/query.h"
#include "store/runner.h"

#include <stdio.h>

static const struct column task_column[] = {
    COLUMN(COL_I64, task_row, id),       COLUMN(COL_TEXT, task_row, kind),
    COLUMN(COL_REF, task_row, study),    COLUMN(COL_REF, task_row, dataset),
    COLUMN(COL_TEXT, task_row, state),   COLUMN(COL_I64, task_row, fence),
    COLUMN(COL_I64, task_row, msg_seq),  COLUMN(COL_I64, task_row, attempts),
    COLUMN(COL_TEXT, task_row, config),  COLUMN(COL_TEXT, task_row, result),
    COLUMN(COL_TEXT, task_row, error),   COLUMN(COL_I64, task_row, created_at),
    COLUMN(COL_I64, task_row, ended_at),
};
static const struct columns task_columns = { task_column, ARRAY_LEN(task_column) };

void task_row_fini(struct task_row *r)
{
    row_fini(&task_columns, r);
}

/* 1 when the state differs from the stored one, 0 when not, -1 on error. */
static int state_changes(struct store *s, const struct task_row *r, struct err *err)
{
    struct query q = query_open(s, SQL_TASK_STATE);
    int rc = 0;

    query_i64(&q, ":id", r->id);
    rc = query_step(&q, err);
    if (rc == 1)
        rc = !str_eq(query_col_text(&q, 0), r->state);
    else if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no task %lld", (long long)r->id);
    query_close(&q);
    return rc;
}

static int journal_task(struct store *s, const struct task_row *r, struct err *err)
{
    json_t *data = json_pack("{s:I, s:s, s:I, s:s?}", "id", (json_int_t)r->id, "kind", r->kind,
                             "dataset", (json_int_t)r->dataset, "error", r->error);
    char event[40];

    snprintf(event, sizeof event, "task.%s", r->state);
    return journal_add_new(s, r->study, 0, event, data, err);
}

int store_task_put(struct store *s, struct task_row *r, struct err *err)
{
    bool is_new = r->id == 0;
    int is_event = is_new ? 1 : state_changes(s, r, err);
    struct savepoint sp;
    struct query q;

    CHECK(r->kind && r->state);
    if (is_event < 0 || savepoint_open(&sp, s, err) < 0)
        return -1;
    if (!r->created_at)
        r->created_at = clk_wall_ms(s->clk);
    q = query_open(s, is_new ? SQL_TASK_INSERT : SQL_TASK_UPDATE);
    query_row(&q, &task_columns, r);
    if (is_new && (r->id = query_insert(&q, err)) < 0)
        goto rollback;
    if (!is_new && query_put(&q, "task", r->id, err) < 0)
        goto rollback;
    if (is_event && journal_task(s, r, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    r->id = is_new ? 0 : r->id;
    return err_wrap(err, "task %s", r->kind);
}

int store_task_get(struct store *s, int64_t id, struct task_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_TASK_GET);

    query_i64(&q, ":id", id);
    return query_get(&q, &task_columns, out, err);
}

int store_task_each(struct store *s, bool only_open, int (*on_row)(void *arg, struct task_row *row),
                    void *arg, struct err *err)
{
    struct query q = query_open(s, only_open ? SQL_TASK_EACH_OPEN : SQL_TASK_EACH);
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct task_row row = { 0 };

        stop = query_load(&q, &task_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        task_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}
