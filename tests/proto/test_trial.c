/* test_trial.c - the transition tables, checked whole: every allowed step is listed here once more, by name, and every
 * other pair of state and event must be refused and change nothing. */
#include "tests/unit.h"

#include "base/str.h"
#include "proto/trial.h"

struct step {
    int from, event, to;
};

static const struct step trial_steps[] = {
    { TS_NONE, TE_CREATE, TS_QUEUED },         { TS_QUEUED, TE_LEASE, TS_RUNNING },
    { TS_QUEUED, TE_REJOIN, TS_RUNNING },      { TS_QUEUED, TE_PRUNE, TS_PRUNED },
    { TS_QUEUED, TE_CANCEL, TS_CANCELLED },    { TS_RUNNING, TE_PAUSE, TS_PAUSED },
    { TS_RUNNING, TE_COMPLETE, TS_COMPLETED }, { TS_RUNNING, TE_PRUNE, TS_PRUNED },
    { TS_RUNNING, TE_FAIL, TS_FAILED },        { TS_RUNNING, TE_CANCEL, TS_CANCELLED },
    { TS_RUNNING, TE_LOST, TS_QUEUED },        { TS_PAUSED, TE_PROMOTE, TS_QUEUED },
    { TS_PAUSED, TE_COMPLETE, TS_COMPLETED },  { TS_PAUSED, TE_PRUNE, TS_PRUNED },
    { TS_PAUSED, TE_CANCEL, TS_CANCELLED },
};

static const struct step study_steps[] = {
    { SS_NONE, SE_CREATE, SS_QUEUED },       { SS_QUEUED, SE_START, SS_RUNNING },
    { SS_QUEUED, SE_PAUSE, SS_PAUSED },      { SS_QUEUED, SE_STOP, SS_STOPPED },
    { SS_QUEUED, SE_FAIL, SS_FAILED },       { SS_RUNNING, SE_PAUSE, SS_PAUSED },
    { SS_RUNNING, SE_FINISH, SS_FINISHING }, { SS_RUNNING, SE_STOP, SS_STOPPED },
    { SS_RUNNING, SE_FAIL, SS_FAILED },      { SS_PAUSED, SE_RESUME, SS_RUNNING },
    { SS_PAUSED, SE_FINISH, SS_FINISHING },  { SS_PAUSED, SE_STOP, SS_STOPPED },
    { SS_PAUSED, SE_FAIL, SS_FAILED },       { SS_FINISHING, SE_COMPLETE, SS_COMPLETED },
    { SS_FINISHING, SE_STOP, SS_STOPPED },   { SS_FINISHING, SE_FAIL, SS_FAILED },
};

static int wanted(const struct step *steps, size_t n, int from, int event)
{
    for (size_t i = 0; i < n; i++) {
        if (steps[i].from == from && steps[i].event == event)
            return steps[i].to;
    }
    return 0;
}

static void every_trial_step_is_as_the_contract_says(void **state)
{
    (void)state;
    for (int from = 0; from < TS_STATES; from++) {
        for (int event = 0; event < TE_EVENTS; event++) {
            int want = wanted(trial_steps, ARRAY_LEN(trial_steps), from, event);
            enum trial_state s = (enum trial_state)from;
            struct err err = { 0 };
            int rc = trial_next(&s, (enum trial_event)event, 7, &err);
            assert_int_equal(rc, want ? 0 : -1);
            assert_int_equal(s, want ? want : from);
            assert_int_equal(err.code, want ? ERR_NONE : ERR_CONFLICT);
        }
    }
}

static void every_study_step_is_as_the_contract_says(void **state)
{
    (void)state;
    for (int from = 0; from < SS_STATES; from++) {
        for (int event = 0; event < SE_EVENTS; event++) {
            int want = wanted(study_steps, ARRAY_LEN(study_steps), from, event);
            enum study_state s = (enum study_state)from;
            struct err err = { 0 };
            int rc = study_next(&s, (enum study_event)event, 7, &err);
            assert_int_equal(rc, want ? 0 : -1);
            assert_int_equal(s, want ? want : from);
            assert_int_equal(err.code, want ? ERR_NONE : ERR_CONFLICT);
        }
    }
}

