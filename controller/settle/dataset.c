/* dataset.c - datasets, and the studies that wait for them (dataset.h).
 *
 * A dataset's identity is the hash of its file, the version of the parser and the column overrides.
 * If the same file is added again, the dataset that is there is the answer. Rows of datasets are
 * read when they are needed; nothing is held in memory. What a worker says about a file (its rows,
 * its schema) is checked before it is stored.
 *
 * A study waits, in the state queued, until its dataset is ready. Then the problem is resolved
 * (problem/problem.c), the search is opened, and the study can get work. */
#include "controller/settle/dataset.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/files/look.h"
#include "controller/settle/load.h"
#include "controller/settle/ship.h"
#include "controller/state/task.h"
#include "store/blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 120 };

/* ---- making one ---- */

char *dataset_columns_text(const json_t *columns)
{
    return columns && json_object_size(columns) > 0 ? jsonx_dump(columns) : NULL;
}

static void identity_of(const char *blob, const char *columns, char out[SHA256_HEX])
{
    struct sha256 h;
    char version[24];

    (void)snprintf(version, sizeof version, "\nparser %d\n", DATASET_PARSER_VERSION);
    sha256_init(&h);
    sha256_add(&h, blob, strlen(blob));
    sha256_add(&h, version, strlen(version));
    if (columns)
        sha256_add(&h, columns, strlen(columns));
    sha256_end_hex(&h, out);
}

int dataset_remake(struct ctl *ctl, struct dataset_row *row, const char *why, struct err *err)
{
    mem_free(row->state);
    mem_free(row->error);
    row->state = mem_strdup("ingesting");
    row->error = mem_strdup(why);
    if (store_dataset_put(ctl->store, row, err) < 0)
        return -1;
    log_warn("dataset.again dataset=%" PRId64 " name=%s err=\"%s\"", row->id, row->name,
             why ? why : "");
    return task_create_ingest(ctl, row->id, err);
}

/* If somebody adds a dataset again that failed, or whose frame is damaged on disk, it is made
 * again. */
static int revive(struct ctl *ctl, struct dataset_row *row, struct err *err)
{
    struct err why = { 0 };

    if (!str_eq(row->state, "failed") &&
        (!str_eq(row->state, "ready") || blob_look(ctl, row->frame, &why) == 0))
        return 0;
    return dataset_remake(ctl, row, why.text[0] ? why.text : NULL, err);
}

int dataset_delete(struct ctl *ctl, const struct dataset_row *row, struct err *err)
{
    /* A study names its test dataset only in its spec, which the store cannot see. */
    for (int i = 0; i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];

        if (!study_is_final(st->row.state) && (str_eq(st->spec.test_dataset, row->name) ||
                                               str_eq(st->spec.test_dataset, row->identity)))
            return err_set(err, ERR_CONFLICT, "study %s still uses this dataset", st->row.name);
    }
    return store_dataset_delete(ctl->store, row->id, err) < 0
               ? -1
               : task_cancel_of_dataset(ctl, row->id, err);
}

/* Frees the name for another file: a file that could not be read gives its name up, unless a study
 * waits for somebody to mend it. */
static int name_take(struct ctl *ctl, const char *name, struct err *err)
{
    struct dataset_row other = { 0 };
    struct err why = { 0 };
    int rc = store_dataset_find(ctl->store, name, &other, err);
    bool is_taken = rc == 1 && str_eq(other.name, name);

    if (is_taken && str_eq(other.state, "failed")) {
        is_taken = dataset_delete(ctl, &other, &why) < 0;
        if (is_taken && why.code != ERR_CONFLICT)
            rc = err_set(err, why.code, "%s", why.text);
    }
    dataset_row_fini(&other);
    if (rc < 0)
        return -1;
    if (is_taken)
        return err_set(err, ERR_CONFLICT, "there is another dataset called %s", name);
    return 0;
}

/* Finds the one of this identity, or makes it with its ingest task. row->id and the rest are
 * filled. */
