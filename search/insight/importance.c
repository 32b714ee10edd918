/* importance.c - PED-ANOVA: a parameter matters if the best tenth of the trials have other values
 * of it than all trials have (Watanabe, Bansal, Hutter, PED-ANOVA: Efficiently Quantifying
 * Hyperparameter Importance in Arbitrary Subspaces, IJCAI 2023). The importance is (gamma'/gamma)^2
 * times the Pearson divergence of the density of the top from the density of all (equation 16).
 * Here gamma' = 0.1 and gamma = 1, so the factor is the same for all parameters and is left out.
 *
 * Densities are over the choices of a parameter, or over at most 50 cells of a number's unit scale.
 * A number has a Gaussian kernel for each cell that was hit, cut to the scale, with Scott's
 * bandwidth, plus a prior kernel of weight 1. A bandwidth is never so narrow that more than 90 % of
 * a kernel fall into its own cell. A category has its counts plus the same prior. (Optuna smears
 * each category over the others by a fixed share. A choice that decides everything then ranks below
 * the noise of numbers, however many trials there are.)
 *
 * Conditional parameters (the paper's extension to changing domains): only trials in which the
 * parameter was active are compared. With alpha and beta the shares of the top and of all trials in
 * which it was active, the importance is alpha^2 / beta times the divergence among those. Whether
 * the parameter is active at all is the importance of its parent, not its own. */
#include "search/insight/importance.h"

#include "search/space/exact_math.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* gamma' of the paper; the bandwidth with which 90 % of a kernel fall into its own cell (1.64
 * standard deviations are half a cell); and a density that keeps the divergence finite. */
#define QUANTILE  0.1
#define MIN_SIGMA (0.5 / 1.64)
#define TINY      1e-12
enum { GRID = 50, MIN_TOP = 2 };

bool importance_concerns(const struct param *p)
{
    return p->axis != AXIS_FREE && param_size(p) > 1;
}

/* ---- the better part ---- */

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* The gain from which a trial counts as top, ties included; *n becomes the number of gains that are
 * not NaN. */
static double top_from(const struct importance_data *d, int *n)
{
    double *sorted = mem_array((size_t)d->n + 1, sizeof *sorted);

    *n = 0;
    for (int i = 0; i < d->n; i++) {
        if (!isnan(d->gains[i]))
            sorted[(*n)++] = d->gains[i];
    }
    qsort(sorted, (size_t)*n, sizeof *sorted, descending);
    int n_top = MAX((int)ceil(QUANTILE * *n), MIN_TOP);
    double from = *n > MIN_TOP ? sorted[n_top - 1] : NAN;
    if (*n > MIN_TOP && from == sorted[*n - 1])
        from = NAN; /* all trials are top, so nothing tells good from bad */
    mem_free(sorted);
    return from;
}

/* ---- densities over cells ---- */

/* Marsaglia, Evaluating the Normal Distribution, 2004. */
static double normal_cdf(double x)
{
    double term = x, sum = x, last = 0;

    if (fabs(x) > 8)
        return x > 0 ? 1 : 0;
    for (double k = 3; sum != last; k += 2) {
        last = sum;
        term = term * (x * x / k);
        sum = sum + term;
    }
    return 0.5 + sum * search_exp(-0.5 * x * x - 0.91893853320467274178);
}

static int grid_of(const struct param *p)
{
    double size = param_size(p);

    if (p->kind == PARAM_CATEGORICAL || size <= GRID)
        return (int)size;
    return GRID;
}

static int cell_of(const struct param *p, int grid, float unit)
{
    if (p->kind == PARAM_INT && p->is_log && param_size(p) == grid)
        return (int)param_cell(p, param_from_unit(p, unit)); /* here values differ in width */
    return MIN(grid - 1, (int)((double)unit * grid));
}

/* The first cell up to which `want` trials are counted (`beyond`: more than `want`). Cells without
 * a trial are passed. */
static int quantile_cell(const double *count, int grid, double want, bool beyond)
{
    double sum = 0;
    int last = 0;

    for (int c = 0; c < grid; c++) {
        if (count[c] == 0)
            continue;
        sum += count[c];
        last = c;
        if (beyond ? sum > want : sum >= want)
            return c;
    }
    return last;
}

