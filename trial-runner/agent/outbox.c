/* outbox.c - the trials held and their messages; see outbox.h for the rules. The lists are short, a
 * few trials per device, so they are searched from the front and have no index. */
#include "trial-runner/agent/outbox.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/agent/upload.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* REPORT_DETAIL_MAX: bytes of detail in one report, so that it stays below what the controller
 * accepts. A single message may have more. */
enum { REPORT_EVENTS_MAX = 512, REPORT_DETAIL_MAX = 3 << 20 };

/* A message that is not answered yet. */
struct out {
    struct out *next;
    struct outbox *outbox;
    struct held *held;
    struct msg_event ev;
    char *file; /* NULL if there is none, or it has been uploaded */
    struct upload *upload;
    bool sent;
};

/* A message of the report under way. It names its trial by number, because the trial may be dropped
 * before the answer comes. */
struct flight {
    int64_t trial, fence, seq;
    bool is_task;
};

struct outbox {
    struct outbox_conf conf;
    struct held *held;
    struct flight *flight; /* the messages of the report under way, in order */
    int n_flight, max_events;
};

/* ---- messages ---- */

/* Removes the file of a message, or moves it into the cache if it became a blob that a later trial
 * of this runner may need. */
static void file_done(struct outbox *b, const struct out *o, bool is_blob)
{
    bool keep = is_blob && b->conf.keeps_blobs && o->ev.type != MSG_COMPLETE;

    if (!keep || cache_adopt(b->conf.cache, o->ev.blob, o->file, NULL) < 0)
        unlink(o->file);
}

static void out_free(struct out *o)
{
    upload_cancel(o->upload);
    if (o->file)
        file_done(o->outbox, o, false);
    mem_free(o->file);
    mem_free(o->ev.detail);
    mem_free(o->ev.epochs);
    mem_free(o);
}

static void out_remove(struct held *h, struct out *o)
{
    struct out **link = &h->outs;

    while (*link && *link != o)
        link = &(*link)->next;
    CHECK(*link);
    *link = o->next;
    out_free(o);
}

static void on_uploaded(void *arg, const struct err *err)
{
    struct out *o = arg;
    struct outbox *b = o->outbox;
    struct held *h = o->held;

    o->upload = NULL;
    if (err && (o->ev.type == MSG_CHECKPOINT || o->ev.type == MSG_PREDICTIONS)) {
        log_warn("checkpoint.refused trial=%" PRId64 " err=\"%s\"", h->trial, err->text);
        out_remove(h, o);
        b->conf.on_sendable(b->conf.arg); /* for the messages that waited behind it */
        return;
    }
    if (err) {
        log_error("upload.refused trial=%" PRId64 " blob=%.12s err=\"%s\"", h->trial, o->ev.blob,
                  err->text);
        outbox_discard_unsent(b, h);
        outbox_push_failure(b, h, TR_DEVICE, err->text);
        return;
    }
    file_done(b, o, true);
    mem_free(o->file);
    o->file = NULL;
    b->conf.on_sendable(b->conf.arg);
}

static void upload_begin(struct outbox *b, struct out *o)
{
    o->upload = upload_start(b->conf.loop, b->conf.http, o->file, o->ev.blob,
                             b->conf.backoff_max_ms, on_uploaded, o);
    upload_for(o->upload, o->held->is_task, o->held->trial, o->held->fence);
}

/* Is `o` unsent, and does the newer message make it superfluous? */
static bool is_moot(const struct out *o, const struct msg_event *newer)
{
    if (o->sent)
        return false;
    if (msg_is_passing(o->ev.type))
        return true;
    if (o->ev.type != MSG_CHECKPOINT || msg_is_passing(newer->type))
        return false;
    /* A trial that is handed back or crashed will continue from its last checkpoint elsewhere.
     * After any other end nobody needs it. */
    return newer->type != MSG_FAILED || !trial_reason_is_machine(newer->reason);
}

static void drop_moot(struct held *h, const struct msg_event *newer)
{
    for (struct out **link = &h->outs; *link;) {
        struct out *o = *link;

        if (is_moot(o, newer)) {
            *link = o->next;
            out_free(o);
        } else {
            link = &o->next;
        }
    }
}

void outbox_push(struct outbox *b, struct held *h, struct msg_event *ev, const char *file)
{
    struct out *o = mem_zalloc(sizeof *o), **link = &h->outs;

    drop_moot(h, ev);
    o->outbox = b;
    o->held = h;
    o->ev = *ev;
    o->ev.trial = h->trial;
    o->ev.fence = h->fence;
    o->file = mem_strdup(file);
    msg_event_init(ev);
    while (*link)
        link = &(*link)->next;
    *link = o;
    if (file)
        upload_begin(b, o);
    else
        b->conf.on_sendable(b->conf.arg);
}

void outbox_push_failure(struct outbox *b, struct held *h, enum trial_reason reason,
                         const char *detail)
{
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = h->is_task ? MSG_TASK_FAILED : MSG_FAILED;
    ev.reason = reason;
    ev.detail = mem_strdup(detail);
    h->state = HELD_OUT;
    outbox_push(b, h, &ev, NULL);
}

void outbox_discard_unsent(struct outbox *b, struct held *h)
{
    (void)b;
    for (struct out **link = &h->outs; *link;) {
        struct out *o = *link;

        if (!o->sent) {
            *link = o->next;
            out_free(o);
        } else {
            link = &o->next;
        }
    }
}

/* ---- trials ---- */

struct held *outbox_add(struct outbox *b, int64_t trial, int64_t fence, bool is_task,
                        struct group *group)
{
    struct held *h = mem_zalloc(sizeof *h), **link = &b->held;

