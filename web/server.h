/* server.h - the HTTP side of assayd: listeners, limits, who may come in, answers. controller/main.c makes
 * one after the controller is up and frees it before the controller goes. Everything runs on the loop's
 * thread. Two doors: a Unix socket in a private folder, whose users are administrators, and a TCP listener
 * on which everything but /health needs a bearer token or the page's session cookie. */
#ifndef WEB_SERVER_H
#define WEB_SERVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct loop;
struct web;

/* 0 and NULL are the defaults. */
struct web_conf {
    /* Unix socket, made 0600; its folder must not be writable by others; NULL = none */
    const char *socket_path;
    /* "127.0.0.1:7878", "[::1]:0", "0.0.0.0:7878"; port 0 = any free; NULL = none */
    const char *listen;
    /* What the Host header may be besides addresses, localhost and this machine's name: "a.lan,b" */
    const char *host_names;
    bool dev;                   /* opens /api/v1/debug */
    int64_t max_connections;    /* 4096; further ones wait in the listener's queue */
    int64_t max_inflight_bytes; /* 64 MiB of bodies being read, all connections; over it: 503 */
    int64_t idle_ms;            /* 60000 of silence close a connection */
    int64_t request_ms;         /* 120000 for a request to arrive whole */
    int64_t heartbeat_ms;       /* 15000 between signs of life on event streams */
};

enum { WEB_HEADER_MAX = 16 << 10, WEB_BODY_MAX = 8 << 20, WEB_STREAM_MAX = 256 << 10 };

/* Borrows ctl and loop until web_free; conf's strings are copied. */
struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err);
/* Closes every connection and waiting answer; the socket file goes. NULL is legal. */
void web_free(struct web *web);
/* No new connection from now on (graceful stop); what is being answered goes on. */
void web_close_doors(struct web *web);
const char *web_address(
    const struct web *web); /* "http://127.0.0.1:7878", "" without a TCP listener; borrowed */

#endif
