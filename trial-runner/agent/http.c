/* http.c - libcurl's multi interface driven by libevent. curl says for which sockets and for which
 * time-out it waits (set_socket, set_timer), and this file calls it when they come. Each call has
 * one easy handle; curl keeps the connections. Everything runs on the loop's thread. */
#include "trial-runner/agent/http.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "proto/peer.h"
#include "proto/status.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <string.h>
#include <strings.h>

/* ANSWER_MAX: no JSON answer is larger. STALL_S: a call without limit_ms ends after so many seconds
 * in which less than a byte per second came. */
enum { ANSWER_MAX = 8 << 20, CONNECT_MS = 5000, STALL_S = 30 };

struct http_call {
    struct http *http;
    struct http_call *next, **link;
    CURL *easy;
    struct curl_slist *headers;
    struct http_request req; /* path and body belong to the call */
    struct buf answer;
    struct loop_timer *delay;
    int64_t sent_ms, retry_after_ms;
    bool is_added;      /* curl works on it */
    bool is_broken_off; /* on_data refused the body, or it was too large */
    bool has_headers;   /* all of them came: curl takes an end of the stream within them for the end
                           of a good answer */
    char why[CURL_ERROR_SIZE];
};

struct http {
    struct loop *loop;
    CURLM *multi;
    struct event *timer;
    struct http_call *calls;
    char *base, *unix_path, *auth; /* auth: the whole Authorization header */
    char *tls_pin, *tls_ca;
    struct peer peer; /* points to the texts above */
    int64_t delay_ms;
    struct rng rng;
};

/* ---- ends ---- */

static void call_free(struct http_call *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    if (c->is_added)
        curl_multi_remove_handle(c->http->multi, c->easy);
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    loop_timer_free(c->delay);
    buf_fini(&c->answer);
    mem_free((char *)c->req.path);
    mem_free(c->req.body);
    mem_free(c);
}

/* Makes an error of an answer: from its problem+json, or from the status alone. */
static void problem(struct err *err, int status, const char *body, size_t len)
{
    json_t *j = len ? jsonx_load(body, len, "answer", NULL) : NULL;
    const char *detail = json_string_value(json_object_get(j, "detail"));
    const char *type = json_string_value(json_object_get(j, "type"));
    const char *where = json_string_value(json_object_get(j, "where"));
    bool stale = status == 409 && str_eq(type, "stale");

    err_set(err, stale ? ERR_STALE : status_to_err(status), "%s (status %d)",
            detail ? detail : "the controller refused", status);
    if (where)
        str_copy(err->where, sizeof err->where, where);
    json_decref(j);
}

static void no_answer(struct http_call *c, CURLcode code, struct err *err)
{
    bool slow = code == CURLE_OPERATION_TIMEDOUT;
    bool unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;

    if (c->is_broken_off)
        err_set(err, ERR_IO, "%s: broken off", c->req.path);
    else if (unreachable && c->http->unix_path)
        /* libcurl's own text would name the host "localhost", which nobody asked for. */
        err_set(err, ERR_UNREACHABLE, "no controller answers at unix:%s", c->http->unix_path);
    else if (!peer_explain(&c->http->peer, code, err))
        err_set(err,
                slow          ? ERR_TIMEOUT
                : unreachable ? ERR_UNREACHABLE
                              : ERR_IO,
                "%s: %s", c->req.path, c->why[0] ? c->why : curl_easy_strerror(code));
}

static void call_end(struct http_call *c, CURLcode code)
{
    struct http_reply r = { .sent_ms = c->sent_ms,
                            .retry_after_ms = c->retry_after_ms,
                            .bytes = -1 };
    void (*on_done)(void *arg, const struct http_reply *r) = c->req.on_done;
    void *arg = c->req.arg;
    struct buf answer = { 0 };
    long status = 0;
    curl_off_t bytes = -1;

    if (FAULT("http.answer") || (code == CURLE_OK && !c->has_headers))
        code = CURLE_RECV_ERROR;
    if (code == CURLE_OK) {
        curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(c->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
        r.status = (int)status;
        r.bytes = bytes;
        if (status >= 400)
            problem(&r.err, r.status, c->answer.data, c->answer.len);
    } else {
        no_answer(c, code, &r.err);
    }
    answer = c->answer; /* kept beyond the call, because on_done reads it and may free anything */
    buf_init(&c->answer, 1);
    r.body = answer.data ? answer.data : "";
    r.len = answer.len;
    call_free(c);
    on_done(arg, &r);
    buf_fini(&answer);
}

static void collect_done(struct http *h)
{
    CURLMsg *m = NULL;
    int left = 0;

    while ((m = curl_multi_info_read(h->multi, &left))) {
        struct http_call *c = NULL;
        CURLcode code = m->data.result;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        call_end(c, code);
    }
}

/* ---- curl's sockets and time-out on the loop ---- */

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
    struct http *h = arg;
    int running = 0;
    int mask = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);

    curl_multi_socket_action(h->multi, fd, mask, &running);
    collect_done(h);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct http *h = arg;
    int running = 0;

    (void)fd, (void)what;
    curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect_done(h);
}

