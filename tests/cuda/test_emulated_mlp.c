/* test_emulated_mlp.c - lanes of the family mlp on the emulated device: of one trial or of many, of any width and batch, that
 * come late, leave, stop in the middle of an epoch, diverge or find no memory there. They stay what they would be alone on the
 * CPU, byte for byte, the state of the optimiser included. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "ml/math/optim_math.h"
#include "ml/model/models.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_net.h"

#include <stdlib.h>

enum { TRIALS = 5, EPOCHS = 8 };

static const struct model_ops *mlp(void)
{
    return model_find("mlp");
}

/* Small networks, every trial with another width, batch, activation, rate and schedule. */
static void params_of(int trial, double *params)
{
    static const int widths[TRIALS] = { 20, 7, 33, 16, 70 },
                     batches[TRIALS] = { 32, 50, 16, 200, 25 };

    family_defaults(family_find("mlp"), params);
    params[MLP_EMBEDDING] = 0; /* what the device has no form of stays on the CPU */
    params[MLP_MEMBERS] = 1;
    params[MLP_LAYERS] = 2;
    params[MLP_WIDTH] = widths[trial];
    params[MLP_BATCH] = batches[trial];
    params[MLP_ACTIVATION] = (trial + 2) % 7;
    params[MLP_LEARNING_RATE] = 0.01 * (1 + trial);
    params[MLP_DROPOUT] = trial % 2 ? 0.3 : 0;
    params[MLP_SCHEDULE] = trial % 4;
    params[MLP_EPOCHS] = EPOCHS;
    boost_device.threads = boost_device.tile_rows = 0;
    boost_device.batch = 3; /* steps queued at a time */
}

static struct rig *rig_small(enum ml_task task, enum metric_id metric)
{
    return rig_new(rig_mixed(task, 150, 3, 4), task, metric, FOLDS);
}

static void advance(struct rig *r, struct lane *lanes, int n, int64_t epochs,
                    const struct ml_stop *stop)
{
    struct err err = { 0 };

    for (int i = 0; i < n; i++)
        lanes[i].is_done = false;
    if (mlp()->advance(r->d, lanes, n, epochs, stop, &err) < 0)
        fail_msg("%s", err.text);
}

static void advance_on(struct rig *r, const struct ml_compute *device, struct lane *lanes, int n,
                       int64_t epochs)
{
    r->d->spec.device = device;
    advance(r, lanes, n, epochs, NULL);
}

static void lane_open(struct rig *r, struct lane *l, int fold, uint64_t seed, const double *params)
{
    struct err err = { 0 };

    *l = (struct lane){ .fold = fold, .seed = seed, .level = mlp()->family->levels };
    memcpy(l->params, params, sizeof l->params);
    l->log = calloc(1, sizeof *l->log);
    if (mlp()->open(r->d, l, &err) < 0)
        fail_msg("%s", err.text);
}

static void lanes_open(struct rig *r, struct lane *lanes, int n, int trial)
{
    double params[FAMILY_MAX_PARAMS];

    params_of(trial, params);
    for (int i = 0; i < n; i++)
        lane_open(r, &lanes[i], i < FOLDS ? i : FOLD_ALL, 40 + (uint64_t)trial, params);
}

static void lanes_close(struct lane *lanes, int n)
{
    for (int i = 0; i < n; i++) {
        mlp()->close(&lanes[i]);
        epoch_log_fini(lanes[i].log);
        free(lanes[i].log);
    }
}

static struct buf checkpoint(const struct lane *l)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, (size_t)1 << 28);
    if (mlp()->save_training(l, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void predictions_equal(struct rig *r, const struct lane *a, const struct lane *b)
{
    size_t held = (size_t)(r->d->rows * r->d->n_outputs);
    float *scores = calloc(2 * held, sizeof *scores);

    assert_int_equal(mlp()->predict_held(r->d, a, scores, NULL), 0);
    assert_int_equal(mlp()->predict_held(r->d, b, scores + held, NULL), 0);
    assert_memory_equal(scores, scores + held, held * sizeof *scores);
    free(scores);
}

/* What the page shows of the epochs is the same as well. */
static void notes_equal(const struct epoch_log *a, const struct epoch_log *b)
{
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        assert_true(a->notes[i].loss > 0 && a->notes[i].norm > 0);
        assert_true(a->notes[i].loss == b->notes[i].loss && a->notes[i].rate == b->notes[i].rate &&
                    a->notes[i].norm == b->notes[i].norm);
    }
}

static void lanes_equal(struct rig *r, const struct lane *a, const struct lane *b, int n,
                        const char *what)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(a[i].steps_done, b[i].steps_done);
        assert_false(a[i].failed || b[i].failed);
        predictions_equal(r, &a[i], &b[i]);
        notes_equal(a[i].log, b[i].log);
        struct buf x = checkpoint(&a[i]), y = checkpoint(&b[i]);
        if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0)
            fail_msg("%s: lane %d: another checkpoint (%zu and %zu bytes)", what, i, x.len, y.len);
        buf_fini(&x);
        buf_fini(&y);
    }
}

