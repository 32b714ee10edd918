/* checkpoint.h - a trial's state as a file, with its hash: written at a pause, at a drain, and
 * every 30 s of work. It is also how a worker writes any other file that becomes a blob. Called
 * only by the worker's files. */
#ifndef TRIAL_RUNNER_WORKER_CHECKPOINT_H
#define TRIAL_RUNNER_WORKER_CHECKPOINT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "ml/fit/fit.h"

#include <stdint.h>

/* A larger checkpoint is refused; trials are cut before their model gets so large. */
#define CHECKPOINT_MAX_BYTES (INT64_C(1) << 30)

/* Writes the bytes to a file that gets its name only when it is complete. It is not fsynced: the
 * controller syncs the blob that is made of it. */
int checkpoint_file(const char *path, const struct buf *bytes, char sha256[SHA256_HEX],
                    struct err *err);
int checkpoint_save(struct fit_trial *t, const char *path, char sha256[SHA256_HEX],
                    struct err *err);
/* Loads into a trial that was just opened. After an error the trial may be half loaded: close it
 * and open another. */
int checkpoint_load(struct fit_trial *t, const char *path, struct err *err);

#endif
