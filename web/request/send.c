/* send.c - see send.h. The order of events is not fixed: the client may leave before the handler
 * has answered, while the commit is awaited, or while the answer is compressed on a thread. In each
 * case the callback that was promised still comes, finds r->conn NULL or r->is_sent set, and only
 * releases the request. */
#include "web/request/send.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/http/conn.h"
#include "web/http/gzip.h"
#include "web/request/route.h"

#include <event2/buffer.h>
#include <string.h>

/* ---- leaving clients ---- */

static void gone_tell(struct web_req *r)
{
    void (*on_gone)(struct web_req *) = r->on_gone;

    r->on_gone = NULL;
    if (on_gone)
        on_gone(r);
}

/* The connection has gone before the answer was sent. */
void send_gone(void *request)
{
    struct web_req *r = request;
    bool will_answer = r->is_handed && !r->on_gone && !r->is_stream;

    r->conn = NULL;
    if (will_answer || r->is_sent)
        return; /* a callback that is still to come calls web_send, which only releases the request
                 */
    r->is_sent = true;
    gone_tell(r);
    web_release(r);
}

/* The client has hung up, but the connection is still there and must be answered. */
void send_left(void *request)
{
    struct web_req *r = request;
    struct err err = { 0 };

    web_hold(r);
    gone_tell(r);
    if (r->is_stream) {
        web_stream_end(r);
    } else {
        err_set(&err, ERR_BUSY, "the client left");
        web_problem(r, &err);
        web_send(r);
    }
    web_release(r);
}

void web_watch(struct web_req *r)
{
    CHECK(r->on_gone);
    if (r->conn)
        conn_watch(r->conn);
}

/* ---- answers ---- */

static void field_add(struct evbuffer *out, const char *name, const char *value)
{
    if (strpbrk(value, "\r\n"))
        log_error("web.field name=%s err=\"it holds a line's end and is left out\"", name);
    else
        evbuffer_add_printf(out, "%s: %s\r\n", name, value);
}

static void fields_write(const struct web_req *r, struct evbuffer *out)
{
    const struct web_answer *a = &r->answer;
    bool has_cache = false;

    for (int i = 0; i < a->n_headers; i++) {
        field_add(out, a->headers[i].key, a->headers[i].value);
        has_cache |= strcmp(a->headers[i].key, "Cache-Control") == 0;
    }
    if (a->type)
        field_add(out, "Content-Type", a->type);
    field_add(out, "X-Content-Type-Options", "nosniff");
    if (!has_cache)
        field_add(out, "Cache-Control", "no-store");
}

static void bytes_free(const void *p, size_t n, void *arg)
{
    (void)p, (void)n;
    mem_free(arg);
}

static void body_write(struct web_req *r, struct evbuffer *buf)
{
    struct web_answer *a = &r->answer;

    if (r->method == WEB_HEAD || a->len == 0 || a->status == 304 || a->status == 204)
        return;
    if (a->fd >= 0) {
        CHECK(evbuffer_add_file(buf, a->fd, a->offset, (ev_off_t)a->len) == 0);
        a->fd = -1;
    } else if (a->is_owned) {
        CHECK(evbuffer_add_reference(buf, a->bytes, a->len, bytes_free, a->bytes) == 0);
        a->bytes = NULL;
        a->is_owned = false;
    } else {
        CHECK(evbuffer_add_reference(buf, a->bytes, a->len, NULL, NULL) == 0);
    }
}

static void count_answer(const struct web_req *r)
{
    int status_class = r->answer.status / 100;

    if (r->web && status_class >= 1 && status_class <= 5)
        r->web->answers[status_class]++;
    log_debug("web.answered method=%s route=%s status=%d who=%s", web_method_name[r->method],
              r->route ? r->route->pattern : "-", r->answer.status,
              r->who.name[0] ? r->who.name : "-");
}

void web_send(struct web_req *r)
{
    if (r->is_sent)
        return;
    r->is_sent = true;
    if (r->conn) {
        struct conn *c = r->conn;
        struct evbuffer *fields = evbuffer_new(), *body = evbuffer_new();
        int status = r->answer.status;

        CHECK(fields && body && status);
        count_answer(r);
        fields_write(r, fields);
        body_write(r, body);
        r->conn = NULL;
        conn_answer(c, status, fields, body,
                    status == 304 || status == 204 ? -1 : (int64_t)r->answer.len);
        evbuffer_free(fields);
        evbuffer_free(body);
    }
    r->on_gone = NULL;
    web_release(r);
}

/* ---- streams ---- */

int web_stream_start(struct web_req *r, const char *type, void (*on_drained)(struct web_req *r))
{
    struct evbuffer *fields = NULL;

    if (!r->conn)
        return -1;
    r->is_stream = true;
    r->on_drained = on_drained;
    r->answer.status = 200;
    r->answer.type = type;
    count_answer(r);
    fields = evbuffer_new();
    CHECK(fields);
    fields_write(r, fields);
    conn_stream_start(r->conn, fields);
    evbuffer_free(fields);
    web_watch(r);
    return 0;
}

