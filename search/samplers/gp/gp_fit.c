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
#include "search/samplers/gp/gp_matern.h"
#include "search/samplers/gp/gp_model.h"
#include "search/samplers/gp/linalg.h"
#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

enum { EIGHT = 8 }; /* products that are summed side by side */
/* A climb ends when LOOK_EVERY steps have gained less than LEAST_GAIN in log likelihood. */
enum { LOOK_EVERY = 3 };
static const double LEAST_GAIN = 0.5;
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

    CHECK(cap % EIGHT == 0);
    *s = (struct gp_scratch){ .cap = cap };
    s->chol = la_array(4 * square, &s->room);
    s->inverse = s->chol + square;
    s->work = s->inverse + square;
    s->slope = s->work + square;
    s->beta = mem_array((size_t)cap, sizeof *s->beta);
}

void gp_scratch_fini(struct gp_scratch *s)
{
    mem_free(s->room);
    mem_free(s->beta);
}

static int whole_blocks(int n)
{
    return (n + EIGHT - 1) / EIGHT * EIGHT;
}

/* Writes the squared distances, in length scales, of point i from EIGHT others that begin at `from`. */
SIMD_BODY void distances(const struct gp_points *p, const struct gp_kernel *g, int i, int from,
                         double *restrict out)
{
    double r2[EIGHT] = { 0 };

    for (int k = 0; k < p->d; k++) {
        const double *restrict x = p->x + (size_t)k * (size_t)p->cap;
        const double *restrict y = x + from;
        double at = x[i], weight = g->weight[k];
        if (p->is_choice[k])
            for (int j = 0; j < EIGHT; j++)
                r2[j] += y[j] != at ? weight : 0;
        else
            for (int j = 0; j < EIGHT; j++)
                r2[j] += weight * ((y[j] - at) * (y[j] - at));
    }
    memcpy(out, r2, sizeof r2);
}

/* Fills the upper triangles of chol and slope, from each row's block of EIGHT on. Rows and columns
 * beyond the points are those of the unit matrix. Left of the diagonal slope is 0. */
SIMD_BODY void covary_body(const struct gp_points *p, const struct gp_kernel *g,
                           struct gp_scratch *s)
{
    int n = p->n, whole = whole_blocks(n);

    for (int i = 0; i < whole; i++) {
        int from = i / EIGHT * EIGHT, length = whole - from;
        size_t at = (size_t)i * (size_t)s->cap + (size_t)from;
        double *restrict row = s->chol + at, *restrict slope = s->slope + at;
        for (int j = 0; j < length && i < n; j += EIGHT)
            distances(p, g, i, from + j, row + j);
        for (int j = 0; j < length; j++)
            row[j] = gp_matern_slope(row[j], g->signal, &slope[j]);
        for (int j = i < n ? n - from : 0; j < length; j++)
            row[j] = slope[j] = 0;
        for (int j = 0; j <= i - from; j++)
            slope[j] = 0;
        row[i - from] = i < n ? g->signal + g->noise * p->share[i] : 1;
    }
}

SIMD_KERNEL_STATIC(covary,
                   (const struct gp_points *p, const struct gp_kernel *g, struct gp_scratch *s),
                   (p, g, s))

/* The log determinant of the factor. One logarithm for eight pivots; eight cannot overflow. */
static double log_det_of(const struct gp_scratch *s, int whole)
{
    double log_det = 0;

    for (int i = 0; i < whole; i += EIGHT) {
        double product = 1;
        for (int k = i; k < i + EIGHT; k++)
            product *= s->chol[(size_t)k * (size_t)s->cap + (size_t)k];
        log_det += search_log(product);
    }
    return log_det;
}

/* The sum of w[j] times the squared distance of point j and `at` along one dimension, over j =
 * from..to-1, in EIGHT interleaved parts. */
SIMD_BODY double spread_along(const double *restrict w, const double *restrict x, bool is_choice,
                              double at, int from, int to)
{
    double part[EIGHT] = { 0 }, sum = 0;

    if (is_choice) {
        for (int j = from; j < to; j += EIGHT)
            for (int k = 0; k < EIGHT; k++)
                part[k] += x[j + k] != at ? w[j + k] : 0;
    } else {
        for (int j = from; j < to; j += EIGHT)
            for (int k = 0; k < EIGHT; k++)
                part[k] += w[j + k] * ((x[j + k] - at) * (x[j + k] - at));
    }
    for (int k = 0; k < EIGHT; k++)
        sum += part[k];
    return sum;
}

/* The gradient is 1/2 tr(W dK/dtheta) with beta = K^-1 y and W = beta beta' - K^-1. s->inverse is
 * overwritten by W times slope. Adds the derivative for each length scale to column, and that for
 * the noise, whose dK = noise S has the shares in its diagonal, to *trace. */
