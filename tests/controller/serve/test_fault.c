/* test_fault.c - whatever fails once, wherever it fails, the study is the same. A fault is armed at the nth point passed
 * (every statement, commit and step of the controller is one); the request it strikes changes nothing, memory is loaded
 * again from the rows, the client repeats, and the end is the end of a run without faults. Likewise when from the nth
 * point on every one fails for a while (`stays`): then memory cannot be loaded again either, until the rows can be read. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/rng.h"

#include <fcntl.h>
#include <unistd.h>

#define SPEC                                                                              \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':6},'seed':3,'parallel':3," \
    "'sampler':'testhash','scheduler':'testhash','validation':'holdout'}"

/* One life with a fault at the nth point. *fired: whether there was an nth point. */
static char *life(int nth, const char *name, bool stays, bool *fired)
{
    struct rig r;
    char *board = NULL;
    int64_t id = 0;
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    rig_open(&r);
    rig_dataset(&r, "d");
    log_to_fd(quiet); /* the errors are wanted */
    rig_healed = false;
    if (stays)
        fault_arm_from(name, nth);
    else if (name)
        fault_arm_name(name, nth, false);
    else if (nth > 0)
        fault_arm(nth);
    id = rig_study(&r, SPEC);
    rig_run(&r, id, 2, 11, nth % 3 == 0 ? 15 : 0, 0);
    *fired = fault_disarm() == 1 || rig_healed;
    log_to_fd(2);
    board = rig_board(&r, id);
    rig_close(&r);
    close(quiet);
    return board;
}

static void compare(const char *want, int nth, const char *name, bool stays, bool *fired)
{
    char *got = life(nth, name, stays, fired);

    if (strcmp(want, got) != 0)
        fail_msg("with a fault at %s passing %d%s:\n%s\n%s", name ? name : "point", nth,
                 stays ? " and all later ones" : "", want, got);
    free(got);
}

static void sweep(bool stays)
{
    bool fired = false;
    struct rng rng;
    char *want = life(0, NULL, false, &fired);
    int nth = 1, lives = 0;

    rng_init(&rng, test_seed(), 1);
    /* Every point of the beginning, then a sample that is another one in each run. */
    for (fired = true; fired; lives++) {
        compare(want, nth, NULL, stays, &fired);
        nth += nth < 40 ? 1 : 1 + (int)rng_below(&rng, 16);
    }
    print_message("%d lives, %d points\n", lives, nth);
    assert_true(lives > 100);
    free(want);
}

static void a_fault_at_any_point_changes_nothing(void **state)
{
    (void)state;
    sweep(false);
}

static void faults_from_any_point_on_change_nothing(void **state)
{
    (void)state;
    sweep(true);
}

static void named_points_are_passed_and_change_nothing(void **state)
{
    static const char *const names[] = { "ctl.request",    "ctl.commit",   "turn.commit",
                                         "dispatch.grant", "report.event", "lane.event",
                                         "task.event" };
    bool fired = false;
    char *want = life(0, NULL, false, &fired);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        compare(want, 1, names[i], false, &fired);
        if (!fired)
            fail_msg("no life passes %s", names[i]);
        for (int nth = 2; fired && nth < 20; nth += 3)
            compare(want, nth, names[i], false, &fired);
        compare(want, 2, names[i], true, &fired);
    }
    /* One read of the table's file fails; when it fails for ever the study pauses (tests/issues/test_11_03). */
    compare(want, 1, "file.hash", false, &fired);
    assert_true(fired);
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_at_any_point_changes_nothing),
        cmocka_unit_test(faults_from_any_point_on_change_nothing),
        cmocka_unit_test(named_points_are_passed_and_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
