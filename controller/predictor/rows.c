/* rows.c - see rows.h. JSON rows are written as JSON lines and read by the reader of tables, so that
 * a value means what it means in a file given to `assay predict`. */
#include "controller/predictor/rows.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/cells/words.h"
#include "ml/read/read.h"
#include "proto/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A source of bytes that are in memory. */
struct bytes {
    const char *p;
    size_t n, at;
};

static long bytes_read(void *ctx, void *out, size_t n, struct err *err)
{
    struct bytes *b = ctx;
    size_t take = MIN(n, b->n - b->at);

    (void)err;
    memcpy(out, b->p + b->at, take);
    b->at += take;
    return (long)take;
}

/* ---- JSON ---- */

/* The names of the columns of rows that are lists: those of the request, or the model's. */
static json_t *columns_of(const struct rows_ask *ask, const json_t *doc, struct err *err)
{
    const struct prep *prep = artifact_prep(ask->model);
    json_t *given = NULL, *list = NULL;
    int rc = jsonx_arr(doc, NULL, "columns", JSONX_OPTIONAL, CSV_MAX_COLUMNS, &given, err);
    char where[40];

    if (rc < 0)
        return NULL;
    for (size_t i = 0; rc == 1 && i < json_array_size(given); i++) {
        if (json_is_string(json_array_get(given, i)))
            continue;
        jsonx_path_at(where, sizeof where, "columns", i);
        err_at(err, where, "a column is named by a string");
        return NULL;
    }
    if (rc == 1)
        return json_incref(given);
    list = json_array();
    for (int i = 0; i < prep_columns(prep); i++)
        json_array_append_new(list, json_string(prep_column_name(prep, i)));
    return list;
}

/* A row that is a list, as an object. */
static json_t *row_object(const json_t *row, const json_t *columns, const char *where,
                          struct err *err)
{
    json_t *o = json_object();

    if (json_array_size(row) != json_array_size(columns)) {
        err_at(err, where, "has %zu values, and there are %zu columns", json_array_size(row),
               json_array_size(columns));
        json_decref(o);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(row); i++) {
        const char *name = json_string_value(json_array_get(columns, i));

        if (json_object_get(o, name)) {
            err_at(err, "columns", "\"%.100s\" stands there twice", name);
            json_decref(o);
            return NULL;
        }
        json_object_set(o, name, json_array_get(row, i));
    }
    return o;
}

static int row_add(struct buf *out, json_t *row, const json_t *columns, size_t i, struct err *err)
{
    char where[40];
    json_t *o = NULL;

    jsonx_path_at(where, sizeof where, "rows", i);
    if (json_is_object(row))
        o = json_incref(row);
    else if (json_is_array(row))
        o = row_object(row, columns, where, err);
    else
        return err_at(err, where, "a row is an object {column: value}, or a list of values");
    if (!o)
        return -1;
    char *text = jsonx_dump(o);
    int rc = buf_addf(out, err, "%s\n", text);
    mem_free(text);
    json_decref(o);
    return rc;
}

static int json_lines(const struct rows_ask *ask, struct buf *out, struct err *err)
{
    static const char *const keys[] = { "rows", "columns" };
    json_t *doc = jsonx_load(ask->body, ask->n, "the body", err), *rows = NULL, *columns = NULL;
    int rc = -1;

    if (doc && !json_is_object(doc))
        err_set(err, ERR_ARG, "the body must be a JSON object: {\"rows\": [{\"column\": value}]}");
    else if (doc)
        rc = jsonx_only(doc, NULL, keys, ARRAY_LEN(keys), err);
    if (rc == 0)
        rc =
            jsonx_arr(doc, NULL, "rows", JSONX_REQUIRED, PREDICT_ROWS_MAX, &rows, err) < 0 ? -1 : 0;
    if (rc == 0 && json_array_size(rows) == 0)
        rc = err_at(err, "rows", "at least one row is needed");
    if (rc == 0)
        rc = (columns = columns_of(ask, doc, err)) ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < json_array_size(rows); i++)
        rc = row_add(out, json_array_get(rows, i), columns, i, err);
    json_decref(columns);
    json_decref(doc);
    return rc;
}

/* ---- cells that are no numbers ---- */

struct search {
    const struct rows_ask *ask;
    const struct frame *f, *texts; /* as the model reads it; the same cells as they stand */
    int at[64], of[64], n;         /* columns of f and of texts */
};

