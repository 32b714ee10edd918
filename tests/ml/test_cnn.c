/* test_cnn.c - networks on images: gradients are those of the loss for every kind of block; a row's score does not depend on
 * its neighbours; what was stopped, resumed or trained with another instruction set has the same bits; the file predicts
 * what the lane does; shapes are learnt that a line cannot tell apart; absurd shapes, missing values and broken bytes are one
 * clear error, or none. */
#include "tests/ml/fit_rig.h"
#include "tests/ml/image_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"
#include "ml/net/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks ---- */

enum { ROWS = 3, SIDE = 6, CHANNELS = 2, CLASSES = 3, IN_FLOATS = SIDE * SIDE * CHANNELS };

struct problem {
    struct net net;
    struct net_work work;
    float *w, *grad, x[ROWS * IN_FLOATS];
    struct net_drop drop;
};

static const int32_t labels[ROWS] = { 2, 0, 1 };

/* Blocks before the last one. adds: convolutions after the first add what they read to what they make. */
struct stack {
    enum net_block_kind kind[5]; /* 0 at the end */
    enum layer_act act;
    bool adds;
    int may_differ; /* gradients that may not be those of the differences, of 80 */
};

static int blocks_of(const struct stack *s)
{
    int n = 0;

    while (s->kind[n])
        n++;
    return n;
}

static struct problem *problem_new(const struct stack *s, float drop)
{
    struct problem *p = calloc(1, sizeof *p);
    struct net_block dense = { NET_DENSE, CLASSES, .is_linear = true };
    struct err err = { 0 };
    struct rng rng;

    assert_non_null(p);
    p->drop = (struct net_drop){ drop, 5, 3, 0 };
    net_begin(&p->net, SIDE, SIDE, CHANNELS);
    for (int i = 0; i < blocks_of(s); i++) {
        bool convolves = s->kind[i] == NET_CONV3 || s->kind[i] == NET_CONV5;
        struct net_block b = { .kind = s->kind[i],
                               .units = s->adds ? 5 : 5 + 14 * i,
                               .act = s->act,
                               .is_linear = s->kind[i + 1] == NET_BATCH_NORM,
                               .drops =
                                   drop > 0 && !(convolves && (s->act != LAYER_SILU ||
                                                               s->kind[i + 1] == NET_BATCH_NORM)),
                               .adds = s->adds && convolves && i > 0 };
        assert_int_equal(net_add(&p->net, &b, &err), 0);
    }
    assert_int_equal(net_add(&p->net, &dense, &err), 0);
    assert_int_equal(net_work_init(&p->work, &p->net, ROWS, true, &err), 0);
    p->w = malloc((size_t)p->net.size * sizeof *p->w);
    p->grad = malloc((size_t)p->net.size * sizeof *p->grad);
    assert_true(p->w && p->grad);
    rng_init(&rng, 12, 0);
    memset(p->w, 0, (size_t)p->net.size * sizeof *p->w);
    for (int i = 0; i < p->net.n_parts; i++) {
        const struct net_part *part = &p->net.part[i];
        for (int j = 0; j < part->rows * part->pad; j++) {
            if (j % part->pad < part->cols)
                p->w[part->at + j] = (float)rng_normal(&rng);
        }
    }
    assert_int_equal(net_floats(&p->net.in), IN_FLOATS);
    for (int i = 0; i < ROWS * IN_FLOATS; i++)
        p->x[i] = (float)rng_normal(&rng);
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
    memcpy(p->work.x, p->x, sizeof p->x);
    net_forward(&p->net, p->w, &p->work, ROWS, p->drop.p > 0 ? &p->drop : NULL);
    return layer_loss_classes(net_scores(&p->net, &p->work), labels, 0.1f, ROWS, CLASSES, 16);
}

static void gradient_now(struct problem *p)
{
    loss_now(p);
    net_backward(&p->net, p->w, &p->work, ROWS, &p->drop, p->grad);
}

/* Pooling for the largest is done by the convolution before it where that has an activation that never falls, and does not
 * add. */
