/* step_effects.c - the step that fits the levels of all columns of names together (level_effects.h):
 * one input for each such column, the effect of the row's level beside all its other columns.
 *
 * Columns of fewer levels and quantities, in bins, take part in the fit, so that a level is not
 * praised for them; they are inputs already. The penalty is chosen by what the fits say of rows that
 * they have not seen; where that is nothing, there is no such step. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/effects_fit.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From the strongest to the weakest. */
static const double penalties[] = { 12, 4, 1.2, 0.4 };

/* KEPT_BYTES: what the fits of folds may take.
 * MOST_TRIED: quantities that are tried as names, of at most MOST_VALUES values. */
enum { KEPT_BYTES = 16 << 20, MOST_TRIED = 8, MOST_VALUES = 5000 };

/* The gain that chance may give: about 1 in as many rows, and the best of several is taken. And by
 * how much more, in the same unit, a quantity gains as names: beside columns that are names for
 * certain, and where nothing else is known of it than that it may be one. */
#define CHANCE     10.0
#define LEAST_GAIN 2.0
#define ALONE_GAIN 14.0

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

/* Chooses the penalty, and sets *best to what it gains. 1 = that is more than chance. */
static int penalty_choose(struct effects_trial *trial, struct effects_state *t, double *best,
                          struct err *err)
{
    double gain[ARRAY_LEN(penalties)];

    *best = 0;
    if (effects_trial_penalties(trial, penalties, (int)ARRAY_LEN(penalties), gain, err) < 0)
        return -1;
    for (size_t k = 0; k < ARRAY_LEN(penalties); k++) {
        if (gain[k] > *best) {
            *best = gain[k];
            t->penalty = penalties[k];
        }
    }
    return *best * (double)effects_trial_rows(trial) > CHANCE * t->target->n_means;
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
                       struct fit_maps *maps, struct effects_reader *out, struct err *err)
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
        out[k] = (struct effects_reader){ c, rows };
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

/* The fits to the rows of a fold: those that are kept, or new ones, which then are kept. */
static float *fits_of_fold(const struct effects_in *in, struct err *err)
{
    const struct effects_state *t = in->state;
    size_t n = (size_t)(t->target->n_means * t->shown_levels) * EFFECT_FITS;
    uint8_t of[SHA256_BYTES];
    float *fits = t->kept ? mem_try_alloc((n + 1) * sizeof *fits) : NULL;

    if (fits) {
        kept_fits_digest(in->frame, in->frame->rows, in->target, in->use, of);
        if (kept_fits_find(t->kept, of, n * sizeof *fits, fits))
            return fits;
        mem_try_free(fits);
    }
    fits = effects_fits(in, err);
    if (fits && t->kept)
        kept_fits_add(t->kept, of, n * sizeof *fits, fits);
    return fits;
}

/* The values of tables to predict: by the fits on all rows. 1 = done. */
static int value_take(const struct effects_in *in, struct effects_state *t, struct err *err)
{
    size_t n = (size_t)(t->target->n_means * t->shown_levels);

    t->kept = kept_fits_new(KEPT_BYTES);
    effects_levels_keep(in, t);
    float *fits = fits_of_fold(in, err);
    if (!fits)
        return -1;
    t->value = mem_try_alloc((n + 1) * sizeof *t->value);
    for (size_t i = 0; t->value && i < n; i++)
        t->value[i] = fits[i * EFFECT_FITS + PREP_PARTS];
    mem_try_free(fits);
    return t->value ? 1 : err_set(err, ERR_NOMEM, "no memory for the effects of %zu levels", n);
}

/* Tries a quantity of n whole numbers as names; they are the column's or freed. */
static int code_try(struct effects_trial *trial, struct effects_state *t,
                    struct effects_reader *reader, double *value, double least, double *gain,
                    struct err *err)
{
    int k = (int)(reader->col - t->col);
    const struct effect_col was = t->col[k];
    double own = 0, rows = (double)effects_trial_rows(trial);
    int n = reader->rows.n_levels;

