/* net.c - see net.h. A forward pass is one product a layer, a backward pass two: the gradient of the weights, and the
 * gradient of what the layer read. The learned scales of the inputs are multiplied into the first layer's weights, so that
 * they cost nothing per row; their gradient comes from that of the scaled weights. */
#include "ml/net/net.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/gemm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Streams of a lane's seed. Dropout takes one for every (step, layer), so the first parameters take one far away. */
enum { STREAM_START = 1 };
static const uint64_t stream_drop = UINT64_C(1) << 32;

static int padded(int width)
{
    return (width + GEMM_PAD - 1) / GEMM_PAD * GEMM_PAD;
}

void net_shape(struct net *n, int inputs, int outputs, int hidden, int width, enum layer_act act)
{
    CHECK(inputs >= 1 && outputs >= 1 && width >= 1 && hidden >= 1 && hidden < NET_MAX_LAYERS);
    memset(n, 0, sizeof *n);
    n->n = hidden + 1;
    n->act = act;
    n->size = padded(inputs);
    for (int l = 0; l < n->n; l++) {
        struct net_layer *y = &n->layer[l];
        y->in = l == 0 ? inputs : width;
        y->out = l < hidden ? width : outputs;
        y->in_pad = padded(y->in);
        y->pad = padded(y->out);
        y->scale = (float)(1.0 / sqrt((double)y->in));
        y->weights = n->size;
        n->size += (int64_t)y->in * y->pad;
        y->bias = n->size;
        n->size += y->pad;
    }
}

int64_t net_parameters(const struct net *n)
{
    int64_t sum = n->layer[0].in;

    for (int l = 0; l < n->n; l++)
        sum += ((int64_t)n->layer[l].in + 1) * n->layer[l].out;
    return sum;
}

void net_start(const struct net *n, uint64_t seed, float *w)
{
    struct rng rng;

    rng_init(&rng, seed, STREAM_START);
    memset(w, 0, (size_t)n->size * sizeof *w);
    for (int j = 0; j < n->layer[0].in; j++)
        w[j] = 1.0f;
    for (int l = 0; l + 1 < n->n; l++) {
        const struct net_layer *y = &n->layer[l];
        for (int i = 0; i <= y->in; i++) { /* the row after the weights is the biases */
            for (int j = 0; j < y->out; j++)
                w[y->weights + (int64_t)i * y->pad + j] = (float)rng_normal(&rng);
        }
    }
}

/* ---- the matrices of a batch ---- */

static float *take(struct net_work *k, int64_t floats)
{
    k->bytes += floats * (int64_t)sizeof(float);
    return mem_try_zalloc((size_t)floats * sizeof(float));
}

int net_work_init(struct net_work *k, const struct net *n, int64_t rows, bool trains,
                  struct err *err)
{
    int64_t largest = 0;
    bool has_all = true;

    memset(k, 0, sizeof *k);
    k->rows = rows;
    k->x = take(k, rows * n->layer[0].in_pad);
    k->first = take(k, (int64_t)n->layer[0].in * n->layer[0].pad);
    has_all = k->x && k->first;
    for (int l = 0; l < n->n && has_all; l++) {
        const struct net_layer *y = &n->layer[l];
        bool is_hidden = l + 1 < n->n;
        k->z[l] = take(k, rows * y->pad);
        k->h[l] = is_hidden ? take(k, rows * y->pad) : NULL;
        k->keep[l] = is_hidden && trains ? take(k, rows * y->pad) : NULL;
        has_all = k->z[l] && (!is_hidden || (k->h[l] && (!trains || k->keep[l])));
        largest = MAX(largest, (int64_t)y->out * y->in_pad);
    }
    if (has_all && trains) {
        k->turned = take(k, largest);
        has_all = k->turned;
    }
    if (has_all)
        return 0;
    net_work_fini(k);
    return err_set(err, ERR_NOMEM, "mlp: no memory for a batch of %" PRId64 " rows", rows);
}

