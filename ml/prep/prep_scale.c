/* prep_scale.c - numbers that are changed before they are used: columns that leave the range of
 * float32, columns with so heavy tails that their spread is that of a few rows, and what
 * configurations choose (enum prep_scale). Called by prep_fit.c, prep_view.c and prep_dense.c. */
#include "base/base.h"
#include "base/bisect.h"
#include "base/mem.h"
#include "ml/cpu/column.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"
#include "ml/prep/prep_private.h"

#include <math.h>

/* OUT_SHARE: a column is scaled by magnitude where more than one in so many values is beyond
 * float32. HEAVY: and by logarithm where its standard deviation is so many times the spread of its
 * middle (a normal distribution has 1; the largest on the shared tables is 3). */
enum { OUT_SHARE = 200, HEAVY = 4 };
/* ROBUST_REACH: no number is further from the median than so many spreads. RANK_RIM: ranks are held
 * to so much from 0 and 1. */
#define ROBUST_REACH 3.0
#define RANK_RIM     1e-3

/* 0 is 0; else the sign, and a distance that grows with the logarithm: the exponent, from 1 for the
 * least number there is, and between powers of two in proportion. Exact on every machine. */
double prep_magnitude(double x)
{
    int exponent = 0;
    double mantissa = frexp(fabs(x), &exponent);

    if (!isfinite(x) || x == 0)
        return x;
    double size = exponent + 2 * mantissa - 1 + 1074;
    return x < 0 ? -size : size;
}

static double log_scaled(const struct prep_col *c, double x)
{
    double z = (x - c->median) / c->unit, size = fm_log_d(1 + MIN(fabs(z), 1e300));

    return z < 0 ? -size : size;
}

static double robust_scaled(const struct prep_col *c, double x)
{
    double z = (x - c->median) / c->unit, far = MIN(fabs(z), 1e100) / ROBUST_REACH;
    double size = ROBUST_REACH * far / sqrt(1 + far * far);

    return z < 0 ? -size : size;
}

/* The share of the training rows below x, linear within a bin. */
static double rank_of(const struct prep_col *c, double x)
{
    int b;

    if (!(x > c->lo) || !(x < c->hi))
        return x >= c->hi ? 1 : 0;
    BISECT(b, c->n_bins - 1, (double)c->cuts[b] < x);
    double from = b > 0 ? (double)c->cuts[b - 1] : c->lo,
           to = b < c->n_bins - 1 ? (double)c->cuts[b] : c->hi;
    double part = to > from ? (MIN(MAX(x, from), to) - from) / (to - from) : 0.5;
    return c->ranks[b] + part * (c->ranks[b + 1] - c->ranks[b]);
}

static double rank_scaled(const struct prep_col *c, double x)
{
    double rank = rank_of(c, x);

    rank = MIN(MAX(rank, RANK_RIM), 1 - RANK_RIM);
    return fm_log_d(rank / (1 - rank));
}

double prep_scaled(const struct prep_col *c, double x)
{
    switch (c->scale) {
    case PREP_LOG:
        return log_scaled(c, x);
    case PREP_ROBUST:
        return robust_scaled(c, x);
    case PREP_RANKS:
        return rank_scaled(c, x);
    default:
        return x;
    }
}

bool prep_leaves_float(const double *sample, int64_t n)
{
    int64_t finite, out;

    column_outside(sample, n, &finite, &out);
    return out * OUT_SHARE > finite;
}

/* The spread of the middle of the column that was cut last: of a normal distribution, its standard
 * deviation. 0 = there is none. */
static double middle_spread(const struct prep_sorter *s)
{
    /* what is beyond float32 was cut as this */
    const double most = 3.4028234663852886e38;
    int64_t m = s->n_sorted;

    if (m == 0)
        return 0;
    double lo = (double)ml_key_f32_value(s->key[m / 10]),
           hi = (double)ml_key_f32_value(s->key[m - 1 - m / 10]);
    return fabs(lo) < most && fabs(hi) < most ? (hi - lo) / 2.563 : 0;
}

/* How many rows of the sample are up to each cut. */
static void ranks_take(struct prep_col *col, const double *sample, int64_t n)
{
    int64_t m = 0;

    col->ranks = mem_array((size_t)col->n_bins + 1, sizeof *col->ranks);
    for (int64_t i = 0; i < n; i++) {
        int b;
        if (isnan(sample[i]))
            continue;
        BISECT(b, col->n_bins - 1, col->cuts[b] < (float)sample[i]);
        col->ranks[b + 1] += 1;
        m++;
    }
    for (int b = 0; b < col->n_bins; b++)
        col->ranks[b + 1] = col->ranks[b] + col->ranks[b + 1] / (double)MAX(m, 1);
    col->ranks[col->n_bins] = 1;
    for (int b = 0; b < col->n_bins; b++)
        col->ranks[b] = MIN(col->ranks[b], 1);
}

void prep_scale_fit(struct prep_col *col, int choice, double *sample, int64_t n,
                    const struct prep_sorter *s)
{
    struct column_moments m;
    struct column_total t;
    double unit = choice == SCALE_STANDARD ? 0 : middle_spread(s);

    if (choice == SCALE_QUANTILE) {
        col->scale = PREP_RANKS;
        ranks_take(col, sample, n);
    } else if (choice == SCALE_ROBUST && unit > 0) {
        col->scale = PREP_ROBUST;
    } else if (choice != SCALE_STANDARD && unit > 0 && col->sd > HEAVY * unit) {
        col->scale = PREP_LOG;
    } else {
        return;
    }
    col->unit = col->scale == PREP_RANKS ? 0 : unit;
    for (int64_t i = 0; i < n; i++) {
        double x = isnan(sample[i]) ? col->median : sample[i];
        sample[i] = prep_scaled(col, MAX(col->lo, MIN(x, col->hi)));
    }
    column_moments_init(&m, 0);
    column_moments_add(&m, sample, NULL, n);
    column_moments_total(&m, &t);
    double mean = t.sum / (double)t.n, spread = t.squares / (double)t.n - mean * mean;
    col->mean = mean;
    col->sd = spread > 0 ? sqrt(spread) : 1;
}
