/* net_product.cu - the products of a layer for all lanes of a group in one launch each (net.h). What
 * the CPU does in passes of their own (ml/cpu/layer.c) is done where the elements are in registers:
 * bias, activation and dropout after the product, their derivative before the next one. Dropout is
 * drawn again in the backward pass instead of being stored. The rows of a batch are gathered from
 * the table while the first layer's product loads them: lanes on the same fold read the same rows
 * at the same time, from the cache. */
#include "base/rng.h"
#include "ml/cuda/net.h"
#include "ml/cuda/net_tile.cuh"
#include "ml/math/net_math.h"

__device__ __forceinline__ float act_value(int act, float z)
{
#define ACT_CASE(id, name) \
    case id:               \
        return name(z);
    switch (act) {
        NM_ACTS(ACT_CASE)
    default:
        return z;
    }
#undef ACT_CASE
}

__device__ __forceinline__ float act_slope(int act, float z)
{
#define ACT_CASE(id, name) \
    case id:               \
        return name##_slope(z);
    switch (act) {
        NM_ACTS(ACT_CASE)
    default:
        return 1.0f;
    }
#undef ACT_CASE
}

/* What dropout multiplies the four units from `element` on with; element is a multiple of 4. The
 * numbers of layer_drop (ml/cpu/layer.h). */
__device__ __forceinline__ void drop_four(const struct ml_net_lane *lane,
                                          const struct ml_net_step *step, int layer, int pad,
                                          int64_t element, float keep[4])
{
    uint64_t stream = step->stream + (uint64_t)layer;
    uint64_t place = (uint64_t)(element + (int64_t)step->rows_before * pad);
    uint32_t drawn[4], below = nm_drop_below(step->drop);
    float gain = 1.0f / (1.0f - step->drop);

    rng_block(lane->seed, (uint32_t)stream, (uint32_t)(stream >> 32), place / 4, drawn);
    for (int i = 0; i < 4; i++)
        keep[i] = drawn[i] < below ? 0.0f : gain;
}

/* What a layer reads: rows of the table, or h of the layer below. */
__device__ __forceinline__ struct net_operand input_of(const struct net_view *v, int slot,
                                                       const struct ml_net_step *step,
                                                       const struct ml_net_lane *lane, int layer)
{
    struct net_operand m = {};

    m.factor = 1.0f;
    if (layer == 0) {
        m.at = v->x;
        m.rows = v->feed_row + step->feed * v->feed_rows + step->from;
        m.stride = v->x_stride;
    } else {
        m.at = net_h(v, slot, layer - 1);
        m.stride = lane->layer[layer].in_pad;
    }
    return m;
}

/* ---- forward ---- */

/* A thread's four columns of a row of a hidden layer: h, and the slope of the activation in the
 * place of z. */
__device__ __forceinline__ void hidden_out(const struct ml_net_lane *lane,
                                           const struct ml_net_step *step, int layer, int j0,
                                           int64_t element, const float sum[4], const float *bias,
                                           float *z, float *h)
{
    const struct ml_net_layer *y = &lane->layer[layer];
    float zs[4], hs[4], keep[4];

    for (int q = 0; q < 4; q++) {
        bool is_unit = j0 + q < y->out;
        zs[q] = is_unit ? y->scale * sum[q] + bias[j0 + q] : sum[q];
        hs[q] = is_unit ? act_value(y->act, zs[q]) : 0.0f;
        zs[q] = is_unit ? act_slope(y->act, zs[q]) : 0.0f;
    }
    if (step->drop > 0 && y->drops) {
        drop_four(lane, step, layer, y->pad, element, keep);
        for (int q = 0; q < 4; q++)
            hs[q] *= keep[q];
    }
    *(net_f4 *)(z + element) = net_f4{ zs[0], zs[1], zs[2], zs[3] };
    *(net_f4 *)(h + element) = net_f4{ hs[0], hs[1], hs[2], hs[3] };
}