    t->col[k] = (struct effect_col){
        .kind = EFFECT_CODES, .is_shown = true, .n_levels = n, .number = value
    };
    reader->rows.value = value;
    effects_layout(t);
    int rc = effects_trial_column(trial, k, &own, err);
    if (rc == 0 && own * rows > *gain * rows + least) {
        *gain = own;
        effects_trial_keep(trial);
        mem_try_free(was.number);
        return 0;
    }
    t->col[k] = was;
    mem_try_free(value);
    effects_layout(t);
    effects_trial_back(trial, k);
    return rc;
}

/* What the columns gain as they are, as exactly as what it is compared with. */
static int columns_gain(struct effects_trial *trial, double *gain, struct err *err)
{
    if (effects_trial_column(trial, -1, gain, err) < 0)
        return -1;
    effects_trial_keep(trial);
    return 0;
}

/* Beside columns that are names for certain, a quantity of many whole numbers is tried as one, too:
 * the fits gain more of the rows that they have not seen where each number has an effect of its own
 * than where neighbours share one. Of other tables those that may be names (CODE_MAYBE) are tried:
 * what the other columns say of the target hides what a name says, or is what a quantity says. */
static int codes_try(const struct step_fit *step, struct effects_trial *trial,
                     struct effects_state *t, struct effects_reader *readers, struct err *err)
{
    int names = 0, tried = 0;
    double gain = 0;

    for (int k = 0; k < t->n_cols; k++)
        names += t->col[k].kind == EFFECT_CODES;
    double least = names >= CODES_BESIDE ? LEAST_GAIN : ALONE_GAIN;
    for (int k = 0; k < t->n_cols && tried < MOST_TRIED; k++) {
        double *value = NULL;
        bool is_tried = names >= CODES_BESIDE || step->may_be_names[k];
        int n = is_tried && t->col[k].kind == EFFECT_BINS
                    ? code_values(step->spec, step->col[k], MOST_VALUES, &value)
                    : -1;
        if (n <= EFFECT_CUTS + 1) {
            mem_try_free(value);
            continue;
        }
        readers[k].rows.n_levels = n;
        int rc = tried++ == 0 ? columns_gain(trial, &gain, err) : 0;
        if (rc < 0)
            mem_try_free(value);
        if (rc < 0 || code_try(trial, t, &readers[k], value, least, &gain, err) < 0)
            return -1;
    }
    return 0;
}

/* Chooses the penalty and the columns that are names, which then call for another penalty if they are
 * the only ones. 1 = the effects gain something. */
static int state_choose(const struct step_fit *in, const struct effects_in *fit,
                        struct effects_state *t, struct effects_reader *readers, struct err *err)
{
    struct effects_trial *trial = effects_trial_new(fit, err);
    double gain = 0;
    int rc = trial ? penalty_choose(trial, t, &gain, err) : -1, shown = t->n_shown;

    if (rc == 1 && codes_try(in, trial, t, readers, err) < 0)
        rc = -1;
    if (rc == 1 && !in->is_worth)
        rc = t->n_shown > shown ? penalty_choose(trial, t, &gain, err) : 0;
    effects_trial_free(trial);
    return rc;
}

static int state_fit(const struct step_fit *in, struct effects_state *t, struct err *err)
{
    struct effects_reader readers[PREP_SOURCES];
    struct fit_maps maps = { 0 };
    const struct effects_in fit = { t, readers, in->spec->frame, in->spec->target, in->spec->use };
    int rc = readers_fit(in, t, &maps, readers, err);

    if (rc == 0)
        rc = state_choose(in, &fit, t, readers, err);
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
                         struct effects_reader *out)
{
    for (int k = 0; k < t->n_cols; k++) {
        int source = v->step->source[k];
        const struct view_numbers *numbers = &v->view->numbers[source];
        out[k] = (struct effects_reader){ &t->col[k],
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
    struct effects_reader readers[PREP_SOURCES];

    if (!fold)
        return 0;
    readers_view(v, t, readers);
    const struct effects_in in = { t, readers, v->view->frame, fold->target, fold->train };
    v->open = fits_of_fold(&in, err);
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
        step_names(v, k, from, n, x);
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
