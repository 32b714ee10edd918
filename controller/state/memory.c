/* memory.c - forecasts of memory (memory.h).
 *
 * A family's formula knows the shape of the table and the parameters. It does not know how many
 * rounds boosting will take before it stops getting better, nor how soon the leaves of a forest are
 * pure. Both are expressed as one factor on the size of the trees (family_shape.growth), which
 * workers measure at every level. A trial's own factor is the best guess for its next level. A
 * trial that has none yet gets the mean of its family in this study, taken over logarithms, with
 * half a trial of factor 1 added so that the first measurement does not count alone. Factors are
 * stored in the trials' rows (info.growth), so a reload finds them again. */
#include "controller/state/memory.h"

#include "controller/problem/config.h"

#include <math.h>

enum {
    ROW_BYTES = 16,   /* for each row, beside its columns */
    STRIDE = 16,      /* rows of bins and of encoded numbers are padded to so many columns */
    NUMBER_BYTES = 4, /* a float */
    MOST = 16         /* measured factors are limited to 1/16..16, in case one is wrong */
};

/* Bytes of training at one level alone. */
static int64_t level_bytes(const struct study *st, const struct config *c, int level, double growth)
{
    struct family_shape s = st->problem.shape;

    s.growth = growth;
    return family_level_bytes(c->family, &s, c->params, level);
}

/* Levels with the same key continue the same training; a level with another key begins anew. */
static double key_of(const struct study *st, const struct config *c, int level)
{
    struct family_plan plan;

    family_level_plan(c->family, &st->problem.shape, c->params, level, &plan);
    return plan.key;
}

double memory_growth(const struct study *st, const struct trial_mem *t)
{
    const struct memory_fit *fit = &st->memory[MAX(t->family, 0)];

    return t->growth > 0 ? t->growth : exp(fit->sum / (fit->n + 0.5));
}

/* Bytes that a row takes in a form of the table, of all folds where each has its own. */
static int64_t form_row_bytes(const struct family_shape *s, enum family_form form)
{
    int64_t forms = s->by_fold ? MAX(s->folds, 1) : 1;

    if (form == FF_BINS) /* bins are kept twice: row by row, and column by column */
        return forms * ((s->columns + STRIDE - 1) / STRIDE * STRIDE + s->columns);
    if (form == FF_DENSE)
        return forms * NUMBER_BYTES * (((int64_t)s->encoded + STRIDE - 1) / STRIDE * STRIDE);
    return form == FF_IMAGES ? family_image_values(&s->image) : 0;
}

/* A configuration that chooses something of the preparation trains on a form of its own. Trials with
 * equal choices share one, which is not known here: this is the most that they take. */
static bool has_own_form(const struct config *c)
{
    for (int i = 0; i < c->family->n_params; i++) {
        if (c->family->params[i].axis == FA_PREP && c->params[i] > 0)
            return true;
    }
    return false;
}

/* If training begins anew at the level that is run to, the models of the level before stay in
 * memory until then, because the trial must have a result at any time. */
int64_t memory_of_trial(const struct study *st, const struct trial_mem *t,
                        const struct trial_row *row, int from)
{
    struct config c;
    int to = MAX(row->run_to, 1);

    if ((row->config_json ? config_parse(&c, row->config_json, NULL, st->space.own, NULL)
                          : config_parse_text(&c, row->config, st->space.own, NULL)) < 0)
        return 0;
    double growth = memory_growth(st, t);
    int64_t bytes = level_bytes(st, &c, to, growth);
    if (from >= 1 && key_of(st, &c, from) != key_of(st, &c, to))
        bytes += level_bytes(st, &c, from, growth);
    if (bytes > 0 && has_own_form(&c))
        bytes += form_row_bytes(&st->problem.shape, c.family->form) * st->problem.data.rows;
    return bytes;
}

int64_t memory_of_data(const struct study *st)
{
    const struct family_shape *s = &st->problem.shape;
    int64_t row = ROW_BYTES;
    bool has[FF_IMAGES + 1] = { false };

    for (int f = 0; f < st->n_families; f++)
        has[st->families[f]->form] = true;
    /* The mapped file: a value of an image mostly takes one byte, and any other number four. */
    int64_t pixels = family_image_values(&s->image);
    row += NUMBER_BYTES * ((int64_t)s->columns - pixels) + pixels;
    for (int form = 0; form <= FF_IMAGES; form++)
        row += has[form] ? form_row_bytes(s, (enum family_form)form) : 0;
    return row * st->problem.data.rows;
}

void memory_note(struct study *st, struct trial_mem *t, double growth)
{
    struct memory_fit *fit = &st->memory[MAX(t->family, 0)];

    if (!(growth > 0))
        return;
    growth = MIN(MAX(growth, 1.0 / MOST), (double)MOST);
    fit->sum += log(growth) - (t->growth > 0 ? log(t->growth) : 0);
    fit->n += !(t->growth > 0);
    t->growth = growth;
}
