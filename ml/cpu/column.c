/* column.c - counts, sums and bins of a column (column.h).
 *
 * Sums run in eight fixed lanes. The bin of a value is the number of cuts below it. With vectors it
 * is found in two steps of 16 cuts, each one comparison and one count of bits: the first finds the
 * group of 16 cuts, the second the place in it. Without vectors it is found by halving, eight
 * values at a time, so that their memory reads overlap. */
#include "ml/cpu/column.h"

#include "ml/cpu/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>
#ifdef SIMD_WIDE
#include <immintrin.h>
#endif

enum { MISSING = 255 };

void column_moments_init(struct column_moments *m, double center)
{
    memset(m, 0, sizeof *m);
    m->center = center;
    for (int k = 0; k < COLUMN_LANES; k++) {
        m->lo[k] = INFINITY;
        m->hi[k] = -INFINITY;
    }
}

/* Adds up to eight values, one to each lane. Tests are arithmetic instead of branches, so that the
 * loop becomes vector code. v - v == 0 holds for finite values only. */
SIMD_BODY void lanes_add(struct column_moments *m, const double *x, const uint8_t *use, int lanes)
{
    double center = m->center;

    for (int k = 0; k < lanes; k++) {
        double v = x[k];
        int64_t is_in = use ? use[k] != 0 : 1;
        int64_t is_finite = is_in & (v - v == 0.0);
        double d = is_finite ? v - center : 0.0;
        m->n[k] += is_in;
        m->missing[k] += is_in & (v != v);
        m->above[k] += is_in & (v == (double)INFINITY);
        m->below[k] += is_in & (v == -(double)INFINITY);
        m->lo[k] = (is_finite & (v < m->lo[k])) ? v : m->lo[k];
        m->hi[k] = (is_finite & (v > m->hi[k])) ? v : m->hi[k];
        m->sum[k] += d;
        m->squares[k] += d * d;
    }
}

SIMD_BODY void moments_add_body(struct column_moments *to, const double *x, const uint8_t *use,
                                int64_t n)
{
    struct column_moments m = *to;
    int64_t i = 0;

    if (use) {
        for (; i + COLUMN_LANES <= n; i += COLUMN_LANES)
            lanes_add(&m, x + i, use + i, COLUMN_LANES);
    } else {
        for (; i + COLUMN_LANES <= n; i += COLUMN_LANES)
            lanes_add(&m, x + i, NULL, COLUMN_LANES);
    }
    lanes_add(&m, x + i, use ? use + i : NULL, (int)(n - i));
    *to = m;
}
SIMD_KERNEL_STATIC(moments_add,
                   (struct column_moments * m, const double *x, const uint8_t *use, int64_t n),
                   (m, x, use, n))

#ifdef SIMD_WIDE
static inline SIMD_WIDE __m512i one_more(__m512i count, __mmask8 of)
{
    return _mm512_mask_add_epi64(count, of, count, _mm512_set1_epi64(1));
}

/* The same with one register for each array of lanes: gcc keeps them in memory. */
SIMD_WIDE static void moments_add_lanes(struct column_moments *m, const double *x,
                                        const uint8_t *use, int64_t n)
{
    const __m512d center = _mm512_set1_pd(m->center), top = _mm512_set1_pd((double)INFINITY),
                  bottom = _mm512_set1_pd(-(double)INFINITY);
    __m512i count = _mm512_loadu_si512(m->n), missing = _mm512_loadu_si512(m->missing),
            above = _mm512_loadu_si512(m->above), below = _mm512_loadu_si512(m->below);
    __m512d lo = _mm512_loadu_pd(m->lo), hi = _mm512_loadu_pd(m->hi), sum = _mm512_loadu_pd(m->sum),
            squares = _mm512_loadu_pd(m->squares);

    for (int64_t i = 0; i < n; i += COLUMN_LANES) {
        __mmask8 in = (__mmask8)(n - i >= COLUMN_LANES ? 0xff : (1 << (n - i)) - 1);
        __m512d v = _mm512_maskz_loadu_pd(in, x + i);
        if (use)
            in = (__mmask8)_mm_mask_test_epi8_mask(in, _mm_maskz_loadu_epi8(in, use + i),
                                                   _mm_set1_epi8(-1));
        __mmask8 finite =
            _mm512_mask_cmp_pd_mask(in, _mm512_sub_pd(v, v), _mm512_setzero_pd(), _CMP_EQ_OQ);
        __m512d d = _mm512_maskz_sub_pd(finite, v, center);
        count = one_more(count, in);
        missing = one_more(missing, _mm512_mask_cmp_pd_mask(in, v, v, _CMP_UNORD_Q));
        above = one_more(above, _mm512_mask_cmp_pd_mask(in, v, top, _CMP_EQ_OQ));
        below = one_more(below, _mm512_mask_cmp_pd_mask(in, v, bottom, _CMP_EQ_OQ));
        lo = _mm512_mask_min_pd(lo, finite, v, lo);
        hi = _mm512_mask_max_pd(hi, finite, v, hi);
        sum = _mm512_add_pd(sum, d);
        squares = _mm512_add_pd(squares, _mm512_mul_pd(d, d));
    }
    _mm512_storeu_si512(m->n, count);
    _mm512_storeu_si512(m->missing, missing);
    _mm512_storeu_si512(m->above, above);
    _mm512_storeu_si512(m->below, below);
    _mm512_storeu_pd(m->lo, lo);
    _mm512_storeu_pd(m->hi, hi);
    _mm512_storeu_pd(m->sum, sum);
    _mm512_storeu_pd(m->squares, squares);
}
#endif

