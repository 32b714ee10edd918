/* run.c - see run.h. The checks come in the same order for all routes: address, Host and Origin,
 * route, token and role, query keys. They need only the head of the request and are made before a
 * byte of its body is read, so that only those who may send a body can make the server hold one.
 * Then the body is read and checked. Only then does the handler run, inside a savepoint if it
 * writes. */
#include "web/request/run.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/yaml.h"
#include "web/http/conn.h"
#include "web/request/auth.h"
#include "web/request/fair.h"
#include "web/request/once.h"
#include "web/request/route.h"
#include "web/request/send.h"

#include <string.h>

/* ---- refusals ---- */

static void allow_add(struct web_req *r, unsigned methods)
{
    char text[80] = "";
    size_t n = 0;

    if (methods & 1U << WEB_GET)
        methods |= 1U << WEB_HEAD;
    for (int m = 0; m < WEB_OTHER; m++) {
        if (methods >> m & 1) {
            n += str_copy(text + n, sizeof text - n, n ? ", " : "");
            n += str_copy(text + n, sizeof text - n, web_method_name[m]);
        }
    }
    web_header_add(r, "Allow", text);
}

static int no_route(struct web_req *r, unsigned others, struct err *err)
{
    if (!others)
        return err_set(err, ERR_NOTFOUND, "there is nothing at this address");
    err_set(err, ERR_ARG, "this address does not take %s", r->method_text);
    r->answer.status = 405;
    web_problem(r, err);
    allow_add(r, others);
    return -1;
}

/* ---- checks ---- */

