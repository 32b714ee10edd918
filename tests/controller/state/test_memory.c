/* test_memory.c - what a trial is said to take: by level, by what completed trials took, and no more of it promised than a
 * device has. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/problem/config.h"
#include "controller/state/memory.h"
#include "proto/msg.h"

#include <math.h>

static struct study *study_of(struct rig *r)
{
    rig_dataset(r, "d");
    int64_t id = rig_study(
        r, "{'dataset':'d','target':'y','budget':{'trials':40},"
           "'space':[{'family':'boost','bins':'255'}],'validation':{'kind':'kfold','folds':5}}");
    return rig_get(r, id);
}

static int64_t bytes_of(struct study *st, const char *config, int from, int to)
{
    struct trial_row row = { .config = (char *)config, .run_to = to, .max_level = 3 };
    struct trial_mem t = { .family = 1 };

    return memory_of_trial(st, &t, &row, from);
}

static const char quick[] = "{\"family\":\"boost\",\"learning_rate\":0.2}",
                  slow[] = "{\"family\":\"boost\",\"learning_rate\":0.02}";

static void a_level_takes_what_its_folds_take(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    int64_t one = bytes_of(st, quick, 0, 1), all = bytes_of(st, quick, 1, 3);
    assert_true(one > 0 && all > 2 * one);
    /* The same key: nothing is kept beside. Another learning rate at the top: the level before is. */
    assert_int_equal(all, bytes_of(st, quick, 0, 3));
    assert_true(bytes_of(st, slow, 2, 3) > bytes_of(st, slow, 0, 3) + bytes_of(st, slow, 0, 1));
    assert_int_equal(bytes_of(st, "{\"family\":\"nothing\"}", 0, 1), 0);
    rig_close(&r);
}

static void a_preparation_of_its_own_takes_a_form_of_its_own(void **state)
{
    static const char own[] = "{\"family\":\"boost\",\"learning_rate\":0.2,\"prep_pairs\":\"off\"}";
    struct rig r;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    const struct family_shape *s = &st->problem.shape;
    int64_t more = bytes_of(st, own, 0, 3) - bytes_of(st, quick, 0, 3),
            bins = st->problem.data.rows * (s->columns + (s->columns + 15) / 16 * 16);
    assert_true(bins > 0);
    assert_int_equal(more, bins * (s->by_fold ? s->folds : 1));
    rig_close(&r);
}

static void trials_teach_how_long_fits_grow(void **state)
{
    static const double growths[] = { 1.8, 2.5, 2.2, 3.4, 2.6, 2.4 };
    struct rig r;
    double logs = 0;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    int64_t before = bytes_of(st, slow, 0, 3);
    for (size_t i = 0; i < ARRAY_LEN(growths); i++) {
        struct trial_mem t = { .family = 1 };
        memory_note(st, &t, growths[i] * 2); /* of its first level */
        memory_note(st, &t, growths[i]);
        double once = st->memory[1].sum;
        memory_note(st, &t, growths[i]); /* again: nothing new */
        memory_note(st, &t, 0);          /* it cannot say */
        assert_true(fabs(st->memory[1].sum - once) < 1e-9);
        assert_int_equal(st->memory[1].n, i + 1);
        assert_true(memory_growth(st, &t) == growths[i]); /* its own goes before the others' */
        logs += log(growths[i]);
    }
    struct trial_mem fresh = { .family = 1 }, other = { .family = 0 };
    double learned = memory_growth(st, &fresh);
    size_t n_growths = ARRAY_LEN(growths);
    assert_true(fabs(log(learned) - logs / ((double)n_growths + 0.5)) < 1e-9);
    assert_true(memory_growth(st, &other) == 1);
    struct config c;
    struct family_shape s = st->problem.shape;
    assert_int_equal(config_parse_text(&c, slow, NULL, NULL), 0);
    s.growth = learned;
    assert_int_equal(bytes_of(st, slow, 0, 3), c.family->host_bytes(&s, c.params, 3));
    assert_true((double)before <
                (double)bytes_of(st, slow, 0, 3) * 0.8); /* something was learned */
    rig_close(&r);
}

static void a_reported_growth_is_kept_in_the_row_and_survives_a_restart(void **state)
{
    struct rig r;
    struct fake f;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    int64_t id = st->row.id;
    fake_open(&f, &r, "one", 8);
    while (st->memory[1].n == 0) { /* the baseline says nothing */
        struct msg_answer a;
        struct msg_event e;
        if (f.n_trials == 0)
            assert_true(fake_ask(&f) > 0);
        fake_event(&f, 0, &e);
        e.detail = (char *)"{\"growth\":2.75}";
        assert_int_equal(fake_report(&f, &e, 1, &a), 0);
        msg_answer_fini(&a);
        fake_drop(&f, 0);
        st = rig_get(&r, id);
    }
    st = rig_get(&r, id);
    double sum = st->memory[1].sum;
    assert_true(fabs(sum - st->memory[1].n * log(2.75)) < 1e-9);
    rig_restart(&r);
    st = rig_get(&r, id);
    assert_true(fabs(st->memory[1].sum - sum) < 1e-9);
    rig_close(&r);
}

/* Trials in one grant, by what the device says is free. */
static int trials_for(int64_t host_bytes)
{
    struct rig r;
    struct fake f;
    struct msg_grant g = { 0 };
    json_t *body = NULL, *json = NULL;

    rig_open(&r);
    (void)study_of(&r);
    fake_open(&f, &r, "one", 8);
    assert_int_equal(fake_ask(&f), 1); /* the baseline goes alone */
    struct msg_ask ask = { .n = ++f.n, .max_trials = 7, .host_bytes = host_bytes };
    str_copy(ask.session, sizeof ask.session, f.session);
    str_copy(ask.device, sizeof ask.device, "cpu0");
    body = msg_ask_json_new(&ask);
    json = fake_ask_of(&f, body);
    int rc = msg_grant_parse(&g, json, &rig_err), n = rc == 1 && g.kind == MSG_FIT ? g.n_trials : 0;
    msg_grant_fini(&g);
    json_decref(json);
    json_decref(body);
    rig_close(&r);
    return n;
}

static void no_more_is_promised_than_there_is(void **state)
{
    (void)state;
    int many = trials_for(0), tight = trials_for(1 << 20);

    assert_true(many > 1);
    assert_int_equal(tight, 1); /* one goes out whatever it takes: the worker ends it in time */
    assert_true(trials_for(INT64_C(1) << 40) == many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_takes_what_its_folds_take),
        cmocka_unit_test(a_preparation_of_its_own_takes_a_form_of_its_own),
        cmocka_unit_test(trials_teach_how_long_fits_grow),
        cmocka_unit_test(a_reported_growth_is_kept_in_the_row_and_survives_a_restart),
        cmocka_unit_test(no_more_is_promised_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
