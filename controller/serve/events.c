/* events.c - subscribers of the live feed (events.h).
 *
 * Rows of the journal go out only after they are durable, in the order of their sequence, and
 * each once. A client that connects again asks for the rows after the last one that it saw
 * (ctl_events_since). Progress goes out with seq 0: it is never stored, and a client that missed it
 * misses nothing that lasts. */
#include "controller/serve/events.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/serve/serve.h"
#include "store/journal.h"

#include <inttypes.h>
#include <string.h>

enum { FLUSH_BATCH = 1000 };

struct ctl_sub {
    struct ctl_sub *next;
    int64_t study; /* 0 = all */
    void (*on_event)(void *arg, int64_t study, int64_t seq, const char *event, const char *json);
    void *arg;
    bool is_dead; /* it unsubscribed; it is freed when no row is being sent */
};

json_t *events_json(const struct journal_row *row)
{
    json_t *data = row->data ? jsonx_load(row->data, strlen(row->data), "journal", NULL) : NULL;

    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:o}", "seq", (json_int_t)row->seq, "at",
                     (json_int_t)row->at, "study", (json_int_t)row->study, "trial",
                     (json_int_t)row->trial, "event", row->event, "data",
                     data ? data : json_null());
}

/* The text of events_json. The row's data is JSON already and is copied without being parsed,
 * because two hundred readers that lag behind may ask for the same rows again and again. */
static char *row_text(const struct journal_row *row)
{
    size_t n = row->data ? strlen(row->data) : 0;
    struct buf text;

    if (n < 2 || row->data[0] != '{' || row->data[n - 1] != '}' || strchr(row->data, '\n')) {
        json_t *json = events_json(row);
        char *dumped = jsonx_dump(json);

        json_decref(json);
        return dumped;
    }
    buf_init(&text, n + 400);
    CHECK(buf_addf(&text, NULL,
                   "{\"at\":%" PRId64 ",\"data\":%s,\"event\":\"%s\",\"seq\":%" PRId64
                   ",\"study\":%" PRId64 ",\"trial\":%" PRId64 "}",
                   row->at, row->data, row->event, row->seq, row->study, row->trial) == 0);
    return buf_take(&text, NULL);
}

/* Frees subscribers that are gone. */
static void sweep(struct ctl *ctl)
{
    struct ctl_sub **p = &ctl->serve->subs;

    CHECK(!ctl->serve->is_telling); /* nobody walks the list now */
    while (*p) {
        struct ctl_sub *s = *p;

        if (!s->is_dead) {
            p = &s->next;
            continue;
        }
        *p = s->next;
        mem_free(s);
    }
}

static void tell_all(struct ctl *ctl, int64_t study, int64_t seq, const char *event,
                     const char *text)
{
    CHECK(ctl->serve->is_telling); /* a subscriber that goes away now stays in the list */
    for (struct ctl_sub *s = ctl->serve->subs; s; s = s->next) {
        if (!s->is_dead && (!s->study || !study || s->study == study))
            s->on_event(s->arg, study, seq, event, text);
    }
}

struct flush {
    struct ctl *ctl;
    int64_t last; /* rows beyond it are not durable yet */
    int n;
};

static int on_row(void *arg, const struct journal_row *row)
{
    struct flush *f = arg;

    if (row->seq > f->last)
        return 1;
    char *text = row_text(row);
    f->n++;
    f->ctl->events_sent = row->seq;
    tell_all(f->ctl, row->study, row->seq, row->event, text);
    mem_free(text);
    return 0;
}

void events_flush(struct ctl *ctl)
{
    struct flush f = { .ctl = ctl, .last = journal_durable(ctl->store) };
    struct err err = { 0 };

    if (ctl->events_sent >= f.last)
        return;
    if (!ctl->serve->subs) {
        ctl->events_sent = f.last;
        return;
    }
    ctl->serve->is_telling = true;
    do {
        f.n = 0;
        if (store_journal_each(ctl->store, 0, ctl->events_sent, FLUSH_BATCH, on_row, &f, &err) <
            0) {
            log_error("events.flush err=\"%s\"", err.text);
            break;
        }
    } while (f.n == FLUSH_BATCH);
    ctl->serve->is_telling = false;
    sweep(ctl);
}

void events_progress(struct ctl *ctl, int64_t study, const struct trial_row *row,
                     const struct msg_event *e)
{
    json_t *data = NULL, *json = NULL;

    if (!ctl->serve->subs)
        return;
    data = json_pack("{s:I, s:s, s:i, s:o, s:o, s:b}", "number", (json_int_t)row->number, "family",
                     row->family, "level", e->level, "progress", jsonx_real(e->progress), "score",
                     jsonx_real(e->value), "epochs", (int)(e->epochs != NULL));
    json = json_pack("{s:i, s:I, s:I, s:I, s:s, s:o}", "seq", 0, "at", (json_int_t)ctl_wall(ctl),
                     "study", (json_int_t)study, "trial", (json_int_t)row->id, "event", "progress",
                     "data", data);
    char *text = jsonx_dump(json);
    ctl->serve->is_telling = true;
    tell_all(ctl, study, 0, "progress", text);
    ctl->serve->is_telling = false;
    sweep(ctl);
    mem_free(text);
    json_decref(json);
}

void events_free_all(struct ctl *ctl)
{
    while (ctl->serve->subs) {
        struct ctl_sub *s = ctl->serve->subs;

        ctl->serve->subs = s->next;
        mem_free(s);
    }
}

struct ctl_sub *ctl_subscribe(struct ctl *ctl, int64_t study,
                              void (*on_event)(void *arg, int64_t study, int64_t seq,
                                               const char *event, const char *json),
                              void *arg)
{
    struct ctl_sub *s = mem_zalloc(sizeof *s);

    s->study = study;
    s->on_event = on_event;
    s->arg = arg;
    s->next = ctl->serve->subs;
    ctl->serve->subs = s;
    return s;
}

void ctl_unsubscribe(struct ctl *ctl, struct ctl_sub *sub)
{
    if (!sub)
        return;
    sub->is_dead = true;
    if (!ctl->serve->is_telling)
        sweep(ctl);
}

struct replay_arg {
    void (*on_event)(void *arg, int64_t seq, const char *event, const char *json);
    void *arg;
    int64_t last; /* rows beyond it are not committed yet */
    int n, limit;
    bool more;
};

static int on_replay(void *arg, const struct journal_row *row)
{
    struct replay_arg *r = arg;

    if (row->seq > r->last)
        return 1;
    if (r->n == r->limit) {
        r->more = true;
        return 1;
    }
    char *text = row_text(row);
    r->n++;
    r->on_event(r->arg, row->seq, row->event, text);
    mem_free(text);
    return 0;
}

int ctl_events_since(struct ctl *ctl, int64_t study, int64_t seq, int limit,
                     void (*on_event)(void *arg, int64_t seq, const char *event, const char *json),
                     void *arg, bool *more, struct err *err)
{
    struct replay_arg r = {
        .on_event = on_event, .arg = arg, .last = ctl->events_sent, .limit = limit
    };

    if (store_journal_each(ctl->store, study, seq, limit + 1, on_replay, &r, err) < 0)
        return -1;
    if (more)
        *more = r.more;
    return 0;
}

int64_t ctl_events_last(struct ctl *ctl)
{
    return ctl->events_sent;
}
