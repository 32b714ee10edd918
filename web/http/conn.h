/* conn.h - one connection that speaks HTTP/1.x. It reads requests one after another, hands each of
 * them to its owner twice (when the head has arrived, and when the body has), writes the answer,
 * and then reads the next request or closes. It knows nothing of addresses, tokens or JSON: the
 * owner attaches a request of its own to the connection and is called back through conn_hooks.
 *
 * All connections of one door share a conn_group: the gate that says how many may stay (gate.h),
 * the time limits and the hooks. The door (door.h) makes connections and asks once a second for
 * conn_check_all.
 *
 * Everything runs on the loop's thread. Only conn_read_now, conn_check_all, conn_free_all and the
 * connection's own events free a connection; if a request was still attached, its owner is told by
 * on_gone. */
#ifndef WEB_HTTP_CONN_H
#define WEB_HTTP_CONN_H

#include "web/http/gate.h"
#include "web/http/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct evbuffer;
struct loop;
struct tls;

enum { HTTP_HEAD_MAX = 16 << 10 }; /* bytes of a request's first line and headers */

/* What a connection tells its owner; `request` is what on_head attached. */
struct conn_hooks {
    /* The head of a request is there, its body not yet. Attaches a request (conn_attach), and
     * either lets the body come or has answered already. */
    void (*on_head)(struct conn *c, const struct head *head);
    /* The body is there, borrowed until the request is answered or conn_body_drop is called. */
    void (*on_body)(void *request, const char *body, size_t n);
    /* The connection is gone or going without the answer having been sent; conn calls are over. */
    void (*on_gone)(void *request);
    /* conn_watch: the client left while it was to be answered; the connection is still there. */
    void (*on_left)(void *request);
    /* A stream's bytes have all been taken by the kernel. */
    void (*on_drained)(void *request);
};

struct conn_conf {
    struct gate_limits limits;
    bool is_local;   /* a Unix socket in a private folder: nobody is a stranger */
    struct tls *tls; /* connections are encrypted (tls.h); borrowed; NULL = they are not */
    /* How long a connection that has shown a token may be idle between requests, and how long the
     * client may take no bytes of an answer. */
    int64_t idle_ms;
    int64_t head_ms;    /* for the head of a request, and for everything that a stranger does */
    int64_t request_ms; /* for a whole request */
    struct conn_hooks hooks;
    void *owner; /* for the hooks */
};

/* What the connections of one door have in common. The door owns it, and frees all connections
 * before it goes. */
struct conn_group {
    struct conn_conf conf;
    struct loop *loop;
    struct gate gate;
    void (*on_freed)(struct conn_group *g); /* one has gone, so there may be room for another */
    /* Connections that the gate has refused or ended, by reason; connections that have gone, and
     * the bytes they held. The door reports these numbers and sets them back to 0. */
    int64_t shed[GATE_REASONS];
    int64_t freed, freed_bytes;
};

/* Takes over fd. address: as gate_address gives it. */
struct conn *conn_new(struct conn_group *group, int fd, uint64_t address);
/* For a fresh connection, whose first request may have arrived already. May free it. */
void conn_read_now(struct conn *c);
struct conn_group *conn_group(const struct conn *c);

/* Ends connections until all limits of the gate are kept. A request that was on its way is answered
 * 503. */
void conn_settle(struct conn_group *g);
/* Answers 408 to requests that take too long, and frees connections that were idle too long. To be
 * called once a second. */
void conn_check_all(struct conn_group *g);
void conn_free_all(struct conn_group *g);

/* These may be called between on_head and the answer. */
void conn_attach(struct conn *c, void *request);
void conn_body_max(struct conn *c, int64_t max); /* a longer body is answered 413 */
bool conn_is_known(const struct conn *c);
const char *conn_header(const struct conn *c, const char *name); /* NULL = the request has none */
/* This request did or did not show a valid token. False = it did, but known connections have taken
 * all places of the door (conn_places). */
bool conn_know(struct conn *c, bool is_known);
int64_t conn_places(const struct conn *c);
void conn_end_after(struct conn *c); /* the connection closes after the answer */
void conn_body_drop(struct conn *c); /* the body that on_body gave is needed no more */
/* on_left is called once when the client hangs up before the answer is sent. */
void conn_watch(struct conn *c);

/* Answers; the request is detached. fields: whole lines "Name: value\r\n"; both buffers are
 * emptied. body_len: what Content-Length says, also when the body is left out (HEAD); -1 = no such
 * line (204, 304). */
void conn_answer(struct conn *c, int status, struct evbuffer *fields, struct evbuffer *body,
                 int64_t body_len);
/* An answer without an end: the request stays attached until conn_stream_end or on_gone. */
void conn_stream_start(struct conn *c, struct evbuffer *fields);
void conn_stream_add(struct conn *c, const void *p, size_t n);
size_t conn_stream_pending(const struct conn *c); /* bytes not yet taken by the kernel */
void conn_stream_end(struct conn *c);

#endif
