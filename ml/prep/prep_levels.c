/* prep_levels.c - fitting the inputs that are levels: of a column of levels, and of a column of whole
 * numbers where a configuration wants its levels (CODES_LEVELS). Such a column stays one of numbers
 * for those who read tables; only its input has levels, named by the number. Called by
 * prep_fit.c. */
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/level_means.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LEAST_ROWS, LEAST_SHARE: of a level that has a bin of its own, where not all levels can have one:
 * its rows, and all rows over its rows. FEW_FROM, FEW_TO: whole numbers of so many values become
 * levels whether they are names or not; a few one-hot columns follow any curve through them. FEW_ROWS:
 * of each value, on average. */
enum { LEAST_ROWS = 30, LEAST_SHARE = 1000, FEW_FROM = 3, FEW_TO = 23, FEW_ROWS = 3 };

struct level_count {
    const char *text;
    int64_t n;
};

static int level_order(const void *va, const void *vb)
{
    const struct level_count *a = va, *b = vb;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return strcmp(a->text, b->text);
}

static bool row_used(const struct prep_spec *spec, int64_t i)
{
    return !spec->use || spec->use[i];
}

void prep_hot_set(struct prep_col *col, int i, int64_t ones, int64_t n)
{
    double p = (double)ones / (double)n;

    col->hot_mean[i] = p;
    col->hot_sd[i] = sqrt(p * (1 - p));
}

/* Where there are more levels than bins, a level has its own bin only if it has many rows. A level
 * that is among the first by luck has fewer rows in a table to predict than here, where the rows to
 * validate on were counted too. */
static int bins_of(const struct level_count *count, int n_levels, int64_t n)
{
    int own = 0;

    if (n_levels <= PREP_MAX_BINS)
        return n_levels;
    while (own < PREP_MAX_BINS - 1 && count[own].n >= LEAST_ROWS && count[own].n * LEAST_SHARE >= n)
        own++;
    return own + 1;
}

/* Takes the levels, the one-hot columns and their means from counts in the order of frequency. */
static void levels_take(struct prep_col *col, const struct level_count *count, int n_levels,
                        int64_t missing, int64_t n)
{
    int64_t other = 0;

    col->n_levels = MIN(n_levels, PREP_MAX_LEVELS);
    col->levels = mem_array((size_t)col->n_levels + 1, sizeof(*col->levels));
    for (int i = 0; i < col->n_levels; i++) {
        col->levels[i] = mem_strdup(count[i].text);
        if (i == col->n_hot && i < PREP_MAX_HOT && count[i].n >= 10 && count[i].n * 100 >= n)
            col->n_hot++;
        else
            other += count[i].n;
    }
    for (int i = col->n_levels; i < n_levels; i++)
        /* past PREP_MAX_LEVELS a level is unknown */
        missing += count[i].n;
    col->n_bins = bins_of(count, col->n_levels, n);
    col->has_other = other > 0;
    col->has_missing = missing > 0;
    col->hot_mean = mem_array((size_t)col->n_hot + 2, sizeof(double));
    col->hot_sd = mem_array((size_t)col->n_hot + 2, sizeof(double));
    int at = 0;
    for (; at < col->n_hot; at++)
        prep_hot_set(col, at, count[at].n, n);
    if (col->has_other)
        prep_hot_set(col, at++, other, n);
    if (col->has_missing)
        prep_hot_set(col, at, missing, n);
}

/* Takes the levels from the counts of all that may occur. 0 = they tell nothing. */
static int counts_take(struct prep_col *col, struct level_count *count, int n, int64_t missing,
                       int64_t n_used)
{
    int n_levels = 0;

    qsort(count, (size_t)n, sizeof(*count), level_order);
    while (n_levels < n && count[n_levels].n > 0)
        n_levels++;
    bool is_constant = n_levels == 0 || (n_levels == 1 && missing == 0);
    bool never_repeats = n_levels > 0 && count[0].n == 1;
    if (is_constant || never_repeats)
        return 0;
    levels_take(col, count, n_levels, missing, n_used);
    return 1;
}

