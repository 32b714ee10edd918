/* part_rows.c - see part_rows.h.
 *
 * The bins of a block of rows are brought together, looked up in the set of bins that go left, many
 * at a time, and row numbers move by sixteen where the CPU can compress a register, or with AVX2 by
 * eight, by a shuffle that their marks tell. The plain way moves them one by one; it serves other
 * machines and few rows. */
#include "ml/cpu/part_rows.h"

#include "base/base.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_middle.h"
#include "ml/cpu/simd.h"

#include <string.h>
#ifdef SIMD_MIDDLE
#include <immintrin.h>
#endif

/* Rows whose bins are brought together. Fewer are as fast one by one. */
enum { BLOCK = 128 };

/* How many of `rows` went to either side so far. */
struct ends {
    int32_t left, right;
};

/* Moves BLOCK rows from number i on by their marks. */
typedef void block_move(int32_t *rows, int32_t i, int32_t *spare, const uint64_t *masks,
                        struct ends *to);

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

#ifdef SIMD_MIDDLE
/* The bins of BLOCK rows: where they lie if the rows lie side by side. */
static inline const uint8_t *bins_of(const uint8_t *column, const int32_t *rows, uint8_t *bins)
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

SIMD_MIDDLE static void set_of(const uint8_t *is_left, uint64_t set[4])
{
    const __m256i zero = _mm256_setzero_si256();

    for (int k = 0; k < 4; k++) {
        const __m256i *at = (const __m256i *)(const void *)(is_left + 64 * k);
        __m256i low = _mm256_cmpgt_epi8(_mm256_loadu_si256(at), zero),
                high = _mm256_cmpgt_epi8(_mm256_loadu_si256(at + 1), zero);
        set[k] = (uint32_t)_mm256_movemask_epi8(low) |
                 (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
    }
}

SIMD_MIDDLE static inline __m256i places_of(uint32_t m)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)part_middle_order[m]));
}

/* Eight rows; what is stored past the rows found so far lies before the end of the rows that have
 * been read. */
SIMD_MIDDLE static inline __attribute__((always_inline)) void eight_move(int32_t *rows, int32_t i,
                                                                         int32_t *spare, uint32_t m,
                                                                         struct ends *to)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(rows + i));
    int32_t ones = __builtin_popcount(m);

    _mm256_storeu_si256((__m256i *)(void *)(rows + to->left),
                        _mm256_permutevar8x32_epi32(v, places_of(m)));
    _mm256_storeu_si256((__m256i *)(void *)(spare + to->right),
                        _mm256_permutevar8x32_epi32(v, places_of(~m & 255)));
    to->left += ones;
    to->right += 8 - ones;
}

SIMD_MIDDLE static void block_move_middle(int32_t *rows, int32_t i, int32_t *spare,
                                          const uint64_t *masks, struct ends *to)
{
    for (int k = 0; k < BLOCK; k += 8)
        eight_move(rows, i + k, spare, (uint32_t)(masks[k / PART_WIDE] >> k % PART_WIDE) & 255, to);
}

/* Whole blocks; the last rows are left to the plain way. */
static void rows_fast(const uint8_t *column, const uint8_t *is_left, int32_t *rows, int32_t n,
                      int32_t *spare, block_move *move, struct ends *to)
{
    uint64_t set[4], masks[BLOCK / PART_WIDE];
    uint8_t bins[BLOCK];

    set_of(is_left, set);
    for (int32_t i = 0; i + BLOCK <= n; i += BLOCK) {
        (void)part_mark_set(bins_of(column, rows + i, bins), BLOCK, set, masks);
        move(rows, i, spare, masks, to);
    }
}
#endif

#ifdef SIMD_BITS
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

SIMD_BITS static void block_move_wide(int32_t *rows, int32_t i, int32_t *spare,
                                      const uint64_t *masks, struct ends *to)
{
    for (int k = 0; k < BLOCK; k += 16)
        sixteen_move(rows, i + k, spare, (uint32_t)(masks[k / PART_WIDE] >> k % PART_WIDE) & 0xffff,
                     to);
}
#endif

int32_t part_rows(const uint8_t *column, const uint8_t is_left[256], int32_t *rows, int32_t n,
                  int32_t *spare)
{
    struct ends to = { 0, 0 };

#ifdef SIMD_MIDDLE
    block_move *move = part_middle_is_there() ? block_move_middle : NULL;
#ifdef SIMD_BITS
    if (simd_has_bits())
        move = block_move_wide;
#endif
    if (n >= BLOCK && move)
        rows_fast(column, is_left, rows, n, spare, move, &to);
#endif
    rows_plain(column, is_left, rows, n, spare, &to);
    memcpy(rows + to.left, spare, (size_t)to.right * sizeof *rows);
    return to.left;
}
