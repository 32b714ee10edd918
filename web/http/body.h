/* body.h - reads the body of a request from an input buffer, piece by piece as it arrives: a body
 * of a known length, or one in chunks. It knows buffers and no sockets. Called by conn.c; fuzzed by
 * tests/fuzz/fuzz_head.c. */
#ifndef WEB_HTTP_BODY_H
#define WEB_HTTP_BODY_H

#include "web/http/head.h"

struct evbuffer;

/* How far the body of a request has been read. */
struct body {
    /* bytes still to come: of the body, or of the present chunk */
    int64_t left;
    /* bytes announced so far (the length, or the sum of the chunks), and the most that are
     * allowed */
    int64_t total, max;
    /* bytes of the fields behind the last chunk */
    int64_t trailers;
    /* FIXED: a body of known length; SIZE, DATA, DATA_END: a chunk's line, bytes and CR LF;
     * TRAILER: the fields behind the last chunk; WHOLE: everything has been read */
    enum { BODY_FIXED, BODY_SIZE, BODY_DATA, BODY_DATA_END, BODY_TRAILER, BODY_WHOLE } state;
};

/* 0, or 413 when the length that the head announces is over max. */
int body_init(struct body *b, const struct head *head, int64_t max);
/* Moves what belongs to the body from `in` to `out` (NULL = throws it away). Returns 1 when the
 * body is complete, 0 when more must arrive, or the HTTP status to refuse the request with. */
int body_take(struct body *b, struct evbuffer *in, struct evbuffer *out);

#endif
