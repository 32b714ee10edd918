/* listen.h - makes the listening sockets, with the file modes and socket options that the server
 * relies on. Called once at the start, by http_server.c. */
#ifndef WEB_HTTP_LISTEN_H
#define WEB_HTTP_LISTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes a Unix socket of mode 0600; others must not be able to write to its folder. Returns a
 * listening, non-blocking, close-on-exec descriptor, or -1. */
int listen_unix(const char *path, struct err *err);

/* What a TCP listener listens on. */
struct listen_address {
    /* To be opened in a browser: "http://127.0.0.1:7878", with the port that was given. For 0.0.0.0
     * and [::] it has an address of this machine. */
    char url[80];
    /* as it is bound: "0.0.0.0:7878" */
    char bound[80];
    int port;
    /* other machines can reach it */
    bool is_beyond;
};

/* text: as in args_listen_parse. Without TLS, tokens and data are readable on the way, so an
 * address beyond this machine is refused unless is_tls or may_be_clear. */
/* Only reads the text. */
int listen_check(const char *text, bool may_be_beyond, struct err *err);
/* Returns a descriptor as listen_unix does, or -1, and fills in *out. */
int listen_tcp(const char *text, bool is_tls, bool may_be_clear, struct listen_address *out,
               struct err *err);
/* The same for a TCP socket that is listened on already; it stays the caller's after an error. */
int listen_tcp_take(int fd, bool is_tls, bool may_be_clear, struct listen_address *out,
                    struct err *err);

#endif
