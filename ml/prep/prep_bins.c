/* prep_bins.c - rows as uint8 bins, made a block of rows at a time so that the strided writes stay
 * in cache; and coarser binnings, made by merging neighbouring bins.
 *
 * The bin of a value depends on nothing but the cuts and the value cast to float: training,
 * prediction and exports send a row the same way. Called by ml/model/data.c for a whole table, and
 * by predictors of trees for any rows. */
#include "base/mem.h"
#include "ml/cpu/column.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <string.h>

enum { BINS_STRIDE = 16, BINS_SLACK = 64 };

static int bins_alloc(struct prep_bins *b, int64_t rows, int cols, struct err *err)
{
    *b = (struct prep_bins){ .rows = rows, .cols = cols };
    b->stride = (cols + BINS_STRIDE - 1) / BINS_STRIDE * BINS_STRIDE;
    size_t bytes = (size_t)rows * (size_t)b->stride + BINS_SLACK;
    b->bins = mem_try_alloc(bytes);
    int *n_bins = mem_try_zalloc((size_t)cols * sizeof(*n_bins));
    uint8_t *is_categorical = mem_try_zalloc((size_t)cols);
    b->n_bins = n_bins;
    b->is_categorical = is_categorical;
    if (!b->bins || !n_bins || !is_categorical) {
        prep_bins_fini(b);
        return err_set(err, ERR_NOMEM, "no memory for %lld x %d bins", (long long)rows, cols);
    }
    memset(b->bins + bytes - BINS_SLACK, PREP_MISSING, BINS_SLACK);
    return 0;
}

/* Fills the padding behind the columns of each row. */
static void bins_pad(struct prep_bins *b, int64_t from, int64_t n)
{
    uint8_t *pad = b->bins + from * b->stride + b->cols;

    for (int64_t i = 0; i < n; i++, pad += b->stride)
        memset(pad, PREP_MISSING, (size_t)(b->stride - b->cols));
}

void prep_bins_fini(struct prep_bins *b)
{
    mem_try_free(b->bins);
    mem_try_free(b->columns);
    mem_try_free((void *)(uintptr_t)b->n_bins);
    mem_try_free((void *)(uintptr_t)b->is_categorical);
    mem_try_free((void *)(uintptr_t)b->last);
    *b = (struct prep_bins){ 0 };
}

static void bins_levels(const int32_t *level, int n_bins, int64_t n, uint8_t *out, int64_t stride)
{
    for (int64_t i = 0; i < n; i++)
        out[i * stride] = (uint8_t)(level[i] < 0 ? PREP_MISSING : MIN(level[i], n_bins - 1));
}

/* by_fold_only: all other inputs are there already. */
static void bins_block(const struct prep_view *v, bool by_fold_only, int64_t from, int64_t n,
                       double *x, int32_t *level, struct prep_bins *b, int64_t at)
{
    float table[256];

    bins_pad(b, at, n);
    for (int c = 0; c < b->cols; c++) {
        const struct prep_col *col = &v->prep->cols[c];
        uint8_t *out = b->bins + at * b->stride + c;
        if (by_fold_only && !prep_input_is_by_fold(v->prep, c))
            continue;
        if (col->type == FRAME_CATEGORICAL) {
            prep_view_levels(v, c, from, n, level);
            bins_levels(level, col->n_bins, n, out, b->stride);
            continue;
        }
        for (int i = 0; i < 256; i++)
            table[i] = i < col->n_bins - 1 ? col->cuts[i] : INFINITY;
        prep_view_numbers(v, c, from, n, x);
        column_bins(table, col->n_bins, x, n, out, b->stride);
    }
}

static int bins_make(const struct prep_view *v, const struct prep_bins *like, int64_t from,
                     int64_t n, struct prep_bins *out, struct err *err)
{
    if (bins_alloc(out, n, v->prep->n_cols, err) < 0)
        return -1;
    double *x = mem_alloc(PREP_BLOCK * sizeof(*x));
    int32_t *level = mem_alloc(PREP_BLOCK * sizeof(*level));
    for (int c = 0; c < out->cols; c++) {
        ((int *)(uintptr_t)out->n_bins)[c] = v->prep->cols[c].n_bins;
        ((uint8_t *)(uintptr_t)out->is_categorical)[c] = v->prep->cols[c].type == FRAME_CATEGORICAL;
    }
    if (like)
        memcpy(out->bins, like->bins, (size_t)n * (size_t)out->stride);
    for (int64_t at = 0; at < n; at += PREP_BLOCK)
        bins_block(v, like != NULL, from + at, MIN(n - at, PREP_BLOCK), x, level, out, at);
    mem_free(x);
    mem_free(level);
    return 0;
}

