/* boost_round.c - one boosting round of a lane: gradients of all rows (boost_loss.c), one tree per
 * output, and the scores of all rows of the frame. May stop between two splits; what is half done
 * stays in the workspace until the lane goes on. Also makes and frees the workspace. Called by
 * boost.c. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_params.h"

#include <inttypes.h>
#include <string.h>

/* MAX_SLOTS: the most histograms in the pool, one for each leaf of the largest depth-wise tree and
 * one in work. TILE_WORDS: histograms of 64 columns. */
enum { MAX_SLOTS = 4097, TILE_WORDS = 64 * HIST_PITCH };

void boost_work_free(struct boost_work *wk)
{
    if (!wk)
        return;
    void *big[] = { wk->p,     wk->g,      wk->h,    wk->q,    wk->rows,
                    wk->spare, wk->picked, wk->pool, wk->tile, wk->word };
    for (size_t i = 0; i < ARRAY_LEN(big); i++)
        mem_try_free(big[i]);
    mem_free(wk->cols);
    mem_free(wk->n_bins);
    mem_free(wk->is_used);
    mem_free(wk->free_slots);
    mem_free(wk->nodes);
    mem_free(wk->heap);
    mem_free(wk->links);
    mem_free(wk);
}

/* Memory for n elements, counted in the workspace's bytes; sets *ok to false where there is
 * none. */
static void *work_take(struct boost_work *wk, int64_t n, size_t size, bool *ok)
{
    void *p = mem_try_alloc((size_t)MAX(n, 1) * size);

    wk->bytes += n * (int64_t)size;
    *ok = *ok && p;
    return p;
}

/* Memory for histograms: one for each node that can have BOOST_POOL_ROWS rows at the same time, and
 * one in work, within BOOST_POOL_BYTES. Fewer than three slots would not allow a subtraction
 * (parent and two children), so then there is no pool. */
static void pool_take(struct boost_work *wk, const struct boost_lane *l, bool *ok)
{
    int64_t per_slot = (int64_t)wk->bins->cols * HIST_PITCH,
            slots = BOOST_POOL_BYTES / 8 / MAX(per_slot, 1);
    int64_t want = l->p.is_depth_wise ? 1ll << MIN(l->p.depth, 12) : l->p.leaves;

    slots = MIN(slots, MIN(want + 1, (int64_t)MAX_SLOTS));
    slots = MIN(slots, l->rows < BOOST_POOL_ROWS ? 0 : l->rows / BOOST_POOL_ROWS + 2);
    wk->pool_words = slots < 3 ? 0 : slots * per_slot;
    wk->slots_cap = wk->pool_words ? MAX_SLOTS : 0;
    if (wk->pool_words)
        wk->pool = work_take(wk, wk->pool_words, sizeof *wk->pool, ok);
    wk->tile = work_take(wk, TILE_WORDS, sizeof *wk->tile, ok);
}

struct boost_work *boost_work_small(const struct prep_bins *b)
{
    struct boost_work *wk = mem_zalloc(sizeof *wk);

    wk->bins = b;
    wk->cols = mem_array((size_t)b->cols + 1, sizeof *wk->cols);
    wk->n_bins = mem_array((size_t)b->cols + 1, sizeof *wk->n_bins);
    wk->is_used = mem_array((size_t)b->cols + 1, 2);
    wk->free_slots = mem_array(MAX_SLOTS, sizeof *wk->free_slots);
    wk->bytes += (int64_t)b->cols * 10 + MAX_SLOTS * 4;
    return wk;
}

struct boost_work *boost_work_new(const struct boost_lane *l, const struct prep_bins *b,
                                  const uint8_t *columns, struct err *err)
{
    struct boost_work *wk = boost_work_small(b);
    bool ok = true;

    wk->columns = columns;
    wk->p = work_take(wk, l->rows * l->outputs, sizeof *wk->p, &ok);
    wk->g = work_take(wk, l->rows, sizeof *wk->g, &ok);
    wk->h = work_take(wk, l->rows, sizeof *wk->h, &ok);
    wk->q = work_take(wk, l->rows, sizeof *wk->q, &ok);
    wk->rows = work_take(wk, l->rows, sizeof *wk->rows, &ok);
    wk->spare = work_take(wk, l->rows, sizeof *wk->spare, &ok);
    if (l->is_weighted && boost_loss_is_refit(l->loss))
        wk->word = work_take(wk, l->rows, sizeof *wk->word, &ok);
    if (l->p.row_sample < 1.0)
        wk->picked = work_take(wk, l->rows, sizeof *wk->picked, &ok);
    pool_take(wk, l, &ok);
    if (!ok) {
        boost_work_free(wk);
        err_set(err, ERR_NOMEM, "boost: no memory for %" PRId64 " rows", l->rows);
        return NULL;
    }
    return wk;
}

