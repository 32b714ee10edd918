/* frame_stats.c - the number of missing values, least, largest and mean value, and number of
 * distinct values of a column, gathered chunk by chunk while it is written.
 *
 * Distinct values are counted exactly up to FRAME_DISTINCT_CAP in a small open-addressing set,
 * which is dropped when the cap is reached. Small whole numbers are marked in a table first, so
 * that the set sees each of them once a chunk. Infinities count as values, but not towards min, max
 * and mean. Called by frame_write.c and ml/read. */
#include "ml/table/frame_file.h"

#include "base/mem.h"
#include "base/simd.h"

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

/* Slots hold bits + 1, so that 0 means free. All-ones bits (a NaN) never come here. A small whole
 * number differs from others in the upper half of its bits only, and what stands in the upper half
 * of a factor does not reach the lower bits of a product: the upper half is folded down first. */
static bool set_put(uint64_t *set, uint32_t cap, uint64_t stored)
{
    uint64_t h = (stored ^ stored >> 32) * 0x9e3779b97f4a7c15ull;

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
    /* in variables of their own, because what stands in *s would be stored for every value */
    double min = s->min, max = s->max, sum = s->sum;
    int64_t missing = 0, finite = 0, i = 0;

    for (; i < n; i++) {
        double x = v[i];
        if (x - x == 0) {
            min = x < min ? x : min;
            max = x > max ? x : max;
            sum += x;
            finite++;
        } else {
            missing += x != x;
        }
    }
    s->min = min;
    s->max = max;
    s->sum = sum;
    s->rows += n;
    s->missing += missing;
    s->finite += finite;
    for (i = 0; i < n && s->distinct < FRAME_DISTINCT_CAP && !s->is_late; i++) {
        if (v[i] == v[i] && (i == 0 || v[i] != v[i - 1]))
            distinct_add(s, v[i]);
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

/* Eight values at a time; comparisons give -1 for true. */
enum { WIDE = 8, INTS_BLOCK = 1 << 16 };
typedef int32_t wide __attribute__((vector_size(WIDE * 4)));

struct ints_seen {
    int32_t lo, hi;
    int64_t sum, missing;
};

SIMD_BODY void ints_see(struct ints_seen *o, int32_t v)
{
    bool is_missing = v == FRAME_INT_MISSING;

    o->lo = is_missing || v > o->lo ? o->lo : v;
    o->hi = v > o->hi ? v : o->hi;
    o->sum += is_missing ? 0 : v;
    o->missing += is_missing;
}

SIMD_BODY void least(wide *a, const wide *b)
{
    wide is_a = *a < *b;

    *a = (is_a & *a) | (~is_a & *b);
}

/* At most INTS_BLOCK values: sums of their upper and lower halves fit 32 bits. */
SIMD_BODY void ints_block_body(struct ints_seen *o, const int32_t *v, int64_t n)
{
    wide lo = INT32_MAX - (wide){ 0 }, least_not = lo, upper = { 0 }, lower = { 0 }, gaps = { 0 };
    int64_t i = 0;

    for (; i + WIDE <= n; i += WIDE) {
        wide x;
        memcpy(&x, v + i, sizeof(x));
        wide is_missing = x == FRAME_INT_MISSING, known = x & ~is_missing, flipped = ~x;
        /* the complement of FRAME_INT_MISSING is the largest value */
        wide or_largest = x ^ is_missing;
        least(&lo, &or_largest);
        least(&least_not, &flipped);
        upper += known >> 16;
        lower += known & 0xffff;
        gaps -= is_missing;
    }
    for (int k = 0; k < WIDE; k++) {
        o->lo = lo[k] < o->lo ? lo[k] : o->lo;
        o->hi = ~least_not[k] > o->hi ? ~least_not[k] : o->hi;
        o->sum += (int64_t)upper[k] * 65536 + lower[k];
        o->missing += gaps[k];
    }
    for (; i < n; i++)
        ints_see(o, v[i]);
}

SIMD_KERNEL_STATIC(ints_block, (struct ints_seen * o, const int32_t *v, int64_t n), (o, v, n))

void frame_stats_ints(struct frame_stats *s, const int32_t *v, int64_t n)
{
    struct ints_seen o = { .lo = INT32_MAX, .hi = FRAME_INT_MISSING };

    for (int64_t i = 0; i < n; i += INTS_BLOCK)
        ints_block(&o, v + i, n - i < INTS_BLOCK ? n - i : INTS_BLOCK);
    s->rows += n;
    s->missing += o.missing;
    s->finite += n - o.missing;
    s->sum += (double)o.sum;
    if (o.missing == n)
        return;
    s->min = o.lo < s->min ? o.lo : s->min;
    s->max = o.hi > s->max ? o.hi : s->max;
    if (s->distinct >= FRAME_DISTINCT_CAP || s->is_late)
        return;
    if ((int64_t)o.hi - o.lo < STATS_SPAN) {
        distinct_span(s, v, n, o.lo, o.hi);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (v[i] != FRAME_INT_MISSING)
            distinct_add(s, v[i]);
    }
}
