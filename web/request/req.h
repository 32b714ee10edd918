/* req.h - one HTTP request as the handlers see it, and what all requests share. A handler reads
 * path variables, query and body, calls one function of controller/api.h, sets one answer and
 * returns 0, or fills err and returns -1: run.c turns that into a status. Only send.c, which sends
 * the answer, and run.c touch the connection.
 *
 * A request lives until its answer is sent and the last callback that was given it has come
 * (web_hold, web_release), also when its client left long ago. */
#ifndef WEB_REQUEST_REQ_H
#define WEB_REQUEST_REQ_H

#include "base/arena.h"
#include "base/err.h"
#include "controller/api.h"
#include "web/http/args.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;
struct fair;
struct feed;
struct http_server;
struct loop;
struct web_req;
struct web_route;
struct web_tables;

enum web_method {
    WEB_GET,
    WEB_HEAD,
    WEB_POST,
    WEB_PUT,
    WEB_PATCH,
    WEB_DELETE,
    WEB_OTHER,
    WEB_METHODS
};
extern const char *const web_method_name[WEB_METHODS];

enum {
    WEB_VARS_MAX = 2,
    WEB_HEADERS_MAX = 12,
    WEB_BODY_MAX = 8 << 20,      /* of routes that take bytes, and of runners' reports */
    WEB_JSON_MAX = 1 << 20,      /* of all others */
    WEB_OPEN_BODY_MAX = 4 << 10, /* without a token, where none is needed */
    WEB_STREAM_MAX = 256 << 10,  /* waiting in an event stream whose client does not read */
};

/* What all requests share. web/server.c makes it and frees it. */
struct web {
    struct ctl *ctl;
    struct loop *loop;
    struct http_server *http;
    const struct web_tables *tables; /* of all routes */
    char *host_names; /* what the Host header may be besides addresses and localhost: "a.lan,b" */
    bool dev;         /* routes with WEB_DEV are open */
    int64_t heartbeat_ms; /* between signs of life on event streams */
    struct web_req *reqs; /* all that are alive */
    struct feed *feed;    /* web/api/feed.h; NULL before the first reader */
    struct fair *fair;    /* web/request/fair.h; NULL before the first request that waits */
    int64_t answers[6];   /* how many were sent, by class: answers[2] counts 200 to 299 */
};

struct web_answer {
    int status;       /* 0 = none yet */
    const char *type; /* lives for ever */
    void *bytes;      /* heap when is_owned */
    size_t len;
    bool is_owned;
    int fd; /* >= 0: `len` bytes of this file from `offset` instead; closed when sent */
    int64_t offset;
    int n_headers;
    struct args_pair headers[WEB_HEADERS_MAX]; /* in the arena, or living for ever */
};

struct web_req {
    struct web *web; /* NULL once the server is gone */
    struct ctl *ctl;
    struct arena arena;
    struct conn *conn;  /* NULL once it is answered or the client is gone */
    const char *target; /* of the request's first line; borrowed until the answer */
    const struct web_route *route;
    enum web_method method;
    const char *method_text; /* as the client wrote it; borrowed until the answer */
    bool is_local;           /* came by the Unix socket: an administrator */
    struct args_path path;
    struct args_query query;
    const char *vars[WEB_VARS_MAX]; /* what {x} of the route's pattern stand for, in order */
    struct ctl_who who;             /* auth.c fills it */
    const char *body;               /* borrowed from the wire until the handler returns */
    size_t body_len;
    json_t *json; /* the body, for WEB_JSON routes; owned */
    struct web_answer answer;
    int holds;
    bool is_sent;     /* answered, or nobody is left to answer */
    bool is_handed;   /* the body has come, and the handler was or will be called */
    bool is_stream;   /* its answer has no end: web_stream_start was called */
    bool is_deferred; /* the handler answers later, by web_finish */
    bool is_again;    /* its handler ran once more, because what it had read was undone */
    void *state;      /* a handler's own, of a deferred answer */
    void (*on_gone)(struct web_req *r);    /* the client left: cancel what would have answered */
    void (*on_drained)(struct web_req *r); /* a stream: the client has read everything */
    struct web_req *next, **link;          /* all that are alive */
    struct web_req *next_waiting;          /* in its line (fair.h) */
};

struct web_req *web_req_new(struct web *web);
void web_hold(struct web_req *r);
void web_release(struct web_req *r); /* frees at the last one */

/* Arguments. A missing one leaves *out as it was. */
int web_var_i64(const struct web_req *r, int var, int64_t *out, struct err *err);
int web_arg_i64(const struct web_req *r, const char *key, int64_t min, int64_t max, int64_t *out,
                struct err *err);
int web_arg_bool(const struct web_req *r, const char *key, bool *out, struct err *err);
const char *web_arg(const struct web_req *r, const char *key); /* NULL = absent */

/* Answers; each replaces the one before. web_json takes the value. */
int web_json(struct web_req *r, int status, json_t *value);
/* JSON that was written as text; the buffer is empty afterwards. */
int web_json_text(struct web_req *r, int status, struct buf *text);
int web_bytes(struct web_req *r, int status, const char *type, const void *p,
              size_t n); /* copied */
int web_fixed(struct web_req *r, int status, const char *type, const void *p,
              size_t n); /* lives for ever */
/* A file that never changes; honours Range, and If-None-Match against etag. */
int web_file(struct web_req *r, const char *type, const char *path, const char *etag,
             struct err *err);
void web_problem(struct web_req *r, const struct err *err);
void web_problem_page(struct web_req *r, const struct err *err); /* for a person in a browser */
void web_page_headers(
    struct web_req *r); /* what every page carries: content security policy and more */
void web_header_add(struct web_req *r, const char *name,
                    const char *value); /* copied to the arena */

const char *web_header(
    const struct web_req *r,
    const char *name); /* of the request; NULL = absent, or its client has left */

#endif
