/* split_groups.c - test rows and folds that never divide a group (split.h).
 *
 * Groups are taken for the test split in the order of their hashes until the share that was asked
 * for is nearest. The others are dealt largest first: each goes to the fold where the counts of its
 * classes (regression: of tenths of the target) and of its rows stay most even. That is a greedy
 * form of a stratified split; it takes n k steps. Called by data.c. */
#include "ml/model/split.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <math.h>
#include <string.h>

/* STRATA: tenths of a target of numbers. */
enum { STRATA = 10 };

struct groups {
    const struct split_in *in;
    int64_t n_train;
    /* [n_groups + 1] rows with a target by group: group g has row[first[g]] .. row[first[g + 1] -
     * 1] */
    int64_t *first;
    uint32_t *row;
    /* [n_groups] groups in the order in which they are taken, and the keys of that order */
    uint32_t *order;
    uint64_t *key;
    /* [n] class of a row, or tenth of its target */
    uint16_t *stratum;
    int n_strata;
    /* [n_strata] training rows of a stratum; [k][n_strata] of them in a fold so far */
    int64_t *total, *dealt;
    /* [n_groups] 1 = test rows */
    uint8_t *is_test;
};

static void groups_fini(struct groups *g)
{
    mem_try_free(g->first);
    mem_try_free(g->row);
    mem_try_free(g->order);
    mem_try_free(g->key);
    mem_try_free(g->stratum);
    mem_try_free(g->is_test);
    mem_free(g->total);
    mem_free(g->dealt);
}

static int groups_init(struct groups *g, const struct split_in *in, int k, struct err *err)
{
    size_t n = (size_t)in->n + 1, m = (size_t)in->n_groups + 1;

    *g =
        (struct groups){ .in = in, .n_strata = in->task == ML_REGRESSION ? STRATA : in->n_classes };
    g->first = mem_try_zalloc((m + 1) * sizeof *g->first);
    g->row = mem_try_alloc(n * sizeof *g->row);
    g->order = mem_try_alloc(MAX(m, n) * sizeof *g->order);
    g->key = mem_try_alloc(MAX(m, n) * sizeof *g->key);
    g->stratum = mem_try_zalloc(n * sizeof *g->stratum);
    g->is_test = mem_try_zalloc(m);
    g->total = mem_array((size_t)g->n_strata, sizeof *g->total);
    g->dealt = mem_array((size_t)g->n_strata * (size_t)(k + 1), sizeof *g->dealt);
    if (!g->first || !g->row || !g->order || !g->key || !g->stratum || !g->is_test)
        return err_set(err, ERR_NOMEM, "no memory to split %lld rows by groups", (long long)in->n);
    return 0;
}

/* Sorts the rows with a target by group, keeping their order. */
static void rows_by_group(struct groups *g)
{
    const struct split_in *in = g->in;

    for (int64_t i = 0; i < in->n; i++) {
        if (!isnan(in->y[i]))
            g->first[in->group[i] + 2]++;
    }
    for (int64_t j = 2; j <= in->n_groups; j++)
        g->first[j] += g->first[j - 1];
    for (int64_t i = 0; i < in->n; i++) {
        if (!isnan(in->y[i]))
            g->row[g->first[in->group[i] + 1]++] = (uint32_t)i;
    }
}

static int64_t rows_of(const struct groups *g, uint32_t group)
{
    return g->first[group + 1] - g->first[group];
}

/* Groups that have rows, in the order of their hashes; returns how many. */
static int64_t order_by_hash(struct groups *g, uint32_t tag, struct err *err)
{
    int64_t m = 0;

    for (int64_t j = 0; j < g->in->n_groups; j++) {
        if (rows_of(g, (uint32_t)j) == 0 || g->is_test[j])
            continue;
        g->key[m] = split_hash(g->in->seed, tag, (uint64_t)j);
        g->order[m++] = (uint32_t)j;
    }
    return ml_sort_u64(g->key, g->order, (size_t)m, err) < 0 ? -1 : m;
}

/* At least one group, and never so many that fewer than two groups are left. */
static int take_test(struct groups *g, struct err *err)
{
    int64_t all = g->first[g->in->n_groups], taken = 0, m = order_by_hash(g, SPLIT_TAG_TEST, err);
    double wanted = g->in->test_fraction * (double)all;

    if (m < 0)
        return -1;
    for (int64_t j = 0; j < m - 2 && wanted > 0; j++) {
        int64_t rows = rows_of(g, g->order[j]);
        if (taken > 0 && (double)taken + (double)rows / 2 > wanted)
            continue; /* a smaller group may still fit */
        g->is_test[g->order[j]] = 1;
        taken += rows;
    }
    g->n_train = all - taken;
    if (wanted > 0 && taken == 0)
        return err_at(err, "groups", "the table has %lld groups: too few to set test rows apart",
                      (long long)m);
    return 0;
}

