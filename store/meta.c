/* meta.c - small values by name, and the answers that are kept for repeated requests.
 *
 * A client that does not know whether its request arrived sends it again with the same idempotency
 * key. The answer of the first request is stored in the same transaction as its effect, so the
 * repeated one gets the same answer and has no second effect. Declared in store.h. */
#include "store/store.h"

#include "store/query.h"

/* Adds the first column of the first row to `out` and closes `q`: 1 found, 0 none, -1 error. */
static int text_get(struct query *q, struct buf *out, struct err *err)
{
    int rc = query_step(q, err);

    if (rc == 1 && buf_adds(out, query_col_text(q, 0), err) < 0)
        rc = -1;
    query_close(q);
    return rc;
}

int store_meta_get(struct store *s, const char *name, struct buf *out, struct err *err)
{
    struct query q = query_open(s, SQL_META_GET);

    query_text(&q, ":name", name);
    return text_get(&q, out, err);
}

int store_meta_put(struct store *s, const char *name, const char *value, struct err *err)
{
    struct query q = query_open(s, SQL_META_PUT);

    CHECK(name && value);
    query_text(&q, ":name", name);
    query_text(&q, ":value", value);
    return query_run(&q, err) < 0 ? err_wrap(err, "meta %s", name) : 0;
}

int store_idem_get(struct store *s, const char *key, struct buf *out, struct err *err)
{
    struct query q = query_open(s, SQL_IDEM_GET);

    query_text(&q, ":key", key);
    return text_get(&q, out, err);
}

int store_idem_put(struct store *s, const char *key, const char *answer, struct err *err)
{
    struct query q = query_open(s, SQL_IDEM_PUT);

    CHECK(key && answer);
    query_text(&q, ":key", key);
    query_text(&q, ":answer", answer);
    query_i64(&q, ":at", clk_wall_ms(s->clk));
    return query_run(&q, err) < 0 ? err_wrap(err, "idempotency key") : 0;
}

int store_idem_expire(struct store *s, int64_t before_wall_ms, struct err *err)
{
    struct query q = query_open(s, SQL_IDEM_EXPIRE);

    query_i64(&q, ":before", before_wall_ms);
    return query_run(&q, err) < 0 ? -1 : 0;
}
