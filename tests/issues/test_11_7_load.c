/* test_11_7_load.c - opening an ended study of 100,000 trials blocked everybody for 3.1 s, and so did a list with one on it. Ended
 * studies are read on the pool, through a connection of its own, and whoever asks meanwhile waits for that alone. */
#include "tests/rig.h"

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "controller/settle/load_beside.h"

#include <event2/event.h>
#include <unistd.h>

struct ended {
    struct rig r;
    struct loop *loop;
    int64_t id;
    int ready;
};

static void ended_open(struct ended *e, int threads)
{
    *e = (struct ended){ 0 };
    rig_open(&e->r);
    rig_dataset(&e->r, "d");
    e->id = rig_study(&e->r, "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},"
                             "'seed':7,'scheduler':'asha'}");
    rig_run(&e->r, e->id, 2, 1, 0, 0);
    e->loop = loop_new(&e->r.clk, &rig_err);
    loop_pool_start(e->loop, threads);
    e->r.ctl->loop = e->loop;
}

static void ended_close(struct ended *e)
{
    e->r.ctl->loop = NULL;
    rig_close(&e->r);
    loop_free(e->loop);
}

static void forget(struct ended *e)
{
    study_drop(e->r.ctl, study_loaded(e->r.ctl, e->id));
    assert_null(study_loaded(e->r.ctl, e->id));
}

static void on_ready(void *arg)
{
    struct ended *e = arg;

    e->ready++;
}

static void wait_for(struct ended *e, int ready)
{
    for (int i = 0; e->ready < ready; i++) {
        assert_true(i < 1000000);
        (void)event_base_loop(loop_base(e->loop), EVLOOP_ONCE);
    }
}

static char *sight(struct ended *e)
{
    struct buf b;

    buf_init(&b, 1 << 26);
    assert_int_equal(RIG_CALL(&e->r, ctl_study_page(e->r.ctl, "s", 300, &b, &rig_err)), 0);
    return buf_take(&b, NULL);
}

static void an_ended_study_is_read_beside_the_loop_and_is_the_same(void **state)
{
    struct ended e;
    char *before = NULL, *after = NULL;

    (void)state;
    ended_open(&e, 1);
    before = sight(&e);
    forget(&e);
    for (int i = 0; i < 3; i++) /* three ask, by name and by id: it is read once */
        assert_int_equal(ctl_study_await(e.r.ctl, 1, i ? "s" : "1", on_ready, &e, &rig_err), 0);
    assert_null(study_loaded(e.r.ctl, e.id)); /* nothing was read on the spot */
    assert_int_equal(e.ready, 0);
    wait_for(&e, 3);
    assert_non_null(study_loaded(e.r.ctl, e.id));
    assert_int_equal(ctl_study_await(e.r.ctl, 1, "s", on_ready, &e, &rig_err), 1);
    after = sight(&e);
    assert_string_equal(before, after);
    mem_free(before);
    mem_free(after);
    ended_close(&e);
}

