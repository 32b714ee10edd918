/* test_clk.c - clocks, log lines and fault points. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void a_manual_clock_moves_only_when_told(void **state)
{
    struct clk c;

    (void)state;
    clk_init_manual(&c, 1000, 1700000000000);
    assert_int_equal(clk_now_ms(&c), 1000);
    assert_int_equal(clk_now_us(&c), 1000000);
    assert_int_equal(clk_cpu_us(&c), 1000000);
    clk_advance(&c, 250);
    assert_int_equal(clk_now_ms(&c), 1250);
    assert_true(clk_wall_ms(&c) == 1700000000250);
}

static void a_system_clock_never_goes_back_and_can_be_moved_on(void **state)
{
    struct clk c;
    int64_t a = 0, b = 0, wall = 0;

    (void)state;
    clk_init_system(&c);
    a = clk_now_us(&c);
    for (int i = 0; i < 1000; i++) {
        b = clk_now_us(&c);
        assert_true(b >= a);
        a = b;
    }
    wall = clk_wall_ms(&c);
    assert_true(wall > 1600000000000);
    a = clk_now_ms(&c);
    clk_advance(&c, 60000);
    assert_true(clk_now_ms(&c) >= a + 60000 && clk_wall_ms(&c) >= wall + 60000);
}

/* A thread that sleeps uses no processor time, and one that works does. */
static void processor_time_is_what_the_thread_used(void **state)
{
    struct timespec nap = { .tv_nsec = 50000000 };
    struct clk c;

    (void)state;
    clk_init_system(&c);
    int64_t cpu = clk_cpu_us(&c), now = clk_now_us(&c);
    nanosleep(&nap, NULL);
    int64_t slept = clk_now_us(&c) - now;
    assert_true(slept >= 50000 && clk_cpu_us(&c) - cpu < slept / 2);
    cpu = clk_cpu_us(&c);
    while (clk_cpu_us(&c) - cpu < 1000)
        ;
    assert_true(clk_now_us(&c) - now >= slept + 1000);
}

/* What the next log lines put on a pipe. */
static int log_pipe(int fds[2])
{
    assert_int_equal(pipe(fds), 0);
    log_to_fd(fds[1]);
    return fds[0];
}

static void a_log_line_is_one_line_with_time_level_program_and_event(void **state)
{
    int fds[2], in = log_pipe(fds);
    char line[5000];
    ssize_t n = 0;

    (void)state;
    log_init("assayd", LOG_INFO);
    errno = EAGAIN;
    log_debug("hidden");
    log_info("study.created study=%d name=\"%s\"", 7, "two\nlines\t\x01");
    assert_int_equal(errno, EAGAIN);
    log_to_fd(2);
    n = read(in, line, sizeof line - 1);
    assert_true(n > 0);
    line[n] = '\0';
    assert_string_equal(line + 24,
                        " info assayd study.created study=7 name=\"two\\nlines\\t\\x01\"\n");
    assert_true(line[4] == '-' && line[10] == 'T' && line[19] == '.' && line[23] == 'Z');
    close(fds[0]);
    close(fds[1]);
}

static void a_huge_line_is_cut_but_ends(void **state)
{
    int fds[2], in = log_pipe(fds);
    static char big[20000], line[20000];
    ssize_t n = 0;

    (void)state;
    for (int c = 'x'; c >= 1; c -= 'w') { /* plain bytes, then bytes that grow when escaped */
        memset(big, c, sizeof big - 1);
        log_error("big v=%s", big);
        n = read(in, line, sizeof line - 1);
        assert_true(n > 100 && n <= 4096);
        assert_int_equal(line[n - 1], '\n');
        assert_null(memchr(line, '\n', (size_t)n - 1));
    }
    log_to_fd(2);
    close(fds[0]);
    close(fds[1]);
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_int_equal(log_level_parse("error"), LOG_ERROR);
    assert_int_equal(log_level_parse("debug"), LOG_DEBUG);
    assert_int_equal(log_level_parse("loud"), -1);
    log_level_set(LOG_WARN);
    assert_int_equal(log_level_get(), LOG_WARN);
    log_level_set(LOG_INFO);
}