void net_work_fini(struct net_work *k)
{
    mem_try_free(k->x);
    mem_try_free(k->first);
    mem_try_free(k->turned);
    for (int l = 0; l < NET_MAX_LAYERS; l++) {
        mem_try_free(k->z[l]);
        mem_try_free(k->h[l]);
        mem_try_free(k->keep[l]);
    }
    memset(k, 0, sizeof *k);
}

/* ---- passes ---- */

static void scale_first(const struct net_layer *y, const float *w, float *first)
{
    for (int j = 0; j < y->in; j++) {
        const float *from = w + y->weights + (int64_t)j * y->pad;
        float *to = first + (int64_t)j * y->pad, s = w[j];
        for (int i = 0; i < y->pad; i++)
            to[i] = s * from[i];
    }
}

void net_forward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                 const struct net_drop *drop)
{
    CHECK(rows <= k->rows);
    scale_first(&n->layer[0], w, k->first);
    for (int l = 0; l < n->n; l++) {
        const struct net_layer *y = &n->layer[l];
        struct gemm g = { .m = rows,
                          .n = y->pad,
                          .k = y->in,
                          .a = l == 0 ? k->x : k->h[l - 1],
                          .a_row = y->in_pad,
                          .a_col = 1,
                          .b = l == 0 ? k->first : w + y->weights,
                          .b_row = y->pad,
                          .c = k->z[l],
                          .c_row = y->pad };
        gemm(&g);
        if (l + 1 == n->n) {
            layer_output(k->z[l], w + y->bias, y->scale, rows, y->out, y->pad);
            break;
        }
        layer_forward(k->z[l], k->h[l], w + y->bias, y->scale, rows, y->out, y->pad, n->act);
        if (drop && drop->p > 0)
            layer_drop(k->h[l], k->keep[l], rows * y->pad, drop->p, drop->seed,
                       stream_drop + (uint64_t)drop->step * NET_MAX_LAYERS + (uint64_t)l);
    }
}

/* grad of the weights of layer 0 holds x^T d; from it come the gradients of the scales and of the weights. */
static void unscale_first(const struct net_layer *y, const float *w, float *grad)
{
    for (int j = 0; j < y->in; j++) {
        const float *from = w + y->weights + (int64_t)j * y->pad;
        float *g = grad + y->weights + (int64_t)j * y->pad, s = w[j], sum = 0;
        for (int i = 0; i < y->out; i++)
            sum += from[i] * g[i];
        for (int i = 0; i < y->pad; i++)
            g[i] *= s;
        grad[j] = sum;
    }
    for (int j = y->in; j < y->in_pad; j++)
        grad[j] = 0;
}

void net_backward(const struct net *n, const float *w, struct net_work *k, int64_t rows, bool drops,
                  float *grad)
{
    float *d = k->z[n->n - 1];

    CHECK(rows <= k->rows && k->turned);
    for (int l = n->n - 1; l >= 0; l--) {
        const struct net_layer *y = &n->layer[l];
        if (l + 1 == n->n)
            layer_output_backward(d, y->scale, rows, y->pad, grad + y->bias);
        else
            layer_backward(d, drops ? k->keep[l] : NULL, k->z[l], y->scale, rows, y->pad, n->act,
                           grad + y->bias);
        struct gemm of_weights = { .m = y->in,
                                   .n = y->pad,
                                   .k = rows,
                                   .a = l == 0 ? k->x : k->h[l - 1],
                                   .a_row = 1,
                                   .a_col = y->in_pad,
                                   .b = d,
                                   .b_row = y->pad,
                                   .c = grad + y->weights,
                                   .c_row = y->pad };
        gemm(&of_weights);
        if (l == 0)
            break;
        gemm_transpose(w + y->weights, y->in, y->out, y->pad, k->turned, y->in_pad);
        /* What h of the layer below held is needed no longer: its gradient takes its place. */
        float *below = k->h[l - 1];
        struct gemm of_input = { .m = rows,
                                 .n = y->in_pad,
                                 .k = y->out,
                                 .a = d,
                                 .a_row = y->pad,
                                 .a_col = 1,
                                 .b = k->turned,
                                 .b_row = y->in_pad,
                                 .c = below,
                                 .c_row = y->in_pad };
        gemm(&of_input);
        d = below;
    }
    unscale_first(&n->layer[0], w, grad);
}