SIMD_BODY void traces_of_body(const struct gp_points *p, const double *beta, struct gp_scratch *s,
                              double *trace, double *column)
{
    int whole = whole_blocks(p->n);

    for (int i = 0; i < p->n; i++) {
        double *restrict w = s->inverse + (size_t)i * (size_t)s->cap;
        const double *restrict slope = s->slope + (size_t)i * (size_t)s->cap;
        double b = beta[i];
        int from = i / EIGHT * EIGHT;
        *trace += p->share[i] * (b * b - w[i]);
        for (int j = from; j < whole; j++)
            w[j] = (b * beta[j] - w[j]) * slope[j];
        for (int k = 0; k < p->d; k++) {
            const double *x = p->x + (size_t)k * (size_t)p->cap;
            column[k] += spread_along(w, x, p->is_choice[k], x[i], from, whole);
        }
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

/* The objective at theta. Leaves the factor, K^-1 y in s->beta and the slopes for gradient_at. */
static double value_at(const struct gp_points *p, const struct gp_kernel *g, const double *targets,
                       const double *theta, struct gp_scratch *s, double *quadratic)
{
    int whole = whole_blocks(p->n);

    CHECK(whole <= s->cap && whole <= p->cap);
    covary(p, g, s);
    la_upper_factor(s->chol, s->cap, whole, 1e-12 * g->signal);
    double log_det = log_det_of(s, whole), *beta = s->beta;
    memset(beta, 0, (size_t)whole * sizeof *beta);
    memcpy(beta, targets, (size_t)p->n * sizeof *beta);
    la_upper_solve(s->chol, s->cap, whole, beta);
    *quadratic = la_dot(beta, beta, p->n);
    double objective = -0.5 * *quadratic - log_det;
    for (int i = 0; i < p->d + GP_SCALE; i++) {
        struct prior prior = prior_of(p, i);
        double z = (theta[i] - prior.mean) / prior.sd;
        objective -= 0.5 * z * z;
    }
    return objective;
}

static void gradient_at(const struct gp_points *p, const struct gp_kernel *g, const double *theta,
                        struct gp_scratch *s, double quadratic, double *gradient)
{
    int whole = whole_blocks(p->n);

    la_upper_solve_back(s->chol, s->cap, whole, s->beta); /* K^-1 y */
    la_upper_inverse(s->chol, s->cap, whole, s->work, s->inverse);
    gradient_of(p, g, s->beta, s, quadratic, gradient);
    for (int i = 0; i < p->d + GP_SCALE; i++) {
        struct prior prior = prior_of(p, i);
        gradient[i] -= (theta[i] - prior.mean) / prior.sd / prior.sd;
    }
}

double gp_objective(const struct gp_points *p, const double *targets, const double *theta,
                    struct gp_scratch *s, double *gradient)
{
    struct gp_kernel g;
    double quadratic = 0;

    gp_kernel_set(&g, p->d, theta);
    double value = value_at(p, &g, targets, theta, s, &quadratic);
    gradient_at(p, &g, theta, s, quadratic, gradient);
    return value;
}

double gp_climb(const struct gp_points *p, const double *targets, double *theta, int steps,
                struct gp_scratch *s)
{
    double at[GP_MAX_THETA], g[GP_MAX_THETA], before[GP_MAX_THETA] = { 0 }, step[GP_MAX_THETA];
    int n = p->d + GP_SCALE;
    double best = -INFINITY, mark = -INFINITY, quadratic = 0;
    struct gp_kernel kernel;

    memcpy(at, theta, (size_t)n * sizeof *at);
    for (int i = 0; i < n; i++)
        step[i] = 0.3;
    for (int t = 0; t <= steps; t++) {
        gp_kernel_set(&kernel, p->d, at);
        double value = value_at(p, &kernel, targets, at, s, &quadratic);
        if (value > best) {
            best = value;
            memcpy(theta, at, (size_t)n * sizeof *at);
        }
        if (t % LOOK_EVERY == 0) {
            if (best - mark < LEAST_GAIN)
                break;
            mark = best;
        }
        if (t == steps)
            break;
        gradient_at(p, &kernel, at, s, quadratic, g);
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

/* Climbs to `at` from start k, far away with the trials of `few`, which must then be improved with all
 * of them. */
static double climb_from(const struct gp_fit *f, int k, double *at, struct gp_scratch *s)
{
    static const double scales[] = { 1, 0.3, 0.1, 1 };

    gp_theta_start(f->few, scales[k], at);
    if (k == NOISY_START)
        at[GP_SIGNAL] = at[GP_NOISE] = -1;
    return gp_climb(f->few, f->few_targets, at, 3 * MAX(f->steps, 2), s);
}

static double improve_with_all(const struct gp_fit *f, double value, double *at,
                               struct gp_scratch *s)
{
    return f->few == f->all ? value : gp_climb(f->all, f->targets, at, f->steps, s);
}

/* The best of the climbs from all scales. */
static double climb_scales(const struct gp_fit *f, double *theta, struct gp_scratch *s)
{
    double best = -INFINITY, at[GP_MAX_THETA];

    for (int k = f->few != f->all; k < NOISY_START; k++) {
        double value = climb_from(f, k, at, s);
        if (value > best) {
            best = value;
            memcpy(theta, at, sizeof at);
        }
    }
    return improve_with_all(f, best, theta, s);
}

double gp_search(const struct gp_fit *f, enum gp_starts from, double *theta, struct gp_scratch *s)
{
    double best = -INFINITY, at[GP_MAX_THETA];

    if (from & GP_FROM_LAST)
        best = gp_climb(f->all, f->targets, theta, f->steps, s);
    if (from & (GP_FROM_SCALES | GP_FROM_NOISE)) {
        double value = climb_scales(f, at, s);
        if (value > best)
            memcpy(theta, at, sizeof at);
        best = MAX(best, value);
    }
    double share = noise_share(theta);
    if (from & GP_FROM_NOISE) {
        double value = improve_with_all(f, climb_from(f, NOISY_START, at, s), at, s);
        double weight = 1 / (1 + search_exp(MIN(700, MAX(-700, best - value))));
        if (value > best)
            memcpy(theta, at, sizeof at);
        share = weight * noise_share(at) + (1 - weight) * share;
    }
    return share;
}
