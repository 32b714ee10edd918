/* tpe_split.c - splits trials into good and bad; tpe_split.h gives the rule. The history keeps the
 * trials of each level sorted, so the good ones are read from the top of these lists, and one pass
 * over all trials gathers the bad ones. */
#include "search/samplers/tpe/tpe_split.h"

#include "search/samplers/tpe/tpe_front.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MOST_GOOD is hyperopt's and Optuna's default. More than THIN_ABOVE bad trials are thinned to
 * about THIN_TO, so that a suggestion costs the same with 100,000 trials as with 2,000. */
enum {
    MOST_GOOD = 25,
    MOST_GOOD_FRONTS = 50,
    LEAST_RESULTS = 8,
    THIN_ABOVE = 2000,
    THIN_TO = 1000
};

void tpe_split_init(struct tpe_split *s)
{
    memset(s, 0, sizeof *s);
}

void tpe_split_fini(struct tpe_split *s)
{
    mem_free(s->good);
    mem_free(s->bad);
    mem_free(s->place);
    tpe_split_init(s);
}

static bool has_verdict(const struct tpe_split *s, const struct history_row *r)
{
    return r->state == OBS_FAILED ? !s->is_without_failed : r->n_reports > 0;
}

/* The index of the modelled level among the history's levels, or -1 if there is no value at all. */
static int level_find(const struct history *h, int n_joint)
{
    int most = -1;

    for (int b = 0; b < h->n_rankings; b++) {
        if (h->rankings[b].n >= MAX(n_joint + 1, LEAST_RESULTS))
            return b;
        if (most < 0 || h->rankings[b].n > h->rankings[most].n)
            most = b;
    }
    return most;
}

static void good_add(struct tpe_split *s, int row)
{
    s->place[row] = (uint8_t)++s->n_good;
}

static bool is_better(double a, double b)
{
    return !isnan(a) && (isnan(b) || a > b);
}

/* The best trial that has values only above the modelled level and was not taken yet, or -1. There
 * are few of them. */
static int best_above(const struct tpe_split *s, const struct history *h, int level, double *value)
{
    int best = -1;

    for (int b = 0; b < level; b++) {
        for (int i = 0; i < h->rankings[b].n; i++) {
            const struct history_entry *e = &h->rankings[b].entries[i];
            const struct history_row *r = &h->rows[e->row];
            bool is_free = !s->place[e->row] && r->state != OBS_FAILED &&
                           r->reports[r->n_reports - 1].below == h->rankings[b].below;
            if (is_free && (best < 0 || is_better(e->value, *value))) {
                best = e->row;
                *value = e->value;
            }
        }
    }
    return best;
}

/* Takes the first `want` trials of the ranking. */
static void take_good(struct tpe_split *s, const struct history *h, int level, int want)
{
    for (int b = level; b < h->n_rankings; b++) {
        const struct history_ranking *ranking = &h->rankings[b];
        for (int i = 0; i < ranking->n && s->n_good < want;) {
            const struct history_entry *e = &ranking->entries[i];
            double value = NAN;
            int above = b == level ? best_above(s, h, level, &value) : -1;
            if (above >= 0 && is_better(value, e->value)) {
                good_add(s, above);
                continue;
            }
            if (!s->place[e->row] && h->rows[e->row].state != OBS_FAILED)
                good_add(s, e->row);
            i++;
        }
    }
}

/* With several objectives: takes the best fronts among the trials that have a value at the
 * level. */
static void take_fronts(struct tpe_split *s, const struct history *h, int level, int m, int want)
{
    const struct history_ranking *ranking = &h->rankings[level];
    double *values = mem_array((size_t)ranking->n * (size_t)m, sizeof *values);
    int *rows = mem_array((size_t)ranking->n, sizeof *rows), n = 0;
    int good[MOST_GOOD_FRONTS];

    for (int i = 0; i < h->order.n; i++) { /* from the oldest trial to the newest */
        int row = h->order.rows[i];
        const struct history_report *report = history_at(h, row, ranking->below);
        if (!report || h->rows[row].state == OBS_FAILED)
            continue;
        values[n * m] = report->value;
        memcpy(values + n * m + 1, history_more(h, row), (size_t)(m - 1) * sizeof *values);
        rows[n++] = row;
    }
    int got = tpe_front_best(values, rows, n, m, MIN(want, MOST_GOOD_FRONTS), good);
    for (int i = 0; i < got; i++)
        good_add(s, good[i]);
    mem_free(values);
    mem_free(rows);
}

/* A random number for a trial. Of each `stride` neighbours in age the one with the smallest number
 * is kept, so the same trials are kept as long as the stride does not change. */
static uint64_t age_hash(uint64_t seed, int64_t trial)
{
    uint64_t x = seed ^ ((uint64_t)trial * UINT64_C(0x9E3779B97F4A7C15));

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Fills good and bad in order of age; of the bad ones, one of each `stride`. */
static void gather(struct tpe_split *s, const struct history *h, int stride, uint64_t seed)
{
    uint64_t least = UINT64_MAX;
    int picked = -1, seen = 0;

    s->n_good = s->n_bad = 0;
    for (int i = 0; i < h->order.n; i++) {
        int row = h->order.rows[i];
        if (s->place[row]) {
            s->good[s->n_good++] = row;
            continue;
        }
        if (!has_verdict(s, &h->rows[row]))
            continue;
        if (stride == 1) {
            s->bad[s->n_bad++] = row;
            continue;
        }
        uint64_t hash = age_hash(seed, h->rows[row].trial);
        if (picked < 0 || hash < least) {
            least = hash;
            picked = row;
        }
        if (++seen == stride) {
            s->bad[s->n_bad++] = picked;
            picked = -1;
            seen = 0;
        }
    }
    if (picked >= 0)
        s->bad[s->n_bad++] = picked;
}

/* The tenth of all that have a verdict; with noise up to three tenths of those that have a value. */
static int good_wanted(const struct tpe_split *s, const struct history *h, int level)
{
    int tenth = MIN((s->n + 9) / 10, MOST_GOOD), values = 0;
    double more = 2 * MIN(1, 2 * s->noise);

    for (int b = level; b < h->n_rankings; b++)
        values += h->rankings[b].n;
    int wide = (int)(MIN(values, s->n) * (1 + more) / 10);
    return MAX(tenth, MIN(wide, (int)(MOST_GOOD * (1 + more))));
}

bool tpe_split_make(struct tpe_split *s, const struct history *h, int n_joint, int n_objectives,
                    int least, uint64_t seed)
{
    int level = level_find(h, n_joint);

    s->n = 0;
    for (int i = 0; i < h->n; i++)
        s->n += has_verdict(s, &h->rows[i]);
    if (s->n < least || level < 0)
        return false;
    if (h->n > s->cap) {
        s->cap = h->cap;
        s->good = mem_resize(s->good, (size_t)s->cap * sizeof *s->good);
        s->bad = mem_resize(s->bad, (size_t)s->cap * sizeof *s->bad);
        s->place = mem_resize(s->place, (size_t)s->cap);
    }
    memset(s->place, 0, (size_t)h->n);
    s->n_good = 0;
    if (n_objectives > 1)
        take_fronts(s, h, level, n_objectives, (s->n + 9) / 10);
    else
        take_good(s, h, level, good_wanted(s, h, level));
    int n_bad = s->n - s->n_good, stride = n_bad > THIN_ABOVE ? (n_bad - 1) / THIN_TO + 1 : 1;
    gather(s, h, stride, seed);
    s->thinned = stride;
    return s->n_good > 0;
}
