/* test_live.c - how many trials of a study with a limit in time are in flight. */
#include "tests/rig.h"

#include "controller/decide/live.h"
#include "controller/state/lease.h"

#define SPEC                                                                             \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':'random'," \
    "'scheduler':'none','space':[{'family':'boost'}],'validation':'kfold',"              \
    "'budget':{'time':'100s'}}"

static int64_t start(struct rig *r, struct fake *f)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, SPEC);
    fake_open(f, r, "f", 1);
    f->max_trials = 8; /* it may ask while it holds trials; its device takes one at a time */
    return id;
}

/* Trial i says its final, after so much computing, and is answered. */
static enum msg_action finish(struct fake *f, int i, int64_t fit_us)
{
    struct msg_event e;
    struct msg_answer a;

    f->trials[i].next = MSG_FINAL;
    f->trials[i].to = f->trials[i].max;
    fake_event(f, i, &e);
    e.fit_us = fit_us;
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    enum msg_action action = a.replies[0].action;
    f->trials[i].seq = e.seq;
    f->trials[i].next = MSG_COMPLETE;
    msg_answer_fini(&a);
    return action;
}

static void a_device_has_the_next_of_short_trials_while_one_runs(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = start(&r, &f);

    (void)state;
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(fake_ask(&f), 0); /* how long trials take is not known yet */
    assert_int_equal(live_parallel(rig_get(&r, id)), 1);
    assert_int_equal(finish(&f, 0, LIVE_SHORT_MS * 1000 - 1), MSG_KEEP);
    fake_step(&f, 0);
    assert_int_equal(live_parallel(rig_get(&r, id)), 2);
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(fake_ask(&f), 0);
    rig_close(&r);
}

static void a_long_trial_is_waited_for_but_not_its_file(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = start(&r, &f);

    (void)state;
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(finish(&f, 0, LIVE_SHORT_MS * 1000), MSG_KEEP);
    assert_int_equal(live_parallel(rig_get(&r, id)), 1);
    assert_int_equal(lease_count_leaving(r.ctl, id), 1);
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(fake_ask(&f), 0);
    fake_step(&f, 0); /* the file came: the device still has the second one */
    assert_int_equal(lease_count_leaving(r.ctl, id), 0);
    assert_int_equal(fake_ask(&f), 0);
    rig_close(&r);
}

static void files_on_a_slow_line_do_not_pile_up(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = start(&r, &f);
    int n = 0;

    (void)state;
    while (fake_ask(&f) == 1)
        assert_int_equal(finish(&f, n++, LIVE_SHORT_MS * 1000), MSG_KEEP);
    assert_int_equal(n, 1 + LIVE_LEAVING_MOST);
    assert_int_equal(lease_count_leaving(r.ctl, id), n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_has_the_next_of_short_trials_while_one_runs),
        cmocka_unit_test(a_long_trial_is_waited_for_but_not_its_file),
        cmocka_unit_test(files_on_a_slow_line_do_not_pile_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
