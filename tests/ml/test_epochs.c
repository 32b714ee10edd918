/* test_epochs.c - what a trial of networks tells of its epochs: every epoch once, in order, equal however the work is cut into
 * slices, saved and resumed; speeds of what this process trained only; many epochs are thinned so that a longer list holds
 * what a shorter one held; families without epochs tell nothing; notes change no byte of a model. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/fit/fit_private.h"
#include "ml/model/epoch_log.h"

#include <math.h>
#include <string.h>

enum { EPOCHS = 15, FOLDS = 3, TOP = 4 };

static struct rig *table(void)
{
    return rig_new(rig_mixed(ML_BINARY, 200, 2, 4), ML_BINARY, METRIC_ACCURACY, FOLDS);
}

static struct fit_trial *trial_of(struct rig *r, const char *family, int epochs)
{
    const struct family *f = family_find(family);
    double p[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    family_defaults(f, p);
    if (strcmp(family, "mlp") == 0) {
        p[MLP_LAYERS] = 1;
        p[MLP_WIDTH] = 16;
        p[MLP_BATCH] = 40;
        p[MLP_EPOCHS] = epochs;
    }
    struct fit_trial *t = fit_trial_open(r->d, f, p, 42, false, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static void reach(struct fit_trial *t, int level, const struct ml_stop *stop)
{
    struct err err = { 0 };

    if (fit_trial_advance(t, level, stop, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_same(const struct fit_epochs *a, const struct fit_epochs *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_int_equal(a->epoch[i], b->epoch[i]);
        assert_true(a->loss[i] == b->loss[i] && a->norm[i] == b->norm[i] &&
                    a->rate[i] == b->rate[i] && a->value[i] == b->value[i]);
    }
}

static void every_epoch_is_told_once_with_all_that_is_known(void **state)
{
    struct rig *r = table();
    struct fit_trial *t = trial_of(r, "mlp", EPOCHS);
    struct fit_epochs e;

    (void)state;
    fit_trial_epochs(t, FIT_EPOCHS, &e);
    assert_int_equal(e.n, 0);
    reach(t, 1, NULL);
    fit_trial_epochs(t, FIT_EPOCHS, &e);
    assert_int_equal(e.level, 1);
    assert_int_equal(e.folds, 1);
    reach(t, TOP, NULL);
    fit_trial_epochs(t, FIT_EPOCHS, &e);
    assert_int_equal(e.n, EPOCHS);
    assert_int_equal(e.level, TOP);
    assert_int_equal(e.folds, FOLDS);
    assert_int_equal(e.metric, METRIC_LOGLOSS); /* accuracy is too coarse to choose by */
    for (int i = 0; i < e.n; i++) {
        assert_int_equal(e.epoch[i], i + 1);
        assert_true(e.loss[i] > 0 && e.value[i] > 0 && e.norm[i] > 0 && e.rate[i] >= 0);
        assert_true(e.speed[i] > 0);
    }
    assert_true(e.loss[EPOCHS - 1] < e.loss[0]);
    fit_trial_close(t);
    rig_free(r);
}

static void slices_change_nothing(void **state)
{
    struct rig *r = table();
    struct fit_trial *whole = trial_of(r, "mlp", EPOCHS), *cut = trial_of(r, "mlp", EPOCHS);
    struct fit_epochs a, b;
    struct rig_stop s;

    (void)state;
    reach(whole, TOP, NULL);
    rig_stop_init(&s, test_seed(), 7);
    for (int done = 0; !done;) {
        struct err err = { 0 };
        rig_stop_next(&s);
        done = fit_trial_advance(cut, TOP, &s.stop, &err);
        assert_true(done >= 0);
    }
    fit_trial_epochs(whole, FIT_EPOCHS, &a);
    fit_trial_epochs(cut, FIT_EPOCHS, &b);
    assert_same(&a, &b);
    fit_trial_close(whole);
    fit_trial_close(cut);
    rig_free(r);
}

