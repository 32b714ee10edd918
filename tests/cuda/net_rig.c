/* net_rig.c - see net_rig.h. */
#include "tests/cuda/net_rig.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/math/net_math.h"

#include <math.h>
#include <string.h>

/* ---- networks ---- */

static int padded(int n)
{
    return (n + 15) / 16 * 16;
}

void lane_shape(struct ml_net_lane *l, int hidden, int width, int outputs)
{
    memset(l, 0, sizeof *l);
    l->n_layers = hidden + 1;
    l->has_scales = 1;
    l->size = IN_PAD;
    for (int i = 0; i <= hidden; i++) {
        struct ml_net_layer *y = &l->layer[i];
        y->in = i == 0 ? INPUTS : width;
        y->out = i < hidden ? width : outputs;
        y->in_pad = padded(y->in);
        y->pad = padded(y->out);
        y->scale = (float)(1.0 / sqrt(y->in));
        y->weights = l->size;
        l->size += (int64_t)y->in * y->pad;
        y->bias = l->size;
        l->size += y->pad;
    }
}

/* Lane i of a test: every lane has another width, activation, seed and rate; classes: outputs, 0 = a number. */
static void lane_make(struct ml_net_lane *l, int i, int hidden, int classes)
{
    static const int widths[LANES] = { 16, 70, 1, 33, 48, 65, 20 };

    lane_shape(l, hidden, widths[i], classes ? classes : 1);
    l->seed = 77 + (uint64_t)i;
    for (int n = 0; n < hidden; n++) {
        l->layer[n].act = (i + n) % LAYER_ACTS;
        l->layer[n].drops = n != 1;
    }
    l->loss = classes ? ML_NET_CLASSES : i % 2 ? ML_NET_SQUARE : ML_NET_QUANTILE;
    l->quantile = 0.3f;
    l->smoothing = i % 3 == 0 ? 0.1f : 0.0f;
}

void step_make(struct ml_net_step *s, int i, int k, int feed)
{
    memset(s, 0, sizeof *s);
    s->feed = feed;
    s->rows = i % 2 ? 37 : 64 + k;
    s->from = (int64_t)k * 5;
    s->stream = ((uint64_t)1 << 32) + (uint64_t)k * ML_NET_LAYERS;
    s->drop = i % 2 ? 0.2f : 0.0f;
    s->beta1 = 0.9f;
    s->beta2 = 0.95f;
    s->eps = 1e-8f;
    s->fix_m = (float)(1 / (1 - pow(0.9, k + 1)));
    s->fix_v = (float)(1 / (1 - pow(0.95, k + 1)));
    for (int r = 0; r < ML_NET_ROLES; r++) {
        s->rate[r] = 0.02f * (float)(1 + r + i);
        s->decay[r] = r == ML_NET_WEIGHTS ? 0.1f : 0;
    }
}

static float *start(const struct ml_net_lane *l)
{
    float *w = mem_zalloc((size_t)l->size * 3 * sizeof *w);
    struct rng r;

    rng_init(&r, l->seed, 1);
    for (int j = 0; j < INPUTS; j++)
        w[j] = 1 + 0.1f * (float)rng_normal(&r);
    for (int n = 0; n < l->n_layers; n++) {
        const struct ml_net_layer *y = &l->layer[n];
        for (int i = 0; i <= y->in; i++) { /* the row after the weights is the biases */
            for (int j = 0; j < y->out; j++)
                w[y->weights + (int64_t)i * y->pad + j] = (float)rng_normal(&r);
        }
    }
    return w;
}

/* ---- the reference ---- */

static float drop_factor(const struct pass *p, int layer, int64_t element)
{
    uint64_t stream = p->s->stream + (uint64_t)layer;
    uint32_t out[4];

    if (p->s->drop == 0 || !p->l->layer[layer].drops)
        return 1;
    rng_at(p->l->seed, (uint32_t)stream, (uint32_t)(stream >> 32), (uint64_t)element / 4, out);
    return out[element % 4] < nm_drop_below(p->s->drop) ? 0.0f : 1.0f / (1.0f - p->s->drop);
}

