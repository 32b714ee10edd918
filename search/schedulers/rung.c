/* rung.c - the rungs of a ladder, and the ranking at one rung: an array sorted best first, changed
 * by insertion. */
#include "search/schedulers/rung.h"

#include "base/bisect.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

int64_t rung_power(int eta, int k)
{
    const int64_t most = (int64_t)1 << 40;
    int64_t p = 1;

    while (k-- > 0 && p < most)
        p *= eta;
    return MIN(p, most);
}

/* share > eta asks for fewer promotions than halving would make. With few trials it would then make
 * none at all, so one is allowed as soon as there are 2 eta of them. */
size_t rung_limit(const struct rung_rule *rule, size_t share, size_t n)
{
    size_t eta = (size_t)rule->eta;

    return share > eta && n >= 2 * eta ? MAX(n / share, 1) : n / share;
}

/* Reverses the list of levels. Returns n. */
static int lowest_first(int *level, int n)
{
    for (int i = 0; i < n / 2; i++) {
        int t = level[i];
        level[i] = level[n - 1 - i];
        level[n - 1 - i] = t;
    }
    return n;
}

void rung_ladder_init(struct rung_ladder *l, const struct rung_rule *rule, int max_level)
{
    int lowest = MIN(rule->min_level, max_level), n = 0;

    CHECK(max_level >= 1 && lowest >= 1 && rule->eta >= 2);
    if (max_level <= rule->per_level) {
        for (int level = max_level; level >= lowest && n < RUNG_MAX; level--)
            l->level[n++] = level;
    } else {
        for (int64_t part = 1; n < RUNG_MAX && part * lowest <= max_level; part *= rule->eta)
            l->level[n++] = (int)((2 * (int64_t)max_level + part) / (2 * part)); /* rounded */
    }
    l->n = lowest_first(l->level, n);
}

bool rung_before(const struct rung_entry *a, const struct rung_entry *b)
{
    bool a_is_nan = isnan(a->value), b_is_nan = isnan(b->value);

    if (a_is_nan != b_is_nan)
        return b_is_nan;
    if (!a_is_nan && a->value != b->value)
        return a->value > b->value;
    return a->trial < b->trial;
}

void rung_fini(struct rung *r)
{
    mem_free(r->entries);
    *r = (struct rung){ 0 };
}

/* The place of an entry, or the place where it belongs. */
static size_t place_of(const struct rung *r, const struct rung_entry *e)
{
    size_t at;

    BISECT(at, r->n, rung_before(&r->entries[at], e));
    return at;
}

/* Makes the first open entry from `at` on the best open one. */
static void open_from(struct rung *r, size_t at)
{
    while (at < r->n && !r->entries[at].is_open)
        at++;
    r->first_open = at;
}

size_t rung_add(struct rung *r, struct rung_entry e)
{
    size_t at = place_of(r, &e);

    MEM_GROW(r->entries, r->n, r->cap);
    memmove(r->entries + at + 1, r->entries + at, (r->n - at) * sizeof *r->entries);
    r->entries[at] = e;
    r->n++;
    if (e.is_open && at <= r->first_open)
        r->first_open = at;
    else if (at <= r->first_open)
        r->first_open++;
    return at;
}

size_t rung_find(const struct rung *r, double value, int64_t trial)
{
    struct rung_entry e = { value, trial, false };
    size_t at = place_of(r, &e);

    return at < r->n && r->entries[at].trial == trial ? at : r->n;
}

void rung_close(struct rung *r, size_t at)
{
    CHECK(at < r->n && r->entries[at].is_open);
    r->entries[at].is_open = false;
    if (at == r->first_open)
        open_from(r, at + 1);
}

void rung_remove(struct rung *r, size_t at)
{
    CHECK(at < r->n);
    memmove(r->entries + at, r->entries + at + 1, (r->n - at - 1) * sizeof *r->entries);
    r->n--;
    if (at < r->first_open)
        r->first_open--;
    else if (at == r->first_open)
        open_from(r, at);
}
