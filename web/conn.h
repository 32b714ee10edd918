/* conn.h - the connections behind evhttp, which tells us of a request only when it is whole: how many there
 * are, how many bytes of unfinished requests they hold, since when. Too many connections close the doors
 * until one ends; too many bytes, or a request that never ends, cost the connection that did it. */
#ifndef WEB_CONN_H
#define WEB_CONN_H

#include "base/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct bufferevent;
struct conn_set;

struct conn_limits {
    int64_t max_connections, max_inflight_bytes, request_ms;
    void (*on_full)(void *arg, bool is_full); /* stop or resume accepting */
    void *arg;
};

struct conn_set *conn_set_new(struct loop *loop, const struct conn_limits *limits);
void conn_set_free(struct conn_set *set); /* after every bufferevent of it was freed */
/* evhttp's bevcb; arg is the set. */
struct bufferevent *conn_new(struct event_base *base, void *arg);
/* The request being read on this connection is whole and is being handled. */
void conn_request_whole(struct conn_set *set, struct bufferevent *bev);
/* evhttp is freeing a connection: its descriptor is closed in the next turn. */
void conn_over(struct conn_set *set);
void conn_retry(
    struct conn_set *set); /* accepting failed and was stopped: resume at the next tick */
int64_t conn_count(const struct conn_set *set);
int64_t conn_inflight(const struct conn_set *set);

#endif
