/* test_net.c - the gradients of a network are those of its loss, by differences, for every activation, every loss and every
 * number of layers, with waves and members or without; padding changes nothing and is never changed; every instruction set gives the same bits; and the step
 * of the optimiser is the published one. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/simd.h"
#include "ml/cpu/waves.h"
#include "ml/net/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 7, INPUTS = 5, SMOOTHING_PERCENT = 10, MEMBERS = 3, NUMBERS = 3, CODES = 5 };

enum loss { TWO, MANY, SQUARE, QUANTILE, LOSSES };
static const int outputs_of[LOSSES] = { [TWO] = 1, [MANY] = 3, [SQUARE] = 1, [QUANTILE] = 1 };

struct problem {
    struct net net;
    struct net_work work;
    float *w, *grad, x[ROWS * 16], number[ROWS];
    int32_t label[ROWS], codes[ROWS * CODES];
    enum loss loss;
    struct net_drop drop;
};

/* The blocks of the family mlp. RICH: numbers as waves, and members. CODED: pieces of numbers, vectors of categories, members,
 * layers that are normalised and add what they read, and crosses beside them. */
enum shape { PLAIN, RICH, CODED, SHAPES };

static void coded_inputs(struct net *n, struct err *err)
{
    struct net_block pieces = { NET_PIECES, NUMBERS, .is_linear = true };
    struct net_block embeds = { NET_EMBEDS, 2, .is_linear = true };

    n->codes = (struct net_codes){ .embeds = 2, .crosses = 3, .dropped = 1, .levels = { 4, 11 } };
    assert_int_equal(net_add(n, &pieces, err), 0);
    assert_int_equal(net_add(n, &embeds, err), 0);
}

static void problem_shape(struct net *n, enum loss loss, int hidden, int width, enum layer_act act,
                          enum shape shape)
{
    bool is_rich = shape != PLAIN;
    struct net_block layer = {
        NET_DENSE, width, act, .drops = true, .scales = true, .each = is_rich
    };
    struct net_block last = { is_rich ? NET_HEADS : NET_DENSE, outputs_of[loss],
                              .is_linear = true };
    struct net_block waves = { NET_WAVES, NUMBERS, .is_linear = true };
    struct net_block members = { NET_MEMBERS, MEMBERS, .is_linear = true };
    struct net_block norm = { NET_LAYER_NORM, width, .is_linear = true };
    struct net_block crosses = { NET_CROSSES, 32, .is_linear = true };
    struct err err = { 0 };

    net_begin(n, 1, 1, INPUTS);
    if (shape == CODED)
        coded_inputs(n, &err);
    if (shape == RICH)
        assert_int_equal(net_add(n, &waves, &err), 0);
    if (is_rich)
        assert_int_equal(net_add(n, &members, &err), 0);
    for (int i = 0; i < hidden; i++, layer.scales = false) {
        layer.adds = shape == CODED && i > 0;
        assert_int_equal(net_add(n, &layer, &err), 0);
        if (shape == CODED)
            assert_int_equal(net_add(n, &norm, &err), 0);
    }
    assert_int_equal(net_add(n, &last, &err), 0);
    if (shape == CODED)
        assert_int_equal(net_add(n, &crosses, &err), 0);
}

static struct problem *problem_of(enum loss loss, int hidden, int width, enum layer_act act,
                                  float drop, enum shape shape)
{
    struct problem *p = calloc(1, sizeof *p);
    struct err err = { 0 };
    struct rng rng;

    assert_non_null(p);
    p->loss = loss;
    p->drop = (struct net_drop){ .p = drop, .seed = 5, .step = 3 };
    problem_shape(&p->net, loss, hidden, width, act, shape);
    assert_int_equal(net_work_init(&p->work, &p->net, ROWS, true, &err), 0);
    p->w = malloc((size_t)p->net.size * sizeof *p->w);
    p->grad = malloc((size_t)p->net.size * sizeof *p->grad);
    assert_true(p->w && p->grad);
    net_start(&p->net, 11, p->w);
    rng_init(&rng, 12, (uint64_t)loss);
    /* Training starts with 0 in the last block, where most gradients are 0. */
    for (int i = 0; i < p->net.n_parts; i++) {
        const struct net_part *part = &p->net.part[i];
        for (int j = 0;
             part->block >= p->net.n - 1 - (shape == CODED) && j < part->rows * part->pad; j++) {
            if (j % part->pad < part->cols)
                p->w[part->at + j] = (float)rng_normal(&rng);
        }
    }
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++)
            p->x[i * 16 + j] = (float)rng_normal(&rng);
        for (int j = 0; j < CODES; j++)
            p->codes[i * CODES + j] = (int32_t)rng_below(&rng, j == 0 ? 4 : j == 1 ? 11 : 50);
        p->label[i] = (int32_t)rng_below(&rng, loss == MANY ? 3 : 2);
        p->number[i] = (float)rng_normal(&rng);
    }
    return p;
}

