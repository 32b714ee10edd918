/* test_11_20_ended.c - "study 6 is stopped: cannot finish" was the answer to `assay stop two`, and a data folder in use was
 * told as "d: d: another assayd uses this folder". */
#include "tests/rig.h"

#include "store/store.h"

static const char *refused(struct rig *r, enum ctl_study_verb verb)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_act(r->ctl, "two", verb, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    return rig_err.text;
}

static void done(struct rig *r, enum ctl_study_verb verb)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_act(r->ctl, "two", verb, &out, &rig_err)), 0);
    json_decref(out);
}

static void a_refused_verb_names_the_study_and_its_state(void **state)
{
    static const enum ctl_study_verb verbs[] = { CTL_STOP, CTL_KILL, CTL_PAUSE, CTL_RESUME };
    struct rig r;
    struct fake f;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    rig_study(&r, "{'name':'two','dataset':'d','target':'y','budget':{'trials':9}}");
    fake_open(&f, &r, "f", 1);
    fake_ask(&f);
    assert_string_equal(refused(&r, CTL_RESUME), "study \"two\" is running and cannot be resumed");
    done(&r, CTL_PAUSE);
    assert_string_equal(refused(&r, CTL_PAUSE), "study \"two\" is paused already");
    done(&r, CTL_KILL);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        assert_string_equal(refused(&r, verbs[i]), "study \"two\" has already ended (stopped)");
    rig_close(&r);
}

static void a_folder_in_use_is_named_once(void **state)
{
    struct rig r;
    struct err err = { 0 };
    const char *at = NULL;

    (void)state;
    rig_open(&r);
    assert_null(store_open(r.dir, NULL, &r.clk, &err));
    at = strstr(err.text, r.dir);
    assert_non_null(at);
    assert_null(strstr(at + 1, r.dir));
    assert_non_null(strstr(err.text, "another assayd uses this folder"));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_verb_names_the_study_and_its_state),
        cmocka_unit_test(a_folder_in_use_is_named_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
