/* peaks_trees.c - what the training of trees does most, at best: additions to histograms, rows and bytes sent to either
 * side, cuts of a histogram. The kernels do nothing but what is measured: their rows are few enough to stay in the
 * first-level cache, and numbers that the product would have to find out are known. Kernels of the product take part by
 * their names. */
#include "tests/bench/roofline/peaks_form.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/hist.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_rows.h"
#include "ml/cpu/simd.h"

#include <stdio.h>
#include <string.h>
#ifdef SIMD_MIDDLE
#include <immintrin.h>
#endif

/* ROWS: of a block that is added again and again. COLS: the most columns of it. */
enum { ROWS = 256, COLS = 16 };

/* ---- additions to histograms ---- */

struct adding {
    /* [COLS][HIST_PITCH] */
    int64_t *hist;
    uint32_t *hist_32;
    uint8_t *bins;
    int64_t *word;
    uint32_t *q;
    int32_t *rows, cols[COLS];
    int n_cols;
};

/* Eight columns, whose bins are read at once; the pitch is that of the product. */
#define EIGHT(h, x, v)                                 \
    do {                                               \
        uint64_t w_;                                   \
        memcpy(&w_, x, sizeof w_);                     \
        (h)[(uint8_t)w_] += v;                         \
        (h)[HIST_PITCH + (uint8_t)(w_ >> 8)] += v;     \
        w_ >>= 16;                                     \
        (h)[2 * HIST_PITCH + (uint8_t)w_] += v;        \
        (h)[3 * HIST_PITCH + (uint8_t)(w_ >> 8)] += v; \
        w_ >>= 16;                                     \
        (h)[4 * HIST_PITCH + (uint8_t)w_] += v;        \
        (h)[5 * HIST_PITCH + (uint8_t)(w_ >> 8)] += v; \
        w_ >>= 16;                                     \
        (h)[6 * HIST_PITCH + (uint8_t)w_] += v;        \
        (h)[7 * HIST_PITCH + (w_ >> 8)] += v;          \
    } while (0)

static void add_eight(void *arg)
{
    const struct adding *a = arg;

    for (int i = 0; i < ROWS; i++)
        EIGHT(a->hist, a->bins + i * COLS, a->word[i]);
}

static void add_sixteen(void *arg)
{
    const struct adding *a = arg;

    for (int i = 0; i < ROWS; i++) {
        const uint8_t *x = a->bins + i * COLS;
        int64_t v = a->word[i];
        EIGHT(a->hist, x, v);
        EIGHT(a->hist + 8 * HIST_PITCH, x + 8, v);
    }
}

/* Two rows at once, each with a histogram of its own, so that no addition waits for one just before. */
static void add_apart(void *arg)
{
    const struct adding *a = arg;

    for (int i = 0; i < ROWS; i += 2) {
        const uint8_t *x = a->bins + i * COLS;
        int64_t v = a->word[i], w = a->word[i + 1];
        EIGHT(a->hist, x, v);
        EIGHT(a->hist + 8 * HIST_PITCH, x + COLS, w);
    }
}

/* Words of half the size take half the room, as sums of few rows could. */
static void add_narrow(void *arg)
{
    const struct adding *a = arg;

    for (int i = 0; i < ROWS; i++) {
        const uint8_t *x = a->bins + i * COLS;
        uint32_t v = (uint32_t)a->word[i];
        EIGHT(a->hist_32, x, v);
        EIGHT(a->hist_32 + 8 * HIST_PITCH, x + 8, v);
    }
}

/* Each bin read for itself. */
static void add_bytes(void *arg)
{
    const struct adding *a = arg;

    for (int i = 0; i < ROWS; i++) {
        const uint8_t *x = a->bins + i * COLS;
        int64_t v = a->word[i];
#define ONE(j) a->hist[(j)*HIST_PITCH + x[j]] += v;
        ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7)
    }
}

static void add_product(void *arg)
{
    const struct adding *a = arg;
    const struct hist_rows r = { a->bins, COLS, a->rows, ROWS, a->q };

    hist_add(&r, a->cols, a->n_cols, 1, a->hist);
}

