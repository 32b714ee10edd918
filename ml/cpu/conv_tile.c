/* conv_tile.c - see conv_private.h. A tile of at most 14 rows by two vectors of 16 filters is 28
 * sums, which stay in registers while the window, or the image, goes by; with the vectors of the
 * other factor that is all 32 registers. Rows of a tile are neighbouring places of a line
 * (forward), or neighbouring weights of a line of the kernel (their gradient). A line of places,
 * and a line of weights, is cut into as few tiles of nearly equal size as possible.
 *
 * Pooling is here because compilers make no good vectors of floats beside bytes. */
#include "ml/cpu/conv_private.h"

#include "ml/cpu/simd.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE        __attribute__((target("avx512f,fma")))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

enum { ROWS = 14, VECTOR = 16 };

static int64_t line(const struct conv *g)
{
    return g->w + 2 * (int64_t)(g->k / 2);
}

/* The sums of one tile. The counts are constants wherever a body is called, so that loops over them are unrolled. */
WIDE_INLINE void sums_begin(__m512 sum[ROWS][2], const float *c, int64_t c_row, bool goes_on,
                            const int rows, const int vectors)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        sum[r][0] = goes_on ? _mm512_loadu_ps(c + r * c_row) : _mm512_setzero_ps();
        if (vectors > 1)
            sum[r][1] = goes_on ? _mm512_loadu_ps(c + r * c_row + VECTOR) : _mm512_setzero_ps();
    }
}

WIDE_INLINE void sums_end(__m512 sum[ROWS][2], float *c, int64_t c_row, const int rows,
                          const int vectors)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        _mm512_storeu_ps(c + r * c_row, sum[r][0]);
        if (vectors > 1)
            _mm512_storeu_ps(c + r * c_row + VECTOR, sum[r][1]);
    }
}

/* ---- forward ---- */

/* `rows` places from `a` on, whose windows begin g->c floats apart; filters from `b` on. Four pointers, because an address has
 * room for one register that is scaled. */
WIDE_INLINE void places_body(const struct conv *g, const float *a, const float *b, float *c,
                             const int rows, const int vectors)
{
    int64_t step = g->c, jump = line(g) * g->c, n = (int64_t)g->k * g->c;
    __m512 sum[ROWS][2];

    sums_begin(sum, c, g->pad, false, rows, vectors);
    for (int ky = 0; ky < g->k; ky++, a += jump) {
        const float *at[4] = { a, a + 4 * step, a + 8 * step, a + 12 * step };
        for (int64_t p = 0; p < n; p++, b += g->pad) {
            __m512 x = _mm512_loadu_ps(b), y = vectors > 1 ? _mm512_loadu_ps(b + VECTOR) : x;
#pragma GCC unroll 14
            for (int r = 0; r < rows; r++) {
                __m512 v = _mm512_set1_ps(at[r / 4][p + (r % 4) * step]);
                sum[r][0] = _mm512_fmadd_ps(v, x, sum[r][0]);
                if (vectors > 1)
                    sum[r][1] = _mm512_fmadd_ps(v, y, sum[r][1]);
            }
        }
    }
    sums_end(sum, c, g->pad, rows, vectors);
}

/* ---- the gradient of the weights ---- */

/* Weights `a` of a line of the kernel: rows of them, which follow one another in the spread image as well. With lines > 1 also
 * those of the lines below: one line of a kernel on one channel alone has too few sums to hide how long an addition takes. */
