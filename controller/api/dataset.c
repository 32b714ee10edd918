/* dataset.c - the verbs on datasets and on rows of blobs: create, list, show, delete. Making a
 * dataset, and what a study needs of one, is in settle/dataset.c. A request is checked whole before
 * anything is changed. */
#include "controller/settle/dataset.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/view/show.h"
#include "proto/spec.h"
#include "store/blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 120, FILE_NAME_MAX = 120, COLUMNS_MAX = 100000 };

/* ---- as JSON ---- */

static json_t *text_json(const char *text)
{
    json_t *v = text ? jsonx_load(text, strlen(text), "stored", NULL) : NULL;

    return v ? v : json_null();
}

static json_t *hash_json(const char *sha256)
{
    return sha256[0] ? json_string(sha256) : json_null();
}

static json_t *dataset_json(const struct dataset_row *row, bool with_schema)
{
    json_t *o = json_pack("{s:I, s:s, s:s, s:o, s:o, s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:I}", "id",
                          (json_int_t)row->id, "name", row->name, "state", row->state, "error",
                          show_text(row->error), "blob", hash_json(row->blob), "identity",
                          row->identity, "frame", hash_json(row->frame), "file_name",
                          row->file_name ? row->file_name : "", "columns", text_json(row->columns),
                          "rows", (json_int_t)row->rows, "cols", (json_int_t)row->cols, "bytes",
                          (json_int_t)row->bytes, "created_at", (json_int_t)row->created_at);

    if (o && with_schema)
        json_object_set_new(o, "schema", text_json(row->schema));
    return o;
}

/* ---- create ---- */

static int columns_check(const json_t *columns, struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;

    if (!columns || json_is_null(columns))
        return 0;
    if (!json_is_object(columns) || json_object_size(columns) > COLUMNS_MAX)
        return err_at(err, "columns",
                      "must be an object {column: type}, each type " SPEC_COLUMN_WORDS);
    json_object_foreach((json_t *)columns, key, v)
    {
        struct column_said said;
        if (column_said("columns", key, v, &said, err) < 0)
            return -1;
        column_said_fini(&said);
    }
    return 0;
}

/* Makes a dataset's name of a file's name: "my data (1).csv.gz" becomes "my-data--1-". If that is
 * no legal name, the blob's hash is used. */
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
    char *columns = dataset_columns_text(json_object_get(body, "columns"));
    rc = dataset_find_or_make(ctl, name, blob, file, columns, bytes, &row, err);
    if (rc == 0)
        *out = dataset_json(&row, true);
    mem_free(columns);
    dataset_row_fini(&row);
    return rc;
}

/* ---- list, show, delete ---- */

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

/* Finds a dataset by its name, the hash of its identity, or its id in digits. */
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

    if (rc == 0)
        rc = dataset_delete(ctl, &row, err);
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
