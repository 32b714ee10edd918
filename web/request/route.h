/* route.h - a row of the table of everything that assayd answers: method, path, who may call it,
 * what it takes and what it gives. The same rows drive the checks before a handler runs (run.c),
 * 405 with Allow, and openapi.json. */
#ifndef WEB_REQUEST_ROUTE_H
#define WEB_REQUEST_ROUTE_H

#include "web/request/req.h"

/* Roles that may call. */
enum web_allow {
    WEB_VIEWERS = 1 << CTL_VIEWER | 1 << CTL_USER | 1 << CTL_ADMIN,
    WEB_USERS = 1 << CTL_USER | 1 << CTL_ADMIN,
    WEB_RUNNERS = 1 << CTL_RUNNER | 1 << CTL_ADMIN,
    WEB_UPLOADERS = WEB_USERS | WEB_RUNNERS,
    WEB_ANYONE = WEB_VIEWERS | WEB_RUNNERS, /* anyone with a token */
    WEB_ADMINS = 1 << CTL_ADMIN,
};

enum web_flags {
    WEB_WRITE = 1,    /* a savepoint; answered after the turn's commit */
    WEB_JSON = 2,     /* needs a JSON object as its body */
    WEB_JSON_MAY = 4, /* may have one */
    WEB_RAW = 8,      /* takes bytes */
    WEB_ADMIT = 16,   /* refused under back-pressure */
    WEB_OPEN = 32,    /* needs no token */
    WEB_DEV = 64,     /* only with --dev */
    WEB_HTML = 128,   /* for a person in a browser: errors are pages */
    WEB_ONCE =
        256, /* makes something new: repeated under an Idempotency-Key it does not (once.h) */
    WEB_TICKET =
        1024, /* a file: the page may bring a ticket in the address instead of its header */
    WEB_NO_PAGE = 2048, /* makes a key or speaks for a runner: not by a session of the page */
};

struct web_route {
    enum web_method method; /* WEB_GET also answers HEAD */
    const char *pattern;    /* "/api/v1/studies/{ref}/pause" */
    int (*run)(struct web_req *r, struct err *err);
    unsigned allow, flags;
    const char *query;         /* "state,after,limit": any other key is an error; NULL = none */
    const char *summary;       /* one line, for people */
    const char *takes, *gives; /* names of schemas in openapi.c; NULL = none */
};

/* The routes of one file of handlers. */
struct web_table {
    const struct web_route *routes;
    size_t n;
};
/* All of them: web/api/tables.c. */
struct web_tables {
    const struct web_table *const *tables;
    size_t n;
};

const struct web_route *web_route_at(const struct web_tables *all,
                                     size_t i); /* NULL past the end */

struct web_asked {
    enum web_method method;
    const struct args_path *path;
    bool is_dev;
};
/* Fills vars. 1 found; 0 none: then *others tells which methods this path has (1 << method). */
int web_route_find(const struct web_tables *all, const struct web_asked *asked,
                   const struct web_route **out, const char *vars[WEB_VARS_MAX], unsigned *others);

#endif
