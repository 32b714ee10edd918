/* net_step.cu - what a step of all lanes does between and after the products (net.h): losses, the
 * gradient of the learned scales, norms, the optimiser; and what is done once an epoch. Each lane's sums
 * are made in the order of the CPU (ml/cpu/layer.c, ml/net/), whatever the size of blocks. */
#include "ml/cuda/gpu.h"
#include "ml/cuda/net.h"
#include "ml/math/optim_math.h"

enum { LOSS_ROWS = 256, SCALE_ROWS = 32, SCALE_COLS = 32, ELEMENTWISE = 256 };

/* ---- losses ---- */

__device__ __forceinline__ double loss_row(const struct ml_net_lane *lane, int rows, float *z,
                                           int32_t y)
{
    const struct ml_net_layer *last = &lane->layer[lane->n_layers - 1];

    if (lane->loss == ML_NET_SQUARE)
        return nm_loss_square(z, fm_from_bits((uint32_t)y), rows);
    if (lane->loss == ML_NET_QUANTILE)
        return nm_loss_quantile(z, fm_from_bits((uint32_t)y), lane->quantile, rows);
    if (last->out == 1)
        return nm_loss_two(z, y, lane->smoothing, rows);
    return nm_loss_many(z, y, lane->smoothing, rows, last->out);
}

/* One block for a lane, one thread for a row. The first thread adds up the losses in the order of
 * the rows. */
__global__ void net_loss_kernel(struct net_view v)
{
    __shared__ double of_row[LOSS_ROWS];
    int slot = (int)blockIdx.x, t = (int)threadIdx.x;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_lane *lane = &v.lanes[slot];
    const struct ml_net_layer *last = &lane->layer[v.layers - 1];
    double sum = 0;

    if (!step)
        return; /* the whole block, and before any barrier */
    int rows = step->rows;
    const int32_t *y = v.feed_y + step->feed * v.feed_rows + step->from;
    float *z = net_z(&v, slot, v.layers - 1);
    for (int from = 0; from < rows; from += LOSS_ROWS) {
        if (from + t < rows)
            of_row[t] = loss_row(lane, rows, z + (int64_t)(from + t) * last->pad, y[from + t]);
        __syncthreads();
        for (int i = 0; t == 0 && i < LOSS_ROWS && from + i < rows; i++)
            sum += of_row[i];
        __syncthreads();
    }
    if (t == 0) {
        sum /= (double)rows;
        v.told[(int64_t)*v.at * v.slots + slot].loss = sum;
        if (!(sum - sum == 0) && !v.team) /* a team decides together: net_team.cu */
            v.diverged[slot] = 1;
    }
}

