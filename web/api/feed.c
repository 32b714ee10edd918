/* feed.c - see feed.h. The text of the newest events stands in a ring of bounded size (FRAMES,
 * RING_BYTES), and a reader is a position in it. Readers are served after the turn that made the
 * events, in slices of SLICE_US and in rotation; each gets everything that is new to it at once. A
 * reader that falls behind the ring reads the journal until it has caught up.
 *
 * Three promises. Everything that is sent was committed. Nothing is sent twice. A client that reads
 * too slowly costs at most WEB_STREAM_MAX bytes: further events are dropped, and once it has read
 * what waited, one `resync` event tells it to fetch everything anew. Progress events have no id and
 * are never repeated.
 *
 * A brief reader is told only which studies changed: {"seq", "studies": [ids]}, or null for "any".
 */
#include "web/api/feed.h"

#include "base/buf.h"
#include "base/clk.h"
#include "base/loop.h"
#include "base/mem.h"
#include "web/request/send.h"

#include <inttypes.h>
#include <string.h>

enum {
    FRAMES = 8192,
    RING_BYTES = 1 << 20,
    REPLAY_ROWS = 200,
    REPLAY_MAX = 20000,
    SLICE_US = 3000,
    BRIEF_MS = 1000,
    BRIEF_STUDIES = 100
};

struct frame {
    int64_t seq, study;
    char *text;
    size_t len;
};

struct feed {
    struct ctl *ctl;
    struct loop *loop;
    struct ctl_sub *sub; /* while there is a reader */
    struct frame ring[FRAMES];
    int64_t first, next; /* frames first .. next - 1 are there, at their number modulo FRAMES */
    size_t bytes;
    struct feed_reader **readers; /* NULL where one left while others were served */
    int n_readers, cap_readers, pos;
    bool in_serve;
    struct loop_timer *timer;
    int64_t due_ms; /* when it fires; 0 = it does not */
};

/* ---- frames ---- */

static int frame_add(struct buf *out, int64_t seq, const char *event, const char *json)
{
    return seq > 0
               ? buf_addf(out, NULL, "id: %" PRId64 "\nevent: %s\ndata: %s\n\n", seq, event, json)
               : buf_addf(out, NULL, "event: %s\ndata: %s\n\n", event, json);
}

static void ring_drop(struct feed *f)
{
    struct frame *frame = &f->ring[f->first++ % FRAMES];

    f->bytes -= frame->len;
    mem_free(frame->text);
    frame->text = NULL;
}

static void serve_in(struct feed *f, int64_t ms)
{
    int64_t due = clk_now_ms(loop_clk(f->loop)) + ms;

    if (f->due_ms && f->due_ms <= due)
        return;
    f->due_ms = MAX(due, 1);
    loop_timer_again(f->timer, ms);
}

static void on_event(void *arg, int64_t study, int64_t seq, const char *event, const char *json)
{
    struct feed *f = arg;
    struct frame *frame = &f->ring[f->next % FRAMES];
    struct buf text;

    buf_init(&text, WEB_STREAM_MAX);
    if (frame_add(&text, seq, event, json) < 0) {
        buf_fini(&text); /* no event is as long */
        return;
    }
    if (f->next - f->first == FRAMES)
        ring_drop(f);
    *frame = (struct frame){ .seq = seq, .study = study };
    frame->text = buf_take(&text, &frame->len);
    f->bytes += frame->len;
    f->next++;
    while (f->bytes > RING_BYTES)
        ring_drop(f);
    serve_in(f, 0);
}

/* ---- one reader ---- */

static void event_send(struct feed_reader *s, const char *event, const char *json)
{
    struct buf text;

    buf_init(&text, WEB_STREAM_MAX);
    if (frame_add(&text, s->seq, event, json) == 0)
        web_stream_add(s->r, text.data, text.len);
    buf_fini(&text);
}

/* `resync` and `hello`: from here on you are told everything. */
static void mark_send(struct feed_reader *s, const char *event)
{
    char json[48];

    (void)!snprintf(json, sizeof json, "{\"seq\":%" PRId64 "}", s->seq);
    event_send(s, event, json);
}