static void epochs_on_the_device_equal_the_cpus(void **state)
{
    static const struct {
        enum ml_task task;
        enum metric_id metric;
        int trial;
    } cases[] = { { ML_BINARY, METRIC_AUC, 0 },
                  { ML_MULTICLASS, METRIC_LOGLOSS, 1 },
                  { ML_REGRESSION, METRIC_RMSE, 2 },
                  { ML_REGRESSION, METRIC_MAE, 4 } };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct rig *r = rig_small(cases[c].task, cases[c].metric);
        struct lane here[FOLDS + 1], there[FOLDS + 1];
        emu_order_set((enum emu_order)(c % 3), 5);
        lanes_open(r, here, FOLDS + 1, cases[c].trial);
        lanes_open(r, there, FOLDS + 1, cases[c].trial);
        advance_on(r, NULL, here, FOLDS + 1, 3);
        unsigned long long before = emu_launches();
        advance_on(r, &boost_device, there, FOLDS + 1, 3);
        assert_true(emu_launches() > before);
        lanes_equal(r, here, there, FOLDS + 1, "on the device");
        lanes_close(here, FOLDS + 1);
        lanes_close(there, FOLDS + 1);
        rig_free(r);
    }
}

static void trials_together_equal_each_alone(void **state)
{
    struct rig *r = rig_small(ML_MULTICLASS, METRIC_LOGLOSS);
    struct lane here[TRIALS][FOLDS], there[TRIALS * FOLDS];

    (void)state;
    for (int t = 0; t < TRIALS; t++) {
        lanes_open(r, here[t], FOLDS, t);
        lanes_open(r, &there[t * FOLDS], FOLDS, t);
        advance_on(r, NULL, here[t], FOLDS, 2 + t % 3);
        if (t % 3 > 0) /* some are ahead of the others */
            advance_on(r, &boost_device, &there[t * FOLDS], FOLDS, t % 3);
        r->d->spec.device = &boost_device;
        assert_true(mlp()->fuses(r->d, &there[t * FOLDS]));
    }
    emu_order_set(EMU_RANDOM, 6);
    advance_on(r, &boost_device, there, TRIALS * FOLDS, 2);
    for (int t = 0; t < TRIALS; t++)
        lanes_equal(r, here[t], &there[t * FOLDS], FOLDS, "together");
    for (int t = 0; t < TRIALS; t++)
        lanes_close(here[t], FOLDS);
    lanes_close(there, TRIALS * FOLDS);
    rig_free(r);
}

/* All kinds in one group, every other lane with a short gradient at most; the last one with another number of layers. */
static void every_optimiser_equals_the_cpus(void **state)
{
    struct rig *r = rig_small(ML_MULTICLASS, METRIC_LOGLOSS);
    struct lane here[OPTIM_KINDS], there[OPTIM_KINDS];
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < OPTIM_KINDS; i++) {
        params_of(i % TRIALS, params);
        params[MLP_OPTIMIZER] = i;
        params[MLP_CLIP] = i % 2 ? 0.05 : 0;
        params[MLP_LAYERS] = i + 1 < OPTIM_KINDS ? 2 : 1;
        lane_open(r, &here[i], i % FOLDS, (uint64_t)i, params);
        lane_open(r, &there[i], i % FOLDS, (uint64_t)i, params);
        advance_on(r, NULL, &here[i], 1, 2);
    }
    for (int order = EMU_FORWARD; order <= EMU_BACKWARD; order++) {
        emu_order_set((enum emu_order)order, 2);
        advance_on(r, &boost_device, there, OPTIM_KINDS, 1);
    }
    lanes_equal(r, here, there, OPTIM_KINDS, "optimiser");
    lanes_close(here, OPTIM_KINDS);
    lanes_close(there, OPTIM_KINDS);
    rig_free(r);
}

