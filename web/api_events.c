/* api_events.c - the live feed: server-sent events whose ids are journal sequence numbers. A client that
 * comes back with Last-Event-ID (or after=) gets what it missed, then what happens. Three promises:
 * everything sent is committed; nothing is sent twice; a client that reads too slowly costs at most
 * WEB_STREAM_MAX bytes: then events are dropped and, once it has read, one `resync` tells it to fetch
 * anew. Progress events have no id and are never replayed. */
#include "web/route.h"

#include "base/clk.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPLAY_ROWS = 200, REPLAY_MAX = 20000 };

struct stream {
    struct web_req *r;
    struct ctl_sub *sub;
    struct loop_timer *heartbeat;
    int64_t study;     /* 0 = all */
    int64_t seq;       /* the last one sent */
    bool wants_replay; /* has not caught up with the journal yet */
    bool is_overflowed;
};

static void event_send(struct stream *s, int64_t seq, const char *event, const char *json)
{
    size_t size = strlen(event) + strlen(json) + 64;
    char *text = mem_alloc(size);
    int n = seq > 0
                ? snprintf(text, size, "id: %" PRId64 "\nevent: %s\ndata: %s\n\n", seq, event, json)
                : snprintf(text, size, "event: %s\ndata: %s\n\n", event, json);

    CHECK(n > 0 && (size_t)n < size);
    web_stream_add(s->r, text, (size_t)n);
    mem_free(text);
}

/* `resync` and `hello`: from here on you are told everything. */
static void mark_send(struct stream *s, const char *event)
{
    char json[48];

    (void)!snprintf(json, sizeof json, "{\"seq\":%" PRId64 "}", s->seq);
    event_send(s, s->seq, event, json);
}

static void on_row(void *arg, int64_t seq, const char *event, const char *json)
{
    struct stream *s = arg;

    event_send(s, seq, event, json);
    s->seq = MAX(s->seq, seq);
}

static void resync(struct stream *s)
{
    s->is_overflowed = s->wants_replay = false;
    s->seq = ctl_events_last(s->r->ctl);
    mark_send(s, "resync");
}

/* As much as half the client's buffer takes; the rest when that has been read. */
static void replay(struct stream *s)
{
    bool more = true;

    while (more && web_stream_pending(s->r) < WEB_STREAM_MAX / 2) {
        if (ctl_events_since(s->r->ctl, s->study, s->seq, REPLAY_ROWS, on_row, s, &more, NULL) <
            0) {
            resync(s);
            return;
        }
    }
    s->wants_replay = more;
}

static void on_event(void *arg, int64_t seq, const char *event, const char *json)
{
    struct stream *s = arg;

    if (s->is_overflowed || s->wants_replay || (seq > 0 && seq <= s->seq) || !s->r->wire)
        return; /* replay finds it in the journal, or resync stands for it */
    if (web_stream_pending(s->r) + strlen(json) > WEB_STREAM_MAX) {
        s->is_overflowed = true;
        return;
    }
    on_row(s, seq, event, json);
}

static void on_drained(struct web_req *r)
{
    struct stream *s = r->state;

    if (s->is_overflowed)
        resync(s);
    else if (s->wants_replay)
        replay(s);
}

static void on_heartbeat(void *arg)
{
    struct stream *s = arg;

    if (s->r->wire && web_stream_pending(s->r) == 0)
        web_stream_add(s->r, ":\n\n", 3);
}

static void stream_gone(struct web_req *r)
{
    struct stream *s = r->state;

    loop_timer_free(s->heartbeat);
    ctl_unsubscribe(r->ctl, s->sub);
}

static void stream_start(struct stream *s)
{
    struct web_req *r = s->r;
    int64_t last = ctl_events_last(r->ctl), beat = web_conf_get(r->web)->heartbeat_ms;
    bool is_behind = s->seq >= 0 && s->seq < last;

    r->on_gone = stream_gone;
    if (web_stream_start(r, "text/event-stream; charset=utf-8", on_drained) < 0)
        return;
    s->sub = ctl_subscribe(r->ctl, s->study, on_event, s);
    s->heartbeat = loop_timer_new(web_loop(r->web), beat, beat, on_heartbeat, s);
    web_stream_add(r, "retry: 2000\n\n", 13);
    if (s->seq > last || (is_behind && last - s->seq > REPLAY_MAX)) {
        resync(s); /* another database's number, or too much to tell */
        return;
    }
    if (is_behind) {
        replay(s);
        return;
    }
    s->seq = last;
    mark_send(s, "hello");
}

/* What the journal holds now is committed. */
static void on_committed(void *arg, bool ok, const struct err *err)
{
    struct web_req *r = arg;

    if (!r->wire)
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
    json_t *study = NULL;

    if (!ref)
        return 0;
    if (ctl_study_get(r->ctl, ref, &study, err) < 0)
        return -1;
    *out = json_integer_value(json_object_get(study, "id"));
    json_decref(study);
    return 0;
}

static int events(struct web_req *r, struct err *err)
{
    struct stream *s = arena_alloc(&r->arena, sizeof *s);
    const char *last_id = web_header(r, "Last-Event-ID");

    s->r = r;
    s->seq = -1;
    if (study_id(r, &s->study, err) < 0 || web_arg_i64(r, "after", 0, INT64_MAX, &s->seq, err) < 0)
        return -1;
    if (last_id && str_i64(last_id, 0, INT64_MAX, &s->seq, NULL) < 0)
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
    { WEB_GET, "/api/v1/events", events, WEB_VIEWERS, 0, "study,after",
      "Server-sent events; resumes after Last-Event-ID", NULL, "Events" },
};
const struct web_table web_events_table = { routes, ARRAY_LEN(routes) };