static void what_happens_to_its_row_meanwhile_is_seen(void **state)
{
    struct ended e;
    json_t *out = NULL;

    (void)state;
    ended_open(&e, 1);
    assert_int_equal(RIG_CALL(&e.r, ctl_study_act(e.r.ctl, "s", CTL_ARCHIVE, &out, &rig_err)), 0);
    json_decref(out);
    forget(&e);
    assert_int_equal(ctl_study_await(e.r.ctl, 1, "s", on_ready, &e, &rig_err), 0);
    assert_int_equal(RIG_CALL(&e.r, store_study_delete(e.r.ctl->store, e.id, &rig_err)), 0);
    wait_for(&e, 1);
    assert_null(study_loaded(e.r.ctl, e.id));
    assert_int_equal(RIG_CALL(&e.r, ctl_study_get(e.r.ctl, "s", &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    ended_close(&e);
}

static void a_controller_may_end_while_a_study_is_read(void **state)
{
    struct ended e;

    (void)state;
    ended_open(&e, 1);
    forget(&e);
    assert_int_equal(ctl_study_await(e.r.ctl, 1, "s", on_ready, &e, &rig_err), 0);
    load_free_all(e.r.ctl);
    for (int i = 0; i < 50; i++)
        (void)event_base_loop(loop_base(e.loop), EVLOOP_NONBLOCK);
    ended_close(&e);
    assert_int_equal(e.ready, 0);
}

static void unknown_and_unfinished_studies_are_not_waited_for(void **state)
{
    struct ended e;

    (void)state;
    ended_open(&e, 1);
    rig_study(&e.r, "{'name':'t','dataset':'d','target':'y','budget':{'trials':3}}");
    assert_int_equal(ctl_study_await(e.r.ctl, 1, "nobody", on_ready, &e, &rig_err), 1);
    assert_int_equal(ctl_study_await(e.r.ctl, 1, "t", on_ready, &e, &rig_err), 1);
    ended_close(&e);
}

static void trials_of_an_ended_study_are_refused_without_reading_it(void **state)
{
    struct ended e;
    json_t *out = NULL;

    (void)state;
    ended_open(&e, 1);
    int64_t trial = study_loaded(e.r.ctl, e.id)->trials[0].id;
    forget(&e);
    assert_int_equal(RIG_CALL(&e.r, ctl_trial_kill(e.r.ctl, trial, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    assert_int_equal(RIG_CALL(&e.r, ctl_trial_retry(e.r.ctl, trial, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    assert_null(study_loaded(e.r.ctl, e.id));
    ended_close(&e);
}

static void the_cache_of_ended_studies_has_a_limit(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (int i = 0; i < LOAD_KEPT + 6; i++) {
        char spec[200];
        json_t *out = NULL;

        snprintf(spec, sizeof spec,
                 "{'name':'s%d','dataset':'d','target':'y','budget':{'trials':3}}", i);
        rig_study(&r, spec);
        snprintf(spec, sizeof spec, "s%d", i);
        assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, spec, CTL_KILL, &out, &rig_err)), 0);
        json_decref(out);
    }
    assert_int_equal(r.ctl->n_studies, LOAD_KEPT);
    rig_close(&r);
}

/* Issue 11 point 29: whoever asked first had all the places. */
static void nobody_has_more_than_half_of_the_places(void **state)
{
    struct ended e;
    char name[20], spec[200];
    int begun = 0;

    (void)state;
    ended_open(&e, 1);
    for (int i = 0; i < LOAD_WAITING; i++) {
        json_t *out = NULL;

        snprintf(name, sizeof name, "s%d", i);
        snprintf(spec, sizeof spec,
                 "{'name':'%s','dataset':'d','target':'y','budget':{'trials':3}}", name);
        int64_t id = rig_study(&e.r, spec);
        assert_int_equal(RIG_CALL(&e.r, ctl_study_act(e.r.ctl, name, CTL_KILL, &out, &rig_err)), 0);
        json_decref(out);
        study_drop(e.r.ctl, study_loaded(e.r.ctl, id));
    }
    for (int by = 1; by <= 2; by++) {
        for (int i = 0; i < LOAD_WAITING; i++) {
            snprintf(name, sizeof name, "s%d", i);
            begun += ctl_study_await(e.r.ctl, by, name, on_ready, &e, &rig_err) == 0;
        }
        /* The second one also joins the four that the first one began. */
        assert_int_equal(begun, by == 1 ? LOAD_WAITING / 2 : LOAD_WAITING / 2 * 3);
    }
    wait_for(&e, begun);
    ended_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ended_study_is_read_beside_the_loop_and_is_the_same),
        cmocka_unit_test(what_happens_to_its_row_meanwhile_is_seen),
        cmocka_unit_test(a_controller_may_end_while_a_study_is_read),
        cmocka_unit_test(unknown_and_unfinished_studies_are_not_waited_for),
        cmocka_unit_test(trials_of_an_ended_study_are_refused_without_reading_it),
        cmocka_unit_test(the_cache_of_ended_studies_has_a_limit),
        cmocka_unit_test(nobody_has_more_than_half_of_the_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