static int64_t count_levels(const struct prep_spec *spec, int at, struct level_count *count)
{
    int32_t code[PREP_BLOCK];
    int64_t missing = 0;

    for (int64_t from = 0; from < spec->frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(spec->frame->rows - from, PREP_BLOCK);
        frame_codes(spec->frame, at, from, n, code);
        for (int64_t i = 0; i < n; i++) {
            if (!row_used(spec, from + i))
                continue;
            if (code[i] < 0)
                missing++;
            else
                count[code[i]].n++;
        }
    }
    return missing;
}

int prep_levels_fit(const struct prep_spec *spec, int at, int64_t n_used, struct prep_col *col,
                    struct err *err)
{
    const struct frame_col *fc = &spec->frame->cols[at];
    struct level_count *count = mem_try_zalloc(((size_t)fc->n_levels + 1) * sizeof(*count));

    if (!count)
        return err_set(err, ERR_NOMEM, "no memory for %d levels", fc->n_levels);
    for (int i = 0; i < fc->n_levels; i++)
        count[i].text = fc->levels[i];
    int64_t missing = count_levels(spec, at, count);
    int rc = counts_take(col, count, fc->n_levels, missing, n_used);
    mem_try_free(count);
    return rc;
}

/* ---- whole numbers ---- */

bool prep_codes_are_levels(const struct prep_spec *spec, int at, int64_t n_used)
{
    const struct frame_col *c = &spec->frame->cols[at];
    double *value = NULL;

    if (spec->choice.of[PREP_OF_CODES] != CODES_LEVELS || c->type != FRAME_NUMERIC ||
        c->kind != FRAME_PLAIN || spec->frame->image.height > 0 || (spec->plain && spec->plain[at]))
        return false;
    int n = code_values(spec, at, FEW_TO, &value);
    bool are_few = n >= 0;
    if (!are_few && step_codes_are_names(spec, at, CODE_SURE))
        n = code_values(spec, at, PREP_MAX_LEVELS, &value);
    if (n >= 0)
        mem_try_free(value);
    return n >= FEW_FROM && (int64_t)n * FEW_ROWS <= n_used;
}

static int64_t count_codes(const struct prep_spec *spec, int at, const double *value, int n_levels,
                           struct level_count *count)
{
    double x[PREP_BLOCK];
    int32_t level[PREP_BLOCK];
    int64_t missing = 0;

    for (int64_t from = 0; from < spec->frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(spec->frame->rows - from, PREP_BLOCK);
        frame_numbers(spec->frame, at, from, n, x);
        levels_of_values(value, n_levels, x, n, level);
        for (int64_t i = 0; i < n; i++) {
            if (!row_used(spec, from + i))
                continue;
            if (level[i] < n_levels)
                count[level[i]].n++;
            else
                missing++;
        }
    }
    return missing;
}

int prep_codes_fit(const struct prep_spec *spec, int at, int64_t n_used, struct prep_col *col,
                   struct err *err)
{
    enum { TEXT = 32 };
    double *value = NULL;
    int n = code_values(spec, at, PREP_MAX_LEVELS, &value), rc = -1;
    struct level_count *count = mem_try_zalloc(((size_t)MAX(n, 0) + 1) * sizeof(*count));
    char *text = mem_try_alloc((size_t)MAX(n, 1) * TEXT);

    /* prep_codes_are_levels has seen that there are values, and not too many */
    CHECK(n > 0);
    if (count && text) {
        for (int i = 0; i < n; i++) {
            /* adding 0 makes a zero of the one below it */
            (void)snprintf(text + (size_t)i * TEXT, TEXT, "%.0f", value[i] + 0.0);
            count[i].text = text + (size_t)i * TEXT;
        }
        int64_t missing = count_codes(spec, at, value, n, count);
        col->type = FRAME_CATEGORICAL;
        rc = counts_take(col, count, n, missing, n_used);
    } else {
        err_set(err, ERR_NOMEM, "no memory for %d levels", n);
    }
    mem_try_free(value);
    mem_try_free(count);
    mem_try_free(text);
    return rc;
}
