/* http.h - calls to the controller: libcurl's multi interface on the runner's event loop, over a
 * Unix socket or over TCP with a bearer token. Connections are kept for the next call. A call ends
 * in exactly one on_done, never from inside http_send. This file repeats no call: only the caller
 * knows which requests may be sent twice. */
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
    const char *controller;       /* unix:PATH | http(s)://host:port */
    const char *token;            /* NULL = none */
    const char *tls_pin, *tls_ca; /* NULL = not given (proto/peer.h) */
    bool is_clear;                /* the token may be sent over a network in clear text */
    int64_t delay_ms;             /* for tests: each call starts after a random time up to this */
    uint64_t delay_seed;
};
/* ERR_ARG: the token would be sent in clear text to another machine, or a pin is none. */
struct http *http_new(struct loop *loop, const struct http_conf *conf, struct err *err);
void http_free(struct http *h); /* drops calls under way without on_done */

struct http_reply {
    int status;             /* 0 = no answer: err is ERR_UNREACHABLE, ERR_TIMEOUT or ERR_IO */
    struct err err;         /* also set if status >= 400, from the answer's problem+json */
    int64_t retry_after_ms; /* -1 = the answer does not say */
    int64_t bytes;          /* Content-Length; -1 = the answer does not say */
    const char *body;       /* ends with a NUL; "" if on_data took it */
    size_t len;
    int64_t sent_ms; /* the loop's clock when the call began */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE };
struct http_request {
    enum http_method method;
    const char *path; /* "/api/v1/..." */
    char *body;       /* heap (mem_), owned by the call from now on; may be NULL */
    size_t body_len;
    bool is_json;
    int64_t range_from; /* > 0: ask for the bytes from here on */
    int64_t limit_ms;   /* of the whole call; 0 = it ends only after 30 s without a byte */
    /* Gets the body of a 200 (from its start) or a 206 (from range_from) piece by piece. -1 breaks
     * the call off. It may not send or cancel calls. NULL: the body is collected, up to 8 MiB. */
    int (*on_data)(void *arg, int status, const void *p, size_t n);
    void (*on_done)(void *arg, const struct http_reply *r);
    void *arg;
};
struct http_call *http_send(struct http *h, const struct http_request *req);
/* POSTs a JSON body. limit_ms as above. */
struct http_call *http_post_json(struct http *h, const char *path, json_t *body_steal,
                                 int64_t limit_ms,
                                 void (*on_done)(void *arg, const struct http_reply *r), void *arg);
void http_cancel(struct http_call *call); /* without on_done; NULL is legal */

/* Can the same call work later? True for no answer, 401, 403, 408, 429 and 5xx. The two refusals of
 * the token are included because agent.c decides whether they are final. */
bool http_may_retry(const struct http_reply *r);

#endif
