/* gp_train.c - ranks a study's trials and turns their values into targets; gp_train.h gives the
 * rules. */
#include "search/samplers/gp/gp_train.h"

#include "search/space/exact_math.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHARE_MOST = 16;

struct ranked {
    int row, tier; /* 0 = at the modelled level or above, 1 = below it, 2 = failed */
    int below;
    int64_t trial;
    double value, target, error;
};

static double rank_value(double v)
{
    return isnan(v) ? -INFINITY : v;
}

static int compare_values(const struct ranked *a, const struct ranked *b)
{
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->below != b->below)
        return a->below < b->below ? -1 : 1;
    return a->value != b->value ? (a->value > b->value ? -1 : 1) : 0;
}

static int compare(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    int c = compare_values(a, b);

    return c != 0 ? c : a->trial < b->trial ? -1 : a->trial > b->trial;
}

static int level_modelled(const struct history *h, int d)
{
    int most = 0, below = 0, enough = MAX(d + 1, 8);

    for (int i = 0; i < h->n_rankings; i++) {
        if (h->rankings[i].n >= enough)
            return h->rankings[i].below;
        if (h->rankings[i].n > most) {
            most = h->rankings[i].n;
            below = h->rankings[i].below;
        }
    }
    return below;
}

/* The row's entry in the ranking; false if nothing is known of the trial. A level is kept as
 * `below`, its distance from the top (history.h), so a smaller number is a higher level. */
static bool rank_row(const struct history *h, int row, int below, struct ranked *out)
{
    const struct history_row *r = &h->rows[row];
    const struct history_report *at = history_at(h, row, below);

    if (!at &&
        r->n_reports > 0) /* it has reports only above the level (one was skipped), or only below */
        at = r->reports[0].below < below ? &r->reports[0] : NULL;
    *out = (struct ranked){ .row = row, .trial = r->trial };
    if (r->state == OBS_FAILED) {
        out->tier = 2;
    } else if (at) {
        out->value = rank_value(at->value);
        out->error = at->error;
    } else if (r->n_reports > 0) {
        out->tier = 1;
        out->below = r->reports[0].below;
        out->value = rank_value(r->reports[0].value);
    } else {
        return false;
    }
    return true;
}

/* Copies the values of the first n into their targets, scaled by a power of two so that nothing can
 * overflow. Infinities become the largest and the smallest finite value. */
static void scale_down(struct ranked *r, int n)
{
    double top = -INFINITY, low = INFINITY;
    int e = 0;

    for (int i = 0; i < n; i++) {
        top = isfinite(r[i].value) ? MAX(top, r[i].value) : top;
        low = isfinite(r[i].value) ? MIN(low, r[i].value) : low;
    }
    if (low > top)
        top = low = 0;
    (void)frexp(MAX(fabs(top), fabs(low)), &e);
    double half = ldexp(1, -e / 2),
           rest = ldexp(1, -(e - e / 2)); /* 2^-e may be no normal number */
    for (int i = 0; i < n; i++)
        r[i].target = MIN(top, MAX(low, r[i].value)) * half * rest;
}

/* The targets of the first n, which are sorted: the distance from the median, in units of the mean
 * distance of the better half. Beyond -1 the logarithm of the distance is taken and bent so that it
 * never passes -5, because how bad a trial is says little about where good ones are. */
static void warp(struct ranked *r, int n)
{
    double middle = 0, spread = 0;

    scale_down(r, n);
    middle = 0.5 * (r[(n - 1) / 2].target + r[n / 2].target);
    int half = (n + 1) / 2;
    for (int i = 0; i < half; i++)
        spread += r[i].target - middle;
    spread /= half;
    if (spread <= 0) /* half of the values are equal and best: use the distance of the worst */
        spread = MAX(middle - r[n - 1].target, 0x1p-1000);
    double *far = mem_array(2 * (size_t)n, sizeof *far), *logs = far + n;
    for (int i = 0; i < n; i++) {
        r[i].target = (r[i].target - middle) / spread;
        far[i] = MAX(1, -r[i].target);
    }
    search_log_each(far, logs, n);
    for (int i = 0; i < n; i++)
        r[i].target = r[i].target < -1 ? -1 - logs[i] / (1 + logs[i] / 4) : r[i].target;
    mem_free(far);
}

static void standardise(struct ranked *r, int n)
{
    double mean = 0, square = 0;

    for (int i = 0; i < n; i++)
        mean += r[i].target;
    mean /= n;
    for (int i = 0; i < n; i++)
        square += (r[i].target - mean) * (r[i].target - mean);
    double scale = square > 0 ? sqrt(n / square) : 0;
    for (int i = 0; i < n; i++)
        r[i].target = (r[i].target - mean) * scale;
}

/* With results at one level alone the history has all trials in order. */
static int rank_one_level(const struct history *h, bool is_without_failed, struct ranked *out)
{
    const struct history_ranking *r = &h->rankings[0];
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        const struct history_entry *e = &r->entries[i];
        const struct history_row *row = &h->rows[e->row];
        out[n] = (struct ranked){ .row = e->row,
                                  .trial = e->trial,
                                  .value = rank_value(e->value),
                                  .error = (double)row->reports[0].error };
        n += row->state != OBS_FAILED;
    }
    for (int i = 0; i < h->failed.n && !is_without_failed; i++) {
        int row = h->failed.rows[i];
        out[n++] = (struct ranked){ .row = row, .tier = 2, .trial = h->rows[row].trial };
    }
    return n;
}

