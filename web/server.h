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
    bool insecure; /* may listen where other machines can reach it, without TLS */
    bool dev;      /* opens /api/v1/debug */
    /* 4096 for each door; when all of them have shown a token, further ones wait in the kernel's queue */
    int64_t max_connections;
    int64_t max_strangers; /* 512 connections without a valid token, at most a quarter */
    int64_t max_strangers_per_address; /* 32; an IPv6 /64 is one address */
    int64_t max_inflight_bytes; /* 64 MiB of unfinished bodies at each door; the largest gets 503 */
    int64_t head_ms;            /* 10000 for the head of a request, and for all a stranger does */
    int64_t idle_ms;            /* 60000 of silence, or of an answer not read, close a connection */
    int64_t request_ms;         /* 120000 for a request to arrive whole */
    int64_t heartbeat_ms;       /* 15000 between signs of life on event streams */
};

enum {
    WEB_HEADER_MAX = 16 << 10,
    WEB_BODY_MAX = 8 << 20,      /* of routes that take bytes, and of runners' reports */
    WEB_JSON_MAX = 1 << 20,      /* of all others */
    WEB_OPEN_BODY_MAX = 4 << 10, /* without a token, where none is needed */
    WEB_STREAM_MAX = 256 << 10,
};

/* Whether conf may be listened on, before anything is made: ERR_ARG. */
int web_conf_check(const struct web_conf *conf, struct err *err);
/* Borrows ctl and loop until web_free; conf's strings are copied. */
struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err);
/* Closes every connection and waiting answer; the socket file goes. NULL is legal. */
void web_free(struct web *web);
/* No new connection from now on (graceful stop); what is being answered goes on. */
void web_close_doors(struct web *web);
/* "http://127.0.0.1:7878", to be typed into a browser; "" without a TCP listener; borrowed. */
const char *web_address(const struct web *web);
/* "0.0.0.0:7878": what it listens on, when other machines can reach that, or "". */
const char *web_beyond(const struct web *web);

#endif
