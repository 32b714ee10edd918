/* outbox.h - what this runner holds, and what it still has to tell the controller about it. Every trial or task that it was
 * granted is entered under its fence, with the messages about it that are not yet answered, in order.
 *   - A message that names a file waits until the file is a blob of the controller; the messages of the same trial behind
 *     it wait, too.
 *   - A message gets its number (seq) when it is first sent, and is sent again unchanged until it is answered.
 * This file starts uploads but sends no reports: agent.c does. work.c enters trials and messages. */
#ifndef TRIAL_RUNNER_AGENT_OUTBOX_H
#define TRIAL_RUNNER_AGENT_OUTBOX_H

#include "base/loop.h"
#include "proto/msg.h"
#include "trial-runner/agent/cache.h"
#include "trial-runner/agent/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct outbox;
struct group;
struct out;

enum held_state {
    HELD_WAITING,  /* the worker has not begun it */
    HELD_RUNNING,  /* the worker computes it */
    HELD_PARKED,   /* the worker asked something and waits */
    HELD_ANSWERED, /* it was told, and has not gone on yet: it computes another one */
    HELD_OUT       /* nothing more to compute: only messages are left */
};

struct held {
    struct held *next;
    int64_t trial, fence; /* a task's id when is_task */
    bool is_task;
    enum held_state state;
    struct group *group;
    int64_t seq;      /* of the last message sent */
    struct out *outs; /* oldest first */
};

struct outbox_conf {
    struct loop *loop;
    struct http *http;
    struct cache *cache;
    bool keeps_blobs; /* uploaded frames and checkpoints go into the cache */
    int64_t backoff_max_ms;
    void (*on_sendable)(void *arg); /* a message can go now */
    void *arg;
};
struct outbox *outbox_new(const struct outbox_conf *conf);
void outbox_free(struct outbox *b);

struct held *outbox_add(struct outbox *b, int64_t trial, int64_t fence, bool is_task,
                        struct group *group);
struct held *outbox_find(struct outbox *b, int64_t trial, int64_t fence, bool is_task);
bool outbox_has_file(const struct outbox *b, const char *path); /* is it still to be uploaded? */
struct held *outbox_first(struct outbox *b);                    /* then ->next */
/* Forgets it with all it had to say: uploads end, files go. */
void outbox_drop(struct outbox *b, struct held *h);

/* Queues a message; *ev is taken. file: NULL, or a file of hash ev->blob that must be a blob first. A progress message
 * replaces an unsent one; a checkpoint is dropped when something newer comes before it could be sent. An upload that
 * is refused for good becomes a failure of the trial. */
void outbox_push(struct outbox *b, struct held *h, struct msg_event *ev, const char *file);
void outbox_push_failure(struct outbox *b, struct held *h, enum trial_reason reason,
                         const char *detail);
/* Unsent messages that make no sense any more, because the worker that spoke them is gone. */
void outbox_discard_unsent(struct outbox *b, struct held *h);

bool outbox_has_sendable(const struct outbox *b);
/* The report of all sendable messages (bounded), numbered, and of everything held; what it carries is remembered. */
json_t *outbox_report_new(struct outbox *b, const char *session, const struct msg_asked *asked,
                          int n_asked, int max_events);
void outbox_report_lost(struct outbox *b); /* no answer came */
/* Of each reply in order: the trial it speaks of (NULL: dropped meanwhile) and the answered message's type, which is gone
 * from the queue now. 0 when reply i does not fit message i of the report. */
int outbox_answer(struct outbox *b, int i, const struct msg_reply *r, struct held **h,
                  enum msg_type *type);
int outbox_report_events(const struct outbox *b); /* messages in the report under way */
struct held *outbox_report_held(struct outbox *b,
                                int i); /* of message i there; NULL when dropped meanwhile */

#endif
