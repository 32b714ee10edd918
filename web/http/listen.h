/* listen.h - makes the listening sockets, with the file modes and socket options that the server
 * relies on. Called once at the start, by http_server.c. */
#ifndef WEB_HTTP_LISTEN_H
#define WEB_HTTP_LISTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Each returns a listening, non-blocking, close-on-exec descriptor or -1. */
int listen_unix(const char *path,
                struct err *err); /* mode 0600; the folder must not be writable by others */
struct listen_address {
    char url[80]; /* "http://127.0.0.1:7878", with the port that was given; for "any", an address of
                     this machine */
    char bound[80]; /* "0.0.0.0:7878": what it listens on */
    int port;
    bool is_beyond; /* other machines can reach it */
};

/* text as in args_listen_parse. Tokens and data are not encrypted, so an address beyond this
 * machine is refused unless may_be_beyond. */
int listen_check(const char *text, bool may_be_beyond, struct err *err); /* only reads the text */
int listen_tcp(const char *text, bool may_be_beyond, struct listen_address *out, struct err *err);

#endif