static struct problem *problem_new(enum loss loss, int hidden, int width, enum layer_act act,
                                   float drop)
{
    return problem_of(loss, hidden, width, act, drop, PLAIN);
}

static void problem_free(struct problem *p)
{
    net_work_fini(&p->work);
    free(p->w);
    free(p->grad);
    free(p);
}

static void inputs_set(struct problem *p, size_t from, size_t rows)
{
    memcpy(p->work.x, p->x + from * 16, rows * 16 * sizeof *p->x);
    if (p->work.codes)
        memcpy(p->work.codes, p->codes + from * CODES, rows * CODES * sizeof *p->codes);
}

static double loss_now(struct problem *p)
{
    int outputs = net_outputs(&p->net), pad = p->net.block[p->net.n - 1].to.pad;
    int members = net_members_of(&p->net), rows = ROWS * members;
    float *z = net_scores(&p->net, &p->work), number[ROWS * MEMBERS];
    int32_t label[ROWS * MEMBERS];

    for (int i = 0; i < rows; i++) {
        number[i] = p->number[i / members];
        label[i] = p->label[i / members];
    }
    inputs_set(p, 0, ROWS);
    net_forward(&p->net, p->w, &p->work, ROWS, p->drop.p > 0 ? &p->drop : NULL);
    switch (p->loss) {
    case SQUARE:
        return layer_loss_square(z, number, rows, pad);
    case QUANTILE:
        return layer_loss_quantile(z, number, 0.3f, rows, pad);
    default:
        return layer_loss_classes(z, label, SMOOTHING_PERCENT / 100.0f, rows, outputs, pad);
    }
}

static void gradient_now(struct problem *p)
{
    loss_now(p);
    net_backward(&p->net, p->w, &p->work, ROWS, &p->drop, p->grad);
}

static bool is_fixed(const struct net *n, int64_t at)
{
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        if (p->role == NET_FIXED && at >= p->at && at < p->at + (int64_t)p->rows * p->pad)
            return true;
    }
    return false;
}

/* Central differences of a loss in single precision are good to about three digits. */
static void gradient_is_that_of_the_loss(struct problem *p, const char *what)
{
    struct rng rng;

    gradient_now(p);
    rng_init(&rng, 13, 0);
    for (int i = 0; i < 200; i++) {
        int64_t at = i < INPUTS ? i : (int64_t)rng_below(&rng, (uint32_t)p->net.size);
        float old = p->w[at], step = 2e-2f;
        if (old == 0.0f && i >= INPUTS)
            continue; /* padding, or a bias that is 0 */
        if (is_fixed(&p->net, at))
            continue;
        p->w[at] = old + step;
        double above = loss_now(p);
        p->w[at] = old - step;
        double below = loss_now(p), want = (above - below) / (2.0 * (double)step);
        p->w[at] = old;
        if (fabs(want - (double)p->grad[at]) > 2e-3 + 2e-2 * fabs(want))
            fail_msg("%s: parameter %lld: %g, by differences %g", what, (long long)at,
                     (double)p->grad[at], want);
    }
}

static void gradients_are_those_of_the_loss(void **state)
{
    static const char *const names[] = { "relu", "elu", "selu", "silu", "gelu", "mish", "tanh" };

    (void)state;
    for (int act = 0; act < LAYER_ACTS; act++) {
        for (int loss = 0; loss < LOSSES; loss++) {
            /* Kinks: a difference across the bend of relu or of the quantile loss is no derivative. */
            if (act == LAYER_RELU || act == LAYER_SELU || loss == QUANTILE)
                continue;
            struct problem *p =
                problem_new((enum loss)loss, 1 + (act + loss) % 3, 9, (enum layer_act)act, 0);
            gradient_is_that_of_the_loss(p, names[act]);
            problem_free(p);
        }
    }
}

