/* level_state.c - see level_state.h. */
#include "ml/prep/level_state.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOST_MEANS: of a target with more classes, those with the most rows have a mean. */
enum { MOST_MEANS = 8, MOST_LABEL = 100 };

void level_state_free(struct level_state *t)
{
    if (!t)
        return;
    for (int k = 0; t->labels && k < t->n_means; k++)
        mem_free(t->labels[k]);
    mem_free(t->labels);
    mem_free(t->classes);
    mem_try_free(t->value);
    mem_try_free(t->number);
    mem_free(t);
}

void level_state_name(const struct level_state *t, int part, char out[STEP_NAME])
{
    if (part == t->n_means)
        snprintf(out, STEP_NAME, "frequency");
    else if (t->labels)
        snprintf(out, STEP_NAME, "share of %.*s", MOST_LABEL, t->labels[part]);
    else
        snprintf(out, STEP_NAME, "mean of target");
}

/* ---- fitting ---- */

struct class_count {
    int64_t n;
    int class_of;
};

static int by_count(const void *va, const void *vb)
{
    const struct class_count *a = va, *b = vb;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->class_of - b->class_of;
}

void level_state_classes(struct level_state *t, const struct prep_spec *spec)
{
    const struct prep_target *y = spec->target;

    t->n_means = 1;
    if (y->n_classes < 3)
        return;
    struct class_count *count = mem_array((size_t)y->n_classes, sizeof *count);
    for (int k = 0; k < y->n_classes; k++)
        count[k].class_of = k;
    for (int64_t i = 0; i < spec->frame->rows; i++) {
        if (!spec->use || spec->use[i])
            count[(int)y->y[i]].n++;
    }
    qsort(count, (size_t)y->n_classes, sizeof *count, by_count);
    t->n_means = MIN(y->n_classes, MOST_MEANS);
    t->classes = mem_array((size_t)t->n_means, sizeof *t->classes);
    t->labels = mem_array((size_t)t->n_means, sizeof *t->labels);
    for (int k = 0; k < t->n_means; k++) {
        char label[MOST_LABEL + 1];
        snprintf(label, sizeof label, "%s", y->classes ? y->classes[count[k].class_of] : "");
        utf8_clean(label, sizeof label);
        t->classes[k] = count[k].class_of;
        t->labels[k] = mem_strdup(label);
    }
    mem_free(count);
}

#define HIDDEN_KEY 0x68696464656eull /* "hidden" */
#define LEAST_NEW  (1.0 / 32)

/* Columns of many levels get new ones, and a table whose levels all have many rows cannot say how
 * often. A model that never saw a row of a new level is lost there: it has learnt to lean on the
 * level's mean and not on the other columns. So at least LEAST_NEW of the training rows show it a
 * new level: those whose level has no row in the other parts, and where they are fewer, rows drawn
 * by chance. Combinations of two columns come from levels that are known. */
static void hidden_take(struct level_state *t, const struct level_rows *rows, double is_new)
{
    t->hidden = (struct prep_hidden){ .key = rng_mix(HIDDEN_KEY, (uint64_t)rows->col) };
    if (t->n_levels >= STEP_MANY_LEVELS && rows->other_levels == 0 && is_new < LEAST_NEW)
        t->hidden.share = (LEAST_NEW - is_new) / (1 - is_new);
}

static double rows_used(const struct prep_spec *spec)
{
    double n = 0;

    for (int64_t i = 0; i < spec->frame->rows; i++)
        n += !spec->use || spec->use[i];
    return n;
}

int level_state_means(const struct level_state *t, const struct level_rows *rows,
                      const struct prep_target *target, const uint8_t *train,
                      struct level_means *out, struct err *err)
{
    const struct level_means_in in = { *rows, target, t->classes, t->n_means, train, t->all_rows };

    return level_means_make(&in, out, err);
}

int level_state_take(struct level_state *t, const struct level_rows *rows,
                     const struct prep_spec *spec, struct err *err)
{
    int64_t levels = (int64_t)t->n_levels + 2;
    struct level_means m;

    t->all_rows = rows_used(spec);
    t->value = mem_try_alloc((size_t)((t->n_means + 1) * levels) * sizeof *t->value);
    if (!t->value)
        return err_set(err, ERR_NOMEM, "no memory for the means of %d levels", t->n_levels);
    if (level_state_means(t, rows, spec->target, spec->use, &m, err) < 0)
        return -1;
    for (int64_t i = 0; i < levels * t->n_means; i++)
        t->value[i] = m.mean[i * LEVEL_VARIANTS + PREP_PARTS];
    for (int64_t l = 0; l < levels; l++)
        t->value[levels * t->n_means + l] = m.frequency[l * LEVEL_VARIANTS + PREP_PARTS];
    hidden_take(t, rows, m.new_share);
    level_means_fini(&m);
    return 0;
}

