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

enum { EIGHT = 8, PIVOTS = 64 }; /* a side of a block of linalg_upper.c; see log_det_of() */
/* A climb ends when LOOK_EVERY steps have gained less than LEAST_GAIN in log likelihood, a brief one
 * when a step has gained less than LEAST_GAIN_BRIEF. */
enum { LOOK_EVERY = 3 };
static const double LEAST_GAIN = 0.5, LEAST_GAIN_BRIEF = 0.3;
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

static int blocks_of(int n)
{
    return (n + EIGHT - 1) / EIGHT;
}

void gp_scratch_init(struct gp_scratch *s, int cap)
{
    int blocks = blocks_of(cap);
    size_t triangle = la_lower_at(blocks, 0), column = (size_t)cap;

    CHECK(cap % EIGHT == 0);
    *s = (struct gp_scratch){ .cap = cap };
    s->chol = la_floats(4 * triangle + (GP_MAX_DIMS + 2) * column, &s->room);
    s->inverse = s->chol + triangle;
    s->work = s->inverse + triangle;
    s->slope = s->work + triangle;
    s->x = s->slope + triangle;
    s->solved = s->x + GP_MAX_DIMS * column;
    s->beta = s->solved + column;
}

void gp_scratch_fini(struct gp_scratch *s)
{
    mem_free(s->room);
}

static void copy_points(const struct gp_points *p, struct gp_scratch *s)
{
    int whole = blocks_of(p->n) * EIGHT;

    CHECK(whole <= s->cap && whole <= p->cap);
    for (int k = 0; k < p->d; k++) {
        const double *from = p->x + (size_t)k * (size_t)p->cap;
        float *to = s->x + (size_t)k * (size_t)s->cap;
        for (int i = 0; i < whole; i++)
            to[i] = i < p->n ? (float)from[i] : 0;
    }
}

/* Adds w times the squared distances of eight points that begin at y from `at` along one
 * dimension. */
SIMD_BODY void distances_add(const la_octo *y, float at, bool is_choice, const la_octo *w,
                             la_octo *sum)
{
    la_octo delta = *y - at;

    if (is_choice)
        *sum += (la_octo)((la_octo_mask)*w & (delta != 0));
    else
        *sum += *w * (delta * delta);
}