/* Scott's rule, in cells: 1.059 min(sd, iqr / 1.34) n^(-1/5). */
static double bandwidth(const double *count, int grid, double n)
{
    double mean = 0, ss = 0;

    for (int c = 0; c < grid; c++)
        mean += count[c] * c / n;
    for (int c = 0; c < grid; c++)
        ss += count[c] * (c - mean) * (c - mean);
    double sd = sqrt(ss / fmax(1, n - 1));
    double iqr = quantile_cell(count, grid, floor(n * 3 / 4), true) -
                 quantile_cell(count, grid, floor(n / 4), false);
    double sigma = 1.059 * fmin(iqr / 1.34, sd) * search_exp(-0.2 * search_log(n));
    return fmax(sigma, MIN_SIGMA);
}

/* Adds a normal distribution with this weight, cut to the scale and summed over each cell. */
static void add_kernel(double *pdf, int grid, double mean, double sigma, double weight)
{
    double low = normal_cdf((-0.5 - mean) / sigma), at = low;
    double whole = normal_cdf((grid - 0.5 - mean) / sigma) - low;

    for (int c = 0; c < grid; c++) {
        double next = normal_cdf((c + 0.5 - mean) / sigma);
        pdf[c] += weight * (next - at) / whole;
        at = next;
    }
}

static void density_of_number(const double *count, int grid, double n, double *pdf)
{
    double sigma = bandwidth(count, grid, n);

    for (int c = 0; c < grid; c++) {
        if (count[c] > 0)
            add_kernel(pdf, grid, c, sigma, count[c] / (n + 1));
    }
    add_kernel(pdf, grid, 0.5 * (grid - 1), grid, 1 / (n + 1));
}

static void density_of_choice(const double *count, int grid, double n, double *pdf)
{
    for (int c = 0; c < grid; c++)
        pdf[c] = (count[c] + 1.0 / grid) / (n + 1);
}

static void density(const struct param *p, const double *count, int grid, double *pdf)
{
    double n = 0;

    for (int c = 0; c < grid; c++)
        n += count[c];
    memset(pdf, 0, (size_t)grid * sizeof *pdf);
    if (p->kind == PARAM_CATEGORICAL)
        density_of_choice(count, grid, n, pdf);
    else
        density_of_number(count, grid, n, pdf);
}

/* Pearson's divergence: the sum of all (top / all - 1)^2. */
static double divergence(const double *top, const double *all, int grid)
{
    double sum = 0;

    for (int c = 0; c < grid; c++) {
        double ratio = (top[c] + TINY) / (all[c] + TINY) - 1;
        sum += (all[c] + TINY) * ratio * ratio;
    }
    return sum;
}

/* ---- the estimate ---- */

static double importance_of(const struct importance_data *d, int param, double from, int n)
{
    const struct param *p = &d->space->params[param];
    int grid = grid_of(p), n_top = 0, all_here = 0, top_here = 0;
    double *count = mem_array(4 * (size_t)grid, sizeof *count), *top_count = count + grid;
    double *pdf = top_count + grid, *top_pdf = pdf + grid, out = 0;

    for (int i = 0; i < d->n; i++) {
        float unit = d->units[(size_t)i * (size_t)d->space->n + (size_t)param];
        bool is_top = d->gains[i] >= from;

        n_top += is_top;
        if (isnan(d->gains[i]) || isnan(unit))
            continue;
        int cell = cell_of(p, grid, unit);
        CHECK(cell >= 0 && cell < grid);
        count[cell]++;
        top_count[cell] += is_top;
        all_here++;
        top_here += is_top;
    }
    if (top_here > 0) {
        double alpha = (double)top_here / n_top, beta = (double)all_here / n;

        density(p, count, grid, pdf);
        density(p, top_count, grid, top_pdf);
        out = alpha * alpha / beta * divergence(top_pdf, pdf, grid);
    }
    mem_free(count);
    return out;
}

int importance_ped_anova(const struct importance_data *d, double *out)
{
    int n = 0;
    double from = top_from(d, &n);

    for (int j = 0; j < d->space->n; j++) {
        bool counts = !isnan(from) && importance_concerns(&d->space->params[j]);
        out[j] = counts ? importance_of(d, j, from, n) : 0;
    }
    return isnan(from) ? 0 : n;
}