    h->trial = trial;
    h->fence = fence;
    h->is_task = is_task;
    h->group = group;
    while (*link)
        link = &(*link)->next;
    *link = h;
    return h;
}

struct held *outbox_find(struct outbox *b, int64_t trial, int64_t fence, bool is_task)
{
    struct held *h = b->held;

    while (h && (h->trial != trial || h->fence != fence || h->is_task != is_task))
        h = h->next;
    return h;
}

bool outbox_has_file(const struct outbox *b, const char *path)
{
    for (const struct held *h = b->held; h; h = h->next) {
        for (const struct out *o = h->outs; o; o = o->next) {
            if (o->file && str_eq(o->file, path))
                return true;
        }
    }
    return false;
}

struct held *outbox_first(struct outbox *b)
{
    return b->held;
}

void outbox_drop(struct outbox *b, struct held *h)
{
    struct held **link = &b->held;

    while (*link && *link != h)
        link = &(*link)->next;
    CHECK(*link);
    *link = h->next;
    for (struct out *o = h->outs, *next = NULL; o; o = next) {
        next = o->next;
        out_free(o);
    }
    mem_free(h);
}

/* ---- reports ---- */

bool outbox_has_sendable(const struct outbox *b)
{
    for (const struct held *h = b->held; h; h = h->next) {
        if (h->outs && !h->outs->file)
            return true;
    }
    return false;
}

static void flight_add(struct outbox *b, const struct held *h, const struct msg_event *ev)
{
    CHECK(b->n_flight < b->max_events && b->max_events <= REPORT_EVENTS_MAX);
    b->flight[b->n_flight++] = (struct flight){
        .trial = h->trial, .fence = h->fence, .seq = ev->seq, .is_task = h->is_task
    };
}

/* Puts the messages of a trial into the report, from the oldest on, until one waits for its upload
 * or the report is full. The events only borrow their texts. */
static void collect(struct outbox *b, struct held *h, struct msg_event *events, size_t *detail)
{
    for (struct out *o = h->outs; o && !o->file && b->n_flight < b->max_events; o = o->next) {
        size_t n =
            (o->ev.detail ? strlen(o->ev.detail) : 0) + (o->ev.epochs ? strlen(o->ev.epochs) : 0);

        if (b->n_flight > 0 && *detail + n > REPORT_DETAIL_MAX)
            return;
        *detail += n;
        if (!o->sent) /* such a message gets no number: it changes nothing and may be lost */
            o->ev.seq = msg_is_passing(o->ev.type) ? 0 : ++h->seq;
        o->sent = true;
        events[b->n_flight] = o->ev;
        flight_add(b, h, &o->ev);
    }
}

json_t *outbox_report_new(struct outbox *b, const char *session, const struct msg_asked *asked,
                          int n_asked, int max_events)
{
    struct msg_report r = { .n_asked = n_asked, .asked = (struct msg_asked *)asked };
    size_t n = 0, detail = 0;
    json_t *j = NULL;

    for (const struct held *h = b->held; h; h = h->next)
        n++;
    str_copy(r.session, sizeof r.session, session);
    r.held = mem_array(n + 1, sizeof *r.held);
    r.tasks = mem_array(n + 1, sizeof *r.tasks);
    r.events = mem_array(REPORT_EVENTS_MAX, sizeof *r.events);
    b->flight = mem_resize(b->flight, REPORT_EVENTS_MAX * sizeof *b->flight);
    b->n_flight = 0;
    b->max_events = MIN(max_events, REPORT_EVENTS_MAX);
    for (struct held *h = b->held; h; h = h->next) {
        struct msg_held *list = h->is_task ? r.tasks : r.held;
        int *count = h->is_task ? &r.n_tasks : &r.n_held;

        list[(*count)++] = (struct msg_held){ h->trial, h->fence };
        collect(b, h, r.events, &detail);
    }
    r.n_events = b->n_flight;
    j = msg_report_json_new(&r);
    mem_free(r.held);
    mem_free(r.tasks);
    mem_free(r.events);
    return j;
}

void outbox_report_lost(struct outbox *b)
{
    b->n_flight = 0;
}

int outbox_report_events(const struct outbox *b)
{
    return b->n_flight;
}

struct held *outbox_report_held(struct outbox *b, int i)
{
    CHECK(i >= 0 && i < b->n_flight);
    const struct flight *f = &b->flight[i];
    return outbox_find(b, f->trial, f->fence, f->is_task);
}

int outbox_answer(struct outbox *b, int i, const struct msg_reply *r, struct held **h,
                  enum msg_type *type)
{
    const struct flight *f = i < b->n_flight ? &b->flight[i] : NULL;
    struct out **link = NULL;

    *h = NULL;
    if (!f || f->trial != r->trial || f->fence != r->fence || f->seq != r->seq)
        return 0;
    *h = outbox_find(b, f->trial, f->fence, f->is_task);
    for (link = *h ? &(*h)->outs : NULL; link && *link; link = &(*link)->next) {
        struct out *o = *link;

        if (o->sent && o->ev.seq == f->seq) {
            *type = o->ev.type;
            *link = o->next;
            out_free(o);
            return 1;
        }
    }
    *h = NULL;
    return 1;
}

/* ---- life ---- */

struct outbox *outbox_new(const struct outbox_conf *conf)
{
    struct outbox *b = mem_zalloc(sizeof *b);

    b->conf = *conf;
    return b;
}

void outbox_free(struct outbox *b)
{
    if (!b)
        return;
    while (b->held)
        outbox_drop(b, b->held);
    mem_free(b->flight);
    mem_free(b);
}