static const struct stack stacks[] = {
    { { NET_CONV3 }, LAYER_SILU, false, 0 },
    { { NET_CONV5, NET_POOL_MEAN }, LAYER_SILU, false, 0 },
    { { NET_CONV3, NET_POOL_MEAN, NET_CONV3, NET_POOL_ALL }, LAYER_SILU, false, 0 },
    { { NET_CONV3, NET_BATCH_NORM, NET_POOL_MEAN }, LAYER_SILU, false, 0 },
    { { NET_CONV3, NET_CONV3, NET_CONV5 }, LAYER_SILU, true, 0 },
    { { NET_CONV3, NET_CONV3, NET_BATCH_NORM, NET_POOL_MEAN }, LAYER_TANH, true, 0 },
    { { NET_CONV3, NET_POOL_MAX }, LAYER_SILU, false, 3 },
    { { NET_CONV5, NET_CONV3, NET_POOL_MAX, NET_POOL_MAX }, LAYER_SILU, false, 3 },
    { { NET_CONV3, NET_POOL_MAX, NET_CONV3, NET_POOL_MAX }, LAYER_TANH, false, 3 },
    { { NET_CONV3, NET_CONV3, NET_POOL_MAX }, LAYER_ELU, true, 3 },
};

/* Averages that follow the batches have no gradient. */
static bool is_running(const struct problem *p, int64_t at)
{
    bool is = false;

    for (int i = 0; i < p->net.n_parts; i++) {
        const struct net_part *part = &p->net.part[i];
        is |= part->role == NET_RUNNING && at >= part->at &&
              at < part->at + (int64_t)part->rows * part->pad;
    }
    return is;
}

/* Central differences. Where the largest of a window changes within a step, they are no derivative: few may differ. */
static void gradients_are_those_of_the_loss(void **state)
{
    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(stacks); s++) {
        for (int drops = 0; drops < 2; drops++) {
            struct problem *p = problem_new(&stacks[s], drops ? 0.3f : 0);
            struct rng rng;
            int wrong = 0;
            gradient_now(p);
            rng_init(&rng, 13, s);
            for (int i = 0; i < 80; i++) {
                int64_t at = (int64_t)rng_below(&rng, (uint32_t)p->net.size);
                if (is_running(p, at))
                    continue;
                float old = p->w[at], step = 1e-2f;
                p->w[at] = old + step;
                double above = old == 0.0f ? 0 : loss_now(p);
                p->w[at] = old - step;
                double below = old == 0.0f ? 0 : loss_now(p);
                double want = (above - below) / (2.0 * (double)step);
                p->w[at] = old;
                wrong += fabs(want - (double)p->grad[at]) > 2e-3 + 3e-2 * fabs(want);
            }
            if (wrong > stacks[s].may_differ)
                fail_msg("stack %zu, drops %d: %d of 80 differ", s, drops, wrong);
            problem_free(p);
        }
    }
}

/* A convolution that does the work of the pooling makes what the two of them make. */
static void a_convolution_that_pools_makes_what_both_make(void **state)
{
    static const enum layer_act acts[] = { LAYER_RELU, LAYER_ELU, LAYER_SELU, LAYER_TANH };

    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
        const struct stack both = { { NET_CONV3, NET_POOL_MAX }, acts[a], false, 0 };
        struct problem *p = problem_new(&both, 0), *apart = problem_new(&both, 0);
        const struct net_size *to = &p->net.block[1].to;
        struct err err = { 0 };
        assert_true(p->net.block[0].is_pooled);
        apart->net.block[0].is_pooled = false;
        net_work_fini(&apart->work);
        assert_int_equal(net_work_init(&apart->work, &apart->net, ROWS, true, &err), 0);
        loss_now(p);
        apart->net.n = 1; /* the pooling by its definition */
        memcpy(apart->work.x, p->x, sizeof p->x);
        net_forward(&apart->net, apart->w, &apart->work, ROWS, NULL);
        for (int i = 0; i < ROWS * (int)net_floats(to); i++) {
            int c = i % 16, x = i / 16 % to->w, y = i / 16 / to->w % to->h,
                r = i / 16 / to->w / to->h;
            float most = -INFINITY;
            for (int k = 0; k < 4; k++)
                most = fmaxf(
                    most,
                    apart->work
                        .out[0][((r * SIDE + 2 * y + k / 2) * SIDE + 2 * x + k % 2) * 16 + c]);
            assert_true(p->work.out[1][i] == most);
        }
        apart->net.n = p->net.n;
        problem_free(p);
        problem_free(apart);
    }
}

