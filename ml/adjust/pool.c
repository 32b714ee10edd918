/* pool.c - adds up logarithms of probabilities and turns the sums into probabilities (pool.h). */
#include "ml/adjust/pool.h"

#include "ml/math/fmath.h"

#include <math.h>

/* Largest float below 1: a pool never says that something is certain. */
#define MOST_P 0.99999994f

double pool_log(double p)
{
    return fm_log_d(p < POOL_LEAST_P ? POOL_LEAST_P : p);
}

void pool_add(double weight, const float *p, int outputs, int64_t n, double *sum)
{
    for (int64_t i = 0; i < n * outputs; i++) {
        double q = (double)p[i], more = outputs == 1 ? pool_log(q) - pool_log(1 - q) : pool_log(q);
        sum[i] += isnan(q) ? q : weight * more;
    }
}

void pool_end(const double *sum, int outputs, int64_t n, float *out)
{
    for (int64_t i = 0; i < n && outputs == 1; i++)
        out[i] = isnan(sum[i]) ? NAN : fminf((float)fm_sigmoid_d(sum[i]), MOST_P);
    for (int64_t i = 0; i < n && outputs > 1; i++, sum += outputs, out += outputs) {
        double top = -INFINITY, all = 0;
        for (int c = 0; c < outputs; c++)
            top = fmax(top, sum[c]);
        for (int c = 0; c < outputs; c++)
            all += fm_exp_d(sum[c] - top);
        for (int c = 0; c < outputs; c++)
            out[c] = (float)(fm_exp_d(sum[c] - top) / all);
    }
}
