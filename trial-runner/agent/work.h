/* work.h - one device's work: its process, the groups granted to it on their way (files being fetched, sent to the worker,
 * computed), and the translation between what the worker says and what the outbox will report. A group's files are pinned
 * in the cache while it lives. When a worker dies, what it computed or kept parked is reported failed by the machine,
 * and what it had not begun goes to its successor without a word. */
#ifndef TRIAL_RUNNER_AGENT_WORK_H
#define TRIAL_RUNNER_AGENT_WORK_H

#include "trial-runner/agent/conf.h"
#include "trial-runner/agent/fetch.h"
#include "trial-runner/agent/outbox.h"
#include "trial-runner/agent/process.h"

struct work;

struct work_conf {
    struct loop *loop;
    const struct runner_conf *conf;
    const struct msg_device *device;
    struct outbox *outbox;
    struct fetch *fetch;
    struct cache *cache;
    void (*on_change)(void *arg); /* it may want work now, or has less of it */
    void *arg;
};
struct work *work_new(const struct work_conf *conf, struct err *err);
void work_free(struct work *w); /* before the outbox */

/* Takes the grant's contents. */
void work_take(struct work *w, struct msg_grant *grant);
bool work_wants(const struct work *w); /* idle, or about to be, with a worker that can take more */
/* The controller's reply to a message of this trial. May drop the trial. */
void work_reply(struct held *h, enum msg_type type, const struct msg_reply *r);
void work_drop(struct held *h); /* at once: worker, messages, files */
void work_drain(
    struct work
        *w); /* checkpoint and hand back what runs; what comes later is handed back unbegun */
struct process *work_slot(struct work *w);

#endif
