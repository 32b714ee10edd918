/* warnings.c - see warnings.h. Here: the sample, the rows, the columns that are left out, the
 * classes, and the list itself. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/model/row_columns.h"
#include "ml/model/split.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* FEW_ROWS: below so many training rows scores are uncertain whatever is done. */
enum { FEW_ROWS = 200 };

void warn(struct warn_work *w, const char *code, const char *column, const char *fmt, ...)
{
    struct warnings *out = w->out;
    va_list args;

    if (out->n == WARN_MOST)
        return;
    struct warning *x = &out->of[out->n++];
    *x = (struct warning){ .code = code };
    if (out->n == WARN_MOST) { /* the last place says that there are more */
        x->code = "more";
        str_copy(x->text, sizeof x->text, "There are more warnings of this kind than are shown.");
        return;
    }
    str_copy(x->column, sizeof x->column, column ? column : "");
    va_start(args, fmt);
    (void)!vsnprintf(x->text, sizeof x->text, fmt, args);
    va_end(args);
    utf8_clean(x->column, sizeof x->column);
    utf8_clean(x->text, sizeof x->text);
}

static bool is_named(const char *name, const char *column)
{
    return name && *name && strcmp(name, column) == 0;
}

bool warn_is_candidate(const struct warn_work *w, int col)
{
    const struct frame_col *c = &w->d->spec.frame->cols[col];
    const struct ml_rows_spec *by = w->by;

    return c->type != FRAME_IGNORED && strcmp(c->name, w->d->spec.target) != 0 &&
           !is_named(by->weights, c->name) &&
           (by->groups_are_input || !is_named(by->groups, c->name)) &&
           (by->time_is_input || !is_named(by->time, c->name));
}

bool warn_is_input(const struct warn_work *w, int col)
{
    return w->is_input[col];
}

/* [columns of the table] whether the preparation reads the column. */
static bool *inputs_take(const struct ml_data *d)
{
    const struct frame *f = d->spec.frame;
    bool *is_input = mem_array((size_t)f->n_cols + 1, sizeof *is_input);

    for (int i = 0; i < prep_columns(d->prep); i++) {
        int at = frame_find(f, prep_column_name(d->prep, i));
        if (at >= 0)
            is_input[at] = true;
    }
    return is_input;
}

bool warn_is_day(const struct frame_col *c)
{
    return c->kind == FRAME_DATE && !(c->note && strstr(c->note, "\"read\":\"time\""));
}

/* The target holds dates or times of day. */
static void of_dates(struct warn_work *w, const struct frame_col *c)
{
    const char *what = warn_is_day(c) ? "dates" : "times of day";
    const char *unit = warn_is_day(c) ? "seconds since 1970 in UTC" : "seconds since midnight";

    if (w->d->n_classes > 0)
        warn(
            w, "target_dates", c->name,
            "The target \"%.80s\" holds %s, so classes are called by %s: for %s as they are written, "
            "make them labels (" WARN_SAY_LABEL ").",
            c->name, what, unit, what, c->name);
    else if (warn_is_day(c))
        warn(w, "target_dates", c->name,
             "The target \"%.80s\" holds dates, so predictions are %s, and errors are in seconds "
             "(86400 are a day): for days, make it a number of days.",
             c->name, unit);
    else
        warn(w, "target_dates", c->name,
             "The target \"%.80s\" holds times of day, so predictions are %s, and errors are in "
             "seconds: midnight is as far from 23:59 as can be.",
             c->name, unit);
}

static void of_rows(struct warn_work *w)
{
    const struct ml_data *d = w->d;
    const struct frame *f = d->spec.frame;
    int at = frame_find(f, d->spec.target);
    int64_t none = at < 0 ? 0 : f->cols[at].missing;

    if (none > 0)
        warn(
            w, "no_target", d->spec.target,
            "%lld of %lld rows have no value in the target \"%.80s\" and are left out: fill them in, "
            "or leave them to be predicted later.",
            (long long)none, (long long)f->rows, d->spec.target);
    if (at >= 0 && f->cols[at].kind == FRAME_DATE)
        of_dates(w, &f->cols[at]);
    if (d->n_left_out > 0)
        warn(
            w, "left_out", NULL,
            "%lld rows have %s and are left out: this is as it should be if they are not to count.",
            (long long)d->n_left_out,
            d->time && d->weights_name ? "no time or the weight 0"
            : d->time                  ? "no time"
                                       : "the weight 0");
    if (d->n_train < FEW_ROWS)
        warn(
            w, "few_rows", NULL,
            "Only %lld rows can be trained on, so scores have large errors: believe differences only "
            "if they are larger than these, and add rows if you can.",
            (long long)d->n_train);
}

static void of_columns(struct warn_work *w)
{
    const struct frame *f = w->d->spec.frame;

    for (int c = 0; c < f->n_cols; c++) {
        const struct frame_col *col = &f->cols[c];
        if (!warn_is_candidate(w, c) || warn_is_input(w, c))
            continue;
        if (col->missing == f->rows)
            warn(w, "empty", col->name,
                 "Column \"%.80s\" has no values and is left out: fill it in, or delete it.",
                 col->name);
        else if (col->type == FRAME_CATEGORICAL && col->distinct > 1 &&
                 col->distinct == f->rows - col->missing)
            warn(
                w, "never_repeats", col->name,
                "No two rows have the same \"%.80s\", so that nothing can be learnt from it, and it "
                "is left out: if it holds numbers or dates, " WARN_SAY_TYPE ".",
                col->name);
        else
            warn(
                w, "constant", col->name,
                "Column \"%.80s\" is the same in all training rows, or tells nothing there, and is "
                "left out.",
                col->name);
    }
}

