/* test_net.c - the gradients of a network are those of its loss, by differences, for every activation, every loss and every
 * number of layers; padding changes nothing and is never changed; every instruction set gives the same bits; and the step
 * of the optimiser is the published one. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/simd.h"
#include "ml/net/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 7, INPUTS = 5, SMOOTHING_PERCENT = 10 };

enum loss { TWO, MANY, SQUARE, QUANTILE, LOSSES };
static const int outputs_of[LOSSES] = { [TWO] = 1, [MANY] = 3, [SQUARE] = 1, [QUANTILE] = 1 };

struct problem {
    struct net net;
    struct net_work work;
    float *w, *grad, x[ROWS * 16], number[ROWS];
    int32_t label[ROWS];
    enum loss loss;
    struct net_drop drop;
};

static struct problem *problem_new(enum loss loss, int hidden, int width, enum layer_act act,
                                   float drop)
{
    struct problem *p = calloc(1, sizeof *p);
    struct err err = { 0 };
    struct rng rng;

    assert_non_null(p);
    p->loss = loss;
    p->drop = (struct net_drop){ drop, 5, 3 };
    net_shape(&p->net, INPUTS, outputs_of[loss], hidden, width, act);
    assert_int_equal(net_work_init(&p->work, &p->net, ROWS, true, &err), 0);
    p->w = malloc((size_t)p->net.size * sizeof *p->w);
    p->grad = malloc((size_t)p->net.size * sizeof *p->grad);
    assert_true(p->w && p->grad);
    net_start(&p->net, 11, p->w);
    rng_init(&rng, 12, (uint64_t)loss);
    const struct net_layer *last = &p->net.layer[p->net.n - 1];
    for (int i = 0; i <= last->in;
         i++) { /* training starts with 0 here, where most gradients are 0 */
        for (int j = 0; j < last->out; j++)
            p->w[last->weights + i * last->pad + j] = (float)rng_normal(&rng);
    }
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++)
            p->x[i * 16 + j] = (float)rng_normal(&rng);
        p->label[i] = (int32_t)rng_below(&rng, loss == MANY ? 3 : 2);
        p->number[i] = (float)rng_normal(&rng);
    }
    return p;
}

static void problem_free(struct problem *p)
{
    net_work_fini(&p->work);
    free(p->w);
    free(p->grad);
    free(p);
}

static double loss_now(struct problem *p)
{
    const struct net_layer *last = &p->net.layer[p->net.n - 1];
    float *z = p->work.z[p->net.n - 1];

    memcpy(p->work.x, p->x, sizeof p->x);
    net_forward(&p->net, p->w, &p->work, ROWS, p->drop.p > 0 ? &p->drop : NULL);
    switch (p->loss) {
    case SQUARE:
        return layer_loss_square(z, p->number, ROWS, last->pad);
    case QUANTILE:
        return layer_loss_quantile(z, p->number, 0.3f, ROWS, last->pad);
    default:
        return layer_loss_classes(z, p->label, SMOOTHING_PERCENT / 100.0f, ROWS, last->out,
                                  last->pad);
    }
}

static void gradient_now(struct problem *p)
{
    loss_now(p);
    net_backward(&p->net, p->w, &p->work, ROWS, p->drop.p > 0, p->grad);
}

/* Central differences of a loss in single precision are good to about three digits. */
static void gradient_is_that_of_the_loss(struct problem *p, const char *what)
{
    struct rng rng;

    gradient_now(p);
    rng_init(&rng, 13, 0);
    for (int i = 0; i < 60; i++) {
        int64_t at = i < INPUTS ? i : (int64_t)rng_below(&rng, (uint32_t)p->net.size);
        float old = p->w[at], step = 2e-2f;
        if (old == 0.0f && i >= INPUTS)
            continue; /* padding, or a bias that is 0 */
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

/* The bends of relu, selu and the quantile loss at a point where nothing bends: against the definition. */
static void slopes_are_right_on_both_sides_of_a_bend(void **state)
{
    static const float at[] = { -2.0f, -0.5f, 0.5f, 2.0f };
    static const enum layer_act acts[] = { LAYER_RELU, LAYER_SELU };

    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
        for (size_t i = 0; i < ARRAY_LEN(at); i++) {
            float z[16] = { at[i] - 0.01f, at[i] + 0.01f }, h[16], bias[16] = { 0 }, sum[16],
                  d[16] = { 1.0f }, mid[16] = { at[i] };
            layer_forward(z, h, bias, 1.0f, 1, 2, 16, acts[a]);
            layer_backward(d, NULL, mid, 1.0f, 1, 16, acts[a], sum);
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

static void padding_stays_zero(void **state)
{
    struct problem *p = problem_new(MANY, 2, 9, LAYER_ELU, 0.2f);

    (void)state;
    gradient_now(p);
    for (int l = 0; l < p->net.n; l++) {
        const struct net_layer *y = &p->net.layer[l];
        for (int i = 0; i <= y->in; i++) {
            for (int j = y->out; j < y->pad; j++)
                assert_true(p->grad[y->weights + i * y->pad + j] == 0.0f);
        }
    }
    problem_free(p);
}

static void every_set_of_instructions_gives_the_same_bits(void **state)
{
    (void)state;
    for (int act = 0; act < LAYER_ACTS; act++) {
        float *first = NULL;
        for (int level = 0; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            struct problem *p = problem_new(MANY, 3, 33, (enum layer_act)act, 0.3f);
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
    struct problem *p = problem_new(MANY, 3, 40, LAYER_MISH, 0);
    float all[ROWS * 16];

    (void)state;
    memcpy(p->work.x, p->x, sizeof p->x);
    net_forward(&p->net, p->w, &p->work, ROWS, NULL);
    memcpy(all, p->work.z[3], sizeof all);
    for (int i = 0; i < ROWS; i++) {
        memcpy(p->work.x, p->x + i * 16, 16 * sizeof *p->x);
        net_forward(&p->net, p->w, &p->work, 1, NULL);
        assert_memory_equal(p->work.z[3], all + i * 16, 3 * sizeof *all);
    }
    problem_free(p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(gradients_of_a_network_with_dropout_are_those_of_its_loss),
        cmocka_unit_test(slopes_are_right_on_both_sides_of_a_bend),
        cmocka_unit_test(padding_stays_zero),
        cmocka_unit_test(every_set_of_instructions_gives_the_same_bits),
        cmocka_unit_test(a_row_s_score_does_not_depend_on_its_neighbours),
        cmocka_unit_test(the_first_step_of_adamw_is_known_by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
