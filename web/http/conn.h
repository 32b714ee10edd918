/* conn.h - one connection, which speaks HTTP/1.x: it reads requests one after another, hands each over twice
 * (when its head is there, and when its body is), writes the answer, and goes on or closes. It knows nothing
 * of routes or tokens; its door (door.h) decides how long it may take and when it must go. Everything runs on
 * the loop's thread. No other call below frees a connection: that only happens in its own events and in the door's
 * sweep, and its owner then hears on_gone if a request was still attached. */
#ifndef WEB_HTTP_CONN_H
#define WEB_HTTP_CONN_H

#include "web/http/gate.h"
#include "web/http/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct door;
struct evbuffer;
struct event_base;

/* What the connection tells; `request` is what on_head attached. */
struct conn_hooks {
    /* The head of a request is there, its body not yet. Attaches a request (conn_attach), and either lets
     * the body come or has answered already. */
    void (*on_head)(struct conn *c, const struct head *head);
    /* The body is there, borrowed until the hook returns. */
    void (*on_body)(void *request, const char *body, size_t n);
    /* The connection is gone or going without the answer having been sent; conn calls are over. */
    void (*on_gone)(void *request);
    /* conn_watch: the client left while it was to be answered; the connection is still there. */
    void (*on_left)(void *request);
    /* A stream's bytes have all been taken by the kernel. */
    void (*on_drained)(void *request);
};

/* fd is taken, also on failure. address: for the gate; is_known: needs no token. */
struct conn *conn_new(struct door *door, int fd, uint64_t address, bool is_known);
/* For a fresh one whose first request may be there already; may free it. */
void conn_read_now(struct conn *c);
void conn_free(struct conn *c);
struct door *conn_door(const struct conn *c);

/* Between on_head and the answer. */
void conn_attach(struct conn *c, void *request);
void conn_body_max(struct conn *c, int64_t max); /* a longer body is answered 413 */
bool conn_is_known(const struct conn *c);
const char *conn_header(const struct conn *c, const char *name); /* of the request; NULL = absent */
void conn_know(struct conn *c, bool is_known); /* this request did or did not show a valid token */
/* on_left is called once when the client hangs up before the answer is sent. */
void conn_watch(struct conn *c);

/* Answers; the request is detached. fields: whole lines "Name: value\r\n"; both buffers are emptied.
 * body_len: what Content-Length says, also when the body is left out (HEAD); -1 = no such line (204, 304). */
void conn_answer(struct conn *c, int status, struct evbuffer *fields, struct evbuffer *body,
                 int64_t body_len);
/* An answer without an end: the request stays attached until conn_stream_end or on_gone. */
void conn_stream_start(struct conn *c, struct evbuffer *fields);
void conn_stream_add(struct conn *c, const void *p, size_t n);
size_t conn_stream_pending(const struct conn *c); /* bytes not yet taken by the kernel */
void conn_stream_end(struct conn *c);

/* For the door. Answers 503 if a request was on its way, lets an answer end, and closes. */
void conn_shed(struct conn *c);
/* If its time is over it is answered 408, or must be freed (*is_dead). */
void conn_check(struct conn *c, int64_t now_ms, bool *is_dead);
struct conn *conn_of_guest(struct guest *guest);

const char *conn_status_text(int status);

#endif
