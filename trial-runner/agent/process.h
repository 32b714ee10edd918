/* process.h - the worker process of one device. It is started by exec, with its environment set, and spoken to over a socket
 * pair. A worker says within which time it will be heard of again. The supervisor kills it when that time has passed or
 * when it takes too much memory, and starts a new one whenever it has ended. This file knows nothing of trials: it
 * carries messages and reports deaths to work.c, which owns one process per device. Whatever a worker does, the
 * supervisor goes on. */
#ifndef TRIAL_RUNNER_AGENT_PROCESS_H
#define TRIAL_RUNNER_AGENT_PROCESS_H

#include "base/err.h"
#include "base/loop.h"
#include "proto/msg.h"
#include "trial-runner/agent/conf.h"

#include <jansson.h>
#include <stdbool.h>

struct process;

struct process_ops {
    void (*on_ready)(void *arg); /* a worker, the first or a new one, waits for work */
    void (*on_message)(void *arg, const char *op, const json_t *msg);
    /* Its worker has ended. reason: TR_MEMORY when it was killed for its memory, else TR_WORKER_DIED. why: "killed by
     * signal 9 (Killed)", "silent for 12 s: killed". A new worker comes by itself. */
    void (*on_dead)(void *arg, enum trial_reason reason, const char *why);
    /* Has it handed this file over? The others it leaves are removed at its death. */
    bool (*keeps_file)(void *arg, const char *path);
};

/* conf and device are borrowed; scratch is the folder for the worker's files. The first worker starts at once. */
struct process *process_new(struct loop *loop, const struct runner_conf *conf,
                            const struct msg_device *device, const char *scratch,
                            const struct process_ops *ops, void *arg, struct err *err);
void process_free(struct process *s); /* kills the worker and waits for it */
bool process_is_ready(const struct process *s);
/* To the worker; dropped when there is none (its death has been told). */
void process_send(struct process *s, json_t *msg_steal);
int64_t process_rss_bytes(const struct process *s);
int process_worker_pid(const struct process *s); /* 0 = none */

#endif
