/* dataset.h - the learning problems that a worker keeps open: a table, how it is split, and the
 * matrices that are made of it once for all trials. A few are kept open for the next trials. If one
 * more is needed, the least recently used one that no trial uses is closed. Used only by the
 * worker's one thread. */
#ifndef TRIAL_RUNNER_WORKER_DATASET_H
#define TRIAL_RUNNER_WORKER_DATASET_H

#include "base/err.h"
#include "ml/model/data.h"
#include "proto/msg.h"

struct datasets;

/* device: borrowed; looked at whenever a table is opened. Without ops it means the CPU. */
struct datasets *datasets_new(int64_t memory_bytes, const struct ml_compute *device);
void datasets_free(struct datasets *s); /* none may be in use */
/* A table's file: its path, and the mark (known.h) that it had when the supervisor checked its
 * hash. path NULL = no table. */
struct table_file {
    const char *path, *mark;
};
/* Opens a problem or finds it open; it is in use until dataset_put. ERR_IO if a file has changed
 * since its hash was checked. */
/* The columns that say how rows are used, borrowed from m. */
struct ml_rows_spec dataset_rows_spec(const struct msg_data *m);
struct ml_data *dataset_get(struct datasets *s, const struct msg_data *spec,
                            const struct table_file *table, const struct table_file *test,
                            struct err *err);
/* ERR_IO if a file has changed since the problem was opened: results of it cannot be trusted
 * then. */
int dataset_unchanged(const struct datasets *s, const struct ml_data *d, struct err *err);
void dataset_put(struct datasets *s, const struct ml_data *d); /* NULL is legal */
int64_t datasets_shared_bytes(const struct datasets *s);
bool datasets_shed(struct datasets *s); /* closes all that are not in use; false: there were none */

#endif
