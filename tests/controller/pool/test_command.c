/* test_command.c - commands beside the loop: what they print, how they fail, and that none of them
 * holds the loop up or outlives its time. */
#include "tests/unit.h"

#include "controller/pool/command.h"

#include "base/str.h"

#include <signal.h>
#include <unistd.h>

struct seen {
    struct loop *loop;
    char out[200], why[300];
    enum err_code code;
    int n, ticks;
};

static void on_end(void *arg, const char *out, const struct err *err)
{
    struct seen *s = arg;

    s->n++;
    str_copy(s->out, sizeof s->out, out);
    str_copy(s->why, sizeof s->why, err ? err->text : "");
    s->code = err ? err->code : ERR_NONE;
    loop_stop(s->loop);
}

static void on_tick(void *arg)
{
    ((struct seen *)arg)->ticks++;
}

static void run(struct seen *s, const char *script, const char *input, int64_t limit_ms, size_t max)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct clk clk;
    struct err err = { 0 };

    clk_init_system(&clk);
    memset(s, 0, sizeof *s);
    s->loop = loop_new(&clk, &err);
    struct command_spec spec = { .loop = s->loop,
                                 .argv = argv,
                                 .input = input,
                                 .limit_ms = limit_ms,
                                 .max_output = max,
                                 .on_end = on_end,
                                 .arg = s };
    struct command *c = command_start(&spec, &err);
    struct loop_timer *t = loop_timer_new(s->loop, 5, 5, on_tick, s);
    assert_non_null(c);
    assert_int_equal(s->n, 0); /* never before command_start returns */
    assert_int_equal(loop_run(s->loop, &err), 0);
    assert_int_equal(s->n, 1);
    command_free(c);
    loop_timer_free(t);
    loop_free(s->loop);
}

static void a_command_is_given_its_input_and_says_something(void **state)
{
    struct seen s;

    (void)state;
    run(&s, "cat; echo done", "one\n", 10000, 1000);
    assert_string_equal(s.out, "one\ndone\n");
    assert_int_equal(s.code, ERR_NONE);
}

static void a_failure_is_told_in_its_words(void **state)
{
    struct seen s;

    (void)state;
    run(&s, "echo 'sbatch: error: no room' >&2; exit 3", NULL, 10000, 1000);
    assert_string_equal(s.why, "sh: no room");
    run(&s, "exit 3", NULL, 10000, 1000);
    assert_string_equal(s.why, "sh: exit 3");
}

static void a_command_that_hangs_is_killed_with_its_children(void **state)
{
    char path[200], script[400];
    struct seen s;
    FILE *f = NULL;
    long pid = 0;

    (void)state;
    test_path(path, sizeof path, "child");
    (void)snprintf(script, sizeof script, "sleep 100 & echo $! >'%s'; wait", path);
    run(&s, script, NULL, 2000, 1000);
    assert_int_equal(s.code, ERR_TIMEOUT);
    assert_string_equal(s.why, "sh did not answer within 2 s");
    assert_true(s.ticks > 5); /* the loop turned meanwhile */
    f = fopen(path, "r");
    assert_true(f && fscanf(f, "%ld", &pid) == 1 && pid > 1); /* NOLINT(cert-err34-c) */
    fclose(f);
    for (int i = 0; i < 200 && kill((pid_t)pid, 0) == 0; i++)
        usleep(10000); /* NOLINT: it may be a zombie until init has reaped it */
    unlink(path);
}

static void a_command_that_says_too_much_is_killed(void **state)
{
    struct seen s;

    (void)state;
    run(&s, "while :; do echo 0123456789; done", NULL, 20000, 50000);
    assert_int_equal(s.code, ERR_TOOBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_given_its_input_and_says_something),
        cmocka_unit_test(a_failure_is_told_in_its_words),
        cmocka_unit_test(a_command_that_hangs_is_killed_with_its_children),
        cmocka_unit_test(a_command_that_says_too_much_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
