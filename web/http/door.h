/* door.h - one listening socket and the connections that came through it: accepting in small portions, a gate
 * of its own (gate.h) that says who must leave, and a sweep each second for those whose time is over. */
#ifndef WEB_HTTP_DOOR_H
#define WEB_HTTP_DOOR_H

#include "web/http/conn.h"

struct door;
struct loop;

struct door_conf {
    const char *name; /* in the log: "tcp", "unix"; lives for ever */
    struct gate_limits limits;
    bool is_local; /* a Unix socket in a private folder: nobody is a stranger */
    int64_t
        idle_ms; /* between requests, and without progress of an answer, once a token was shown */
    int64_t head_ms;    /* for the head of a request, and the whole patience with strangers */
    int64_t request_ms; /* for a whole request */
    struct conn_hooks hooks;
    void *arg; /* door_arg */
};

/* Takes the listening descriptor. */
struct door *door_new(struct loop *loop, int listen_fd, const struct door_conf *conf);
void door_free(struct door *d);  /* with every connection; NULL is legal */
void door_close(struct door *d); /* accepts no more; who is inside stays */
void *door_arg(const struct door *d);
int64_t door_count(const struct door *d); /* connections */
int64_t door_bytes(const struct door *d); /* of unfinished requests */

/* For conn.c. */
struct loop *door_loop(const struct door *d);
const struct door_conf *door_conf_get(const struct door *d);
struct gate *door_gate(struct door *d);
int64_t door_now(const struct door *d);
void door_settle(struct door *d);             /* shows out whoever is over a limit */
void door_left(struct door *d, size_t bytes); /* a connection that held so many was freed */

#endif
