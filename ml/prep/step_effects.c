/* step_effects.c - the step that fits the levels of all columns of names together (level_effects.h):
 * one input for each such column, the effect of the row's level beside all its other columns.
 *
 * Columns of fewer levels and quantities, in bins, take part in the fit, so that a level is not
 * praised for them; they are inputs already. The penalty is chosen by what the fits say of rows that
 * they have not seen; where that is nothing, there is no such step. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/effects_state.h"
#include "ml/prep/number_places.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* MOST_ENTRIES: rows times columns of a fit, of all outputs together; of larger tables rows at equal
 * distances are taken. TRY_ENTRIES: the same where the penalty is chosen. A fit of MOST_ENTRIES takes
 * about a quarter of a second, and there is one for each fold. */
enum { MOST_ENTRIES = 2 << 20, TRY_ENTRIES = 1 << 18 };

/* Over all columns. With 3, and 2 where fits are compared, one draw of the access table scored .792
 * in place of .801 (AUC), because a column of names was not found. */
enum { SWEEPS = 8 };

static const double penalties[] = { 0.4, 1.2, 4, 12 };

/* MOST_TRIED: quantities that are tried as names, of at most MOST_VALUES values. */
enum { MOST_TRIED = 8, MOST_VALUES = 5000 };

/* The gain that chance may give: about 1 in as many rows, and the best of several is taken. And by
 * how much more, in the same unit, a quantity gains as names. */
#define CHANCE     10.0
#define LEAST_GAIN 2.0

static void state_free(struct prep_step *s)
{
    effects_free(s->state);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const struct effects_state *t = s->state;
    int output = part % t->target->n_means;

    if (t->target->labels)
        snprintf(out, STEP_NAME, "effect on %s", t->target->labels[output]);
    else
        snprintf(out, STEP_NAME, "effect on target");
}

static int part_source(const struct prep_step *s, int part)
{
    const struct effects_state *t = s->state;

    return t->shown[part / t->target->n_means];
}

/* ---- rows as levels ---- */

/* A column as it is read from a table. */
struct reader {
    const struct effect_col *col;
    struct level_rows rows;
};

static void reader_read(const struct reader *r, int64_t from, int64_t n, int32_t *out)
{
    const struct effect_col *c = r->col;
    double x[PREP_BLOCK];

    if (c->kind != EFFECT_BINS) {
        level_rows_read(&r->rows, from, n, out);
        return;
    }
    frame_numbers(r->rows.frame, r->rows.col, from, n, x);
    number_places(c->number, c->n_levels - 1, x, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = isnan(x[i]) ? c->n_levels : out[i];
}

/* ---- fitting ---- */

/* The rows of one fit. */
struct effects_in {
    const struct effects_state *state;
    const struct reader *readers;
    const struct frame *frame;
    const struct prep_target *target;
    /* [rows] NULL = all */
    const uint8_t *use;
};

static bool is_used(const struct effects_in *in, int64_t row)
{
    return !in->use || in->use[row];
}

struct picked {
    struct effect_rows rows;
    int64_t *row;
    int32_t *place;
    double *y;
    float *weight;
    uint8_t *part;
    int32_t first[PREP_SOURCES];
};

static void picked_fini(struct picked *p)
{
    mem_try_free(p->row);
    mem_try_free(p->place);
    mem_try_free(p->y);
    mem_try_free(p->weight);
    mem_try_free(p->part);
}

/* The used rows, or of more than fit into `entries` so many at equal distances. */
static void rows_pick(const struct effects_in *in, int64_t used, int64_t most, struct picked *p)
{
    int64_t n = 0, seen = 0;

    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (!is_used(in, i))
            continue;
        if (used <= most || (seen + 1) * most / MAX(used, 1) > seen * most / MAX(used, 1))
            p->row[n++] = i;
        seen++;
    }
    p->rows.n = n;
}

/* The levels of the picked rows, column after column. */
static void places_read(const struct effects_in *in, struct picked *p)
{
    int32_t level[PREP_BLOCK];

    for (int c = 0; c < in->state->n_cols; c++) {
        int32_t *out = p->place + c * p->rows.n, first = in->state->col[c].first;
        int64_t at = 0;
        for (int64_t from = 0; from < in->frame->rows && at < p->rows.n; from += PREP_BLOCK) {
            int64_t n = MIN(in->frame->rows - from, PREP_BLOCK);
            if (p->row[at] >= from + n)
                continue;
            reader_read(&in->readers[c], from, n, level);
            for (; at < p->rows.n && p->row[at] < from + n; at++)
                out[at] = first + level[p->row[at] - from];
        }
    }
}

