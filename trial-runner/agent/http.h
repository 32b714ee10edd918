/* http.h - calls to the controller: libcurl's multi interface on the runner's loop, over a Unix socket or TCP with a
 * bearer token, kept alive. A call ends in exactly one on_done, never from inside http_send. Nothing is retried here:
 * who asks knows what may be asked again. */
#ifndef TRIAL_RUNNER_AGENT_HTTP_H
#define TRIAL_RUNNER_AGENT_HTTP_H

#include "base/err.h"
#include "base/loop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;
struct http_call;

struct http_conf {
    const char *controller; /* unix:PATH | http(s)://host:port */
    const char *token;      /* NULL = none */
    int64_t delay_ms;       /* tests: each call starts after a random time up to this */
    uint64_t delay_seed;
};
struct http *http_new(struct loop *loop, const struct http_conf *conf, struct err *err);
void http_free(struct http *h); /* calls under way end without on_done */

struct http_reply {
    int status;             /* 0 = no answer: err is ERR_UNREACHABLE, ERR_TIMEOUT or ERR_IO */
    struct err err;         /* of statuses >= 400 too, from problem+json where there is one */
    int64_t retry_after_ms; /* -1 = not said */
    int64_t bytes;          /* Content-Length, -1 = not said */
    const char *body;       /* NUL-terminated; "" when streamed */
    size_t len;
    int64_t sent_ms; /* loop clock when the call left */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE };
struct http_request {
    enum http_method method;
    const char *path; /* "/api/v1/..." */
    char *body;       /* heap (mem_), taken; may be NULL */
    size_t body_len;
    bool is_json;
    int64_t range_from; /* > 0: ask for the bytes from here on */
    int64_t limit_ms;   /* of the whole call; 0 = only a stall of 30 s ends it */
    /* Streams the body of a 200 (from the start) or 206 (from range_from); -1 breaks the call off;
     * it may not send or cancel anything. NULL: collected, at most 8 MiB. */
    int (*on_data)(void *arg, int status, const void *p, size_t n);
    void (*on_done)(void *arg, const struct http_reply *r);
    void *arg;
};
struct http_call *http_send(struct http *h, const struct http_request *req);
/* A POST of a JSON body; limit_ms of the whole call. */
struct http_call *http_post_json(struct http *h, const char *path, json_t *body_steal,
                                 int64_t limit_ms,
                                 void (*on_done)(void *arg, const struct http_reply *r), void *arg);
void http_cancel(struct http_call *call); /* no on_done; NULL is legal */

/* True when asking again later may help: no answer, 408, 429, 5xx and an expired or missing login. */
bool http_may_retry(const struct http_reply *r);

#endif
