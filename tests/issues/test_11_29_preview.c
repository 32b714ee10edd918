/* test_11_29_preview.c - a viewer's preview of a million trials under successive halving held the loop for 0.6 s. It is foreseen
 * on the pool, so many at a time, and says the same there. */
#include "tests/rig.h"

#include "base/loop.h"

#include <event2/event.h>

#define SPEC                                                                      \
    "{'name':'s','dataset':'d','target':'y','seed':7,'scheduler':'sha','budget':" \
    "{'trials':3000}}"

struct answers {
    int n;
    json_t *last;
    struct err err;
};

static void on_done(void *arg, json_t *out, const struct err *err)
{
    struct answers *a = arg;

    a->n++;
    json_decref(a->last);
    a->last = out;
    if (err)
        a->err = *err;
}

static void a_preview_beside_the_loop_says_the_same(void **state)
{
    struct rig r;
    struct answers a = { 0 };
    json_t *spec = rig_json(SPEC), *same = NULL;
    int begun = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    struct loop *loop = loop_new(&r.clk, &rig_err);
    loop_pool_start(loop, 1);
    r.ctl->loop = loop;
    assert_int_equal(ctl_study_preview(r.ctl, spec, &same, &rig_err), 0);
    while (begun < 20 && ctl_study_preview_beside(r.ctl, 7, spec, on_done, &a, &rig_err) == 0)
        begun++;
    assert_true(begun >= 2 && begun < 20); /* so many at a time */
    assert_int_equal(rig_err.code, ERR_BUSY);
    while (begun < 20 && ctl_study_preview_beside(r.ctl, 8, spec, on_done, &a, &rig_err) == 0)
        begun++;
    assert_int_equal(begun, CTL_PREVIEWS); /* the first one had no more than half of them */
    assert_int_equal(a.n, 0);              /* none was made on the spot */
    while (a.n < begun)
        (void)event_base_loop(loop_base(loop), EVLOOP_ONCE);
    assert_true(json_equal(a.last, same));
    assert_int_equal(ctl_study_preview_beside(r.ctl, 7, spec, on_done, &a, &rig_err), 0);
    while (a.n < begun + 1)
        (void)event_base_loop(loop_base(loop), EVLOOP_ONCE);
    json_decref(a.last);
    json_decref(same);
    json_decref(spec);
    r.ctl->loop = NULL;
    rig_close(&r);
    loop_free(loop);
}

static void a_bad_spec_is_refused_at_once(void **state)
{
    struct rig r;
    struct answers a = { 0 };
    json_t *spec = rig_json("{'dataset':'d','target':'y','budget':{'trials':5},'nonsense':1}");

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    assert_int_equal(ctl_study_preview_beside(r.ctl, 7, spec, on_done, &a, &rig_err), -1);
    assert_int_equal(rig_err.code, ERR_ARG);
    assert_int_equal(a.n, 0);
    json_decref(spec);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preview_beside_the_loop_says_the_same),
        cmocka_unit_test(a_bad_spec_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
