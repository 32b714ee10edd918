/* outbox.h - what this runner holds, and what it still has to tell the controller about it. Every
 * trial or task that was granted is entered here under its fence, with those messages about it, in
 * order, that the controller has not answered yet.
 *   - A message that names a file waits until the file is a blob of the controller. Later messages
 *     of the same trial wait behind it.
 *   - A message gets its number (seq) when it is first sent. It is sent again unchanged until it is
 *     answered.
 * This file starts uploads but sends no reports: agent.c does that. work.c enters trials and
 * messages. */
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
    HELD_PARKED,   /* the worker has asked the controller something about it, and waits */
    HELD_ANSWERED, /* the worker has the answer, but computes another trial first */
    HELD_OUT       /* nothing is left to compute; only messages are left to send */
};

struct held {
    struct held *next;
    int64_t trial, fence; /* if is_task, the id of a task */
    bool is_task;
    enum held_state state;
    struct group *group;
    int64_t seq;      /* number of the last message that was sent */
    struct out *outs; /* its messages, oldest first */
};

struct outbox_conf {
    struct loop *loop;
    struct http *http;
    struct cache *cache;
    bool keeps_blobs; /* move uploaded frames and checkpoints into the cache, to use them again */
    int64_t backoff_max_ms;
    void (*on_sendable)(void *arg); /* there may be a message that can go now */
    void *arg;
};
struct outbox *outbox_new(const struct outbox_conf *conf);
void outbox_free(struct outbox *b);

struct held *outbox_add(struct outbox *b, int64_t trial, int64_t fence, bool is_task,
                        struct group *group);
struct held *outbox_find(struct outbox *b, int64_t trial, int64_t fence, bool is_task);
bool outbox_has_file(const struct outbox *b, const char *path); /* is it still to be uploaded? */
struct held *outbox_first(struct outbox *b);                    /* follow ->next for the others */
/* Forgets a trial and its messages. Their uploads end, and their files are removed. */
void outbox_drop(struct outbox *b, struct held *h);

/* Queues a message and takes over what *ev owns. file: NULL, or a file with the hash ev->blob that
 * must become a blob before the message is sent. A new message removes unsent progress of the same
 * trial, and usually an unsent checkpoint too. If an upload is refused for good, the trial
 * fails. */
void outbox_push(struct outbox *b, struct held *h, struct msg_event *ev, const char *file);
void outbox_push_failure(struct outbox *b, struct held *h, enum trial_reason reason,
                         const char *detail);
/* Removes the unsent messages of a trial whose worker is gone: they make no sense any more. */
void outbox_discard_unsent(struct outbox *b, struct held *h);

bool outbox_has_sendable(const struct outbox *b);
/* A new report: all messages that can be sent, up to a limit, numbered, and a list of everything
 * held. The outbox remembers which messages it carries. */
json_t *outbox_report_new(struct outbox *b, const char *session, const struct msg_asked *asked,
                          int n_asked, int max_events);
void outbox_report_lost(struct outbox *b); /* the report got no answer, or has been dealt with */
/* Takes reply i of the controller to message i of the report. *h is the trial (NULL: dropped
 * meanwhile), *type the type of the message, which leaves the queue. Returns 0 if the reply does
 * not fit the message. */
int outbox_answer(struct outbox *b, int i, const struct msg_reply *r, struct held **h,
                  enum msg_type *type);
int outbox_report_events(const struct outbox *b); /* number of messages in the present report */
/* The trial of message i of the present report; NULL if it was dropped meanwhile. */
struct held *outbox_report_held(struct outbox *b, int i);

#endif
