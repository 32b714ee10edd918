/* predictor.h - the process that predicts; see README.md. */
#ifndef CONTROLLER_PREDICTOR_PREDICTOR_H
#define CONTROLLER_PREDICTOR_PREDICTOR_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

struct predictor_conf {
    int fd;              /* the socket to the controller */
    const char *scratch; /* a folder that no other process uses */
    int64_t memory_bytes;
};

/* Serves until the controller closes its end. Returns the exit status. */
int predictor_main(const struct predictor_conf *conf);

/* One request, for tests: the answer's body is added to `out`. note: what the answer's reader
 * should know, "" = nothing. */
struct models;
struct predictor {
    struct models *models;
    const char *scratch;
};
struct predictor_note {
    char text[200];
};
int predictor_answer(struct predictor *p, const json_t *head, const char *body, size_t n,
                     struct buf *out, struct predictor_note *note, struct err *err);

#endif