static void gradients_of_a_network_with_dropout_are_those_of_its_loss(void **state)
{
    struct problem *p = problem_new(SQUARE, 2, 20, LAYER_SILU, 0.4f);

    (void)state;
    gradient_is_that_of_the_loss(p, "dropout");
    problem_free(p);
}

static void gradients_of_waves_and_members_are_those_of_the_loss(void **state)
{
    static const char *const names[] = { "two", "many", "square" };

    (void)state;
    for (int loss = TWO; loss <= SQUARE; loss++) {
        struct problem *p =
            problem_of((enum loss)loss, 2, 9, LAYER_MISH, loss == MANY ? 0.3f : 0, RICH);
        gradient_is_that_of_the_loss(p, names[loss]);
        problem_free(p);
    }
}

static void gradients_of_codes_norms_and_sums_are_those_of_the_loss(void **state)
{
    static const char *const names[] = { "two", "many", "square" };

    (void)state;
    for (int loss = TWO; loss <= SQUARE; loss++) {
        struct problem *p =
            problem_of((enum loss)loss, 3, 9, LAYER_MISH, loss == MANY ? 0.3f : 0, CODED);
        gradient_is_that_of_the_loss(p, names[loss]);
        problem_free(p);
    }
}

/* The bends of relu, selu and the quantile loss at a point where nothing bends: against the definition. */
static void slopes_are_right_on_both_sides_of_a_bend(void **state)
{
    static const float at[] = { -2.0f, -0.5f, 0.5f, 2.0f };
    static const enum layer_act acts[] = { LAYER_RELU, LAYER_SELU };

    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
        for (size_t i = 0; i < ARRAY_LEN(at); i++) {
            float z[16] = { at[i] - 0.01f, at[i] + 0.01f }, h[16], bias[16] = { 0 }, sum[16],
                  d[16] = { 1.0f }, mid[16] = { at[i] }, at_mid[16];
            layer_forward(z, h, bias, 1.0f, 1, 2, 16, acts[a]);
            layer_forward_slope(mid, at_mid, bias, 1.0f, 1, 1, 16, acts[a]);
            layer_backward(d, NULL, mid, 1.0f, 1, 16, sum);
            assert_float_equal(sum[0], (h[1] - h[0]) / 0.02f, 1e-2f);
        }
    }
    float z[16] = { 2.0f }, y = 1.0f;
    assert_float_equal(layer_loss_quantile(z, &y, 0.3f, 1, 16), 0.7, 1e-6);
    assert_float_equal(z[0], 0.7f, 1e-6f);
    z[0] = 0.0f;
    assert_float_equal(layer_loss_quantile(z, &y, 0.3f, 1, 16), 0.3, 1e-6);
    assert_float_equal(z[0], -0.3f, 1e-6f);
}

/* A model predicts without computing slopes. */
static void training_and_predicting_have_the_same_activations(void **state)
{
    enum { N = 40, PAD = 48 };
    float z[PAD], both[PAD], h[PAD], h_both[PAD], bias[N];
    struct rng rng;

    (void)state;
    rng_init(&rng, 21, 0);
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (int act = 0; act < LAYER_ACTS; act++) {
            for (int i = 0; i < PAD; i++) {
                z[i] = i < N ? 4.0f * (float)rng_normal(&rng) : 0.0f;
                if (i < N)
                    bias[i] = (float)rng_normal(&rng);
            }
            memcpy(both, z, sizeof z);
            layer_forward(z, h, bias, 0.7f, 1, N, PAD, (enum layer_act)act);
            layer_forward_slope(both, h_both, bias, 0.7f, 1, N, PAD, (enum layer_act)act);
            assert_memory_equal(h, h_both, sizeof h);
        }
    }
    simd_force(simd_best());
}

