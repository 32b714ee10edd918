/* sort.c - a radix sort that starts at the least significant digit, 11 bits a pass. All digits are
 * counted in one reading, and a pass whose digit is the same everywhere is skipped; so short keys
 * in wide words (class and hash, floats widened to doubles) cost what they hold. Selection keeps,
 * byte by byte from the highest, the keys that can still be the one wanted. Called by ml/metric,
 * ml/model, ml/prep and ml/boost. No shared state. */
#include "ml/math/sort.h"

#include "base/base.h"
#include "base/mem.h"

enum { SORT_BITS = 11, SORT_SIZE = 1 << SORT_BITS, SORT_PASSES = 6 };

static void sort_count(const uint64_t *key, size_t n, uint32_t (*count)[SORT_SIZE])
{
    memset(count, 0, sizeof(uint32_t) * SORT_PASSES * SORT_SIZE);
    for (size_t i = 0; i < n; i++) {
        uint64_t k = key[i];
        for (int p = 0; p < SORT_PASSES; p++, k >>= SORT_BITS)
            count[p][k & (SORT_SIZE - 1)]++;
    }
}

struct sort_side {
    uint64_t *key;
    uint32_t *row;
};

static void sort_pass(struct sort_side from, struct sort_side to, size_t n, int shift,
                      uint32_t *count)
{
    uint32_t at = 0;

    for (int d = 0; d < SORT_SIZE; d++) {
        uint32_t c = count[d];
        count[d] = at;
        at += c;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t dst = count[(from.key[i] >> shift) & (SORT_SIZE - 1)]++;
        to.key[dst] = from.key[i];
        if (from.row)
            to.row[dst] = from.row[i];
    }
}

static void sort_small(uint64_t *key, uint32_t *row, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t k = key[i];
        uint32_t r = row ? row[i] : 0;
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            if (row)
                row[j] = row[j - 1];
        }
        key[j] = k;
        if (row)
            row[j] = r;
    }
}

int ml_sort_u64(uint64_t *key, uint32_t *row, size_t n, struct err *err)
{
    uint32_t(*count)[SORT_SIZE] = NULL;
    struct sort_side a = { key, row }, b = { NULL, NULL };
    int rc = -1;

    CHECK(n < UINT32_MAX);
    if (n <= 64) {
        sort_small(key, row, n);
        return 0;
    }
    count = mem_try_alloc(sizeof(*count) * SORT_PASSES);
    b.key = mem_try_alloc(n * sizeof(*key));
    b.row = row ? mem_try_alloc(n * sizeof(*row)) : NULL;
    if (!count || !b.key || (row && !b.row)) {
        err_set(err, ERR_NOMEM, "no memory to sort %zu rows", n);
        goto out;
    }
    sort_count(key, n, count);
    for (int p = 0; p < SORT_PASSES; p++) {
        if (count[p][(key[0] >> (p * SORT_BITS)) & (SORT_SIZE - 1)] == n)
            continue; /* one digit everywhere */
        sort_pass(a, b, n, p * SORT_BITS, count[p]);
        struct sort_side t = a;
        a = b, b = t;
    }
    if (a.key != key) {
        memcpy(key, a.key, n * sizeof(*key));
        if (row)
            memcpy(row, a.row, n * sizeof(*row));
        b = a;
    }
    rc = 0;
out:
    mem_try_free(count);
    mem_try_free(b.key);
    mem_try_free(b.row);
    return rc;
}

void ml_sort_u32(uint32_t *key, uint32_t *spare, size_t n)
{
    enum { PASSES = 3 };
    _Static_assert(PASSES * SORT_BITS >= 32, "every bit is in a pass");
    uint32_t count[PASSES][SORT_SIZE] = { 0 }, *from = key, *to = spare;

    CHECK(n < UINT32_MAX);
    for (size_t i = 0; i < n; i++) {
        for (int p = 0; p < PASSES; p++)
            count[p][key[i] >> (p * SORT_BITS) & (SORT_SIZE - 1)]++;
    }
    for (int p = 0; p < PASSES && n > 0; p++) {
        uint32_t *at = count[p], sum = 0;
        if (at[from[0] >> (p * SORT_BITS) & (SORT_SIZE - 1)] == n)
            continue; /* one digit everywhere */
        for (int d = 0; d < SORT_SIZE; d++) {
            uint32_t c = at[d];
            at[d] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++)
            to[at[from[i] >> (p * SORT_BITS) & (SORT_SIZE - 1)]++] = from[i];
        uint32_t *t = from;
        from = to, to = t;
    }
    if (from != key)
        memcpy(key, from, n * sizeof *key);
}

/* ---- selection ---- */

/* Keeps the keys whose byte at `shift` is that of the key of rank *rank; the least key above them
 * goes to *next. */
static int64_t select_pass(uint32_t *key, int64_t n, int shift, int64_t *rank, uint32_t *next)
{
    int64_t count[256] = { 0 }, kept = 0;
    uint32_t digit = 0;

    for (int64_t i = 0; i < n; i++)
        count[key[i] >> shift & 255]++;
    while (*rank >= count[digit])
        *rank -= count[digit++];
    for (int64_t i = 0; i < n; i++) {
        uint32_t k = key[i], d = k >> shift & 255;
        if (d == digit)
            key[kept++] = k;
        else if (d > digit && k < *next)
            *next = k;
    }
    return kept;
}

float ml_quantile(uint32_t *key, int64_t n, double q)
{
    double at = q * (double)(n - 1);
    int64_t rank = (int64_t)at, left = n;
    double share = at - (double)rank;
    uint32_t next = UINT32_MAX;

    CHECK(n >= 1 && q >= 0 && q <= 1);
    for (int shift = 24; shift >= 0; shift -= 8)
        left = select_pass(key, left, shift, &rank, &next);
    float low = ml_key_f32_value(key[0]);
    if (share <= 0 || rank + 1 < left)
        return low;
    return (float)((double)low + share * ((double)ml_key_f32_value(next) - (double)low));
}