extern "C" int cuda_net_loss(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_loss_kernel, (unsigned)v->slots, LOSS_ROWS, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- the learned scales of the inputs ---- */

/* The gradient of the first layer's weights is that of the scaled ones. A block takes 32 inputs;
 * products of 32 columns at a time are staged, so that reads run along the rows, and one thread
 * for each input adds them up in ascending order. */
__global__ void net_scales_kernel(struct net_view v)
{
    __shared__ float products[SCALE_ROWS][SCALE_COLS + 1];
    int slot = (int)blockIdx.y, first = (int)blockIdx.x * SCALE_ROWS, t = (int)threadIdx.x;
    const struct ml_net_layer *y = &v.lanes[slot].layer[0];
    const float *w = v.state + (int64_t)slot * 3 * v.stride;
    float *grad = v.grad + (int64_t)slot * v.stride, sum = 0;

    if (!net_step_of(&v, slot) || !v.lanes[slot].has_scales || first >= y->in_pad)
        return; /* the whole block, and before any barrier */
    for (int from = 0; from < y->pad; from += SCALE_COLS) {
        for (int at = t; at < SCALE_ROWS * SCALE_COLS; at += (int)blockDim.x) {
            int row = first + at / SCALE_COLS, col = from + at % SCALE_COLS;
            int64_t place = y->weights + (int64_t)row * y->pad + col;
            if (row >= y->in || col >= y->pad)
                continue;
            float g = grad[place];
            products[at / SCALE_COLS][at % SCALE_COLS] = w[place] * g;
            grad[place] = g * w[row];
        }
        __syncthreads();
        for (int i = 0; t < SCALE_ROWS && first + t < y->in && i < SCALE_COLS && from + i < y->out;
             i++)
            sum += products[t][i];
        __syncthreads();
    }
    if (t < SCALE_ROWS && first + t < y->in_pad)
        grad[first + t] = sum;
}

extern "C" int cuda_net_scales(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    unsigned blocks = (unsigned)((v->pad[0] + SCALE_ROWS - 1) / SCALE_ROWS);

    LAUNCH(net_scales_kernel, dim3(blocks, (unsigned)v->slots), ELEMENTWISE, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- the optimiser ---- */

/* Where number i of the parameters belongs: parts begin at multiples of 16. */
struct place {
    int role, layer;
};

__device__ __forceinline__ struct place place_of(const struct ml_net_lane *lane, int64_t i)
{
    struct place p = { ML_NET_SCALES, 0 };

    for (int l = 0; l < lane->n_layers; l++) {
        if (i >= lane->layer[l].weights)
            p = { ML_NET_WEIGHTS, l };
        if (i >= lane->layer[l].bias)
            p = { ML_NET_BIASES, l };
    }
    return p;
}

__device__ __forceinline__ struct layer_adam rates_of(const struct ml_net_step *step, int role)
{
    return { step->rate[role], step->decay[role], step->beta1, step->beta2,
             step->eps,        step->fix_m,       step->fix_v };
}

__global__ void net_optimise_kernel(struct net_view v)
{
    int slot = (int)blockIdx.y;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_lane *lane = &v.lanes[slot];
    float *w = v.state + (int64_t)slot * 3 * v.stride, *m = w + v.stride, *u = m + v.stride;
    const float *g = v.grad + (int64_t)slot * v.stride;
    int64_t stride = (int64_t)gridDim.x * blockDim.x;

    if (!step || !net_is_last(step))
        return;
    float clip = v.clip ? v.clip[slot] : 1.0f;
    bool has_norms = lane->optimizer == OPTIM_LARS || lane->optimizer == OPTIM_LAMB;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < lane->size; i += stride) {
        struct place p = place_of(lane, i);
        struct layer_adam a = rates_of(step, p.role);
        if (has_norms && p.role == ML_NET_WEIGHTS)
            a.rate = v.rates[slot * ML_NET_LAYERS + p.layer];
        om_step(lane->optimizer, &a, w + i, clip * g[i], m + i, u + i);
    }
}

/* Blocks of a launch over all parameters. */
static dim3 all_parameters(const struct net_view *v)
{
    int64_t blocks = (v->stride + ELEMENTWISE - 1) / ELEMENTWISE;

    return dim3((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)v->slots);
}

extern "C" int cuda_net_optimise(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_optimise_kernel, all_parameters(v), ELEMENTWISE, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- sums of parts, norms ---- */

/* As ml/net/net_train.c adds them: 0, then plus the share of each part in turn. The whole sum becomes the gradient. */
__global__ void net_add_kernel(struct net_view v)
{
    int slot = (int)blockIdx.y;
    const struct ml_net_step *step = net_step_of(&v, slot);
    int64_t stride = (int64_t)gridDim.x * blockDim.x, first = (int64_t)slot * v.stride;

    if (!step || step->part == ML_NET_WHOLE)
        return;
    float *to = step->part == ML_NET_LAST_PART ? v.grad : v.sum;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < v.lanes[slot].size;
         i += stride) {
        float before = step->part == ML_NET_FIRST_PART ? 0.0f : v.sum[first + i];
        to[first + i] = before + step->share * v.grad[first + i];
    }
}

extern "C" int cuda_net_add(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_add_kernel, all_parameters(v), ELEMENTWISE, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* Numbers staged at a time, and threads of a block that adds up squares. */
enum { STAGED = 2048, SQUARES_THREADS = 256 };

struct squares_room {
    float staged[STAGED];
    double place[OM_PLACES];
};

/* The sum of the squares of n numbers as optim_squares (ml/cpu/optim.h) adds them up: sixteen threads have a place each, and
 * all of the block fetch numbers for them. number(i) gives number i. All threads of the block call it together. */
template <class Number>
__device__ __forceinline__ double squares(int64_t n, struct squares_room *room, Number number)
{
    int t = (int)threadIdx.x;
    double sum = 0;

    for (int64_t from = 0; from < n; from += STAGED) {
        int m = n - from < STAGED ? (int)(n - from) : STAGED;
        for (int i = t; i < m; i += (int)blockDim.x)
            room->staged[i] = number(from + i);
        __syncthreads();
        for (int i = t; t < OM_PLACES && i < m; i += OM_PLACES)
            sum += (double)room->staged[i] * (double)room->staged[i];
        __syncthreads();
    }
    if (t < OM_PLACES)
        room->place[t] = sum;
    __syncthreads();
    double all = om_places_sum(room->place);
    __syncthreads();
    return all;
}

__global__ void net_clip_kernel(struct net_view v)
{
    __shared__ struct squares_room room;
    int slot = (int)blockIdx.x;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_lane *lane = &v.lanes[slot];
    const float *g = v.grad + (int64_t)slot * v.stride;

    if (!step || !net_is_last(step))
        return; /* the whole block, and before any barrier */
    double sum = squares(lane->size, &room, [=](int64_t i) { return g[i]; });
    if (threadIdx.x == 0) {
        v.told[(int64_t)*v.at * v.slots + slot].length = sqrt(sum);
        v.clip[slot] = om_clip(sum, lane->clip);
    }
}

__global__ void net_rates_kernel(struct net_view v)
{
    __shared__ struct squares_room room;
    int slot = (int)blockIdx.y, layer = (int)blockIdx.x;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_lane *lane = &v.lanes[slot];

    if (!step || !net_is_last(step) ||
        (lane->optimizer != OPTIM_LARS && lane->optimizer != OPTIM_LAMB))
        return; /* the whole block, and before any barrier */
    const struct ml_net_layer *y = &lane->layer[layer];
    const float *w = v.state + (int64_t)slot * 3 * v.stride + y->weights, *m = w + v.stride;
    const float *g = v.grad + (int64_t)slot * v.stride + y->weights;
    struct layer_adam a = rates_of(step, ML_NET_WEIGHTS);
    int64_t n = (int64_t)y->in * y->pad;
    float clip = v.clip[slot], rate = 0;
    double of_w = squares(n, &room, [=](int64_t i) { return w[i]; });
    if (lane->optimizer == OPTIM_LARS)
        rate = om_lars_rate(&a, of_w, squares(n, &room, [=](int64_t i) { return clip * g[i]; }));
    else
        rate = om_lamb_rate(&a, of_w, squares(n, &room, [=](int64_t i) {
            /* q after this step's moments, which are not stored here */
            float first = m[i], second = m[v.stride + i];
            om_moments(&a, clip * g[i], &first, &second);
            return om_lamb_q(&a, w[i], first, second);
        }));
    if (threadIdx.x == 0)
        v.rates[slot * ML_NET_LAYERS + layer] = rate;
}

extern "C" int cuda_net_norms(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_clip_kernel, (unsigned)v->slots, SQUARES_THREADS, 0, c->stream, *v);
    LAUNCH(net_rates_kernel, dim3((unsigned)v->layers, (unsigned)v->slots), SQUARES_THREADS, 0,
           c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

__global__ void net_next_kernel(int32_t *at)
{
    ++*at;
}

extern "C" int cuda_net_next(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_next_kernel, 1, 1, 0, c->stream, v->at);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- once an epoch ---- */

__global__ void net_keep_kernel(struct net_view v)
{
    int slot = (int)blockIdx.y;
    int64_t stride = (int64_t)gridDim.x * blockDim.x, first = (int64_t)slot * 3 * v.stride;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         v.marks[slot] && i < 3 * v.stride; i += stride)
        if (i % v.stride < v.lanes[slot].size) /* what lies behind them was never set */
            v.kept[first + i] = v.state[first + i];
}

extern "C" int cuda_net_keep(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_keep_kernel, all_parameters(v), ELEMENTWISE, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

__global__ void net_finite_kernel(struct net_view v)
{
    int slot = (int)blockIdx.y;
    const float *w = v.state + (int64_t)slot * 3 * v.stride;
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    float sum = 0;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < v.lanes[slot].size;
         i += stride)
        sum += w[i] * 0.0f;
    if (!(sum == 0.0f))
        atomicOr(&v.broken[slot], 1u);
}

extern "C" int cuda_net_finite(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_finite_kernel, all_parameters(v), ELEMENTWISE, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* ---- scores ---- */

__global__ void net_scores_kernel(struct net_view v, int outputs, int64_t from, int64_t n,
                                  float *out)
{
    int slot = (int)blockIdx.y;
    const struct ml_net_step *step = net_step_of(&v, slot);
    const struct ml_net_layer *last = &v.lanes[slot].layer[v.layers - 1];
    int64_t stride = (int64_t)gridDim.x * blockDim.x;

    if (!step)
        return;
    const float *z = net_z(&v, slot, v.layers - 1);
    out += ((int64_t)slot * n + from) * outputs;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < (int64_t)step->rows * outputs; i += stride)
        out[i] = z[i / outputs * last->pad + i % outputs];
}

extern "C" int cuda_net_scores(struct ml_ctx *c, const struct net_view *v, int outputs,
                               int64_t from, int64_t n, float *out, struct err *err)
{
    int64_t blocks = (v->batch * outputs + ELEMENTWISE - 1) / ELEMENTWISE;

    LAUNCH(net_scores_kernel, dim3((unsigned)(blocks < 256 ? blocks : 256), (unsigned)v->slots),
           ELEMENTWISE, 0, c->stream, *v, outputs, from, n, out);
    return cuda_try(cudaGetLastError(), err);
}
