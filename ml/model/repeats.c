/* repeats.c - see repeats.h. */
#include "ml/model/repeats.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

/* LEAST_SHARE: one row in so many repeats in another fold. FEW_COLS: so many are compared first.
 * LEAST_VARIOUS: of rows with equal inputs one in so many is among such with various targets. */
enum { BLOCK = 4096, LEAST_ROWS = 10, LEAST_SHARE = 100, FEW_COLS = 6, LEAST_VARIOUS = 20 };
/* A number that differs in so many rows leaves too few that can repeat. */
#define NEARLY_ALL 0.995

/* Any two values of x give two hashes, and so do any two hashes before it. A stronger mix than a
 * product and a shift would take most of the time of preparing a table of numbers. */
static uint64_t mixed(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static void hash_column(const struct frame *f, int col, int64_t rows, uint64_t *hash)
{
    double v[BLOCK];
    int32_t code[BLOCK];

    for (int64_t from = 0; from < rows; from += BLOCK) {
        int64_t n = MIN(rows - from, BLOCK);
        if (f->cols[col].type == FRAME_NUMERIC)
            frame_numbers(f, col, from, n, v);
        else
            frame_codes(f, col, from, n, code);
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = f->cols[col].type != FRAME_NUMERIC ? (uint64_t)(int64_t)code[i]
                         : isnan(v[i])                      ? UINT64_MAX
                                                            : ml_key_f64(v[i]);
            hash[from + i] = mixed(hash[from + i], x);
        }
    }
}

bool repeats_hash(const struct frame *f, const bool *is_used, int64_t rows, uint64_t *hash)
{
    double possible = 0;

    for (int c = 0; c < f->n_cols; c++) {
        if (is_used[c])
            possible += fm_log_d((double)MAX(f->cols[c].distinct, 1));
    }
    if (!(possible > fm_log_d((double)f->rows) + fm_log_d(1000.0)))
        return false;
    for (int c = 0; c < f->n_cols; c++) {
        if (is_used[c])
            hash_column(f, c, rows, hash);
    }
    return true;
}

/* What makes two rows equal: the target, and all columns but the weights and those that number the
 * rows by words. False: the table cannot have enough repeats, or they are not looked for. */
static bool columns_take(const struct repeats_in *in, bool *is_used)
{
    const struct frame *f = in->frame;
    int64_t n = 0;

    if (f->image.height > 0)
        return false;
    for (int c = 0; c < f->n_cols; c++) {
        const struct frame_col *col = &f->cols[c];
        bool is_target = strcmp(col->name, in->target) == 0,
             is_weight = in->weights && strcmp(col->name, in->weights) == 0;
        bool numbers_rows =
            col->type == FRAME_CATEGORICAL && !is_target && col->distinct == f->rows - col->missing;
        is_used[c] = col->type != FRAME_IGNORED && !is_weight && !numbers_rows;
        n += is_used[c];
        if (is_used[c] && !is_target && (double)col->distinct > NEARLY_ALL * (double)f->rows)
            return false;
    }
    return n * f->rows <= REPEATS_CELLS;
}

/* The few of the used columns that have the most values. False: there are hardly more. */
static bool few_take(const struct frame *f, const bool *is_used, bool *is_few)
{
    int n = 0;

    for (int c = 0; c < f->n_cols; c++)
        n += is_used[c];
    for (int c = 0; c < f->n_cols; c++)
        is_few[c] = false;
    for (int k = 0; k < FEW_COLS && n > 2 * FEW_COLS; k++) {
        int best = -1;
        for (int c = 0; c < f->n_cols; c++) {
            if (is_used[c] && !is_few[c] &&
                (best < 0 || f->cols[c].distinct > f->cols[best].distinct))
                best = c;
        }
        is_few[best] = true;
    }
    return n > 2 * FEW_COLS;
}

/* At least as many as the rows whose hash another row has, or -1: there is no memory to tell. */
static int64_t repeats_most(const uint8_t *fold, int64_t rows, const uint64_t *hash)
{
    uint64_t mask = 1023;
    int64_t met = 0;

    while (mask < 2 * (uint64_t)rows)
        mask = 2 * mask + 1;
    uint32_t *slot = mem_try_zalloc((mask + 1) * sizeof *slot); /* part of a hash; 0 = free */
    if (!slot)
        return -1;
    for (int64_t i = 0; i < rows; i++) {
        uint64_t h = hash[i] * UINT64_C(0x9e3779b97f4a7c15), s = h >> 24 & mask;
        uint32_t mark = (uint32_t)hash[i] | 1;
        if (fold[i] == SPLIT_NONE)
            continue;
        while (slot[s] != 0 && slot[s] != mark)
            s = (s + 1) & mask;
        met += slot[s] != 0;
        slot[s] = mark;
    }
    mem_try_free(slot);
    return 2 * met;
}

/* Whether already a few columns are equal in too few rows. hash: zeros, before and after. */
static bool few_differ(const struct repeats_in *in, const uint8_t *fold, const bool *is_used,
                       uint64_t *hash)
{
    int64_t rows = in->frame->rows, most = -1;
    bool *is_few = mem_array((size_t)in->frame->n_cols + 1, sizeof *is_few);

    if (few_take(in->frame, is_used, is_few)) {
        for (int c = 0; c < in->frame->n_cols; c++) {
            if (is_few[c])
                hash_column(in->frame, c, rows, hash);
        }
        most = repeats_most(fold, rows, hash);
        memset(hash, 0, (size_t)rows * sizeof *hash);
    }
    mem_free(is_few);
    return most >= 0 && (most < LEAST_ROWS || most * LEAST_SHARE < rows);
}