/* The error that net_math.h states, over the whole range, and what the activations rely on at its ends. */
static void exponentials_of_activations_are_as_good_as_their_argument(void **state)
{
    float below = nm_exp(-1e30f), edge = nm_exp(-87.0f);

    (void)state;
    for (int i = 0; i <= 174000; i++) {
        float x = -87.0f + (float)i * 0.001f;
        double want = exp((double)x), error = fabs((double)nm_exp(x) - want) / want;
        if (error > 2e-7 + 1.2e-7 * fabs((double)x))
            fail_msg("exp(%g) is off by %g of it", (double)x, error);
    }
    assert_true(nm_exp(0.0f) == 1.0f);
    assert_memory_equal(&below, &edge, sizeof below);
    assert_true(edge > 0.0f && edge < 2e-38f);
    assert_true(nm_elu(-1e30f) == -1.0f && isnan(nm_exp(NAN)));
}

/* Far from 0 an activation is 0 or its argument and its derivative 0 or 1; nothing overflows on the way. */
static void activations_saturate(void **state)
{
    static const float far[] = { 25.0f, 90.0f, 1e4f, 1e9f };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(far); i++) {
        float x = far[i];
        assert_true(nm_silu(x) == x && nm_gelu(x) == x && fabsf(nm_mish(x) - x) < 2e-7f * x);
        assert_true(nm_silu_slope(x) == 1.0f && nm_gelu_slope(x) == 1.0f &&
                    fabsf(nm_mish_slope(x) - 1.0f) < 2e-7f);
        assert_true(fabsf(nm_silu(-x)) < 1e-8f && fabsf(nm_gelu(-x)) < 1e-8f &&
                    fabsf(nm_mish(-x)) < 1e-8f);
        assert_true(fabsf(nm_silu_slope(-x)) < 1e-8f && fabsf(nm_gelu_slope(-x)) < 1e-8f &&
                    fabsf(nm_mish_slope(-x)) < 1e-8f);
    }
    assert_true(isnan(nm_silu(NAN)) && isnan(nm_gelu(NAN)) && isnan(nm_mish(NAN)));
}

static void padding_stays_zero(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        struct problem *p = problem_of(MANY, 2, 9, LAYER_ELU, 0.2f, (enum shape)shape);
        memset(p->grad, 0xff, (size_t)p->net.size * sizeof *p->grad);
        gradient_now(p);
        for (int i = 0; i < p->net.n_parts; i++) {
            const struct net_part *part = &p->net.part[i];
            for (int j = 0; j < part->rows * part->pad; j++)
                assert_true(j % part->pad < part->cols || p->grad[part->at + j] == 0.0f);
        }
        problem_free(p);
    }
}

static void every_set_of_instructions_gives_the_same_bits(void **state)
{
    (void)state;
    for (int act = 0; act < LAYER_ACTS * SHAPES; act++) {
        float *first = NULL;
        for (int level = 0; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            struct problem *p = problem_of(MANY, 3, 33, (enum layer_act)(act / SHAPES), 0.3f,
                                           (enum shape)(act % SHAPES));
            gradient_now(p);
            if (!first) {
                first = malloc((size_t)p->net.size * sizeof *first);
                assert_non_null(first);
                memcpy(first, p->grad, (size_t)p->net.size * sizeof *first);
            }
            assert_memory_equal(first, p->grad, (size_t)p->net.size * sizeof *first);
            problem_free(p);
        }
        free(first);
    }
    simd_force(simd_best());
}

static void a_row_s_score_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        struct problem *p = problem_of(MANY, 3, 40, LAYER_MISH, 0, (enum shape)shape);
        size_t floats = (size_t)net_members_of(&p->net) * 16;
        float all[ROWS * MEMBERS * 16], *z = net_scores(&p->net, &p->work);
        inputs_set(p, 0, ROWS);
        net_forward(&p->net, p->w, &p->work, ROWS, NULL);
        memcpy(all, z, ROWS * floats * sizeof *all);
        for (size_t i = 0; i < ROWS; i++) {
            inputs_set(p, i, 1);
            net_forward(&p->net, p->w, &p->work, 1, NULL);
            assert_memory_equal(z, all + i * floats, floats * sizeof *all);
        }
        problem_free(p);
    }
}

