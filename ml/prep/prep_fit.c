/* prep_fit.c - fitting a preparation: first the columns as they are, one at a time, in two readings
 * of the rows that may be seen; then the steps; then the inputs that the steps make, in the same
 * way as columns of numbers.
 *
 * Numbers get their cuts and the median from a sample; range, mean and spread from all rows.
 * Categories get their levels in the order of frequency. Columns that tell nothing are left out.
 * Sums run in row order: equal rows give equal bytes on every machine. Called by
 * ml/model/data.c. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "ml/cpu/column.h"
#include "ml/prep/level_state.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fit {
    const struct prep_spec *spec;
    const struct frame *frame;
    const uint8_t *use;
    int64_t n_used;
    int64_t *picked; /* [n_picked] rows of the sample, ascending */
    int64_t n_picked;
    double *sample; /* [n_picked] */
    struct prep_sorter sorter;
    double *numbers; /* [PREP_BLOCK] */
    struct gaps gaps;
    /* the view that makes derived inputs; NULL while columns are fitted */
    struct prep_view *view;
    /* of the column that is fitted */
    enum prep_scale scale;
};

/* gap_reader of rows of the frame */
static void read_rows(const void *arg, int col, int64_t from, int64_t n, double *out)
{
    const struct fit *f = arg;

    frame_numbers(f->frame, col, from, n, out);
    gap_blank(f->gaps.of[col], out, n);
}

/* gap_reader of picked rows */
static void read_picked(const void *arg, int col, int64_t from, int64_t n, double *out)
{
    const struct fit *f = arg;

    frame_numbers_at(f->frame, col, f->picked + from, n, out);
    gap_blank(f->gaps.of[col], out, n);
}

/* Rows of column `at` of the frame, or of input `at` of the view. */
static void fit_values(const struct fit *f, int at, int64_t from, int64_t n, double *out)
{
    if (f->view) {
        prep_view_numbers(f->view, at, from, n, out);
    } else {
        frame_numbers(f->frame, at, from, n, out);
        gap_close(f->gaps.of[at], read_rows, f, from, n, out);
    }
    for (int64_t i = 0; i < n && f->scale == PREP_MAGNITUDE; i++)
        out[i] = prep_magnitude(out[i]);
}

/* The values of the picked rows. */
static void fit_sample(const struct fit *f, int at)
{
    if (!f->view) {
        frame_numbers_at(f->frame, at, f->picked, f->n_picked, f->sample);
        gap_close(f->gaps.of[at], read_picked, f, 0, f->n_picked, f->sample);
        for (int64_t i = 0; i < f->n_picked && f->scale == PREP_MAGNITUDE; i++)
            f->sample[i] = prep_magnitude(f->sample[i]);
        return;
    }
    int64_t k = 0;
    for (int64_t from = 0; from < f->frame->rows && k < f->n_picked; from += PREP_BLOCK) {
        int64_t n = MIN(f->frame->rows - from, PREP_BLOCK);
        fit_values(f, at, from, n, f->numbers);
        for (; k < f->n_picked && f->picked[k] < from + n; k++)
            f->sample[k] = f->numbers[f->picked[k] - from];
    }
}

static bool row_used(const struct fit *f, int64_t i)
{
    return !f->use || f->use[i];
}

/* All rows when there are few; else one at random from each of PREP_SAMPLE equal stretches of the
 * table. */
static int fit_pick(struct fit *f, struct err *err)
{
    int64_t seen = 0, next = 0;
    uint32_t u[4];

    f->n_picked = MIN(f->n_used, PREP_SAMPLE);
    f->picked = mem_try_alloc((size_t)f->n_picked * sizeof(*f->picked));
    f->sample = mem_try_alloc((size_t)f->n_picked * sizeof(*f->sample));
    if (!f->picked || !f->sample)
        return err_set(err, ERR_NOMEM, "no memory for a sample of the rows");
    if (prep_sorter_init(&f->sorter, f->n_picked, err) < 0)
        return -1;
    int64_t n = 0;
    for (int64_t i = 0; i < f->frame->rows && n < f->n_picked; i++) {
        if (!row_used(f, i))
            continue;
        if (seen++ < next)
            continue;
        f->picked[n++] = i;
        int64_t lo = n * f->n_used / f->n_picked, hi = (n + 1) * f->n_used / f->n_picked;
        next = lo;
        if (hi - lo > 1) {
            rng_at(0, 0, 0, (uint64_t)n, u);
            next += (int64_t)(u[0] % (uint64_t)(hi - lo));
        }
    }
    CHECK(n == f->n_picked);
    return 0;
}

