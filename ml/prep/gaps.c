/* gaps.c - how gaps are read (gaps.h); gaps_fit.c finds them. */
#include "ml/prep/gaps.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

void gap_free(struct prep_gap *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n_from; i++) {
        mem_free(g->from[i].at);
        mem_free(g->from[i].value);
    }
    mem_free(g);
}

bool gap_blank(const struct prep_gap *g, double *x, int64_t n)
{
    bool is_missing = false;

    for (int64_t i = 0; g && i < n; i++) {
        x[i] = x[i] == g->blank ? (double)NAN : x[i];
        is_missing |= isnan(x[i]) != 0;
    }
    return is_missing;
}

static double gap_value(const struct gap_from *f, double y)
{
    int lo = 0, hi = f->n - 1;

    if (y <= f->at[0])
        return f->value[0];
    if (y >= f->at[hi])
        return f->value[hi];
    while (hi - lo > 1) {
        int middle = (lo + hi) / 2;
        if (f->at[middle] <= y)
            lo = middle;
        else
            hi = middle;
    }
    double part = (y - f->at[lo]) / (f->at[hi] - f->at[lo]);
    return f->value[lo] + part * (f->value[hi] - f->value[lo]);
}

void gap_close(const struct prep_gap *g, gap_reader *read, const void *arg, int64_t from, int64_t n,
               double *x)
{
    double y[GAP_BLOCK], sum[GAP_BLOCK], weight[GAP_BLOCK];

    for (int64_t at = 0; g && at < n; at += GAP_BLOCK) {
        int64_t some = MIN(n - at, (int64_t)GAP_BLOCK);
        if (!gap_blank(g, x + at, some))
            continue;
        memset(sum, 0, sizeof sum);
        memset(weight, 0, sizeof weight);
        for (int k = 0; k < g->n_from; k++) {
            read(arg, g->from[k].source, from + at, some, y);
            for (int64_t i = 0; i < some; i++) {
                if (!isnan(x[at + i]) || isnan(y[i]))
                    continue;
                sum[i] += g->from[k].weight * gap_value(&g->from[k], y[i]);
                weight[i] += g->from[k].weight;
            }
        }
        for (int64_t i = 0; i < some; i++) {
            if (weight[i] > 0)
                x[at + i] = sum[i] / weight[i];
        }
    }
}

void gaps_free(struct gaps *g)
{
    for (int i = 0; g->of && i < g->n_cols; i++)
        gap_free(g->of[i]);
    mem_free(g->of);
    *g = (struct gaps){ 0 };
}