/* Classes are strata as they are. Numbers are cut into tenths of the training rows by rank. */
static int strata_take(struct groups *g, struct err *err)
{
    const struct split_in *in = g->in;
    size_t m = 0;

    for (int64_t i = 0; i < in->n; i++) {
        if (isnan(in->y[i]) || g->is_test[in->group[i]])
            continue;
        if (in->task == ML_REGRESSION) {
            g->key[m] = ml_key_f64(in->y[i]);
            g->order[m++] = (uint32_t)i;
        } else {
            g->stratum[i] = (uint16_t)in->y[i];
            g->total[g->stratum[i]]++;
        }
    }
    if (in->task != ML_REGRESSION)
        return 0;
    if (ml_sort_u64(g->key, g->order, m, err) < 0)
        return -1;
    for (size_t i = 0; i < m; i++) {
        g->stratum[g->order[i]] = (uint16_t)(i * STRATA / m);
        g->total[g->stratum[g->order[i]]]++;
    }
    return 0;
}

/* How much less even fold f becomes with the group: the growth of the sum of squares of the shares
 * of each stratum, and of all rows. count: [n_strata] rows of the group. */
static double growth(const struct groups *g, int f, int64_t rows_in_fold, const int64_t *count,
                     const uint16_t *used, int n_used, int64_t rows)
{
    double sum = 0;

    for (int s = 0; s < n_used; s++) {
        double c = (double)count[used[s]], has = (double)g->dealt[f * g->n_strata + used[s]],
               all = (double)g->total[used[s]];
        sum += (2 * has + c) * c / (all * all);
    }
    double all = (double)g->n_train;
    return sum +
           g->n_strata * (2 * (double)rows_in_fold + (double)rows) * (double)rows / (all * all);
}

static void deal_group(struct groups *g, uint32_t group, int k, int64_t *in_fold, int64_t *count,
                       uint16_t *used, uint8_t *fold)
{
    int n_used = 0, best = 0;
    double least = 0;
    int64_t rows = rows_of(g, group);
    const uint32_t *row = g->row + g->first[group];

    for (int64_t i = 0; i < rows; i++) {
        uint16_t s = g->stratum[row[i]];
        if (count[s]++ == 0)
            used[n_used++] = s;
    }
    for (int f = 0; f < k; f++) {
        double v = growth(g, f, in_fold[f], count, used, n_used, rows);
        if (f == 0 || v < least)
            best = f, least = v;
    }
    in_fold[best] += rows;
    for (int s = 0; s < n_used; s++) {
        g->dealt[best * g->n_strata + used[s]] += count[used[s]];
        count[used[s]] = 0;
    }
    for (int64_t i = 0; i < rows; i++)
        fold[row[i]] = (uint8_t)best;
}

static int deal_groups(struct groups *g, int *k, uint8_t *fold, struct err *err)
{
    int64_t in_fold[SPLIT_MAX_FOLDS] = { 0 }, m = order_by_hash(g, SPLIT_TAG_FOLD, err);

    if (m < 0)
        return -1;
    if (m < 2)
        return err_at(err, "groups",
                      "all training rows are of one group: folds need at least 2 groups");
    *k = (int)MIN(m, *k);
    /* largest first; equal ones in the order of their hashes */
    for (int64_t j = 0; j < m; j++)
        g->key[j] = UINT64_MAX - (uint64_t)rows_of(g, g->order[j]);
    if (ml_sort_u64(g->key, g->order, (size_t)m, err) < 0)
        return -1;
    int64_t *count = mem_array((size_t)g->n_strata, sizeof *count);
    uint16_t *used = mem_array((size_t)g->n_strata, sizeof *used);
    for (int64_t j = 0; j < m; j++)
        deal_group(g, g->order[j], *k, in_fold, count, used, fold);
    mem_free(count);
    mem_free(used);
    return 0;
}

int split_make_groups(const struct split_in *in, int *k, uint8_t *fold, struct err *err)
{
    struct groups g;
    int rc = -1;

    if (split_check(in, *k, err) < 0)
        return -1;
    if (groups_init(&g, in, *k, err) < 0)
        goto out;
    rows_by_group(&g);
    if (take_test(&g, err) < 0)
        goto out;
    for (int64_t i = 0; i < in->n; i++)
        fold[i] = isnan(in->y[i]) ? SPLIT_NONE : SPLIT_TEST;
    if (strata_take(&g, err) == 0)
        rc = deal_groups(&g, k, fold, err);
out:
    groups_fini(&g);
    return rc;
}