static double clamped(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* One reading of all rows that may be seen. */
static void fit_read(struct fit *f, int at, double center, struct column_total *out)
{
    struct column_moments m;

    column_moments_init(&m, center);
    for (int64_t from = 0; from < f->frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(f->frame->rows - from, PREP_BLOCK);
        fit_values(f, at, from, n, f->numbers);
        column_moments_add(&m, f->numbers, f->use ? f->use + from : NULL, n);
    }
    column_moments_total(&m, out);
}

/* Mean and spread as they are once missing values have become the median, and infinite ones the
 * ends of the range. */
static void fit_spread(struct prep_col *col, const struct column_total *t)
{
    /* the median is the center of the sums */
    double up = col->hi - col->median, down = col->lo - col->median;
    double above = (double)t->above, below = (double)t->below, n = (double)t->n;
    double sum = t->sum + above * up + below * down;
    double squares = t->squares + above * up * up + below * down * down;
    double off = sum / n, spread = squares / n - off * off;

    col->mean = col->median + off;
    col->sd = sqrt(spread > 0 ? spread : 0);
    if (!(col->sd > 0 && isfinite(col->sd)))
        col->sd = 1;
    if (!isfinite(col->mean))
        col->mean = col->median;
}

/* What missing values of a column of the table become; t: of sums about center. */
static double fill_of(const struct fit *f, const struct prep_col *col, const struct column_total *t,
                      double center)
{
    int choice = f->view ? MISSING_AUTO : f->spec->choice.of[PREP_OF_MISSING];
    double n = (double)(t->n - t->missing), median = isnan(col->median) ? t->lo : col->median;

    if (choice == MISSING_LOW)
        return t->lo;
    /* above and below: infinite values, which the sum does not have */
    if (choice == MISSING_MEAN && n > 0)
        return clamped(center + t->sum / n, t->lo, t->hi);
    return clamped(median, t->lo, t->hi);
}

/* 1 = an input; 0 = the column tells nothing. */
static int fit_numeric(struct fit *f, int at, struct prep_col *col)
{
    struct column_total t;

    f->scale = PREP_AS_IS;
    fit_sample(f, at);
    if (!f->view && prep_leaves_float(f->sample, f->n_picked)) {
        f->scale = col->scale = PREP_MAGNITUDE;
        fit_sample(f, at);
    }
    col->median = NAN;
    prep_cuts_fit(col, f->sample, f->n_picked, &f->sorter);
    double center = isnan(col->median) ? 0 : col->median;
    fit_read(f, at, center, &t);
    if (t.lo > t.hi || (t.lo == t.hi && t.missing == 0)) {
        mem_free(col->cuts);
        *col = (struct prep_col){ 0 };
        return 0;
    }
    col->lo = t.lo;
    col->hi = t.hi;
    col->median = fill_of(f, col, &t, center);
    if (col->median != center)
        fit_read(f, at, col->median, &t);
    fit_spread(col, &t);
    /* the pixels of images are all of one kind and stay comparable */
    if (f->scale == PREP_AS_IS && f->frame->image.height == 0)
        prep_scale_fit(col, f->view ? SCALE_AUTO : f->spec->choice.of[PREP_OF_SCALE], f->sample,
                       f->n_picked, &f->sorter);
    col->has_missing =
        t.missing > 0 && (f->view || f->spec->choice.of[PREP_OF_MISSING] == MISSING_AUTO);
    col->hot_mean = mem_array(1, sizeof(double));
    col->hot_sd = mem_array(1, sizeof(double));
    if (col->has_missing)
        prep_hot_set(col, 0, t.missing, t.n);
    return 1;
}

/* Room for n inputs, and one more that a fit may fail on. */
static void cols_room(struct prep *p, int n)
{
    struct prep_col *more = mem_array((size_t)n + 1, sizeof *more);

    if (p->n_cols > 0)
        memcpy(more, p->cols, (size_t)p->n_cols * sizeof *more);
    mem_free(p->cols);
    p->cols = more;
}

/* Texts and lists that are not few are inputs through their steps only: as levels they would tell
 * little, and the model file would hold them all. */
static bool is_only_derived(const struct frame_col *c)
{
    return (c->kind == FRAME_TEXT || c->kind == FRAME_LIST) && c->n_levels > PREP_FEW_TEXTS;
}

static bool is_input(const struct prep_spec *spec, const struct frame_col *c)
{
    for (const char *const *s = spec->skip; s && *s; s++) {
        if (strcmp(*s, c->name) == 0)
            return false;
    }
    return c->type != FRAME_IGNORED;
}

/* The sources take the gaps of their columns, and become neighbours of what tells them. Columns that
 * are read as names keep their blanks. */
static void give_gaps(struct fit *f, struct prep *p)
{
    for (int c = 0; c < f->gaps.n_cols; c++) {
        struct prep_gap *g = f->gaps.of[c];
        int source = p->source_of[c] - 1, input = source < 0 ? -1 : p->sources[source].input;
        if (!g || input < 0 || p->cols[input].type != FRAME_NUMERIC)
            continue;
        for (int k = 0; k < g->n_from; k++)
            g->from[k].source = prep_source_take(p, f->frame, g->from[k].source);
        p->sources[source].gap = g;
        f->gaps.of[c] = NULL;
    }
}

static int fit_cols(struct fit *f, struct prep *p, const struct prep_spec *spec, struct err *err)
{
    cols_room(p, f->frame->n_cols);
    p->sources = mem_array((size_t)f->frame->n_cols + 1, sizeof *p->sources);
    p->source_of = mem_array((size_t)f->frame->n_cols + 1, sizeof *p->source_of);
    for (int i = 0; i < f->frame->n_cols; i++) {
        const struct frame_col *fc = &f->frame->cols[i];
        struct prep_col *col = &p->cols[p->n_cols];
        if (!is_input(spec, fc) || is_only_derived(fc))
            continue;
        *col = (struct prep_col){ .type = fc->type, .step = -1, .source = p->n_sources };
        int rc = prep_codes_are_levels(spec, i, f->n_used)
                     ? prep_codes_fit(spec, i, f->n_used, col, err)
                 : fc->type == FRAME_NUMERIC ? fit_numeric(f, i, col)
                                             : prep_levels_fit(spec, i, f->n_used, col, err);
        if (rc < 0)
            return err_wrap(err, "column \"%.100s\"", fc->name);
        if (rc == 0)
            continue;
        col->name = mem_strdup(fc->name);
        p->sources[prep_source_take(p, f->frame, i)].input = p->n_cols++;
    }
    return 0;
}

static void name_input(const struct prep *p, struct prep_col *col)
{
    const struct prep_step *s = &p->steps[col->step];
    char part[STEP_NAME], name[STEP_NAME + 600];

    s->ops->part_name(s, col->part, part);
    if (s->ops->part_source)
        snprintf(name, sizeof name, "%.500s: %s",
                 p->sources[s->source[s->ops->part_source(s, col->part)]].name, part);
    else if (s->n_sources > 2)
        snprintf(name, sizeof name, "%.250s and %d more: %s", p->sources[s->source[0]].name,
                 s->n_sources - 1, part);
    else if (s->n_sources > 1)
        snprintf(name, sizeof name, "%.250s, %.250s: %s", p->sources[s->source[0]].name,
                 p->sources[s->source[1]].name, part);
    else
        snprintf(name, sizeof name, "%.500s: %s", p->sources[s->source[0]].name, part);
    utf8_clean(name, sizeof name);
    col->name = mem_strdup(name);
}

/* Means and spreads of the sines and cosines, over the sample. */
static void fit_waves(const struct fit *f, const struct prep *p, struct prep_col *col)
{
    const struct prep_step *s = &p->steps[col->step];
    double wave[2 * PREP_WAVES], sum[2 * PREP_WAVES] = { 0 }, square[2 * PREP_WAVES] = { 0 }, n = 0;

    col->cycle = s->ops->cycle ? s->ops->cycle(s, col->part) : 0;
    if (col->cycle > 0 && col->scale != PREP_AS_IS)
        col->cycle = 0;
    for (int64_t i = 0; i < f->n_picked && col->cycle > 0; i++) {
        if (!isfinite(f->sample[i]))
            continue;
        prep_waves(col->cycle, f->sample[i], wave);
        for (int k = 0; k < 2 * PREP_WAVES; k++) {
            sum[k] += wave[k];
            square[k] += wave[k] * wave[k];
        }
        n++;
    }
    for (int k = 0; k < 2 * PREP_WAVES && col->cycle > 0; k++) {
        double mean = n > 0 ? sum[k] / n : 0, spread = n > 0 ? square[k] / n - mean * mean : 0;
        col->wave_mean[k] = clamped(mean, -1, 1);
        /* a wave that is constant at every value that occurs is left at 0 */
        col->wave_sd[k] = spread > 1e-6 ? clamped(sqrt(spread), 0, 1) : 1;
    }
}

/* EFFECTS_ONLY: the effects of a column's levels stand in for their means. */
static bool is_replaced(const struct prep *p, const struct prep_spec *spec, int step, int part)
{
    const struct prep_step *s = &p->steps[step];
    const struct level_state *t = s->state;

    if (spec->choice.of[PREP_OF_EFFECTS] != EFFECTS_ONLY ||
        (s->ops != &step_levels && s->ops != &step_codes) || part >= t->n_means)
        return false;
    for (int i = 0; i < p->n_steps; i++) {
        const struct prep_step *e = &p->steps[i];
        for (int k = 0; e->ops == &step_effects && k < e->n_parts; k++) {
            if (e->source[e->ops->part_source(e, k)] == s->source[0])
                return true;
        }
    }
    return false;
}

/* The inputs that the steps make. A part that is constant in the training rows is no input. */
static int fit_derived(struct fit *f, struct prep *p, const struct prep_spec *spec, struct err *err)
{
    int most = p->n_cols, first = p->n_cols, kept = p->n_cols;

    for (int s = 0; s < p->n_steps; s++)
        most += p->steps[s].n_parts;
    if (most == first)
        return 0;
    cols_room(p, most);
    /* A view reads inputs by their place: all are there while each is fitted. */
    for (int s = 0; s < p->n_steps; s++) {
        for (int k = 0; k < p->steps[s].n_parts; k++)
            p->cols[p->n_cols++] = (struct prep_col){
                .type = FRAME_NUMERIC, .step = s, .part = k, .source = p->steps[s].source[0]
            };
    }
    f->view = spec->target ? prep_view_fold(p, f->frame, spec->target, f->use, err)
                           : prep_view_new(p, f->frame, err);
    if (!f->view)
        return -1;
    for (int i = first; i < most; i++) {
        struct prep_col col = p->cols[i];
        if (is_replaced(p, spec, col.step, col.part) || fit_numeric(f, i, &col) == 0)
            continue;
        name_input(p, &col);
        fit_waves(f, p, &col);
        p->cols[i] = (struct prep_col){ 0 };
        p->cols[kept++] = col;
    }
    for (int i = kept; i < most; i++)
        p->cols[i] = (struct prep_col){ 0 };
    p->n_cols = kept;
    prep_view_free(f->view);
    f->view = NULL;
    prep_drop_unused(p);
    return 0;
}

/* LEVELS_MEANS: a column of levels that has means stays as it is for its steps, which read its
 * levels, but tells a model nothing: it has one bin and no dense column. */
static void hide_levels(struct prep *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        int input = p->sources[p->steps[i].source[0]].input;
        if (p->steps[i].ops != &step_levels || p->cols[input].n_levels < STEP_MANY_LEVELS)
            continue;
        struct prep_col *col = &p->cols[input];
        col->n_bins = 1;
        col->n_hot = 0;
        col->has_other = col->has_missing = false;
    }
}

