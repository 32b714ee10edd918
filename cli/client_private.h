/* client_private.h - a client from within, for the files client*.c; no other file includes it. */
#ifndef CLI_CLIENT_PRIVATE_H
#define CLI_CLIENT_PRIVATE_H

#include "cli/client.h"

#include <curl/curl.h>

struct client {
    CURL *curl;
    char *server; /* as given, for texts */
    char *socket; /* path, or NULL for TCP */
    char *base;   /* http://host:port */
    char *token;
    int64_t timeout_ms;
    int64_t patience_ms;   /* client_patience */
    const struct clk *clk; /* of deadline_ms; NULL = none */
    int64_t deadline_ms;
    int (*wants_end)(void); /* true ends the present call; NULL = nobody asks */
    /* Of the present call: */
    bool has_headers;        /* all of them have arrived */
    char sha256[SHA256_HEX]; /* X-Assay-SHA256; "" = none */
};

struct curl_slist *client_prepare(struct client *c, const char *method, const char *path);
/* After client_prepare. An answer that was cut off anywhere, in its headers too, is no success. */
CURLcode client_perform(struct client *c);
/* 0 for 2xx. Everything else is an error, a redirect too. */
int client_check(struct client *c, const char *body, size_t n, struct err *err);
/* After a call that failed: waits a moment, longer each time, and says whether to repeat it, because the controller is busy
 * and its owner patient. *waited_ms: 0 at first. */
bool client_repeats(const struct client *c, const struct err *why, int64_t *waited_ms);
bool client_wants_end(const struct client *c); /* the user asked to stop (client_end_when) */
int client_curl_error(const struct client *c, CURLcode rc, struct err *err);

#endif
