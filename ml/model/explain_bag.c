/* explain_bag.c - the rescale rule for a bag of models (explain_bag.h). Called by artifact.c. */
#include "ml/model/explain_bag.h"

#include "base/base.h"
#include "ml/math/fmath.h"

#include <math.h>

/* beyond this score nothing is left of 1 - p, or of a rate */
#define MOST_SCORE 700.0
/* below this distance the secant is replaced by the tangent */
#define NEAR 1e-6

/* out: p and 1 - p, each computed from the side that is small, so that neither loses digits. */
static void predict(enum explain_link link, double score, double out[2])
{
    double s = fmin(fmax(score, -MOST_SCORE), MOST_SCORE), e = fm_exp_d(-fabs(s));

    if (link == EXPLAIN_LOG) {
        out[0] = fm_exp_d(s);
        out[1] = 0;
        return;
    }
    out[s < 0] = 1 / (1 + e);
    out[s >= 0] = e / (1 + e);
}

/* How much the prediction moves per unit of the score, at p. */
static double slope(enum explain_link link, const double p[2])
{
    return link == EXPLAIN_LOG ? p[0] : p[0] * p[1];
}

/* p less q, computed from the smaller of the two sides of each. */
static double moved(enum explain_link link, const double p[2], const double q[2])
{
    return link == EXPLAIN_LOG_ODDS && p[0] + q[0] > 1 ? q[1] - p[1] : p[0] - q[0];
}

static double score_of(enum explain_link link, const double p[2])
{
    return link == EXPLAIN_LOG ? fm_log_d(p[0]) : fm_log_d(p[0]) - fm_log_d(p[1]);
}

static double sum_of(const double *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

void explain_bag_add(enum explain_link link, const double *one, int inputs, int64_t n,
                     struct explain_sums *sums, double *out)
{
    for (int64_t i = 0; i < n; i++, one += inputs + 1, out += inputs + 1) {
        double from = one[inputs], by = sum_of(one, inputs), rate = 1, p[2] = { 0 }, q[2] = { 0 };
        if (link != EXPLAIN_SAME) {
            predict(link, from + by, p);
            predict(link, from, q);
            rate = fabs(by) < NEAR ? slope(link, q) : moved(link, p, q) / by;
            sums[i].moved += rate * by;
            for (int side = 0; side < 2; side++) {
                sums[i].row[side] += p[side];
                sums[i].base[side] += q[side];
            }
        }
        for (int c = 0; c < inputs; c++)
            out[c] += rate * one[c];
        out[inputs] += from;
    }
}

void explain_bag_end(enum explain_link link, int models, int inputs, int64_t n,
                     const struct explain_sums *sums, double *out)
{
    for (int64_t i = 0; i < n; i++, out += inputs + 1) {
        double share = 1.0 / models, p[2], q[2];
        if (link == EXPLAIN_SAME) {
            for (int c = 0; c <= inputs; c++)
                out[c] *= share;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            p[side] = sums[i].row[side] * share;
            q[side] = sums[i].base[side] * share;
        }
        double from = score_of(link, q), by = score_of(link, p) - from, way = sums[i].moved * share,
               rate = fabs(by) < NEAR || way == 0 ? 1 / slope(link, q) : by / way;
        for (int c = 0; c < inputs; c++)
            out[c] *= rate * share;
        out[inputs] = from;
    }
}