/* All trials of which something is known, best first. */
static int rank_rows(const struct history *h, int below, bool is_without_failed, struct ranked *out)
{
    int n = 0;

    if (h->n_rankings == 1)
        return rank_one_level(h, is_without_failed, out);
    for (int i = 0; i < h->n; i++)
        n += rank_row(h, h->order.rows[i], below, &out[n]) &&
             !(is_without_failed && out[n].tier == 2);
    qsort(out, (size_t)n, sizeof *out, compare);
    return n;
}

/* Ranks the trials and gives them targets. Returns their number. */
static int rank_all(const struct history *h, int d, bool is_without_failed, struct ranked *out)
{
    int below = level_modelled(h, d), top = 0, failed = 0;
    int n = rank_rows(h, below, is_without_failed, out);

    while (top < n && out[top].tier == 0)
        top++;
    while (failed < n && out[n - 1 - failed].tier == 2)
        failed++;
    if (top > 0)
        warp(out, top);
    double middle = top > 0 ? out[top / 2].target : 0, low = top > 0 ? out[top - 1].target : 0;
    for (int i = top; i < n - failed; i++) {
        double share = (i - top + 1.0) / (n - failed - top);
        out[i].target = middle + (low - middle) * share;
    }
    for (int i = n - failed; i < n; i++)
        out[i].target = low;
    standardise(out, n);
    return n;
}

static int compare_trials(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* Which of more than GP_TARGETS trials the model sees: BASE of the oldest ones, of which half are the
 * best, a quarter the newest and the rest spread evenly over the ranks, and every trial after them.
 * After RENEWAL more results the oldest are chosen anew. In between the set only grows, so that the
 * model's factor gets a row and is not made anew for each result. */
enum { RENEWAL = 60, BASE = GP_TARGETS - RENEWAL };

struct choice {
    int n;          /* of the oldest trials */
    int64_t after;  /* the smallest trial number after these */
    int64_t newest; /* and of the newest of these */
};

static struct choice choice_of(const struct ranked *all, int n)
{
    int after = n > GP_TARGETS ? (n - GP_TARGETS) % RENEWAL : n;
    struct choice c = { n - after, INT64_MAX, INT64_MAX };

    if (c.n == 0)
        return c;
    int64_t *trials = mem_array((size_t)n, sizeof *trials);
    for (int i = 0; i < n; i++)
        trials[i] = all[i].trial;
    qsort(trials, (size_t)n, sizeof *trials, compare_trials);
    c.after = after > 0 ? trials[after - 1] : INT64_MAX;
    c.newest = trials[after + BASE / 4 - 1];
    mem_free(trials);
    return c;
}

/* Whether the model sees the trial. place: among the oldest, 0 is the best. */
static bool is_picked(const struct choice *c, int64_t trial, int place)
{
    int best = BASE / 2, rest = BASE / 4;

    if (c->n == 0 || place < best || trial >= c->newest)
        return true;
    int span = c->n - best, k = place - best; /* `rest` of the span, evenly spaced */
    return (int64_t)k * rest / span != (int64_t)(k + 1) * rest / span;
}

/* The mean variance of the values whose error is known; 0 if none is. */
static double typical_variance(const struct ranked *all, int n)
{
    double sum = 0;
    int known = 0;

    for (int i = 0; i < n; i++) {
        sum += all[i].error * all[i].error;
        known += all[i].error > 0;
    }
    return known > 0 ? sum / known : 0;
}

static double noise_share(double error, double typical)
{
    double share = error > 0 ? error * error / typical : 1;

    return MIN(SHARE_MOST, MAX(1 / SHARE_MOST, share));
}

/* The multiplication and the shift of splitmix64. */
static uint64_t mixed(uint64_t hash, uint64_t value)
{
    uint64_t x = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);

    return (x ^ x >> 31) * UINT64_C(0xBF58476D1CE4E5B9);
}

void gp_train_make(struct gp_train *t, const struct history *h, int d, bool is_without_failed)
{
    struct ranked *all = mem_alloc(((size_t)h->n + 1) * sizeof *all);
    int n = rank_all(h, d, is_without_failed, all);
    struct choice choice = choice_of(all, n);
    int place = 0;

    t->n = t->n_values = 0;
    t->hash = 0;
    for (int i = 0; i < n; i++)
        t->n_values += all[i].tier < 2;
    double typical = typical_variance(all, n);
    for (int i = 0; i < n && t->n < GP_TARGETS; i++) {
        uint64_t bits = 0;
        place += all[i].trial < choice.after;
        if (!is_picked(&choice, all[i].trial, place - 1))
            continue;
        memcpy(&bits, &all[i].target, sizeof bits);
        t->hash += mixed(mixed(0, (uint64_t)all[i].trial), bits); /* a sum waits for no other */
        t->rows[t->n] = all[i].row;
        t->shares[t->n] = noise_share(all[i].error, typical);
        t->targets[t->n++] = all[i].target;
    }
    t->hash |= 1;
    mem_free(all);
}
