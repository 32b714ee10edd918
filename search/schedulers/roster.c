/* roster.c - the table of trials, found by bisection; numbers nearly always come in rising order. */
#include "search/schedulers/roster.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void roster_fini(struct roster *r)
{
    mem_free(r->entries);
    *r = (struct roster){ 0 };
}

static size_t place_of(const struct roster *r, int64_t trial)
{
    size_t lo = 0, hi = r->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->entries[mid].trial < trial)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct roster_entry *roster_find(const struct roster *r, int64_t trial)
{
    size_t at = place_of(r, trial);

    return at < r->n && r->entries[at].trial == trial ? &r->entries[at] : NULL;
}

struct roster_entry *roster_add(struct roster *r, int64_t trial, int home, int rung)
{
    size_t at = place_of(r, trial);

    CHECK(at == r->n || r->entries[at].trial != trial);
    if (r->n == r->cap) {
        r->cap = mem_more(r->cap);
        r->entries = mem_resize(r->entries, r->cap * sizeof *r->entries);
    }
    memmove(r->entries + at + 1, r->entries + at, (r->n - at) * sizeof *r->entries);
    r->entries[at] = (struct roster_entry){
        .trial = trial, .value = NAN, .home = home, .rung = rung, .state = ROSTER_RUNNING
    };
    r->n++;
    r->n_running++;
    return &r->entries[at];
}

void roster_move(struct roster *r, struct roster_entry *e, enum roster_state to)
{
    r->n_running += (to == ROSTER_RUNNING) - (e->state == ROSTER_RUNNING);
    e->state = to;
}

int roster_unknown(int64_t trial, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "the scheduler has no trial %" PRId64, trial);
}

int roster_save(const struct roster *r, struct buf *out, struct err *err)
{
    if (buf_put_u64(out, r->n, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n; i++) {
        const struct roster_entry *e = &r->entries[i];
        if (buf_put_u64(out, (uint64_t)e->trial, err) < 0 || buf_put_f64(out, e->value, err) < 0 ||
            buf_put_u32(out, (uint32_t)e->home, err) < 0 ||
            buf_put_u32(out, (uint32_t)e->rung, err) < 0 ||
            buf_put_u8(out, (uint8_t)e->state, err) < 0 || buf_put_u8(out, e->flags, err) < 0)
            return -1;
    }
    return 0;
}

static int entry_load(struct roster_entry *e, struct view *in, struct err *err)
{
    uint32_t home = 0, rung = 0;
    uint64_t trial = 0;
    uint8_t state = 0;

    if (view_u64(in, &trial, err) < 0 || view_f64(in, &e->value, err) < 0 ||
        view_u32(in, &home, err) < 0 || view_u32(in, &rung, err) < 0 ||
        view_u8(in, &state, err) < 0 || view_u8(in, &e->flags, err) < 0)
        return -1;
    if (home > INT32_MAX || rung > INT32_MAX || state >= ROSTER_STATES)
        return err_set(err, ERR_ARG, "saved state is damaged: trial %" PRId64, (int64_t)trial);
    e->trial = (int64_t)trial;
    e->home = (int)home;
    e->rung = (int)rung;
    e->state = (enum roster_state)state;
    return 0;
}

int roster_load(struct roster *r, struct view *in, struct err *err)
{
    struct roster_entry e = { 0 };
    uint64_t n = 0;

    if (view_u64(in, &n, err) < 0)
        return -1;
    for (uint64_t i = 0; i < n; i++) { /* a false count ends at the end of the bytes */
        if (entry_load(&e, in, err) < 0)
            return -1;
        if (r->n > 0 && e.trial <= r->entries[r->n - 1].trial)
            return err_set(err, ERR_ARG, "saved state is damaged: trials out of order");
        struct roster_entry *to = roster_add(r, e.trial, e.home, e.rung);
        roster_move(r, to, e.state);
        to->value = e.value;
        to->flags = e.flags;
    }
    return 0;
}
