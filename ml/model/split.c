/* split.c - test rows and folds (split.h).
 *
 * A row is a test row when its own hash is low: adding rows to a table never moves the old ones.
 * Folds are dealt like cards: the rows of a class, in the order of their hashes, go to the folds in
 * turn, and the dealing goes on where the last class stopped, so that fold sizes differ by at most
 * one. For regression the rows are dealt in the order of the target, in blocks of k with a fresh
 * order of folds for each block. Called by data.c. */
#include "ml/model/split.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/math/sort.h"

#include <math.h>

uint32_t split_hash(uint64_t seed, uint32_t tag, uint64_t number)
{
    uint32_t out[4];

    rng_at(seed, tag, 0, number, out);
    return out[0];
}

int split_check(const struct split_in *in, int k, struct err *err)
{
    if (!(in->test_fraction >= 0 && in->test_fraction < 1))
        return err_set(err, ERR_ARG, "the test fraction must be at least 0 and below 1");
    if (k < (in->time ? 1 : 2) || k > SPLIT_MAX_FOLDS)
        return err_set(err, ERR_ARG, "folds must be from 2 to %d", SPLIT_MAX_FOLDS);
    if (in->n >= UINT32_MAX)
        return err_set(err, ERR_TOOBIG, "a table may have at most 4 billion rows");
    for (int64_t i = 0; i < in->n && in->task != ML_REGRESSION; i++)
        CHECK(isnan(in->y[i]) || (in->y[i] >= 0 && in->y[i] < in->n_classes));
    return 0;
}

/* Sets SPLIT_TEST, SPLIT_NONE or 0. Returns the number of training rows. Where a test split is
 * wanted and no hash is low enough, the row with the lowest hash becomes the test row. */
static int64_t mark_test(const double *y, int64_t n, double test_fraction, uint64_t seed,
                         uint8_t *fold)
{
    uint64_t limit = (uint64_t)(test_fraction * 4294967296.0);
    uint32_t lowest = UINT32_MAX;
    int64_t train = 0, test = 0, candidate = -1;

    for (int64_t i = 0; i < n; i++) {
        fold[i] = SPLIT_NONE;
        if (isnan(y[i]))
            continue;
        /* without test rows no hash decides anything */
        uint32_t h = test_fraction > 0 ? split_hash(seed, SPLIT_TAG_TEST, (uint64_t)i) : 0;
        bool is_test = h < limit;
        fold[i] = is_test ? SPLIT_TEST : 0;
        test += is_test;
        train += !is_test;
        if (h <= lowest)
            lowest = h, candidate = i;
    }
    if (test_fraction > 0 && test == 0 && candidate >= 0) {
        fold[candidate] = SPLIT_TEST;
        train--;
    }
    return train;
}

/* Fills key and row with the training rows in the order in which they are dealt. */
static int deal_order(enum ml_task task, const double *y, int64_t n, uint64_t seed,
                      const uint8_t *fold, uint64_t *key, uint32_t *row, struct err *err)
{
    size_t m = 0;

    for (int64_t i = 0; i < n; i++) {
        if (fold[i] != 0)
            continue;
        uint64_t hash = split_hash(seed, SPLIT_TAG_FOLD, (uint64_t)i);
        key[m] = task == ML_REGRESSION ? ml_key_f64(y[i]) : ((uint64_t)y[i] << 32 | hash);
        row[m++] = (uint32_t)i;
    }
    return ml_sort_u64(key, row, m, err);
}

static void deal(enum ml_task task, const uint32_t *row, int64_t m, int k, uint64_t seed,
                 uint8_t *fold)
{
    uint8_t order[SPLIT_MAX_FOLDS] = { 0 };
    uint64_t key = rng_mix(seed, SPLIT_TAG_FOLD);
    struct rng rng;

    for (int j = 0; j < k; j++)
        order[j] = (uint8_t)j;

    for (int64_t i = 0; i < m; i++) {
        int at = (int)(i % k);
        /* A fresh order of folds for each block of k rows: else one fold would always get the
         * lowest target of its block. */
        if (at == 0 && task == ML_REGRESSION) {
            for (int j = 0; j < k; j++)
                order[j] = (uint8_t)j;
            rng_init(&rng, key, (uint64_t)(i / k));
            for (int j = k - 1; j > 0; j--) {
                uint32_t s = rng_below(&rng, (uint32_t)j + 1);
                uint8_t t = order[j];
                order[j] = order[s], order[s] = t;
            }
        }
        fold[row[i]] = order[at];
    }
}

int split_make(const struct split_in *in, int *k, uint8_t *fold, struct err *err)
{
    uint64_t *key = NULL;
    uint32_t *row = NULL;
    int rc = -1;

    if (split_check(in, *k, err) < 0)
        return -1;
    int64_t train = mark_test(in->y, in->n, in->test_fraction, in->seed, fold);
    if (train < 2)
        return err_set(err, ERR_ARG, "%lld training rows are too few: at least 2 are needed",
                       (long long)train);
    *k = (int)(train < *k ? train : *k);
    key = mem_try_alloc((size_t)train * sizeof(*key));
    row = mem_try_alloc((size_t)train * sizeof(*row));
    if (!key || !row)
        err_set(err, ERR_NOMEM, "no memory to split %lld rows", (long long)in->n);
    else
        rc = deal_order(in->task, in->y, in->n, in->seed, fold, key, row, err);
    if (rc == 0)
        deal(in->task, row, train, *k, in->seed, fold);
    mem_try_free(key);
    mem_try_free(row);
    return rc;
}
