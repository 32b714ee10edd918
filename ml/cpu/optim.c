/* optim.c - see optim.h. Loops of plain C for the vectoriser (simd.h). */
#include "ml/cpu/optim.h"

#include "ml/cpu/layer.h"
#include "ml/cpu/simd.h"

typedef void element_fn(const struct layer_adam *a, float *w, float g, float *m, float *v);

SIMD_BODY void each(const struct layer_adam *restrict a, float *restrict w, const float *restrict g,
                    float *restrict m, float *restrict v, int64_t n, element_fn *step)
{
    struct layer_adam mine = *a;

    for (int64_t i = 0; i < n; i++)
        step(&mine, w + i, g[i], m + i, v + i);
}

SIMD_BODY void step_each_body(enum optim_kind kind, const struct layer_adam *a, float *w,
                              const float *g, float *m, float *v, int64_t n)
{
    switch (kind) {
    case OPTIM_ADAM:
        each(a, w, g, m, v, n, om_adam);
        break;
    case OPTIM_SGD:
        each(a, w, g, m, v, n, om_sgd);
        break;
    case OPTIM_NESTEROV:
        each(a, w, g, m, v, n, om_nesterov);
        break;
    case OPTIM_RMSPROP:
        each(a, w, g, m, v, n, om_rmsprop);
        break;
    case OPTIM_ADAGRAD:
        each(a, w, g, m, v, n, om_adagrad);
        break;
    case OPTIM_LARS:
        each(a, w, g, m, v, n, om_lars);
        break;
    default:
        each(a, w, g, m, v, n, nm_adam);
    }
}
SIMD_KERNEL_STATIC(step_each,
                   (enum optim_kind kind, const struct layer_adam *a, float *w, const float *g,
                    float *m, float *v, int64_t n),
                   (kind, a, w, g, m, v, n))

/* ---- norms ---- */

SIMD_BODY void squares_body(const float *restrict x, int64_t n, double *restrict place)
{
    for (int64_t i = 0; i < n; i += OM_PLACES) {
        for (int k = 0; k < OM_PLACES; k++)
            place[k] += (double)x[i + k] * (double)x[i + k];
    }
}
SIMD_KERNEL_STATIC(squares, (const float *x, int64_t n, double *place), (x, n, place))

double optim_squares(const float *x, int64_t n)
{
    double place[OM_PLACES] = { 0 };

    squares(x, n, place);
    return om_places_sum(place);
}

SIMD_BODY void moments_body(const struct layer_adam *restrict a, const float *restrict g,
                            float *restrict m, float *restrict v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        om_moments(a, g[i], m + i, v + i);
}
SIMD_KERNEL_STATIC(moments,
                   (const struct layer_adam *a, const float *g, float *m, float *v, int64_t n),
                   (a, g, m, v, n))

SIMD_BODY void lamb_squares_body(const struct layer_adam *restrict a, const float *restrict w,
                                 const float *restrict m, const float *restrict v, int64_t n,
                                 double *restrict place)
{
    for (int64_t i = 0; i < n; i += OM_PLACES) {
        for (int k = 0; k < OM_PLACES; k++) {
            double q = (double)om_lamb_q(a, w[i + k], m[i + k], v[i + k]);
            place[k] += q * q;
        }
    }
}
SIMD_KERNEL_STATIC(lamb_squares,
                   (const struct layer_adam *a, const float *w, const float *m, const float *v,
                    int64_t n, double *place),
                   (a, w, m, v, n, place))

SIMD_BODY void lamb_apply_body(const struct layer_adam *restrict a, float rate, float *restrict w,
                               const float *restrict m, const float *restrict v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= rate * om_lamb_q(a, w[i], m[i], v[i]);
}
SIMD_KERNEL_STATIC(lamb_apply,
                   (const struct layer_adam *a, float rate, float *w, const float *m,
                    const float *v, int64_t n),
                   (a, rate, w, m, v, n))

/* ---- steps that need norms ---- */

static void lars(const struct layer_adam *a, bool is_matrix, float *w, const float *g, float *m,
                 float *v, int64_t n)
{
    struct layer_adam scaled = *a;

    if (is_matrix)
        scaled.rate = om_lars_rate(a, optim_squares(w, n), optim_squares(g, n));
    step_each(OPTIM_LARS, &scaled, w, g, m, v, n);
}

static void lamb(const struct layer_adam *a, bool is_matrix, float *w, const float *g, float *m,
                 float *v, int64_t n)
{
    double place[OM_PLACES] = { 0 };
    float rate = a->rate;

    moments(a, g, m, v, n);
    if (is_matrix) {
        lamb_squares(a, w, m, v, n, place);
        rate = om_lamb_rate(a, optim_squares(w, n), om_places_sum(place));
    }
    lamb_apply(a, rate, w, m, v, n);
}

void optim_step(enum optim_kind kind, const struct layer_adam *a, bool is_matrix, float *w,
                const float *g, float *m, float *v, int64_t n)
{
    if (kind == OPTIM_LARS)
        lars(a, is_matrix, w, g, m, v, n);
    else if (kind == OPTIM_LAMB)
        lamb(a, is_matrix, w, g, m, v, n);
    else if (kind == OPTIM_ADAMW)
        layer_adam(a, w, g, m, v, n);
    else
        step_each(kind, a, w, g, m, v, n);
}

void optim_ftrl(const struct om_ftrl *f, float *w, const float *g, float factor, float *m, float *v,
                int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (g[i] != 0.0f)
            om_ftrl(f, w + i, factor * g[i], m + i, v + i);
    }
}

/* ---- sums of gradients ---- */

SIMD_BODY void optim_scale_body(float *restrict x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}
SIMD_KERNEL(optim_scale, (float *x, float factor, int64_t n), (x, factor, n))

SIMD_BODY void optim_add_body(float *restrict sum, const float *restrict x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += factor * x[i];
}
SIMD_KERNEL(optim_add, (float *sum, const float *x, float factor, int64_t n), (sum, x, factor, n))
