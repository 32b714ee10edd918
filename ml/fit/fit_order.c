/* fit_order.c - how surely a trial ranks held-out rows as their targets do, whatever the metric says.
 *
 * The rank correlation of what was predicted and what is true (Spearman, The proof and measurement of
 * association between two things, 1904), fold by fold. If the targets were dealt out to the rows by
 * chance, its variance would be 1 / (rows - 1), also where ranks are equal (Pitman, Significance tests
 * which may be applied to samples from any populations II, 1937). Of targets with a long tail, as
 * costs and times are, single rows make most of a squared error, so that its difference from the
 * baseline's drowns in their chance where the order of the rows is beyond doubt
 * (controller/state/honest.c). */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Rows of a fold that are looked at, evenly spaced: enough for any doubt. */
enum { ORDER_ROWS = 1000 };

struct ranked {
    double value, rank;
    int at;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return x->value < y->value ? -1 : x->value > y->value;
}

/* Fills rank[n]: of equal values their mean rank, less the mean of all ranks. */
static void rank(struct ranked *list, int n, double *out)
{
    qsort(list, (size_t)n, sizeof *list, by_value);
    for (int i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && list[end].value == list[i].value; end++)
            ;
        for (int k = i; k < end; k++)
            out[list[k].at] = (i + end - 1) / 2.0 - (n - 1) / 2.0;
    }
}

/* The correlation of both ranks; 0 where one of them is all equal. */
static double correlate(const double *a, const double *b, int n)
{
    double aa = 0, bb = 0, ab = 0;

    for (int i = 0; i < n; i++) {
        aa += a[i] * a[i];
        bb += b[i] * b[i];
        ab += a[i] * b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

double fit_order(const struct fit_trial *t, const struct fit_run *r, int folds)
{
    struct ranked *list = mem_array(ORDER_ROWS, sizeof *list);
    double predicted[ORDER_ROWS], truth[ORDER_ROWS], sum = 0, all = 0;
    bool is_ordered = t->d->spec.task != ML_MULTICLASS && !t->d->group && !t->d->time;

    for (int f = 0; f < folds && is_ordered; f++) {
        int64_t every = (t->rows[f].n_held + ORDER_ROWS - 1) / ORDER_ROWS;
        int n = 0;

        for (int64_t i = 0; i < t->rows[f].n_held; i += MAX(every, 1), n++)
            list[n] = (struct ranked){ .value = (double)r->best[f][i], .at = n };
        rank(list, n, predicted);
        for (int i = 0; i < n; i++)
            list[i] = (struct ranked){ .value = t->y[f][i * every], .at = i };
        rank(list, n, truth);
        sum += correlate(predicted, truth, n) * (n - 1);
        all += n - 1;
    }
    mem_free(list);
    return all > 0 && isfinite(sum) ? sum / sqrt(all) : 0;
}
