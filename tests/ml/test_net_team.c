/* test_net_team.c - a network trained by several ranks: sums over ranks have the same bits on all of them and always; two and
 * four ranks make the step of one within 1e-5 and are as good at the end; stopped anywhere they go on with the same bits; a rank
 * that is lost fails the lane with one message. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/fault.h"
#include "base/mem.h"
#include "ml/model/models.h"
#include "ml/net/net_lane.h"
#include "ml/net/net_reduce.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 330, FOLDS = 3, EPOCHS = 12, RANKS = 4, NUMBERS = 1000 };

/* ---- sums ---- */

struct summing {
    pthread_t thread;
    struct ml_reduce *r;
    float x[NUMBERS];
    bool leaves;
    int rc;
    struct err err;
};

static void *sums_run(void *arg)
{
    static const int64_t lengths[] = { NUMBERS, 0, 1, 7, RANKS };
    struct summing *s = arg;

    for (size_t i = 0; i < ARRAY_LEN(lengths) && s->rc == 0; i++) {
        if (s->leaves && i == 2) {
            s->r->ops->leave(s->r, "it was told to");
            return NULL;
        }
        s->rc = s->r->ops->sum(s->r, s->x, lengths[i], &s->err);
    }
    if (s->rc == 0)
        s->rc = s->r->ops->wait(s->r, &s->err);
    return NULL;
}

static void sums_make(struct summing *s, int leaver)
{
    struct net_reduce *all = net_reduce_new(RANKS, 60000);

    for (int i = 0; i < RANKS; i++) {
        struct rng rng;
        rng_init(&rng, 17, (uint64_t)i);
        s[i] = (struct summing){ .r = net_reduce_end(all, i), .leaves = i == leaver };
        for (int k = 0; k < NUMBERS; k++)
            s[i].x[k] = (float)rng_normal(&rng);
    }
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&s[i].thread, NULL, sums_run, &s[i]), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_join(s[i].thread, NULL);
    net_reduce_free(all);
}

static void sums_are_made_in_the_order_of_the_ranks(void **state)
{
    struct summing *s = mem_zalloc(RANKS * sizeof *s);

    (void)state;
    sums_make(s, -1);
    for (int k = 7; k < NUMBERS; k++) { /* those that one sum made */
        float want = 0;
        for (int i = 0; i < RANKS; i++) {
            struct rng rng;
            float x = 0;
            rng_init(&rng, 17, (uint64_t)i);
            for (int j = 0; j <= k; j++)
                x = (float)rng_normal(&rng);
            want = i == 0 ? x : want + x;
        }
        for (int i = 0; i < RANKS; i++)
            assert_memory_equal(&s[i].x[k], &want, sizeof want);
    }
    for (int i = 1; i < RANKS; i++) {
        assert_int_equal(s[i].rc, 0);
        assert_memory_equal(s[i].x, s[0].x, sizeof s[0].x);
    }
    mem_free(s);
}

static void a_rank_that_leaves_ends_the_wait_of_the_others(void **state)
{
    struct summing *s = mem_zalloc(RANKS * sizeof *s);

    (void)state;
    sums_make(s, 2);
    for (int i = 0; i < RANKS; i++) {
        if (i == 2)
            continue;
        assert_int_equal(s[i].rc, -1);
        assert_string_equal(s[i].err.text, "rank 2 of 4 was lost: it was told to");
    }
    mem_free(s);
}

static void a_rank_that_does_not_come_counts_as_lost(void **state)
{
    struct net_reduce *all = net_reduce_new(2, 50);
    struct ml_reduce *r = net_reduce_end(all, 0);
    struct err err = { 0 };
    float x = 1;

    (void)state;
    assert_int_equal(r->ops->sum(r, &x, 1, &err), -1);
    assert_string_equal(err.text, "rank 1 of 2 was lost: it did not come to a sum within 50 ms");
    net_reduce_free(all);
}

/* ---- training ---- */

static void small(double *p)
{
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 2;
    p[MLP_WIDTH] = 20;
    p[MLP_BATCH] = 50;
    p[MLP_EPOCHS] = EPOCHS;
}

static struct rig *mixed(int64_t rows)
{
    return rig_new(rig_mixed(ML_REGRESSION, rows, 0, 4), ML_REGRESSION, METRIC_RMSE, FOLDS);
}