void column_moments_add(struct column_moments *m, const double *x, const uint8_t *use, int64_t n)
{
#ifdef SIMD_WIDE
    if (simd_level() == SIMD_AVX512) {
        moments_add_lanes(m, x, use, n);
        return;
    }
#endif
    moments_add(m, x, use, n);
}

void column_moments_total(const struct column_moments *m, struct column_total *out)
{
    *out = (struct column_total){ .lo = INFINITY, .hi = -INFINITY };
    for (int k = 0; k < COLUMN_LANES; k++) {
        out->n += m->n[k];
        out->missing += m->missing[k];
        out->above += m->above[k];
        out->below += m->below[k];
        out->lo = m->lo[k] < out->lo ? m->lo[k] : out->lo;
        out->hi = m->hi[k] > out->hi ? m->hi[k] : out->hi;
        out->sum += m->sum[k];
        out->squares += m->squares[k];
    }
}

/* With values that are no numbers every comparison is false. */
SIMD_BODY void column_outside_body(const double *x, int64_t n, int64_t *finite, int64_t *outside)
{
    int64_t in = 0, out = 0;

    for (int64_t i = 0; i < n; i++) {
        double v = x[i], size = v < 0.0 ? -v : v;
        in += size <= DBL_MAX;
        out += ((size <= DBL_MAX) & (size > 3.4e38)) | ((size > 0.0) & (size < 1.2e-38));
    }
    *finite = in;
    *outside = out;
}
SIMD_KERNEL(column_outside, (const double *x, int64_t n, int64_t *finite, int64_t *outside),
            (x, n, finite, outside))

/* ---- bins ---- */

/* Eight binary searches side by side over 256 cuts. */
static void bins_plain(const float *cuts, int n_bins, const double *x, int64_t n, uint8_t *out,
                       int64_t stride)
{
    float v[8];
    uint32_t pos[8];

    for (int64_t from = 0; from < n; from += 8) {
        int m = n - from < 8 ? (int)(n - from) : 8;
        for (int j = 0; j < 8; j++) {
            v[j] = j < m ? (float)x[from + j] : 0;
            pos[j] = 0;
        }
        for (uint32_t step = 128; step > 0; step >>= 1) {
            for (int j = 0; j < 8; j++)
                pos[j] += cuts[pos[j] + step - 1] < v[j] ? step : 0;
        }
        for (int j = 0; j < m; j++) {
            int bin = (int)pos[j] < n_bins - 1 ? (int)pos[j] : n_bins - 1;
            out[(from + j) * stride] = (uint8_t)(v[j] != v[j] ? MISSING : bin);
        }
    }
}

#ifdef SIMD_WIDE
static inline __attribute__((always_inline)) uint8_t bin_of(float v, int pos, int n_bins)
{
    pos = pos < n_bins - 1 ? pos : n_bins - 1;
    return (uint8_t)(v != v ? MISSING : pos);
}

/* last[] holds the last cut of each group of 16. Padding with infinity keeps group below 16,
 * because no value is above infinity. */
__attribute__((target("avx512f,popcnt"))) static void bins_wide(const float *cuts, int n_bins,
                                                                const double *x, int64_t n,
                                                                uint8_t *out, int64_t stride)
{
    float last[16];

    for (int k = 0; k < 16; k++)
        last[k] = cuts[16 * k + 15];
    __m512 coarse = _mm512_loadu_ps(last);
    for (int64_t i = 0; i < n; i++) {
        float v = (float)x[i];
        __m512 all = _mm512_set1_ps(v);
        int group = __builtin_popcount(_mm512_cmp_ps_mask(coarse, all, _CMP_LT_OQ));
        __m512 fine = _mm512_loadu_ps(cuts + 16 * group);
        int at = __builtin_popcount(_mm512_cmp_ps_mask(fine, all, _CMP_LT_OQ));
        out[i * stride] = bin_of(v, 16 * group + at, n_bins);
    }
}

/* How many of sixteen ascending cuts are below the value. */
__attribute__((target("avx2,popcnt"))) static inline int below_middle(const float *sixteen,
                                                                      __m256 all)
{
    __m256 a = _mm256_cmp_ps(_mm256_loadu_ps(sixteen), all, _CMP_LT_OQ);
    __m256 b = _mm256_cmp_ps(_mm256_loadu_ps(sixteen + 8), all, _CMP_LT_OQ);
    return __builtin_popcount((unsigned)_mm256_movemask_ps(a) | (unsigned)_mm256_movemask_ps(b)
                                                                    << 8);
}

__attribute__((target("avx2,popcnt"))) static void bins_middle(const float *cuts, int n_bins,
                                                               const double *x, int64_t n,
                                                               uint8_t *out, int64_t stride)
{
    float last[16];

    for (int k = 0; k < 16; k++)
        last[k] = cuts[16 * k + 15];
    for (int64_t i = 0; i < n; i++) {
        float v = (float)x[i];
        __m256 all = _mm256_set1_ps(v);
        int group = below_middle(last, all);
        int at = below_middle(cuts + 16 * group, all);
        out[i * stride] = bin_of(v, 16 * group + at, n_bins);
    }
}
#endif

void column_bins(const float *cuts, int n_bins, const double *x, int64_t n, uint8_t *out,
                 int64_t stride)
{
#ifdef SIMD_WIDE
    if (simd_level() == SIMD_AVX512) {
        bins_wide(cuts, n_bins, x, n, out, stride);
        return;
    }
    if (simd_level() == SIMD_AVX2) {
        bins_middle(cuts, n_bins, x, n, out, stride);
        return;
    }
#endif
    bins_plain(cuts, n_bins, x, n, out, stride);
}
