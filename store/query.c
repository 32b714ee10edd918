/* query.c - prepared statements, binds, and reading of columns; rows are described by a table of
 * columns (struct columns), so that one loop binds or loads a row of any kind.
 *
 * The text of all statements is in sql.def, and all of them are prepared when the store opens, so
 * that a typing error fails at the first start. Wrong use of a statement ends the process by CHECK
 * (see query.h), so the first test that executes it finds the bug. The callers are the other files
 * of store/, all on the thread that owns the store. */
#include "store/query.h"

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const sql_text[SQL_COUNT] = {
#define SQL(name, text) [SQL_##name] = (text),
#define SETUP(name, text)
#include "store/sql.def"
#undef SQL
#undef SETUP
};

int store_fail(struct store *s, int rc, struct err *err)
{
    struct err own = { 0 };

    err = err ? err : &own;
    db_fail(s->db, rc, err);
    if (s->turn_is_open && !s->turn_is_broken && sqlite3_get_autocommit(s->db)) {
        s->turn_is_broken = true;
        s->broken_code = err->code;
    }
    return -1;
}

int query_prepare_all(struct store *s, struct err *err)
{
    for (int i = 0; i < SQL_COUNT; i++) {
        int rc = FAULT("store.prepare")
                     ? SQLITE_NOMEM
                     : sqlite3_prepare_v3(s->db, sql_text[i], -1, SQLITE_PREPARE_PERSISTENT,
                                          &s->stmt[i], NULL);

        if (rc != SQLITE_OK) {
            db_fail(s->db, rc, err);
            return err_wrap(err, "prepare \"%.60s\"", sql_text[i]);
        }
    }
    return 0;
}

void query_finalize_all(struct store *s)
{
    for (int i = 0; i < SQL_COUNT; i++) {
        CHECK(!s->is_busy[i]);
        sqlite3_finalize(s->stmt[i]);
        s->stmt[i] = NULL;
        mem_free(s->param[i]);
        s->param[i] = NULL;
    }
}

struct query query_open(struct store *s, enum sql_id id)
{
    struct query q = { .store = s, .stmt = s->stmt[id], .id = id };

    CHECK(id < SQL_COUNT);
    CHECK(!s->is_busy[id]); /* else it was not closed, or a row callback called its own caller */
    s->is_busy[id] = true;
    return q;
}

void query_close(struct query *q)
{
    CHECK(q->store->is_busy[q->id]);
    q->store->is_busy[q->id] = false;
    sqlite3_reset(q->stmt); /* repeats the last step's error, which query_step has returned */
    sqlite3_clear_bindings(q->stmt);
}

/* The parameter's index; a name that the statement does not have is a bug. */
static int bind_index(struct query *q, const char *bind)
{
    int i = sqlite3_bind_parameter_index(q->stmt, bind);

    CHECK(i > 0);
    return i;
}

/* A bind fails only for a wrong index, which is a bug, or for lack of memory, which ends the process
 * as it does everywhere (base/mem.h). */
static void bind_done(struct query *q, int rc)
{
    CHECK(rc == SQLITE_OK);
    q->bound++;
}

static void bind_i64(struct query *q, int i, int64_t v)
{
    bind_done(q, sqlite3_bind_int64(q->stmt, i, v));
}

static void bind_ref(struct query *q, int i, int64_t v)
{
    bind_done(q, v ? sqlite3_bind_int64(q->stmt, i, v) : sqlite3_bind_null(q->stmt, i));
}

static void bind_f64(struct query *q, int i, double v)
{
    bind_done(q, isnan(v) ? sqlite3_bind_null(q->stmt, i) : sqlite3_bind_double(q->stmt, i, v));
}

static void bind_text(struct query *q, int i, const char *v)
{
    bind_done(q, sqlite3_bind_text(q->stmt, i, v, -1, SQLITE_STATIC));
}

void query_i64(struct query *q, const char *bind, int64_t v)
{
    bind_i64(q, bind_index(q, bind), v);
}

void query_ref(struct query *q, const char *bind, int64_t v)
{
    bind_ref(q, bind_index(q, bind), v);
}