static void every_set_of_instructions_gives_the_same_gradient_and_padding_stays_zero(void **state)
{
    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(stacks); s++) {
        float *first = NULL;
        for (int level = 0; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            struct problem *p = problem_new(&stacks[s], 0.3f);
            size_t bytes = (size_t)p->net.size * sizeof *first;
            gradient_now(p);
            for (int i = 0; i < p->net.n_parts; i++) {
                const struct net_part *part = &p->net.part[i];
                for (int j = 0; j < part->rows * part->pad; j++)
                    assert_true(j % part->pad < part->cols || p->grad[part->at + j] == 0.0f);
            }
            if (!first) {
                first = malloc(bytes);
                assert_non_null(first);
                memcpy(first, p->grad, bytes);
            }
            assert_memory_equal(first, p->grad, bytes);
            problem_free(p);
        }
        free(first);
    }
    simd_force(simd_best());
}

static void a_row_s_score_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(stacks); s++) {
        struct problem *p = problem_new(&stacks[s], 0);
        float all[ROWS * 16];
        struct err err = { 0 };
        net_work_fini(&p->work);
        assert_int_equal(net_work_init(&p->work, &p->net, ROWS, false, &err), 0);
        memcpy(p->work.x, p->x, sizeof p->x);
        net_forward(&p->net, p->w, &p->work, ROWS, NULL);
        memcpy(all, net_scores(&p->net, &p->work), sizeof all);
        for (int i = 0; i < ROWS; i++) {
            memcpy(p->work.x, p->x + (size_t)i * IN_FLOATS, IN_FLOATS * sizeof *p->x);
            net_forward(&p->net, p->w, &p->work, 1, NULL);
            assert_memory_equal(net_scores(&p->net, &p->work), all + (size_t)i * 16,
                                CLASSES * sizeof *all);
        }
        problem_free(p);
    }
}

/* ---- lanes ---- */

enum { IMAGES = 240, WIDE = 9, HIGH = 8, EPOCHS = 4, FOLDS = 3 };

/* Crosses and frames at any place, on noise: no single pixel tells them apart. numbers: the target is the brightness of the
 * shape instead, as floats with a missing value and an infinite one. FLAT: every image has one value. */
enum shown { MARKS, NUMBERS, FLAT };
static struct rig *shapes(enum shown shown)
{
    bool numbers = shown == NUMBERS;
    static uint8_t px[IMAGES * WIDE * HIGH], marks[IMAGES];
    static float f[IMAGES * WIDE * HIGH], y[IMAGES];
    const int64_t dims[] = { IMAGES, HIGH, WIDE }, n = IMAGES;
    struct buf images = { 0 }, targets = { 0 }, tar = { 0 };
    struct err err = { 0 };
    char shape[40];
    struct rng rng;

