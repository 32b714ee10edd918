/* test_stage.c - first networks that stop once on their way, families that had their chance, and one
 * that is at its end. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/decide/share.h"
#include "controller/decide/stage.h"
#include "controller/problem/ladder.h"

#include <math.h>

#define SPEC(more) "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc'," more "}"

static int64_t first_of(const struct study *st, const char *family)
{
    int64_t number = 1;

    while (st->trials[number - 1].family != rig_family(st, family))
        number++;
    return number;
}

static struct config config_of(const struct study *st, const char *family)
{
    int i = 0;

    while (!str_eq(st->space.first[i].family->name, family))
        i++;
    return st->space.first[i];
}

static void only_a_network_that_takes_much_stops_on_its_way(void **state)
{
    static const struct {
        const char *spec, *family;
        int rows, folds, to;
    } cases[] = {
        { SPEC("'validation':'kfold','budget':{'time':'10s'}"), "mlp", 3000, 5, 3 },
        { SPEC("'validation':'kfold','budget':{'time':'1h'}"), "mlp", 3000, 5, 4 },
        { SPEC("'validation':'kfold','budget':{'time':'10s'}"), "mlp", 50, 5, 4 },
        { SPEC("'validation':'kfold','budget':{'time':'10s'}"), "mlp", 3000, 1, 4 },
        { SPEC("'validation':'kfold','budget':{'time':'10s'}"), "boost", 3000, 5, 3 },
        { SPEC("'validation':'kfold','budget':{'trials':9}"), "mlp", 3000, 5, 4 },
        { SPEC("'space':[{'family':'mlp'}],'validation':'kfold','budget':{'time':'10s'}"), "mlp",
          3000, 5, 4 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };

        rig_open(&r);
        rig_dataset(&r, "d");
        struct study *st = rig_get(&r, rig_study(&r, cases[i].spec));
        struct config c = config_of(st, cases[i].family);
        int top = ladder_levels(&st->problem, c.family);
        st->problem.shape.rows = cases[i].rows;
        st->problem.shape.folds = cases[i].folds;
        assert_int_equal(stage_first(st, &c, top), cases[i].to);
        rig_close(&r);
    }
}

/* The baseline has .5 on the first fold, and the best trial .9. */
static void a_network_goes_on_if_it_is_near_the_best(void **state)
{
    static const struct {
        double score, se;
        int64_t work_us;
        enum sched_action action;
    } cases[] = {
        { 0.95, 0, 1000, SCHED_RUN_TO },
        { 0.85, 0, 1000, SCHED_RUN_TO },
        { 0.8, 0, 1000, SCHED_STOP },
        { 0.4, 0, 1000, SCHED_STOP },
        { NAN, 0, 1000, SCHED_RUN_TO },
        /* it would take more than half of the time that is left, */
        { 0.85, 0, 212000000, SCHED_STOP },
        { 0.95, 0, 212000000, SCHED_RUN_TO },
        /* which one may have that is behind by chance, but not all of it */
        { 0.85, 0.03, 212000000, SCHED_RUN_TO },
        { 0.85, 0.03, 600000000, SCHED_STOP },
        { 0.95, 0.03, 600000000, SCHED_RUN_TO },
        { 0.7, 0.11, 1000, SCHED_RUN_TO },
        { 0.7, 0.09, 1000, SCHED_STOP },
    };
    struct rig r = { .has_images = false };
    struct study *st = rig_study_of(&r, SPEC("'validation':'kfold','budget':{'time':'1h'}"), 7);
    int64_t number = first_of(st, "mlp");

    (void)state;
    for (int i = 0; i < st->n_trials; i++)
        st->trials[i].first_score = i == 0 ? 0.5 : NAN;
    st->trials[first_of(st, "boost") - 1].first_score = 0.9;
    st->trials[number - 1].level = 3;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        st->trials[number - 1].work_us = cases[i].work_us;
        st->trials[number - 1].score_se = cases[i].se;
        struct sched_decision d = stage_next(st, number, cases[i].score);
        assert_int_equal(d.action, cases[i].action);
        assert_int_equal(d.to, d.action == SCHED_RUN_TO ? 4 : 0);
    }
    assert_float_equal(share_part_won(st, 0.7), 0.5, 1e-9);
    /* nothing is better than the baseline, so nothing is known */
    st->trials[first_of(st, "boost") - 1].first_score = 0.5;
    assert_float_equal(share_part_won(st, 0.4), 1, 0);
    rig_close(&r);
}

/* Two trials of a family that trails took more than a twentieth of the time, or they did not. The lead
 * family has its first trials in any case. */
