/* epoch_log.h - what a lane of a network notes at the end of each epoch, for whoever wants to see
 * how it learned.
 *
 * Notes are no part of the model: nothing is decided by them. They do go into checkpoints, so that
 * a trial that is resumed shows all its epochs; they hold no time, because equal trials must give
 * equal checkpoints. Speeds are the engine's (ml/fit/fit_epochs.c). */
#ifndef ML_MODEL_EPOCH_LOG_H
#define ML_MODEL_EPOCH_LOG_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct epoch_note {
    /* mean loss of the rows as they were trained on, with dropout and the like */
    float loss;
    /* learning rate of the last step */
    float rate;
    /* mean length of the gradient over the steps */
    float norm;
    /* rows that were trained on; 0 = the note comes from a checkpoint */
    int32_t rows;
};
struct epoch_log {
    int64_t n, cap;
    struct epoch_note *notes;
};

/* The note of epoch `epoch`, counted from 1. It is the last one: notes of it and of later epochs
 * go. */
void epoch_log_put(struct epoch_log *g, int64_t epoch, const struct epoch_note *note);
void epoch_log_fini(struct epoch_log *g);
/* The notes of the first `epochs` epochs. */
int epoch_log_save(const struct epoch_log *g, int64_t epochs, struct buf *out, struct err *err);
/* most: epochs that the lane has done. */
int epoch_log_load(struct epoch_log *g, int64_t most, struct view *in, struct err *err);

#endif
