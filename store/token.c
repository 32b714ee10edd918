/* token.c - rows of tokens and of sessions.
 *
 * These changes have no journal rows: the log records who signed in, and journal rows would outlive
 * a token that was revoked. Deleting a token deletes its sessions by a foreign key. Called by the
 * controller when it checks a request, and by the commands that create and delete tokens. */
#include "store/token.h"

#include "store/query.h"

static const struct column token_column[] = {
    COLUMN(COL_I64, token_row, id),         COLUMN(COL_STR, token_row, name),
    COLUMN(COL_TEXT, token_row, role),      COLUMN(COL_CHARS, token_row, hash),
    COLUMN(COL_I64, token_row, created_at),
};
static const struct columns token_columns = { token_column, ARRAY_LEN(token_column) };

static const struct column session_column[] = {
    COLUMN(COL_I64, session_row, id),
    COLUMN(COL_CHARS, session_row, cookie_hash),
    COLUMN(COL_CHARS, session_row, secret_hash),
    COLUMN(COL_REF, session_row, token),
    COLUMN(COL_STR, session_row, name),
    COLUMN(COL_TEXT, session_row, role),
    COLUMN(COL_I64, session_row, created_at),
    COLUMN(COL_I64, session_row, seen_at),
    COLUMN(COL_I64, session_row, ends_at),
};
static const struct columns session_columns = { session_column, ARRAY_LEN(session_column) };

/* ---- tokens ---- */

void token_row_fini(struct token_row *r)
{
    row_fini(&token_columns, r);
}

int store_token_put(struct store *s, struct token_row *r, struct err *err)
{
    bool is_new = r->id == 0;
    struct query q;
    int64_t id = 0;

    CHECK(r->role && r->hash[0]);
    if (!r->created_at)
        r->created_at = clk_wall_ms(s->clk);
    q = query_open(s, is_new ? SQL_TOKEN_INSERT : SQL_TOKEN_UPDATE);
    query_row(&q, &token_columns, r);
    if (!is_new)
        return query_put(&q, "token", r->id, err);
    id = query_insert(&q, err);
    if (id < 0)
        return err_wrap(err, "token %s", r->name ? r->name : "");
    r->id = id;
    return 0;
}

int store_token_find(struct store *s, const char *hash, struct token_row *out, struct err *err)
{
    struct query q = query_open(s, SQL_TOKEN_FIND);

    query_text(&q, ":hash", hash);
    return query_get(&q, &token_columns, out, err);
}

/* 1 when a row with this id exists, 0 when not, -1 on error. */
static int has_row(struct store *s, enum sql_id sql, int64_t id, struct err *err)
{
    struct query q = query_open(s, sql);
    int rc = 0;

    query_i64(&q, ":id", id);
    rc = query_step(&q, err);
    query_close(&q);
    return rc;
}

int store_token_has(struct store *s, int64_t id, struct err *err)
{
    return has_row(s, SQL_TOKEN_HAS, id, err);
}

int store_token_each(struct store *s, int (*on_row)(void *arg, struct token_row *row), void *arg,
                     struct err *err)
{
    struct query q = query_open(s, SQL_TOKEN_EACH);
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct token_row row = { 0 };

        stop = query_load(&q, &token_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        token_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_token_delete(struct store *s, int64_t id, struct err *err)
{
    struct query q = query_open(s, SQL_TOKEN_DELETE);

    query_i64(&q, ":id", id);
    return query_put(&q, "token", id, err);
}

/* ---- sessions ---- */

void session_row_fini(struct session_row *r)
{
    row_fini(&session_columns, r);
}

int store_session_put(struct store *s, struct session_row *r, struct err *err)
{
    bool is_new = r->id == 0;
    struct query q = query_open(s, is_new ? SQL_SESSION_INSERT : SQL_SESSION_UPDATE);
    int64_t id = 0;

    CHECK(r->role && r->cookie_hash[0] && r->secret_hash[0]);
    query_row(&q, &session_columns, r);
    if (!is_new)
        return query_put(&q, "session", r->id, err);
    id = query_insert(&q, err);
    if (id < 0)
        return err_wrap(err, "session of %s", r->name ? r->name : "");
    r->id = id;
    return 0;
}

int store_session_find(struct store *s, const char *cookie_hash, struct session_row *out,
                       struct err *err)
{
    struct query q = query_open(s, SQL_SESSION_FIND);

    query_text(&q, ":cookie_hash", cookie_hash);
    return query_get(&q, &session_columns, out, err);
}

int store_session_has(struct store *s, int64_t id, struct err *err)
{
    return has_row(s, SQL_SESSION_HAS, id, err);
}

int store_session_each(struct store *s, int (*on_row)(void *arg, struct session_row *row),
                       void *arg, struct err *err)
{
    struct query q = query_open(s, SQL_SESSION_EACH);
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct session_row row = { 0 };

        stop = query_load(&q, &session_columns, &row, err) < 0 ? -1 : on_row(arg, &row);
        session_row_fini(&row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_session_delete(struct store *s, int64_t id, struct err *err)
{
    struct query q = query_open(s, SQL_SESSION_DELETE);

    query_i64(&q, ":id", id);
    return query_put(&q, "session", id, err);
}

int store_session_expire(struct store *s, int64_t now, struct err *err)
{
    struct query q = query_open(s, SQL_SESSION_EXPIRE);

    query_i64(&q, ":now", now);
    return query_run(&q, err);
}

int store_session_trim(struct store *s, int64_t token, int keep, struct err *err)
{
    struct query q = query_open(s, SQL_SESSION_TRIM);

    query_ref(&q, ":token", token);
    query_i64(&q, ":keep", keep);
    return query_run(&q, err);
}