static void adds_measure(struct peaks *p, struct rng *r)
{
    struct adding a = { .hist = mem_zalloc(COLS * HIST_PITCH * sizeof *a.hist),
                        .hist_32 = mem_zalloc(COLS * HIST_PITCH * sizeof *a.hist_32),
                        .bins = mem_alloc(ROWS * COLS + 64),
                        .word = mem_array(ROWS, sizeof *a.word),
                        .q = mem_array(ROWS, sizeof *a.q),
                        .rows = mem_array(ROWS, sizeof *a.rows) };

    for (int i = 0; i < ROWS * COLS + 64; i++)
        a.bins[i] = (uint8_t)(rng_u32(r) % 254);
    for (int i = 0; i < ROWS; i++) {
        a.q[i] = rng_u32(r) & 0x7fff7fffu;
        a.word[i] = hist_word(a.q[i]);
        a.rows[i] = i;
    }
    for (int j = 0; j < COLS; j++)
        a.cols[j] = j;
    puts("  an addition to a histogram (254 bins at random, all in the first-level cache)");
    peaks_form(&p->add, "8 columns, their bins read at once", 8 * ROWS, p->cycle, add_eight, &a);
    peaks_form(&p->add, "8 columns, each bin read for itself", 8 * ROWS, p->cycle, add_bytes, &a);
    peaks_form(&p->add, "8 columns, two rows with a histogram each", 8 * ROWS, p->cycle, add_apart,
               &a);
    peaks_form(&p->add, "16 columns", 16 * ROWS, p->cycle, add_sixteen, &a);
    peaks_form(&p->add, "16 columns, words of 32 bits", 16 * ROWS, p->cycle, add_narrow, &a);
    a.n_cols = 8;
    peaks_form(&p->add, "hist_add, 8 columns", 8 * ROWS, p->cycle, add_product, &a);
    a.n_cols = 13;
    peaks_form(&p->add, "hist_add, 13 columns", 13 * ROWS, p->cycle, add_product, &a);
    void *all[] = { a.hist, a.hist_32, a.bins, a.word, a.q, a.rows };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

/* ---- row numbers and bytes to either side ---- */

/* PART_PITCH: an odd number of lines of the cache, as forest_columns.c has it. */
enum { PARTED = 1024, PART_COLS = 8, PART_PITCH = PARTED + 192 };

struct parting {
    uint8_t *column, is_left[256], *from, *to;
    int32_t *rows, *left, *right;
    uint64_t masks[PARTED / 64];
    /* [256][8]: the places of the marked of eight, then of the others */
    uint8_t (*places)[8];
    /* [256]: each bit as a byte */
    uint64_t *spread;
};

/* Row numbers into two lists, none of which is copied back. */
static void rows_plain(void *arg)
{
    const struct parting *a = arg;
    int32_t left = 0, right = 0;

    for (int i = 0; i < PARTED; i++) {
        int32_t row = a->rows[i], goes = a->is_left[a->column[row]];
        a->left[left] = row;
        a->right[right] = row;
        left += goes;
        right += !goes;
    }
}

static void rows_product(void *arg)
{
    const struct parting *a = arg;

    memcpy(a->left, a->rows, PARTED * sizeof *a->left);
    part_rows(a->column, a->is_left, a->left, PARTED, a->right);
}

static void bytes_product(void *arg)
{
    const struct parting *a = arg;
    const struct part_columns c = { a->from, a->to, a->to + PART_COLS * PART_PITCH, PART_PITCH,
                                    PART_COLS };

    part_move(&c, PARTED, a->masks);
}

#ifdef __x86_64__
/* Eight bytes at a time, the marked ones pressed together by one instruction of BMI2. */
__attribute__((target("bmi2,popcnt"))) static void bytes_pressed(void *arg)
{
    const struct parting *a = arg;

    for (int j = 0; j < PART_COLS; j++) {
        const uint8_t *from = a->from + (ptrdiff_t)j * PART_PITCH;
        uint8_t *left = a->to + (ptrdiff_t)j * PART_PITCH, *right = left + PART_COLS * PART_PITCH;
        for (int i = 0; i < PARTED; i += 8) {
            uint64_t v, in = a->spread[a->masks[i / 64] >> i % 64 & 255], x, y;
            int ones = __builtin_popcountll(in) / 8;
            memcpy(&v, from + i, sizeof v);
            x = __builtin_ia32_pext_di(v, in);
            y = __builtin_ia32_pext_di(v, ~in);
            memcpy(left, &x, sizeof x);
            memcpy(right, &y, sizeof y);
            left += ones;
            right += 8 - ones;
        }
    }
}
#endif

#ifdef SIMD_MIDDLE
/* Marks by a comparison of 32 bins with a cut, whose rows lie side by side; eight row numbers at a time by two shuffles. */
SIMD_MIDDLE static void rows_eight(void *arg)
{
    const struct parting *a = arg;
    int32_t *left = a->left, *right = a->right;

    for (int i = 0; i < PARTED; i += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(a->column + i));
        __m256i cut = _mm256_set1_epi8(127);
        uint32_t m = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, cut), x));
        for (int k = 0; k < 32; k += 8, m >>= 8) {
            const void *in = a->places[m & 255], *out = a->places[~m & 255];
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(a->rows + i + k));
            __m256i to_left = _mm256_cvtepu8_epi32(_mm_loadl_epi64(in));
            __m256i to_right = _mm256_cvtepu8_epi32(_mm_loadl_epi64(out));
            int ones = __builtin_popcount(m & 255);
            _mm256_storeu_si256((__m256i *)(void *)left, _mm256_permutevar8x32_epi32(v, to_left));
            _mm256_storeu_si256((__m256i *)(void *)right, _mm256_permutevar8x32_epi32(v, to_right));
            left += ones;
            right += 8 - ones;
        }
    }
}
#endif

