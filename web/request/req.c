/* req.c - see req.h. Nothing here sends: an answer is only set, and may be set again, until send.c
 * sends it. How an error becomes an HTTP status is decided in one place, web_problem. */
#include "web/request/req.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/status.h"
#include "web/http/conn.h"
#include "web/http/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const web_method_name[WEB_METHODS] = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "?",
};

/* ---- life ---- */

struct web_req *web_req_new(struct web *web)
{
    struct web_req **list = &web->reqs, *r = mem_zalloc(sizeof *r);

    r->web = web;
    r->ctl = web->ctl;
    r->holds = 1;
    r->answer.fd = -1;
    arena_init(&r->arena);
    r->next = *list;
    r->link = list;
    if (r->next)
        r->next->link = &r->next;
    *list = r;
    return r;
}

static void answer_clear(struct web_req *r)
{
    struct web_answer *a = &r->answer;

    if (a->is_owned)
        mem_free(a->bytes);
    if (a->fd >= 0)
        close(a->fd);
    a->bytes = NULL;
    a->len = 0;
    a->is_owned = false;
    a->fd = -1;
    a->offset = 0;
    a->status = 0;
}

void web_hold(struct web_req *r)
{
    CHECK(r->holds > 0);
    r->holds++;
}

void web_release(struct web_req *r)
{
    CHECK(r->holds > 0);
    if (--r->holds > 0)
        return;
    CHECK(!r->conn);
    if (r->link) {
        *r->link = r->next;
        if (r->next)
            r->next->link = r->link;
    }
    answer_clear(r);
    json_decref(r->json);
    arena_fini(&r->arena);
    mem_free(r);
}

/* ---- arguments ---- */

const char *web_header(const struct web_req *r, const char *name)
{
    return r->conn ? conn_header(r->conn, name) : NULL;
}

int web_var_i64(const struct web_req *r, int var, int64_t *out, struct err *err)
{
    if (str_i64(r->vars[var], 1, INT64_MAX, out, NULL) < 0)
        return err_set(err, ERR_NOTFOUND, "\"%s\" is no id: ids are positive whole numbers",
                       r->vars[var]);
    return 0;
}

const char *web_arg(const struct web_req *r, const char *key)
{
    return args_query_get(&r->query, key);
}

int web_arg_i64(const struct web_req *r, const char *key, int64_t min, int64_t max, int64_t *out,
                struct err *err)
{
    const char *text = web_arg(r, key);

    if (text && str_i64(text, min, max, out, NULL) < 0)
        return err_at(err, key, "must be a whole number from %" PRId64 " to %" PRId64, min, max);
    return 0;
}

int web_arg_bool(const struct web_req *r, const char *key, bool *out, struct err *err)
{
    const char *text = web_arg(r, key);

    if (!text)
        return 0;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return err_at(err, key, "must be true or false");
    *out = strcmp(text, "true") == 0;
    return 0;
}

/* ---- answers ---- */

void web_header_add(struct web_req *r, const char *name, const char *value)
{
    struct web_answer *a = &r->answer;

    CHECK(a->n_headers < WEB_HEADERS_MAX);
    a->headers[a->n_headers++] =
        (struct args_pair){ arena_strdup(&r->arena, name), arena_strdup(&r->arena, value) };
}

int web_json(struct web_req *r, int status, json_t *value)
{
    CHECK(value);
    answer_clear(r);
    r->answer.status = status;
    r->answer.type = "application/json";
    r->answer.bytes = jsonx_dump(value);
    r->answer.len = strlen(r->answer.bytes);
    r->answer.is_owned = true;
    json_decref(value);
    return 0;
}

int web_json_text(struct web_req *r, int status, struct buf *text)
{
    answer_clear(r);
    r->answer.status = status;
    r->answer.type = "application/json";
    r->answer.bytes = buf_take(text, &r->answer.len);
    r->answer.is_owned = true;
    return 0;
}

int web_bytes(struct web_req *r, int status, const char *type, const void *p, size_t n)
{
    answer_clear(r);
    r->answer.status = status;
    r->answer.type = type;
    r->answer.bytes = mem_dup(p, n);
    r->answer.len = n;
    r->answer.is_owned = true;
    return 0;
}

int web_fixed(struct web_req *r, int status, const char *type, const void *p, size_t n)
{
    answer_clear(r);
    r->answer.status = status;
    r->answer.type = type;
    r->answer.bytes = (void *)(uintptr_t)p; /* only ever read */
    r->answer.len = n;
    return 0;
}