static int rows_make(const struct effects_in *in, int64_t entries, struct picked *p,
                     struct err *err)
{
    const struct effects_state *t = in->state;
    int64_t used = 0, most = MAX(entries / t->n_cols / t->target->n_means, 1);

    *p = (struct picked){ 0 };
    for (int64_t i = 0; i < in->frame->rows; i++)
        used += is_used(in, i);
    size_t n = (size_t)MIN(used, most) + 1;
    p->row = mem_try_alloc(n * sizeof *p->row);
    p->place = mem_try_alloc(n * (size_t)t->n_cols * sizeof *p->place);
    p->y = mem_try_alloc(n * sizeof *p->y);
    p->weight = mem_try_alloc(n * sizeof *p->weight);
    p->part = mem_try_alloc(n * sizeof *p->part);
    if (!p->row || !p->place || !p->y || !p->weight || !p->part) {
        picked_fini(p);
        return err_set(err, ERR_NOMEM, "no memory for the levels of %zu rows", n);
    }
    for (int c = 0; c < t->n_cols; c++)
        p->first[c] = t->col[c].first;
    p->rows = (struct effect_rows){ .cols = t->n_cols,
                                    .place = p->place,
                                    .levels = t->levels,
                                    .first = p->first,
                                    .y = p->y,
                                    .weight = p->weight,
                                    .part = p->part };
    rows_pick(in, used, most, p);
    places_read(in, p);
    for (int64_t i = 0; i < p->rows.n; i++) {
        p->weight[i] = in->target->weight ? (float)in->target->weight[p->row[i]] : 1;
        p->part[i] = in->target->part[p->row[i]];
    }
    return 0;
}

/* The targets of one output. False = they do not differ. */
static bool targets_take(const struct effects_in *in, int output, bool is_regression,
                         struct picked *p)
{
    const struct level_state *t = in->state->target;
    const double *y = in->target->y;
    int64_t ones = 0;

    p->rows.is_logistic = !is_regression;
    for (int64_t i = 0; i < p->rows.n && is_regression; i++)
        p->y[i] = y[p->row[i]];
    if (is_regression)
        return true;
    for (int64_t i = 0; i < p->rows.n; i++) {
        bool is_one = y[p->row[i]] == (t->classes ? t->classes[output] : 1);
        p->y[i] = is_one;
        ones += is_one;
    }
    return ones > 0 && ones < p->rows.n;
}

/* Whether the target is a number: not a class, and not 0s and 1s alone. */
static bool is_number(const struct effects_in *in)
{
    if (in->state->target->classes)
        return false;
    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (is_used(in, i) && in->target->y[i] != 0 && in->target->y[i] != 1)
            return true;
    }
    return false;
}

/* Takes the columns that are shown out of the effects of all. */
static void shown_take(const struct effects_state *t, int output, const float *effect, float *out)
{
    for (int s = 0; s < t->n_shown; s++) {
        const struct effect_col *c = &t->col[t->shown[s]];
        float *to = out + (output * t->shown_levels + c->shown_at) * EFFECT_FITS;
        for (int64_t l = 0; l < c->n_levels + 2; l++) {
            for (int k = 0; k < EFFECT_FITS; k++)
                to[l * EFFECT_FITS + k] = effect[(c->first + l) * EFFECT_WIDE + k];
        }
    }
}

/* All outputs by all fits: [outputs][shown_levels][EFFECT_FITS], mem_try_free; NULL = no memory. */
static float *fits_make(const struct effects_in *in, struct err *err)
{
    const struct effects_state *t = in->state;
    size_t all = (size_t)(t->target->n_means * t->shown_levels) * EFFECT_FITS;
    float *effect = mem_try_alloc((size_t)t->levels * EFFECT_WIDE * sizeof *effect),
          *out = mem_try_zalloc((all + 1) * sizeof *out);
    struct picked p = { 0 };
    bool is_regression = is_number(in);
    int rc = effect && out ? rows_make(in, MOST_ENTRIES, &p, err)
                           : err_set(err, ERR_NOMEM, "no memory for the effects of %lld levels",
                                     (long long)t->levels);

    for (int o = 0; o < t->target->n_means && rc == 0; o++) {
        if (!targets_take(in, o, is_regression, &p))
            continue;
        p.rows.sweeps = SWEEPS;
        rc = level_effects_fit(&p.rows, t->penalty, effect, NULL, err);
        if (rc == 0)
            shown_take(t, o, effect, out);
    }
    picked_fini(&p);
    mem_try_free(effect);
    if (rc < 0) {
        mem_try_free(out);
        out = NULL;
    }
    return out;
}