static struct lane team(const struct rig *r, const double *p, int ranks, int64_t steps,
                        const struct ml_stop *stop)
{
    struct lane l = rig_lane(r, "mlp", p, 0, 0);
    struct err err = { 0 };

    if (ranks > 1)
        assert_int_equal(net_team_open(r->d, &l, ranks, &err), 0);
    if (steps > 0)
        rig_lane_train(r, "mlp", &l, steps, stop);
    return l;
}

/* One step of AdamW; two of plain descent (in the first, the gradient stops at the last block, which is 0), over all rows and
 * over parts of them. AdamW divides a gradient by its size: one that is but rounding, like that of the last bias, may make a
 * step either way. */
static void ranks_make_the_step_of_one(void **state)
{
    static const int ranks[] = { 2, 4, 5 };
    struct rig *r = mixed(ROWS), *large = mixed(6750);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    for (int c = 0; c < 3; c++) {
        struct rig *on = c == 2 ? large : r; /* 4,500 rows: parts on one rank and on two */
        small(p);
        p[MLP_BATCH] = 65536;
        p[MLP_OPTIMIZER] = c == 0 ? 0 : 2;
        p[MLP_LEARNING_RATE] = c == 0 ? 0.02 : 0.3;
        p[MLP_SCHEDULE] = 3;
        int steps = c == 0 ? 1 : 2;
        struct lane one = team(on, p, 1, steps, NULL);
        const struct net_lane *a = one.state;
        for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
            struct lane many = team(on, p, ranks[i], steps, NULL);
            const struct net_lane *b = many.state;
            assert_false(many.failed);
            double off = 0;
            for (int64_t k = 0; k < a->head.net.size; k++) {
                if (c > 0 || fabsf(a->grad[k]) > 1e-6f)
                    off = fmax(off, fabs((double)a->now[k] - (double)b->now[k]));
            }
            if (off > 1e-5)
                fail_msg("case %d, %d ranks: a parameter differs by %g", c, ranks[i], off);
            rig_lane_close("mlp", &many);
        }
        rig_lane_close("mlp", &one);
    }
    rig_free(r);
    rig_free(large);
}

static double mean_square(const struct rig *r, const struct lane *l, double *error_of_mean)
{
    struct buf b = rig_lane_bytes("mlp", l, l->steps_done);
    float *got = rig_predict(r, "mlp", &b);
    double sum = 0, squares = 0;
    int n = 0;

    for (int64_t i = 0; i < r->frame->rows; i++) {
        if (r->d->fold[i] != 0)
            continue;
        double e = ((double)got[i] - r->d->y[i]) * ((double)got[i] - r->d->y[i]);
        sum += e;
        squares += e * e;
        n++;
    }
    *error_of_mean = sqrt((squares / n - sum / n * (sum / n)) / n);
    free(got);
    buf_fini(&b);
    return sum / n;
}

/* Dropout included: its draws follow the place of a row in the batch, whichever rank has it. */
static void ranks_are_as_good_as_one_at_the_end(void **state)
{
    struct rig *r = mixed(ROWS);
    double p[FAMILY_MAX_PARAMS], error = 0;

    (void)state;
    small(p);
    struct lane one = team(r, p, 1, EPOCHS, NULL);
    double want = mean_square(r, &one, &error);
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        double unused;
        struct lane many = team(r, p, ranks, EPOCHS, NULL);
        double got = mean_square(r, &many, &unused);
        assert_int_equal(many.steps_done, EPOCHS);
        assert_true(many.is_done);
        if (fabs(got - want) > error)
            fail_msg("%d ranks: %g, one rank: %g +- %g", ranks, got, want, error);
        rig_lane_close("mlp", &many);
    }
    rig_lane_close("mlp", &one);
    rig_free(r);
}

static void ranks_stopped_anywhere_go_on_with_the_same_bits(void **state)
{
    struct rig *r = mixed(ROWS);
    double p[FAMILY_MAX_PARAMS];
    struct rig_stop s;

    (void)state;
    small(p);
    struct lane whole = team(r, p, 3, EPOCHS, NULL), l = team(r, p, 3, 1, NULL);
    rig_stop_init(&s, test_seed(), 5);
    while (l.steps_done < EPOCHS) {
        rig_stop_next(&s);
        rig_lane_train(r, "mlp", &l, EPOCHS, &s.stop);
        assert_false(l.failed);
    }
    struct buf want = rig_lane_bytes("mlp", &whole, EPOCHS),
               got = rig_lane_bytes("mlp", &l, EPOCHS);
    assert_int_equal(want.len, got.len);
    assert_memory_equal(want.data, got.data, got.len);
    buf_fini(&want);
    buf_fini(&got);
    rig_lane_close("mlp", &whole);
    rig_lane_close("mlp", &l);
    rig_free(r);
}