static float act_of(int act, float z, int is_slope)
{
#define ACT_CASE(id, name) \
    case id:               \
        return is_slope ? name##_slope(z) : name(z);
    switch (act) {
        NM_ACTS(ACT_CASE)
    }
    return 0;
}

void pass_forward(struct pass *p)
{
    for (int l = 0; l < p->l->n_layers; l++) {
        const struct ml_net_layer *y = &p->l->layer[l];
        for (int64_t at = 0; at < (int64_t)p->s->rows * y->pad; at++) {
            int64_t i = at / y->pad, j = at % y->pad;
            const float *w = p->w + y->weights;
            float sum = 0;
            for (int k = 0; k < y->in; k++)
                sum = fmaf(p->h[l][i * y->in_pad + k], (l == 0 ? p->w[k] : 1) * w[k * y->pad + j],
                           sum);
            p->z[l][at] = j < y->out ? y->scale * sum + p->w[y->bias + j] : 0;
            if (l + 1 < p->l->n_layers)
                p->h[l + 1][at] =
                    j < y->out ? act_of(y->act, p->z[l][at], 0) * drop_factor(p, l, at) : 0;
        }
    }
}

static double loss(struct pass *p)
{
    const struct ml_net_layer *y = &p->l->layer[p->l->n_layers - 1];
    double sum = 0;

    for (int i = 0; i < p->s->rows; i++) {
        float *z = p->z[p->l->n_layers - 1] + (int64_t)i * y->pad, number = 0;
        memcpy(&number, &p->y[i], sizeof number);
        if (p->l->loss == ML_NET_SQUARE)
            sum += nm_loss_square(z, number, p->s->rows);
        else if (p->l->loss == ML_NET_QUANTILE)
            sum += nm_loss_quantile(z, number, p->l->quantile, p->s->rows);
        else if (y->out == 1)
            sum += nm_loss_two(z, p->y[i], p->l->smoothing, p->s->rows);
        else
            sum += nm_loss_many(z, p->y[i], p->l->smoothing, p->s->rows, y->out);
    }
    return sum / p->s->rows;
}

/* z of a layer holds the derivative there. */
static void backward_layer(struct pass *p, int l)
{
    const struct ml_net_layer *y = &p->l->layer[l];
    const float *d = p->z[l], *w = p->w + y->weights;
    int rows = p->s->rows;

    for (int j = 0; j < y->pad; j++) {
        float sum = 0;
        for (int i = 0; i < rows; i++)
            sum += d[(int64_t)i * y->pad + j];
        p->grad[y->bias + j] = sum;
        for (int k = 0; k < y->in; k++) {
            float g = 0;
            for (int i = 0; i < rows; i++)
                g = fmaf(p->h[l][(int64_t)i * y->in_pad + k], y->scale * d[(int64_t)i * y->pad + j],
                         g);
            p->grad[y->weights + (int64_t)k * y->pad + j] = g;
        }
    }
    for (int64_t at = 0; l > 0 && at < (int64_t)rows * y->in_pad; at++) {
        int64_t i = at / y->in_pad, k = at % y->in_pad;
        float sum = 0;
        for (int j = 0; j < y->out && k < y->in; j++)
            sum = fmaf(y->scale * d[i * y->pad + j], w[k * y->pad + j], sum);
        p->z[l - 1][at] =
            sum * drop_factor(p, l - 1, at) * act_of(p->l->layer[l - 1].act, p->z[l - 1][at], 1);
    }
}

static void scales(struct pass *p)
{
    const struct ml_net_layer *y = &p->l->layer[0];

    for (int k = 0; k < IN_PAD; k++) {
        float sum = 0;
        for (int j = 0; j < y->pad && k < INPUTS; j++) {
            int64_t at = y->weights + (int64_t)k * y->pad + j;
            if (j < y->out)
                sum += p->w[at] * p->grad[at];
            p->grad[at] *= p->w[k];
        }
        p->grad[k] = sum;
    }
}