/* Sorts the rows that are in a fold or test by their hashes, equal ones in no order: hash and place get
 * the hash and the row of each. Returns how many there are, or -1. */
static int64_t sort_rows(const uint8_t *fold, int64_t rows, uint64_t *hash, uint32_t *place,
                         struct err *err)
{
    int64_t m = 0;

    for (int64_t i = 0; i < rows; i++) {
        if (fold[i] == SPLIT_NONE)
            continue;
        hash[m] = hash[i];
        place[m++] = (uint32_t)i;
    }
    return ml_sort_u64(hash, place, (size_t)m, err) < 0 ? -1 : m;
}

/* Sets the first of the rows that are equal to each, of common ones each itself; returns how many
 * are in another fold than that one, or -1. hash is overwritten. */
static int64_t first_take(const uint8_t *fold, int64_t rows, uint64_t *hash, uint32_t *place,
                          uint32_t *first, struct err *err)
{
    int64_t m = sort_rows(fold, rows, hash, place, err), apart = 0;

    for (int64_t i = 0; i < rows; i++)
        first[i] = (uint32_t)i;
    if (m < 0)
        return -1;
    for (int64_t from = 0, to = 0; from < m; from = to) {
        uint32_t least = place[from];
        bool differs = false;
        for (to = from; to < m && hash[to] == hash[from]; to++) {
            least = MIN(least, place[to]);
            differs = differs || fold[place[to]] != fold[place[from]];
        }
        if (repeats_is_common(to - from, m))
            continue;
        for (int64_t i = from; i < to; i++)
            first[place[i]] = least;
        apart += differs ? to - from : 0;
    }
    return apart;
}

/* Rows whose inputs repeat, if rows with equal inputs have various targets so often that they are what
 * the rows of the table look like; 0 = they are not, -1 = no memory. first: of inputs and target.
 * hash and place are overwritten. */
static int64_t alike_rows(const struct repeats_in *in, const uint8_t *fold, const bool *is_used,
                          const uint32_t *first, uint64_t *hash, uint32_t *place, struct err *err)
{
    int64_t rows = in->frame->rows, all = 0, various = 0;

    memset(hash, 0, (size_t)rows * sizeof *hash);
    for (int c = 0; c < in->frame->n_cols; c++) {
        if (is_used[c] && strcmp(in->frame->cols[c].name, in->target) != 0)
            hash_column(in->frame, c, rows, hash);
    }
    int64_t m = sort_rows(fold, rows, hash, place, err);
    if (m < 0)
        return -1;
    for (int64_t from = 0, to = 0; from < m; from = to) {
        bool differs = false;
        for (to = from; to < m && hash[to] == hash[from]; to++)
            differs = differs || first[place[to]] != first[place[from]];
        if (to - from < 2 || repeats_is_common(to - from, m))
            continue;
        all += to - from;
        various += differs ? to - from : 0;
    }
    return various * LEAST_VARIOUS >= all ? all : 0;
}

/* Whether each fold keeps rows, and the test rows, if there are any. */
static bool is_possible(const uint8_t *fold, const uint32_t *first, int64_t rows, int k_folds)
{
    bool is_there[SPLIT_TEST + 1] = { false }, had_test = false;
    bool all = true;

    for (int64_t i = 0; i < rows; i++) {
        had_test = had_test || fold[i] == SPLIT_TEST;
        is_there[fold[first[i]]] = true;
    }
    for (int k = 0; k < k_folds; k++)
        all = all && is_there[k];
    return all && (!had_test || is_there[SPLIT_TEST]);
}

int64_t repeats_join(const struct repeats_in *in, uint8_t *fold, uint32_t **first, int64_t *alike,
                     struct err *err)
{
    int64_t rows = in->frame->rows, apart = 0;
    bool *is_used = mem_array((size_t)in->frame->n_cols + 1, sizeof *is_used);
    uint64_t *hash = NULL;
    uint32_t *place = NULL;

    *first = NULL;
    *alike = 0;
    if (rows <= UINT32_MAX && columns_take(in, is_used)) {
        hash = mem_try_zalloc(((size_t)rows + 1) * sizeof *hash);
        place = mem_try_alloc(((size_t)rows + 1) * sizeof *place);
        *first = mem_try_alloc(((size_t)rows + 1) * sizeof **first);
        if (!hash || !place || !*first)
            apart = err_set(err, ERR_NOMEM, "no memory to compare rows");
        else if (!few_differ(in, fold, is_used, hash) &&
                 repeats_hash(in->frame, is_used, rows, hash))
            apart = first_take(fold, rows, hash, place, *first, err);
    }
    if (apart >= LEAST_ROWS && apart * LEAST_SHARE >= rows)
        *alike = alike_rows(in, fold, is_used, *first, hash, place, err);
    apart = *alike < 0 ? -1 : apart;
    if (apart < LEAST_ROWS || apart * LEAST_SHARE < rows || *alike > 0 ||
        !is_possible(fold, *first, rows, in->k_folds)) {
        mem_try_free(*first);
        *first = NULL;
        apart = MIN(apart, 0);
        *alike = MAX(*alike, 0);
    }
    for (int64_t i = 0; *first && i < rows; i++) /* the first of equal rows comes before them */
        fold[i] = fold[(*first)[i]];
    mem_try_free(hash);
    mem_try_free(place);
    mem_free(is_used);
    return apart;
}
