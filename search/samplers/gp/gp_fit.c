/* gp_fit.c - finds the hyperparameters: maximum a posteriori, from a few starts (gp.c chooses
 * them).
 *
 * Priors. The logarithm of a length scale is normal with mean sqrt(2) + log(d)/2 and deviation
 * sqrt(3), where d is the number of dimensions that are active together (Hvarfner, Hellsten and
 * Nardi, Vanilla Bayesian Optimization Performs Great in High Dimensions, ICML 2024). A dimension
 * that exists only in one branch of the space has mean -1: a branch has few trials, and a model
 * that takes it for flat would rule it out after two of them. The signal is log-normal around 1,
 * because targets are standardised, and the noise is log-normal and small.
 *
 * The gradient is Rasmussen and Williams' equation 5.9, with derivatives with respect to
 * logarithms. */
#include "search/samplers/gp/gp_model.h"
#include "search/samplers/gp/linalg.h"
#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

enum { EIGHT = 8 }; /* products that are summed side by side */
/* A climb ends when LOOK_EVERY steps have gained less than this in log likelihood. */
enum { LOOK_EVERY = 3 };
static const double LEAST_GAIN = 0.2;
enum { NOISY_START = 3 }; /* the start of gp_search where half of all is noise */

/* The normal prior of a hyperparameter's logarithm, and the bounds that a fit keeps. */
struct prior {
    double mean, sd, lo, hi;
};

double gp_length_prior(int n_joint, bool is_child)
{
    return is_child ? -1 : 0x1.6a09e667f3bcdp+0 + 0.5 * search_log(MAX(n_joint, 1));
}

static struct prior prior_of(const struct gp_points *p, int i)
{
    if (i == GP_SIGNAL)
        return (struct prior){ 0, 1, -3, 4 };
    if (i == GP_NOISE)
        return (struct prior){ -8, 3, -14, 1 };
    return (struct prior){ p ? p->length[i - GP_SCALE] : 0, 0x1.bb67ae8584caap+0, -4, 6 };
}

void gp_theta_start(const struct gp_points *p, double scale, double *theta)
{
    for (int i = 0; i < p->d + GP_SCALE; i++)
        theta[i] = prior_of(p, i).mean + (i >= GP_SCALE ? search_log(scale) : 0);
}

bool gp_theta_is_legal(int d, const double *theta)
{
    for (int i = 0; i < d + GP_SCALE; i++) {
        struct prior p = prior_of(NULL, i);
        if (!(theta[i] >= p.lo && theta[i] <= p.hi))
            return false;
    }
    return true;
}

void gp_scratch_init(struct gp_scratch *s, int cap)
{
    size_t square = (size_t)cap * (size_t)cap;

    *s = (struct gp_scratch){ .cap = cap };
    s->chol = mem_array(square, sizeof *s->chol);
    s->inverse = mem_array(square, sizeof *s->inverse);
    s->work = mem_array(square, sizeof *s->work);
    s->slope = mem_array(square, sizeof *s->slope);
}

void gp_scratch_fini(struct gp_scratch *s)
{
    mem_free(s->chol);
    mem_free(s->inverse);
    mem_free(s->work);
    mem_free(s->slope);
}

/* Fills chol and slope and factors the covariance. Returns the log determinant of the factor. */
static double factor(const struct gp_points *p, const struct gp_kernel *g, struct gp_scratch *s)
{
    double x[GP_MAX_DIMS], log_det = 0, product = 1;

    for (int i = 0; i < p->n; i++) {
        double *row = s->chol + (size_t)i * (size_t)s->cap;
        for (int k = 0; k < p->d; k++)
            x[k] = p->x[k * p->cap + i];
        gp_covariance(p, g, x, i, row, s->slope + (size_t)i * (size_t)s->cap);
        row[i] = g->signal + g->noise * p->share[i];
        la_cholesky_row(s->chol, s->cap, i, 1e-12 * g->signal);
        product *= row[i];
        if (i % 8 == 7 ||
            i == p->n - 1) { /* one logarithm for eight pivots; eight cannot overflow */
            log_det += search_log(product);
            product = 1;
        }
    }
    return log_det;
}

/* The sum of w[j] times the squared distance of points i and j along one dimension, over j < i, in
 * EIGHT interleaved parts. */
SIMD_BODY double spread_along(const double *restrict w, const double *restrict x, bool is_choice,
                              int i)
{
    double at = x[i], part[EIGHT] = { 0 }, rest = 0;
    int j = 0;

    for (; is_choice && j + EIGHT <= i; j += EIGHT)
        for (int k = 0; k < EIGHT; k++)
            part[k] += x[j + k] != at ? w[j + k] : 0;
    for (; !is_choice && j + EIGHT <= i; j += EIGHT)
        for (int k = 0; k < EIGHT; k++)
            part[k] += w[j + k] * ((x[j + k] - at) * (x[j + k] - at));
    for (; j < i; j++)
        rest += w[j] * (is_choice ? x[j] != at : (x[j] - at) * (x[j] - at));
    for (int k = 0; k < EIGHT; k++)
        rest += part[k];
    return rest;
}

/* The gradient is 1/2 tr(W dK/dtheta) with beta = K^-1 y and W = beta beta' - K^-1. s->inverse is
 * overwritten by W times slope. Adds the derivative for each length scale to column, and that for
 * the noise, whose dK = noise S has the shares in its diagonal, to *trace. */
