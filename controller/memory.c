/* memory.c - see memory.h. Formulas know shapes and parameters, not how many rounds a table wants before it stops getting
 * better: that is one factor for all trials of a family on a table, more or less (family_shape.growth), and the study
 * learns it from the peaks that its completed trials report (the mean of the logarithms; half a trial stands for a factor
 * of one). Built from rows alone, as everything of a study in memory is. Called by dispatch.c and trial_act.c. */
#include "controller/memory.h"

#include "controller/config.h"

#include <math.h>

#define NOTHING 1e-9 /* a growth: no steps at all */
enum { ROW_BYTES = 16, STRIDE = 16, NUMBER_BYTES = 4, MOST = 16 };

static int folds_of(const struct study *st, const struct family_plan *plan)
{
    int folds = st->problem.shape.folds;

    return plan->folds > 0 ? MIN(plan->folds, folds) : folds;
}

/* Of one level alone. */
static int64_t level_bytes(const struct study *st, const struct config *c, int level, double growth)
{
    struct family_shape s = st->problem.shape;
    struct family_plan plan;

    if (!c->family->host_bytes)
        return 0;
    c->family->plan(c->params, level, &plan);
    s.folds = folds_of(st, &plan);
    s.growth = growth;
    return c->family->host_bytes(&s, c->params);
}

static double key_of(const struct config *c, int level)
{
    struct family_plan plan;

    c->family->plan(c->params, level, &plan);
    return plan.key;
}

static double growth_of(const struct study *st, const struct family *f)
{
    for (int i = 0; i < st->n_families; i++) {
        if (st->families[i] == f)
            return exp(st->memory[i].sum / (st->memory[i].n + 0.5));
    }
    return 1;
}

/* A level that starts its lanes anew keeps those of the level before until it is reached. */
int64_t memory_of_lane(const struct study *st, const struct trial_row *row, int from)
{
    struct config c;
    int to = MAX(row->run_to, 1);

    if (config_parse_text(&c, row->config, NULL) < 0)
        return 0;
    double growth = growth_of(st, c.family);
    int64_t bytes = level_bytes(st, &c, to, growth);
    if (from >= 1 && key_of(&c, from) != key_of(&c, to))
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

/* Only of trials whose levels all go on with the same lanes: another's peak may hold two sets of them. */
void memory_note(struct study *st, struct trial_mem *t, const struct trial_row *row,
                 const json_t *info)
{
    double peak = json_number_value(json_object_get(info, "peak_bytes"));
    struct memory_fit *fit = &st->memory[MAX(t->family, 0)];
    int top = row->max_level;
    struct config c;

    if (t->has_memory || row->level < top || !(peak > 0) ||
        json_is_true(json_object_get(info, "cut")) ||
        config_parse_text(&c, row->config, NULL) < 0 || key_of(&c, 1) != key_of(&c, top))
        return;
    double fixed = (double)level_bytes(st, &c, top, NOTHING),
           steps = (double)level_bytes(st, &c, top, 1) - fixed;
    if (!(steps > fixed / 100))
        return; /* nothing here depends on them */
    fit->sum += log(MIN(MAX((peak - fixed) / steps, 1.0 / MOST), (double)MOST));
    fit->n++;
    t->has_memory = true;
}