/* A row that hides the level from its means hides it altogether. */
static void hide_rows(struct prep *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].ops == &step_levels)
            p->cols[p->sources[p->steps[i].source[0]].input].hidden =
                ((const struct level_state *)p->steps[i].state)->hidden;
    }
}

static int fit_inputs(struct fit *f, struct prep *p, const struct prep_spec *spec, struct err *err)
{
    if (gaps_fit(spec, f->picked, f->n_picked, f->n_used, &f->gaps, err) < 0 ||
        fit_cols(f, p, spec, err) < 0)
        return -1;
    give_gaps(f, p);
    if (step_fit_all(spec, p, err) < 0 || fit_derived(f, p, spec, err) < 0)
        return -1;
    hide_rows(p);
    if (spec->choice.of[PREP_OF_LEVELS] == LEVELS_MEANS)
        hide_levels(p);
    if (p->n_cols == 0)
        return err_set(
            err, ERR_ARG,
            "no column holds anything to learn from: all are constant, empty or never repeat");
    return 0;
}

struct prep *prep_fit(const struct prep_spec *spec, struct err *err)
{
    const struct frame *frame = spec->frame;
    struct fit f = { .spec = spec, .frame = frame, .use = spec->use };
    struct prep *p = mem_zalloc(sizeof(*p));
    int rc = -1;

    f.numbers = mem_alloc(PREP_BLOCK * sizeof(*f.numbers));
    for (int64_t i = 0; i < frame->rows; i++)
        f.n_used += row_used(&f, i);
    if (f.n_used == 0)
        err_set(err, ERR_ARG, "no rows to fit the preparation on");
    else if (fit_pick(&f, err) == 0 && prep_images_fit(p, frame, f.picked, f.n_picked, err) == 0)
        rc = fit_inputs(&f, p, spec, err);
    mem_free(p->source_of); /* the places of sources may have changed, too */
    p->source_of = NULL;
    prep_view_free(f.view);
    gaps_free(&f.gaps);
    mem_try_free(f.picked);
    mem_try_free(f.sample);
    prep_sorter_fini(&f.sorter);
    mem_free(f.numbers);
    if (rc < 0) {
        prep_free(p);
        return NULL;
    }
    prep_layout(p);
    return p;
}