__global__ void __launch_bounds__(TILE_THREADS) net_forward_kernel(struct net_view v, int layer)
{
    __shared__ struct net_tile s;
    int slot = (int)blockIdx.z, i0 = (int)blockIdx.y * TILE, j0 = (int)blockIdx.x * TILE;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_lane *lane = &v.lanes[slot];
    const struct ml_net_layer *y = &lane->layer[layer];
    float sum[TILE_ROWS][TILE_COLS];

    if (!step || i0 >= step->rows || j0 >= y->pad)
        return; /* the whole block, and before any barrier */
    const float *w = v.w + (int64_t)slot * 3 * v.stride;
    struct net_operand a = input_of(&v, slot, step, lane, layer), b = {};
    a.runs_along_p = 1;
    a.n = step->rows;
    b.at = w + y->weights;
    b.stride = y->pad;
    b.factor = 1.0f;
    b.factors = layer == 0 && lane->has_scales ? w : (const float *)0;
    b.n = y->pad;
    net_product(&a, &b, i0, j0, y->in, &s, sum);

    float *z = net_z(&v, slot, layer), *h = layer + 1 < v.layers ? net_h(&v, slot, layer) : z;
    const float *bias = w + y->bias;
    i0 += (int)threadIdx.x / 16 * TILE_ROWS;
    j0 += (int)threadIdx.x % 16 * TILE_COLS;
    for (int r = 0; r < TILE_ROWS && j0 < y->pad; r++) {
        int64_t element = (int64_t)(i0 + r) * y->pad + j0;
        if (i0 + r >= step->rows)
            break;
        if (layer + 1 < v.layers) {
            hidden_out(lane, step, layer, j0, element, sum[r], bias, z, h);
            continue;
        }
        for (int q = 0; q < TILE_COLS; q++)
            z[element + q] = j0 + q < y->out ? y->scale * sum[r][q] + bias[j0 + q] : sum[r][q];
    }
}

static unsigned tiles(int64_t n)
{
    return (unsigned)((n + TILE - 1) / TILE);
}

extern "C" int cuda_net_forward(struct ml_ctx *c, const struct net_view *v, int layer,
                                struct err *err)
{
    LAUNCH(net_forward_kernel, dim3(tiles(v->pad[layer + 1]), tiles(v->batch), (unsigned)v->slots),
           TILE_THREADS, 0, c->stream, *v, layer);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- backward ---- */

/* The derivative at the sums of the layer, times its scale. */
__device__ __forceinline__ struct net_operand derivative_of(const struct net_view *v, int slot,
                                                            const struct ml_net_layer *y, int layer)
{
    struct net_operand m = {};

    m.at = net_z(v, slot, layer);
    m.stride = y->pad;
    m.factor = y->scale;
    return m;
}

/* A tile of the gradient of the weights: the layer's input, transposed, times the derivative. */
__device__ __forceinline__ void weights_tile(const struct net_view *v, int slot, int layer,
                                             const struct ml_net_step *step, int tile,
                                             struct net_tile *s)
{
    const struct ml_net_lane *lane = &v->lanes[slot];
    const struct ml_net_layer *y = &lane->layer[layer];
    int across = (y->pad + TILE - 1) / TILE, i0 = tile / across * TILE, j0 = tile % across * TILE;
    struct net_operand a = input_of(v, slot, step, lane, layer),
                       b = derivative_of(v, slot, y, layer);
    float sum[TILE_ROWS][TILE_COLS];

