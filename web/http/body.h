/* body.h - the body of a request, taken from what has arrived piece by piece: of a known length, or chunked.
 * Knows buffers, no sockets. */
#ifndef WEB_HTTP_BODY_H
#define WEB_HTTP_BODY_H

#include "web/http/head.h"

struct evbuffer;

struct body {
    int64_t left; /* of the whole body, or of this chunk */
    int64_t total, max;
    int64_t trailers; /* bytes of lines behind the last chunk */
    enum { BODY_FIXED, BODY_SIZE, BODY_DATA, BODY_DATA_END, BODY_TRAILER, BODY_WHOLE } state;
};

/* 0, or 413 when its announced length is over max. */
int body_init(struct body *b, const struct head *head, int64_t max);
/* Moves what belongs to the body from `in` to `out` (NULL = drops it). 1 = whole, 0 = more must come, or the
 * status to refuse it with. */
int body_take(struct body *b, struct evbuffer *in, struct evbuffer *out);

#endif
