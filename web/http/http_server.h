/* http_server.h - a small HTTP/1.x server: up to two doors (a Unix socket in a private folder, a
 * TCP listener), each with limits of its own. Its owner is told of requests through conn_hooks and
 * answers with the functions of conn.h; nothing in this folder knows what the requests mean. */
#ifndef WEB_HTTP_HTTP_SERVER_H
#define WEB_HTTP_HTTP_SERVER_H

#include "base/err.h"
#include "web/http/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct http_server;
struct loop;

/* 0 and NULL are the defaults. */
struct http_conf {
    /* Unix socket, made 0600; its folder must not be writable by others; NULL = none */
    const char *socket_path;
    /* "127.0.0.1:7878", "[::1]:0", "0.0.0.0:7878"; port 0 = any free; NULL = none */
    const char *listen;
    bool insecure; /* may listen where other machines can reach it, without TLS */
    /* 4096 for each door; when all of them have shown a token, further ones wait in the kernel's
     * queue */
    int64_t max_connections;
    int64_t max_strangers; /* 512 connections without a valid token, at most a quarter */
    int64_t max_strangers_per_address; /* 32; an IPv6 /64 is one address */
    int64_t max_inflight_bytes; /* 64 MiB of unfinished bodies at each door; the largest gets 503 */
    int64_t head_ms;            /* 10000 for the head of a request, and for all a stranger does */
    int64_t idle_ms;            /* 60000 of silence, or of an answer not read, close a connection */
    int64_t request_ms;         /* 120000 for a request to arrive whole */
};

/* Whether conf may be listened on, before anything is made: ERR_ARG. */
int http_conf_check(const struct http_conf *conf, struct err *err);
/* Opens the doors. Borrows the loop until http_server_free; conf's strings are copied. owner: for
 * the hooks. */
struct http_server *http_server_new(struct loop *loop, const struct http_conf *conf,
                                    const struct conn_hooks *hooks, void *owner, struct err *err);
/* Closes every connection; the socket file goes. NULL is legal. */
void http_server_free(struct http_server *http);
/* No new connection from now on; those that are there stay. */
void http_server_close_doors(struct http_server *http);
/* "http://127.0.0.1:7878", to be typed into a browser; "" without a TCP listener; borrowed. */
const char *http_server_address(const struct http_server *http);
/* "0.0.0.0:7878": what it listens on, when other machines can reach that, or "". */
const char *http_server_beyond(const struct http_server *http);
int http_server_port(const struct http_server *http);      /* 0 without a TCP listener */
int64_t http_server_count(const struct http_server *http); /* open connections */

#endif