/* ---- values ---- */

void level_state_values(const struct level_state *t, const struct level_means *m,
                        const struct prep_fold *fold, const struct level_ask *ask, double *out)
{
    int64_t levels = (int64_t)t->n_levels + 2;
    int part = ask->part;

    for (int64_t i = 0; i < ask->n; i++) {
        int64_t level = ask->level[i], row = ask->from + i;
        if (!m) {
            out[i] = t->value[levels * part + level];
            continue;
        }
        int variant = fold->train[row] ? fold->target->part[row] : PREP_PARTS;
        if (fold->train[row] && level < t->n_levels && prep_is_hidden(t->hidden, row))
            level = t->n_levels + 1;
        const double *table =
            part < t->n_means ? m->mean + levels * part * LEVEL_VARIANTS : m->frequency;
        out[i] = table[level * LEVEL_VARIANTS + variant];
    }
}

/* ---- bytes ---- */

int level_labels_save(const struct level_state *t, struct buf *out, struct err *err)
{
    for (int k = 0; t->labels && k < t->n_means; k++) {
        if (buf_put_str(out, t->labels[k], err) < 0)
            return -1;
    }
    return 0;
}

int level_state_save(const struct level_state *t, struct buf *out, struct err *err)
{
    int64_t n = ((int64_t)t->n_levels + 2) * (t->n_means + 1);

    if (buf_put_u32(out, (uint32_t)t->n_levels, err) < 0 ||
        buf_put_u32(out, (uint32_t)t->n_means, err) < 0 ||
        buf_put_u8(out, t->labels != NULL, err) < 0 || level_labels_save(t, out, err) < 0)
        return -1;
    for (int i = 0; t->number && i < t->n_levels; i++) {
        if (buf_put_f64(out, t->number[i], err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (buf_put_f64(out, t->value[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the levels in this file are damaged");
}

int level_labels_load(struct level_state *t, struct view *in, struct err *err)
{
    t->labels = mem_array((size_t)t->n_means + 1, sizeof *t->labels);
    for (int k = 0; k < t->n_means; k++) {
        if (view_str(in, &t->labels[k], MOST_LABEL, err) < 0)
            return -1;
        if (!utf8_ok(t->labels[k], strlen(t->labels[k])))
            return broken(err);
    }
    return 0;
}

int level_numbers_load(double **out, int n, struct view *in, struct err *err)
{
    if ((size_t)n > (in->len - in->pos) / 8)
        return broken(err);
    double *number = *out = mem_try_alloc(((size_t)n + 1) * sizeof *number);
    if (!number)
        return err_set(err, ERR_NOMEM, "no memory for %d numbers", n);
    for (int i = 0; i < n; i++) {
        if (view_f64(in, &number[i], err) < 0)
            return -1;
        if (!isfinite(number[i]) || (i > 0 && number[i] <= number[i - 1]))
            return broken(err);
    }
    return 0;
}

int level_state_load(struct level_state *t, bool has_numbers, struct view *in, struct err *err)
{
    uint32_t levels = 0, means = 0;
    uint8_t has_labels = 0;

    if (view_u32(in, &levels, err) < 0 || view_u32(in, &means, err) < 0 ||
        view_u8(in, &has_labels, err) < 0)
        return -1;
    if (levels < 1 || levels > PREP_MAX_LEVELS || means < 1 || means > MOST_MEANS || has_labels > 1)
        return broken(err);
    t->n_levels = (int)levels;
    t->n_means = (int)means;
    if ((has_labels && level_labels_load(t, in, err) < 0) ||
        (has_numbers && level_numbers_load(&t->number, t->n_levels, in, err) < 0))
        return -1;
    size_t n = ((size_t)levels + 2) * (means + 1);
    if (n > (in->len - in->pos) / 8)
        return broken(err);
    t->value = mem_try_alloc(n * sizeof *t->value);
    if (!t->value)
        return err_set(err, ERR_NOMEM, "no memory for %zu means of levels", n);
    for (size_t i = 0; i < n; i++) {
        if (view_f64(in, &t->value[i], err) < 0)
            return -1;
        if (!isfinite(t->value[i]))
            return broken(err);
    }
    return 0;
}
