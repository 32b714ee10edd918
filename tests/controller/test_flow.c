/* test_flow.c - a study from its spec to its model, over the controller's whole inside. */
#include "tests/rig.h"

#include "base/str.h"

#define SPEC_20 "{'name':'s','dataset':'d','target':'y','budget':{'trials':20},'seed':7}"

static void a_study_with_one_runner_completes(void **state)
{
    struct rig r;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, SPEC_20);
    assert_int_equal(rig_get(&r, id)->row.state, SS_QUEUED);
    rig_run(&r, id, 1, 1, 0, 0);
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    assert_int_equal(rig_count(&r, id, TS_COMPLETED), 20);
    assert_true(rig_get(&r, id)->row.artifact[0]);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_with_one_runner_completes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
