/* dataset.h - the learning problems that a worker keeps open: a table, its split, and the matrices that are made from them
 * once for all trials. A few are kept open; when one more is needed, the least recently used one that no trial uses is
 * closed. Used by the worker's one thread only. */
#ifndef TRIAL_RUNNER_WORKER_DATASET_H
#define TRIAL_RUNNER_WORKER_DATASET_H

#include "base/err.h"
#include "ml/model/data.h"
#include "proto/msg.h"

struct datasets;

/* device: without ops, the CPU; borrowed, looked at whenever a table is opened. */
struct datasets *datasets_new(int64_t memory_bytes, const struct ml_compute *device);
void datasets_free(struct datasets *s); /* CHECKs that none is in use */
/* A table's file as the supervisor hashed it: its path and its mark then (known.h). path NULL = none. */
struct table_file {
    const char *path, *mark;
};
/* Opens or finds it; in use until dataset_put. A file that is no longer as it was hashed is ERR_IO. */
struct ml_data *dataset_get(struct datasets *s, const struct msg_data *spec,
                            const struct table_file *table, const struct table_file *test,
                            struct err *err);
/* ERR_IO when a file of it changed on disk since it was opened: what was computed from it cannot be trusted. */
int dataset_unchanged(const struct datasets *s, const struct ml_data *d, struct err *err);
void dataset_put(struct datasets *s, const struct ml_data *d); /* NULL is legal */
int64_t datasets_shared_bytes(const struct datasets *s);
bool datasets_shed(
    struct datasets *s); /* closes the tables that nobody uses; false: there were none */

#endif