static void final_states_have_no_way_out(void **state)
{
    (void)state;
    for (int from = 1; from < TS_STATES; from++) {
        bool has_exit = false;
        for (int event = 0; event < TE_EVENTS; event++)
            has_exit |= wanted(trial_steps, ARRAY_LEN(trial_steps), from, event) != 0;
        assert_int_equal(has_exit, !trial_is_final((enum trial_state)from));
    }
    for (int from = 1; from < SS_STATES; from++) {
        bool has_exit = false;
        for (int event = 0; event < SE_EVENTS; event++)
            has_exit |= wanted(study_steps, ARRAY_LEN(study_steps), from, event) != 0;
        assert_int_equal(has_exit, !study_is_final((enum study_state)from));
    }
}

static void a_refusal_names_state_and_event(void **state)
{
    enum trial_state t = TS_COMPLETED;
    enum study_state s = SS_QUEUED;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(trial_next(&t, TE_LEASE, 7, &err), -1);
    assert_string_equal(err.text, "trial 7 is completed: cannot lease");
    assert_int_equal(study_next(&s, SE_COMPLETE, 3, &err), -1);
    assert_string_equal(err.text, "study 3 is queued: cannot complete");
    assert_int_equal(study_next(&s, SE_COMPLETE, 3, NULL), -1);
}

static void names_read_back(void **state)
{
    (void)state;
    for (int i = TS_NONE + 1; i < TS_STATES; i++) {
        enum trial_state v = TS_NONE;
        assert_int_equal(trial_state_parse(trial_state_name[i], &v, NULL), 0);
        assert_int_equal(v, i);
    }
    for (int i = 0; i < TE_EVENTS; i++) {
        enum trial_event v = TE_CREATE;
        assert_int_equal(trial_event_parse(trial_event_name[i], &v, NULL), 0);
        assert_int_equal(v, i);
    }
    for (int i = SS_NONE + 1; i < SS_STATES; i++) {
        enum study_state v = SS_NONE;
        assert_int_equal(study_state_parse(study_state_name[i], &v, NULL), 0);
        assert_int_equal(v, i);
    }
    for (int i = 0; i < SE_EVENTS; i++) {
        enum study_event v = SE_CREATE;
        assert_int_equal(study_event_parse(study_event_name[i], &v, NULL), 0);
        assert_int_equal(v, i);
    }
    for (int i = 0; i < TR_REASONS; i++) {
        enum trial_reason v = TR_NONE;
        assert_int_equal(trial_reason_parse(trial_reason_name[i], &v, NULL), 0);
        assert_int_equal(v, i);
    }
}

static void unknown_names_are_refused_with_the_nearest(void **state)
{
    enum trial_state t = TS_QUEUED;
    enum trial_reason r = TR_NONE;
    enum study_state s = SS_QUEUED;
    enum trial_event te = TE_LEASE;
    enum study_event se = SE_STOP;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(trial_state_parse("runing", &t, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_non_null(strstr(err.text, "did you mean running"));
    assert_int_equal(t, TS_QUEUED);
    assert_int_equal(trial_state_parse("none", &t, NULL), -1);
    assert_int_equal(trial_state_parse("", &t, NULL), -1);
    assert_int_equal(trial_state_parse(NULL, &t, NULL), -1);
    assert_int_equal(study_state_parse("Running", &s, NULL), -1);
    assert_int_equal(trial_event_parse("leases", &te, NULL), -1);
    assert_int_equal(study_event_parse("start ", &se, NULL), -1);
    assert_int_equal(trial_reason_parse("worker-died", &r, NULL), -1);
}

static void only_machine_reasons_requeue(void **state)
{
    static const char *const machine[] = { "worker_died", "runner_lost", "device",
                                           "drained",     "data",        "rank_lost" };

    (void)state;
    for (int i = 0; i < TR_REASONS; i++) {
        bool want = false;
        for (size_t k = 0; k < ARRAY_LEN(machine); k++)
            want |= str_eq(machine[k], trial_reason_name[i]);
        assert_int_equal(trial_reason_is_machine((enum trial_reason)i), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial_step_is_as_the_contract_says),
        cmocka_unit_test(every_study_step_is_as_the_contract_says),
        cmocka_unit_test(final_states_have_no_way_out),
        cmocka_unit_test(a_refusal_names_state_and_event),
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(unknown_names_are_refused_with_the_nearest),
        cmocka_unit_test(only_machine_reasons_requeue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
