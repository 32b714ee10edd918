/* test_probe.c - how a study with a limit in time chooses between folds and a holdout by the time of one fit. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/state/runner.h"

#include <stdio.h>

/* Two trials of all folds are enough for networks, others must have three. */
static void networks_have_folds_where_two_trials_fit(void **state)
{
    static const struct {
        const char *family;
        int64_t rows;
        double trials; /* of all folds that fit by the time of the probe */
        bool kfold;
    } cases[] = { { "mlp", 2000000, 2.5, true },
                  { "mlp", 2000000, 1.5, false },
                  { "boost", 60000000, 2.5, false },
                  { "boost", 60000000, 3.5, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        struct fake f;
        struct msg_event e;
        struct msg_answer a;
        char spec[200];
        int devices = 0, idle = 0;

        snprintf(spec, sizeof spec,
                 "{'name':'s','dataset':'d','target':'y','seed':7,'budget':{'time':'1h'},"
                 "'space':[{'family':'%s'}]}",
                 cases[i].family);
        rig_open(&r);
        rig_dataset(&r, "d");
        int64_t id = rig_study(&r, spec);
        struct study *st = rig_get(&r, id);
        st->problem.shape.rows = st->problem.data.rows = cases[i].rows;
        st->problem.shape.columns = st->problem.shape.encoded = 40;
        fake_open(&f, &r, "f", 4);
        fake_ask(&f);
        st = rig_get(&r, id);
        assert_true(st->problem.is_undecided && st->probe > 1);
        double places = (double)runner_capacity(r.ctl, st->row.numeric_sig, &devices, &idle);
        double left_us = (double)(budget_left(st) - budget_reserve(st)) * 1000 * places;
        f.trials[0].to = f.trials[0].max;
        f.trials[0].next = MSG_FINAL;
        fake_event(&f, 0, &e);
        e.fit_us = (int64_t)(left_us / (cases[i].trials * st->problem.kfolds));
        assert_int_equal(fake_report(&f, &e, 1, &a), 0);
        st = rig_get(&r, id);
        assert_false(st->problem.is_undecided);
        assert_int_equal(!st->problem.data.holdout, cases[i].kfold);
        msg_answer_fini(&a);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_have_folds_where_two_trials_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