void query_f64(struct query *q, const char *bind, double v)
{
    bind_f64(q, bind_index(q, bind), v);
}

void query_text(struct query *q, const char *bind, const char *v)
{
    bind_text(q, bind_index(q, bind), v);
}

void query_blob(struct query *q, const char *bind, const void *p, size_t n)
{
    bind_done(q, sqlite3_bind_blob64(q->stmt, bind_index(q, bind), n ? p : "", n, SQLITE_STATIC));
}

static const char *enum_name(const struct column *c, int v)
{
    CHECK(v >= 0 && (size_t)v < c->size);
    return v ? c->names[v] : NULL;
}

static void bind_field(struct query *q, int i, const struct column *c, const void *row)
{
    const void *at = (const char *)row + c->at;
    const char *text = NULL;

    switch (c->kind) {
    case COL_I64:
        bind_i64(q, i, *(const int64_t *)at);
        break;
    case COL_REF:
        bind_ref(q, i, *(const int64_t *)at);
        break;
    case COL_INT:
        bind_i64(q, i, *(const int *)at);
        break;
    case COL_U64:
        bind_i64(q, i, (int64_t) * (const uint64_t *)at);
        break;
    case COL_F64:
        bind_f64(q, i, *(const double *)at);
        break;
    case COL_BOOL:
        bind_i64(q, i, *(const bool *)at);
        break;
    case COL_TEXT:
        bind_text(q, i, *(char *const *)at);
        break;
    case COL_STR:
        text = *(char *const *)at;
        bind_text(q, i, text ? text : "");
        break;
    case COL_CHARS:
        text = at;
        bind_text(q, i, text[0] ? text : NULL);
        break;
    case COL_ENUM:
        bind_text(q, i, enum_name(c, *(const int *)at));
        break;
    }
}

/* Looks the parameters' names up at the statement's first use and keeps their indices. This is
 * possible because each statement binds rows of one kind only. */
static const int *row_params(struct query *q, const struct columns *cols)
{
    int *param = q->store->param[q->id];

    if (param)
        return param;
    param = mem_array(cols->n, sizeof *param);
    for (size_t i = 0; i < cols->n; i++)
        param[i] = sqlite3_bind_parameter_index(q->stmt, cols->v[i].bind);
    q->store->param[q->id] = param;
    return param;
}

void query_row(struct query *q, const struct columns *cols, const void *row)
{
    const int *param = row_params(q, cols);

    for (size_t i = 0; i < cols->n; i++) {
        if (param[i])
            bind_field(q, param[i], &cols->v[i], row);
    }
}

int query_step(struct query *q, struct err *err)
{
    struct store *s = q->store;
    int rc = 0;

    CHECK(q->stmt && s->is_busy[q->id]);
    CHECK(q->bound == sqlite3_bind_parameter_count(q->stmt));
    if (!sqlite3_stmt_readonly(q->stmt) && turn_begin(s, err) < 0)
        return -1;
    if (FAULT("store.step"))
        return err_set(err, ERR_IO, "database: injected fault");
    rc = sqlite3_step(q->stmt);
    if (rc == SQLITE_ROW) {
        q->rows++;
        return 1;
    }
    return rc == SQLITE_DONE ? 0 : store_fail(s, rc, err);
}

int64_t query_col_i64(const struct query *q, int i)
{
    return sqlite3_column_int64(q->stmt, i);
}

double query_col_f64(const struct query *q, int i)
{
    return sqlite3_column_type(q->stmt, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q->stmt, i);
}

const char *query_col_text(const struct query *q, int i)
{
    return (const char *)sqlite3_column_text(q->stmt, i);
}

static int enum_load(const struct column *c, const char *name, int *out, struct err *err)
{
    *out = 0;
    for (size_t i = 1; name && *out == 0 && i < c->size; i++) {
        if (strcmp(c->names[i], name) == 0)
            *out = (int)i;
    }
    return name && *out == 0
               ? err_set(err, ERR_DAMAGED, "its stored %s is \"%.40s\", which nothing has",
                         c->bind + 1, name)
               : 0;
}

