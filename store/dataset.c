/* dataset.c - rows of datasets (declared in runner.h).
 *
 * A deleted dataset keeps its row, because ended studies refer to it. The row is marked as deleted,
 * which frees its name for another dataset, and no longer names its blobs, so that collection can
 * free the disk. No function here returns a deleted dataset. Each write has a journal row "dataset"
 * in the same savepoint. */
#include "base/mem.h"
#include "base/str.h"
#include "store/journal.h"
#include "store/query.h"
#include "store/runner.h"

static const struct column dataset_column[] = {
    COLUMN(COL_I64, dataset_row, id),       COLUMN(COL_TEXT, dataset_row, name),
    COLUMN(COL_CHARS, dataset_row, blob),   COLUMN(COL_CHARS, dataset_row, identity),
    COLUMN(COL_TEXT, dataset_row, columns), COLUMN(COL_STR, dataset_row, file_name),
    COLUMN(COL_TEXT, dataset_row, state),   COLUMN(COL_TEXT, dataset_row, error),
    COLUMN(COL_CHARS, dataset_row, frame),  COLUMN(COL_TEXT, dataset_row, schema),
    COLUMN(COL_I64, dataset_row, rows),     COLUMN(COL_I64, dataset_row, cols),
    COLUMN(COL_I64, dataset_row, bytes),    COLUMN(COL_I64, dataset_row, created_at),
};
static const struct columns dataset_columns = { dataset_column, ARRAY_LEN(dataset_column) };

void dataset_row_fini(struct dataset_row *r)
{
    row_fini(&dataset_columns, r);
}

static int journal_dataset(struct store *s, int64_t id, const char *name, const char *state,
                           const char *error, struct err *err)
{
    json_t *data = json_pack("{s:I, s:s, s:s, s:s?}", "id", (json_int_t)id, "name", name, "state",
                             state, "error", error);

    return journal_add_new(s, 0, 0, "dataset", data, err);
}

int store_dataset_put(struct store *s, struct dataset_row *r, struct err *err)
{
    bool is_new = r->id == 0;
    struct savepoint sp;
    struct query q;

    CHECK(r->name && r->state);
    if (savepoint_open(&sp, s, err) < 0)
        return -1;
    if (!r->created_at)
        r->created_at = clk_wall_ms(s->clk);
    q = query_open(s, is_new ? SQL_DATASET_INSERT : SQL_DATASET_UPDATE);
    query_row(&q, &dataset_columns, r);
    if (is_new && (r->id = query_insert(&q, err)) < 0)
        goto rollback;
    if (!is_new && query_put(&q, "dataset", r->id, err) < 0)
        goto rollback;
    if (journal_dataset(s, r->id, r->name, r->state, r->error, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    r->id = is_new ? 0 : r->id;
    return err_wrap(err, "dataset %s", r->name);
}

int store_dataset_get(struct store *s, int64_t id, struct dataset_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_DATASET_GET);

    query_i64(&q, ":id", id);
    return query_get(&q, &dataset_columns, out, err);
}

int store_dataset_name(struct store *s, int64_t id, char **name, bool *is_deleted, struct err *err)
{
    struct query q = query_open(s, SQL_DATASET_NAME);

    query_i64(&q, ":id", id);
    int rc = query_step(&q, err);
    if (rc == 1) {
        *name = mem_strdup(query_col_text(&q, 0));
        *is_deleted = query_col_i64(&q, 1) != 0;
    }
    query_close(&q);
    return rc;
}

int store_dataset_find(struct store *s, const char *name_or_hash, struct dataset_row *out,
                       struct err *err)
{
    struct query q = query_open(s, SQL_DATASET_FIND);
    int rc = 0;

    query_text(&q, ":name", name_or_hash);
    rc = query_get(&q, &dataset_columns, out, err);
    if (rc != 0 || !str_sha256_ok(name_or_hash))
        return rc;
    q = query_open(s, SQL_DATASET_FIND_HASH);
    query_text(&q, ":hash", name_or_hash);
    return query_get(&q, &dataset_columns, out, err);
}

int store_dataset_each(struct store *s, int (*on_row)(void *arg, struct dataset_row *row),
                       void *arg, struct err *err)
{
    struct query q = query_open(s, SQL_DATASET_EACH);
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct dataset_row row = { 0 };

        stop = query_load(&q, &dataset_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        dataset_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

static int users_check(struct store *s, int64_t id, struct err *err)
{
    struct query q = query_open(s, SQL_DATASET_USERS);
    int rc = 0;

    query_i64(&q, ":id", id);
    rc = query_step(&q, err);
    if (rc == 1)
        rc = err_set(err, ERR_CONFLICT, "study %s still uses it", query_col_text(&q, 0));
    query_close(&q);
    return rc;
}

int store_dataset_delete(struct store *s, int64_t id, struct err *err)
{
    struct dataset_row row = { 0 };
    struct savepoint sp = { 0 };
    struct query q;
    int rc = store_dataset_get(s, id, &row, err);

    if (rc == 0)
        return err_set(err, ERR_NOTFOUND, "no dataset %lld", (long long)id);
    if (rc < 0 || users_check(s, id, err) < 0 || savepoint_open(&sp, s, err) < 0)
        goto rollback;
    q = query_open(s, SQL_DATASET_DELETE);
    query_i64(&q, ":id", id);
    if (query_put(&q, "dataset", id, err) < 0 ||
        journal_dataset(s, id, row.name, "deleted", NULL, err) < 0)
        goto rollback;
    dataset_row_fini(&row);
    return savepoint_keep(&sp, err);
rollback:
    savepoint_undo(&sp);
    dataset_row_fini(&row);
    return err_wrap(err, "delete dataset %lld", (long long)id);
}