static void resync(struct feed *f, struct feed_reader *s)
{
    s->is_overflowed = s->wants_replay = false;
    s->seq = ctl_events_last(f->ctl);
    s->at = f->next;
    mark_send(s, "resync");
}

struct replay {
    struct buf text;
    int64_t seq;
};

static void on_row(void *arg, int64_t seq, const char *event, const char *json)
{
    struct replay *p = arg;

    if (frame_add(&p->text, seq, event, json) == 0)
        p->seq = seq;
}

/* As much as half the client's buffer takes, a few rows at a time; the rest when that has been
 * read. */
static void replay(struct feed *f, struct feed_reader *s)
{
    struct replay p = { .seq = s->seq };
    bool more = true;

    if (web_stream_pending(s->r) >= WEB_STREAM_MAX / 2)
        return;
    buf_init(&p.text, 1 << 24);
    if (ctl_events_since(f->ctl, s->study, s->seq, REPLAY_ROWS, on_row, &p, &more, NULL) < 0) {
        buf_fini(&p.text);
        resync(f, s);
        return;
    }
    if (p.text.len)
        web_stream_add(s->r, p.text.data, p.text.len);
    buf_fini(&p.text);
    s->seq = p.seq;
    s->wants_replay = more;
    s->at = f->first; /* what it has had is left out by its number */
    serve_in(f, 0);
}

static bool is_for(const struct feed_reader *s, const struct frame *frame)
{
    return (!s->study || !frame->study || frame->study == s->study) &&
           (frame->seq == 0 || frame->seq > s->seq);
}

static void frames_send(struct feed *f, struct feed_reader *s)
{
    size_t room = web_stream_pending(s->r);
    struct buf text;

    buf_init(&text, WEB_STREAM_MAX);
    for (; s->at < f->next && !s->is_overflowed; s->at++) {
        const struct frame *frame = &f->ring[s->at % FRAMES];

        if (!is_for(s, frame))
            continue;
        if (room + text.len + frame->len > WEB_STREAM_MAX ||
            buf_add(&text, frame->text, frame->len, NULL) < 0)
            s->is_overflowed = true;
        else
            s->seq = MAX(s->seq, frame->seq);
    }
    if (text.len)
        web_stream_add(s->r, text.data, text.len);
    buf_fini(&text);
}

struct changed {
    int64_t studies[BRIEF_STUDIES];
    int n;
    bool is_any;
};

static void changed_add(struct changed *c, int64_t study)
{
    for (int i = 0; i < c->n; i++) {
        if (c->studies[i] == study)
            return;
    }
    if (c->n == BRIEF_STUDIES)
        c->is_any = true;
    else
        c->studies[c->n++] = study;
}

static void changed_send(struct feed_reader *s, const struct changed *c)
{
    struct buf json;

    buf_init(&json, 1 << 16);
    buf_addf(&json, NULL, "{\"seq\":%" PRId64 ",\"studies\":", s->seq);
    for (int i = 0; i < c->n && !c->is_any; i++)
        buf_addf(&json, NULL, "%s%" PRId64, i ? "," : "[", c->studies[i]);
    buf_adds(&json, c->is_any ? "null}" : c->n ? "]}" : "[]}", NULL);
    event_send(s, "changed", json.data);
    buf_fini(&json);
}

/* What changed in the last second, in one event. */
static void brief_send(struct feed *f, struct feed_reader *s, int64_t now)
{
    struct changed c = { .is_any = s->wants_replay || s->at < f->first };
    bool has_news = c.is_any;

    if (s->at == f->next && !has_news)
        return;
    if (now - s->told_ms < BRIEF_MS) {
        serve_in(f, BRIEF_MS - (now - s->told_ms));
        return;
    }
    for (s->at = MAX(s->at, f->first); s->at < f->next; s->at++) {
        const struct frame *frame = &f->ring[s->at % FRAMES];

        if (frame->seq == 0 || !is_for(s, frame))
            continue;
        if (frame->study)
            changed_add(&c, frame->study);
        s->seq = frame->seq;
        has_news = true;
    }
    if (s->wants_replay)
        s->seq = MAX(s->seq, ctl_events_last(f->ctl));
    s->wants_replay = false;
    if (!has_news)
        return;
    s->told_ms = now;
    if (web_stream_pending(s->r) < WEB_STREAM_MAX / 2)
        changed_send(s, &c);
    else
        s->is_overflowed = true;
}

