/* optim_math.h - the steps of the optimisers for one parameter w with gradient g, on the host and on a device, with the same
 * bits. m and v are what an optimiser remembers of a parameter; both start as 0. AdamW is nm_adam of net_math.h.
 *
 * With r = rate, d = decay, u = beta1 (the share of m that stays), s = beta2 (the share of v that stays), and g' = g + d w
 * where the decay is part of the gradient:
 *   SGD       m = u m + g';  w -= r m                                          (Polyak 1964)
 *   Nesterov  m = u m + g';  w -= r (g' + u m)                                 (Sutskever et al., ICML 2013)
 *   Adam      m = u m + (1 - u) g';  v = s v + (1 - s) g'^2;
 *             w -= r (m fix_m) / (sqrt(v fix_v) + eps)                         (Kingma and Ba, ICLR 2015)
 *   RMSprop   v = s v + (1 - s) g'^2;  w -= r g' / (sqrt(v) + eps)             (Tieleman and Hinton 2012, lecture 6.5)
 *   Adagrad   v = v + g'^2;  w -= r g' / (sqrt(v) + eps)                       (Duchi et al., JMLR 2011)
 *   LARS      m = u m + r t (g + d w);  w -= m,
 *             t = 0.02 |w| / (|g| + d |w| + eps)                               (You et al., arXiv:1708.03888)
 *   LAMB      m and v as Adam with g;  q = (m fix_m) / (sqrt(v fix_v) + eps) + d w;
 *             w -= r t q,  t = |w| / |q|                                       (You et al., ICLR 2020, Algorithm 2)
 *   FTRL      for weights of which few have a gradient, with m, v for what the paper calls z, n:
 *             m += g - (sqrt(v + g^2) - sqrt(v)) / a w;  v += g^2;  w = 0 where |m| <= l1,
 *             else w = (sign(m) l1 - m) / ((b + sqrt(v)) / a + l2)            (McMahan et al., KDD 2013, Algorithm 1)
 * |.| is the Euclidean norm over a matrix; t is 1 where one of the norms is 0, and for parts that are no matrix of weights
 * (biases, scales). C++-clean. */
#ifndef ML_MATH_OPTIM_MATH_H
#define ML_MATH_OPTIM_MATH_H

#include "ml/math/net_math.h"

/* The order is that of the choices of the families' parameter `optimizer`. */
enum optim_kind {
    OPTIM_ADAMW,
    OPTIM_ADAM,
    OPTIM_SGD,
    OPTIM_NESTEROV,
    OPTIM_RMSPROP,
    OPTIM_ADAGRAD,
    OPTIM_LARS,
    OPTIM_LAMB,
    OPTIM_KINDS
};

#define OM_LARS_TRUST 0.02

/* Sums of squares go over so many places in turn, each in ascending order; then the places are added up. */
enum { OM_PLACES = 16 };

NM_FN double om_places_sum(const double *place)
{
    double sum = 0;

    for (int i = 0; i < OM_PLACES; i++)
        sum += place[i];
    return sum;
}

/* The rate of LARS for a matrix, from the sums of squares of its weights and of their gradient. */
NM_FN float om_lars_rate(const struct layer_adam *a, double w_squares, double g_squares)
{
    double of_w = sqrt(w_squares), of_g = sqrt(g_squares);

    if (!(of_w > 0 && of_g > 0))
        return a->rate;
    return (float)((double)a->rate * OM_LARS_TRUST * of_w /
                   (of_g + (double)a->decay * of_w + (double)a->eps));
}

/* The rate of LAMB for a matrix, from the sums of squares of its weights and of q. */
NM_FN float om_lamb_rate(const struct layer_adam *a, double w_squares, double q_squares)
{
    double of_w = sqrt(w_squares), of_q = sqrt(q_squares);

    return (float)((double)a->rate * (of_w > 0 && of_q > 0 ? of_w / of_q : 1.0));
}

/* What a gradient of that length is multiplied with so that it is no longer than `most`; most <= 0: no limit. */
NM_FN float om_clip(double squares, double most)
{
    double length = sqrt(squares);

    return most > 0 && length > most ? (float)(most / length) : 1.0f;
}

NM_FN void om_sgd(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    (void)v;
    *m = a->beta1 * *m + (g + a->decay * *w);
    *w -= a->rate * *m;
}

NM_FN void om_nesterov(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    float all = g + a->decay * *w;

    (void)v;
    *m = a->beta1 * *m + all;
    *w -= a->rate * (all + a->beta1 * *m);
}

NM_FN void om_adam(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    float all = g + a->decay * *w;

    *m = a->beta1 * *m + (1.0f - a->beta1) * all;
    *v = a->beta2 * *v + (1.0f - a->beta2) * (all * all);
    *w -= a->rate * (*m * a->fix_m / (NM_SQRT(*v * a->fix_v) + a->eps));
}

NM_FN void om_rmsprop(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    float all = g + a->decay * *w;

    (void)m;
    *v = a->beta2 * *v + (1.0f - a->beta2) * (all * all);
    *w -= a->rate * (all / (NM_SQRT(*v) + a->eps));
}

NM_FN void om_adagrad(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    float all = g + a->decay * *w;

    (void)m;
    *v += all * all;
    *w -= a->rate * (all / (NM_SQRT(*v) + a->eps));
}

/* LARS, with t in the rate. */
NM_FN void om_lars(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    (void)v;
    *m = a->beta1 * *m + a->rate * (g + a->decay * *w);
    *w -= *m;
}

/* LAMB in two steps, with the norms between them: the moments, then q from them. */
NM_FN void om_moments(const struct layer_adam *a, float g, float *m, float *v)
{
    *m = a->beta1 * *m + (1.0f - a->beta1) * g;
    *v = a->beta2 * *v + (1.0f - a->beta2) * (g * g);
}

NM_FN float om_lamb_q(const struct layer_adam *a, float w, float m, float v)
{
    return m * a->fix_m / (NM_SQRT(v * a->fix_v) + a->eps) + a->decay * w;
}

/* FTRL-proximal. A weight without a gradient is left as it is. */
struct om_ftrl {
    float alpha, beta, l1, l2;
};

NM_FN void om_ftrl(const struct om_ftrl *f, float *w, float g, float *m, float *v)
{
    float before = NM_SQRT(*v), after;

    *v += g * g;
    after = NM_SQRT(*v);
    *m += g - (after - before) / f->alpha * *w;
    float left = *m > 0.0f ? *m - f->l1 : -*m - f->l1;
    float size = left > 0.0f ? left / ((f->beta + after) / f->alpha + f->l2) : 0.0f;
    *w = *m > 0.0f ? -size : size;
}

/* One step of any kind, with the norms of LARS and LAMB in the rate. For the loops of a CPU see ml/cpu/optim.c. */
NM_FN void om_step(int kind, const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    switch (kind) {
    case OPTIM_ADAM:
        om_adam(a, w, g, m, v);
        break;
    case OPTIM_SGD:
        om_sgd(a, w, g, m, v);
        break;
    case OPTIM_NESTEROV:
        om_nesterov(a, w, g, m, v);
        break;
    case OPTIM_RMSPROP:
        om_rmsprop(a, w, g, m, v);
        break;
    case OPTIM_ADAGRAD:
        om_adagrad(a, w, g, m, v);
        break;
    case OPTIM_LARS:
        om_lars(a, w, g, m, v);
        break;
    case OPTIM_LAMB:
        om_moments(a, g, m, v);
        *w -= a->rate * om_lamb_q(a, *w, *m, *v);
        break;
    default:
        nm_adam(a, w, g, m, v);
    }
}

#endif