/* Members with equal factors and heads give equal scores, and a member's own numbers move its own scores only. */
static void members_are_networks_that_share_the_layers(void **state)
{
    struct problem *p = problem_of(SQUARE, 2, 9, LAYER_SILU, 0, RICH);
    const struct net_block *factors = &p->net.block[1], *heads = &p->net.block[4];
    float *z = net_scores(&p->net, &p->work), first[ROWS];

    (void)state;
    assert_int_equal(heads->kind, NET_HEADS);
    for (int m = 1; m < MEMBERS; m++) { /* every member becomes the first one */
        memcpy(p->w + factors->at_scales + m * factors->to.pad, p->w + factors->at_scales,
               (size_t)factors->to.pad * sizeof *p->w);
        memcpy(p->w + heads->at_weights + m * heads->from.c * heads->to.pad,
               p->w + heads->at_weights,
               (size_t)heads->from.c * (size_t)heads->to.pad * sizeof *p->w);
        memcpy(p->w + heads->at_bias + m * heads->to.pad, p->w + heads->at_bias,
               (size_t)heads->to.pad * sizeof *p->w);
    }
    inputs_set(p, 0, ROWS);
    net_forward(&p->net, p->w, &p->work, ROWS, NULL);
    for (int i = 0; i < ROWS; i++) {
        first[i] = z[(int64_t)i * MEMBERS * 16];
        for (int m = 1; m < MEMBERS; m++)
            assert_float_equal(z[((int64_t)i * MEMBERS + m) * 16], first[i], 0);
    }
    /* and changing the last member moves nobody else */
    p->w[factors->at_scales + (MEMBERS - 1) * factors->to.pad] += 1.0f;
    inputs_set(p, 0, ROWS);
    net_forward(&p->net, p->w, &p->work, ROWS, NULL);
    for (int i = 0; i < ROWS; i++) {
        assert_float_equal(z[(int64_t)i * MEMBERS * 16], first[i], 0);
        assert_true(z[((int64_t)i * MEMBERS + MEMBERS - 1) * 16] != first[i]);
    }
    problem_free(p);
}

/* Against the C library: cosines of turns, and what a number becomes. */
static void waves_are_cosines(void **state)
{
    float f[WAVES], phase[WAVES], mix[WAVES_MIXED * WAVES], bias[WAVES_MIXED] = { 1, 2, 3 };
    float x[3] = { 0.7f, 5.0f, 6.0f }, out[6];
    struct waves w = { 1, f, phase, mix, bias };
    double want[WAVES_MIXED] = { 1, 2, 3 };

    (void)state;
    for (int i = -4000; i <= 4000; i++) {
        float t = (float)i * 0.00317f;
        assert_float_equal(nm_cos_turns(t), cos(6.283185307179586 * (double)t), 1e-6);
    }
    for (int k = 0; k < WAVES; k++) {
        f[k] = 0.1f * (float)k;
        phase[k] = 0.05f * (float)k;
        for (int m = 0; m < WAVES_MIXED; m++) {
            mix[m * WAVES + k] = (float)(m + 1) - 0.1f * (float)k;
            want[m] += 0.25 * (double)mix[m * WAVES + k] *
                       cos(6.283185307179586 * (double)(f[k] * x[0] + phase[k]));
        }
    }
    waves_forward(&w, x, 3, 2, 1, out, 6);
    assert_float_equal(out[0], x[0], 0);
    for (int m = 0; m < WAVES_MIXED; m++)
        assert_float_equal(out[1 + m], want[m], 1e-5);
    assert_float_equal(out[4], 5.0, 0);
    assert_float_equal(out[5], 6.0, 0);
}

/* By hand: the first step of AdamW moves each weight by rate (sign(g) + decay w), for 1 / (1 - b) undoes the averages. */
static void the_first_step_of_adamw_is_known_by_hand(void **state)
{
    float w[16] = { 1.0f, -2.0f, 0.5f }, g[16] = { 0.3f, -4.0f, 0.0f }, m[16] = { 0 },
          v[16] = { 0 };
    struct layer_adam a = { 0.1f, 0.01f, 0.9f, 0.95f, 1e-8f, 10.0f, 20.0f };

    (void)state;
    layer_adam(&a, w, g, m, v, 16);
    assert_float_equal(w[0], 1.0 - 0.1 * (1.0 + 0.01), 1e-6);
    assert_float_equal(w[1], -2.0 - 0.1 * (-1.0 - 0.02), 1e-6);
    assert_float_equal(w[2], 0.5 - 0.1 * 0.005, 1e-6);
    assert_float_equal(m[1], -0.4, 1e-6);
    assert_float_equal(v[1], 0.8, 1e-5);
}

