/* server.c - builds and frees the HTTP side of assayd (server.h). It connects the folders of web/:
 * the HTTP server (web/http) calls web/request when a request comes, and web/request finds the
 * handler in the tables of web/api. */
#include "web/server.h"

#include "base/mem.h"
#include "web/api/feed.h"
#include "web/api/tables.h"
#include "web/request/fair.h"
#include "web/request/run.h"

#include <stdio.h>
#include <unistd.h>

/* Returns the names that a Host header may contain besides addresses and localhost: this machine's
 * name and the given ones. Other names are refused, because a stranger's web page could reach
 * assayd under a name that the stranger's DNS gives to this address. A browser does not ask a
 * stranger's DNS for this machine's own name. */
static char *names_new(const char *given)
{
    char host[256] = "", all[1200];

    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    if (snprintf(all, sizeof all, "%s,%s", host, given ? given : "") >= (int)sizeof all)
        return mem_strdup(given);
    return mem_strdup(all);
}

struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err)
{
    struct web *web = mem_zalloc(sizeof *web);

    web->ctl = ctl;
    web->loop = loop;
    web->tables = &web_tables;
    web->host_names = names_new(conf->host_names);
    web->dev = conf->dev;
    web->heartbeat_ms = conf->heartbeat_ms > 0 ? conf->heartbeat_ms : 15000;
    web->http = http_server_new(loop, &conf->http, &web_hooks, web, err);
    if (!web->http) {
        web_free(web);
        return NULL;
    }
    return web;
}

void web_free(struct web *web)
{
    if (!web)
        return;
    http_server_free(web->http);
    fair_free(web->fair, run_drop);
    feed_free(web->feed);
    /* The requests that are left wait for a callback of the controller, which frees them. They must
     * not use `web` any more. */
    for (struct web_req *r = web->reqs; r; r = r->next) {
        r->web = NULL;
        *r->link = NULL;
        r->link = NULL;
    }
    mem_free(web->host_names);
    mem_free(web);
}

void web_close_doors(struct web *web)
{
    http_server_close_doors(web->http);
}

const struct http_server *web_http(const struct web *web)
{
    return web->http;
}
