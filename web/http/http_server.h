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
    /* may listen where other machines can reach it, without TLS */
    bool insecure;
    /* Files of the certificate chain and of its private key (tls.h): TCP is TLS then. Both or
     * neither. */
    const char *tls_cert, *tls_key;
    /* Connections at each door that have shown a token; default 32768, or as many as the limit of
     * open files allows. A request that would be one more is answered 503. */
    int64_t max_connections;
    /* Connections at a door without a valid token, beside those; default an eighth, but 512 to
     * 2048, and at most a quarter. */
    int64_t max_strangers;
    /* The same from one address; default 32. An IPv6 /64 network counts as one address. */
    int64_t max_strangers_per_address;
    /* Bytes of bodies that have not arrived whole, at each door; default 64 MiB. Beyond it the
     * request with the largest is answered 503. */
    int64_t max_inflight_bytes;
    /* Milliseconds that the head of a request may take, and everything on a connection without a
     * token; default 10000. */
    int64_t head_ms;
    /* Milliseconds without a byte from the client, or without it reading an answer, after which a
     * connection is closed; default 60000. */
    int64_t idle_ms;
    /* Milliseconds until a request must have arrived whole; default 120000. */
    int64_t request_ms;
};

/* ERR_ARG if one of the addresses cannot be, or must not be, listened on. Opens nothing. */
int http_conf_check(const struct http_conf *conf, struct err *err);
/* Makes a certificate that signs itself, as tls_make (tls.h) says. */
int http_cert_make(const char *cert_path, const char *key_path, const char *names, struct err *err);
/* Opens the doors. Borrows the loop until http_server_free; conf's strings are copied. owner: for
 * the hooks. */
struct http_server *http_server_new(struct loop *loop, const struct http_conf *conf,
                                    const struct conn_hooks *hooks, void *owner, struct err *err);
/* Closes every connection and removes the socket file. NULL is legal. */
void http_server_free(struct http_server *http);
/* Accepts no connections from now on; those that are open stay. */
void http_server_close_doors(struct http_server *http);
/* An address for a browser, "http://127.0.0.1:7878"; "" without a TCP listener; borrowed. */
const char *http_server_address(const struct http_server *http);
/* The hash of the key of the TCP listener's certificate (tls_pin); "" without TLS; borrowed. */
const char *http_server_pin(const struct http_server *http);
/* What it listens on, "0.0.0.0:7878", if other machines can reach that and nothing is encrypted;
 * else "". Borrowed. */
const char *http_server_beyond(const struct http_server *http);
int http_server_port(const struct http_server *http);      /* 0 without a TCP listener */
int64_t http_server_count(const struct http_server *http); /* open connections */
enum http_door { HTTP_UNIX, HTTP_TCP };
/* How many connections with a token this door takes; 0 = it is not there. *open: how many are
 * open. */
int64_t http_server_room(const struct http_server *http, enum http_door at, int64_t *open);

#endif
