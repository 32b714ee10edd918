/* group.h - one grant on its way through a device. Its trials are entered in the outbox, its files
 * are fetched and pinned in the cache, and then its run message goes to the worker. work.c owns the
 * groups and decides when each of these steps is taken. */
#ifndef TRIAL_RUNNER_AGENT_GROUP_H
#define TRIAL_RUNNER_AGENT_GROUP_H

#include "trial-runner/agent/fetch.h"
#include "trial-runner/agent/outbox.h"
#include "trial-runner/agent/process.h"

struct need;
struct work;

/* What the groups of one device share. It outlives them. */
struct group_env {
    struct work *work;
    struct outbox *outbox;
    struct fetch *fetch;
    struct cache *cache;
    void (*on_files)(void *arg); /* all files of a group are here */
    void *arg;
};

struct group {
    struct group *next;
    const struct group_env *env;
    int64_t run; /* its number in this process; names it between supervisor and worker */
    struct msg_grant grant;
    int64_t deadline_at_ms; /* on the monotonic clock; 0 = none */
    struct need *needs;     /* the files that its work reads */
    int n_needs, n_pending; /* pending: files that are still being fetched */
    bool sent;              /* the present worker has it */
    bool ended;             /* computed, or it never will be */
};

/* Takes the grant's contents over and enters its trials, or its task, in the outbox. */
struct group *group_new(const struct group_env *env, int64_t run, struct msg_grant *grant,
                        int64_t deadline_at_ms);
/* Only if the outbox holds none of its trials any more, or is freed next. */
void group_free(struct group *g);
bool group_is_held(const struct group *g); /* does the outbox still hold one of its trials? */
/* Fetches its files. on_files is called later, but not if all of them are here at once; n_pending
 * tells which. */
void group_fetch(struct group *g);
/* Sends those of its trials that no worker has begun. */
void group_send(struct group *g, struct process *process);
/* Are all its files here and unchanged since they were checked? Fetches changed ones again, and is
 * false until then. */
bool group_files_good(struct group *g);
/* ERR_IO if one of its files has changed since it was checked. Fetches nothing. */
int group_files_check(struct group *g, struct err *err);
/* Ends the group: reports as failed all that is still to be computed. */
void group_fail(struct group *g, enum trial_reason reason, const char *why);

#endif