    rng_init(&rng, TEST_FIXED_SEED, 9);
    for (int i = 0; i < IMAGES; i++) {
        int x = (int)rng_below(&rng, WIDE - 4), top = (int)rng_below(&rng, HIGH - 4);
        int light = 90 + (int)rng_below(&rng, 100);
        marks[i] = (uint8_t)(i % 2);
        y[i] = (float)light / 10;
        for (int j = 0; j < WIDE * HIGH; j++) {
            int u = j % WIDE - x, v = j / WIDE - top;
            bool inside = u >= 0 && u < 5 && v >= 0 && v < 5;
            bool is_on = marks[i] ? u == 2 || v == 2 : u == 0 || v == 0 || u == 4 || v == 4;
            px[i * WIDE * HIGH + j] =
                shown == FLAT ? (uint8_t)light
                              : (uint8_t)(rng_below(&rng, 60) + (inside && is_on ? light : 0));
            f[i * WIDE * HIGH + j] = (float)px[i * WIDE * HIGH + j];
        }
    }
    f[7] = NAN;
    f[WIDE * HIGH + 5] = INFINITY;
    if (numbers) {
        (void)snprintf(shape, sizeof shape, "(%d, %d, %d)", IMAGES, HIGH, WIDE);
        image_rig_npy(&images, "<f4", shape, f, sizeof f);
        (void)snprintf(shape, sizeof shape, "(%d,)", IMAGES);
        image_rig_npy(&targets, "<f4", shape, y, sizeof y);
    } else {
        image_rig_idx(&images, dims, 3, px, sizeof px);
        image_rig_idx(&targets, &n, 1, marks, sizeof marks);
    }
    image_rig_tar(&tar, "labels", targets.data, targets.len);
    image_rig_tar(&tar, "images", images.data, images.len);
    image_rig_tar_end(&tar);
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->frame = image_rig_frame(&tar, 0, false, NULL, &err);
    const struct ml_data_spec spec = { .frame = r->frame,
                                       .target = "label",
                                       .task = numbers ? ML_REGRESSION : ML_BINARY,
                                       .metric = numbers ? METRIC_RMSE : METRIC_LOGLOSS,
                                       .folds = FOLDS,
                                       .split_seed = 3 };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    buf_fini(&images);
    buf_fini(&targets);
    buf_fini(&tar);
    return r;
}

static void small(double *p)
{
    family_defaults(family_find("cnn"), p);
    p[CNN_FILTERS] = 10;
    p[CNN_DENSE] = 24;
    p[CNN_BATCH] = 32;
    p[CNN_EPOCHS] = EPOCHS;
    p[CNN_AUGMENT] = 7;
}