/* ---- how parameters start ---- */

static bool is_layer(const struct net_block *b)
{
    return b->kind == NET_DENSE || b->kind == NET_HEADS || b->kind == NET_CONV3;
}

/* Of the real values of a part: their sum of squares; none may be larger than `most`. Padding is 0. */
static double squares_within(const struct net_part *p, const float *w, double most)
{
    double sum = 0;

    for (int i = 0; i < p->rows * p->pad; i++) {
        double v = (double)w[p->at + i];
        assert_true(i % p->pad < p->cols ? fabs(v) <= most : v == 0);
        sum += v * v;
    }
    return sum / ((double)p->rows * p->cols);
}

/* Layers are uniform in +-most; everything else starts as it does in a wide start. */
static void starts_are_checked(const struct net *n)
{
    size_t bytes = (size_t)n->size * sizeof(float);
    float *wide = malloc(bytes), *narrow = malloc(bytes), *again = malloc(bytes);

    assert_true(wide && narrow && again);
    net_start(n, 31, wide);
    net_start_narrow(n, 31, narrow);
    net_start_narrow(n, 31, again);
    assert_memory_equal(narrow, again, bytes);
    net_start_narrow(n, 32, again);
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        const struct net_block *b = &n->block[p->block];
        size_t part = (size_t)p->rows * (size_t)p->pad * sizeof *wide;
        double most = p->role == NET_WEIGHTS ? 1.0 : (double)b->scale;
        if (!is_layer(b) || p->role == NET_SCALES) {
            assert_memory_equal(wide + p->at, narrow + p->at, part);
            continue;
        }
        double of = squares_within(p, narrow, most);
        assert_true(of > 0);
        assert_true(p->rows * p->cols < 200 || fabs(of / (most * most) - 1.0 / 3) < 0.08);
        assert_memory_not_equal(narrow + p->at, again + p->at, part);
    }
    free(wide);
    free(narrow);
    free(again);
}

static void a_narrow_start_is_uniform_in_layers_and_leaves_the_rest(void **state)
{
    struct net_block conv = { NET_CONV3, 20, .is_linear = true },
                     dense = { NET_DENSE, 30, .is_linear = false },
                     last = { NET_DENSE, 3, .is_linear = true },
                     norm = { NET_BATCH_NORM, 20, .is_linear = false };
    struct err err = { 0 };
    struct net n;

    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        problem_shape(&n, MANY, 2, 40, LAYER_MISH, (enum shape)shape);
        starts_are_checked(&n);
    }
    net_begin(&n, 4, 4, 3);
    assert_int_equal(net_add(&n, &conv, &err), 0);
    assert_int_equal(net_add(&n, &norm, &err), 0);
    assert_int_equal(net_add(&n, &dense, &err), 0);
    assert_int_equal(net_add(&n, &last, &err), 0);
    starts_are_checked(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_narrow_start_is_uniform_in_layers_and_leaves_the_rest),
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(gradients_of_a_network_with_dropout_are_those_of_its_loss),
        cmocka_unit_test(gradients_of_waves_and_members_are_those_of_the_loss),
        cmocka_unit_test(members_are_networks_that_share_the_layers),
        cmocka_unit_test(waves_are_cosines),
        cmocka_unit_test(gradients_of_codes_norms_and_sums_are_those_of_the_loss),
        cmocka_unit_test(slopes_are_right_on_both_sides_of_a_bend),
        cmocka_unit_test(training_and_predicting_have_the_same_activations),
        cmocka_unit_test(exponentials_of_activations_are_as_good_as_their_argument),
        cmocka_unit_test(activations_saturate),
        cmocka_unit_test(padding_stays_zero),
        cmocka_unit_test(every_set_of_instructions_gives_the_same_bits),
        cmocka_unit_test(a_row_s_score_does_not_depend_on_its_neighbours),
        cmocka_unit_test(the_first_step_of_adamw_is_known_by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