SIMD_BODY void traces_of_body(const struct gp_points *p, const double *beta, struct gp_scratch *s,
                              double *trace, double *column)
{
    for (int i = 0; i < p->n; i++) {
        double *restrict w = s->inverse + (size_t)i * (size_t)s->cap;
        const double *restrict slope = s->slope + (size_t)i * (size_t)s->cap;
        double b = beta[i];
        *trace += p->share[i] * (b * b - w[i]);
        for (int j = 0; j < i; j++)
            w[j] = (b * beta[j] - w[j]) * slope[j];
        for (int k = 0; k < p->d; k++)
            column[k] += spread_along(w, p->x + (size_t)k * (size_t)p->cap, p->is_choice[k], i);
    }
}

SIMD_KERNEL_STATIC(traces_of,
                   (const struct gp_points *p, const double *beta, struct gp_scratch *s,
                    double *trace, double *column),
                   (p, beta, s, trace, column))

/* For the signal dK = K - noise S. tr(W K) = y' K^-1 y - n, so K itself is not needed; the factor
 * has taken its place. */
static void gradient_of(const struct gp_points *p, const struct gp_kernel *g, const double *beta,
                        struct gp_scratch *s, double quadratic, double *gradient)
{
    double trace = 0, column[GP_MAX_DIMS] = { 0 };

    traces_of(p, beta, s, &trace, column);
    /* Each pair stands twice in the trace, which cancels the factor 1/2. d(r^2)/d(log length) = -2
     * r_k^2. */
    gradient[GP_NOISE] = 0.5 * g->noise * trace;
    gradient[GP_SIGNAL] = 0.5 * (quadratic - p->n) - gradient[GP_NOISE];
    for (int k = 0; k < p->d; k++)
        gradient[GP_SCALE + k] = -2 * g->weight[k] * column[k];
}

double gp_objective(const struct gp_points *p, const double *targets, const double *theta,
                    struct gp_scratch *s, double *gradient)
{
    struct gp_kernel g;

    gp_kernel_set(&g, p->d, theta);
    double log_det = factor(p, &g, s), quadratic = 0;
    double *beta = mem_dup(targets, (size_t)p->n * sizeof *targets);
    la_solve_lower(s->chol, s->cap, 0, p->n, beta);
    quadratic = la_dot(beta, beta, p->n);
    la_solve_lower_transposed(s->chol, s->cap, p->n, beta); /* K^-1 y */
    la_inverse(s->chol, s->cap, p->n, s->work, s->inverse);
    gradient_of(p, &g, beta, s, quadratic, gradient);
    mem_free(beta);
    double objective = -0.5 * quadratic - log_det;
    for (int i = 0; i < p->d + GP_SCALE; i++) {
        struct prior prior = prior_of(p, i);
        double z = (theta[i] - prior.mean) / prior.sd;
        objective -= 0.5 * z * z;
        gradient[i] -= z / prior.sd;
    }
    return objective;
}

double gp_climb(const struct gp_points *p, const double *targets, double *theta, int steps,
                struct gp_scratch *s)
{
    double at[GP_MAX_THETA], g[GP_MAX_THETA], before[GP_MAX_THETA] = { 0 }, step[GP_MAX_THETA];
    int n = p->d + GP_SCALE;
    double best = -INFINITY, mark = -INFINITY;

    memcpy(at, theta, (size_t)n * sizeof *at);
    for (int i = 0; i < n; i++)
        step[i] = 0.3;
    for (int t = 0; t <= steps; t++) {
        double value = gp_objective(p, targets, at, s, g);
        if (value > best) {
            best = value;
            memcpy(theta, at, (size_t)n * sizeof *at);
        }
        if (t % LOOK_EVERY == 0) {
            if (best - mark < LEAST_GAIN)
                break;
            mark = best;
        }
        /* Each step grows by 1.3 while its slope keeps its sign, and halves when the sign
         * changes. */
        for (int i = 0; i < n; i++) {
            struct prior prior = prior_of(p, i);
            double turn = g[i] * before[i];
            step[i] = MIN(1, MAX(1e-3, step[i] * (turn > 0 ? 1.3 : turn < 0 ? 0.5 : 1)));
            before[i] = turn < 0 ? 0 : g[i];
            if (before[i] != 0)
                at[i] += before[i] > 0 ? step[i] : -step[i];
            at[i] = MIN(prior.hi, MAX(prior.lo, at[i]));
        }
    }
    return best;
}

static double noise_share(const double *theta)
{
    return 1 / (1 + search_exp(theta[GP_SIGNAL] - theta[GP_NOISE]));
}

double gp_search(const struct gp_points *p, const double *targets, enum gp_starts from, int steps,
                 double *theta, struct gp_scratch *s)
{
    static const double scales[] = { 1, 0.3, 0.1, 1 };
    int n = from & GP_FROM_NOISE ? NOISY_START + 1 : from & GP_FROM_SCALES ? NOISY_START : 0;
    double best = -INFINITY, at[GP_MAX_THETA];

    if (from & GP_FROM_LAST)
        best = gp_climb(p, targets, theta, steps, s);
    for (int k = 0; k < n; k++) {
        gp_theta_start(p, scales[k], at);
        if (k == NOISY_START)
            at[GP_SIGNAL] = at[GP_NOISE] = -1;
        double value = gp_climb(p, targets, at, 3 * MAX(steps, 2), s), lead = best - value;
        double other = k > 0 || from & GP_FROM_LAST ? noise_share(theta) : 0;
        if (value > best) {
            best = value;
            memcpy(theta, at, sizeof at);
        }
        if (k == NOISY_START) {
            double weight = 1 / (1 + search_exp(MIN(700, MAX(-700, lead))));
            return weight * noise_share(at) + (1 - weight) * other;
        }
    }
    return noise_share(theta);
}