/* What the fits with each of n penalties gain of rows that they have not seen, as the share of the
 * target's variance, summed over outputs; on `*rows` rows. */
static int gains_of(const struct effects_in *in, const double *penalty, int n, double *gain,
                    int64_t *rows, struct err *err)
{
    const struct effects_state *t = in->state;
    float *effect = mem_try_alloc((size_t)t->levels * EFFECT_WIDE * sizeof *effect);
    struct picked p = { 0 };
    bool is_regression = is_number(in);
    int rc = effect ? rows_make(in, TRY_ENTRIES, &p, err)
                    : err_set(err, ERR_NOMEM, "no memory for the effects of %lld levels",
                              (long long)t->levels);

    memset(gain, 0, (size_t)n * sizeof *gain);
    for (int o = 0; o < t->target->n_means && rc == 0; o++) {
        bool differs = targets_take(in, o, is_regression, &p);
        p.rows.sweeps = SWEEPS;
        for (int k = 0; k < n && differs && rc == 0; k++) {
            double own = 0;
            rc = level_effects_fit(&p.rows, penalty[k], effect, &own, err);
            gain[k] += own;
        }
    }
    *rows = p.rows.n;
    picked_fini(&p);
    mem_try_free(effect);
    return rc;
}

/* Chooses the penalty, and sets *best to what it gains. 1 = that is more than chance. */
static int penalty_choose(const struct effects_in *in, struct effects_state *t, double *best,
                          struct err *err)
{
    double gain[ARRAY_LEN(penalties)];
    int64_t rows = 0;

    *best = 0;
    if (gains_of(in, penalties, (int)ARRAY_LEN(penalties), gain, &rows, err) < 0)
        return -1;
    for (size_t k = 0; k < ARRAY_LEN(penalties); k++) {
        if (gain[k] > *best) {
            *best = gain[k];
            t->penalty = penalties[k];
        }
    }
    return *best * (double)rows > CHANCE * t->target->n_means;
}

bool step_effects_shows(const struct prep_step *s)
{
    const struct level_state *t = s->state;

    return s->ops == &step_codes || (s->ops == &step_levels && t->n_levels >= STEP_MANY_LEVELS);
}

int step_effects_levels(const struct prep_step *s)
{
    return ((const struct level_state *)s->state)->n_levels;
}

/* The step of means on the column, which says what its levels are; NULL = there is none. */
static const struct prep_step *means_of(const struct prep *p, int source)
{
    for (int i = 0; i < p->n_steps; i++) {
        const struct prep_step *s = &p->steps[i];
        if ((s->ops == &step_levels || s->ops == &step_codes) && s->source[0] == source)
            return s;
    }
    return NULL;
}

/* About EFFECT_CUTS of the cuts of a quantity. */
static void bins_take(const struct prep_col *c, struct effect_col *out)
{
    int n = MIN(c->n_bins - 1, EFFECT_CUTS);

    out->kind = EFFECT_BINS;
    out->n_levels = n + 1;
    out->number = mem_try_alloc((size_t)(n + 1) * sizeof *out->number);
    for (int i = 0; out->number && i < n; i++)
        out->number[i] = (double)c->cuts[(int)((int64_t)(i + 1) * (c->n_bins - 1) / (n + 1))];
}

/* How the values of a column of the frame become levels; false = no memory. */
static bool col_take(const struct prep *p, int col, struct effect_col *out)
{
    const struct prep_col *c = &p->cols[prep_plain_input(p, col)];
    const struct prep_step *means = means_of(p, p->source_of[col] - 1);
    const struct level_state *known = means ? means->state : NULL;

    out->is_shown = means && step_effects_shows(means);
    if (known)
        out->hidden = known->hidden;
    if (c->type == FRAME_CATEGORICAL) {
        out->kind = EFFECT_LEVELS;
        out->n_levels = c->n_levels;
        return true;
    }
    if (!known || !known->number) {
        bins_take(c, out);
        return out->number != NULL;
    }
    out->kind = EFFECT_CODES;
    out->n_levels = known->n_levels;
    out->number = mem_try_alloc((size_t)known->n_levels * sizeof *out->number);
    if (out->number)
        memcpy(out->number, known->number, (size_t)known->n_levels * sizeof *out->number);
    return out->number != NULL;
}

