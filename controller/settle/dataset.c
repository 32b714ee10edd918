/* dataset.c - datasets and the studies that wait for them. A dataset's identity is the hash of (file, parser version, column
 * overrides): the same file asked for again is the dataset that is there. Rows are read when needed; nothing is held in
 * memory. What a worker says of a file (rows, schema) is checked for its shape before it is stored. */
#include "controller/settle/dataset.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/files/look.h"
#include "controller/settle/load.h"
#include "controller/state/task.h"
#include "store/blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 120, FILE_NAME_MAX = 120, COLUMNS_MAX = 100000 };

static const char *const column_types[] = { "numeric", "categorical", "ignore" };

/* ---- making one ---- */

static int columns_check(const json_t *columns, struct err *err)
{
    const char *key = NULL;
    char where[120];
    json_t *v = NULL;

    if (!columns || json_is_null(columns))
        return 0;
    if (!json_is_object(columns) || json_object_size(columns) > COLUMNS_MAX)
        return err_at(err, "columns", "must be an object {column: numeric | categorical | ignore}");
    json_object_foreach((json_t *)columns, key, v)
    {
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_LEN(column_types); i++)
            is_known = is_known || str_eq(json_string_value(v), column_types[i]);
        jsonx_path(where, sizeof where, "columns", key);
        if (!is_known)
            return err_at(err, where, "must be numeric, categorical or ignore");
    }
    return 0;
}

static char *columns_text(const json_t *columns)
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

/* A dataset that failed, or whose frame has gone bad on disk, is made again when somebody asks for it again. */
static int revive(struct ctl *ctl, struct dataset_row *row, struct err *err)
{
    struct err why = { 0 };

    if (!str_eq(row->state, "failed") &&
        (!str_eq(row->state, "ready") || blob_look(ctl, row->frame, &why) == 0))
        return 0;
    return dataset_remake(ctl, row, why.text[0] ? why.text : NULL, err);
}

static int name_is_free(struct ctl *ctl, const char *name, struct err *err)
{
    struct dataset_row other = { 0 };
    int rc = store_dataset_find(ctl->store, name, &other, err);
    bool is_taken = rc == 1 && str_eq(other.name, name);

    dataset_row_fini(&other);
    if (rc < 0)
        return -1;
    if (is_taken)
        return err_set(err, ERR_CONFLICT, "there is another dataset called %s", name);
    return 0;
}

/* Finds the one of this identity, or makes it with its ingest task. row->id and the rest are filled. */
static int find_or_make(struct ctl *ctl, const char *name, const char *blob, const char *file_name,
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
    if (name_is_free(ctl, name, err) < 0)
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

/* "my data (1).csv.gz" -> "my-data--1-" */
static void name_from_file(const char *file, const char *blob, char *out, size_t size)
{
    size_t n = 0;

    for (const char *p = file; *p && *p != '.' && n + 1 < size; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || *p == '_' || (*p == '-' && n > 0);
        out[n] = *p;
        if (!is_plain)
            out[n] = n ? '-' : '_';
        n++;
    }
    out[n] = '\0';
    if (!str_name_ok(out))
        (void)snprintf(out, size, "data-%.12s", blob);
}

int ctl_dataset_create(struct ctl *ctl, const json_t *body, json_t **out, struct err *err)
{
    static const char *const keys[] = { "name", "blob", "file_name", "columns" };
    const char *name = NULL, *blob = NULL, *file = "data.csv";
    char derived[NAME_MAX_BYTES + 1];
    struct dataset_row row = { 0 };
    int64_t bytes = 0;

    if (jsonx_only(body, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_str(body, NULL, "name", JSONX_OPTIONAL, NAME_MAX_BYTES, &name, err) < 0 ||
        jsonx_str(body, NULL, "blob", JSONX_REQUIRED, 64, &blob, err) < 0 ||
        jsonx_str(body, NULL, "file_name", JSONX_OPTIONAL, FILE_NAME_MAX, &file, err) < 0 ||
        columns_check(json_object_get(body, "columns"), err) < 0)
        return -1;
    if (!str_sha256_ok(blob))
        return err_at(err, "blob", "must be the SHA-256 of an uploaded blob, 64 hex digits");
    if (!name) {
        name_from_file(file, blob, derived, sizeof derived);
        name = derived;
    }
    if (!str_name_ok(name))
        return err_at(
            err, "name",
            "\"%.60s\" cannot be a name: a name has up to 120 letters, digits, . _ or -, and "
            "does not begin with . or -",
            name);
    int rc = store_blob_has(ctl->store, blob, &bytes, err);
    if (rc <= 0)
        return rc < 0 ? -1 : err_at(err, "blob", "no such blob was uploaded");
    if (bytes == 0)
        return err_at(err, "blob", "the file is empty");
    ctl_touch_tasks(ctl);
    char *columns = columns_text(json_object_get(body, "columns"));
    rc = find_or_make(ctl, name, blob, file, columns, bytes, &row, err);
    if (rc == 0)
        *out = dataset_json(&row, true);
    mem_free(columns);
    dataset_row_fini(&row);
    return rc;
}

int dataset_look(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                 struct dataset_row *out, struct err *err)
{
    char *text = columns_text(columns), identity[SHA256_HEX];
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
    char *text = columns_text(columns), sister_name[NAME_MAX_BYTES + 20], identity[SHA256_HEX];
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
        rc = find_or_make(ctl, sister_name, out->blob, out->file_name, text, out->bytes, &sister,
                          err);
        dataset_row_fini(out);
        *out = sister;
    }
    mem_free(text);
    return rc;
}

/* ---- studies that wait ---- */

/* 1 = ready, 0 = not yet (or the study has just failed), -1. */
static int ready_or_fail(struct study *st, const struct dataset_row *row, struct err *err)
{
    char why[600];

    if (str_eq(row->state, "ready"))
        return 1;
    if (!str_eq(row->state, "failed"))
        return 0;
    (void)snprintf(why, sizeof why, "dataset %s: %s", row->name,
                   row->error ? row->error : "failed");
    return study_fail(st, why, err);
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
    /* The spec does not fit the table: the user's error, found only now that the table is known. */
    return study_fail(st, why.text, err);
}

int dataset_resolve_study(struct study *st, struct err *err)
{
    struct dataset_row train = { 0 }, test = { 0 };
    bool has_test = st->spec.test_dataset[0] != '\0';
    int rc = store_dataset_get(st->ctl->store, st->row.dataset, &train, err);

    if (rc == 0)
        rc = study_fail(st, "its dataset was deleted", err);
    else if (rc == 1)
        rc = ready_or_fail(st, &train, err);
    if (rc == 1 && has_test) {
        rc = store_dataset_find(st->ctl->store, st->spec.test_dataset, &test, err);
        rc = rc == 0  ? study_fail(st, "its test dataset was deleted", err)
             : rc < 0 ? -1
                      : ready_or_fail(st, &test, err);
    }
    if (rc == 1)
        rc = resolve(st, &train, has_test ? &test : NULL, err);
    dataset_row_fini(&train);
    dataset_row_fini(&test);
    return rc < 0 ? -1 : 0;
}

static void wake_waiting(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];
        if (!st->problem.is_ready && study_is_open(st))
            ctl_touch(ctl, st);
    }
}

