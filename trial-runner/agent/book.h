/* book.h - what this runner holds, and what it has still to say about it: every lane (or task) under its fence, and in
 * order the messages that are not yet answered. A message that names a file waits until the file is a blob of the
 * controller, and those behind it of the same lane wait too; a number (seq) is given when it is first sent, and it is sent
 * again, unchanged, until answered. No network calls here but uploads; agent.c sends the reports. */
#ifndef TRIAL_RUNNER_AGENT_BOOK_H
#define TRIAL_RUNNER_AGENT_BOOK_H

#include "base/loop.h"
#include "proto/msg.h"
#include "trial-runner/agent/cache.h"
#include "trial-runner/agent/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct book;
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

struct book_conf {
    struct loop *loop;
    struct http *http;
    struct cache *cache;
    bool keeps_blobs; /* uploaded frames and checkpoints go into the cache */
    int64_t backoff_max_ms;
    void (*on_sendable)(void *arg); /* a message can go now */
    void *arg;
};
struct book *book_new(const struct book_conf *conf);
void book_free(struct book *b);

struct held *book_add(struct book *b, int64_t trial, int64_t fence, bool is_task,
                      struct group *group);
struct held *book_find(struct book *b, int64_t trial, int64_t fence, bool is_task);
bool book_has_file(const struct book *b, const char *path); /* is it still to be uploaded? */
struct held *book_first(struct book *b);                    /* then ->next */
/* Forgets it with all it had to say: uploads end, files go. */
void book_drop(struct book *b, struct held *h);

/* Queues a message; *ev is taken. file: NULL, or a file of hash ev->blob that must be a blob first. A progress message
 * replaces an unsent one; a checkpoint is dropped when something newer comes before it could be sent. An upload that
 * is refused for good becomes a failure of the lane. */
void book_push(struct book *b, struct held *h, struct msg_event *ev, const char *file);
void book_push_failure(struct book *b, struct held *h, enum trial_reason reason,
                       const char *detail);
/* Unsent messages that make no sense any more, because the worker that spoke them is gone. */
void book_discard_unsent(struct book *b, struct held *h);

bool book_has_sendable(const struct book *b);
/* The report of all sendable messages (bounded), numbered, and of everything held; what it carries is remembered. */
json_t *book_report_new(struct book *b, const char *session, const struct msg_asked *asked,
                        int n_asked, int max_events);
void book_report_lost(struct book *b); /* no answer came */
/* Of each reply in order: the lane it speaks of (NULL: dropped meanwhile) and the answered message's type, which is gone
 * from the queue now. 0 when reply i does not fit message i of the report. */
int book_answer(struct book *b, int i, const struct msg_reply *r, struct held **h,
                enum msg_type *type);
int book_report_events(const struct book *b); /* messages in the report under way */
struct held *book_report_held(struct book *b,
                              int i); /* of message i there; NULL when dropped meanwhile */

#endif