static int set_timer(CURLM *multi, long ms, void *arg)
{
    struct http *h = arg;
    struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

    (void)multi;
    if (ms < 0)
        evtimer_del(h->timer);
    else
        evtimer_add(h->timer, &tv);
    return 0;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
    struct http *h = arg;
    struct event *ev = socket;
    short kind =
        EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0);

    (void)easy;
    if (ev)
        event_free(ev);
    ev = NULL;
    if (what != CURL_POLL_REMOVE) {
        ev = event_new(loop_base(h->loop), fd, kind, on_socket_ready, h);
        CHECK(ev && event_add(ev, NULL) == 0);
    }
    curl_multi_assign(h->multi, fd, ev);
    return 0;
}

/* ---- a call ---- */

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;
    long status = 0;
    int rc = 0;

    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (c->req.on_data && (status == 200 || status == 206))
        rc = c->req.on_data(c->req.arg, (int)status, p, size * n);
    else
        rc = buf_add(&c->answer, p, size * n, NULL);
    c->is_broken_off = rc < 0;
    return rc < 0 ? 0 : size * n;
}

/* Notes the end of the headers, and Retry-After if it is a number of seconds; a date is ignored. */
static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    static const char name[] = "retry-after:";
    struct http_call *c = arg;
    size_t len = size * n;
    char text[24] = "";
    int64_t s = 0;

    if (len == 2 && p[0] == '\r' && p[1] == '\n')
        c->has_headers = true;
    else if (len > 5 && memcmp(p, "HTTP/", 5) == 0) /* the final answer that follows a 100 */
        c->has_headers = false;
    if (len < sizeof name || strncasecmp(p, name, sizeof name - 1) != 0)
        return len;
    for (size_t i = sizeof name - 1, k = 0; i < len && k + 1 < sizeof text; i++) {
        if (p[i] >= '0' && p[i] <= '9')
            text[k++] = p[i];
    }
    if (text[0] && str_i64(text, 0, 3600, &s, NULL) == 0)
        c->retry_after_ms = s * 1000;
    return len;
}

static void set_body(struct http_call *c)
{
    const struct http_request *r = &c->req;

    switch (r->method) {
    case HTTP_GET:
        curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
        return;
    case HTTP_HEAD:
        curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
        return;
    case HTTP_DELETE:
        curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        return;
    case HTTP_PUT:
        curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, "PUT");
        break;
    case HTTP_POST:
        curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
        break;
    }
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
}

