/* test_net_train.c - how a network is trained, beyond the defaults: every optimiser learns a small table and resumes with the
 * same bits; the parts of a large batch make the step of the whole; schedules, warm-up, clipping and patience do what their
 * help says. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/family/family_tables.h"
#include "ml/model/models.h"
#include "ml/net/net_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 330, FOLDS = 3, EPOCHS = 16 };

/* A rate that suits each of them at the other defaults: networks of this parametrisation want large steps of plain descent. */
static const double rates[OPTIM_KINDS] = {
    [OPTIM_ADAMW] = 0.02,   [OPTIM_ADAM] = 0.02,   [OPTIM_SGD] = 0.3, [OPTIM_NESTEROV] = 0.3,
    [OPTIM_RMSPROP] = 0.02, [OPTIM_ADAGRAD] = 0.1, [OPTIM_LARS] = 1,  [OPTIM_LAMB] = 0.05
};

static void small(double *p, enum optim_kind optimizer)
{
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 2;
    p[MLP_WIDTH] = 20;
    p[MLP_BATCH] = 50;
    p[MLP_EPOCHS] = EPOCHS;
    p[MLP_OPTIMIZER] = optimizer;
    p[MLP_LEARNING_RATE] = rates[optimizer];
    p[MLP_DECAY] = 0.001;
    /* Its steps are shares of a matrix, which suits the heads of many members least: 0.7 of the variance is left then. */
    p[MLP_MEMBERS] = optimizer == OPTIM_LARS ? 1 : 3;
}

static struct rig *numbers(void)
{
    return rig_new(rig_mixed(ML_REGRESSION, ROWS, 0, 4), ML_REGRESSION, METRIC_RMSE, FOLDS);
}

/* Mean squared error on the held-out rows, over that of the mean. */
static double error_of(const struct rig *r, const struct lane *l)
{
    struct buf b = rig_lane_bytes("mlp", l, l->steps_done);
    float *got = rig_predict(r, "mlp", &b);
    double mean = 0, error = 0, spread = 0;
    int n = 0;

    for (int64_t i = 0; i < r->frame->rows; i++) {
        mean += r->d->fold[i] == 0 ? r->d->y[i] : 0;
        n += r->d->fold[i] == 0;
    }
    mean /= n;
    for (int64_t i = 0; i < r->frame->rows; i++) {
        if (r->d->fold[i] != 0)
            continue;
        error += ((double)got[i] - r->d->y[i]) * ((double)got[i] - r->d->y[i]);
        spread += (mean - r->d->y[i]) * (mean - r->d->y[i]);
    }
    free(got);
    buf_fini(&b);
    return error / spread;
}

static void every_optimizer_learns_a_small_table(void **state)
{
    const struct family *f = family_find("mlp");
    struct rig *r = numbers();

    (void)state;
    for (int kind = 0; kind < OPTIM_KINDS; kind++) {
        double p[FAMILY_MAX_PARAMS];
        char name[64];
        small(p, (enum optim_kind)kind);
        p[MLP_EPOCHS] = 60;
        struct lane l = rig_lane(r, "mlp", p, 0, 60);
        double left = error_of(r, &l);
        family_choice_name(&f->params[MLP_OPTIMIZER], kind, name, sizeof name);
        if (!(left < 0.5))
            fail_msg("%s: %.3f of the variance is left", name, left);
        rig_lane_close("mlp", &l);
    }
    rig_free(r);
}