static void assert_equal_bytes(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

static struct buf unbroken(const struct rig *r, const double *p)
{
    struct lane l = rig_lane(r, "cnn", p, 0, EPOCHS);
    struct buf b = rig_lane_bytes("cnn", &l, EPOCHS);

    rig_lane_close("cnn", &l);
    return b;
}

static void stopped_and_continued_anywhere_gives_the_same_bits(void **state)
{
    const struct model_ops *ops = model_find("cnn");

    (void)state;
    for (int numbers = 0; numbers < 2; numbers++) {
        struct rig *r = shapes(numbers ? NUMBERS : MARKS);
        struct err err = { 0 };
        double p[FAMILY_MAX_PARAMS];
        struct rig_stop s;
        struct buf saved;
        small(p);
        p[CNN_NORM] = numbers;
        p[CNN_CONVS] = 2;
        p[CNN_RESIDUAL] = !numbers;
        struct buf want = unbroken(r, p);
        struct lane l = rig_lane(r, "cnn", p, 0, 1);
        rig_stop_init(&s, test_seed(), 5);
        while (l.steps_done < EPOCHS - 1) {
            rig_stop_next(&s);
            rig_lane_train(r, "cnn", &l, EPOCHS - 1, &s.stop);
        }
        buf_init(&saved, 1 << 22);
        assert_int_equal(ops->save_training(&l, &saved, &err), 0);
        rig_lane_close("cnn", &l);
        struct lane again = rig_lane(r, "cnn", p, 0, 0);
        struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
        assert_int_equal(ops->load(r->d, &again, &in, &err), 0);
        rig_lane_train(r, "cnn", &again, EPOCHS, NULL);
        struct buf got = rig_lane_bytes("cnn", &again, EPOCHS);
        assert_equal_bytes(&want, &got);
        buf_fini(&want);
        buf_fini(&got);
        buf_fini(&saved);
        rig_lane_close("cnn", &again);
        rig_free(r);
    }
}

static void the_file_predicts_what_the_lane_predicts(void **state)
{
    const struct model_ops *ops = model_find("cnn");

    (void)state;
    for (int numbers = 0; numbers < 2; numbers++) {
        struct rig *r = shapes(numbers ? NUMBERS : MARKS);
        float held[IMAGES];
        struct err err = { 0 };
        double p[FAMILY_MAX_PARAMS];
        int64_t at = 0;
        small(p);
        p[CNN_NORM] = p[CNN_RESIDUAL] = numbers;
        p[CNN_CONVS] = 2;
        struct lane l = rig_lane(r, "cnn", p, 0, EPOCHS);
        struct buf b = rig_lane_bytes("cnn", &l, EPOCHS);
        float *all = rig_predict(r, "cnn", &b);
        assert_int_equal(ops->predict_held(r->d, &l, held, &err), 0);
        for (int64_t i = 0; i < IMAGES; i++) {
            if (r->d->fold[i] == 0)
                assert_true(all[i] == held[at++] && isfinite(all[i]));
        }
        free(all);
        buf_fini(&b);
        rig_lane_close("cnn", &l);
        rig_free(r);
    }
}

static void shapes_at_any_place_are_learnt(void **state)
{
    struct rig *r = shapes(MARKS);
    double p[FAMILY_MAX_PARAMS];
    int right = 0, all = 0;

    (void)state;
    small(p);
    p[CNN_EPOCHS] = 20;
    p[CNN_AUGMENT] = 1;
    struct lane l = rig_lane(r, "cnn", p, 0, 20);
    struct buf b = rig_lane_bytes("cnn", &l, 20);
    float *got = rig_predict(r, "cnn", &b);
    for (int i = 0; i < IMAGES; i++) {
        if (r->d->fold[i] != 0)
            continue;
        right += (got[i] > 0.5f) == (r->d->y[i] > 0.5);
        all++;
    }
    assert_true(right * 10 >= all * 9);
    free(got);
    buf_fini(&b);
    rig_lane_close("cnn", &l);
    rig_free(r);
}

static struct buf trained(const struct rig *r, const double *p, int epochs)
{
    struct lane l = rig_lane(r, "cnn", p, 0, epochs);
    struct buf b = rig_lane_bytes("cnn", &l, epochs);

    rig_lane_close("cnn", &l);
    return b;
}

/* Each choice of `augment` shows other images; and a part of an image of one value is the same image. */
static void every_augmentation_is_another_and_a_crop_mixes_neighbours(void **state)
{
    struct rig *r = shapes(MARKS), *flat = shapes(FLAT);
    struct buf by[8];
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int i = 0; i < 8; i++) {
        p[CNN_AUGMENT] = i;
        by[i] = trained(r, p, 1);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(by[i].data, by[k].data, by[i].len);
    }
    p[CNN_AUGMENT] = 0;
    struct buf none = trained(flat, p, 2);
    p[CNN_AUGMENT] = 5; /* flip_crop */
    struct buf crops = trained(flat, p, 2);
    assert_equal_bytes(&none, &crops);
    for (int i = 0; i < 8; i++)
        buf_fini(&by[i]);
    buf_fini(&none);
    buf_fini(&crops);
    rig_free(r);
    rig_free(flat);
}

/* A residual block is another network, and needs a second convolution. */
static void a_residual_block_needs_two_convolutions(void **state)
{
    struct rig *r = shapes(MARKS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int convs = 1; convs <= 2; convs++) {
        p[CNN_CONVS] = convs;
        p[CNN_RESIDUAL] = 0;
        struct buf plain = trained(r, p, 1);
        p[CNN_RESIDUAL] = 1;
        struct buf adds = trained(r, p, 1);
        assert_int_equal(plain.len, adds.len);
        assert_int_equal(memcmp(plain.data, adds.data, plain.len) != 0, convs == 2);
        buf_fini(&plain);
        buf_fini(&adds);
    }
    rig_free(r);
}

