/* boost_grad.cu - the first kernels of a round: probabilities, gradients, their scale and their
 * packed words, by the arithmetic of ml/math/grad_math.h. A thread per row and tree.
 *
 * Classes need one pass, because their scales come from the host. For targets of numbers the scale
 * follows from the largest |g| and the sum of |g|, which are computed on the device in the order of
 * ml/cpu/grad.h. */
#include "ml/cuda/gpu.h"

#include "base/rng.h"
#include "ml/cuda/boost.h"
#include "ml/math/grad_math.h"

/* Running sums of a block of rows: as many as the CPU keeps (ml/cpu/grad.h), because sums of
 * doubles depend on their order. */
enum { SIZE_SUMS = 8 };

/* Resets the trees of the round; one thread each. A tree's seed follows from the lane's seed, the
 * round and the output, as on the CPU. A lane that sits out (round -1) has trees that are done. */
__global__ void begin_kernel(struct boost_view v)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (t < v.n_trees) {
        int lane = t / v.in.outputs, output = t % v.in.outputs;
        struct boost_tree *tree = &v.trees[t];
        int64_t round = v.round[lane];
        tree->seed = rng_derive(v.seed[lane], (uint64_t)(round * v.in.outputs + output));
        tree->total = 0;
        tree->g_scale = (double)v.scale[3 * lane];
        tree->h_scale = (double)v.scale[3 * lane + 1];
        tree->n_rows = 0;
        tree->n_nodes = tree->n_leaves = tree->n_order = 1;
        tree->n_slots = tree->n_batch = 0;
        tree->is_done = round < 0;
        if (output == 0)
            v.n_picked[lane] = 0;
    }
}

/* Probabilities of class 1 from the scores (log odds) f, for the binary loss; blockIdx.y is the
 * tree, which is also the lane. fm_sigmoid has the same bits on CPU and device. */
__global__ void sigmoid_kernel(struct boost_view v)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = blockIdx.y * v.rows;
    int64_t n = boost_sits_out(&v, (int)blockIdx.y) ? 0 : v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        v.p[at + i] = fm_sigmoid(v.f[at + i]);
}

/* Probabilities of all classes from the scores: exp(f_k - max f) over the sum of these. f, p:
 * [outputs][rows] by lane. A thread per row goes through the classes in the order of the CPU, so
 * that the sum has the same bits; blockIdx.y is the lane. */
__global__ void softmax_kernel(struct boost_view v)
{
    const float *f = v.f + (int64_t)blockIdx.y * v.in.outputs * v.rows;
    float *p = v.p + (int64_t)blockIdx.y * v.in.outputs * v.rows;
    int64_t step = (int64_t)gridDim.x * blockDim.x, n = v.round[blockIdx.y] < 0 ? 0 : v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float top = f[i], sum = 0.0f;
        for (int k = 1; k < v.in.outputs; k++)
            top = f[k * v.rows + i] > top ? f[k * v.rows + i] : top;
        for (int k = 0; k < v.in.outputs; k++) {
            p[k * v.rows + i] = fm_exp(f[k * v.rows + i] - top);
            sum += p[k * v.rows + i];
        }
        sum = 1.0f / sum;
        for (int k = 0; k < v.in.outputs; k++)
            p[k * v.rows + i] *= sum;
    }
}

/* Gradients g, second derivatives h and packed words q of classification; blockIdx.y is the tree of
 * (lane, class). thin > 0: rows whose |g| is below it are dropped with a probability, and those
 * kept count for more (grad_thin_factor); a dropped row gets the word 0. */
