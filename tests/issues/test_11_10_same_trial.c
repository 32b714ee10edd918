/* test_11_10_same_trial.c - a trial that failed by the machine (`device`) was queued and granted again at once, for ever: a
 * runner whose cache disk was full got the same trial thousands of times. Now attempts wait 1, 2 and 4 s from the second
 * failure on, the fifth pauses the study with a sentence, and other trials go on meanwhile. */
#include "tests/rig.h"

#include "base/str.h"

#include <string.h>

#define SPEC                                                                                \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':%d},'seed':3,'parallel':%d," \
    "'sampler':'random','scheduler':'none','validation':'holdout','deterministic':false}"

enum { STEP_MS = 100 };

struct world {
    struct rig r;
    struct fake f;
    int64_t study;
};

static void world_open(struct world *w, int trials)
{
    char spec[300];

    rig_open(&w->r);
    rig_dataset(&w->r, "d");
    (void)snprintf(spec, sizeof spec, SPEC, trials, trials);
    w->study = rig_study(&w->r, spec);
    fake_open(&w->f, &w->r, "full", 1);
}

static bool is_paused(struct world *w)
{
    return rig_get(&w->r, w->study)->row.state == SS_PAUSED;
}

static void says(struct world *w, const char *key, const char *part)
{
    json_t *out = NULL;
    const char *text = NULL;

    assert_int_equal(RIG_CALL(&w->r, ctl_study_get(w->r.ctl, "s", &out, &rig_err)), 0);
    text = json_string_value(json_object_get(out, key));
    if (!text || !strstr(text, part))
        fail_msg("%s is \"%s\", without \"%s\"", key, text ? text : "", part);
    json_decref(out);
}

static void fail_trial(struct fake *f, int i)
{
    struct msg_answer a;
    struct msg_event e;

    fake_event(f, i, &e);
    e.type = MSG_FAILED;
    e.reason = TR_DEVICE;
    e.detail = (char *)"/cache/scratch/7: No space left on device";
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    msg_answer_fini(&a);
    fake_drop(f, i);
}

static void the_same_trial_waits_longer_each_time_and_then_pauses_its_study(void **state)
{
    struct world w;
    int attempts = 0;
    int64_t ms = 0;

    (void)state;
    world_open(&w, 1);
    for (; !is_paused(&w) && ms < 60000; ms += STEP_MS) {
        if (fake_ask(&w.f) > 0) {
            attempts++;
            fail_trial(&w.f, 0);
            if (attempts == 3)
                says(&w, "why", "trial 1 failed 3 times in a row by the machine; attempt 4 of 5");
        }
        rig_pass(&w.r, STEP_MS);
    }
    assert_true(is_paused(&w));
    assert_int_equal(attempts, 5);
    assert_in_range(ms, 7000, 9000); /* 0 + 1 + 2 + 4 s */
    says(&w, "reason", "trial 1 failed 5 times in a row by the machine, last on runner full");
    says(&w, "reason", "No space left on device; repair or drain that runner");
    assert_int_equal(rig_count(&w.r, w.study, TS_FAILED), 0);
    rig_close(&w.r);
}

static void after_a_resume_it_ends_well(void **state)
{
    struct world w;
    json_t *out = NULL;

    (void)state;
    world_open(&w, 1);
    for (int i = 0; i < 600 && !is_paused(&w); i++) {
        if (fake_ask(&w.f) > 0)
            fail_trial(&w.f, 0);
        rig_pass(&w.r, STEP_MS);
    }
    assert_int_equal(RIG_CALL(&w.r, ctl_study_act(w.r.ctl, "s", CTL_RESUME, &out, &rig_err)), 0);
    json_decref(out);
    for (int i = 0; i < 100 && !study_is_final(rig_get(&w.r, w.study)->row.state); i++) {
        fake_ask(&w.f);
        while (w.f.n_trials > 0)
            fake_step(&w.f, 0);
        rig_pass(&w.r, STEP_MS);
    }
    assert_int_equal(rig_get(&w.r, w.study)->row.state, SS_COMPLETED);
    assert_int_equal(rig_count(&w.r, w.study, TS_COMPLETED), 1);
    rig_close(&w.r);
}

/* The one trial fails wherever it comes, three others are not held up by it. */
static void other_trials_go_on_meanwhile(void **state)
{
    struct world w;
    int64_t bad = 0;
    int done = 0;

    (void)state;
    world_open(&w, 4);
    for (int i = 0; i < 40 && done < 3; i++) { /* 4 s: before the pause of the study */
        if (fake_ask(&w.f) > 0) {
            if (!bad)
                bad = w.f.trials[0].trial;
            if (w.f.trials[0].trial == bad) {
                fail_trial(&w.f, 0);
            } else {
                done++;
                while (w.f.n_trials > 0)
                    fake_step(&w.f, 0);
            }
        }
        rig_pass(&w.r, STEP_MS);
    }
    assert_int_equal(done, 3);
    assert_false(is_paused(&w));
    rig_close(&w.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_trial_waits_longer_each_time_and_then_pauses_its_study),
        cmocka_unit_test(after_a_resume_it_ends_well),
        cmocka_unit_test(other_trials_go_on_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
