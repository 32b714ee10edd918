/* group.h - one grant on its way through a device. Its trials are entered in the outbox, its files are fetched and pinned in
 * the cache, and then the run message for the worker is made. work.c owns the groups and decides when each of these
 * steps is taken. */
#ifndef TRIAL_RUNNER_AGENT_GROUP_H
#define TRIAL_RUNNER_AGENT_GROUP_H

#include "trial-runner/agent/fetch.h"
#include "trial-runner/agent/outbox.h"
#include "trial-runner/agent/process.h"

struct need;
struct work;

/* What groups of one device share; outlives them. */
struct group_env {
    struct work *work;
    struct outbox *outbox;
    struct fetch *fetch;
    struct cache *cache;
    void (*on_files)(void *arg); /* a group has all its files */
    void *arg;
};

struct group {
    struct group *next;
    const struct group_env *env;
    int64_t run; /* its number in this process */
    struct msg_grant grant;
    int64_t deadline_at_ms; /* 0 = none */
    struct need *needs;
    int n_needs, n_pending; /* pending: files not yet here */
    bool sent;              /* a worker has it */
    bool ended;             /* and has computed it, or never will */
};

/* Takes the grant's contents and enters its trials, or its task, in the outbox. */
struct group *group_new(const struct group_env *env, int64_t run, struct msg_grant *grant,
                        int64_t deadline_at_ms);
void group_free(struct group *g); /* none of it may be held any more, or the outbox is going too */
bool group_is_held(const struct group *g);
void group_fetch(
    struct group *g); /* on_files is not called when all are here at once: n_pending tells */
void group_send(struct group *g, struct process *process); /* the trials that no worker has begun */
/* Are its files still what they were when they came? Those that changed on disk since are fetched again: false until then. */
bool group_files_good(struct group *g);
/* ERR_IO when a file of it is no longer what it was when it came; nothing is fetched. */
int group_files_check(struct group *g, struct err *err);
/* All that is still to be computed fails; the group has ended. */
void group_fail(struct group *g, enum trial_reason reason, const char *why);

#endif
