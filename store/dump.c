/* dump.c - the rows of one study as they are stored, for a study whose rows are damaged.
 *
 * Every column is given under its name and without interpretation, so one bad value does not hide
 * the others. Text that is not UTF-8 and binary values are written as {"hex": "..."}. When SQLite
 * itself fails in the middle, the answer holds what was read before and the error's text.
 * Called by the controller's api/ and view/ for studies that cannot be loaded; declared in study.h. */
#include "store/query.h"
#include "store/study.h"

#include "base/buf.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

enum { HEX_MAX = 1 << 20 }; /* bytes of one value that are written; a longer one is cut here */

static json_t *hex_json(const unsigned char *p, int n)
{
    struct buf b;
    json_t *o = NULL;

    buf_init(&b, 2 * (size_t)HEX_MAX + 16);
    for (int i = 0; i < MIN(n, HEX_MAX); i++) {
        if (buf_addf(&b, NULL, "%02x", p[i]) < 0)
            break;
    }
    o = json_pack("{s:s}", "hex", b.data ? b.data : "");
    buf_fini(&b);
    return o;
}

static json_t *column_json(const struct query *q, int i)
{
    double v = 0;
    json_t *text = NULL;

    switch (sqlite3_column_type(q->stmt, i)) {
    case SQLITE_INTEGER:
        return json_integer((json_int_t)query_col_i64(q, i));
    case SQLITE_FLOAT:
        v = query_col_f64(q, i);
        return isfinite(v) ? json_real(v) : json_null();
    case SQLITE_TEXT:
        text = json_stringn(query_col_text(q, i), (size_t)sqlite3_column_bytes(q->stmt, i));
        return text ? text
                    : hex_json(sqlite3_column_text(q->stmt, i), sqlite3_column_bytes(q->stmt, i));
    case SQLITE_BLOB:
        return hex_json(sqlite3_column_blob(q->stmt, i), sqlite3_column_bytes(q->stmt, i));
    default:
        return json_null();
    }
}

static json_t *row_json(const struct query *q)
{
    json_t *o = json_object();

    for (int i = 0; i < sqlite3_column_count(q->stmt); i++)
        json_object_set_new(o, sqlite3_column_name(q->stmt, i), column_json(q, i));
    return o;
}

/* Appends all rows of a statement that has one number as its parameter. */
static int rows_of(struct store *s, enum sql_id id, const char *bind, int64_t value, json_t *list,
                   struct err *err)
{
    struct query q = query_open(s, id);
    int rc = 0;

    query_i64(&q, bind, value);
    while ((rc = query_step(&q, err)) == 1)
        json_array_append_new(list, row_json(&q));
    query_close(&q);
    return rc;
}

static int trials_of(struct store *s, int64_t study, int64_t after, int limit, json_t *list,
                     struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_DUMP);
    int rc = 0;

    query_i64(&q, ":study", study);
    query_i64(&q, ":after", after);
    query_i64(&q, ":limit", limit);
    while ((rc = query_step(&q, err)) == 1)
        json_array_append_new(list, row_json(&q));
    query_close(&q);
    return rc;
}

static int parts_of(struct store *s, json_t *trial, struct err *err)
{
    int64_t id = json_integer_value(json_object_get(trial, "id"));
    json_t *reports = json_array(), *attempts = json_array();
    int rc = rows_of(s, SQL_REPORT_EACH, ":trial", id, reports, err);

    if (rc == 0)
        rc = rows_of(s, SQL_ATTEMPT_EACH, ":trial", id, attempts, err);
    json_object_set_new(trial, "reports", reports);
    json_object_set_new(trial, "attempts", attempts);
    return rc;
}

int store_study_dump(struct store *s, int64_t study, int64_t after, int limit, json_t **out,
                     struct err *err)
{
    json_t *rows = json_array(), *trials = json_array(), *trial = NULL, *next = NULL;
    struct err why = { 0 };
    size_t i = 0;
    int rc = rows_of(s, SQL_STUDY_GET, ":id", study, rows, &why);

    *out = NULL;
    if (rc == 0 && json_array_size(rows) == 0) {
        json_decref(rows);
        json_decref(trials);
        return err_set(err, ERR_NOTFOUND, "no study %lld", (long long)study);
    }
    if (rc == 0)
        rc = trials_of(s, study, after, limit, trials, &why);
    json_array_foreach(trials, i, trial)
    {
        if (rc == 0)
            rc = parts_of(s, trial, &why);
    }
    if (rc == 0 && (int)json_array_size(trials) == limit)
        next = json_incref(json_object_get(json_array_get(trials, (size_t)limit - 1), "number"));
    /* After an error, the caller still gets what could be read, together with the error's text. */
    json_t *row = json_array_get(rows, 0);
    *out = json_pack("{s:O, s:o, s:o, s:o}", "study", row ? row : json_null(), "trials", trials,
                     "next", next ? next : json_null(), "error",
                     rc < 0 ? json_string(why.text) : json_null());
    json_decref(rows);
    return 0;
}

int store_trial_counts(struct store *s, int64_t study, int64_t count[TS_STATES], struct err *err)
{
    struct query q = query_open(s, SQL_TRIAL_COUNTS);
    enum trial_state state = TS_NONE;
    int rc = 0;

    for (int i = 0; i < TS_STATES; i++)
        count[i] = 0;
    query_i64(&q, ":study", study);
    while ((rc = query_step(&q, err)) == 1) {
        if (trial_state_parse(query_col_text(&q, 0), &state, NULL) == 0)
            count[state] += query_col_i64(&q, 1);
    }
    query_close(&q);
    return rc;
}