int prep_bins_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_bins *out,
                   struct err *err)
{
    return bins_make(v, NULL, from, n, out, err);
}

int prep_bins_make_like(const struct prep_view *v, const struct prep_bins *like, int64_t rows,
                        struct prep_bins *out, struct err *err)
{
    CHECK(!like || (like->rows == rows && like->cols == v->prep->n_cols && !like->last));
    return bins_make(v, like, 0, rows, out, err);
}

/* Blocks of rows that stay in the first-level cache while their columns are written one after
 * another. */
int prep_bins_columns(struct prep_bins *b, struct err *err)
{
    enum { BLOCK = 256 };

    b->columns = mem_try_alloc((size_t)b->rows * (size_t)b->cols);
    if (!b->columns)
        return err_set(err, ERR_NOMEM, "no memory for %lld x %d bins", (long long)b->rows, b->cols);
    for (int64_t from = 0; from < b->rows; from += BLOCK) {
        int64_t n = MIN(b->rows - from, BLOCK);
        for (int c = 0; c < b->cols; c++) {
            const uint8_t *x = b->bins + from * b->stride + c;
            uint8_t *to = b->columns + c * b->rows + from;
            for (int64_t i = 0; i < n; i++)
                to[i] = x[i * b->stride];
        }
    }
    return 0;
}

/* ---- coarser binnings ---- */

/* Fills map[fine bin] and last[256] for one column; returns its number of coarse bins. */
static int coarse_col(const struct prep_bins *fine, int c, int max_bins, const int64_t *count,
                      uint8_t map[256], uint8_t *last)
{
    int64_t ends[PREP_MAX_BINS];
    int n = fine->n_bins[c], n_bins;

    if (fine->is_categorical[c]) {
        n_bins = MIN(n, max_bins);
        for (int b = 0; b < n_bins; b++)
            ends[b] = b + 1 < n_bins ? b : n - 1;
    } else {
        n_bins = prep_cut(count, n, max_bins, ends);
    }
    memset(map, PREP_MISSING, 256);
    memset(last, PREP_MAX_BINS - 1, 256);
    for (int b = 0, f = 0; b < n_bins; b++) {
        for (; f <= ends[b]; f++)
            map[f] = (uint8_t)b;
        last[b] = (uint8_t)(b + 1 < n_bins ? ends[b] : PREP_MAX_BINS - 1);
    }
    return n_bins;
}

static void count_bins(const struct prep_bins *fine, const uint8_t *use, int64_t (*count)[256])
{
    for (int64_t i = 0; i < fine->rows; i++) {
        const uint8_t *row = fine->bins + i * fine->stride;
        if (use && !use[i])
            continue;
        for (int c = 0; c < fine->cols; c++)
            count[c][row[c]]++;
    }
}

static void map_bins(const struct prep_bins *fine, struct prep_bins *out, const uint8_t (*map)[256])
{
    bins_pad(out, 0, out->rows);
    for (int64_t i = 0; i < fine->rows; i++) {
        const uint8_t *from = fine->bins + i * fine->stride;
        uint8_t *to = out->bins + i * out->stride;
        for (int c = 0; c < fine->cols; c++)
            to[c] = map[c][from[c]];
    }
}

int prep_bins_coarse(const struct prep_bins *fine, int max_bins, const uint8_t *use,
                     struct prep_bins *out, struct err *err)
{
    CHECK(max_bins >= 2 && max_bins <= PREP_MAX_BINS && !fine->last);
    if (bins_alloc(out, fine->rows, fine->cols, err) < 0)
        return -1;
    int64_t(*count)[256] = mem_try_zalloc((size_t)fine->cols * sizeof(*count));
    uint8_t(*map)[256] = mem_try_alloc((size_t)fine->cols * sizeof(*map));
    uint8_t *last = mem_try_alloc((size_t)fine->cols * 256);
    int rc = -1;

    out->last = last;
    if (!count || !map || !last) {
        err_set(err, ERR_NOMEM, "no memory to merge the bins of %d columns", fine->cols);
        prep_bins_fini(out);
        goto out;
    }
    count_bins(fine, use, count);
    for (int c = 0; c < fine->cols; c++) {
        ((uint8_t *)(uintptr_t)out->is_categorical)[c] = fine->is_categorical[c];
        ((int *)(uintptr_t)out->n_bins)[c] =
            coarse_col(fine, c, max_bins, count[c], map[c], last + (size_t)c * 256);
    }
    map_bins(fine, out, (const uint8_t(*)[256])map);
    rc = 0;
out:
    mem_try_free(count);
    mem_try_free(map);
    return rc;
}