/* {"frame", "bytes", "rows", "cols", "schema"}: ERR_ARG when a worker says something else. */
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
    /* What was made of a table counts as its owner's. */
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
        return rc; /* deleted meanwhile */
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

/* ---- reading, deleting ---- */

static json_t *text_json(const char *text)
{
    json_t *v = text ? jsonx_load(text, strlen(text), "stored", NULL) : NULL;

    return v ? v : json_null();
}

static json_t *hash_json(const char *sha256)
{
    return sha256[0] ? json_string(sha256) : json_null();
}

json_t *dataset_json(const struct dataset_row *row, bool with_schema)
{
    json_t *o = json_pack("{s:I, s:s, s:s, s:s?, s:o, s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:I}",
                          "id", (json_int_t)row->id, "name", row->name, "state", row->state,
                          "error", row->error, "blob", hash_json(row->blob), "identity",
                          row->identity, "frame", hash_json(row->frame), "file_name",
                          row->file_name ? row->file_name : "", "columns", text_json(row->columns),
                          "rows", (json_int_t)row->rows, "cols", (json_int_t)row->cols, "bytes",
                          (json_int_t)row->bytes, "created_at", (json_int_t)row->created_at);

    if (o && with_schema)
        json_object_set_new(o, "schema", text_json(row->schema));
    return o;
}

static int on_dataset(void *arg, struct dataset_row *row)
{
    json_array_append_new(arg, dataset_json(row, false));
    return 0;
}

int ctl_datasets(struct ctl *ctl, json_t **out, struct err *err)
{
    json_t *list = json_array();

    if (store_dataset_each(ctl->store, on_dataset, list, err) < 0) {
        json_decref(list);
        return -1;
    }
    *out = json_pack("{s:o}", "datasets", list);
    return 0;
}

/* By id in digits, name or hash. */
static int find(struct ctl *ctl, const char *ref, struct dataset_row *out, struct err *err)
{
    int64_t id = 0;
    int rc = store_dataset_find(ctl->store, ref, out, err);

    if (rc == 0 && str_i64(ref, 1, INT64_MAX, &id, NULL) == 0)
        rc = store_dataset_get(ctl->store, id, out, err);
    if (rc == 0)
        return err_set(err, ERR_NOTFOUND, "no dataset \"%.80s\"", ref);
    return rc < 0 ? -1 : 0;
}

int ctl_dataset_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err)
{
    struct dataset_row row = { 0 };
    int rc = find(ctl, ref, &row, err);

    if (rc == 0)
        *out = dataset_json(&row, true);
    dataset_row_fini(&row);
    return rc;
}

int ctl_dataset_delete(struct ctl *ctl, const char *ref, struct err *err)
{
    struct dataset_row row = { 0 };
    int rc = find(ctl, ref, &row, err);

    /* A study names its test dataset only in its spec, which the store cannot see. */
    for (int i = 0; rc == 0 && i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];

        if (!study_is_final(st->row.state) && (str_eq(st->spec.test_dataset, row.name) ||
                                               str_eq(st->spec.test_dataset, row.identity)))
            rc = err_set(err, ERR_CONFLICT, "study %s still uses it", st->row.name);
    }
    if (rc == 0)
        rc = store_dataset_delete(ctl->store, row.id, err);
    if (rc == 0)
        rc = task_cancel_of_dataset(ctl, row.id, err);
    dataset_row_fini(&row);
    return rc;
}

/* ---- blobs ---- */

int ctl_blob_add(struct ctl *ctl, const char *sha256, int64_t bytes, const char *kind,
                 struct err *err)
{
    return store_blob_add(ctl->store, sha256, bytes, kind, err);
}

int ctl_blob_has(struct ctl *ctl, const char *sha256, int64_t *bytes, struct err *err)
{
    if (!str_sha256_ok(sha256))
        return err_set(err, ERR_ARG, "a blob is named by 64 hex digits");
    return store_blob_has(ctl->store, sha256, bytes, err);
}
