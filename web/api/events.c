/* events.c - the live feed: server-sent events whose ids are sequence numbers of the journal. A
 * client that comes back with Last-Event-ID (or after=) first gets what it missed, and then each
 * event as it happens; feed.c writes the events.
 *
 * A stream begins only after the commit of the turn in which it was asked for, so that the first
 * event is one that cannot be lost any more. It ends when the client leaves, or when its token or
 * session is revoked. */
#include "web/api/handlers.h"

#include "base/loop.h"
#include "base/str.h"
#include "web/api/feed.h"
#include "web/request/send.h"

struct stream {
    struct feed_reader reader;
    struct ctl_watch *watch; /* the stream ends with the token or session that opened it */
    struct loop_timer *heartbeat;
};

static void on_drained(struct web_req *r)
{
    struct stream *s = r->state;

    feed_drained(&s->reader);
}

static void on_heartbeat(void *arg)
{
    struct web_req *r = arg;

    if (r->conn && web_stream_pending(r) == 0)
        web_stream_add(r, ":\n\n", 3);
}

static void stream_gone(struct web_req *r)
{
    struct stream *s = r->state;

    loop_timer_free(s->heartbeat);
    feed_leave(&s->reader);
    ctl_who_unwatch(r->ctl, s->watch);
}

/* The client's token or session was revoked. The stream ends; the client connects again and then
 * gets the error. */
static void on_who_ended(void *arg)
{
    struct web_req *r = arg;
    void (*on_gone)(struct web_req *) = r->on_gone;

    r->on_gone = NULL;
    if (!on_gone)
        return;
    on_gone(r);
    web_stream_end(r);
}

static void stream_start(struct stream *s)
{
    struct web_req *r = s->reader.r;
    int64_t beat = r->web->heartbeat_ms;

    r->on_gone = stream_gone;
    if (web_stream_start(r, "text/event-stream; charset=utf-8", on_drained) < 0)
        return;
    s->watch = ctl_who_watch(r->ctl, &r->who, on_who_ended, r);
    s->heartbeat = loop_timer_new(r->web->loop, beat, beat, on_heartbeat, r);
    web_stream_add(r, "retry: 2000\n\n", 13);
    feed_join(&s->reader);
}

/* The turn's commit is done, so everything that the journal holds now is durable, and the stream
 * may begin. */
static void on_committed(void *arg, bool ok, const struct err *err)
{
    struct web_req *r = arg;

    if (!r->conn)
        web_send(r);
    else if (!ok)
        web_fail(r, err);
    else
        stream_start(r->state);
    web_release(r);
}

static int study_id(struct web_req *r, int64_t *out, struct err *err)
{
    const char *ref = web_arg(r, "study");

    return ref ? ctl_study_id(r->ctl, ref, out, err) : 0;
}

static int events(struct web_req *r, struct err *err)
{
    struct stream *s = arena_alloc(&r->arena, sizeof *s);
    const char *last_id = web_header(r, "Last-Event-ID");

    *s = (struct stream){ .reader = { .r = r, .seq = -1 } };
    if (study_id(r, &s->reader.study, err) < 0 ||
        web_arg_i64(r, "after", 0, INT64_MAX, &s->reader.seq, err) < 0 ||
        web_arg_bool(r, "brief", &s->reader.is_brief, err) < 0)
        return -1;
    if (last_id && str_i64(last_id, 0, INT64_MAX, &s->reader.seq, NULL) < 0)
        return err_at(err, "Last-Event-ID", "Last-Event-ID must be the id of an event");
    if (r->method == WEB_HEAD)
        return web_fixed(r, 200, "text/event-stream; charset=utf-8", "", 0);
    r->state = s;
    r->is_deferred = true;
    web_hold(r);
    ctl_after_commit(r->ctl, on_committed, r);
    return 0;
}

static const struct web_route routes[] = {
    { WEB_GET, "/api/v1/events", events, WEB_VIEWERS, 0, "study,after,brief",
      "Server-sent events; resumes after Last-Event-ID; brief: at most one a second, of what changed",
      NULL, "Events" },
};
const struct web_table web_events_table = { routes, ARRAY_LEN(routes) };