void send_drained(void *request)
{
    struct web_req *r = request;

    if (r->on_drained)
        r->on_drained(r);
}

void web_stream_add(struct web_req *r, const char *text, size_t n)
{
    CHECK(r->conn && r->is_stream);
    conn_stream_add(r->conn, text, n);
}

size_t web_stream_pending(const struct web_req *r)
{
    return r->conn ? conn_stream_pending(r->conn) : 0;
}

void web_stream_end(struct web_req *r)
{
    if (r->is_sent)
        return;
    r->is_sent = true;
    if (r->conn) {
        struct conn *c = r->conn;

        r->conn = NULL;
        conn_stream_end(c);
    }
    web_release(r);
}

/* ---- compression ---- */

/* WORTH: an answer that fits one network packet gains nothing. HERE: compressing so many bytes
 * takes a quarter of a millisecond, less than handing them to a thread. LEVEL:
 * zlib's, from 1 (fast) to 9 (small). */
enum { WORTH = 1400, HERE = 16 << 10, LEVEL = 5 };

struct job {
    struct web_req *r; /* held */
    void *text, *packed;
    size_t text_len, packed_len;
};

static void work(void *arg)
{
    struct job *j = arg;

    j->packed = http_gzip(j->text, j->text_len, LEVEL, &j->packed_len);
}

static void done(void *arg)
{
    struct job *j = arg;
    struct web_answer *a = &j->r->answer;

    mem_free(j->text);
    a->bytes = j->packed;
    a->len = j->packed_len;
    a->is_owned = true;
    web_header_add(j->r, "Content-Encoding", "gzip");
    web_send(j->r);
    web_release(j->r);
    mem_free(j);
}

static bool is_worth_it(struct web_req *r)
{
    const struct web_answer *a = &r->answer;

    return r->web && r->conn && r->method != WEB_HEAD && a->is_owned && a->len >= WORTH &&
           a->type &&
           (str_starts(a->type, "application/json") || str_starts(a->type, "text/plain")) &&
           a->n_headers + 2 <= WEB_HEADERS_MAX;
}

static void send_packed(struct web_req *r)
{
    struct web_answer *a = &r->answer;
    struct job *j = NULL;

    if (!is_worth_it(r)) {
        web_send(r);
        return;
    }
    web_header_add(r, "Vary", "Accept-Encoding");
    if (!args_gzip_ok(web_header(r, "Accept-Encoding"))) {
        web_send(r);
        return;
    }
    j = mem_zalloc(sizeof *j);
    j->r = r;
    j->text = a->bytes;
    j->text_len = a->len;
    a->bytes = NULL;
    a->len = 0;
    a->is_owned = false;
    web_hold(r);
    if (j->text_len > HERE) {
        loop_pool_submit(r->web->loop, work, done, j);
        return;
    }
    work(j);
    done(j);
}

/* ---- after the commit ---- */

/* A request that only reads has nothing to undo: where the commit that its answer waited for failed,
 * it reads again, since somebody else's change is no longer there. Once; what fails then is told. */
static bool reads_again(struct web_req *r)
{
    struct err err = { 0 };

    if (r->is_again || !r->conn || r->is_deferred || r->is_stream || !r->route ||
        r->route->flags & WEB_WRITE || (r->method != WEB_GET && r->method != WEB_HEAD))
        return false;
    r->is_again = true;
    r->answer.n_headers = 0;
    if (r->route->run(r, &err) < 0) {
        web_problem(r, &err);
        web_send(r);
    } else if (!r->is_deferred) {
        web_finish(r, false);
    }
    return true;
}

static void on_committed(void *arg, bool ok, const struct err *err)
{
    struct web_req *r = arg;

    if (!ok && reads_again(r)) {
        web_release(r);
        return;
    }
    if (!ok) {
        struct err failed = { 0 };

        err_set(&failed, ERR_BUSY, "nothing was changed: %s",
                err && err->text[0] ? err->text : "the commit failed");
        if (err && err->code == ERR_FULL)
            failed.code = ERR_FULL;
        web_problem(r, &failed);
    }
    send_packed(r);
    web_release(r);
}

/* What a request read may rest on changes that are not durable yet. Pages that need no token show
 * nothing of the kind. */
static bool must_wait(const struct web_req *r, bool after_commit)
{
    bool is_open = !r->route || r->route->flags & WEB_OPEN;

    return r->web && (after_commit || (!is_open && ctl_owes_commit(r->ctl)));
}

void web_finish(struct web_req *r, bool after_commit)
{
    if (!must_wait(r, after_commit)) {
        send_packed(r);
        return;
    }
    web_hold(r);
    ctl_after_commit(r->ctl, on_committed, r);
}

void web_fail(struct web_req *r, const struct err *err)
{
    web_problem(r, err);
    web_send(r);
}