__global__ void class_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, lane = t / v.in.outputs, output = t % v.in.outputs;
    const float *p = v.p + t * v.rows, *y = v.y + lane * v.rows, *w = v.w + lane * v.rows;
    const struct ml_boost_rule *rule = &v.rules[lane].in;
    float of = rule->loss == ML_BOOST_LOGISTIC ? 1.0f : (float)output;
    float gs = v.scale[3 * lane], hs = v.scale[3 * lane + 1], thin = v.scale[3 * lane + 2];
    uint32_t key = (uint32_t)v.trees[t].seed;
    int64_t step = (int64_t)gridDim.x * blockDim.x, n = v.round[lane] < 0 ? 0 : v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint32_t row = (uint32_t)i;
        float g = grad_class_g(p[i], y[i] == of, w[i]);
        float h = grad_class_h(p[i], w[i], rule->h_factor), factor = 1.0f;
        if (thin > 0.0f) {
            factor = grad_thin_factor(g, thin, key, row);
            g *= factor;
            h *= factor;
        }
        v.g[t * v.rows + i] = g;
        v.h[t * v.rows + i] = h;
        v.q[t * v.rows + i] = factor > 0.0f ? grad_packed(g, h, gs, hs, key, row) : 0;
    }
}

/* Gradient and hessian of one row by the loss of its lane; lanes of several losses may share a
 * launch. */
__device__ static void number_gradient(const struct ml_boost_rule *in, float far, float f, float y,
                                       float w, float *g, float *h)
{
    *h = w;
    switch (in->loss) {
    case ML_BOOST_POISSON:
        *h = grad_poisson_h(f);
        *g = w * (*h - y);
        *h *= w;
        break;
    case ML_BOOST_HUBER:
        *g = w * grad_huber_g(f, y, far);
        break;
    case ML_BOOST_QUANTILE:
        *g = w * grad_quantile_g(f, y, (float)in->alpha);
        break;
    default:
        *g = w * (f - y);
    }
}

/* Gradients of targets of numbers; blockIdx.y is the tree, which is the lane. far: the bound of
 * Huber's loss (boost_quantile.cu). */
__global__ void number_kernel(struct boost_view v)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = blockIdx.y * v.rows;
    int64_t n = boost_sits_out(&v, (int)blockIdx.y) ? 0 : v.rows;
    const struct ml_boost_rule *in = &v.rules[blockIdx.y].in;
    float far = in->loss == ML_BOOST_HUBER ? v.far[blockIdx.y] : 0.0f;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        number_gradient(in, far, v.f[at + i], v.y[at + i], v.w[at + i], &v.g[at + i], &v.h[at + i]);
}

/* The sum and the largest of |g|, or with blockIdx.z = 1 of |h|, for each block of GRAD_SIZE_ROWS
 * rows. Eight threads for each block: thread k keeps the running sum of the rows with i % 8 = k,
 * and the first one adds up the eight in order, which is the order of ml/cpu/grad.h. */
__global__ void size_kernel(struct boost_view v)
{
    DYN_SHARED(double, sums); /* [groups][8][2] */
    int k = (int)threadIdx.x % SIZE_SUMS, group = (int)threadIdx.x / SIZE_SUMS;
    int64_t block = (int64_t)blockIdx.x * (blockDim.x / SIZE_SUMS) + group;
    int64_t from = block * GRAD_SIZE_ROWS, end = from + GRAD_SIZE_ROWS;
    const float *g = (blockIdx.z ? v.h : v.g) + (int64_t)blockIdx.y * v.rows;
    double sum = 0.0;
    float top = 0.0f;

    end = end < v.rows ? end : v.rows;
    if (boost_sits_out(&v, (int)blockIdx.y) ||
        (blockIdx.z && v.rules[blockIdx.y].in.loss != ML_BOOST_POISSON))
        end = 0;
    for (int64_t i = from + k; i < end; i += SIZE_SUMS) {
        float a = g[i] < 0.0f ? -g[i] : g[i];
        sum += (double)a;
        top = a > top ? a : top;
    }
    sums[2 * threadIdx.x] = sum;
    sums[2 * threadIdx.x + 1] = (double)top;
    __syncthreads();
    if (k == 0 && block < v.size_blocks) {
        const double *all = sums + 2 * threadIdx.x;
        double *out = v.sizes + 4 * (blockIdx.y * v.size_blocks + block) + 2 * blockIdx.z;
        double largest = all[1];
        sum = all[0];
        for (int j = 1; j < SIZE_SUMS; j++) {
            sum += all[2 * j];
            largest = all[2 * j + 1] > largest ? all[2 * j + 1] : largest;
        }
        out[0] = sum;
        out[1] = largest;
    }
}