/* What level_rows.numbers and .map need, while a step is fitted. */
struct fit_maps {
    struct view_numbers numbers[PREP_SOURCES];
    int32_t *map[PREP_SOURCES];
};

static int readers_fit(const struct step_fit *in, const struct effects_state *t,
                       struct fit_maps *maps, struct reader *out, struct err *err)
{
    for (int k = 0; k < t->n_cols; k++) {
        const struct frame_col *fc = &in->spec->frame->cols[in->col[k]];
        const struct effect_col *c = &t->col[k];
        struct level_rows rows = { .frame = in->spec->frame,
                                   .col = in->col[k],
                                   .n_levels = c->n_levels };
        if (c->kind == EFFECT_CODES) {
            rows.value = c->number;
        } else if (c->kind == EFFECT_LEVELS && fc->type == FRAME_NUMERIC) {
            prep_map_numbers(&in->prep->cols[prep_plain_input(in->prep, in->col[k])],
                             &maps->numbers[k]);
            rows.numbers = &maps->numbers[k];
        } else if (c->kind == EFFECT_LEVELS) {
            rows.map = maps->map[k] =
                prep_map_levels(&in->prep->cols[prep_plain_input(in->prep, in->col[k])], fc);
            if (!rows.map)
                return err_set(err, ERR_NOMEM, "no memory for %d levels", c->n_levels);
        }
        out[k] = (struct reader){ c, rows };
    }
    return 0;
}

static void maps_fini(struct fit_maps *maps)
{
    for (int k = 0; k < PREP_SOURCES; k++) {
        view_numbers_free(&maps->numbers[k]);
        mem_try_free(maps->map[k]);
    }
}

/* The values of tables to predict: by the fits on all rows. 1 = done. */
static int value_take(const struct effects_in *in, struct effects_state *t, struct err *err)
{
    size_t n = (size_t)(t->target->n_means * t->shown_levels);
    float *fits = fits_make(in, err);

    if (!fits)
        return -1;
    t->value = mem_try_alloc((n + 1) * sizeof *t->value);
    for (size_t i = 0; t->value && i < n; i++)
        t->value[i] = fits[i * EFFECT_FITS + PREP_PARTS];
    mem_try_free(fits);
    return t->value ? 1 : err_set(err, ERR_NOMEM, "no memory for the effects of %zu levels", n);
}

/* Beside columns that are names for certain, a quantity of many whole numbers is tried as one, too:
 * the fits gain more of the rows that they have not seen where each number has an effect of its own
 * than where neighbours share one. gain: of the fits so far. */
static int codes_try(const struct step_fit *step, const struct effects_in *in,
                     struct effects_state *t, struct reader *readers, double gain, struct err *err)
{
    int names = 0, tried = 0;

