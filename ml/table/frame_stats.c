/* frame_stats.c - the number of missing values, least, largest and mean value, and number of
 * distinct values of a column, gathered chunk by chunk while it is written.
 *
 * Distinct values are counted exactly up to FRAME_DISTINCT_CAP in a small open-addressing set,
 * which is dropped when the cap is reached. Small whole numbers are marked in a table first, so
 * that the set sees each of them once a chunk. Infinities count as values, but not towards min, max
 * and mean. Called by frame_write.c and ml/read. */
#include "ml/table/frame_file.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* whole numbers within a range of this width go through the table */
enum { STATS_SPAN = 1 << 16 };

void frame_stats_init(struct frame_stats *s)
{
    *s = (struct frame_stats){ .min = INFINITY, .max = -INFINITY };
}

void frame_stats_fini(struct frame_stats *s)
{
    mem_free(s->set);
    s->set = NULL;
    s->set_cap = 0;
}

/* Slots hold bits + 1, so that 0 means free. All-ones bits (a NaN) never come here. */
static bool set_put(uint64_t *set, uint32_t cap, uint64_t stored)
{
    uint64_t h = stored * 0x9e3779b97f4a7c15ull;

    for (uint32_t i = (uint32_t)(h >> 32) & (cap - 1);; i = (i + 1) & (cap - 1)) {
        if (set[i] == stored)
            return false;
        if (set[i] == 0) {
            set[i] = stored;
            return true;
        }
    }
}

static void set_grow(struct frame_stats *s)
{
    uint32_t cap = s->set_cap ? s->set_cap * 4 : 16;
    uint64_t *set = mem_array(cap, sizeof(*set));

    for (uint32_t i = 0; i < s->set_cap; i++) {
        if (s->set[i])
            set_put(set, cap, s->set[i]);
    }
    mem_free(s->set);
    s->set = set;
    s->set_cap = cap;
}

static void distinct_add(struct frame_stats *s, double x)
{
    uint64_t bits;

    if (s->distinct >= FRAME_DISTINCT_CAP || s->is_late)
        return;
    x = x + 0.0;
    memcpy(&bits, &x, sizeof(bits));
    if ((uint64_t)s->distinct * 2 >= s->set_cap)
        set_grow(s);
    s->distinct += set_put(s->set, s->set_cap, bits + 1);
    if (s->distinct == FRAME_DISTINCT_CAP)
        frame_stats_fini(s);
}

void frame_stats_numbers(struct frame_stats *s, const double *v, int64_t n)
{
    double last = (double)NAN;

    s->rows += n;
    for (int64_t i = 0; i < n; i++) {
        double x = v[i];
        if (x != x) {
            s->missing++;
            continue;
        }
        if (x - x == 0) {
            s->min = x < s->min ? x : s->min;
            s->max = x > s->max ? x : s->max;
            s->sum += x;
            s->finite++;
        }
        if (x != last)
            distinct_add(s, x);
        last = x;
    }
}

void frame_stats_defer(struct frame_stats *s)
{
    if (s->distinct >= FRAME_DISTINCT_CAP)
        return;
    frame_stats_fini(s);
    s->distinct = 0;
    s->is_late = true;
}

void frame_stats_distinct(struct frame_stats *s, const double *v, int64_t n)
{
    s->is_late = false;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] == v[i])
            distinct_add(s, v[i]);
    }
}

/* Every value of the chunk lies in lo to hi, at most STATS_SPAN apart: marks them, then adds the
 * marked ones. Marks are bytes and not bits, because a store need not wait for the one before
 * it. */
static void distinct_span(struct frame_stats *s, const int32_t *v, int64_t n, int32_t lo,
                          int32_t hi)
{
    uint8_t mark[STATS_SPAN + 16];
    /* mark[span] is for missing values, which lie outside lo to hi */
    size_t span = (size_t)((int64_t)hi - lo) + 1;

    memset(mark, 0, (span + 15) / 8 * 8);
    for (int64_t i = 0; i < n; i++) {
        uint32_t d = (uint32_t)v[i] - (uint32_t)lo;
        mark[d < span ? d : span] = 1;
    }
    for (size_t at = 0; at < span; at += 8) {
        uint64_t w;
        memcpy(&w, mark + at, sizeof(w));
        for (size_t j = at; w != 0 && j < at + 8 && j < span; j++) {
            if (mark[j])
                distinct_add(s, (double)((int64_t)lo + (int64_t)j));
        }
    }
}

void frame_stats_ints(struct frame_stats *s, const int32_t *v, int64_t n)
{
    int32_t lo = INT32_MAX, hi = FRAME_INT_MISSING;
    int64_t sum = 0, missing = 0;

    for (int64_t i = 0; i < n; i++) {
        bool is_missing = v[i] == FRAME_INT_MISSING;
        lo = is_missing || v[i] > lo ? lo : v[i];
        hi = v[i] > hi ? v[i] : hi;
        sum += is_missing ? 0 : v[i];
        missing += is_missing;
    }
    s->rows += n;
    s->missing += missing;
    s->finite += n - missing;
    s->sum += (double)sum;
    if (missing == n)
        return;
    s->min = lo < s->min ? lo : s->min;
    s->max = hi > s->max ? hi : s->max;
    if (s->distinct >= FRAME_DISTINCT_CAP || s->is_late)
        return;
    if ((int64_t)hi - lo < STATS_SPAN) {
        distinct_span(s, v, n, lo, hi);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (v[i] != FRAME_INT_MISSING)
            distinct_add(s, v[i]);
    }
}