/* A checkpoint inside the top level: what it holds has no speed, what comes after it has. */
static void a_resumed_trial_has_all_epochs_and_speeds_of_its_own(void **state)
{
    struct rig *r = table();
    struct fit_trial *whole = trial_of(r, "mlp", EPOCHS), *first = trial_of(r, "mlp", EPOCHS),
                     *second = trial_of(r, "mlp", EPOCHS);
    struct fit_epochs a, b;
    struct err err = { 0 };
    struct rig_stop s;
    struct buf saved;

    (void)state;
    reach(whole, TOP, NULL);
    rig_stop_init(&s, 5, 20);
    do {
        rig_stop_next(&s);
        reach(first, TOP, &s.stop);
        fit_trial_epochs(first, FIT_EPOCHS, &b);
    } while (b.n < 4);
    int kept = b.n;
    assert_in_range(kept, 4, EPOCHS - 2);
    buf_init(&saved, 1 << 24);
    assert_int_equal(fit_trial_save(first, &saved, &err), 0);
    struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
    if (fit_trial_load(second, &in, &err) < 0)
        fail_msg("%s", err.text);
    fit_trial_epochs(second, FIT_EPOCHS, &b);
    assert_int_equal(b.n, kept);
    reach(second, TOP, NULL);
    fit_trial_epochs(whole, FIT_EPOCHS, &a);
    fit_trial_epochs(second, FIT_EPOCHS, &b);
    assert_same(&a, &b);
    for (int i = 0; i < b.n; i++)
        assert_int_equal(isnan(b.speed[i]), i < kept);
    buf_fini(&saved);
    fit_trial_close(whole);
    fit_trial_close(first);
    fit_trial_close(second);
    rig_free(r);
}

/* Numbers, and labels that have nothing to do with them: the longer a network trains, the worse it is. */
static struct rig *noise(void)
{
    struct rig_table *t = rig_table_new(200);
    struct rng rng;

    rng_init(&rng, 11, 0);
    for (int c = 0; c < 12; c++) {
        double *x = rig_numbers(t);
        for (int i = 0; i < 200; i++)
            x[i] = rng_normal(&rng);
    }
    double *y = rig_numbers(t);
    for (int i = 0; i < 200; i++)
        y[i] = rng_below(&rng, 2);
    return rig_new(t, ML_BINARY, METRIC_LOGLOSS, FOLDS);
}

