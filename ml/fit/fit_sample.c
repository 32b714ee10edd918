/* fit_sample.c - rows that the folds of a trial hold out, with their predictions at the chosen step, from
 * which adjustments are learnt. Called by fit_adjust.c, fit_power.c. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

void fit_sample_free(struct fit_sample *s)
{
    mem_try_free(s->p);
    mem_try_free(s->y);
    mem_try_free(s->weight);
    mem_try_free(s->part);
}

static int sample_alloc(struct fit_sample *s, const struct fit_trial *t, int64_t n, struct err *err)
{
    size_t rows = (size_t)n + 1, k = (size_t)t->d->n_outputs;

    s->p = mem_try_alloc(rows * k * sizeof *s->p);
    s->y = mem_try_alloc(rows * sizeof *s->y);
    s->weight = t->d->weight ? mem_try_alloc(rows * sizeof *s->weight) : NULL;
    s->part = mem_try_alloc(rows);
    if (!s->p || !s->y || (t->d->weight && !s->weight) || !s->part)
        return err_set(err, ERR_NOMEM, "no memory to learn from %lld rows", (long long)n);
    return 0;
}

int fit_sample_take(struct fit_sample *s, const struct fit_trial *t, const struct fit_run *r,
                    int folds, int64_t every, struct err *err)
{
    int k = t->d->n_outputs;
    int64_t n = 0, most = 0;

    for (int f = 0; f < folds; f++)
        most += t->rows[f].n_held / every + 1;
    if (sample_alloc(s, t, most, err) < 0)
        return -1;
    for (int f = 0; f < folds; f++) {
        for (int64_t i = 0; i < t->rows[f].n_held; i += every, n++) {
            memcpy(s->p + n * k, r->best[f] + i * k, (size_t)k * sizeof *s->p);
            s->y[n] = t->y[f][i];
            s->part[n] = (uint8_t)fit_part_of(folds, every, f, i);
            if (s->weight)
                s->weight[n] = t->weight[f] ? t->weight[f][i] : 1;
        }
    }
    s->rows = (struct adjust_rows){ .task = t->d->spec.task,
                                    .metric = t->d->spec.metric,
                                    .outputs = k,
                                    .classes = t->d->n_classes,
                                    .n = n,
                                    .every = every,
                                    .p = s->p,
                                    .y = s->y,
                                    .weight = s->weight,
                                    .part = s->part,
                                    .parts = folds > 1 ? MIN(folds, ADJUST_PARTS) : ADJUST_PARTS };
    return 0;
}