/* Batches of more than NET_PART rows, beside small ones. */
static void parts_of_large_batches_equal_the_cpus(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 7000, 2, 4), ML_BINARY, METRIC_LOGLOSS, 2);
    struct lane here[3], there[3];
    struct rig_stop stop;
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    params_of(1, params);
    params[MLP_LAYERS] = 1;
    params[MLP_WIDTH] = 3;
    for (int i = 0; i < 3; i++) {
        params[MLP_BATCH] = i == 0 ? 900 : 1e5;
        params[MLP_OPTIMIZER] = i == 2 ? OPTIM_LAMB : OPTIM_ADAMW;
        lane_open(r, &here[i], i % 2, (uint64_t)i, params);
        lane_open(r, &there[i], i % 2, (uint64_t)i, params);
        advance_on(r, NULL, &here[i], 1, 2);
    }
    boost_device.batch = 1; /* less than the parts of a batch */
    emu_order_set(EMU_RANDOM, 2);
    advance_on(r, &boost_device, there, 2, 2);
    /* the last one stops at random places, on the CPU between two parts as well */
    rig_stop_init(&stop, 5, 3);
    there[2].max_steps = 2;
    for (int i = 0; there[2].steps_done < 2; i++) {
        assert_true(i < 50);
        r->d->spec.device = i % 3 == 2 ? &boost_device : NULL;
        advance(r, &there[2], 1, 2, &stop.stop);
        rig_stop_next(&stop);
    }
    lanes_equal(r, here, there, 3, "parts");
    lanes_close(here, 3);
    lanes_close(there, 3);
    rig_free(r);
}

/* Trial 0 ends, trial 3 takes its slots; trial 2 goes to the CPU and comes back. */
static void trials_come_and_go(void **state)
{
    struct rig *r = rig_small(ML_BINARY, METRIC_LOGLOSS);
    struct lane here[4][FOLDS], there[4 * FOLDS];

    (void)state;
    for (int t = 0; t < 4; t++) {
        lanes_open(r, here[t], FOLDS, t);
        lanes_open(r, &there[t * FOLDS], FOLDS, t);
        advance_on(r, NULL, here[t], FOLDS, t == 0 ? 1 : t == 3 ? 3 : 4);
    }
    advance_on(r, &boost_device, there, 3 * FOLDS, 1);
    lanes_equal(r, here[0], there, FOLDS, "ended");
    lanes_close(there, FOLDS);
    advance_on(r, &boost_device, &there[FOLDS], 3 * FOLDS, 1);
    advance_on(r, NULL, &there[2 * FOLDS], FOLDS, 1);
    advance_on(r, &boost_device, &there[2 * FOLDS], 2 * FOLDS, 1);
    advance_on(r, &boost_device, &there[FOLDS], FOLDS, 2);
    advance_on(r, &boost_device, &there[3 * FOLDS], FOLDS, 1);
    for (int t = 1; t < 4; t++)
        lanes_equal(r, here[t], &there[t * FOLDS], FOLDS, "came and went");
    for (int t = 0; t < 4; t++)
        lanes_close(here[t], FOLDS);
    lanes_close(&there[FOLDS], 3 * FOLDS);
    rig_free(r);
}

/* Stopped at random places, half of the time continued on the CPU in the middle of an epoch, and resumed from a checkpoint. */
static void slices_and_checkpoints_do_not_show(void **state)
{
    struct rig *r = rig_small(ML_REGRESSION, METRIC_RMSE);
    struct lane here[FOLDS], cut[FOLDS], again[FOLDS], same[FOLDS];
    struct rig_stop stop;
    struct err err = { 0 };

    (void)state;
    lanes_open(r, here, FOLDS, 1);
    lanes_open(r, cut, FOLDS, 1);
    lanes_open(r, again, FOLDS, 1);
    lanes_open(r, same, FOLDS, 1);
    advance_on(r, NULL, here, FOLDS, 6);
    rig_stop_init(&stop, 3, 3);
    for (int i = 0; i < FOLDS; i++)
        cut[i].max_steps = 4;
    for (int i = 0; cut[0].steps_done + cut[1].steps_done + cut[2].steps_done < 3 * 4; i++) {
        assert_true(i < 200);
        r->d->spec.device = i % 4 < 2 ? &boost_device : NULL;
        advance(r, cut, FOLDS, 4, &stop.stop);
        rig_stop_next(&stop);
        for (int f = 0; f < FOLDS; f++) { /* in the middle of an epoch, too */
            advance_on(r, NULL, &same[f], 1, cut[f].steps_done - same[f].steps_done);
            if (cut[f].steps_done > 0)
                predictions_equal(r, &same[f], &cut[f]);
        }
    }
    for (int i = 0; i < FOLDS; i++) {
        struct buf b = checkpoint(&cut[i]);
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        if (mlp()->load(r->d, &again[i], &in, &err) < 0)
            fail_msg("%s", err.text);
        buf_fini(&b);
        for (int64_t k = 0; k < cut[i].log->n; k++) /* the engine's checkpoint has them */
            epoch_log_put(again[i].log, k + 1, &cut[i].log->notes[k]);
        cut[i].max_steps = 0;
    }
    advance_on(r, &boost_device, cut, FOLDS, 2);
    advance_on(r, &boost_device, again, FOLDS, 2);
    lanes_equal(r, here, cut, FOLDS, "cut");
    lanes_equal(r, here, again, FOLDS, "resumed");
    lanes_close(here, FOLDS);
    lanes_close(cut, FOLDS);
    lanes_close(again, FOLDS);
    lanes_close(same, FOLDS);
    rig_free(r);
}

