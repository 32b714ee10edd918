/* roster.c - the table of trials, sorted by number and searched by bisection. New numbers are
 * nearly always the largest, so an insertion rarely moves anything. */
#include "search/schedulers/roster.h"

#include "base/bisect.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void roster_fini(struct roster *r)
{
    mem_free(r->entries);
    *r = (struct roster){ 0 };
}

/* The place of a trial, or the place where it belongs. */
static size_t place_of(const struct roster *r, int64_t trial)
{
    size_t at;

    BISECT(at, r->n, r->entries[at].trial < trial);
    return at;
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
    MEM_GROW(r->entries, r->n, r->cap);
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
    CHECK(e >= r->entries && e < r->entries + r->n);
    r->n_running += (to == ROSTER_RUNNING) - (e->state == ROSTER_RUNNING);
    e->state = to;
}

int roster_unknown(int64_t trial, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "the scheduler has no trial %" PRId64, trial);
}