    for (int k = 0; k < t->n_cols; k++)
        names += t->col[k].kind == EFFECT_CODES;
    for (int k = 0; k < t->n_cols && names >= CODES_BESIDE && tried < MOST_TRIED; k++) {
        const struct effect_col was = t->col[k];
        double *value = NULL, own = 0;
        int64_t rows = 0;
        int n = was.kind == EFFECT_BINS ? code_values(step->spec, step->col[k], MOST_VALUES, &value)
                                        : -1;
        if (n <= EFFECT_CUTS + 1) {
            mem_try_free(value);
            continue;
        }
        t->col[k] = (struct effect_col){
            .kind = EFFECT_CODES, .is_shown = true, .n_levels = n, .number = value
        };
        effects_layout(t);
        readers[k].rows.n_levels = n;
        readers[k].rows.value = value;
        int rc = gains_of(in, &t->penalty, 1, &own, &rows, err);
        if (rc == 0 && own * (double)rows > gain * (double)rows + LEAST_GAIN) {
            gain = own;
            mem_try_free(was.number);
        } else {
            t->col[k] = was;
            mem_try_free(value);
        }
        effects_layout(t);
        tried++;
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int state_fit(const struct step_fit *in, struct effects_state *t, struct err *err)
{
    struct reader readers[PREP_SOURCES];
    struct fit_maps maps = { 0 };
    const struct effects_in fit = { t, readers, in->spec->frame, in->spec->target, in->spec->use };
    double gain = 0;
    int rc = readers_fit(in, t, &maps, readers, err);

    if (rc == 0)
        rc = penalty_choose(&fit, t, &gain, err);
    if (rc == 1 && codes_try(in, &fit, t, readers, gain, err) < 0)
        rc = -1;
    if (rc == 1)
        rc = value_take(&fit, t, err);
    maps_fini(&maps);
    return rc;
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    struct effects_state *t = mem_zalloc(sizeof *t);
    int rc = 0;

    s->state = t;
    t->target = mem_zalloc(sizeof *t->target);
    level_state_classes(t->target, in->spec);
    t->n_cols = in->n_cols;
    for (int k = 0; k < in->n_cols && rc == 0; k++) {
        if (!col_take(in->prep, in->col[k], &t->col[k]))
            rc = err_set(err, ERR_NOMEM, "no memory for the levels of a column");
    }
    effects_layout(t);
    if (rc == 0)
        rc = state_fit(in, t, err);
    s->n_parts = t->n_shown * t->target->n_means;
    if (rc != 1)
        state_free(s);
    return rc;
}

/* ---- values ---- */

static void readers_view(const struct step_view *v, const struct effects_state *t,
                         struct reader *out)
{
    for (int k = 0; k < t->n_cols; k++) {
        int source = v->step->source[k];
        const struct view_numbers *numbers = &v->view->numbers[source];
        out[k] = (struct reader){ &t->col[k],
                                  { .frame = v->view->frame,
                                    .col = v->view->col[source],
                                    .n_levels = t->col[k].n_levels,
                                    .map = v->view->map[source],
                                    .value = t->col[k].number,
                                    .numbers = numbers->n > 0 ? numbers : NULL } };
    }
}

static int view_open(struct step_view *v, struct err *err)
{
    struct effects_state *t = v->step->state;
    const struct prep_fold *fold = v->view->fold;
    struct reader readers[PREP_SOURCES];

    if (!fold)
        return 0;
    readers_view(v, t, readers);
    const struct effects_in in = { t, readers, v->view->frame, fold->target, fold->train };
    v->open = fits_make(&in, err);
    return v->open ? 0 : -1;
}

static void view_close(struct step_view *v)
{
    mem_try_free(v->open);
}

/* Rows of a column that is shown, as its levels. */
static void levels_of(const struct step_view *v, int k, int64_t from, int64_t n, int32_t *level)
{
    const struct effects_state *t = v->step->state;
    const struct effect_col *c = &t->col[k];
    double x[PREP_BLOCK];

    if (c->kind == EFFECT_CODES) {
        step_numbers(v, k, from, n, x);
        levels_of_values(c->number, c->n_levels, x, n, level);
        return;
    }
    prep_source_levels(v->view, v->step->source[k], from, n, level);
    for (int64_t i = 0; i < n; i++) {
        if (level[i] < 0)
            level[i] = level[i] == PREP_NO_LEVEL ? c->n_levels : c->n_levels + 1;
    }
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct effects_state *t = v->step->state;
    const struct prep_fold *fold = v->view->fold;
    int k = part_source(v->step, part), output = part % t->target->n_means;
    const struct effect_col *c = &t->col[k];
    int64_t at = output * t->shown_levels + c->shown_at;
    const float *fits = v->open;
    int32_t level[PREP_BLOCK];

    levels_of(v, k, from, n, level);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = from + i, l = level[i];
        bool is_trained = fold && fold->train[row];
        if (is_trained && l < c->n_levels && prep_is_hidden(c->hidden, row))
            l = c->n_levels + 1;
        int of = is_trained ? fold->target->part[row] : PREP_PARTS;
        out[i] = (double)(fits ? fits[(at + l) * EFFECT_FITS + of] : t->value[at + l]);
    }
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    return effects_save(s->state, out, err);
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct effects_state *t = s->state = mem_zalloc(sizeof *t);
    int rc = effects_load(t, s->n_sources, in, err);

    s->n_parts = rc == 0 ? t->n_shown * t->target->n_means : 0;
    return rc;
}

static bool suits(const struct prep *p, const struct prep_step *s)
{
    const struct effects_state *t = s->state;

    for (int k = 0; k < t->n_cols; k++) {
        const struct effect_col *c = &t->col[k];
        const struct prep_source *from = &p->sources[s->source[k]];
        if (c->kind != EFFECT_LEVELS
                ? from->type != FRAME_NUMERIC
                : from->input < 0 || p->cols[from->input].type != FRAME_CATEGORICAL ||
                      p->cols[from->input].n_levels != c->n_levels)
            return false;
    }
    return true;
}

const struct step_ops step_effects = {
    .word = "effects",
    .is_by_fold = true,
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .part_source = part_source,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
    .suits = suits,
};
