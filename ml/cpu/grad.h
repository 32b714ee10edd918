/* grad.h - gradients of the boosting losses and their quantised form (hist.h). Every function is row by row, so that the
 * result does not depend on vector width or order. Rounding to whole numbers is stochastic, keyed by (key, row): unbiased,
 * and the same for everybody. Arrays are class-major: [class][row]. */
#ifndef ML_CPU_GRAD_H
#define ML_CPU_GRAD_H

#include <stdint.h>

/* p = logistic(f). */
void grad_sigmoid(const float *f, int64_t n, float *p);
/* p[c][i] = softmax over c of f[c][i], n columns, `stride` floats from class to class. May be in place. */
void grad_softmax(const float *f, int64_t stride, int64_t n, int classes, float *p);

struct grad_out {
    float *g, *h;
    uint32_t *q;
    float g_scale, h_scale; /* powers of two */
    uint32_t key;
    float thin; /* grad_class; 0 = keep every row */
};
/* Of class `c` (binary: 1): g = w (p - [y == c]), h = w max(p (1 - p), 1e-6) h_factor; q = both times scale. A row whose |g|
 * is below `thin` is kept with probability |g| / thin, then with g and h times thin / |g|, else both become 0, and q with
 * them: unbiased. */
void grad_class(const float *p, const float *y, const float *w, int64_t n, float c, float h_factor,
                const struct grad_out *out);
/* Squared error: g = w (f - y), h = w. The scale depends on g: first this, then grad_quantise. */
void grad_square(const float *f, const float *y, const float *w, int64_t n, float *g);
/* The derivatives of the losses of ml/boost/boost_loss.c, with e = f - y: cut at +-far; 1 - alpha above, -alpha below, 0 at y;
 * exp(min(f, 80)) - y, and with it h = w exp(min(f, 80)). */
void grad_huber(const float *f, const float *y, const float *w, int64_t n, float far, float *g);
void grad_quantile(const float *f, const float *y, const float *w, int64_t n, float alpha,
                   float *g);
void grad_poisson(const float *f, const float *y, const float *w, int64_t n, float *g, float *h);
void grad_quantise(int64_t n, const struct grad_out *out); /* from out->g and out->h */
/* Largest |g| and the sum of |g|: blocks of GRAD_SIZE_ROWS in turn, of each the sums of rows i % 8 = 0, 1 ... 7. */
void grad_size(const float *g, int64_t n, double *largest, double *sum);

#endif
