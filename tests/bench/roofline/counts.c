/* counts.c - see counts.h. The least bytes of a call are what must be read and written once; where they come from is the
 * smallest cache that holds all of them, even where the product had to fetch them from farther away, so that the bound is
 * a bound. */
#include "tests/bench/roofline/counts.h"

#include "base/base.h"
#include "ml/boost/boost.h"
#include "ml/cpu/grad.h"
#include "ml/cpu/hist.h"
#include "ml/cpu/part_rows.h"
#include "ml/cpu/scan.h"
#include "ml/cpu/tree.h"

#include <string.h>
#include <time.h>

static struct phase_count phases[PHASES];
/* NULL = not counting */
static const struct peaks *peaks;

/* Without the call of a function where the CPU has a counter of time: kernels of a node take less than a microsecond. */
double counts_ticks(void)
{
#ifdef __x86_64__
    return (double)__builtin_ia32_rdtsc();
#else
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#endif
}

void counts_start(const struct peaks *p)
{
    static const struct phase_count names[PHASES] = {
        [PHASE_HIST] = { .name = "histograms", .unit = "additions" },
        [PHASE_PART] = { .name = "rows to either side", .unit = "rows" },
        [PHASE_SCAN] = { .name = "search for cuts", .unit = "bins" },
        [PHASE_GRADIENT] = { .name = "gradients", .unit = "rows" },
        [PHASE_LEAF] = { .name = "values of leaves", .unit = "rows" },
        [PHASE_SCORE] = { .name = "scores of rows", .unit = "rows" },
    };

    memcpy(phases, names, sizeof phases);
    peaks = p;
}

const struct phase_count *counts_stop(void)
{
    peaks = NULL;
    return phases;
}

/* A call that began at `began`, with so many units at the peak `each` (NULL = none), and so many bytes read or written. */
static void count(enum phase k, double began, double units, const struct peak *each, double bytes)
{
    struct phase_count *c = &phases[k];
    const struct peak *from = &peaks->read[peak_level_of(peaks, (int64_t)bytes)];

    c->took += counts_ticks() - began;
    c->calls++;
    c->units += units;
    c->bytes += bytes;
    c->bound.best += MAX(each ? units * each->best : 0, bytes * from->best);
    c->bound.median += MAX(each ? units * each->median : 0, bytes * from->median);
}

/* ---- the kernels: real_X is what X is to the product, which calls wrap_X ---- */

#define WRAPPED(type, name, params)                   \
    type real_##name params __asm__("__real_" #name); \
    type wrap_##name params __asm__("__wrap_" #name); \
    type wrap_##name params

WRAPPED(void, hist_add,
        (const struct hist_rows *r, const int32_t *cols, int n_cols, int is_dense, int64_t *hist))
{
    double began = counts_ticks();

    real_hist_add(r, cols, n_cols, is_dense, hist);
    /* a row: its number, its word, its bins */
    if (peaks)
        count(PHASE_HIST, began, (double)r->n * n_cols, &peaks->add, (double)r->n * (8 + n_cols));
}

static double bins_of(const int *n_bins, int n_cols)
{
    double n = 0;

    for (int j = 0; j < n_cols; j++)
        n += n_bins[j];
    return n;
}

WRAPPED(void, hist_clear, (int64_t * hist, const int *n_bins, int n_cols))
{
    double began = counts_ticks();

    real_hist_clear(hist, n_bins, n_cols);
    if (peaks)
        count(PHASE_SCAN, began, 0, NULL, 8 * bins_of(n_bins, n_cols));
}

WRAPPED(void, hist_subtract, (int64_t * from, const int64_t *what, const int *n_bins, int n_cols))
{
    double began = counts_ticks();

    real_hist_subtract(from, what, n_bins, n_cols);
    if (peaks)
        count(PHASE_SCAN, began, 0, NULL, 16 * bins_of(n_bins, n_cols));
}

WRAPPED(int, scan_numeric,
        (const struct scan_node *nd, const int64_t *hist, int n_bins, struct scan_best *best))
{
    double began = counts_ticks();
    int better = real_scan_numeric(nd, hist, n_bins, best);

    if (peaks)
        count(PHASE_SCAN, began, n_bins, &peaks->score, 8.0 * n_bins);
    return better;
}

