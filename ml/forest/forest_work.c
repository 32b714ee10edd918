/* forest_work.c - the memory that growing a tree needs. All of it is taken before the first tree,
 * except the tree itself and the list of waiting nodes. Called by forest_model.c through
 * forest.h. */
#include "ml/forest/forest_work.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"

#include <string.h>

enum { LINE = 64, FEWEST_ROWS = 16, BINS = 256 };
static const int level_bytes[RF_LEVELS] = { 0, RF_SECOND_BYTES, RF_FIRST_BYTES };

void rf_work_free(struct rf_work *w)
{
    if (!w)
        return;
    for (int i = 0; i < 2; i++) {
        mem_try_free(w->rows[i]);
        mem_try_free(w->words[i]);
    }
    mem_try_free(w->weights);
    mem_try_free(w->order);
    mem_try_free(w->perm);
    mem_try_free(w->swaps);
    mem_try_free(w->total);
    mem_try_free(w->stack);
    mem_try_free(w->s.hist);
    mem_try_free(w->s.xlogx);
    mem_try_free(w->s.left);
    rf_random_free(w->s.random);
    rf_gini_free(w->s.gini);
    mem_try_free(w->runs);
    rf_columns_free(w->columns);
    for (int l = 1; l < RF_LEVELS; l++)
        mem_try_free(w->level[l].lines);
    rf_tree_fini(&w->half);
    rf_tree_fini(&w->old);
    mem_free(w);
}

void rf_recycle(struct rf_work *w, struct rf_tree *t)
{
    rf_tree_fini(&w->old);
    w->old = *t;
    w->old.n = w->old.n_sets = 0;
    memset(t, 0, sizeof *t);
}

void rf_recycled_free(struct rf_work *w)
{
    rf_tree_fini(&w->old);
}

/* What grows with rows, columns and classes; of the tree in growth, what it holds now. */
int64_t rf_work_bytes(const struct rf_work *w)
{
    const struct rf_data *d = w->d;
    int64_t row = (int64_t)sizeof *w->weights,
            bytes = (int64_t)sizeof *w + rf_tree_bytes(&w->half, rf_outputs(d));

    if (w->columns)
        bytes += rf_columns_bytes(w->columns, d);
    else
        row += 2 * (int64_t)(sizeof *w->rows[0] + sizeof *w->words[0]);
    if (w->s.random)
        bytes += rf_random_bytes(d);
    if (w->s.gini)
        bytes += rf_gini_bytes(d);
    row += (w->s.xlogx ? 8 : 0) + (w->order ? 4 : 0);
    for (int l = 1; l < RF_LEVELS && !w->columns; l++)
        bytes += w->level[l].rows * w->level[l].pitch;
    return bytes + d->rows * row + d->cols * (int64_t)(2 * sizeof *w->perm) +
           256 * (int64_t)MAX(2, d->n_classes) * 8 + w->stack_cap * (int64_t)sizeof *w->stack;
}

static void xlogx_fill(double *x, int64_t n)
{
    for (int64_t i = 1; i <= n; i++)
        x[i] = (double)i * fm_log_d((double)i);
}

static int levels_new(struct rf_work *w)
{
    const struct rf_data *d = w->d;
    int64_t pitch = d->stride < LINE ? d->stride : (d->cols + LINE - 1) / LINE * LINE;

    w->level[0] = (struct level){ (uint8_t *)(uintptr_t)d->by_row, d->stride, 0 };
    for (int l = 1; l < RF_LEVELS; l++) {
        struct level *level = &w->level[l];
        level->pitch = pitch;
        if (level_bytes[l] / pitch < FEWEST_ROWS)
            continue;
        level->rows = (int32_t)MIN(d->rows, level_bytes[l] / pitch);
        level->lines = mem_try_alloc((size_t)level->rows * (size_t)pitch + LINE);
        if (!level->lines)
            return -1;
    }
    return 0;
}

