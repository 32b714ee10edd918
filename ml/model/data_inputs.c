/* data_inputs.c - which columns of the table are inputs, their preparation, and the constraints on
 * their directions. The preparation is fitted once as the data suggests, and once for each other
 * choice that a configuration makes (variant.c). Called by data.c and variant.c. */
#include "base/mem.h"
#include "ml/model/data_private.h"

#include <string.h>

static int monotone_columns(const struct ml_data *d, int8_t *direction, struct err *err)
{
    const struct frame *f = d->spec.frame;

    for (int i = 0; i < d->spec.n_monotone; i++) {
        const struct ml_monotone *m = &d->spec.monotone[i];
        int at = frame_find(f, m->column);
        if (at < 0 || strcmp(m->column, d->spec.target) == 0)
            return err_at(err, "monotone", "the table has no input \"%.100s\"", m->column);
        if (f->cols[at].type == FRAME_CATEGORICAL)
            return err_at(err, "monotone", "column \"%.100s\" holds no numbers", m->column);
        direction[at] = (int8_t)m->direction;
    }
    return 0;
}

int ml_inputs_take(struct ml_data *d, struct err *err)
{
    const struct ml_rows_spec *by = &d->spec.by;
    struct ml_inputs *in = mem_zalloc(sizeof *in);
    int n = 0;

    d->shared->inputs = in;
    in->skip[n++] = mem_strdup(d->spec.target);
    if (by->groups && *by->groups && !by->groups_are_input)
        in->skip[n++] = mem_strdup(by->groups);
    if (by->time && *by->time && !by->time_is_input)
        in->skip[n++] = mem_strdup(by->time);
    if (by->weights && *by->weights)
        in->skip[n++] = mem_strdup(by->weights);
    CHECK(n < ML_MOST_SKIPPED);
    if (d->spec.n_monotone == 0)
        return 0;
    if (d->spec.task == ML_MULTICLASS)
        return err_at(err, "monotone", "needs a target of two classes or of numbers");
    in->direction = mem_array((size_t)d->spec.frame->n_cols, sizeof *in->direction);
    return monotone_columns(d, in->direction, err);
}

void ml_inputs_free(struct ml_inputs *in)
{
    for (int i = 0; in && i < ML_MOST_SKIPPED; i++)
        mem_free(in->skip[i]);
    if (in)
        mem_free(in->direction);
    mem_free(in);
}

static int8_t input_direction(const struct ml_data *d, const int8_t *direction, int input)
{
    int column[PREP_SOURCES];

    if (prep_input_step(d->prep, input))
        return 0;
    prep_input_columns(d->prep, input, column);
    return direction[frame_find(d->spec.frame, prep_column_name(d->prep, column[0]))];
}

/* No step uses a column with a constraint. A column that the preparation has dropped (a constant
 * one) has no input and needs no constraint. */
int ml_inputs_prepare(struct ml_data *d, const struct prep_choice *choice, struct err *err)
{
    const struct ml_inputs *in = d->shared->inputs;
    const struct prep_target target = ml_data_prep_target(d);
    uint8_t *plain = mem_array((size_t)d->spec.frame->n_cols + 1, 1);

    for (int i = 0; in->direction && i < d->spec.frame->n_cols; i++)
        plain[i] = in->direction[i] != 0;
    const struct prep_spec spec = { .frame = d->spec.frame,
                                    .skip = (const char *const *)in->skip,
                                    .use = d->shared->use,
                                    .target = &target,
                                    .plain = plain,
                                    .choice = *choice,
                                    .like = d->shared->base ? d->shared->base->prep : NULL };
    d->choice = *choice;
    d->prep = prep_fit(&spec, err);
    mem_free(plain);
    if (!d->prep || !in->direction)
        return d->prep ? 0 : -1;
    d->monotone = mem_array((size_t)prep_inputs(d->prep), sizeof *d->monotone);
    for (int k = 0; k < prep_inputs(d->prep); k++)
        d->monotone[k] = input_direction(d, in->direction, k);
    return 0;
}