static void a_network_that_only_gets_worse_ends_with_its_third_cycle(void **state)
{
    static const struct {
        bool is_noise, has_cycles;
        int epochs; /* of 30: the third cycle ends at 14 */
    } cases[] = { { true, true, 14 }, { true, false, 30 }, { false, true, 30 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = cases[i].is_noise ? noise() : table();
        const struct family *f = family_find("mlp");
        double p[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_result got;
        struct fit_epochs e;

        family_defaults(f, p);
        p[MLP_WIDTH] = 32;
        p[MLP_BATCH] = 40;
        p[MLP_EPOCHS] = 30;
        p[MLP_LEARNING_RATE] = cases[i].is_noise ? 0.05 : 0.003;
        p[MLP_SCHEDULE] = cases[i].has_cycles ? 0 : 1;
        struct fit_trial *t = fit_trial_open(r->d, f, p, 42, false, &err);
        assert_non_null(t);
        reach(t, TOP, NULL);
        fit_trial_epochs(t, FIT_EPOCHS, &e);
        assert_int_equal(e.epoch[e.n - 1], cases[i].epochs);
        assert_int_equal(fit_trial_result(t, &got, &err), 0);
        assert_true(cases[i].is_noise == (got.steps <= 10));
        fit_trial_close(t);
        rig_free(r);
    }
}

static bool holds(const struct fit_epochs *e, int64_t epoch)
{
    for (int i = 0; i < e->n; i++) {
        if (e->epoch[i] == epoch)
            return true;
    }
    return false;
}

static void a_longer_list_holds_what_a_shorter_one_held(void **state)
{
    struct rig *r = table();
    struct fit_trial *t = trial_of(r, "mlp", 300);
    struct fit_epochs *all = mem_alloc(sizeof *all), *few = mem_alloc(sizeof *few);

    (void)state;
    reach(t, 3, NULL); /* 7/15 of the epochs, on one fold */
    for (int most = 3; most <= FIT_EPOCHS; most += most < 20 ? 1 : 59) {
        fit_trial_epochs(t, most, few);
        fit_trial_epochs(t, MIN(most * 2, FIT_EPOCHS), all);
        assert_in_range(few->n, 2, most);
        assert_int_equal(few->epoch[0], 1);
        assert_int_equal(few->epoch[few->n - 1], 140);
        for (int i = 0; i < few->n; i++)
            assert_true(holds(all, few->epoch[i]));
    }
    mem_free(all);
    mem_free(few);
    fit_trial_close(t);
    rig_free(r);
}

static void families_without_epochs_tell_nothing(void **state)
{
    static const char *const names[] = { "baseline", "boost", "linear" };
    struct rig *r = table();
    struct fit_epochs e;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct fit_trial *t = trial_of(r, names[i], 0);
        reach(t, 1, NULL);
        fit_trial_epochs(t, FIT_EPOCHS, &e);
        assert_int_equal(e.n, 0);
        fit_trial_close(t);
    }
    rig_free(r);
}

static void a_lane_has_the_same_bits_with_and_without_notes(void **state)
{
    struct rig *r = table();
    struct epoch_log log = { 0 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    family_defaults(family_find("mlp"), p);
    p[MLP_WIDTH] = 16;
    p[MLP_EPOCHS] = 4;
    struct lane quiet = rig_lane(r, "mlp", p, 0, 1), noted = rig_lane(r, "mlp", p, 0, 1);
    noted.log = &log;
    rig_lane_train(r, "mlp", &quiet, 4, NULL);
    rig_lane_train(r, "mlp", &noted, 4, NULL);
    struct buf a = rig_lane_bytes("mlp", &quiet, 4), b = rig_lane_bytes("mlp", &noted, 4);
    assert_int_equal(log.n, 4);
    assert_true(isnan(log.notes[0].loss)); /* it was trained before anyone asked */
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
    epoch_log_fini(&log);
    rig_lane_close("mlp", &quiet);
    rig_lane_close("mlp", &noted);
    rig_free(r);
}

static void notes_of_more_epochs_than_were_done_are_refused(void **state)
{
    struct epoch_log log = { 0 }, read = { 0 };
    struct err err = { 0 };
    struct buf b;

    (void)state;
    for (int i = 1; i <= 5; i++) {
        struct epoch_note e = { (float)i, 0.5f, 2, 100 };
        epoch_log_put(&log, i, &e);
    }
    buf_init(&b, 1 << 12);
    assert_int_equal(epoch_log_save(&log, 4, &b, &err), 0);
    struct view in = { (const uint8_t *)b.data, b.len, 0 }, cut = { in.data, in.len - 1, 0 };
    assert_int_equal(epoch_log_load(&read, 3, &in, &err), -1);
    assert_int_equal(epoch_log_load(&read, 4, &cut, &err), -1);
    in.pos = 0;
    assert_int_equal(epoch_log_load(&read, 4, &in, &err), 0);
    assert_int_equal(read.n, 4);
    assert_true(read.notes[3].loss == 4 && read.notes[3].rows == 0);
    buf_fini(&b);
    epoch_log_fini(&log);
    epoch_log_fini(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_epoch_is_told_once_with_all_that_is_known),
        cmocka_unit_test(a_network_that_only_gets_worse_ends_with_its_third_cycle),
        cmocka_unit_test(slices_change_nothing),
        cmocka_unit_test(a_resumed_trial_has_all_epochs_and_speeds_of_its_own),
        cmocka_unit_test(a_longer_list_holds_what_a_shorter_one_held),
        cmocka_unit_test(families_without_epochs_tell_nothing),
        cmocka_unit_test(a_lane_has_the_same_bits_with_and_without_notes),
        cmocka_unit_test(notes_of_more_epochs_than_were_done_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