/* The training rows class by class, ascending within a class. */
static int order_new(struct rf_work *w)
{
    const struct rf_data *d = w->d;
    int64_t *next = mem_try_zalloc(((size_t)d->n_classes + 1) * sizeof *next);

    w->order = mem_try_alloc((size_t)d->rows * sizeof *w->order);
    if (!next || !w->order) {
        mem_try_free(next);
        return -1;
    }
    for (int64_t i = 0; i < d->rows; i++)
        next[d->y[i] + 1]++;
    for (int k = 1; k < d->n_classes; k++)
        next[k] += next[k - 1];
    for (int64_t i = 0; i < d->rows; i++)
        w->order[next[d->y[i]]++] = (int32_t)i;
    mem_try_free(next);
    return 0;
}

/* Makes the room for the bins of a node's rows. */
static int rows_new(struct rf_work *w)
{
    const struct rf_data *d = w->d;
    size_t rows = (size_t)d->rows + 1;

    if (d->n_classes > 2 && order_new(w) < 0)
        return -1;
    if (rf_columns_fit(d)) {
        w->columns = rf_columns_new(d, w->order);
        return w->columns ? 0 : -1;
    }
    for (int i = 0; i < 2; i++) {
        w->rows[i] = mem_try_alloc(rows * sizeof *w->rows[i]);
        w->words[i] = mem_try_alloc(rows * sizeof *w->words[i]);
        if (!w->rows[i] || !w->words[i])
            return -1;
    }
    return levels_new(w);
}

static bool lists_new(struct rf_work *w)
{
    const struct rf_data *d = w->d;
    size_t rows = (size_t)d->rows + 1, k = (size_t)MAX(2, d->n_classes);

    w->weights = mem_try_alloc(rows * sizeof *w->weights);
    w->perm = mem_try_alloc((size_t)d->cols * sizeof *w->perm);
    w->swaps = mem_try_alloc((size_t)d->cols * sizeof *w->swaps);
    w->total = mem_try_zalloc(k * sizeof *w->total);
    w->s.hist = mem_try_zalloc(BINS * (size_t)w->s.width * sizeof *w->s.hist);
    w->s.left = mem_try_zalloc(k * sizeof *w->s.left);
    w->stack = mem_try_alloc((size_t)w->stack_cap * sizeof *w->stack);
    if (w->p.criterion == RF_ENTROPY)
        w->s.xlogx = mem_try_zalloc((rows + 1) * sizeof *w->s.xlogx);
    bool is_gini = d->n_classes >= 2 && w->p.criterion == RF_GINI && !w->p.is_extra;
    if (w->p.is_extra)
        w->s.random = rf_random_new(d);
    if (is_gini)
        w->s.gini = rf_gini_new(d);
    w->runs = mem_try_alloc(3 * k * sizeof *w->runs);
    return w->weights && w->perm && w->swaps && w->total && w->s.hist && w->s.left && w->stack &&
           (w->p.criterion != RF_ENTROPY || w->s.xlogx) && (!w->p.is_extra || w->s.random) &&
           (!is_gini || w->s.gini) && w->runs && rows_new(w) == 0;
}

struct rf_work *rf_work_new(const struct rf_data *d, const struct rf_params *p, struct err *err)
{
    struct rf_work *w = mem_zalloc(sizeof *w);

    w->d = d;
    w->p = *p;
    w->s.width = d->n_classes == 2 ? 1 : d->n_classes == 0 ? 2 : d->n_classes;
    w->stack_cap = 1024;
    if (!lists_new(w)) {
        rf_work_free(w);
        err_set(err, ERR_NOMEM, "forest: no memory for the lists of %lld rows", (long long)d->rows);
        return NULL;
    }
    if (w->s.xlogx)
        xlogx_fill(w->s.xlogx, d->rows + 1);
    for (int c = 0; c < d->cols; c++)
        w->perm[c] = c;
    return w;
}
