/* prep.c - a fitted preparation: its columns, its inputs, and their places in the dense form.
 *
 * Immutable after it is made: any number of threads may read one. Views are in prep_view.c, fitting
 * in prep_fit.c, saving in prep_save.c. */
#include "ml/prep/prep.h"

#include "base/mem.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step_ops.h"

#include <string.h>

static void cols_free(struct prep *p)
{
    /* one past the last: a column whose fit failed */
    for (int i = 0; p->cols && i <= p->n_cols; i++) {
        struct prep_col *c = &p->cols[i];
        for (int l = 0; c->levels && l < c->n_levels; l++)
            mem_free(c->levels[l]);
        mem_free(c->levels);
        mem_free(c->name);
        mem_free(c->cuts);
        mem_free(c->edges);
        mem_free(c->ranks);
        mem_free(c->hot_mean);
        mem_free(c->hot_sd);
    }
    mem_free(p->cols);
}

void prep_step_share(const struct prep_step *s, struct prep_step *out)
{
    *out = *s;
    __atomic_add_fetch(s->users, 1, __ATOMIC_RELAXED);
}

/* Any thread may free a preparation, and the last one frees the state. */
void prep_step_free(struct prep_step *s)
{
    if (s->users && __atomic_sub_fetch(s->users, 1, __ATOMIC_ACQ_REL) > 0) {
        s->state = NULL;
        return;
    }
    s->ops->free(s);
    mem_free(s->users);
}

void prep_free(struct prep *p)
{
    if (!p)
        return;
    cols_free(p);
    for (int i = 0; i < p->n_sources; i++) {
        mem_free(p->sources[i].name);
        gap_free(p->sources[i].gap);
    }
    for (int i = 0; i < p->n_steps; i++)
        prep_step_free(&p->steps[i]);
    mem_free(p->sources);
    mem_free(p->source_of);
    mem_free(p->steps);
    mem_free(p);
}

void prep_layout(struct prep *p)
{
    p->width = 0;
    for (int i = 0; i < p->n_cols; i++) {
        struct prep_col *c = &p->cols[i];
        c->dense_at = p->width;
        c->dense_n = (c->type == FRAME_NUMERIC) + c->n_hot + c->has_other + c->has_missing +
                     (c->cycle > 0 ? 2 * PREP_WAVES : 0);
        p->width += c->dense_n;
        if (c->type == FRAME_NUMERIC)
            prep_edges_make(c);
    }
}

int prep_inputs(const struct prep *p)
{
    return p->n_cols;
}

int prep_width(const struct prep *p)
{
    return p->width;
}

int prep_columns(const struct prep *p)
{
    return p->n_sources;
}

const char *prep_column_name(const struct prep *p, int c)
{
    CHECK(c >= 0 && c < p->n_sources);
    return p->sources[c].name;
}

enum frame_type prep_column_type(const struct prep *p, int c)
{
    CHECK(c >= 0 && c < p->n_sources);
    return p->sources[c].type;
}

enum frame_kind prep_column_kind(const struct prep *p, int c)
{
    CHECK(c >= 0 && c < p->n_sources);
    return p->sources[c].kind;
}

const char *prep_input_step(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].step < 0 ? NULL : p->steps[p->cols[i].step].ops->word;
}

int prep_step_of(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].step;
}

int prep_plain_of(const struct prep *p, int c)
{
    CHECK(c >= 0 && c < p->n_sources);
    return p->sources[c].input;
}

int prep_input_columns(const struct prep *p, int i, int out[PREP_SOURCES])
{
    CHECK(i >= 0 && i < p->n_cols);
    if (p->cols[i].step < 0) {
        out[0] = p->cols[i].source;
        return 1;
    }
    const struct prep_step *s = &p->steps[p->cols[i].step];
    if (s->ops->part_source) {
        out[0] = s->source[s->ops->part_source(s, p->cols[i].part)];
        return 1;
    }
    for (int k = 0; k < s->n_sources; k++)
        out[k] = s->source[k];
    return s->n_sources;
}

void prep_by_column(const struct prep *p, const double *by_input, double *by_column)
{
    memset(by_column, 0, (size_t)p->n_sources * sizeof *by_column);
    for (int i = 0; i < p->n_cols; i++) {
        int column[PREP_SOURCES], n = prep_input_columns(p, i, column);
        for (int k = 0; k < n; k++)
            by_column[column[k]] += by_input[i] / n;
    }
}

int prep_plain_input(const struct prep *p, int col)
{
    int source = p->source_of[col] - 1;

    return source < 0 ? -1 : p->sources[source].input;
}

int prep_source_take(struct prep *p, const struct frame *f, int col)
{
    const struct frame_col *c = &f->cols[col];

    if (p->source_of[col] == 0) {
        p->sources[p->n_sources++] =
            (struct prep_source){ mem_strdup(c->name), c->type, c->kind, -1, NULL };
        p->source_of[col] = p->n_sources;
    }
    return p->source_of[col] - 1;
}

bool prep_input_is_by_fold(const struct prep *p, int input)
{
    const struct prep_col *c = &p->cols[input];

    return c->step >= 0 ? p->steps[c->step].ops->is_by_fold : c->hidden.share > 0;
}

bool prep_is_by_fold(const struct prep *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].ops->is_by_fold)
            return true;
    }
    return false;
}

int prep_dense_of(const struct prep *p, int input, int *at)
{
    CHECK(input >= 0 && input < p->n_cols);
    *at = p->cols[input].dense_at;
    return p->cols[input].dense_n;
}

const char *prep_input_name(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].name;
}

enum frame_type prep_input_type(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].type;
}

int prep_input_levels(const struct prep *p, int i, const char *const **levels)
{
    CHECK(i >= 0 && i < p->n_cols);
    *levels = (const char *const *)p->cols[i].levels;
    return p->cols[i].n_levels;
}

float prep_bins_cut(const struct prep *p, int input, int b)
{
    CHECK(input >= 0 && input < p->n_cols && p->cols[input].type == FRAME_NUMERIC);
    CHECK(b >= 0 && b < p->cols[input].n_bins - 1);
    return p->cols[input].cuts[b];
}