static void reader_serve(struct feed *f, struct feed_reader *s, int64_t now)
{
    if (!s->r->conn || s->is_overflowed)
        return;
    if (s->is_brief) {
        brief_send(f, s, now);
        return;
    }
    if (!s->wants_replay && s->at < f->first)
        s->wants_replay = true;
    if (s->wants_replay)
        replay(f, s);
    else
        frames_send(f, s);
}

/* ---- all readers ---- */

static void compact(struct feed *f)
{
    int n = 0;

    for (int i = 0; i < f->n_readers; i++) {
        if (f->readers[i])
            f->readers[n++] = f->readers[i];
    }
    f->n_readers = n;
    f->pos = n ? f->pos % n : 0;
    if (n == 0 && f->sub) {
        ctl_unsubscribe(f->ctl, f->sub);
        f->sub = NULL;
    }
}

static void serve(void *arg)
{
    struct feed *f = arg;
    struct clk *clk = loop_clk(f->loop);
    int64_t now = clk_now_ms(clk), from_us = clk_now_us(clk);
    int n = f->n_readers, k = 0;

    f->due_ms = 0;
    f->in_serve = true;
    for (; k < n && clk_now_us(clk) - from_us < SLICE_US; k++) {
        struct feed_reader *s = f->readers[(f->pos + k) % n];

        if (s)
            reader_serve(f, s, now);
    }
    f->in_serve = false;
    f->pos += k;
    compact(f);
    if (k < n)
        serve_in(f, 0);
}

static struct feed *feed_new(struct ctl *ctl, struct loop *loop)
{
    struct feed *f = mem_zalloc(sizeof *f);

    f->ctl = ctl;
    f->loop = loop;
    f->timer = loop_timer_new(loop, 0, 0, serve, f);
    return f;
}

void feed_join(struct feed_reader *s)
{
    struct feed **place = &s->r->web->feed, *f = *place;
    int64_t last = ctl_events_last(s->r->ctl);
    bool is_behind = s->seq >= 0 && s->seq < last;

    if (!f)
        f = *place = feed_new(s->r->ctl, s->r->web->loop);
    if (!f->sub)
        f->sub = ctl_subscribe(f->ctl, 0, on_event, f);
    MEM_GROW(f->readers, f->n_readers, f->cap_readers);
    f->readers[f->n_readers++] = s;
    s->at = f->next;
    if (s->seq > last || (is_behind && last - s->seq > REPLAY_MAX && !s->is_brief)) {
        resync(f, s); /* another database's number, or too much to tell */
        return;
    }
    s->wants_replay = is_behind;
    if (is_behind) {
        serve_in(f, 0);
        return;
    }
    s->seq = last;
    mark_send(s, "hello");
}

void feed_leave(struct feed_reader *s)
{
    struct feed *f = s->r->web ? s->r->web->feed : NULL;

    for (int i = 0; f && i < f->n_readers; i++) {
        if (f->readers[i] == s)
            f->readers[i] = NULL;
    }
    if (f && !f->in_serve)
        compact(f);
}

void feed_drained(struct feed_reader *s)
{
    struct feed *f = s->r->web->feed;

    if (s->is_overflowed)
        resync(f, s);
    else if (s->wants_replay)
        serve_in(f, 0);
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    if (f->sub)
        ctl_unsubscribe(f->ctl, f->sub);
    loop_timer_free(f->timer);
    while (f->first < f->next)
        ring_drop(f);
    mem_free(f->readers);
    mem_free(f);
}
