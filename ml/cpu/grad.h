/* grad.h - gradients of the boosting losses, and their quantised form (hist.h). Called by ml/boost
 * once per round and class.
 *
 * Notation: f is a row's score so far, y its target, w its weight, p its probability; g and h are
 * the first and second derivative of the loss with respect to f. Every function works row by row,
 * so that its result does not depend on vector width or order. Rounding to whole numbers is
 * stochastic: up or down with probabilities that make the expected value exact (Shi et al.,
 * Quantized training of gradient boosting decision trees, 2022). The random bits are keyed by (key,
 * row), so they are the same on every machine. Arrays are class-major: [class][row]. */
#ifndef ML_CPU_GRAD_H
#define ML_CPU_GRAD_H

#include <stdint.h>

/* p = logistic(f). */
void grad_sigmoid(const float *f, int64_t n, float *p);
/* p[c][i] = softmax over c of f[c][i], for n rows; `stride` floats from class to class. May be in
 * place. */
void grad_softmax(const float *f, int64_t stride, int64_t n, int classes, float *p);

struct grad_out {
    float *g, *h;
    uint32_t *q;
    /* powers of two; the whole number stored is the value times the scale */
    float g_scale, h_scale;
    uint32_t key;
    /* used by grad_class only; 0 = keep every row */
    float thin;
};
/* Gradients of class `c` (binary: 1): g = w (p - [y == c]), h = w max(p (1 - p), 1e-6) h_factor, q
 * = both times the scales, packed. A row with |g| below `thin` is kept with probability |g| / thin
 * and then gets g and h times thin / |g|; else g, h and q become 0. The expected sums stay the
 * same, and dropped rows cost nothing later. */
void grad_class(const float *p, const float *y, const float *w, int64_t n, float c, float h_factor,
                const struct grad_out *out);
/* Squared error: g = w (f - y), h = w. The scale depends on g, so q is made afterwards by
 * grad_quantise. */
void grad_square(const float *f, const float *y, const float *w, int64_t n, float *g);
/* Derivatives of the losses of ml/boost/boost_loss.c, with e = f - y. Huber: e held between -far
 * and far. Quantile: 1 - alpha above, -alpha below, 0 at y. Poisson: exp(min(f, 80)) - y, with h =
 * w exp(min(f, 80)). */
void grad_huber(const float *f, const float *y, const float *w, int64_t n, float far, float *g);
void grad_quantile(const float *f, const float *y, const float *w, int64_t n, float alpha,
                   float *g);
void grad_poisson(const float *f, const float *y, const float *w, int64_t n, float *g, float *h);
/* Makes out->q from out->g and out->h. */
void grad_quantise(int64_t n, const struct grad_out *out);
/* The largest |g| and the sum of |g|. Blocks of GRAD_SIZE_ROWS rows in turn; within a block eight
 * sums of the rows with i % 8 = 0, 1 ... 7, added in order. */
void grad_size(const float *g, int64_t n, double *largest, double *sum);
/* The sums of g and h of some rows in leaf_units, to sums[0] and sums[1]. */
void grad_leaf(const struct grad_out *in, const int32_t *rows, int64_t n, int64_t *sums);
/* The same for all leaves of a tree in one pass over the rows as they lie: leaf[i] is the leaf of
 * row i, GRAD_NO_LEAF of a row that is in none; what that place of sums then holds means nothing. */
enum { GRAD_LEAVES = 255, GRAD_NO_LEAF = GRAD_LEAVES };
void grad_leaves(const struct grad_out *in, const uint8_t *leaf, int64_t n, int64_t (*sums)[2]);

#endif