static void optimise(struct pass *p)
{
    const struct ml_net_lane *l = p->l;
    const struct ml_net_step *s = p->s;

    for (int64_t i = 0; i < l->size; i++) {
        int role = ML_NET_SCALES;
        for (int n = 0; n < l->n_layers; n++)
            role = i >= l->layer[n].bias      ? ML_NET_BIASES
                   : i >= l->layer[n].weights ? ML_NET_WEIGHTS
                                              : role;
        struct layer_adam a = { s->rate[role], s->decay[role], s->beta1, s->beta2,
                                s->eps,        s->fix_m,       s->fix_v };
        nm_adam(&a, p->w + i, p->grad[i], p->w + l->size + i, p->w + 2 * l->size + i);
    }
}

void pass_open(struct pass *p, const struct ml_net_lane *l, float *w)
{
    *p = (struct pass){ .l = l, .w = w };
    p->grad = mem_zalloc((size_t)l->size * sizeof *p->grad);
    p->h[0] = mem_zalloc((size_t)ROWS * IN_PAD * sizeof *p->h[0]);
    for (int n = 0; n < l->n_layers; n++) {
        p->z[n] = mem_zalloc((size_t)ROWS * (size_t)l->layer[n].pad * sizeof *p->z[n]);
        p->h[n + 1] = mem_zalloc((size_t)ROWS * (size_t)l->layer[n].pad * sizeof *p->h[n]);
    }
}

void pass_close(struct pass *p)
{
    mem_free(p->grad);
    for (int n = 0; n <= p->l->n_layers; n++)
        mem_free(p->h[n]);
    for (int n = 0; n < p->l->n_layers; n++)
        mem_free(p->z[n]);
}

static double reference_step(struct pass *p, const struct data *d, const struct ml_net_step *s)
{
    p->s = s;
    p->y = d->y[s->feed] + s->from;
    for (int i = 0; i < s->rows; i++)
        memcpy(p->h[0] + (int64_t)i * IN_PAD,
               d->x + (int64_t)d->rows[s->feed][s->from + i] * IN_PAD, IN_PAD * sizeof *p->h[0]);
    pass_forward(p);
    double sum = loss(p);
    for (int l = p->l->n_layers - 1; l >= 0; l--)
        backward_layer(p, l);
    scales(p);
    optimise(p);
    return sum;
}

void data_make(struct data *d, int classes)
{
    struct rng r;

    rng_init(&r, 5, (uint64_t)classes);
    d->x = mem_zalloc((size_t)ROWS * IN_PAD * sizeof *d->x);
    for (int i = 0; i < ROWS * INPUTS; i++)
        d->x[i / INPUTS * IN_PAD + i % INPUTS] = (float)rng_normal(&r);
    for (int i = 0; i < 2 * ROWS; i++) {
        float number = (float)rng_normal(&r);
        int32_t *y = &d->y[i / ROWS][i % ROWS];
        d->rows[i / ROWS][i % ROWS] = (int32_t)rng_below(&r, ROWS);
        memcpy(y, &number, sizeof number);
        if (classes)
            *y = (int32_t)rng_below(&r, classes == 1 ? 2 : (uint32_t)classes);
    }
}

void lanes_make(struct lanes *all, const struct data *d, int hidden, int classes)
{
    for (int i = 0; i < LANES; i++) {
        struct pass p;
        struct ml_net_step s;
        size_t bytes;
        lane_make(&all->of[i], i, hidden, classes);
        bytes = (size_t)all->of[i].size * 3 * sizeof(float);
        all->first[i] = start(&all->of[i]);
        all->last[i] = mem_alloc(bytes);
        memcpy(all->last[i], all->first[i], bytes);
        pass_open(&p, &all->of[i], all->last[i]);
        for (int k = 0; k < STEPS; k++) {
            step_make(&s, i, k, i % 2);
            all->losses[i][k] = reference_step(&p, d, &s);
        }
        pass_close(&p);
    }
}

void lanes_free(struct lanes *all)
{
    for (int i = 0; i < LANES; i++) {
        mem_free(all->first[i]);
        mem_free(all->last[i]);
    }
}