static void set_headers(struct http_call *c)
{
    /* By default curl asks with Expect for leave before each body over 1 MiB: one more round
     * trip. */
    c->headers = curl_slist_append(c->headers, "Expect:");
    if (c->req.method == HTTP_POST || c->req.method == HTTP_PUT)
        c->headers = curl_slist_append(c->headers, c->req.is_json
                                                       ? "Content-Type: application/json"
                                                       : "Content-Type: application/octet-stream");
    if (c->http->auth)
        c->headers = curl_slist_append(c->headers, c->http->auth);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static void set_options(struct http_call *c)
{
    struct http *h = c->http;
    char text[512];

    snprintf(text, sizeof text, "%s%s", h->base, c->req.path);
    curl_easy_setopt(c->easy, CURLOPT_URL, text);
    if (h->unix_path)
        curl_easy_setopt(c->easy, CURLOPT_UNIX_SOCKET_PATH, h->unix_path);
    peer_setup(&h->peer, c->easy);
    curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(c->easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(c->easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    if (c->req.limit_ms > 0) {
        curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)c->req.limit_ms);
    } else {
        curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
    }
    if (c->req.range_from > 0) {
        snprintf(text, sizeof text, "%lld-", (long long)c->req.range_from);
        curl_easy_setopt(c->easy, CURLOPT_RANGE, text);
    }
}

static void call_start(struct http_call *c)
{
    c->sent_ms = clk_now_ms(loop_clk(c->http->loop));
    if (curl_multi_add_handle(c->http->multi, c->easy) != CURLM_OK)
        base_check_failed("curl_multi_add_handle", __FILE__, __LINE__, __func__);
    c->is_added = true;
}

static void on_delay(void *arg)
{
    call_start(arg);
}

struct http_call *http_send(struct http *h, const struct http_request *req)
{
    struct http_call *c = mem_zalloc(sizeof *c);

    c->http = h;
    c->req = *req;
    c->req.path = mem_strdup(req->path);
    c->retry_after_ms = -1;
    buf_init(&c->answer, ANSWER_MAX);
    c->next = h->calls;
    c->link = &h->calls;
    if (h->calls)
        h->calls->link = &c->next;
    h->calls = c;
    c->easy = curl_easy_init();
    CHECK(c->easy);
    set_options(c);
    set_body(c);
    set_headers(c);
    if (h->delay_ms > 0)
        c->delay =
            loop_timer_new(h->loop, rng_below(&h->rng, (uint32_t)h->delay_ms + 1), 0, on_delay, c);
    else
        call_start(c);
    return c;
}

struct http_call *http_post_json(struct http *h, const char *path, json_t *body_steal,
                                 int64_t limit_ms,
                                 void (*on_done)(void *arg, const struct http_reply *r), void *arg)
{
    char *text = jsonx_dump(body_steal);

    json_decref(body_steal);
    return http_send(h, &(struct http_request){ .method = HTTP_POST,
                                                .path = path,
                                                .body = text,
                                                .body_len = strlen(text),
                                                .is_json = true,
                                                .limit_ms = limit_ms,
                                                .on_done = on_done,
                                                .arg = arg });
}

void http_cancel(struct http_call *call)
{
    if (call)
        call_free(call);
}

bool http_may_retry(const struct http_reply *r)
{
    return r->status == 0 || r->status == 401 || r->status == 403 || r->status == 408 ||
           r->status == 429 || r->status >= 500;
}

/* ---- the client ---- */

struct http *http_new(struct loop *loop, const struct http_conf *conf, struct err *err)
{
    struct http *h = mem_zalloc(sizeof *h);
    size_t n = strlen(conf->controller);

    /* Starting OpenSSL takes milliseconds, and a Unix socket does not need it. */
    curl_global_init(str_starts(conf->controller, "https:") ? CURL_GLOBAL_DEFAULT
                                                            : CURL_GLOBAL_NOTHING);
    h->loop = loop;
    h->delay_ms = conf->delay_ms;
    rng_init(&h->rng, conf->delay_seed, 7);
    if (str_starts(conf->controller, "unix:")) {
        h->unix_path = mem_strdup(conf->controller + 5);
        h->base = mem_strdup("http://localhost");
    } else {
        h->base = mem_strdup(conf->controller);
        while (n && h->base[n - 1] == '/')
            h->base[--n] = '\0';
    }
    if (conf->token) {
        size_t size = strlen(conf->token) + 32;

        h->auth = mem_alloc(size);
        snprintf(h->auth, size, "Authorization: Bearer %s", conf->token);
    }
    h->tls_pin = mem_strdup(conf->tls_pin);
    h->tls_ca = mem_strdup(conf->tls_ca);
    h->peer = (struct peer){ .url = h->unix_path ? "unix:" : h->base,
                             .pin = h->tls_pin,
                             .ca = h->tls_ca,
                             .has_token = h->auth,
                             .is_clear = conf->is_clear };
    if (peer_check(&h->peer, err) < 0) {
        http_free(h);
        return NULL;
    }
    h->timer = evtimer_new(loop_base(loop), on_timeout, h);
    h->multi = curl_multi_init();
    if (!h->timer || !h->multi) {
        http_free(h);
        err_set(err, ERR_IO, "cannot start the HTTP client");
        return NULL;
    }
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    return h;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    while (h->calls)
        call_free(h->calls);
    if (h->multi)
        curl_multi_cleanup(h->multi);
    if (h->timer)
        event_free(h->timer);
    mem_free(h->base);
    mem_free(h->unix_path);
    mem_free(h->auth);
    mem_free(h->tls_pin);
    mem_free(h->tls_ca);
    mem_free(h);
}