/* The first lane of a fold that asks has all lanes of the fold scored in the same launches. */
static void held_rows_are_scored_together(void **state)
{
    struct rig *r = rig_small(ML_MULTICLASS, METRIC_LOGLOSS);
    struct lane here[2][FOLDS], there[2 * FOLDS];
    unsigned long long launches[2 * FOLDS];

    (void)state;
    for (int t = 0; t < 2; t++) {
        lanes_open(r, here[t], FOLDS, t);
        lanes_open(r, &there[t * FOLDS], FOLDS, t);
        advance_on(r, NULL, here[t], FOLDS, 2);
    }
    advance_on(r, &boost_device, there, 2 * FOLDS, 2);
    for (int i = 0; i < 2 * FOLDS; i++) {
        launches[i] = emu_launches();
        predictions_equal(r, &here[i / FOLDS][i % FOLDS], &there[i]);
        launches[i] = emu_launches() - launches[i];
    }
    for (int i = 0; i < FOLDS; i++) {
        assert_true(launches[i] > 0);
        assert_int_equal(launches[FOLDS + i], 0);
    }
    for (int t = 0; t < 2; t++)
        lanes_close(here[t], FOLDS);
    lanes_close(there, 2 * FOLDS);
    rig_free(r);
}

/* The epoch that was kept is there after the lane has gone on. */
static void the_best_epoch_is_kept(void **state)
{
    struct rig *r = rig_small(ML_BINARY, METRIC_LOGLOSS);
    struct lane here[1], there[1];

    (void)state;
    lanes_open(r, here, 1, 0);
    lanes_open(r, there, 1, 0);
    for (int i = 0; i < 2; i++) {
        struct lane *l = i == 0 ? here : there;
        const struct ml_compute *device = i == 0 ? NULL : &boost_device;
        advance_on(r, device, l, 1, 2);
        assert_int_equal(mlp()->keep(l, NULL), 0);
        advance_on(r, device, l, 1, 3);
    }
    for (int64_t steps = 2; steps <= 5; steps += steps == 2 ? 2 : 1) {
        struct buf x = rig_lane_bytes("mlp", here, steps), y = rig_lane_bytes("mlp", there, steps);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
        buf_fini(&x);
        buf_fini(&y);
    }
    lanes_close(here, 1);
    lanes_close(there, 1);
    rig_free(r);
}

static void a_lane_that_diverges_fails_alone(void **state)
{
    struct rig *r = rig_small(ML_REGRESSION, METRIC_RMSE);
    struct lane here[2], there[2];
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lane *l = i == 0 ? here : there;
        lanes_open(r, l, 2, 2);
        lanes_close(&l[1], 1);
        params_of(0, params);
        params[MLP_ACTIVATION] = 0;
        params[MLP_LEARNING_RATE] = 1e9;
        params[MLP_SCHEDULE] = 3;
        lane_open(r, &l[1], 1, 42, params);
        advance_on(r, i == 0 ? NULL : &boost_device, l, 2, 4);
    }
    assert_true(here[1].failed && there[1].failed);
    assert_string_equal(here[1].why.text, there[1].why.text);
    assert_int_equal(here[1].steps_done, there[1].steps_done);
    lanes_equal(r, here, there, 1, "beside one that diverged");
    lanes_close(here, 2);
    lanes_close(there, 2);
    rig_free(r);
}