/* The squared distances, in length scales, of eight points that begin at i from eight at j. */
SIMD_BODY void block_distances(const struct gp_points *p, const struct gp_kernel *g,
                               const struct gp_scratch *s, int i, int j, float *out)
{
    la_octo r2[EIGHT] = { 0 };
    const float *x = s->x;

    for (int k = 0; k < p->d; k++, x += s->cap) {
        la_octo y = LA_OCTO(x + j), weight = (la_octo){ 0 } + (float)g->weight[k];
#pragma GCC unroll 8
        for (int r = 0; r < EIGHT; r++)
            distances_add(&y, x[i + r], p->is_choice[k], &weight, &r2[r]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        *(la_octo *)(out + r * EIGHT) = r2[r];
}

/* Rows and columns beyond the points are those of the unit matrix. Left of the diagonal and on it
 * slope is 0. */
SIMD_BODY void diagonal_set(const struct gp_points *p, const struct gp_kernel *g, int blocks,
                            struct gp_scratch *s)
{
    int whole = blocks * EIGHT;

    for (int b = 0; b < blocks && p->n < whole; b++) {
        size_t at = la_upper_at(blocks, b, blocks - 1);
        for (int r = 0; r < EIGHT; r++)
            for (int q = b * EIGHT + r < p->n ? p->n - whole + EIGHT : 0; q < EIGHT; q++)
                s->chol[at + (size_t)(r * EIGHT + q)] = s->slope[at + (size_t)(r * EIGHT + q)] = 0;
    }
    for (int i = 0; i < whole; i++) {
        size_t at = la_upper_at(blocks, i / EIGHT, i / EIGHT) + (size_t)(i % EIGHT * EIGHT);
        for (int q = 0; q <= i % EIGHT; q++)
            s->slope[at + (size_t)q] = 0;
        s->chol[at + (size_t)(i % EIGHT)] =
            i < p->n ? (float)(g->signal * (1 + GP_FIT_JITTER) + g->noise * p->share[i]) : 1;
    }
}

/* Fills chol and slope. */
SIMD_BODY void covary_body(const struct gp_points *p, const struct gp_kernel *g,
                           struct gp_scratch *s)
{
    int blocks = blocks_of(p->n), n = (int)la_lower_at(blocks, 0);
    float signal = (float)g->signal, *restrict chol = s->chol, *restrict slope = s->slope;

    for (int i = 0; i < blocks; i++)
        for (int j = i; j < blocks; j++)
            block_distances(p, g, s, i * EIGHT, j * EIGHT, chol + la_upper_at(blocks, i, j));
    for (int k = 0; k < n; k++)
        chol[k] = gp_matern_slope_single(chol[k], signal, &slope[k]);
    diagonal_set(p, g, blocks, s);
}

SIMD_KERNEL_STATIC(covary,
                   (const struct gp_points *p, const struct gp_kernel *g, struct gp_scratch *s),
                   (p, g, s))

/* Pivot i of the factor and the like. */
static double on_diagonal(const float *upper, int blocks, int i)
{
    return (
        double)upper[la_upper_at(blocks, i / EIGHT, i / EIGHT) + (size_t)(i % EIGHT * (EIGHT + 1))];
}

/* The log determinant of the factor. One logarithm for PIVOTS of them, which cannot overflow. */
static double log_det_of(const struct gp_scratch *s, int n)
{
    double log_det = 0;

    for (int i = 0; i < n; i += PIVOTS) {
        double product = 1;
        for (int k = i; k < MIN(n, i + PIVOTS); k++)
            product *= on_diagonal(s->chol, blocks_of(n), k);
        log_det += search_log(product);
    }
    return log_det;
}

/* Adds to column[k] what a block of W, which has the slopes as factors, says of each length scale. */
SIMD_BODY void block_traces(const struct gp_points *p, const struct gp_scratch *s, int i, int j,
                            const la_octo *w, la_octo *column)
{
    const float *x = s->x;

    for (int k = 0; k < p->d; k++, x += s->cap) {
        la_octo y = LA_OCTO(x + j), sum = column[k];
#pragma GCC unroll 8
        for (int r = 0; r < EIGHT; r++)
            distances_add(&y, x[i + r], p->is_choice[k], &w[r], &sum);
        column[k] = sum;
    }
}

/* The gradient is 1/2 tr(W dK/dtheta) with beta = K^-1 y and W = beta beta' - K^-1. Writes to column
 * what the derivative for each length scale is the sum of. */
SIMD_BODY void traces_of_body(const struct gp_points *p, struct gp_scratch *s, la_octo *column)
{
    int blocks = blocks_of(p->n);
    la_octo w[EIGHT];

    for (int i = 0; i < blocks; i++) {
        for (int j = i; j < blocks; j++) {
            size_t at = la_upper_at(blocks, i, j);
            la_octo b = LA_OCTO(s->beta + (size_t)j * EIGHT);
#pragma GCC unroll 8
            for (int r = 0; r < EIGHT; r++, at += EIGHT)
                w[r] = (s->beta[i * EIGHT + r] * b - LA_OCTO(s->inverse + at)) *
                       LA_OCTO(s->slope + at);
            block_traces(p, s, i * EIGHT, j * EIGHT, w, column);
        }
    }
}

SIMD_KERNEL_STATIC(traces_of, (const struct gp_points *p, struct gp_scratch *s, la_octo *column),
                   (p, s, column))

/* The noise's dK = noise S has the shares in its diagonal. */
static double noise_trace(const struct gp_points *p, const struct gp_scratch *s)
{
    double trace = 0;

    for (int i = 0; i < p->n; i++) {
        double b = (double)s->beta[i];
        trace += p->share[i] * (b * b - on_diagonal(s->inverse, blocks_of(p->n), i));
    }
    return trace;
}

/* For the signal dK = K - noise S. tr(W K) = y' K^-1 y - n, so K itself is not needed; the factor
 * has taken its place. */
static void gradient_of(const struct gp_points *p, const struct gp_kernel *g, struct gp_scratch *s,
                        double quadratic, double *gradient)
{
    la_octo column[GP_MAX_DIMS];

    memset(column, 0, (size_t)p->d * sizeof *column);
    traces_of(p, s, column);
    /* Each pair stands twice in the trace, which cancels the factor 1/2. d(r^2)/d(log length) = -2
     * r_k^2. */
    gradient[GP_NOISE] = 0.5 * g->noise * noise_trace(p, s);
    gradient[GP_SIGNAL] = 0.5 * (quadratic - p->n) - gradient[GP_NOISE];
    for (int k = 0; k < p->d; k++) {
        la_octo c = column[k];
        double sum = (double)((c[0] + c[4]) + (c[2] + c[6]) + ((c[1] + c[5]) + (c[3] + c[7])));
        gradient[GP_SCALE + k] = -2 * g->weight[k] * sum;
    }
}

/* The objective at theta, of the points in s->x. Leaves the factor, U'^-1 y in s->solved and the slopes for gradient_at. */
static double value_at(const struct gp_points *p, const struct gp_kernel *g, const double *targets,
                       const double *theta, struct gp_scratch *s, double *quadratic)
{
    int blocks = blocks_of(p->n);

    covary(p, g, s);
    la_upper_factor(s->chol, blocks, (float)(0.1 * GP_FIT_JITTER * g->signal));
    double log_det = log_det_of(s, p->n), sum = 0;
    for (int i = 0; i < blocks * EIGHT; i++)
        s->solved[i] = i < p->n ? (float)targets[i] : 0;
    la_upper_solve(s->chol, blocks, s->solved);
    for (int i = 0; i < p->n; i++)
        sum += (double)s->solved[i] * (double)s->solved[i];
    *quadratic = sum;
    double objective = -0.5 * sum - log_det;
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
    la_upper_inverse(s->chol, blocks_of(p->n), s->work, s->inverse);
    la_transposed_times(s->work, blocks_of(p->n), s->solved, s->beta);
    gradient_of(p, g, s, quadratic, gradient);
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
    copy_points(p, s);
    double value = value_at(p, &g, targets, theta, s, &quadratic);
    gradient_at(p, &g, theta, s, quadratic, gradient);
    return value;
}

double gp_climb(const struct gp_points *p, const double *targets, double *theta,
                struct gp_effort effort, struct gp_scratch *s)
{
    double at[GP_MAX_THETA], g[GP_MAX_THETA], before[GP_MAX_THETA] = { 0 }, step[GP_MAX_THETA];
    int n = p->d + GP_SCALE, every = effort.is_brief ? 1 : LOOK_EVERY;
    double least = effort.is_brief ? LEAST_GAIN_BRIEF : LEAST_GAIN;
    double best = -INFINITY, mark = -INFINITY, quadratic = 0;
    struct gp_kernel kernel;

    copy_points(p, s);
    memcpy(at, theta, (size_t)n * sizeof *at);
    for (int i = 0; i < n; i++)
        step[i] = 0.3;
    for (int t = 0; t <= effort.steps; t++) {
        gp_kernel_set(&kernel, p->d, at);
        double value = value_at(p, &kernel, targets, at, s, &quadratic);
        if (value > best) {
            best = value;
            memcpy(theta, at, (size_t)n * sizeof *at);
        }
        if (t % every == 0) {
            if (best - mark < least)
                break;
            mark = best;
        }
        if (t == effort.steps)
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
    const struct gp_effort far = { 3 * MAX(f->effort.steps, 2), f->effort.is_brief };

    gp_theta_start(f->few, scales[k], at);
    if (k == NOISY_START)
        at[GP_SIGNAL] = at[GP_NOISE] = -1;
    return gp_climb(f->few, f->few_targets, at, far, s);
}

static double improve_with_all(const struct gp_fit *f, double value, double *at,
                               struct gp_scratch *s)
{
    return f->few == f->all ? value : gp_climb(f->all, f->targets, at, f->effort, s);
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
        best = gp_climb(f->all, f->targets, theta, f->effort, s);
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