static int three_points(void)
{
    if (FAULT("one"))
        return 1;
    if (FAULT("two"))
        return 2;
    return FAULT("three") ? 3 : 0;
}

static void the_nth_point_fails_once_and_a_sweep_ends(void **state)
{
    int nth = 1, seen = 0;

    (void)state;
    assert_int_equal(three_points(), 0);
    for (int fired = 1; fired; nth++) {
        int rc = 0;

        fault_arm(nth);
        rc = three_points();
        if (rc)
            assert_int_equal(three_points(), 0); /* once */
        fired = fault_disarm();
        assert_int_equal(rc, fired ? nth : 0);
        seen += fired;
    }
    assert_int_equal(seen, 3);
    assert_int_equal(three_points(), 0);
}

static void from_the_nth_point_on_every_one_fails(void **state)
{
    (void)state;
    fault_arm_from(NULL, 2);
    assert_int_equal(three_points(), 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(three_points(), 1);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(three_points(), 0);
    fault_arm_from("two", 3);
    assert_int_equal(three_points() + three_points(), 0);
    assert_int_equal(three_points(), 2);
    assert_int_equal(three_points(), 2);
    assert_int_equal(fault_disarm(), 1);
    setenv("ASSAY_FAULT", "three:1:on", 1);
    assert_int_equal(fault_arm_env(), 1);
    assert_int_equal(three_points(), 3);
    assert_int_equal(three_points(), 3);
    assert_int_equal(fault_disarm(), 1);
    unsetenv("ASSAY_FAULT");
}

static void a_named_point_counts_only_its_own_passings(void **state)
{
    (void)state;
    fault_arm_name("two", 2, false);
    assert_int_equal(three_points(), 0);
    assert_int_equal(three_points(), 2);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(fault_disarm(), 0);
}

static void the_environment_arms_a_point(void **state)
{
    (void)state;
    unsetenv("ASSAY_FAULT");
    assert_int_equal(fault_arm_env(), 0);
    setenv("ASSAY_FAULT", "three", 1);
    assert_int_equal(fault_arm_env(), 1);
    assert_int_equal(three_points(), 3);
    fault_disarm();
    setenv("ASSAY_FAULT", "*:2", 1);
    assert_int_equal(fault_arm_env(), 1);
    assert_int_equal(three_points(), 2);
    fault_disarm();
    setenv("ASSAY_FAULT", "one:0", 1);
    assert_int_equal(fault_arm_env(), 0);
    unsetenv("ASSAY_FAULT");
}

static void a_kill_point_kills_the_process(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        setenv("ASSAY_FAULT", "two:1:kill", 1);
        fault_arm_env();
        three_points();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_broken_invariant_says_where_and_aborts(void **state)
{
    int fds[2], status = 0;
    char text[400] = "";
    pid_t pid = 0;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], 2);
        CHECK(fds[0] == -5);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(read(fds[0], text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "CHECK failed: fds[0] == -5, in a_broken_invariant"));
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manual_clock_moves_only_when_told),
        cmocka_unit_test(a_system_clock_never_goes_back_and_can_be_moved_on),
        cmocka_unit_test(processor_time_is_what_the_thread_used),
        cmocka_unit_test(a_log_line_is_one_line_with_time_level_program_and_event),
        cmocka_unit_test(a_huge_line_is_cut_but_ends),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(the_nth_point_fails_once_and_a_sweep_ends),
        cmocka_unit_test(from_the_nth_point_on_every_one_fails),
        cmocka_unit_test(a_named_point_counts_only_its_own_passings),
        cmocka_unit_test(the_environment_arms_a_point),
        cmocka_unit_test(a_kill_point_kills_the_process),
        cmocka_unit_test(a_broken_invariant_says_where_and_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