static bool listed(const char *list, const char *key)
{
    size_t len = strlen(key);

    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (n == len && memcmp(list, key, n) == 0)
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

static int query_check(struct web_req *r, const char *text, struct err *err)
{
    const char *list = r->route->query;

    if (args_query_parse(&r->arena, text, &r->query, err) < 0)
        return -1;
    for (int i = 0; i < r->query.n; i++) {
        const char *key = r->query.pairs[i].key;

        if (!listed(list, key))
            return err_at(err, key, "unknown query argument \"%s\"; this address takes %s", key,
                          list ? list : "none");
    }
    return 0;
}

/* People write specs in YAML: it may be sent as it is. */
static bool is_yaml(const struct web_req *r)
{
    const char *type = web_header(r, "Content-Type");

    return type && str_starts(type, "application/yaml");
}

static int body_check(struct web_req *r, struct err *err)
{
    unsigned flags = r->route->flags;

    if (flags & WEB_RAW)
        return 0;
    if (!(flags & (WEB_JSON | WEB_JSON_MAY)))
        return r->body_len == 0 ? 0 : err_set(err, ERR_ARG, "this address takes no body");
    if (r->body_len == 0 && flags & WEB_JSON_MAY)
        return 0;
    if (r->body_len == 0)
        return err_set(err, ERR_ARG, "%s",
                       is_yaml(r) ? "the YAML is empty: keys and values are needed"
                                  : "the body is empty: a JSON object is needed");
    r->json = is_yaml(r) ? yamlx_load(r->body, r->body_len, "the body", err)
                         : jsonx_load(r->body, r->body_len, "the body", err);
    if (!r->json)
        return -1;
    if (!json_is_object(r->json))
        return err_set(err, ERR_ARG, "%s",
                       is_yaml(r) ? "keys and values are needed, one \"key: value\" a line"
                                  : "the body must be a JSON object");
    return 0;
}

/* When no address takes the method, the error speaks of the method and not of the address. */
static int unknown_method(struct web_req *r, struct err *err)
{
    err_set(
        err, ERR_ARG,
        "this server does not know the method %s: it takes GET, HEAD, POST, PUT, PATCH and DELETE",
        r->method_text);
    r->answer.status = 501;
    web_problem(r, err);
    return -1;
}

static int prepare(struct web_req *r, const char *uri, struct err *err)
{
    struct web_asked asked = { r->method, &r->path, r->web->dev };
    size_t path_len = strcspn(uri, "?");
    unsigned others = 0;

    if (web_auth_origin(r, err) < 0)
        return -1;
    if (args_path_parse(&r->arena, uri, path_len, &r->path, err) < 0)
        return r->method == WEB_OTHER ? unknown_method(r, err) : -1;
    if (web_route_find(r->web->tables, &asked, &r->route, r->vars, &others) == 0)
        return r->method == WEB_OTHER && !others ? unknown_method(r, err)
                                                 : no_route(r, others, err);
    if (web_auth_check(r, uri, err) < 0)
        return -1;
    return query_check(r, uri[path_len] ? uri + path_len + 1 : NULL, err);
}

static int body_admit(struct web_req *r, struct err *err)
{
    if (body_check(r, err) < 0)
        return -1;
    return r->route->flags & WEB_ADMIT ? ctl_admit(r->ctl, err) : 0;
}

/* ---- running ---- */

static void refuse(struct web_req *r, const struct err *err)
{
    if (r->route && r->route->flags & WEB_HTML)
        web_problem_page(r, err);
    else if (r->answer.status != 405 && r->answer.status != 501)
        web_problem(r, err);
    /* 501 is the client's doing: whoever asks for strange methods must not fill the log. */
    if (r->answer.status >= 500 && r->answer.status != 501 && r->answer.status != 503)
        log_error("web.failed path=\"%s\" err=\"%s\"", r->route ? r->route->pattern : "?",
                  err->text);
    web_send(r);
}

static int run_once(struct web_req *r, const char *uri, struct err *err)
{
    int rc = once_recall(r, uri, err);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    return r->route->run(r, err) < 0 || once_keep(r, uri, err) < 0 ? -1 : 0;
}

/* The savepoint of a handler that failed is rolled back, so its answer need not wait for the
 * commit. */
static void run(struct web_req *r, const char *uri)
{
    bool writes = r->route->flags & WEB_WRITE;
    struct err err = { 0 }, end_err = { 0 };
    int rc = 0;

    if (writes && ctl_request_begin(r->ctl, &err) < 0) {
        refuse(r, &err);
        return;
    }
    rc = run_once(r, uri, &err);
    if (writes && ctl_request_end(r->ctl, rc == 0, &end_err) < 0 && rc == 0) {
        rc = -1;
        err = end_err;
    }
    r->body = NULL;
    if (rc == 0 && r->is_deferred)
        return;
    if (rc < 0) {
        if (r->on_gone)
            r->on_gone(r); /* the handler had arranged a later answer: it is cancelled */
        r->on_gone = NULL;
        refuse(r, &err);
        return;
    }
    CHECK(r->answer.status);
    web_finish(r, writes);
}

/* Takes a place at the door for who has shown a token: 0; -1 = there is none. What needs no token is
 * answered nevertheless, so that a full controller can be watched. */
static int place_take(struct web_req *r, struct conn *c, struct err *err)
{
    if (r->who.role == CTL_NOBODY || conn_know(c, true) || r->route->flags & WEB_OPEN)
        return 0;
    conn_end_after(c);
    return err_set(err, ERR_BUSY,
                   "all %lld connections that this controller takes here are in use: raise "
                   "max_connections, or its limit of open files (docs/SCALE.md)",
                   (long long)conn_places(c));
}

static bool admit(struct web_req *r, struct conn *c, const char *uri)
{
    struct err err = { 0 };
    bool is_prepared = prepare(r, uri, &err) == 0;

    if (is_prepared && place_take(r, c, &err) == 0)
        return true;
    refuse(r, &err);
    if (!is_prepared && (r->who.role != CTL_NOBODY || r->answer.status == 401))
        (void)conn_know(c, r->who.role != CTL_NOBODY);
    return false;
}

/* The study that the request is about, or that a new study starts from; NULL = none. */
static const char *study_of(const struct web_req *r)
{
    static const char prefix[] = "/api/v1/studies/{study}", model[] = "/api/v1/models/{model}";

    if (strncmp(r->route->pattern, prefix, sizeof prefix - 1) == 0)
        return r->vars[0];
    /* a study, the hash of a file, or trial:ID */
    if (strncmp(r->route->pattern, model, sizeof model - 1) == 0)
        return str_sha256_ok(r->vars[0]) || strchr(r->vars[0], ':') ? NULL : r->vars[0];
    return r->json ? json_string_value(json_object_get(r->json, "warm_start")) : NULL;
}

struct waiting {
    struct web_req *r;
    const char *uri;
};

static void on_study(void *arg)
{
    struct waiting *w = arg;
    struct web_req *r = w->r;

    if (r->conn)
        run(r, w->uri);
    else
        web_send(r); /* the client has left: only releases the request */
    web_release(r);
}

/* An ended study is loaded on a thread before the handler runs. 1 = the request waits for that, 0 =
 * there is nothing to wait for, -1 = error. */
static int study_await(struct web_req *r, const char *uri, struct err *err)
{
    const char *ref = study_of(r);
    struct waiting *w = NULL;
    int rc = 0;

    if (!ref)
        return 0;
    w = arena_alloc(&r->arena, sizeof *w);
    web_hold(r);
    rc = ctl_study_await(r->ctl, fair_line_of(r), ref, on_study, w, err);
    if (rc != 0) {
        web_release(r);
        return rc < 0 ? -1 : 0;
    }
    /* The connection, and the text it owns, may be gone by then: keep copies. */
    *w = (struct waiting){ r, arena_strdup(&r->arena, uri) };
    if (r->body_len > 0) {
        char *copy = arena_alloc(&r->arena, r->body_len);

        memcpy(copy, r->body, r->body_len); /* bytes, which may hold a NUL */
        r->body = copy;
    }
    return 1;
}

static void hand_over(struct web_req *r, const char *uri)
{
    struct err err = { 0 };
    int rc = 0;

    web_hold(r);
    rc = body_admit(r, &err);
    if (rc == 0)
        rc = study_await(r, uri, &err);
    if (rc < 0)
        refuse(r, &err);
    else if (rc == 0)
        run(r, uri);
    web_release(r);
}

/* ---- what a connection tells ---- */

static enum web_method method_of(const char *name)
{
    int m = 0;

    while (m < WEB_OTHER && strcmp(web_method_name[m], name) != 0)
        m++;
    return (enum web_method)m;
}

static int64_t body_max(const struct web_route *route, bool is_known)
{
    if (route->flags & WEB_OPEN && !is_known)
        return WEB_OPEN_BODY_MAX;
    /* Runners report the schemas of wide tables, up to 3 MiB, together with results. */
    return route->flags & WEB_RAW || route->allow == WEB_RUNNERS ? WEB_BODY_MAX : WEB_JSON_MAX;
}

/* The head has arrived. Everything that can be decided without the body is decided here. */
static void on_head(struct conn *c, const struct head *head)
{
    const struct conn_conf *conf = &conn_group(c)->conf;
    struct web_req *r = web_req_new(conf->owner);
    bool is_admitted = false;

    r->conn = c;
    r->target = head->target;
    r->is_local = conf->is_local;
    r->method = method_of(head->method);
    r->method_text = head->method;
    conn_attach(c, r);
    web_hold(r);
    is_admitted = admit(r, c, head->target);
    if (is_admitted)
        conn_body_max(c, body_max(r->route, conn_is_known(c)));
    web_release(r);
}

/* Its turn has come. The client may have left meanwhile. */
static void body_run(struct web_req *r)
{
    if (r->conn)
        hand_over(r, r->target);
    else
        web_send(r);
    if (r->conn)
        conn_body_drop(r->conn);
    web_release(r);
}

static void on_body(void *request, const char *body, size_t n)
{
    struct web_req *r = request;
    struct loop *loop = r->web->loop;

    r->is_handed = true;
    r->body = body;
    r->body_len = n;
    web_hold(r);
    fair_run(r, body_run);
    loop_breathe(loop);
}

void run_drop(struct web_req *r)
{
    r->conn = NULL;
    web_send(r);
    web_release(r);
}

const struct conn_hooks web_hooks = { on_head, on_body, send_gone, send_left, send_drained };
