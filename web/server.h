/* server.h - the HTTP side of assayd: a Unix socket in a private folder, whose users are
 * administrators, and a TCP listener on which everything but /health needs a bearer token or the
 * page's session. controller/main.c makes one after the controller is up and frees it before the
 * controller goes. Everything runs on the loop's thread. */
#ifndef WEB_SERVER_H
#define WEB_SERVER_H

#include "base/err.h"
#include "web/http/http_server.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct loop;
struct web;

/* 0 and NULL are the defaults. */
struct web_conf {
    struct http_conf http;
    /* What the Host header may be besides addresses, localhost and this machine's name: "a.lan,b"
     */
    const char *host_names;
    bool dev;             /* opens /api/v1/debug */
    int64_t heartbeat_ms; /* 15000 between signs of life on event streams */
};

/* Borrows ctl and loop until web_free; conf's strings are copied. */
struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err);
/* Closes every connection and waiting answer; the socket file goes. NULL is legal. */
void web_free(struct web *web);
/* No new connection from now on (graceful stop); what is being answered goes on. */
void web_close_doors(struct web *web);
/* Its server, for http_server_address and the like. */
const struct http_server *web_http(const struct web *web);

#endif
