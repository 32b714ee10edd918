/* route.h - the table of everything assayd answers: method, path, who may, what it takes and gives. The same
 * rows drive dispatch, the checks before a handler runs, 405 with Allow, and openapi.json. */
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

struct web_table {
    const struct web_route *routes;
    size_t n;
};
extern const struct web_table web_study_table, web_trial_table, web_data_table, web_runner_table,
    web_events_table, web_auth_table, web_service_table, web_debug_table, web_page_table;

const struct web_route *web_route_at(size_t i); /* all of them, in order; NULL past the end */
/* Fills vars. 1 found; 0 none: then *others tells which methods this path has (1 << method). */
int web_route_find(enum web_method method, const struct args_path *path, bool is_dev,
                   const struct web_route **out, const char *vars[WEB_VARS_MAX], unsigned *others);
/* Everything that the head of a request decides; uri: as on its first line. False = it was refused and
 * answered. */
bool web_admit(struct web_req *r, const char *uri);
/* Checks the body, runs the handler, answers; only after web_admit. The request is released. */
void web_run(struct web_req *r, const char *uri);

/* web/request/auth.c: who is this, and may they? Sets r->who; ERR_AUTH or ERR_DENIED. uri: as on the request line. */
int web_auth_check(struct web_req *r, const char *uri, struct err *err);
/* Host and Origin of a TCP request: ERR_DENIED. */
int web_auth_origin(const struct web_req *r, struct err *err);
/* The cookie of the page's session on its way out; NULL = it is taken back. */
void web_auth_cookie(struct web_req *r, const char *cookie);

void web_page_error(struct web_req *r,
                    const struct err *err); /* web/api/page.c: for people, not programs */

/* web/api/data.c: the bytes of a blob, its file checked against its hash first; the answer may come later. */
int web_blob(struct web_req *r, const char *sha256, struct err *err);
/* web/api/study.c: a model file under a name that a person keeps */
int web_artifact(struct web_req *r, const char *sha256, const char *file_name, struct err *err);

/* web/api/openapi.c */
json_t *web_openapi_new(void);

#endif
