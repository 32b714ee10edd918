/* test_11_12_no_gain.c - `stop.no_gain_trials: 0` is documented as "never" and was dropped: the rule for small tables, which
 * holds where a spec says nothing, ended the study after 200 trials without a gain. */
#include "tests/rig.h"

enum { TRIALS = 420 };

/* Trials that a study makes in which nothing ever gets better. */
static int trials_with(const char *stop, char *reason, size_t size)
{
    struct rig r;
    struct fake f;
    char spec[400];
    struct study *st = NULL;
    int64_t id = 0;
    int n = 0;

    snprintf(spec, sizeof spec,
             "{'name':'s','dataset':'d','target':'y','budget':{'time':'60s','trials':%d},"
             "'validation':'kfold','sampler':'random','scheduler':'none','seed':7%s}",
             TRIALS, stop);
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, spec);
    rig_restart(&r); /* what was stored says the same */
    fake_open(&f, &r, "a", 16);
    f.score = fake_same_score;
    for (int i = 0; i < 40 * TRIALS && !study_is_final(rig_get(&r, id)->row.state); i++) {
        if (f.n_trials == 0) {
            rig_pass(&r, 270); /* half of the time must have brought no gain, too */
            fake_ask(&f);
        } else {
            fake_step(&f, f.n_trials - 1);
        }
    }
    st = rig_get(&r, id);
    assert_string_equal(study_state_name[st->row.state], "completed");
    n = st->n_trials;
    snprintf(reason, size, "%s", st->row.reason);
    rig_close(&r);
    return n;
}

static void nothing_said_ends_a_small_table_without_a_gain(void **state)
{
    char reason[200];

    (void)state;
    assert_in_range(trials_with("", reason, sizeof reason), 200, TRIALS - 1);
    assert_string_equal(reason, "no gain in many trials");
}

static void no_gain_trials_0_never_ends_a_study(void **state)
{
    char reason[200];

    (void)state;
    assert_int_equal(trials_with(",'stop':{'no_gain_trials':0}", reason, sizeof reason), TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_ends_a_small_table_without_a_gain),
        cmocka_unit_test(no_gain_trials_0_never_ends_a_study),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
