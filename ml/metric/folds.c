/* folds.c - sums over folds (folds.h). */
#include "ml/metric/folds.h"

#include <math.h>

void folds_add(struct folds *f, double size, double value, double se)
{
    if (isnan(value))
        return;
    if (f->n++ == 0)
        f->first = value;
    double v = value - f->first, square = size * size;

    f->sum += size * value;
    f->size += size;
    if (isnan(se)) {
        f->untold += square;
    } else {
        f->within += square * se * se;
        f->told += square;
    }
    f->twice[0] += square;
    f->twice[1] += square * v;
    f->twice[2] += square * v * v;
}

double folds_mean(const struct folds *f)
{
    return f->size > 0 ? f->sum / f->size : (double)NAN;
}

/* The error of the mean of the folds' values. */
static double between(const struct folds *f)
{
    double mean = f->sum / f->size - f->first;
    double square = f->twice[2] - 2 * mean * f->twice[1] + mean * mean * f->twice[0];

    return sqrt(fmax(square, 0) * f->n / (f->n - 1)) / f->size;
}

double folds_error(const struct folds *f)
{
    double square = f->untold > 0 ? f->within * (1 + f->untold / f->told) : f->within;

    if (!(f->told > 0))
        return (double)NAN;
    double within = sqrt(square) / f->size;
    return f->err_together && f->n > 1 ? fmax(within, between(f)) : within;
}
