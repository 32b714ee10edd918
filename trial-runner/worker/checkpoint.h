/* checkpoint.h - a trial's state as a file, and the file's name by hash: what a pause, a drain or 30 s of work leave
 * behind. Also the one way a worker writes any file that shall become a blob. Called by worker code only. */
#ifndef TRIAL_RUNNER_WORKER_CHECKPOINT_H
#define TRIAL_RUNNER_WORKER_CHECKPOINT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "ml/fit/fit.h"

#include <stdint.h>

#define CHECKPOINT_MAX_BYTES (INT64_C(1) << 30)

/* The bytes under a name that appears only when they are all there. Not synced: the blob will be. */
int checkpoint_file(const char *path, const struct buf *bytes, char sha256[SHA256_HEX],
                    struct err *err);
int checkpoint_save(struct fit_trial *t, const char *path, char sha256[SHA256_HEX],
                    struct err *err);
/* Into a freshly opened trial. On error the trial may be half loaded: close it and open another. */
int checkpoint_load(struct fit_trial *t, const char *path, struct err *err);

#endif
