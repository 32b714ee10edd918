/* ledger.c - the book of acknowledged facts: growing arrays under one lock. Events are kept by their number as a hash of
 * what they said. */
#include "tests/e2e/ledger.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/e2e/ledger_priv.h"
#include "tests/e2e/service.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ledger *ledger_new(void)
{
    struct ledger *l = mem_zalloc(sizeof *l);

    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    mem_free(l->studies.ids);
    mem_free(l->datasets.ids);
    mem_free(l->blobs);
    mem_free(l->events);
    mem_free(l->ends);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

const char *ledger_wrong(struct ledger *l)
{
    pthread_mutex_lock(&l->lock);
    const char *wrong = l->wrong[0] ? l->wrong : NULL;
    pthread_mutex_unlock(&l->lock);
    return wrong;
}

static void fail_locked(struct ledger *l, const char *fmt, va_list args)
{
    if (!l->wrong[0])
        (void)!vsnprintf(l->wrong, sizeof l->wrong, fmt, args);
}

void ledger_fail(struct ledger *l, const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&l->lock);
    va_start(args, fmt);
    fail_locked(l, fmt, args);
    va_end(args);
    pthread_mutex_unlock(&l->lock);
}

static void contradict(struct ledger *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void contradict(struct ledger *l, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fail_locked(l, fmt, args);
    va_end(args);
}

static void add_id(struct ledger *l, struct id_list *list, int64_t id)
{
    pthread_mutex_lock(&l->lock);
    bool known = false;
    for (int i = 0; i < list->n; i++)
        known = known || list->ids[i] == id;
    if (!known) {
        list->ids = mem_resize(list->ids, (size_t)(list->n + 1) * sizeof *list->ids);
        list->ids[list->n++] = id;
    }
    pthread_mutex_unlock(&l->lock);
}

void ledger_study(struct ledger *l, int64_t id)
{
    add_id(l, &l->studies, id);
}

void ledger_dataset(struct ledger *l, int64_t id)
{
    add_id(l, &l->datasets, id);
}

void ledger_blob(struct ledger *l, const char *sha256, const char *what)
{
    pthread_mutex_lock(&l->lock);
    l->blobs = mem_resize(l->blobs, (size_t)(l->n_blobs + 1) * sizeof *l->blobs);
    str_copy(l->blobs[l->n_blobs].sha256, SHA256_HEX, sha256);
    str_copy(l->blobs[l->n_blobs].what, sizeof l->blobs[0].what, what);
    l->n_blobs++;
    pthread_mutex_unlock(&l->lock);
}

static bool is_end(const char *state)
{
    return str_eq(state, "completed") || str_eq(state, "pruned") || str_eq(state, "failed") ||
           str_eq(state, "cancelled");
}

/* Once an end was told, it is the trial's state for ever, and its score the score; null says that there is none. A runner
 * that was told to stop knows no score: its row has no such key, and may come after that of a user who saw the end first. */
static void end_seen(struct ledger *l, int64_t trial, const char *state, const json_t *row)
{
    double score = json_number_value(json_object_get(row, "score"));
    bool has_score = json_is_number(json_object_get(row, "score"));
    struct trial_end *e = NULL;

    for (int i = 0; i < l->n_ends; i++) {
        if (l->ends[i].trial == trial)
            e = &l->ends[i];
    }
    if (!e) {
        l->ends = mem_resize(l->ends, (size_t)(l->n_ends + 1) * sizeof *l->ends);
        e = &l->ends[l->n_ends++];
        *e = (struct trial_end){ .trial = trial };
        str_copy(e->state, sizeof e->state, state);
    } else if (!str_eq(e->state, state)) {
        contradict(l, "trial %" PRId64 " was told to be %s, now it is %s", trial, e->state, state);
    }
    if (!json_object_get(row, "score"))
        return;
    if (e->has_score && (!has_score || e->score != score))
        contradict(l, "trial %" PRId64 " had the score %.17g, now %.17g", trial, e->score, score);
    e->has_score = has_score;
    e->score = score;
}

void ledger_trial(struct ledger *l, const json_t *trial)
{
    int64_t id = json_i64(trial, "id");
    const char *state = json_text(trial, "state");

    pthread_mutex_lock(&l->lock);
    if (id > 0 && is_end(state)) {
        end_seen(l, id, state, trial);
    } else if (id > 0) {
        for (int i = 0; i < l->n_ends; i++) {
            if (l->ends[i].trial == id)
                contradict(l, "trial %" PRId64 " had ended as %s, now it is %s", id,
                           l->ends[i].state, state);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

uint64_t ledger_event_hash(const char *event, int64_t study, int64_t trial, const char *data)
{
    struct sha256 s;
    uint8_t out[SHA256_BYTES];
    uint64_t hash = 0;
    char head[96];

    (void)!snprintf(head, sizeof head, "%.40s|%" PRId64 "|%" PRId64 "|", event, study, trial);
    sha256_init(&s);
    sha256_add(&s, head, strlen(head));
    sha256_add(&s, data, strlen(data));
    sha256_end(&s, out);
    memcpy(&hash, out, sizeof hash);
    return hash | 1; /* 0 means that none was seen */
}

char *ledger_data_text(const json_t *data)
{
    return data && !json_is_null(data) ? jsonx_dump(data) : mem_strdup("");
}

void ledger_event(struct ledger *l, int64_t seq, const char *event, const json_t *row)
{
    char *data = ledger_data_text(json_object_get(row, "data"));
    uint64_t hash = ledger_event_hash(event, json_i64(row, "study"), json_i64(row, "trial"), data);

    pthread_mutex_lock(&l->lock);
    if (seq >= l->cap_events) {
        int64_t cap = (seq + 1) * 2;

        l->events = mem_resize(l->events, (size_t)cap * sizeof *l->events);
        memset(l->events + l->cap_events, 0, (size_t)(cap - l->cap_events) * sizeof *l->events);
        l->cap_events = cap;
    }
    if (l->events[seq] && l->events[seq] != hash)
        contradict(l, "event %" PRId64 " was told before with another content: now %s %s", seq,
                   event, data);
    if (!l->events[seq])
        l->n_events++;
    l->events[seq] = hash;
    l->last_event = MAX(l->last_event, seq);
    pthread_mutex_unlock(&l->lock);
    mem_free(data);
}

int64_t ledger_last_event(struct ledger *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t last = l->last_event;
    pthread_mutex_unlock(&l->lock);
    return last;
}

struct ledger_counts ledger_counts(struct ledger *l)
{
    pthread_mutex_lock(&l->lock);
    struct ledger_counts c = { l->studies.n, l->datasets.n, l->n_blobs, l->n_events, l->n_ends };
    pthread_mutex_unlock(&l->lock);
    return c;
}