int dataset_find_or_make(struct ctl *ctl, const char *name, const char *blob, const char *file_name,
                         const char *columns, int64_t bytes, struct dataset_row *out,
                         struct err *err)
{
    struct dataset_row row = { .bytes = bytes };
    char identity[SHA256_HEX];
    int rc = 0;

    identity_of(blob, columns, identity);
    rc = store_dataset_find(ctl->store, identity, out, err);
    if (rc != 0)
        return rc < 0 ? -1 : revive(ctl, out, err);
    if (name_take(ctl, name, err) < 0)
        return -1;
    row.name = mem_strdup(name);
    row.file_name = mem_strdup(file_name);
    row.columns = mem_strdup(columns);
    row.state = mem_strdup("ingesting");
    str_copy(row.blob, sizeof row.blob, blob);
    str_copy(row.identity, sizeof row.identity, identity);
    if (store_dataset_put(ctl->store, &row, err) < 0 || task_create_ingest(ctl, row.id, err) < 0) {
        dataset_row_fini(&row);
        return -1;
    }
    log_info("dataset.create dataset=%" PRId64 " name=%s bytes=%" PRId64, row.id, row.name, bytes);
    *out = row;
    return 0;
}

int dataset_look(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                 struct dataset_row *out, struct err *err)
{
    char *text = dataset_columns_text(columns), identity[SHA256_HEX];
    int rc = store_dataset_find(ctl->store, name, out, err);

    if (rc == 0)
        rc = err_at(err, where, "there is no dataset \"%.80s\"", name);
    if (rc == 1 && text && !str_eq(text, out->columns)) {
        identity_of(out->blob, text, identity);
        dataset_row_fini(out);
        *out = (struct dataset_row){ 0 };
        rc = store_dataset_find(ctl->store, identity, out, err);
    }
    mem_free(text);
    return rc < 0 ? -1 : 0;
}

int dataset_for_spec(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                     struct dataset_row *out, struct err *err)
{
    struct dataset_row sister = { 0 };
    char *text = dataset_columns_text(columns), sister_name[NAME_MAX_BYTES + 20],
         identity[SHA256_HEX];
    int rc = store_dataset_find(ctl->store, name, out, err);

    if (rc <= 0) {
        mem_free(text);
        return rc < 0 ? -1 : err_at(err, where, "there is no dataset \"%.80s\"", name);
    }
    rc = 0;
    if (text && !str_eq(text, out->columns)) {
        identity_of(out->blob, text, identity);
        (void)snprintf(sister_name, sizeof sister_name, "%.100s-%.8s", out->name, identity);
        ctl_touch_tasks(ctl);
        rc = dataset_find_or_make(ctl, sister_name, out->blob, out->file_name, text, out->bytes,
                                  &sister, err);
        dataset_row_fini(out);
        *out = sister;
    }
    mem_free(text);
    return rc;
}

/* ---- studies that wait ---- */

/* 1 = the dataset is ready, 0 = not yet, or the study has just failed with its dataset, -1. */
static int ready_or_fail(struct study *st, const struct dataset_row *row, struct err *err)
{
    char why[600];

    if (str_eq(row->state, "ready"))
        return 1;
    if (!str_eq(row->state, "failed"))
        return 0;
    (void)snprintf(why, sizeof why, "dataset %s: %s", row->name,
                   row->error ? row->error : "failed");
    return ship_fail(st, why, err);
}

/* A study with a space of its own waits for no table. */
static int resolve_own(struct study *st, struct err *err)
{
    struct err why = { 0 };

    problem_own(&st->problem, &st->spec);
    if (study_open_search(st, &why) == 0)
        return study_save(st, err);
    st->problem.is_ready = false;
    return ship_fail(st, why.text, err);
}

static int resolve(struct study *st, const struct dataset_row *train,
                   const struct dataset_row *test, struct err *err)
{
    struct err why = { 0 };

    if (problem_resolve(&st->problem, &st->spec, train, test, &why) == 0) {
        if (study_open_search(st, &why) == 0)
            return study_save(st, err);
        st->problem.is_ready = false;
    }
    /* The spec does not fit the table. That is a user's error, which could be found only now. */
    return ship_fail(st, why.text, err);
}

