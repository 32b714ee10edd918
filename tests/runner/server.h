/* server.h - a small HTTP server for the runner's tests: one callback answers, and may tear, delay or withhold what it
 * answers. It lives on the test's own loop and a Unix socket, so that tests need no threads and no ports. */
#ifndef TESTS_RUNNER_SERVER_H
#define TESTS_RUNNER_SERVER_H

#include "base/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

struct server_request {
    const char *method, *path, *auth; /* auth: "" when there is none */
    const char *body;                 /* NUL-terminated */
    size_t len;
    int64_t range_from; /* -1 = no Range */
};
struct server_answer {
    int status;
    char *body; /* heap (mem_), taken */
    size_t len;
    const char *headers; /* whole lines with CRLF, or NULL */
    int64_t tear_after;  /* -1 = send all; else close after so many bytes of the body */
    int64_t delay_ms;
    bool withhold; /* never answer; the connection stays */
    bool close;    /* close without a word */
};
typedef void server_handler(void *arg, const struct server_request *r, struct server_answer *a);

struct server *server_new(struct loop *loop, const char *path, server_handler *handler, void *arg);
void server_free(struct server *s);
void server_away(struct server *s); /* closes everything, as a dead process would */
void server_back(struct server *s);
int server_connections(const struct server *s); /* accepted so far */

#endif