static void every_optimizer_resumes_with_the_same_bits(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = numbers();

    (void)state;
    for (int kind = 0; kind < OPTIM_KINDS; kind++) {
        double p[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct buf saved;
        small(p, (enum optim_kind)kind);
        p[MLP_CLIP] = 0.5;
        p[MLP_WARMUP] = 0.2;
        struct lane whole = rig_lane(r, "mlp", p, 1, EPOCHS), l = rig_lane(r, "mlp", p, 1, 5),
                    again = rig_lane(r, "mlp", p, 1, 0);
        buf_init(&saved, 1 << 20);
        assert_int_equal(ops->save_training(&l, &saved, &err), 0);
        struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
        assert_int_equal(ops->load(r->d, &again, &in, &err), 0);
        rig_lane_train(r, "mlp", &again, EPOCHS, NULL);
        struct buf want = rig_lane_bytes("mlp", &whole, EPOCHS),
                   got = rig_lane_bytes("mlp", &again, EPOCHS);
        assert_int_equal(want.len, got.len);
        assert_memory_equal(want.data, got.data, got.len);
        buf_fini(&want);
        buf_fini(&got);
        buf_fini(&saved);
        rig_lane_close("mlp", &whole);
        rig_lane_close("mlp", &l);
        rig_lane_close("mlp", &again);
    }
    rig_free(r);
}

/* The gradient of the first batch of the lane, all its rows at once. */
static void whole_gradient(const struct net_lane *l, int64_t rows, float dropout, float *grad)
{
    const struct net *n = &l->head.net;
    struct net_work k;
    struct err err = { 0 };
    struct net_drop drop = { dropout, l->seed, 1, 0 };
    float *w = malloc((size_t)n->size * sizeof *w), *y = NULL;
    int64_t members = net_members_of(n);
    int32_t *row = malloc((size_t)rows * sizeof *row);

    y = malloc((size_t)(rows * members) * sizeof *y);
    assert_true(w && y && row);
    assert_int_equal(net_work_init(&k, n, rows, true, &err), 0);
    net_start(n, l->seed, w);
    for (int64_t i = 0; i < rows; i++) {
        row[i] = l->r.train[l->order[i]];
        for (int64_t m = 0; m < members; m++)
            y[i * members + m] = l->target[l->order[i]];
    }
    l->head.kind->rows(&l->source, n, row, 0, rows, k.x);
    net_forward(n, w, &k, rows, &drop);
    layer_loss_square(net_scores(n, &k), y, rows * members, n->block[n->n - 1].to.pad);
    net_backward(n, w, &k, rows, &drop, grad);
    net_work_fini(&k);
    free(w);
    free(y);
    free(row);
}

/* One batch of all 4,500 rows outside a fold, in parts of at most 2,048. */
static void parts_of_a_batch_make_the_gradient_of_the_whole(void **state)
{
    struct rig *r =
        rig_new(rig_mixed(ML_REGRESSION, 6750, 0, 4), ML_REGRESSION, METRIC_RMSE, FOLDS);
    double p[FAMILY_MAX_PARAMS], most = 0, off = 0;

    (void)state;
    small(p, OPTIM_SGD);
    p[MLP_BATCH] = 65536;
    p[MLP_DROPOUT] = 0.3;
    struct lane lane = rig_lane(r, "mlp", p, 0, 1);
    const struct net_lane *l = lane.state;
    assert_int_equal(l->batches, 1);
    assert_int_equal(l->work.rows, NET_PART);
    float *want = malloc((size_t)l->head.net.size * sizeof *want);
    assert_non_null(want);
    whole_gradient(l, l->r.n_train, 0.3f, want);
    for (int64_t i = 0; i < l->head.net.size; i++) {
        most = fmax(most, fabs((double)want[i]));
        off = fmax(off, fabs((double)want[i] - (double)l->grad[i]));
    }
    assert_true(most > 0);
    if (off > 1e-5 * most)
        fail_msg("a gradient differs by %g of %g", off, most);
    free(want);
    rig_lane_close("mlp", &lane);
    rig_free(r);
}

static void a_long_gradient_is_shortened(void **state)
{
    struct rig *r = numbers();
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    for (int clips = 0; clips < 2; clips++) {
        small(p, OPTIM_SGD);
        p[MLP_CLIP] = clips ? 1e-3 : 0;
        struct lane lane = rig_lane(r, "mlp", p, 0, 1);
        const struct net_lane *l = lane.state;
        double length = 0;
        for (int64_t i = 0; i < l->head.net.size; i++)
            length += (double)l->grad[i] * (double)l->grad[i];
        if (clips)
            assert_true(fabs(sqrt(length) - 1e-3) < 1e-8);
        else
            assert_true(sqrt(length) > 1e-2);
        rig_lane_close("mlp", &lane);
    }
    rig_free(r);
}

static void schedules_have_their_shapes(void **state)
{
    static const struct {
        enum net_schedule schedule;
        double warmup, u, rate;
    } cases[] = {
        { NET_CYCLES, 0, 0, 0 },        { NET_CYCLES, 0, 1.0 / 15, 0 },
        { NET_CYCLES, 0, 3.0 / 15, 0 }, { NET_COSINE, 0, 0, 2 },
        { NET_COSINE, 0, 0.5, 1 },      { NET_COSINE, 0, 1, 0 },
        { NET_ONE_CYCLE, 0, 0, 0 },     { NET_ONE_CYCLE, 0, 1.0 / 3, 2 },
        { NET_ONE_CYCLE, 0, 1, 0 },     { NET_CONSTANT, 0, 0.9, 2 },
        { NET_STEPS, 0, 0.4, 2 },       { NET_STEPS, 0, 0.6, 0.2 },
        { NET_STEPS, 0, 0.8, 0.02 },    { NET_CONSTANT, 0.2, 0, 0 },
        { NET_CONSTANT, 0.2, 0.1, 1 },  { NET_CONSTANT, 0.2, 0.2, 2 },
        { NET_CONSTANT, 0.2, 0.9, 2 },  { NET_STEPS, 1, 0.6, 0.12 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct net_recipe r = { .rate = 2,
                                .warmup = cases[i].warmup,
                                .schedule = cases[i].schedule };
        double got = net_rate_at(&r, cases[i].u);
        if (fabs(got - cases[i].rate) > 1e-9)
            fail_msg("case %zu: a rate of %g, expected %g", i, got, cases[i].rate);
    }
}

static void patience_is_what_was_asked_for(void **state)
{
    const struct family *f = family_find("mlp");
    double p[FAMILY_MAX_PARAMS];
    struct family_plan plan;

    (void)state;
    small(p, OPTIM_ADAMW);
    f->plan(p, f->levels, &plan);
    assert_int_equal(plan.patience, EPOCHS);
    p[MLP_PATIENCE] = 3;
    f->plan(p, f->levels, &plan);
    assert_int_equal(plan.patience, 3);
    assert_int_equal(plan.cap, EPOCHS);
}

/* How far the biases of the first hidden layer moved, on average, in the one step that the lane made. */
static double biases_moved(const struct rig *r, double bias_rate)
{
    double p[FAMILY_MAX_PARAMS], sum = 0;

    small(p, OPTIM_ADAM);
    p[MLP_DECAY] = 0;
    p[MLP_SCHEDULE] = NET_CONSTANT;
    p[MLP_BATCH] = ROWS;
    p[MLP_BIAS_RATE] = bias_rate;
    p[MLP_START] = 1; /* wide: the last layer is 0, and nothing below it has a gradient */
    struct lane l = rig_lane(r, "mlp", p, 0, 1);
    const struct net_lane *n = l.state;
    float *w = malloc((size_t)n->head.net.size * sizeof *w);
    const struct net_block *b = n->head.net.block;
    assert_non_null(w);
    assert_int_equal(n->batches, 1);
    net_start_narrow(&n->head.net, n->seed, w);
    while (b->kind != NET_DENSE)
        b++;
    for (int i = 0; i < b->units; i++)
        sum += fabs((double)n->now[b->at_bias + i] - (double)w[b->at_bias + i]) / b->units;
    free(w);
    rig_lane_close("mlp", &l);
    return sum;
}

static void biases_move_at_their_share_of_the_rate(void **state)
{
    struct rig *r = numbers();

    (void)state;
    assert_true(biases_moved(r, 0) == 0);
    double some = biases_moved(r, 0.1), all = biases_moved(r, 1);
    assert_true(some > 0);
    assert_float_equal(all / some, 10, 1e-3);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases_move_at_their_share_of_the_rate),
        cmocka_unit_test(every_optimizer_learns_a_small_table),
        cmocka_unit_test(every_optimizer_resumes_with_the_same_bits),
        cmocka_unit_test(parts_of_a_batch_make_the_gradient_of_the_whole),
        cmocka_unit_test(a_long_gradient_is_shortened),
        cmocka_unit_test(schedules_have_their_shapes),
        cmocka_unit_test(patience_is_what_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