static void momentum_and_beta2_are_those_that_were_asked_for(void **state)
{
    struct rig *r = shapes(MARKS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int kind = 0; kind < 8; kind++) {
        p[CNN_OPTIMIZER] = kind;
        p[CNN_LEARNING_RATE] = 0.01;
        struct buf usual = trained(r, p, 1);
        p[CNN_MOMENTUM] = 0;
        struct buf none = trained(r, p, 1);
        p[CNN_MOMENTUM] = 0.9;
        p[CNN_BETA2] = 0.999;
        struct buf slow = trained(r, p, 1);
        p[CNN_BETA2] = 0.95;
        assert_int_equal(memcmp(usual.data, none.data, usual.len) != 0,
                         FAMILY_WITH_MOMENTUM >> kind & 1);
        assert_int_equal(memcmp(usual.data, slow.data, usual.len) != 0,
                         FAMILY_WITH_BETA2 >> kind & 1);
        buf_fini(&usual);
        buf_fini(&none);
        buf_fini(&slow);
    }
    rig_free(r);
}

/* What the daemon plans with (family_cnn.c) covers what a lane takes, and is not many times as much: it also has the matrices
 * of 256 rows that are predicted together. */
static void memory_is_what_the_formula_says(void **state)
{
    static const struct {
        int pool, norm, convs, residual, act, batch, filters;
    } cases[] = {
        { 0, 0, 1, 0, 0, 32, 10 }, { 0, 0, 1, 0, 3, 64, 20 }, { 1, 0, 2, 1, 0, 64, 16 },
        { 0, 1, 2, 0, 0, 32, 32 }, { 0, 1, 3, 1, 6, 64, 16 }, { 0, 0, 2, 1, 0, 1, 16 },
    };
    const struct model_ops *ops = model_find("cnn");
    struct rig *r = shapes(MARKS);
    struct family_shape s = {
        .rows = IMAGES, .outputs = 1, .folds = FOLDS, .task = FT_BINARY, .image = { HIGH, WIDE, 1 }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double p[FAMILY_MAX_PARAMS];
        small(p);
        p[CNN_POOL] = cases[i].pool;
        p[CNN_NORM] = cases[i].norm;
        p[CNN_CONVS] = cases[i].convs;
        p[CNN_RESIDUAL] = cases[i].residual;
        p[CNN_ACTIVATION] = cases[i].act;
        p[CNN_BATCH] = cases[i].batch;
        p[CNN_FILTERS] = cases[i].filters;
        struct lane l = rig_lane(r, "cnn", p, 0, 0);
        double planned = (double)ops->family->host_bytes(&s, p, 1), taken = (double)ops->bytes(&l);
        if (planned < taken || planned > 3 * taken + 2.5e7)
            fail_msg("case %zu: %.0f bytes planned, %.0f taken", i, planned, taken);
        rig_lane_close("cnn", &l);
    }
    rig_free(r);
}

static void expect_refusal(struct rig *r, const double *p, const char *text)
{
    const struct model_ops *ops = model_find("cnn");
    struct lane l = { .fold = 0, .seed = 1, .level = 4 };
    struct err err = { 0 };

    memcpy(l.params, p, CNN_PARAMS * sizeof *p);
    assert_int_equal(ops->open(r->d, &l, &err), -1);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
}

static void shapes_that_make_no_network_are_refused(void **state)
{
    struct rig *r = shapes(MARKS),
               *table = rig_new(rig_mixed(ML_BINARY, 60, 2, 4), ML_BINARY, METRIC_AUC, 2);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    expect_refusal(table, p, "cnn: the table has no images");
    p[CNN_BLOCKS] = 3;
    p[CNN_KERNEL] = 1; /* 8 x 9, then 4 x 5: no kernel of 5 x 5 fits the 4 lines */
    expect_refusal(r, p, "a kernel of 5 x 5 is larger than the image of 5 x 4");
    small(p);
    p[CNN_FILTERS] = 100000;
    expect_refusal(r, p, "100000 units");
    rig_free(r);
    rig_free(table);
}