static void a_family_that_trails_has_little_time_for_first_trials(void **state)
{
    static const struct {
        const char *family;
        int64_t work_us;
        enum share_state state;
    } cases[] = { { "extra_trees", 1000, SHARE_IS_EARLY },
                  { "extra_trees", 120000000, SHARE_BEHIND },
                  { "boost", 120000000, SHARE_IS_EARLY } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        struct study *st = rig_study_of(&r, SPEC("'validation':'kfold','budget':{'time':'1h'}"), 7);
        int family = rig_family(st, cases[i].family), linear = rig_family(st, "linear");
        struct shares s;
        int n = 0;

        for (int k = 1; k < st->n_trials; k++) {
            struct trial_mem *t = &st->trials[k];
            bool is_one = t->family != linear && n < 2;
            n += is_one;
            t->family = (int8_t)(is_one ? family : linear);
            t->state = TS_COMPLETED;
            t->score = t->first_score = is_one ? 0.6 : 0.9;
            t->score_se = 0.001;
            t->work_us = is_one ? cases[i].work_us : 1000;
        }
        share_make(st, &s);
        assert_int_equal(s.of[family].tries, 2);
        assert_int_equal(s.leader, linear);
        assert_int_equal(s.of[family].state, cases[i].state);
        /* What leads may always bring its trials to their top, however much time it had. */
        for (int k = 1; k < st->n_trials; k++)
            st->trials[k].work_us *= st->trials[k].family == linear ? 1000000 : 1;
        assert_int_equal(share_held(st) >> linear & 1, 0);
        rig_close(&r);
    }
}

/* The second trial of a family takes a sixth of the time that is left. */
static void a_family_that_does_not_trail_has_a_second_trial(void **state)
{
    static const struct {
        double score;
        enum share_state state;
    } cases[] = { { 0.899, SHARE_IS_EARLY }, { 0.6, SHARE_OPEN } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        struct study *st = rig_study_of(&r, SPEC("'validation':'kfold','budget':{'time':'1h'}"), 7);
        int family = rig_family(st, "linear"), leader = rig_family(st, "boost");
        struct shares s;

        for (int k = 1; k < st->n_trials; k++) {
            struct trial_mem *t = &st->trials[k];
            t->family = (int8_t)(k == 1 ? family : leader);
            t->state = TS_COMPLETED;
            t->score = t->first_score = k == 1 ? cases[i].score : 0.9;
            t->score_se = 0.001;
            t->work_us = k == 1 ? 580000000 : 1000;
        }
        share_make(st, &s);
        assert_int_equal(s.of[family].tries, 1);
        assert_int_equal(s.of[family].state, cases[i].state);
        rig_close(&r);
    }
}

/* Four trials of every family: those of linear lead by far, and have so many that are as good. */
static void a_family_that_finds_one_model_again_and_again_has_little_time(void **state)
{
    enum { FIRST = 4, LEADING = 40 };

    (void)state;
    for (int near = 31; near <= 32; near++) {
        struct rig r = { .has_images = false };
        struct study *st = rig_study_of(&r, SPEC("'validation':'kfold','budget':{'time':'1h'}"),
                                        LEADING + 1 + FIRST * STUDY_MAX_FAMILIES);
        int linear = rig_family(st, "linear"), others = 0, boost = rig_family(st, "boost");
        struct actions out = { 0 };
        struct shares s;

        for (int k = 1; k < st->n_trials; k++) {
            struct trial_mem *t = &st->trials[k];
            int family = 1 + (k - 1) / FIRST, leads = 0;
            if (family >= st->n_families || family == linear) {
                family = linear;
                leads = ++others;
            }
            t->family = (int8_t)family;
            t->state = TS_COMPLETED;
            t->score = leads > near ? 0.8 : leads > 0 ? 0.9 - 1e-5 * leads / LEADING : 0.6;
            t->first_score = t->score;
            t->score_se = 0.001;
            t->work_us = 1000;
            t->is_part = leads > LEADING;
        }
        share_make(st, &s);
        assert_int_equal(s.leader, linear);
        assert_int_equal(s.of[linear].near, near);
        assert_int_equal(s.of[linear].state, SHARE_LEADS);
        assert_int_equal(s.of[boost].state, SHARE_BEHIND);
        /* the others, which are behind, have a share each, and may bring trials to their top */
        assert_true((share_next(st, &out) == linear) == (near < 32));
        assert_true((share_held(st) >> boost & 1) == (near < 32));
        actions_fini(&out);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_network_that_takes_much_stops_on_its_way),
        cmocka_unit_test(a_network_goes_on_if_it_is_near_the_best),
        cmocka_unit_test(a_family_that_trails_has_little_time_for_first_trials),
        cmocka_unit_test(a_family_that_does_not_trail_has_a_second_trial),
        cmocka_unit_test(a_family_that_finds_one_model_again_and_again_has_little_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