static void parting_fill(struct parting *a, struct rng *r)
{
    for (int i = 0; i < PARTED; i++) {
        a->column[i] = (uint8_t)rng_u32(r);
        a->rows[i] = i;
        a->masks[i / 64] |= (uint64_t)(a->column[i] < 128) << i % 64;
    }
    for (int v = 0; v < 256; v++) {
        int n = 0;
        a->is_left[v] = v < 128;
        for (int k = 0; k < 8; k++) {
            a->places[v][k] = 0;
            a->spread[v] |= (v >> k & 1 ? 255ull : 0) << 8 * k;
            if (v >> k & 1)
                a->places[v][n++] = (uint8_t)k;
        }
    }
}

static void parts_measure(struct peaks *p, struct rng *r)
{
    struct parting a = { .column = mem_alloc(PARTED + 64),
                         .from = mem_zalloc(PART_COLS * PART_PITCH + 128),
                         .to = mem_alloc(2 * PART_COLS * PART_PITCH + 128),
                         .rows = mem_array(PARTED, sizeof *a.rows),
                         .left = mem_array(PARTED + 8, sizeof *a.left),
                         .right = mem_array(PARTED + 8, sizeof *a.right),
                         .places = mem_array(256, sizeof *a.places),
                         .spread = mem_zalloc(256 * sizeof *a.spread) };

    parting_fill(&a, r);
    puts("  a row number sent to either side by its bin");
    peaks_form(&p->part_row, "one by one, no branch", PARTED, p->cycle, rows_plain, &a);
    peaks_form(&p->part_row, "part_rows, and a copy of the rows before", PARTED, p->cycle,
               rows_product, &a);
#ifdef SIMD_MIDDLE
    if (simd_level() >= SIMD_AVX2)
        peaks_form(&p->part_row, "eight by two shuffles, the bins side by side", PARTED, p->cycle,
                   rows_eight, &a);
#endif
    puts("  a byte of eight columns sent to either side by marks");
    peaks_form(&p->part_byte, "part_move", PART_COLS * PARTED, p->cycle, bytes_product, &a);
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2"))
        peaks_form(&p->part_byte, "eight bytes by two pext", PART_COLS * PARTED, p->cycle,
                   bytes_pressed, &a);
#endif
    void *all[] = { a.column, a.from, a.to, a.rows, a.left, a.right, a.places, a.spread };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

/* ---- cuts of a histogram ---- */

enum { BINS = 256, HISTS = 4 };

struct scoring {
    int64_t *hist, sum[BINS];
    /* what each histogram adds up to: a node knows it */
    int64_t all[HISTS];
    double best;
};

/* Running sums, then of each cut the two terms of boosting's gain as one fraction; fractions are compared crosswise, so that
 * nothing is divided. */
static int64_t sums_run(struct scoring *s, const int64_t *hist)
{
    int64_t sum = 0;

    for (int b = 0; b < BINS; b++)
        s->sum[b] = sum += hist[b];
    return sum;
}

static void score_plain(void *arg)
{
    struct scoring *s = arg;

    for (int h = 0; h < HISTS; h++) {
        int64_t all = sums_run(s, s->hist + (ptrdiff_t)h * HIST_PITCH);
        double gt = (double)(int32_t)(all >> 32), ht = (double)(int32_t)all + 1, top = 0, under = 1;
        for (int b = 0; b < BINS; b++) {
            double gl = (double)(int32_t)(s->sum[b] >> 32), hl = (double)(int32_t)s->sum[b] + 1;
            double gr = gt - gl, hr = ht - hl, t = gl * gl * hr + gr * gr * hl, u = hl * hr;
            int is_more = t * under > top * u;
            top = is_more ? t : top;
            under = is_more ? u : under;
        }
        s->best += top + under;
    }
}

#ifdef SIMD_MIDDLE
/* The best fraction of one in four cuts so far. */
struct fractions {
    __m256d top, under;
};

/* Four cuts: their running sums, from the sum before in every place, and their fractions. */
SIMD_MIDDLE static inline __m256i four_take(const int64_t *hist, __m256i before, __m256d gt,
                                            __m256d ht, struct fractions *f)
{
    const __m256i halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)hist);
    v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
    __m256i low = _mm256_permute4x64_epi64(v, 0x50),
            sum = _mm256_add_epi64(v, _mm256_blend_epi32(_mm256_setzero_si256(), low, 0xf0));
    sum = _mm256_add_epi64(sum, before);
    __m256i parts = _mm256_permutevar8x32_epi32(sum, halves);
    __m256d hl =
                _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(parts)), _mm256_set1_pd(1)),
            gl = _mm256_cvtepi32_pd(_mm256_extracti128_si256(parts, 1));
    __m256d gr = _mm256_sub_pd(gt, gl), hr = _mm256_sub_pd(ht, hl);
    __m256d t = _mm256_add_pd(_mm256_mul_pd(_mm256_mul_pd(gl, gl), hr),
                              _mm256_mul_pd(_mm256_mul_pd(gr, gr), hl)),
            u = _mm256_mul_pd(hl, hr);
    __m256d is_more =
        _mm256_cmp_pd(_mm256_mul_pd(t, f->under), _mm256_mul_pd(f->top, u), _CMP_GT_OQ);
    f->top = _mm256_blendv_pd(f->top, t, is_more);
    f->under = _mm256_blendv_pd(f->under, u, is_more);
    return _mm256_permute4x64_epi64(sum, 0xff);
}

