/* folds.c - sums over folds (folds.h). */
#include "ml/metric/folds.h"

#include <math.h>

void folds_add(struct folds *f, double value, double se, double weight)
{
    if (isnan(value))
        return;
    if (f->n++ == 0)
        f->first = value;
    double v = value - f->first, w2 = weight * weight;

    f->sum += weight * value;
    f->weight += weight;
    f->within += w2 * se * se;
    f->twice[0] += w2;
    f->twice[1] += w2 * v;
    f->twice[2] += w2 * v * v;
}

double folds_mean(const struct folds *f)
{
    return f->weight > 0 ? f->sum / f->weight : (double)NAN;
}

double folds_error(const struct folds *f)
{
    if (!(f->weight > 0))
        return (double)NAN;
    double within = sqrt(f->within) / f->weight, mean = f->sum / f->weight - f->first;

    if (!f->err_together || f->n < 2 || isnan(within))
        return within;
    double between = f->twice[2] - 2 * mean * f->twice[1] + mean * mean * f->twice[0];

    return fmax(within, sqrt(fmax(between, 0) * f->n / (f->n - 1)) / f->weight);
}
