/* process.h - the worker process of one device. It is started by exec with an environment of its
 * own and spoken to over a socket pair. A worker says within which time it will be heard of again.
 * The supervisor kills it when that time has passed, or when it takes too much memory, and starts a
 * new one whenever it has ended. This file knows nothing of trials: it carries messages, and
 * reports deaths to work.c, which owns one process per device. Whatever a worker does, the
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
    void (*on_ready)(void *arg); /* a worker, the first one or a new one, waits for work */
    void (*on_message)(void *arg, const char *op, const json_t *msg);
    /* The worker has ended. reason: TR_MEMORY if it was killed for taking more than its trial may
     * have, else TR_WORKER_DIED. why: "killed by signal 9 (Killed)", "silent 12000 ms beyond the
     * time it announced: killed". A new worker is started without being asked for. */
    void (*on_dead)(void *arg, enum trial_reason reason, const char *why);
    /* Has the worker handed this file over? Its other files are removed when it dies. */
    bool (*keeps_file)(void *arg, const char *path);
};

enum process_kind {
    PROCESS_WORKER, /* trains (worker/) */
    PROCESS_COMMAND /* runs users' programs (command/) */
};
struct process_conf {
    enum process_kind kind;
    struct loop *loop;
    const struct runner_conf *conf;
    const struct msg_device *device;
    int number;          /* of the device in this runner, from 0 */
    const char *scratch; /* folder for the files of all devices */
};
/* Borrows conf.conf and conf.device. Starts the first worker. */
struct process *process_new(const struct process_conf *conf, const struct process_ops *ops,
                            void *arg, struct err *err);
void process_free(struct process *s); /* kills the worker and waits for it */
bool process_is_ready(const struct process *s);
/* Sends a message to the worker. It is dropped if there is none: on_dead was called then. */
void process_send(struct process *s, json_t *msg_steal);
int64_t process_rss_bytes(const struct process *s);
int process_worker_pid(const struct process *s); /* 0 = none */

#endif