/* Text is later written as JSON, which must be UTF-8, so damaged text is detected here, where the
 * column is still known. Nearly all text is ASCII; for that, one cheap pass is enough. */
static int text_load(const struct query *q, int i, const struct column *c, const char **out,
                     struct err *err)
{
    const char *text = query_col_text(q, i);
    size_t n = text ? (size_t)sqlite3_column_bytes(q->stmt, i) : 0;
    unsigned char any = 0;

    *out = text;
    for (size_t k = 0; k < n; k++)
        any |= (unsigned char)text[k];
    if (any < 0x80 || utf8_ok(text, n))
        return 0;
    *out = NULL;
    return err_set(err, ERR_DAMAGED, "its stored %s is no text", c->bind + 1);
}

static int load_field(const struct query *q, int i, const struct column *c, void *row,
                      struct err *err)
{
    char *at = (char *)row + c->at;
    const char *text = NULL;
    int rc = 0;

    switch (c->kind) {
    case COL_I64:
    case COL_REF:
    case COL_U64:
        *(int64_t *)(void *)at = query_col_i64(q, i);
        break;
    case COL_INT:
        *(int *)(void *)at = (int)query_col_i64(q, i);
        break;
    case COL_F64:
        *(double *)(void *)at = query_col_f64(q, i);
        break;
    case COL_BOOL:
        *(bool *)at = query_col_i64(q, i) != 0;
        break;
    case COL_TEXT:
    case COL_STR:
        rc = text_load(q, i, c, &text, err);
        *(char **)(void *)at = mem_strdup(text);
        break;
    case COL_CHARS:
        rc = text_load(q, i, c, &text, err);
        str_copy(at, c->size, text ? text : "");
        break;
    case COL_ENUM:
        rc = enum_load(c, query_col_text(q, i), (int *)(void *)at, err);
        break;
    }
    return rc;
}

/* A statement reads rows of one kind only, so its columns are compared once. */
static void columns_check(struct query *q, const struct columns *cols)
{
    if (q->store->is_checked[q->id])
        return;
    CHECK((size_t)sqlite3_column_count(q->stmt) == cols->n);
    for (size_t i = 0; i < cols->n; i++)
        CHECK(strcmp(sqlite3_column_name(q->stmt, (int)i), cols->v[i].bind + 1) == 0);
    q->store->is_checked[q->id] = true;
}

int query_load(struct query *q, const struct columns *cols, void *row, struct err *err)
{
    int rc = 0;

    CHECK(q->rows > 0);
    columns_check(q, cols);
    for (size_t i = 0; i < cols->n; i++) {
        if (load_field(q, (int)i, &cols->v[i], row, err) < 0)
            rc = -1;
    }
    return rc;
}

void row_fini(const struct columns *cols, void *row)
{
    for (size_t i = 0; i < cols->n; i++) {
        const struct column *c = &cols->v[i];
        char *at = (char *)row + c->at;

        if (c->kind == COL_TEXT || c->kind == COL_STR) {
            mem_free(*(char **)(void *)at);
            *(char **)(void *)at = NULL;
        } else if (c->kind == COL_CHARS) {
            at[0] = '\0';
        }
    }
}

int query_run(struct query *q, struct err *err)
{
    int rc = query_step(q, err);

    CHECK(rc != 1);
    query_close(q);
    return rc < 0 ? -1 : sqlite3_changes(q->store->db);
}

int query_get(struct query *q, const struct columns *cols, void *row, struct err *err)
{
    int rc = query_step(q, err);

    if (rc == 1 && query_load(q, cols, row, err) < 0) {
        row_fini(cols, row);
        rc = -1;
    }
    query_close(q);
    return rc;
}

int query_put(struct query *q, const char *what, int64_t id, struct err *err)
{
    int n = query_run(q, err);

    CHECK(n <= 1);
    if (n == 0)
        return err_set(err, ERR_NOTFOUND, "no %s %lld", what, (long long)id);
    return n < 0 ? -1 : 0;
}

int64_t query_insert(struct query *q, struct err *err)
{
    return query_run(q, err) < 0 ? -1 : sqlite3_last_insert_rowid(q->store->db);
}