int dataset_resolve_study(struct study *st, struct err *err)
{
    struct dataset_row train = { 0 }, test = { 0 };
    bool has_test = st->spec.test_dataset[0] != '\0';

    if (st->spec.is_own)
        return resolve_own(st, err);
    int rc = store_dataset_get(st->ctl->store, st->row.dataset, &train, err);

    if (rc == 0)
        rc = ship_fail(st, "its dataset was deleted", err);
    else if (rc == 1)
        rc = ready_or_fail(st, &train, err);
    if (rc == 1 && has_test) {
        rc = store_dataset_find(st->ctl->store, st->spec.test_dataset, &test, err);
        rc = rc == 0  ? ship_fail(st, "its test dataset was deleted", err)
             : rc < 0 ? -1
                      : ready_or_fail(st, &test, err);
    }
    if (rc == 1)
        rc = resolve(st, &train, has_test ? &test : NULL, err);
    dataset_row_fini(&train);
    dataset_row_fini(&test);
    return rc < 0 ? -1 : 0;
}

/* Marks the studies that wait for a dataset: they are settled at the end of the request. */
static void wake_waiting(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];
        if (!st->problem.is_ready && study_is_open(st))
            ctl_touch(ctl, st);
    }
}

/* Takes what a worker says about a frame: {"frame", "bytes", "rows", "cols", "schema"}. Anything
 * else is ERR_ARG. */
static int take_result(struct ctl *ctl, struct dataset_row *row, const json_t *result,
                       struct err *err)
{
    json_t *schema = NULL, *columns = NULL;
    const char *frame = NULL;
    char owner[64] = "";
    int64_t bytes = 0;

    if (jsonx_str(result, "detail", "frame", JSONX_REQUIRED, 64, &frame, err) < 0 ||
        jsonx_i64(result, "detail", "rows", JSONX_REQUIRED, 1, INT64_MAX, &row->rows, err) < 0 ||
        jsonx_i64(result, "detail", "cols", JSONX_REQUIRED, 1, 1 << 24, &row->cols, err) < 0 ||
        jsonx_obj(result, "detail", "schema", JSONX_REQUIRED, &schema, err) < 0 ||
        jsonx_arr(schema, "detail.schema", "columns", JSONX_REQUIRED, 1 << 24, &columns, err) < 0)
        return -1;
    if (!str_sha256_ok(frame) || store_blob_has(ctl->store, frame, &bytes, err) != 1)
        return err_at(err, "detail.frame", "no such blob was uploaded");
    /* The frame counts against the quota of the token that uploaded the file. */
    if (store_blob_owner(ctl->store, row->blob, owner, sizeof owner, err) < 0 ||
        (owner[0] && store_blob_own(ctl->store, frame, owner, err) < 0))
        return -1;
    str_copy(row->frame, sizeof row->frame, frame);
    row->schema = jsonx_dump(schema);
    return 0;
}

int dataset_ingested(struct ctl *ctl, int64_t id, const json_t *result, const char *error,
                     struct err *err)
{
    struct dataset_row row = { 0 };
    int rc = store_dataset_get(ctl->store, id, &row, err);

    if (rc <= 0)
        return rc; /* 0: the dataset was deleted meanwhile */
    mem_free(row.schema);
    row.schema = NULL;
    rc = error ? 0 : take_result(ctl, &row, result, err);
    if (rc == 0) {
        mem_free(row.state);
        mem_free(row.error);
        row.state = mem_strdup(error ? "failed" : "ready");
        row.error = mem_strdup(error);
        rc = store_dataset_put(ctl->store, &row, err);
        log_info("dataset.%s dataset=%" PRId64 " name=%s rows=%" PRId64 " cols=%" PRId64, row.state,
                 row.id, row.name, row.rows, row.cols);
        wake_waiting(ctl);
    }
    dataset_row_fini(&row);
    return rc;
}