WIDE_INLINE void weights_body(const struct conv *g, const float *a, const float *b, float *c,
                              bool goes_on, const int rows, const int vectors, const int lines)
{
    int64_t jump = line(g) * g->c;
    __m512 sum[ROWS][2];

    sums_begin(sum, c, g->pad, goes_on, rows * lines, vectors);
    for (int y = 0; y < g->h; y++) {
        const float *at = a + y * jump;
        for (int x = 0; x < g->w; x++, at += g->c, b += g->pad) {
            __m512 u = _mm512_loadu_ps(b), v = vectors > 1 ? _mm512_loadu_ps(b + VECTOR) : u;
#pragma GCC unroll 14
            for (int r = 0; r < rows * lines; r++) {
                __m512 s = _mm512_set1_ps(at[r / rows * jump + r % rows]);
                sum[r][0] = _mm512_fmadd_ps(s, u, sum[r][0]);
                if (vectors > 1)
                    sum[r][1] = _mm512_fmadd_ps(s, v, sum[r][1]);
            }
        }
    }
    sums_end(sum, c, g->pad, rows * lines, vectors);
}

/* ---- a function for each size: together in one they would lack registers ---- */

#define TILES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define TILE(rows, vectors)                                                           \
    WIDE __attribute__((noinline)) static void places_##rows##x##vectors(             \
        const struct conv *g, const float *a, const float *b, float *c)               \
    {                                                                                 \
        places_body(g, a, b, c, rows, vectors);                                       \
    }                                                                                 \
    WIDE __attribute__((noinline)) static void weights_##rows##x##vectors(            \
        const struct conv *g, const float *a, const float *b, float *c, bool goes_on) \
    {                                                                                 \
        weights_body(g, a, b, c, goes_on, rows, vectors, 1);                          \
    }
#define TILE_KINDS(rows) TILE(rows, 1) TILE(rows, 2)
TILES(TILE_KINDS)

WIDE __attribute__((noinline)) static void weights_lines_x1(const struct conv *g, const float *a,
                                                            const float *b, float *c, bool goes_on)
{
    weights_body(g, a, b, c, goes_on, 3, 1, 3);
}

WIDE __attribute__((noinline)) static void weights_lines_x2(const struct conv *g, const float *a,
                                                            const float *b, float *c, bool goes_on)
{
    weights_body(g, a, b, c, goes_on, 3, 2, 3);
}

typedef void places_fn(const struct conv *g, const float *a, const float *b, float *c);
typedef void weights_fn(const struct conv *g, const float *a, const float *b, float *c,
                        bool goes_on);
#define PLACES_1(rows)  places_##rows##x1,
#define PLACES_2(rows)  places_##rows##x2,
#define WEIGHTS_1(rows) weights_##rows##x1,
#define WEIGHTS_2(rows) weights_##rows##x2,
/* By vectors and rows, both from 1. */
static places_fn *const places_of[2][ROWS] = { { TILES(PLACES_1) }, { TILES(PLACES_2) } };
static weights_fn *const weights_of[2][ROWS] = { { TILES(WEIGHTS_1) }, { TILES(WEIGHTS_2) } };

bool conv_tile_can(void)
{
    return simd_level() == SIMD_AVX512 && __builtin_cpu_supports("fma");
}

void conv_tile_lines(const struct conv *g, const float *spread, const float *weights, int from,
                     int n, float *out)
{
    int tiles = (g->w + ROWS - 1) / ROWS;

    for (int j = 0; j < g->pad; j += 2 * VECTOR) {
        places_fn *const *f = places_of[g->pad - j > VECTOR];
        for (int y = 0; y < n; y++) {
            const float *a = spread + (from + y) * line(g) * g->c;
            float *c = out + (int64_t)y * g->w * g->pad + j;
            for (int t = 0, x = 0; t < tiles; t++) {
                int end = g->w * (t + 1) / tiles;
                f[end - x - 1](g, a + (int64_t)x * g->c, weights + j, c + (int64_t)x * g->pad);
                x = end;
            }
        }
    }
}

void conv_tile_weights(const struct conv *g, const float *spread, const float *d, bool goes_on,
                       float *grad)
{
    int row = g->k * g->c, tiles = (row + ROWS - 1) / ROWS;

    for (int j = 0; j < g->pad; j += 2 * VECTOR) {
        bool two = g->pad - j > VECTOR;
        if (row == 3) {
            (two ? weights_lines_x2 : weights_lines_x1)(g, spread, d + j, grad + j, goes_on);
            continue;
        }
        for (int ky = 0; ky < g->k; ky++) {
            for (int t = 0, r = 0; t < tiles; t++) {
                int end = row * (t + 1) / tiles;
                weights_of[two][end - r - 1](g, spread + ky * line(g) * g->c + r, d + j,
                                             grad + (ky * (int64_t)row + r) * g->pad + j, goes_on);
                r = end;
            }
        }
    }
}