/* Adds up the sizes of all blocks of rows and makes the scale of them. which: 0 = of g, 1 = of
 * h. */
__device__ static double scale_of(const struct boost_view *v, int t, int which)
{
    const double *sizes = v->sizes + 4 * (t * v->size_blocks) + 2 * which;
    double sum = 0.0, largest = 0.0;

    for (int64_t i = 0; i < v->size_blocks; i++) {
        sum += sizes[4 * i];
        largest = sizes[4 * i + 1] > largest ? sizes[4 * i + 1] : largest;
    }
    return (double)grad_scale(largest, sum, v->n_train[t]);
}

/* One thread per tree. Blocks are added in turn, because sums of doubles depend on their order. */
__global__ void scale_kernel(struct boost_view v)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (t < v.n_trees && !boost_sits_out(&v, t)) {
        v.trees[t].g_scale = scale_of(&v, t, 0);
        /* For the other losses h is the row's weight, and a scale of 1 makes it count rows. */
        v.trees[t].h_scale = v.rules[t].in.loss == ML_BOOST_POISSON ? scale_of(&v, t, 1) : 1.0;
    }
}

/* The packed words, once the scales are known: g and h times their scale, rounded at random up or
 * down by bits that depend only on the tree's seed and the row (grad_packed). */
__global__ void quantise_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y;
    const struct boost_tree *tree = &v.trees[t];
    float gs = (float)tree->g_scale, hs = (float)tree->h_scale;
    uint32_t key = (uint32_t)tree->seed;
    int64_t step = (int64_t)gridDim.x * blockDim.x, n = boost_sits_out(&v, t) ? 0 : v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        v.q[t * v.rows + i] =
            grad_packed(v.g[t * v.rows + i], v.h[t * v.rows + i], gs, hs, key, (uint32_t)i);
}

/* Targets of numbers have one output, so a tree is a lane. */
static int numbers(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads, groups = threads / SIZE_SUMS;
    unsigned trees = (unsigned)v->n_trees, blocks = boost_blocks(c, v->rows, threads, v->n_trees);
    unsigned sizes = v->n_of_loss[ML_BOOST_POISSON] > 0 ? 2 : 1;

    if (v->n_of_loss[ML_BOOST_HUBER] > 0 && cuda_boost_far(c, v, err) < 0)
        return -1;
    LAUNCH(number_kernel, dim3(blocks, trees), threads, 0, c->stream, *v);
    LAUNCH(size_kernel, dim3((unsigned)((v->size_blocks + groups - 1) / groups), trees, sizes),
           threads, threads * 2 * sizeof(double), c->stream, *v);
    LAUNCH(scale_kernel, (trees + 31) / 32, 32, 0, c->stream, *v);
    LAUNCH(quantise_kernel, dim3(blocks, trees), threads, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* After it, g, h and q of all trees of the round are known. Classes need one pass, because their
 * scales come from the host. Numbers find their scales on the device: gradients, their size, the
 * scale, then the words. */
extern "C" int cuda_boost_gradients(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads,
             blocks = boost_blocks(c, v->rows, threads, v->n_trees);
    unsigned trees = (unsigned)v->n_trees;

    LAUNCH(begin_kernel, (trees + 31) / 32, 32, 0, c->stream, *v);
    if (v->is_number)
        return numbers(c, v, err);
    if (v->n_of_loss[ML_BOOST_LOGISTIC] > 0)
        LAUNCH(sigmoid_kernel, dim3(blocks, trees), threads, 0, c->stream, *v);
    else
        LAUNCH(softmax_kernel, dim3(blocks, (unsigned)v->in.n_lanes), threads, 0, c->stream, *v);
    LAUNCH(class_kernel, dim3(blocks, trees), threads, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