static void a_learning_rate_that_explodes_fails_the_lane_alone(void **state)
{
    const struct model_ops *ops = model_find("cnn");
    struct rig *r = shapes(NUMBERS);
    struct err err = { 0 };
    struct lane lanes[2];
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    lanes[1] = rig_lane(r, "cnn", p, 1, 1);
    p[CNN_LEARNING_RATE] = 10;
    p[CNN_DECAY] = 100;
    p[CNN_SCHEDULE] = 3;
    lanes[0] = rig_lane(r, "cnn", p, 0, 0);
    for (int i = 0; i < EPOCHS && !lanes[0].failed; i++) {
        for (int k = 0; k < 2; k++) {
            lanes[k].is_done = false;
            lanes[k].max_steps = EPOCHS;
        }
        assert_int_equal(ops->advance(r->d, lanes, 2, 1, NULL, &err), 0);
    }
    assert_true(lanes[0].failed);
    assert_non_null(strstr(lanes[0].why.text, "cnn: "));
    assert_false(lanes[1].failed);
    rig_lane_close("cnn", &lanes[0]);
    rig_lane_close("cnn", &lanes[1]);
    rig_free(r);
}

static void broken_bytes_are_one_error(void **state)
{
    const struct model_ops *ops = model_find("cnn");
    struct rig *r = shapes(MARKS);
    double p[FAMILY_MAX_PARAMS];
    struct rng rng;

    (void)state;
    small(p);
    struct buf b = unbroken(r, p);
    assert_true(b.len > 120);
    rng_init(&rng, test_seed(), 3);
    for (int i = 0; i < 300; i++) {
        size_t n = i % 3 == 0 ? rng_below(&rng, (uint32_t)b.len) : b.len;
        char *copy = malloc(b.len + 1);
        assert_non_null(copy);
        memcpy(copy, b.data, b.len);
        copy[rng_below(&rng, 120)] ^= (char)(1 << rng_below(&rng, 8));
        struct view in = { (const uint8_t *)copy, n, 0 };
        struct err err = { 0 };
        struct predictor *q = ops->predictor_load(r->d->prep, 1, ML_BINARY, &in, &err);
        assert_true(q || err.text[0] != '\0');
        ops->predictor_free(q);
        free(copy);
    }
    buf_fini(&b);
    rig_free(r);
}

static void the_start_is_the_one_that_was_asked_for(void **state)
{
    struct rig *r = shapes(MARKS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    p[CNN_START] = 0;
    struct buf wide = trained(r, p, 1);
    p[CNN_START] = 1;
    struct buf narrow = trained(r, p, 1), again = trained(r, p, 1);
    assert_int_equal(wide.len, narrow.len);
    assert_memory_not_equal(wide.data, narrow.data, wide.len);
    assert_equal_bytes(&narrow, &again);
    buf_fini(&wide);
    buf_fini(&narrow);
    buf_fini(&again);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_is_the_one_that_was_asked_for),
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(a_convolution_that_pools_makes_what_both_make),
        cmocka_unit_test(every_set_of_instructions_gives_the_same_gradient_and_padding_stays_zero),
        cmocka_unit_test(a_row_s_score_does_not_depend_on_its_neighbours),
        cmocka_unit_test(stopped_and_continued_anywhere_gives_the_same_bits),
        cmocka_unit_test(the_file_predicts_what_the_lane_predicts),
        cmocka_unit_test(shapes_at_any_place_are_learnt),
        cmocka_unit_test(every_augmentation_is_another_and_a_crop_mixes_neighbours),
        cmocka_unit_test(a_residual_block_needs_two_convolutions),
        cmocka_unit_test(momentum_and_beta2_are_those_that_were_asked_for),
        cmocka_unit_test(memory_is_what_the_formula_says),
        cmocka_unit_test(shapes_that_make_no_network_are_refused),
        cmocka_unit_test(a_learning_rate_that_explodes_fails_the_lane_alone),
        cmocka_unit_test(broken_bytes_are_one_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
