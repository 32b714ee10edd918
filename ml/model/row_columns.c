/* row_columns.c - see row_columns.h. */
#include "ml/model/row_columns.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/sort.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

static int column_of(const struct frame *f, const char *name, const char *what, struct err *err)
{
    int at = frame_find(f, name);

    if (at < 0)
        return err_at(err, what, "no column is called \"%.100s\"", name);
    if (f->cols[at].type == FRAME_IGNORED)
        return err_at(err, what, "column \"%.100s\" is ignored in this table", name);
    return at;
}

static int numbers_of(const struct frame *f, int at, double **out, struct err *err)
{
    *out = mem_try_alloc(((size_t)f->rows + 1) * sizeof **out);
    if (!*out)
        return err_set(err, ERR_NOMEM, "no memory for a column of %lld rows", (long long)f->rows);
    frame_numbers(f, at, 0, f->rows, *out);
    return 0;
}

/* ---- groups ---- */

/* Groups of a numeric column, in the order of the values. */
static int groups_of_numbers(const struct frame *f, int at, uint32_t *group, int64_t *n_groups,
                             struct err *err)
{
    size_t m = 0, n = (size_t)f->rows + 1;
    uint64_t *key = mem_try_alloc(n * sizeof *key);
    uint32_t *row = mem_try_alloc(n * sizeof *row);
    double *v = NULL;
    int rc = -1;

    if (!key || !row) {
        err_set(err, ERR_NOMEM, "no memory for the groups of %lld rows", (long long)f->rows);
        goto out;
    }
    if (numbers_of(f, at, &v, err) < 0)
        goto out;
    for (int64_t i = 0; i < f->rows; i++) {
        if (isnan(v[i])) {
            group[i] = (uint32_t)(*n_groups)++;
            continue;
        }
        key[m] = ml_key_f64(v[i]);
        row[m++] = (uint32_t)i;
    }
    rc = ml_sort_u64(key, row, m, err);
    for (size_t j = 0; j < m && rc == 0; j++) {
        *n_groups += j == 0 || key[j] != key[j - 1];
        group[row[j]] = (uint32_t)(*n_groups - 1);
    }
out:
    mem_try_free(key);
    mem_try_free(row);
    mem_try_free(v);
    return rc;
}

static void groups_of_levels(const struct frame *f, int at, uint32_t *group, int64_t *n_groups)
{
    int32_t code[BLOCK];

    *n_groups = f->cols[at].n_levels;
    for (int64_t from = 0; from < f->rows; from += BLOCK) {
        int64_t n = MIN(f->rows - from, BLOCK);
        frame_codes(f, at, from, n, code);
        for (int64_t i = 0; i < n; i++)
            group[from + i] = code[i] < 0 ? (uint32_t)(*n_groups)++ : (uint32_t)code[i];
    }
}

int row_groups(const struct frame *f, const char *name, uint32_t **out, int64_t *n_groups,
               struct err *err)
{
    int at = column_of(f, name, "groups", err);

    *n_groups = 0;
    *out = NULL;
    if (at < 0)
        return -1;
    if (f->rows + f->cols[at].n_levels >= UINT32_MAX)
        return err_set(err, ERR_TOOBIG, "a table may have at most 4 billion rows");
    *out = mem_try_alloc(((size_t)f->rows + 1) * sizeof **out);
    if (!*out)
        return err_set(err, ERR_NOMEM, "no memory for the groups of %lld rows", (long long)f->rows);
    if (f->cols[at].type == FRAME_NUMERIC)
        return groups_of_numbers(f, at, *out, n_groups, err);
    groups_of_levels(f, at, *out, n_groups);
    return 0;
}

/* ---- time ---- */

static bool begins_with_year(const char *text)
{
    for (int i = 0; i < 4; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

struct level {
    const char *text;
    int was;
};

static int by_text(const void *va, const void *vb)
{
    return strcmp(((const struct level *)va)->text, ((const struct level *)vb)->text);
}

static int times_of_levels(const struct frame *f, int at, double *out, struct err *err)
{
    const struct frame_col *c = &f->cols[at];
    struct level *level = mem_array((size_t)c->n_levels + 1, sizeof *level);
    int *rank = mem_array((size_t)c->n_levels + 1, sizeof *rank), rc = 0;
    int32_t code[BLOCK];

    for (int i = 0; i < c->n_levels && rc == 0; i++) {
        level[i] = (struct level){ c->levels[i], i };
        if (!begins_with_year(c->levels[i]))
            rc = err_at(err, "time",
                        "column \"%.80s\" holds \"%.40s\", which is neither a number nor a date "
                        "that begins with its year",
                        c->name, c->levels[i]);
    }
    if (rc == 0)
        qsort(level, (size_t)c->n_levels, sizeof *level, by_text);
    for (int i = 0; i < c->n_levels && rc == 0; i++)
        rank[level[i].was] = i;
    for (int64_t from = 0; from < f->rows && rc == 0; from += BLOCK) {
        int64_t n = MIN(f->rows - from, BLOCK);
        frame_codes(f, at, from, n, code);
        for (int64_t i = 0; i < n; i++)
            out[from + i] = code[i] < 0 ? (double)NAN : rank[code[i]];
    }
    mem_free(level);
    mem_free(rank);
    return rc;
}

int row_times(const struct frame *f, const char *name, double **out, bool *is_order,
              struct err *err)
{
    int at = column_of(f, name, "time", err);

    *out = NULL;
    if (at < 0)
        return -1;
    *is_order = f->cols[at].type == FRAME_CATEGORICAL;
    if (f->cols[at].missing == f->rows)
        return err_at(err, "time", "column \"%.100s\" has no values", name);
    if (*is_order) {
        *out = mem_try_alloc(((size_t)f->rows + 1) * sizeof **out);
        if (!*out)
            return err_set(err, ERR_NOMEM, "no memory for %lld times", (long long)f->rows);
        return times_of_levels(f, at, *out, err);
    }
    if (numbers_of(f, at, out, err) < 0)
        return -1;
    for (int64_t i = 0; i < f->rows; i++) {
        if (isinf((*out)[i]))
            return err_at(err, "time", "column \"%.100s\" is infinite in data row %lld", name,
                          (long long)i + 1);
    }
    return 0;
}

/* ---- weights ---- */

int row_weights(const struct frame *f, const char *name, double **out, struct err *err)
{
    int at = column_of(f, name, "weights", err);
    double top = 0;

    *out = NULL;
    if (at < 0)
        return -1;
    if (f->cols[at].type != FRAME_NUMERIC)
        return err_at(err, "weights", "column \"%.100s\" holds text: weights are numbers", name);
    if (numbers_of(f, at, out, err) < 0)
        return -1;
    for (int64_t i = 0; i < f->rows; i++) {
        double w = (*out)[i];
        if (!(w >= 0 && isfinite(w)))
            return err_at(err, "weights",
                          "the weight in column \"%.80s\" is %s in data row %lld: a weight is a "
                          "number from 0 up, and 0 leaves a row out",
                          name,
                          isnan(w)   ? "missing"
                          : isinf(w) ? "infinite"
                                     : "negative",
                          (long long)i + 1);
        top = fmax(top, w);
    }
    return top > 0 ? 0 : err_at(err, "weights", "all weights in column \"%.100s\" are 0", name);
}
