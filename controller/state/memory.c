/* memory.c - see memory.h. Formulas know shapes and parameters, not how many rounds a table wants before it stops getting
 * better, nor how soon the leaves of a forest are pure: that is one factor (family_shape.growth), which a worker measures
 * at every level. A trial's own is the best guess of its next level; for one that has none yet the study knows the mean of
 * the logarithms over its trials of the family (half a trial stands for a factor of one). Built from rows alone, as
 * everything of a study in memory is. Called by dispatch.c and trial.c. */
#include "controller/state/memory.h"

#include "controller/problem/config.h"

#include <math.h>

enum { ROW_BYTES = 16, STRIDE = 16, NUMBER_BYTES = 4, MOST = 16 };

/* Of one level alone. */
static int64_t level_bytes(const struct study *st, const struct config *c, int level, double growth)
{
    struct family_shape s = st->problem.shape;

    s.growth = growth;
    return family_level_bytes(c->family, &s, c->params, level);
}

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

/* A level that starts its lanes anew keeps those of the level before until it is reached. */
int64_t memory_of_trial(const struct study *st, const struct trial_mem *t,
                        const struct trial_row *row, int from)
{
    struct config c;
    int to = MAX(row->run_to, 1);

    if (config_parse_text(&c, row->config, NULL) < 0)
        return 0;
    double growth = memory_growth(st, t);
    int64_t bytes = level_bytes(st, &c, to, growth);
    if (from >= 1 && key_of(st, &c, from) != key_of(st, &c, to))
        bytes += level_bytes(st, &c, from, growth);
    return bytes;
}

int64_t memory_of_data(const struct study *st)
{
    const struct family_shape *s = &st->problem.shape;
    int64_t row = ROW_BYTES;
    bool has[FF_DENSE + 1] = { false };

    for (int f = 0; f < st->n_families; f++)
        has[st->families[f]->form] = true;
    row += NUMBER_BYTES * (int64_t)s->columns; /* of the file */
    if (has[FF_BINS])                          /* row by row and column by column */
        row += (s->columns + STRIDE - 1) / STRIDE * STRIDE + s->columns;
    if (has[FF_DENSE])
        row += NUMBER_BYTES * (((int64_t)s->encoded + STRIDE - 1) / STRIDE * STRIDE);
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