static void batches_smaller_than_the_ranks_are_trained(void **state)
{
    struct rig *r = mixed(30);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    p[MLP_BATCH] = 2;
    struct lane l = team(r, p, RANKS, 3, NULL);
    assert_false(l.failed);
    assert_int_equal(l.steps_done, 3);
    rig_lane_close("mlp", &l);
    rig_free(r);
}

static void a_lost_rank_fails_the_lane_with_one_message(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = mixed(ROWS);
    struct err err = { 0 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    struct lane l = team(r, p, RANKS, 0, NULL);
    l.max_steps = EPOCHS;
    l.is_done = false;
    fault_arm_name("net.rank", 7, false);
    assert_int_equal(ops->advance(r->d, &l, 1, EPOCHS, NULL, &err), 0);
    assert_int_equal(fault_disarm(), 1);
    assert_true(l.failed);
    assert_string_equal(l.why.text, "mlp: rank 3 of 4 was lost: it gave up");
    assert_int_equal(l.why.code, ERR_DEVICE); /* so that the trial is tried again */
    assert_int_equal(err.text[0], '\0');
    rig_lane_close("mlp", &l);
    rig_free(r);
}

/* The parameter `ranks` opens the others; the bits are those of the same team opened by hand, and the memory is counted. */
static void the_parameter_opens_the_ranks(void **state)
{
    struct rig *r = mixed(ROWS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    struct lane by_hand = team(r, p, 3, EPOCHS, NULL), one = team(r, p, 1, EPOCHS, NULL);
    p[MLP_RANKS] = 3;
    struct lane asked = team(r, p, 1, EPOCHS, NULL);
    assert_non_null(((struct net_lane *)asked.state)->team);
    struct buf want = rig_lane_bytes("mlp", &by_hand, EPOCHS),
               got = rig_lane_bytes("mlp", &asked, EPOCHS);
    assert_int_equal(want.len, got.len);
    assert_memory_equal(want.data, got.data, got.len);
    assert_true(net_lane_bytes(&asked) > net_lane_bytes(&one) * 5 / 2);
    buf_fini(&want);
    buf_fini(&got);
    rig_lane_close("mlp", &by_hand);
    rig_lane_close("mlp", &one);
    rig_lane_close("mlp", &asked);
    rig_free(r);
}

static void a_loss_that_is_not_finite_ends_all_ranks(void **state)
{
    struct rig *r = mixed(ROWS);
    const struct model_ops *ops = model_find("mlp");
    struct err err = { 0 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    p[MLP_LEARNING_RATE] = 10;
    p[MLP_DECAY] = 100;
    p[MLP_SCHEDULE] = 3;
    struct lane l = team(r, p, 2, 0, NULL);
    l.max_steps = EPOCHS;
    l.is_done = false;
    for (int i = 0; i < EPOCHS && !l.failed; i++)
        assert_int_equal(ops->advance(r->d, &l, 1, 1, NULL, &err), 0);
    assert_true(l.failed);
    assert_null(strstr(l.why.text, "rank"));
    rig_lane_close("mlp", &l);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_made_in_the_order_of_the_ranks),
        cmocka_unit_test(a_rank_that_leaves_ends_the_wait_of_the_others),
        cmocka_unit_test(a_rank_that_does_not_come_counts_as_lost),
        cmocka_unit_test(ranks_make_the_step_of_one),
        cmocka_unit_test(ranks_are_as_good_as_one_at_the_end),
        cmocka_unit_test(ranks_stopped_anywhere_go_on_with_the_same_bits),
        cmocka_unit_test(batches_smaller_than_the_ranks_are_trained),
        cmocka_unit_test(a_lost_rank_fails_the_lane_with_one_message),
        cmocka_unit_test(the_parameter_opens_the_ranks),
        cmocka_unit_test(a_loss_that_is_not_finite_ends_all_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