/* is_full: no allocation succeeds from the nth on; else one fails. */
static bool trains_without_memory(int nth, bool is_full)
{
    struct rig *r = rig_small(ML_BINARY, METRIC_LOGLOSS);
    struct lane here[FOLDS], there[FOLDS];

    lanes_open(r, here, FOLDS, 1);
    lanes_open(r, there, FOLDS, 1);
    advance_on(r, NULL, here, FOLDS, 2);
    unsigned long long before = emu_launches();
    if (is_full)
        emu_fail_malloc_from(nth);
    else
        emu_fail_malloc(nth);
    advance_on(r, &boost_device, there, FOLDS, 1);
    bool has_fired = emu_malloc_failed();
    emu_fail_malloc(0);
    assert_true((is_full && has_fired) == (emu_launches() == before));
    assert_true(mlp()->fuses(r->d, there) != (is_full && has_fired));
    advance_on(r, &boost_device, there, FOLDS, 1);
    lanes_equal(r, here, there, FOLDS, "without memory");
    lanes_close(here, FOLDS);
    lanes_close(there, FOLDS);
    rig_free(r);
    return has_fired;
}

static void what_finds_no_memory_there_trains_here(void **state)
{
    (void)state;
    for (int nth = 1; trains_without_memory(nth, true); nth++)
        assert_true(nth < 9);
    for (int nth = 1; trains_without_memory(nth, false); nth++)
        assert_true(nth < 9);
}

/* Waves and members have no form there yet. */
static void networks_of_other_blocks_train_on_the_cpu(void **state)
{
    static const int members[] = { 1, 3 };
    struct rig *r = rig_small(ML_BINARY, METRIC_LOGLOSS);
    struct lane here[1], there[1];
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 2; i++) {
        params_of(0, params);
        params[MLP_MEMBERS] = members[i];
        params[MLP_EMBEDDING] = i == 0;
        lane_open(r, here, 0, 1, params);
        lane_open(r, there, 0, 1, params);
        advance_on(r, NULL, here, 1, 2);
        unsigned long long before = emu_launches();
        advance_on(r, &boost_device, there, 1, 2);
        assert_false(mlp()->fuses(r->d, there));
        lanes_equal(r, here, there, 1, "other blocks");
        assert_int_equal(emu_launches(), before);
        lanes_close(here, 1);
        lanes_close(there, 1);
    }
    rig_free(r);
}

/* A trial is admitted to a device by its forecast (family_level_bytes): its lanes take no more there. */
static void the_forecast_of_a_trial_covers_its_memory_there(void **state)
{
    static const int widths[] = { 16, 128, 512 }, batches[] = { 64, 256, 2000 };
    static const int outputs[] = { 1, 10 };
    const struct family *f = family_find("mlp");

    (void)state;
    for (int i = 0; i < 3 * 3 * 2 * 5; i++) {
        int layers = 1 + i % 5, width = widths[i / 5 % 3], batch = batches[i / 15 % 3];
        struct family_shape s = { .rows = 20000, .columns = 40, .encoded = 50, .folds = FOLDS };
        struct ml_net_in in = { .slots = FOLDS,
                                .layers = layers + 1,
                                .feeds = FOLDS + 1,
                                .feed_rows = s.rows,
                                .batch = batch * 3 / 2,
                                .steps = 100,
                                .score_rows = 8192,
                                .has_norms = 1,
                                .pad = { 64 } };
        double params[FAMILY_MAX_PARAMS];
        s.outputs = in.outputs = outputs[i / 45];
        in.size = 64;
        for (int l = 0; l <= layers; l++) {
            in.pad[l + 1] = l < layers ? width : 16;
            in.size += (int64_t)((l > 0 ? width : 50) + 1) * in.pad[l + 1];
        }
        family_defaults(f, params);
        params[MLP_LAYERS] = layers;
        params[MLP_WIDTH] = width;
        params[MLP_BATCH] = batch;
        assert_true(boost_device.ops->net->bytes(&in) <=
                    family_level_bytes(f, &s, params, f->levels));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_on_the_device_equal_the_cpus),
        cmocka_unit_test(trials_together_equal_each_alone),
        cmocka_unit_test(every_optimiser_equals_the_cpus),
        cmocka_unit_test(parts_of_large_batches_equal_the_cpus),
        cmocka_unit_test(trials_come_and_go),
        cmocka_unit_test(slices_and_checkpoints_do_not_show),
        cmocka_unit_test(held_rows_are_scored_together),
        cmocka_unit_test(the_best_epoch_is_kept),
        cmocka_unit_test(a_lane_that_diverges_fails_alone),
        cmocka_unit_test(what_finds_no_memory_there_trains_here),
        cmocka_unit_test(networks_of_other_blocks_train_on_the_cpu),
        cmocka_unit_test(the_forecast_of_a_trial_covers_its_memory_there),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