WRAPPED(int, scan_categorical,
        (const struct scan_node *nd, const int64_t *hist, int n_bins, struct scan_best *best))
{
    double began = counts_ticks();
    int better = real_scan_categorical(nd, hist, n_bins, best);

    if (peaks)
        count(PHASE_SCAN, began, n_bins, &peaks->score, 8.0 * n_bins);
    return better;
}

WRAPPED(int32_t, part_rows,
        (const uint8_t *column, const uint8_t is_left[256], int32_t *rows, int32_t n,
         int32_t *spare))
{
    double began = counts_ticks();
    int32_t left = real_part_rows(column, is_left, rows, n, spare);

    /* a row: its number, read and written, and its bin */
    if (peaks)
        count(PHASE_PART, began, n, &peaks->part_row, 9.0 * n);
    return left;
}

WRAPPED(void, grad_sigmoid, (const float *f, int64_t n, float *p))
{
    double began = counts_ticks();

    real_grad_sigmoid(f, n, p);
    if (peaks)
        count(PHASE_GRADIENT, began, 0, NULL, 8.0 * (double)n);
}

WRAPPED(void, grad_softmax, (const float *f, int64_t stride, int64_t n, int classes, float *p))
{
    double began = counts_ticks();

    real_grad_softmax(f, stride, n, classes, p);
    if (peaks)
        count(PHASE_GRADIENT, began, 0, NULL, 8.0 * (double)n * classes);
}

/* A row: its probability, target and weight; both derivatives and the word. */
WRAPPED(void, grad_class,
        (const float *p, const float *y, const float *w, int64_t n, float c, float h_factor,
         const struct grad_out *out))
{
    double began = counts_ticks();

    real_grad_class(p, y, w, n, c, h_factor, out);
    if (peaks)
        count(PHASE_GRADIENT, began, (double)n, NULL, 24.0 * (double)n);
}

/* The words of all rows, and the numbers of those that are used. */
WRAPPED(int64_t, hist_rows_used, (const uint32_t *q, int64_t n, int32_t *out))
{
    double began = counts_ticks();
    int64_t used = real_hist_rows_used(q, n, out);

    if (peaks)
        count(PHASE_GRADIENT, began, 0, NULL, 4.0 * (double)(n + used));
    return used;
}

WRAPPED(int64_t, hist_total_all, (const uint32_t *q, int64_t n))
{
    double began = counts_ticks();
    int64_t sum = real_hist_total_all(q, n);

    if (peaks)
        count(PHASE_GRADIENT, began, 0, NULL, 4.0 * (double)n);
    return sum;
}

/* A row: its number and both derivatives. */
WRAPPED(void, grad_leaf, (const struct grad_out *in, const int32_t *rows, int64_t n, int64_t *sums))
{
    double began = counts_ticks();

    real_grad_leaf(in, rows, n, sums);
    if (peaks)
        count(PHASE_LEAF, began, (double)n, NULL, 12.0 * (double)n);
}

/* The same for all leaves at once; false where they are taken one by one. */
WRAPPED(bool, boost_loss_leaves, (struct boost_work * wk, const struct boost_lane *l))
{
    double began = counts_ticks();
    bool has_sums = real_boost_loss_leaves(wk, l);

    if (peaks && has_sums)
        count(PHASE_LEAF, began, (double)wk->n_rows, NULL, 12.0 * (double)wk->n_rows);
    return has_sums;
}

/* A row: a bin for each level of the tree, the least that tells its leaf, and its score, read and written. */
WRAPPED(void, tree_add_columns,
        (const struct tree *t, const uint8_t *columns, int64_t pitch, int64_t n, float *f))
{
    double began = counts_ticks(), levels = 0;

    real_tree_add_columns(t, columns, pitch, n, f);
    for (int leaves = (t->n_nodes + 1) / 2; leaves > 1; leaves = (leaves + 1) / 2)
        levels++;
    if (peaks)
        count(PHASE_SCORE, began, (double)n, NULL, (8.0 + levels) * (double)n);
}