/* If-Range names the file that the client has a part of. When it is another one by now, all of it
 * is sent. */
static int file_range(struct web_req *r, int64_t size, const char *etag)
{
    const char *of = web_header(r, "If-Range");
    const char *range = !of || strcmp(of, etag) == 0 ? web_header(r, "Range") : NULL;
    int64_t from = 0, len = size;
    int rc = args_range(range, size, &from, &len);
    char text[100];

    web_header_add(r, "Accept-Ranges", "bytes");
    if (rc < 0) {
        (void)!snprintf(text, sizeof text, "bytes */%" PRId64, size);
        web_header_add(r, "Content-Range", text);
        return -1;
    }
    if (rc == 1) {
        (void)!snprintf(text, sizeof text, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, from,
                        from + len - 1, size);
        web_header_add(r, "Content-Range", text);
        r->answer.status = 206;
    }
    r->answer.offset = from;
    r->answer.len = (size_t)len;
    return 0;
}

int web_file(struct web_req *r, const char *type, const char *path, const char *etag,
             struct err *err)
{
    struct stat st;
    char quoted[80];

    answer_clear(r);
    (void)!snprintf(quoted, sizeof quoted, "\"%s\"", etag);
    web_header_add(r, "ETag", quoted);
    if (args_etag_ok(web_header(r, "If-None-Match"), quoted))
        return web_fixed(r, 304, type, "", 0);
    r->answer.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (r->answer.fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOTFOUND, "the file is gone");
    if (r->answer.fd < 0 || fstat(r->answer.fd, &st) < 0)
        return err_errno(err, "opening the file");
    r->answer.status = 200;
    r->answer.type = type;
    if (file_range(r, st.st_size, quoted) < 0) {
        static const char text[] = "{\"type\":\"about:blank\",\"title\":\"Range Not Satisfiable\","
                                   "\"status\":416,\"detail\":\"the file is shorter than that\"}";

        return web_fixed(r, 416, "application/problem+json", text, sizeof text - 1);
    }
    return 0;
}

/* ---- errors ---- */

void web_problem(struct web_req *r, const struct err *err)
{
    /* route.c sets these two: there are no such err codes. */
    bool is_method = r->answer.status == 405 || r->answer.status == 501;
    int status = is_method ? r->answer.status : status_of_err(err->code);
    json_t *j =
        json_pack("{s:s, s:s, s:i, s:s}", "type", err->code == ERR_STALE ? "stale" : "about:blank",
                  "title", http_status_text(status), "status", status, "detail", "");

    r->answer.n_headers = 0; /* forget the headers of the answer that it was going to be */
    /* An error may quote text from outside, cut in the middle of a UTF-8 character. */
    json_object_set_new(j, "detail",
                        utf8_ok(err->text, strlen(err->text))
                            ? json_string(err->text)
                            : json_string("(the text of this error is not UTF-8)"));
    if (err->where[0] && utf8_ok(err->where, strlen(err->where)))
        json_object_set_new(j, "where", json_string(err->where));
    web_json(r, status, j);
    r->answer.type = "application/problem+json";
    if (status == 503 || status == 507)
        web_header_add(r, "Retry-After", "1");
    if (status == 401)
        web_header_add(r, "WWW-Authenticate", "Bearer realm=\"assay\"");
}

/* ---- pages ---- */

static const char csp[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

void web_page_headers(struct web_req *r)
{
    web_header_add(r, "Content-Security-Policy", csp);
    web_header_add(r, "Referrer-Policy", "no-referrer");
    web_header_add(r, "Cross-Origin-Opener-Policy", "same-origin");
}

static void html_escape(const char *s, char *out, size_t size)
{
    size_t n = 0;

    for (; *s && n + 8 < size; s++) {
        const char *e = *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : *s == '&' ? "&amp;" : NULL;

        if (e)
            n += str_copy(out + n, size - n, e);
        else
            out[n++] = *s;
    }
    out[n] = '\0';
}

void web_problem_page(struct web_req *r, const struct err *err)
{
    char text[2600], detail[2000];

    html_escape(err->text, detail, sizeof detail);
    r->answer.n_headers = 0;
    (void)!snprintf(
        text, sizeof text,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Assay</title>"
        "<link rel=\"icon\" href=\"data:,\"><h1>Assay</h1><p>%s.</p><p>A fresh one-time link is printed by <code>assay "
        "serve</code> when it starts.</p>",
        detail);
    web_bytes(r, status_of_err(err->code), "text/html; charset=utf-8", text, strlen(text));
    web_page_headers(r);
}
