/* marginals.c - chi-squared of marginals: a continuous range is cut into 50 equal parts of its (log) scale, everything else
 * is counted by cell. */
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include <math.h>

enum { BINS_MAX = 256 };

double marginals_chi(const double *count, const double *share, int bins)
{
    double n = 0, chi = 0, df = bins - 1;

    for (int i = 0; i < bins; i++)
        n += count[i];
    for (int i = 0; i < bins; i++) {
        assert_true(share[i] * n >= 5);
        chi += (count[i] - share[i] * n) * (count[i] - share[i] * n) / (share[i] * n);
    }
    return (cbrt(chi / df) - (1 - 2 / (9 * df))) / sqrt(2 / (9 * df));
}

void marginals_even(double *share, int bins)
{
    for (int i = 0; i < bins; i++)
        share[i] = 1.0 / bins;
}

/* The bin of a value: its cell, or one of 50 equal parts of the (log) range. */
static int bin_of(const struct param *p, double v)
{
    if (p->kind != PARAM_FLOAT || p->step > 0)
        return (int)param_cell(p, v);
    double t = p->is_log ? (log(v) - log(p->lo)) / (log(p->hi) - log(p->lo))
                         : (v - p->lo) / (p->hi - p->lo);
    return (int)fmin(49, floor(t * 50));
}

static int shares_of(const struct param *p, double *share)
{
    if (p->kind == PARAM_FLOAT && p->step == 0) {
        marginals_even(share, 50);
        return 50;
    }
    int bins = (int)param_size(p);
    marginals_even(share, bins);
    for (int k = 0; p->kind == PARAM_INT && p->is_log && k < bins; k++) {
        double v = p->lo + k;
        share[k] = log((v + 0.5) / (v - 0.5)) / log((p->hi + 0.5) / (p->lo - 0.5));
    }
    return bins;
}

double marginals_surprise(const struct space *s, const double *points, int n, int i)
{
    double count[BINS_MAX] = { 0 }, share[BINS_MAX];
    int bins = shares_of(&s->params[i], share);

    for (int k = 0; k < n; k++) {
        double v = points[(size_t)k * (size_t)s->n + (size_t)i];
        if (!isnan(v))
            count[bin_of(&s->params[i], v)]++;
    }
    return marginals_chi(count, share, bins);
}

struct space *marginals_space(void)
{
    struct space *s = space_new();

    spaces_float(s, "float", -3, 5, 0, false);
    spaces_float(s, "log", 1e-5, 10, 0, true);
    spaces_float(s, "step", 0, 1, 0.1, false);
    spaces_int(s, "int", -3, 12, 0, false);
    spaces_int(s, "int step", 0, 96, 8, false);
    spaces_int(s, "int log", 1, 100, 0, true);
    spaces_choice(s, "categorical", 7, false);
    spaces_choice(s, "ordinal", 5, true);
    int parent = spaces_choice(s, "parent", 4, false);
    spaces_float(s, "child float", 0, 1, 0, false);
    spaces_under(s, parent, 6);
    spaces_int(s, "child log", 2, 40, 0, true);
    spaces_under(s, parent, 2);
    int nested = spaces_choice(s, "nested", 3, true);
    spaces_under(s, parent, 8);
    spaces_float(s, "deep", 1, 1000, 0, true);
    spaces_under(s, nested, 5);
    return s;
}
