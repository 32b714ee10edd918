/* test_place.c - which trials go to a GPU and which to a core (controller/serve/place.h). */
#include "tests/rig.h"

#include "base/base.h"
#include "base/str.h"
#include "controller/serve/place.h"
#include "controller/serve/retry.h"
#include "controller/state/ctl.h"
#include "controller/state/quarantine.h"

#include <string.h>

struct scene {
    struct rig r;
    struct fake core, gpu;
    int64_t study;
};

#define SPACE(name, families)                                                              \
    "{'name':'" name                                                                       \
    "','dataset':'d','target':'y','budget':{'time':'1h'},'seed':7,'space':[" families "]," \
    "'sampler':'random','scheduler':'none','validation':'kfold','parallel':9}"
#define LINEAR "{'family':'linear'}"
#define BOOST  "{'family':'boost','leaves':{'int':[4,60]}}"
#define FOREST "{'family':'forest','min_leaf':{'int':[1,60]}}"

static void set(struct scene *s, const char *spec, int64_t rows, bool has_gpu)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    s->study = rig_study(&s->r, spec);
    fake_open(&s->core, &s->r, "core", 1);
    if (has_gpu)
        fake_open_kind(&s->gpu, &s->r, "gpu", 8, "cuda");
    rig_get(&s->r, s->study)->problem.shape.rows = rows;
}

/* The family of the trials that this device gets when it asks once more; "" = none. It is as if the
 * device took more at once than it said: what it has goes on. */
static const char *next_family(struct fake *f)
{
    static const char *const names[] = { "baseline", "linear", "boost", "forest" };
    const char *found = "";

    (void)fake_ask(f);
    for (size_t i = 0; i < ARRAY_LEN(names) && f->n_trials > 0; i++)
        found = strstr(f->trials[0].config, names[i]) ? names[i] : found;
    while (f->n_trials > 0)
        fake_drop(f, 0);
    return found;
}

/* How many of the first trials of a core are of each family. */
static int count(struct scene *s, const char *family, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += str_eq(next_family(&s->core), family);
    return found;
}

enum { LARGE = 1000000, SMALL = 1000 };

static void a_core_leaves_boosting_to_the_gpu(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPACE("s", BOOST "," FOREST), LARGE, true);
    assert_int_equal(place_leaves(rig_get(&s.r, s.study), &s.r.ctl->runners[1]->devices[0]), 2);
    assert_string_equal(next_family(&s.core), "baseline");
    assert_string_equal(next_family(&s.core), "forest");
    assert_string_equal(next_family(&s.gpu), "boost");
    rig_close(&s.r);
}

/* Two are left, and the third is as good as anything else for a core that would have nothing to do. */
static void a_core_is_not_idle_where_all_is_boosting(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPACE("s", BOOST), LARGE, true);
    assert_int_equal(count(&s, "boost", 4), 3); /* and the baseline */
    rig_close(&s.r);
}

static void a_gpu_takes_what_there_is(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPACE("s", LINEAR), LARGE, true);
    assert_string_equal(next_family(&s.gpu), "baseline");
    assert_string_equal(next_family(&s.gpu), "linear");
    rig_close(&s.r);
}

static void nothing_is_left_on_small_tables_or_without_a_gpu(void **state)
{
    struct scene s;

    (void)state;
    for (int i = 0; i < 2; i++) {
        set(&s, SPACE("s", BOOST "," FOREST), i ? LARGE : SMALL, i == 0);
        assert_string_equal(next_family(&s.core), "baseline");
        assert_string_equal(next_family(&s.core), "boost");
        rig_close(&s.r);
    }
}

/* A GPU whose worker cannot be had keeps nobody waiting. */
static void nothing_is_left_for_a_gpu_that_takes_no_work(void **state)
{
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s, SPACE("s", BOOST "," FOREST), LARGE, true);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_act(s.r.ctl, s.gpu.id, "drain", &out, &rig_err)), 0);
    json_decref(out);
    assert_string_equal(next_family(&s.core), "baseline");
    assert_string_equal(next_family(&s.core), "boost");
    rig_close(&s.r);
}

