/* part_rows.c - see part_rows.h.
 *
 * Where the CPU can compress a register, the bins of a block of rows are brought together, 64 of
 * them at a time are looked up in the set of bins that go left, and row numbers move by sixteen.
 * The plain way moves them one by one; it serves other machines and few rows. */
#include "ml/cpu/part_rows.h"

#include "base/base.h"
#include "ml/cpu/part.h"
#include "ml/cpu/simd.h"

#include <string.h>
#ifdef SIMD_BITS
#include <immintrin.h>
#endif

/* Rows whose bins are brought together. Fewer are as fast one by one. */
enum { BLOCK = 128 };

/* How many of `rows` went to either side so far. */
struct ends {
    int32_t left, right;
};

static void rows_plain(const uint8_t *column, const uint8_t *is_left, int32_t *rows, int32_t n,
                       int32_t *spare, struct ends *to)
{
    int32_t left = to->left, right = to->right;

    for (int32_t i = left + right; i < n; i++) {
        int32_t row = rows[i];
        int goes = is_left[column[row]];
        rows[left] = row;
        spare[right] = row;
        left += goes;
        right += !goes;
    }
    *to = (struct ends){ left, right };
}

#ifdef SIMD_BITS
SIMD_BITS static void set_of(const uint8_t *is_left, uint64_t set[4])
{
    for (int k = 0; k < 4; k++) {
        __m512i v = _mm512_loadu_si512(is_left + 64 * k);
        set[k] = _mm512_test_epi8_mask(v, v);
    }
}

/* Sixteen rows; bit k of m: row k goes left. What is stored past the rows found so far lies before
 * the end of the rows that have been read. */
SIMD_BITS static inline __attribute__((always_inline)) void sixteen_move(int32_t *rows, int32_t i,
                                                                         int32_t *spare, uint32_t m,
                                                                         struct ends *to)
{
    __m512i v = _mm512_loadu_si512(rows + i);
    int32_t ones = __builtin_popcount(m);

    _mm512_storeu_si512(rows + to->left, _mm512_maskz_compress_epi32((__mmask16)m, v));
    _mm512_storeu_si512(spare + to->right, _mm512_maskz_compress_epi32((__mmask16)~m, v));
    to->left += ones;
    to->right += 16 - ones;
}

/* The bins of BLOCK rows: where they lie if the rows lie side by side. */
static const uint8_t *bins_of(const uint8_t *column, const int32_t *rows, uint8_t *bins)
{
    if (rows[BLOCK - 1] - rows[0] == BLOCK - 1)
        return column + rows[0];
    for (int k = 0; k < BLOCK; k += 4) {
        bins[k] = column[rows[k]];
        bins[k + 1] = column[rows[k + 1]];
        bins[k + 2] = column[rows[k + 2]];
        bins[k + 3] = column[rows[k + 3]];
    }
    return bins;
}

/* Whole blocks; the last rows are left to the plain way. */
SIMD_BITS static void rows_fast(const uint8_t *column, const uint8_t *is_left, int32_t *rows,
                                int32_t n, int32_t *spare, struct ends *to)
{
    uint8_t bins[BLOCK];
    uint64_t set[4], masks[BLOCK / PART_WIDE];

    set_of(is_left, set);
    for (int32_t i = 0; i + BLOCK <= n; i += BLOCK) {
        (void)part_mark_set(bins_of(column, rows + i, bins), BLOCK, set, masks);
        for (int k = 0; k < BLOCK; k += 16)
            sixteen_move(rows, i + k, spare,
                         (uint32_t)(masks[k / PART_WIDE] >> k % PART_WIDE) & 0xffff, to);
    }
}
#endif

int32_t part_rows(const uint8_t *column, const uint8_t is_left[256], int32_t *rows, int32_t n,
                  int32_t *spare)
{
    struct ends to = { 0, 0 };

#ifdef SIMD_BITS
    if (n >= BLOCK && simd_has_bits())
        rows_fast(column, is_left, rows, n, spare, &to);
#endif
    rows_plain(column, is_left, rows, n, spare, &to);
    memcpy(rows + to.left, spare, (size_t)to.right * sizeof *rows);
    return to.left;
}