/* Draws the rows of a round: each takes part with probability row_sample, by 32 random bits that
 * depend only on the lane's seed, the round and the row; 0x726f7773 spells "rows". All trees of the
 * round grow on these rows. Where fewer than two rows were drawn, all training rows are used. */
static void sample_rows(struct boost_work *wk, const struct boost_lane *l, int64_t round)
{
    uint32_t u[4] = { 0 }, limit = (uint32_t)(l->p.row_sample * 4294967295.0);
    int64_t at = -1, n = 0;

    for (int64_t i = 0; i < l->r.n_train; i++) {
        int32_t row = l->r.train[i];
        if (row >> 2 != at) {
            at = row >> 2;
            rng_at(l->seed, (uint32_t)round, 0x726f7773u, (uint64_t)at, u);
        }
        bool is_in = u[row & 3] <= limit;
        wk->picked[n] = row;
        n += is_in;
    }
    wk->n_picked = n;
    if (n < 2) {
        memcpy(wk->picked, l->r.train, (size_t)l->r.n_train * sizeof *wk->picked);
        wk->n_picked = l->r.n_train;
    }
}

/* Once per round: its rows, and what the loss needs to know of all rows. */
static void round_start(struct boost_work *wk, const struct boost_lane *l, int64_t round)
{
    wk->n_picked = l->r.n_train;
    if (l->p.row_sample < 1.0)
        sample_rows(wk, l, round);
    boost_loss_round(wk, l);
}

/* The rows that the tree grows on: those of the round without the thinned ones. A row that is not
 * for training weighs nothing, so its word is 0 as well. */
static void tree_rows(struct boost_work *wk, const struct boost_lane *l)
{
    const int32_t *from = l->p.row_sample < 1.0 ? wk->picked : l->r.train;
    int64_t n = 0;

    if (!(l->thin > 0.0f)) {
        memcpy(wk->rows, from, (size_t)wk->n_picked * sizeof *wk->rows);
        wk->n_rows = wk->n_picked;
        return;
    }
    if (from == l->r.train) {
        wk->n_rows = hist_rows_used(wk->q, l->rows, wk->rows);
        return;
    }
    for (int64_t i = 0; i < wk->n_picked; i++) {
        int32_t row = from[i];
        int is_in = wk->q[row] != 0;
        wk->rows[n] = row;
        n += is_in;
    }
    wk->n_rows = n;
}

/* A small tree is walked for many rows at a time over columns, a large one row by row. Both give
 * equal bits. */
void boost_scores_add(const struct boost_lane *l, const struct tree *t, float *f)
{
    if (t->n_nodes <= TREE_WIDE_NODES)
        tree_add_columns(t, l->fine->columns, l->rows, l->rows, f);
    else
        tree_add(t, l->fine->bins, l->fine->stride, NULL, l->rows, f);
}

/* Begins a round, or goes on with the one that was left (wk->busy). All that a stop leaves half
 * done is in the workspace, and the lane's forest and scores are those of whole trees. */
int boost_round(struct boost_work *wk, struct boost_lane *l, int64_t round,
                const struct ml_stop *stop)
{
    if (wk->busy != l) {
        wk->busy = l;
        wk->busy_output = 0;
        wk->busy_tree = false;
        round_start(wk, l, round);
    }
    for (; wk->busy_output < l->outputs; wk->busy_output++) {
        int k = wk->busy_output;
        uint64_t seed = rng_mix(l->seed, (uint64_t)(round * l->outputs + k));
        struct tree t;
        if (!wk->busy_tree) {
            if (ml_stop_now(stop))
                return 0;
            boost_loss_gradients(wk, l, k, seed);
            tree_rows(wk, l);
            boost_grow_start(wk, l, seed);
            wk->busy_tree = true;
        }
        if (!boost_grow_run(wk, l, seed, stop))
            return 0;
        if (boost_grow_tree(wk, l, false, &t) < 0)
            break;
        wk->busy_tree = false;
        boost_scores_add(l, &t, l->f + k * l->rows);
        if (forest_add(&l->forest, &t) < 0)
            break;
    }
    wk->busy = NULL;
    return wk->busy_output == l->outputs ? 1 : -1;
}