    if (i0 >= y->in)
        return;
    a.n = y->in_pad;
    b.n = y->pad;
    net_product(&a, &b, i0, j0, step->rows, s, sum);
    float *grad = v->grad + (int64_t)slot * v->stride + y->weights;
    i0 += (int)threadIdx.x / 16 * TILE_ROWS;
    j0 += (int)threadIdx.x % 16 * TILE_COLS;
    for (int r = 0; r < TILE_ROWS && i0 + r < y->in && j0 < y->pad; r++)
        *(net_f4 *)(grad + (int64_t)(i0 + r) * y->pad + j0) =
            net_f4{ sum[r][0], sum[r][1], sum[r][2], sum[r][3] };
}

/* The gradient of the biases: sums of the derivative over the rows, ascending. */
__device__ __forceinline__ void biases_sum(const struct net_view *v, int slot, int layer,
                                           const struct ml_net_step *step)
{
    const struct ml_net_layer *y = &v->lanes[slot].layer[layer];
    const float *d = net_z(v, slot, layer);
    float *grad = v->grad + (int64_t)slot * v->stride + y->bias;

    for (int j = (int)threadIdx.x; j < y->pad; j += TILE_THREADS) {
        float sum = 0;
#pragma unroll 8
        for (int i = 0; i < step->rows; i++)
            sum += d[(int64_t)i * y->pad + j];
        grad[j] = sum;
    }
}

/* A tile of the derivative at the sums of the layer below, which takes the place of the slope there:
 * the derivative here times the transposed weights, the dropout and the slope. */
__device__ __forceinline__ void input_tile(const struct net_view *v, int slot, int layer,
                                           const struct ml_net_step *step, int tile,
                                           struct net_tile *s)
{
    const struct ml_net_lane *lane = &v->lanes[slot];
    const struct ml_net_layer *y = &lane->layer[layer];
    int across = (y->in_pad + TILE - 1) / TILE, i0 = tile / across * TILE,
        j0 = tile % across * TILE;
    struct net_operand a = derivative_of(v, slot, y, layer), b = {};
    float sum[TILE_ROWS][TILE_COLS];

    if (i0 >= step->rows)
        return;
    a.runs_along_p = 1;
    a.n = step->rows;
    b.at = v->state + (int64_t)slot * 3 * v->stride + y->weights;
    b.stride = y->pad;
    b.factor = 1.0f;
    b.runs_along_p = 1;
    b.n = y->in;
    net_product(&a, &b, i0, j0, y->out, s, sum);
    float *z = net_z(v, slot, layer - 1);
    i0 += (int)threadIdx.x / 16 * TILE_ROWS;
    j0 += (int)threadIdx.x % 16 * TILE_COLS;
    for (int r = 0; r < TILE_ROWS && i0 + r < step->rows && j0 < y->in_pad; r++) {
        int64_t element = (int64_t)(i0 + r) * y->in_pad + j0;
        float keep[4] = { 1.0f, 1.0f, 1.0f, 1.0f };
        if (step->drop > 0 && lane->layer[layer - 1].drops)
            drop_four(lane, step, layer - 1, y->in_pad, element, keep);
        for (int q = 0; q < TILE_COLS; q++)
            z[element + q] = sum[r][q] * keep[q] * z[element + q];
    }
}

/* Blocks of a lane: tiles of the weights' gradient, one for the biases, tiles of the derivative
 * below. All only read what this launch writes nowhere. */
__global__ void __launch_bounds__(TILE_THREADS)
    net_backward_kernel(struct net_view v, int layer, int weight_tiles)
{
    __shared__ struct net_tile s;
    int slot = (int)blockIdx.y, tile = (int)blockIdx.x;
    const struct ml_net_step *step = net_step_of(&v, slot);

    if (!step)
        return; /* the whole block, and before any barrier */
    if (tile < weight_tiles)
        weights_tile(&v, slot, layer, step, tile, &s);
    else if (tile == weight_tiles)
        biases_sum(&v, slot, layer, step);
    else
        input_tile(&v, slot, layer, step, tile - weight_tiles - 1, &s);
}

extern "C" int cuda_net_backward(struct ml_ctx *c, const struct net_view *v, int layer,
                                 struct err *err)
{
    unsigned weights = tiles(v->pad[layer]) * tiles(v->pad[layer + 1]);
    unsigned below = layer > 0 ? tiles(v->batch) * tiles(v->pad[layer]) : 0;

    LAUNCH(net_backward_kernel, dim3(weights + 1 + below, (unsigned)v->slots), TILE_THREADS, 0,
           c->stream, *v, layer, (int)weights);
    return cuda_try(cudaGetLastError(), err);
}
