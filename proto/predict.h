/* predict.h - what the controller and its predictor say to each other over their socket pair. A
 * frame is eight hex digits of length for its head, a space, eight for its body, a newline, the
 * head (one JSON object) and the body (any bytes). The controller sends one request at a time and
 * waits for its answer.
 *
 * request  {op: predict | describe, sha256, path, input: json | csv, output: json | csv,
 *           may_lack, refuses, threshold, interval}; the body holds the rows
 * answer   {code, text, where}, code 0 = no error (base/err.h); {note}; the body holds the answer */
#ifndef PROTO_PREDICT_H
#define PROTO_PREDICT_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum {
    PREDICT_PREFIX = 18,
    PREDICT_HEAD_MAX = 16 << 10,
    PREDICT_BODY_MAX =
        16 << 20, /* of answers; a request is shorter, because the web layer says so */
    PREDICT_ROWS_MAX = 100000,
};

int predict_frame_put(struct buf *out, const json_t *head, const void *body, size_t n,
                      struct err *err);

struct predict_frame {
    json_t *head; /* a new reference */
    size_t body_at, body_len;
    size_t len; /* of the whole frame */
};
/* Looks at the first n bytes: 1 = a whole frame; 0 = more are needed, of which *wanted is the
 * length of the frame as far as it is known; -1 = broken. */
int predict_frame_get(const char *data, size_t n, struct predict_frame *out, size_t *wanted,
                      struct err *err);

#endif
