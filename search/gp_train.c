/* gp_train.c - ranks and normal scores of a study's trials. */
#include "search/gp_train.h"

#include "search/normal.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    int row, tier; /* 0 = at the level modelled or above, then below it, then failed */
    int below;
    int64_t trial;
    double value, target;
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

    for (int i = 0; i < h->n_boards; i++) {
        if (h->boards[i].n >= enough)
            return h->boards[i].below;
        if (h->boards[i].n > most) {
            most = h->boards[i].n;
            below = h->boards[i].below;
        }
    }
    return below;
}

/* The row's place in the ranking; false for one of which nothing is known. */
static bool rank_row(const struct history *h, int row, int below, struct ranked *out)
{
    const struct history_row *r = &h->rows[row];
    const struct history_report *at = history_at(h, row, below);

    if (!at && r->n_reports > 0) /* only above (a report was skipped), or only below */
        at = r->reports[0].below < below ? &r->reports[0] : NULL;
    *out = (struct ranked){ .row = row, .trial = r->trial };
    if (r->state == OBS_FAILED) {
        out->tier = 2;
    } else if (at) {
        out->value = rank_value(at->value);
    } else if (r->n_reports > 0) {
        out->tier = 1;
        out->below = r->reports[0].below;
        out->value = rank_value(r->reports[0].value);
    } else {
        return false;
    }
    return true;
}

static int rank_all(const struct history *h, int d, struct ranked *out)
{
    int n = 0, below = level_modelled(h, d);

    for (int i = 0; i < h->n; i++)
        n += rank_row(h, h->order.rows[i], below, &out[n]);
    qsort(out, (size_t)n, sizeof *out, compare);
    for (int i = 0, end = 0; i < n; i = end) { /* ties share the middle of their ranks */
        for (end = i + 1; end < n && compare_values(&out[i], &out[end]) == 0;)
            end++;
        double score = -normal_quantile((0.5 * (i + end - 1) + 0.5) / n);
        for (int k = i; k < end; k++)
            out[k].target = score;
    }
    return n;
}

static int compare_trials(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* The trial from which on trials are among the newest `n`. */
static int64_t newest_from(const struct ranked *all, int n_all, int n)
{
    int64_t *trials = mem_array((size_t)n_all, sizeof *trials);

    for (int i = 0; i < n_all; i++)
        trials[i] = all[i].trial;
    qsort(trials, (size_t)n_all, sizeof *trials, compare_trials);
    int64_t from = trials[n - 1];
    mem_free(trials);
    return from;
}

static bool is_picked(const struct ranked *all, int n, int i, int64_t newest)
{
    int best = GP_TARGETS / 2, rest = GP_TARGETS / 4;

    if (n <= GP_TARGETS || i < best || all[i].trial >= newest)
        return true;
    int span = n - best, k = i - best; /* `rest` of them, evenly */
    return (int64_t)k * rest / span != (int64_t)(k + 1) * rest / span;
}

void gp_train_make(struct gp_train *t, const struct history *h, int d)
{
    struct ranked *all = mem_array((size_t)h->n, sizeof *all);
    int n = rank_all(h, d, all);
    int64_t newest = n > GP_TARGETS ? newest_from(all, n, GP_TARGETS / 4) : 0;

    t->n = 0;
    t->hash = 1;
    for (int i = 0; i < n && t->n < GP_TARGETS; i++) {
        uint64_t bits = 0;
        if (!is_picked(all, n, i, newest))
            continue;
        memcpy(&bits, &all[i].target, sizeof bits);
        t->hash = rng_mix(rng_mix(t->hash, (uint64_t)all[i].trial), bits);
        t->rows[t->n] = all[i].row;
        t->targets[t->n++] = all[i].target;
    }
    t->hash |= 1;
    mem_free(all);
}