/* ---- pooling ---- */

/* Sixteen values of a window whose places are `right` and `down` floats apart, 0 = there is none. */
WIDE_INLINE void window_max(const float *in, int64_t right, int64_t down, float *out,
                            uint8_t *which)
{
    __m512 top = _mm512_loadu_ps(in), next;
    __m512i at = _mm512_setzero_si512();
    const int64_t place[3] = { right, down, down + right };

#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        next = _mm512_loadu_ps(in + place[i]);
        __mmask16 is_larger = _mm512_cmp_ps_mask(next, top, _CMP_GT_OQ);
        at = _mm512_mask_set1_epi32(at, is_larger, i + 1);
        top = _mm512_mask_mov_ps(top, is_larger, next);
    }
    _mm512_storeu_ps(out, top);
    _mm_storeu_si128((__m128i *)(void *)which, _mm512_cvtepi32_epi8(at));
}

WIDE void conv_tile_pool_max(const float *in, int h, int w, int64_t pad, float *out, uint8_t *which)
{
    for (int y = 0; y < h; y += 2) {
        int64_t down = y + 1 < h ? w * pad : 0;
        for (int x = 0; x < w; x += 2) {
            const float *p = in + ((int64_t)y * w + x) * pad;
            for (int64_t j = 0; j < pad; j += VECTOR, out += VECTOR, which += VECTOR)
                window_max(p + j, x + 1 < w ? pad : 0, down, out, which);
        }
    }
}

/* What is left of d where the largest was `place`. */
WIDE_INLINE void give(__m512 d, __m512i which, int place, float *out)
{
    __mmask16 is_it = _mm512_cmpeq_epi32_mask(which, _mm512_set1_epi32(place));

    _mm512_storeu_ps(out, _mm512_maskz_mov_ps(is_it, d));
}

WIDE void conv_tile_pool_max_backward(const float *d, const uint8_t *which, int h, int w,
                                      int64_t pad, float *below)
{
    for (int y = 0; y < h; y += 2) {
        bool down = y + 1 < h;
        for (int x = 0; x < w; x += 2) {
            float *p = below + ((int64_t)y * w + x) * pad;
            bool right = x + 1 < w;
            for (int64_t j = 0; j < pad; j += VECTOR, p += VECTOR, d += VECTOR, which += VECTOR) {
                __m512 v = _mm512_loadu_ps(d);
                __m512i at =
                    _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)which));
                give(v, at, 0, p);
                if (right)
                    give(v, at, 1, p + pad);
                if (down)
                    give(v, at, 2, p + w * pad);
                if (down && right)
                    give(v, at, 3, p + (w + 1) * pad);
            }
        }
    }
}
#else
bool conv_tile_can(void)
{
    return false;
}

void conv_tile_pool_max(const float *in, int h, int w, int64_t pad, float *out, uint8_t *which)
{
    (void)in, (void)h, (void)w, (void)pad, (void)out, (void)which;
}

void conv_tile_pool_max_backward(const float *d, const uint8_t *which, int h, int w, int64_t pad,
                                 float *below)
{
    (void)d, (void)which, (void)h, (void)w, (void)pad, (void)below;
}

void conv_tile_lines(const struct conv *g, const float *spread, const float *weights, int from,
                     int n, float *out)
{
    (void)g, (void)spread, (void)weights, (void)from, (void)n, (void)out;
}

void conv_tile_weights(const struct conv *g, const float *spread, const float *d, bool goes_on,
                       float *grad)
{
    (void)g, (void)spread, (void)d, (void)goes_on, (void)grad;
}
#endif
