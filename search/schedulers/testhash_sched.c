/* testhash_sched.c - the test scheduler: it starts, continues, pauses, resumes and stops trials by
 * a hash of the exact sequence of reports so far, as testhash.c does for points. About half of the
 * reports below the top go on, a third pause, the rest stop. A paused trial is resumed when the
 * hash at that time says so, and at the latest when nothing else could run, so every study with it
 * ends. Offered only with --dev.
 *
 * Trials are kept in order of their numbers. How often it is asked changes nothing; only what it is
 * told does. */
#include "search/contract/observation_hash.h"
#include "search/schedulers/schedulers.h"

#include "base/bisect.h"
#include "base/mem.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum entry_state { ENTRY_RUNNING, ENTRY_PAUSED, ENTRY_STOPPED, ENTRY_ENDED, ENTRY_STATES };

struct entry {
    int64_t trial;
    int max_level, level, to;
    enum entry_state state;
};

struct testhash {
    struct scheduler base;
    struct observation_hash observed;
    struct entry *entries;
    size_t n, cap;
};

static struct testhash *of(struct scheduler *s)
{
    return (struct testhash *)s;
}

static uint64_t decide(const struct testhash *t, int64_t trial, uint64_t what)
{
    return rng_mix(rng_mix(t->observed.value, (uint64_t)trial), what);
}

/* The place of a trial, or where it would stand. */
static size_t place_of(const struct testhash *t, int64_t trial)
{
    size_t at;

    BISECT(at, t->n, t->entries[at].trial < trial);
    return at;
}

static struct scheduler *testhash_open(const struct search_setup *setup, struct err *err)
{
    struct testhash *t = mem_zalloc(sizeof *t);

    (void)err;
    t->base = (struct scheduler){ &search_testhash_scheduler, setup->seed };
    observation_hash_init(&t->observed, setup->seed);
    return &t->base;
}

static void testhash_close(struct scheduler *s)
{
    observation_hash_fini(&of(s)->observed);
    mem_free(of(s)->entries);
    mem_free(s);
}

static struct entry *insert(struct testhash *t, size_t at)
{
    MEM_GROW(t->entries, t->n, t->cap);
    memmove(t->entries + at + 1, t->entries + at, (t->n - at) * sizeof *t->entries);
    t->n++;
    return &t->entries[at];
}

static int testhash_start(struct scheduler *s, int64_t trial, int family, int max_level,
                          struct err *err)
{
    struct testhash *t = of(s);
    size_t at = place_of(t, trial);

    (void)family;
    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    if (at < t->n && t->entries[at].trial == trial)
        return t->entries[at].to;
    int to = 1 + (int)(decide(t, trial, 1) % (uint64_t)max_level);
    *insert(t, at) = (struct entry){ trial, max_level, 0, to, ENTRY_RUNNING };
    return to;
}

static void entry_move(const struct testhash *t, struct entry *e)
{
    uint64_t h = decide(t, e->trial, 2), dice = h % 6;

    e->state = dice < 3 ? ENTRY_RUNNING : dice < 5 ? ENTRY_PAUSED : ENTRY_STOPPED;
    if (e->state == ENTRY_RUNNING)
        e->to = e->level + 1 + (int)((h >> 32) % (uint64_t)(e->max_level - e->level));
}

static struct sched_decision decision_of(const struct entry *e)
{
    switch (e->state) {
    case ENTRY_RUNNING:
        return (struct sched_decision){ SCHED_RUN_TO, e->to };
    case ENTRY_PAUSED:
        return (struct sched_decision){ SCHED_PAUSE, 0 };
    case ENTRY_STOPPED:
        return (struct sched_decision){ SCHED_STOP, 0 };
    default:
        return (struct sched_decision){ SCHED_DONE, 0 };
    }
}

static int testhash_report(struct scheduler *s, const struct observation *o,
                           struct sched_decision *out, struct err *err)
{
    struct testhash *t = of(s);
    size_t at = place_of(t, o->trial);

    if (at == t->n || t->entries[at].trial != o->trial)
        return err_set(err, ERR_NOTFOUND, "the scheduler has no trial %" PRId64, o->trial);
    struct entry *e = &t->entries[at];
    observation_hash_observe(&t->observed, o);
    if (o->state != OBS_RUNNING || o->level >= e->max_level) {
        e->state = ENTRY_ENDED;
    } else if (o->level > e->level && e->state == ENTRY_RUNNING) {
        e->level = o->level;
        if (isnan(o->value))
            e->state = ENTRY_STOPPED;
        else if (e->level >= e->to) /* a level on the way to `to` decides nothing */
            entry_move(t, e);
    }
    *out = decision_of(e);
    return 0;
}

static int testhash_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                           struct err *err)
{
    struct testhash *t = of(s);
    int given = 0;

    (void)err;
    for (size_t i = 0; i < t->n && given < n; i++) {
        struct entry *e = &t->entries[i];
        if (e->state != ENTRY_PAUSED)
            continue;
        uint64_t h = decide(t, e->trial, 3);
        if (!idle && h % 3 != 0)
            continue;
        e->state = ENTRY_RUNNING;
        e->to = e->level + 1 + (int)((h >> 32) % (uint64_t)(e->max_level - e->level));
        out[given++] = (struct sched_resume){ e->trial, e->to };
    }
    return given;
}

static int testhash_retire(struct scheduler *s, int n, bool closing, int64_t *trials,
                           struct err *err)
{
    struct testhash *t = of(s);
    int given = 0;

    (void)err;
    for (size_t i = 0; closing && i < t->n && given < n; i++) {
        struct entry *e = &t->entries[i];
        if (e->state != ENTRY_PAUSED || decide(t, e->trial, 4) % 2)
            continue;
        e->state = ENTRY_STOPPED;
        trials[given++] = e->trial;
    }
    return given;
}

const struct scheduler_ops search_testhash_scheduler = {
    .name = "testhash",
    .help = "for tests: pauses, resumes and stops by the sequence of all results so far",
    .is_test_only = true,
    .open = testhash_open,
    .close = testhash_close,
    .start = testhash_start,
    .report = testhash_report,
    .resume = testhash_resume,
    .retire = testhash_retire,
};
