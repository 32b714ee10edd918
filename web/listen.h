/* listen.h - sockets to accept on, made with the modes and options that the promises need. */
#ifndef WEB_LISTEN_H
#define WEB_LISTEN_H

#include "base/err.h"

#include <stddef.h>

/* Each returns a listening, non-blocking, close-on-exec descriptor or -1. */
int listen_unix(const char *path,
                struct err *err); /* mode 0600; the folder must not be writable by others */
/* text as in args_listen_parse; address gets "http://127.0.0.1:7878" with the port that was given. */
int listen_tcp(const char *text, char *address, size_t size, int *port, struct err *err);

#endif
