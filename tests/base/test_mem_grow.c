/* test_mem_grow.c - arrays that grow one element at a time keep what they hold, and a capacity that cannot be counted
 * ends the process. */
#include "tests/unit.h"

#include "base/mem.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void an_array_grows_and_keeps_what_it_holds(void **state)
{
    int n = 0, cap = 0, moves = 0;
    size_t n_names = 0, cap_names = 0;
    const char **names = NULL;
    int64_t *v = NULL;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int had = cap;
        MEM_GROW(v, n, cap);
        moves += cap != had;
        assert_true(cap > n);
        v[n++] = i;
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(v[i], i);
    assert_in_range(moves, 5, 40);
    for (int i = 0; i < 10; i++) {
        MEM_GROW(names, n_names, cap_names); /* a size_t, and pointers */
        names[n_names++] = "x";
    }
    assert_in_range(cap_names, 10, 16);
    mem_free(v);
    mem_free(names);
}

static void a_capacity_past_its_type_ends_the_process(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        int cap = INT32_MAX;
        char *v = NULL;
        (void)!freopen("/dev/null", "w", stderr);
        (void)signal(SIGABRT, SIG_DFL);
        MEM_GROW(v, INT32_MAX, cap);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_grows_and_keeps_what_it_holds),
        cmocka_unit_test(a_capacity_past_its_type_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