/* The two best so far take turns, so that a comparison need not wait for the one before. */
SIMD_MIDDLE static void score_four(void *arg)
{
    struct scoring *s = arg;

    for (int h = 0; h < HISTS; h++) {
        const int64_t *hist = s->hist + (ptrdiff_t)h * HIST_PITCH;
        int64_t all = s->all[h];
        __m256d gt = _mm256_set1_pd((double)(int32_t)(all >> 32)),
                ht = _mm256_set1_pd((double)(int32_t)all + 1);
        struct fractions a = { _mm256_setzero_pd(), _mm256_set1_pd(1) }, b = a;
        __m256i sum = _mm256_setzero_si256();
        for (int k = 0; k < BINS; k += 8) {
            sum = four_take(hist + k, sum, gt, ht, &a);
            sum = four_take(hist + k + 4, sum, gt, ht, &b);
        }
        double out[4];
        _mm256_storeu_pd(
            out, _mm256_add_pd(_mm256_add_pd(a.top, a.under), _mm256_add_pd(b.top, b.under)));
        s->best += out[0] + out[1] + out[2] + out[3];
    }
}
#endif

static void scores_measure(struct peaks *p, struct rng *r)
{
    struct scoring s = { .hist = mem_array(HISTS * HIST_PITCH, sizeof *s.hist) };

    for (int i = 0; i < HISTS * HIST_PITCH; i++)
        s.hist[i] = hist_word((rng_u32(r) & 0x01ff0000u) | (rng_u32(r) & 0x1ffu));
    for (int h = 0; h < HISTS; h++)
        s.all[h] = sums_run(&s, s.hist + (ptrdiff_t)h * HIST_PITCH);
    puts("  a bin added up and scored as a cut");
    peaks_form(&p->score, "plain", HISTS * BINS, p->cycle, score_plain, &s);
#ifdef SIMD_MIDDLE
    if (simd_level() >= SIMD_AVX2)
        peaks_form(&p->score, "four cuts at once", HISTS * BINS, p->cycle, score_four, &s);
#endif
    mem_free(s.hist);
}

/* ---- all ---- */

void peaks_trees_measure(struct peaks *p)
{
    struct rng r;

    rng_init(&r, 1, 1);
    adds_measure(p, &r);
    parts_measure(p, &r);
    scores_measure(p, &r);
}