/* It may be busy there for hours. */
static void nothing_is_left_for_a_gpu_that_works_for_another_study(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPACE("s", BOOST), LARGE, true);
    assert_string_equal(next_family(&s.gpu), "boost");
    s.study = rig_study(&s.r, SPACE("t", BOOST "," FOREST));
    rig_get(&s.r, s.study)->problem.shape.rows = LARGE;
    rig_get(&s.r, s.study)->row.priority = 5;
    assert_string_equal(next_family(&s.core), "baseline");
    assert_string_equal(next_family(&s.core), "boost");
    rig_close(&s.r);
}

/* The core's only trial fails by the machine. */
static void fail_trial(struct fake *f)
{
    struct msg_answer a;
    struct msg_event e;

    assert_int_equal(f->n_trials, 1);
    fake_event(f, 0, &e);
    e.type = MSG_FAILED;
    e.reason = TR_DEVICE;
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    assert_int_equal(a.replies[0].action, MSG_OK);
    msg_answer_fini(&a);
    fake_drop(f, 0);
}

/* A trial that must not be granted yet does not decide what the core looks for. */
static void a_trial_that_waits_for_its_retry_keeps_no_core_from_work(void **state)
{
    struct scene s;
    struct fake other;

    (void)state;
    set(&s, SPACE("s", BOOST "," FOREST), LARGE, true);
    fake_open(&other, &s.r, "other", 1);
    assert_string_equal(next_family(&other), "baseline");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake_ask(&s.core), 1);
        assert_non_null(strstr(s.core.trials[0].config, "forest"));
        fail_trial(&s.core);
    }
    assert_int_equal(retry_n_waiting(rig_get(&s.r, s.study)), 1);
    rig_get(&s.r, s.study)->problem.shape.rows = SMALL; /* nothing is left to the GPU */
    assert_string_equal(next_family(&s.core), "boost");
    rig_close(&s.r);
}

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    (void)arg;
    (void)err;
    json_decref(grant);
}

static void wait_for_work(struct scene *s, struct fake *f)
{
    struct msg_ask ask = { .n = 1, .max_trials = 1, .wait_s = 30 };
    struct ctl_wait *wait = NULL;
    json_t *body = NULL;

    str_copy(ask.session, sizeof ask.session, f->session);
    str_copy(ask.device, sizeof ask.device, f->device);
    body = msg_ask_json_new(&ask);
    assert_int_equal(RIG_CALL(&s->r, ctl_runner_lease(s->r.ctl, 0, f->id, body, on_grant, NULL,
                                                      &wait, &rig_err)),
                     0);
    json_decref(body);
    assert_non_null(wait);
}

/* Reading a table is left to a core that waits for work, and only as long as that core may get any. */
static void a_gpu_leaves_tasks_to_a_core_that_can_take_them(void **state)
{
    struct scene s;
    struct runner *core = NULL, *gpu = NULL;

    (void)state;
    rig_open(&s.r);
    fake_open(&s.core, &s.r, "core", 1);
    fake_open_kind(&s.gpu, &s.r, "gpu", 8, "cuda");
    core = runner_find(s.r.ctl, s.core.id);
    gpu = runner_find(s.r.ctl, s.gpu.id);
    assert_false(place_leaves_tasks(s.r.ctl, gpu, &gpu->devices[0]));
    wait_for_work(&s, &s.core);
    assert_true(place_leaves_tasks(s.r.ctl, gpu, &gpu->devices[0]));
    assert_false(place_leaves_tasks(s.r.ctl, core, &core->devices[0]));
    for (int trial = 1; !core->devices[0].is_quarantined; trial++) {
        assert_true(trial <= 5);
        (void)RIG_CALL(&s.r, quarantine_failed(s.r.ctl, s.core.id, s.core.device, trial, &rig_err));
    }
    assert_false(place_leaves_tasks(s.r.ctl, gpu, &gpu->devices[0]));
    rig_close(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_leaves_boosting_to_the_gpu),
        cmocka_unit_test(a_core_is_not_idle_where_all_is_boosting),
        cmocka_unit_test(a_gpu_takes_what_there_is),
        cmocka_unit_test(nothing_is_left_on_small_tables_or_without_a_gpu),
        cmocka_unit_test(nothing_is_left_for_a_gpu_that_takes_no_work),
        cmocka_unit_test(nothing_is_left_for_a_gpu_that_works_for_another_study),
        cmocka_unit_test(a_trial_that_waits_for_its_retry_keeps_no_core_from_work),
        cmocka_unit_test(a_gpu_leaves_tasks_to_a_core_that_can_take_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