static void of_classes(struct warn_work *w)
{
    const struct ml_data *d = w->d;
    int64_t *count = mem_array((size_t)d->n_classes + 1, sizeof *count);
    int few = 0, first = -1;

    for (int64_t i = 0; i < d->rows && d->n_classes > 0; i++) {
        if (d->fold[i] < SPLIT_NONE)
            count[(int)d->y[i]]++;
    }
    for (int c = 0; c < d->n_classes; c++) {
        if (count[c] >= d->k_folds)
            continue;
        few++;
        first = first < 0 ? c : first;
    }
    if (few == 1)
        warn(
            w, "few_of_class", d->spec.target,
            "Class \"%.60s\" has %lld training row%s for %d folds, so that some folds cannot judge "
            "it: add rows of it, leave it out, or take fewer folds.",
            d->classes[first], (long long)count[first], count[first] == 1 ? "" : "s", d->k_folds);
    else if (few > 1)
        warn(
            w, "few_of_class", d->spec.target,
            "%d classes, such as \"%.60s\", have fewer training rows than there are folds (%d), so "
            "that some folds cannot judge them: join or leave out rare classes.",
            few, d->classes[first], d->k_folds);
    mem_free(count);
}

static int of_named_groups(struct warn_work *w, struct err *err)
{
    const struct ml_data *d = w->d;
    uint32_t *group = NULL;
    int64_t n_groups = 0, present = 0, largest = 0;

    if (!w->by->groups || !*w->by->groups)
        return 0;
    if (row_groups(d->spec.frame, w->by->groups, &group, &n_groups, err) < 0)
        return -1;
    int64_t *count = mem_try_zalloc(((size_t)n_groups + 1) * sizeof *count);
    for (int64_t i = 0; count && i < d->rows; i++)
        count[group[i]] += d->fold[i] < SPLIT_NONE;
    for (int64_t g = 0; count && g < n_groups; g++) {
        present += count[g] > 0;
        largest = MAX(largest, count[g]);
    }
    if (count && present < 4 * (int64_t)d->k_folds)
        warn(w, "few_groups", w->by->groups,
             "The training rows are of %lld groups only, so that the score has a larger error than "
             "it says: add groups if you can.",
             (long long)present);
    else if (count && largest * d->k_folds > 2 * d->n_train)
        warn(w, "large_group", w->by->groups,
             "One group has %lld of the %lld training rows, so that folds differ in size: check "
             "whether it is one group, or take fewer folds.",
             (long long)largest, (long long)d->n_train);
    mem_try_free(group);
    mem_try_free(count);
    return count ? 0 : err_set(err, ERR_NOMEM, "no memory to count groups");
}

/* Every n-th training row, so that WARN_CELLS values are read at most. */
static int sample_take(struct warn_work *w, struct err *err)
{
    const struct ml_data *d = w->d;
    int64_t most = MIN(WARN_SAMPLE, MAX(WARN_CELLS / MAX(w->n_cols, 1), 200)), seen = 0;

    most = MIN(most, d->n_train);
    w->row = mem_try_alloc(((size_t)most + 1) * sizeof *w->row);
    if (!w->row)
        return err_set(err, ERR_NOMEM, "no memory for a sample of the rows");
    for (int64_t i = 0; i < d->rows && w->n < most; i++) {
        if (d->fold[i] >= SPLIT_NONE)
            continue;
        if (seen++ == w->n * d->n_train / most)
            w->row[w->n++] = i;
    }
    return 0;
}

int warnings_find(struct ml_data *d, const struct ml_rows_spec *by, struct warnings *out,
                  struct err *err)
{
    struct warn_work w = { .d = d, .by = by, .out = out, .n_cols = d->spec.frame->n_cols };
    int rc = 0;

    out->n = 0;
    of_rows(&w);
    of_classes(&w);
    if (of_named_groups(&w, err) < 0)
        return -1;
    if (d->spec.frame->image.height) /* pixels are no columns of a table */
        return 0;
    w.is_input = inputs_take(d);
    if (sample_take(&w, err) < 0 || warn_of_groups(&w, err) < 0 || warn_of_order(&w, err) < 0 ||
        warn_of_leaks(&w, err) < 0 || warn_of_levels(&w, err) < 0 || warn_of_repeats(&w, err) < 0 ||
        warn_of_test_rows(&w, err) < 0)
        rc = -1;
    else
        of_columns(&w);
    mem_free(w.is_input);
    mem_try_free(w.row);
    return rc;
}

int warnings_json(const struct warnings *w, struct buf *out, struct err *err)
{
    int rc = buf_adds(out, "[", err);

    for (int i = 0; i < w->n && rc == 0; i++) {
        const struct warning *x = &w->of[i];
        if (buf_adds(out, i ? ",{\"code\":" : "{\"code\":", err) < 0 ||
            json_text_str(out, x->code, err) < 0 || buf_adds(out, ",\"column\":", err) < 0 ||
            json_text_str(out, x->column, err) < 0 || buf_adds(out, ",\"text\":", err) < 0 ||
            json_text_str(out, x->text, err) < 0)
            rc = -1;
        else
            rc = buf_adds(out, "}", err);
    }
    return rc < 0 ? -1 : buf_adds(out, "]", err);
}
