/* client_private.h - the inside of a client, for the files client*.c only. */
#ifndef CLI_CLIENT_PRIVATE_H
#define CLI_CLIENT_PRIVATE_H

#include "cli/client.h"
#include "proto/peer.h"

#include <curl/curl.h>

struct client {
    CURL *curl;
    char *server; /* the address as it was given, for messages */
    char *socket; /* path, or NULL for TCP */
    char *base;   /* http://host:port */
    char *token;
    char *tls_pin, *tls_ca;
    struct peer peer; /* points to the texts above */
    int64_t timeout_ms;
    int64_t patience_ms;   /* how long to wait while the controller is busy (client_patience) */
    const struct clk *clk; /* the clock of deadline_ms; NULL = no deadline */
    int64_t deadline_ms;
    /* Whether the controller is there again after a call without an answer; NULL = nobody knows. */
    bool (*is_back)(void *arg, int64_t most_ms, struct err *why);
    void *back_arg;
    int (*wants_end)(void); /* asked during transfers: non-zero ends the call; NULL = never */
    /* The rest belongs to the present call. */
    bool has_headers; /* all headers have arrived */
    bool timed_out;
    char sha256[SHA256_HEX]; /* X-Assay-SHA256; "" = none */
};

struct curl_slist *client_prepare(struct client *c, const char *method, const char *path);
/* Performs the call that client_prepare began. An answer that was cut off anywhere, also within
 * its headers, is not a success. */
CURLcode client_perform(struct client *c);
/* Returns 0 for a status 2xx. Every other status is an error, a redirect too. */
int client_check(struct client *c, const char *body, size_t n, struct err *err);
/* After a failed call: if the controller is busy and client_patience allows it, waits (longer
 * each time) and returns true to repeat the call; also if it had gone and is back (client_when_gone).
 * *waited_ms begins at 0. Where it is gone for good, *why may become the reason. */
bool client_repeats(const struct client *c, struct err *why, int64_t *waited_ms);
bool client_wants_end(const struct client *c); /* the user asked to stop (client_end_when) */
bool client_is_over(const struct client *c, int64_t ms); /* the deadline is at most ms away */
int client_curl_error(const struct client *c, CURLcode rc, struct err *err);

#endif
