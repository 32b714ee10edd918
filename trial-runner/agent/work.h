/* work.h - the work of one device: its worker process, the groups that were granted to it (files
 * being fetched, sent to the worker, computed), and the translation of the worker's words into
 * messages in the outbox. The files of a group are pinned in the cache while the group lives. If
 * the worker dies, trials that it computed or had parked are reported as failed by the machine;
 * trials that it had not begun go to the next worker without a report. */
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
    int number; /* of the device in this runner, from 0 */
    struct outbox *outbox;
    struct fetch *fetch;
    struct cache *cache;
    void (*on_change)(void *arg); /* it may want more work now, or something has ended */
    void *arg;
};
struct work *work_new(const struct work_conf *conf, struct err *err);
void work_free(struct work *w); /* call it before outbox_free */

/* Takes over the contents of *grant. */
void work_take(struct work *w, struct msg_grant *grant);
bool work_wants(
    const struct work *w); /* is it idle, or about to be, with a worker that is ready? */
/* The controller's reply to a message of this trial. May drop the trial. */
void work_reply(struct held *h, enum msg_type type, const struct msg_reply *r);
void work_drop(struct held *h); /* at once: stops the worker's part, removes messages and files */
/* Saves and hands back what runs. Work that arrives later is handed back without being begun. */
void work_drain(struct work *w);
struct process *work_process(struct work *w);

#endif
