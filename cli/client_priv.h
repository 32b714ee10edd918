/* client_priv.h - what client.c and client_upload.c share; nobody else includes it. */
#ifndef CLI_CLIENT_PRIV_H
#define CLI_CLIENT_PRIV_H

#include "cli/client.h"

#include <curl/curl.h>

struct client {
    CURL *curl;
    char *server; /* as given, for texts */
    char *socket; /* path, or NULL for TCP */
    char *base;   /* http://host:port */
    char *token;
    int64_t timeout_ms;
    bool has_headers; /* of the present call: all of them have arrived */
    char sha256[65];  /* of the present call: what the body hashes to, when the server says so */
};

struct curl_slist *client_prepare(struct client *c, const char *method, const char *path);
/* After client_prepare. An answer that was cut off anywhere, in its headers too, is no success. */
CURLcode client_perform(struct client *c);
int client_problem(long status, const char *body, size_t n, struct err *err);
int client_curl_error(const struct client *c, CURLcode rc, struct err *err);

#endif