static int bad_cell(const struct search *s, int64_t row, const char *column, const char *text,
                    struct err *err)
{
    char where[120];

    if (s->ask->is_csv)
        return err_set(err, ERR_ARG, "row %" PRId64 ", column \"%.60s\": \"%.60s\" is no number",
                       row + 1, column, text);
    (void)!snprintf(where, sizeof where, "rows[%" PRId64 "].%.60s", row, column);
    return err_at(err, where, "\"%.60s\" is no number", text);
}

/* The first cell that could not be read, as an error; 0 if none is found. */
static int first_bad(const struct search *s, struct err *err)
{
    for (int64_t row = 0; row < s->f->rows; row++) {
        for (int i = 0; i < s->n; i++) {
            int32_t code = -1;
            double v = 0;

            frame_numbers(s->f, s->at[i], row, 1, &v);
            if (!isnan(v))
                continue;
            frame_codes(s->texts, s->of[i], row, 1, &code);
            if (code < 0)
                continue;
            const char *text = s->texts->cols[s->of[i]].levels[code];
            if (!words_are_missing(text, strlen(text)))
                return bad_cell(s, row, s->f->cols[s->at[i]].name, text, err);
        }
    }
    return 0;
}

/* Reads the columns with such cells again, as text, to name the first of them. Always an error. */
static int refuse(const struct rows_ask *ask, const struct frame *f, const struct buf *text,
                  const struct model_rows_notes *notes, struct err *err)
{
    struct csv_override *list = mem_array((size_t)f->n_cols, sizeof *list);
    const char *names[64];
    char path[1024], hash[SHA256_HEX];
    struct search s = { .ask = ask, .f = f };
    struct bytes source = { .p = text->data, .n = text->len };
    struct frame *texts = NULL;
    int rc = 0;

    for (int i = 0; i < f->n_cols && s.n < (int)ARRAY_LEN(names); i++) {
        if (f->cols[i].not_numbers == 0 || f->cols[i].type != FRAME_NUMERIC)
            continue;
        s.at[s.n] = i;
        names[s.n++] = f->cols[i].name;
    }
    model_rows_exact(f, names, s.n, list);
    const struct csv_opts opts = { .header = CSV_HEADER_YES,
                                   .overrides = list,
                                   .n_overrides = f->n_cols,
                                   .overrides_optional = true,
                                   .name = "the table" };
    (void)!snprintf(path, sizeof path, "%s/texts", ask->scratch);
    if (table_to_frame(bytes_read, &source, &opts, path, hash, NULL) == 0)
        texts = frame_open(path, NULL);
    unlink(path);
    for (int i = 0; texts && i < s.n; i++)
        s.of[i] = frame_find(texts, names[i]);
    s.texts = texts;
    if (texts)
        rc = first_bad(&s, err);
    frame_close(texts);
    mem_free(list);
    if (rc < 0)
        return -1;
    return err_set(err, ERR_ARG, "%" PRId64 " cells are no numbers: %s", notes->bad_cells,
                   notes->bad);
}

/* ---- */

struct frame *rows_frame(const struct rows_ask *ask, struct model_rows_notes *notes,
                         struct err *err)
{
    const struct model_rows_how how = { .name = "the table", .may_lack_columns = ask->may_lack };
    struct bytes source = { 0 };
    struct frame *f = NULL;
    struct buf text;
    char path[1024];

    buf_init(&text, (size_t)256 << 20);
    if ((ask->is_csv ? buf_add(&text, ask->body, ask->n, err) : json_lines(ask, &text, err)) == 0) {
        source = (struct bytes){ .p = text.data, .n = text.len };
        (void)!snprintf(path, sizeof path, "%s/frame", ask->scratch);
        f = model_rows_read(ask->model, bytes_read, &source, &how, path, notes, err);
        unlink(path); /* it stays mapped */
    }
    if (f && f->rows > PREDICT_ROWS_MAX) {
        err_set(err, ERR_TOOBIG, "%" PRId64 " rows; at most %d are predicted in one request",
                f->rows, PREDICT_ROWS_MAX);
    } else if (f && (!ask->refuses || notes->bad_cells == 0)) {
        buf_fini(&text);
        return f;
    } else if (f) {
        (void)refuse(ask, f, &text, notes, err);
    }
    frame_close(f);
    buf_fini(&text);
    return NULL;
}
