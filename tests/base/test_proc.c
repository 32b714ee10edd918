/* test_proc.c - children get exactly the descriptors they shall have, exec failures are reported, and the
 * parent's death takes them along when asked. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `sh -c script` with its output on a pipe; returns what it printed. */
static void run_shell(const char *script, const struct proc_spec *base, char *out, size_t size)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct proc_spec spec = *base;
    struct proc_fd fds[8];
    int rd = -1, wr = -1, status = -1;
    size_t n = 0;
    pid_t pid = 0;

    assert_int_equal(proc_pipe(&rd, &wr, NULL), 0);
    memcpy(fds, base->fds, (size_t)base->n_fds * sizeof fds[0]);
    fds[spec.n_fds++] = (struct proc_fd){ wr, 1 };
    spec.fds = fds;
    spec.path = "/bin/sh";
    spec.argv = argv;
    assert_int_equal(proc_spawn(&spec, &pid, NULL), 0);
    close(wr);
    for (ssize_t got = 0; (got = read(rd, out + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    out[n] = '\0';
    close(rd);
    assert_int_equal(proc_wait_ms(pid, 20000, &status, NULL), 1);
    assert_int_equal(status, 0);
}

static void a_child_has_only_the_descriptors_it_was_given(void **state)
{
    struct proc_fd none[1] = { { 0, 0 } };
    struct proc_spec spec = { .fds = none };
    char out[400];
    int leak = open("/dev/null", O_RDONLY); /* on purpose without O_CLOEXEC */

    (void)state;
    assert_true(leak > 2);
    /* No pipe and nothing after exec: those would be descriptors of the shell itself. */
    run_shell("ls /proc/$$/fd; :", &spec, out, sizeof out);
    assert_string_equal(out, "0\n1\n2\n");
    close(leak);
}

static void descriptors_may_swap_numbers(void **state)
{
    struct proc_spec spec = { 0 };
    struct proc_fd fds[2];
    int a[2], b[2];
    char out[400];

    (void)state;
    assert_int_equal(proc_pipe(&a[0], &a[1], NULL), 0);
    assert_int_equal(proc_pipe(&b[0], &b[1], NULL), 0);
    assert_int_equal(write(a[1], "from-a\n", 7), 7);
    assert_int_equal(write(b[1], "from-b\n", 7), 7);
    fds[0] = (struct proc_fd){ a[0], b[0] };
    fds[1] = (struct proc_fd){ b[0], a[0] };
    spec.fds = fds;
    spec.n_fds = 2;
    snprintf(out, sizeof out, "read x <&%d; read y <&%d; echo $x $y", b[0], a[0]);
    run_shell(out, &spec, out, sizeof out);
    assert_string_equal(out, "from-a from-b\n");
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
}

static void the_environment_is_inherited_and_overridden(void **state)
{
    const char *add[] = { "ASSAY_T_B=new", "ASSAY_T_C=c", NULL };
    struct proc_fd none[1] = { { 0, 0 } };
    struct proc_spec spec = { .env_add = add, .fds = none };
    char out[400];

    (void)state;
    setenv("ASSAY_T_A", "a", 1);
    setenv("ASSAY_T_B", "old", 1);
    setenv("ASSAY_T_BB", "bb", 1);
    run_shell("echo $ASSAY_T_A $ASSAY_T_B $ASSAY_T_BB $ASSAY_T_C; env | grep -c ASSAY_T_B=", &spec,
              out, sizeof out);
    assert_string_equal(out, "a new bb c\n1\n");
}

static void signals_are_back_to_normal_in_the_child(void **state)
{
    struct proc_fd none[1] = { { 0, 0 } };
    struct proc_spec spec = { .fds = none };
    char out[400];
    sigset_t block, old;
    uint64_t blocked = 1, ignored = 1;
    char *end = NULL;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, &old);
    run_shell("grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -s '\\t\\n' '  '", &spec, out,
              sizeof out);
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGPIPE, SIG_DFL);
    assert_memory_equal(out, "SigBlk: ", 8);
    blocked = strtoull(out + 8, &end, 16);
    assert_memory_equal(end, " SigIgn: ", 9);
    ignored = strtoull(end + 9, &end, 16);
    /* 32 and 33 are the C library's own; whoever started us may have left them ignored. */
    assert_int_equal(blocked & ~0x180000000u, 0);
    assert_int_equal(ignored & ~0x180000000u, 0);
}

static void a_failed_exec_is_an_error_here_not_exit_127(void **state)
{
    const char *argv[] = { "nothing", NULL };
    struct proc_spec spec = { .path = "/no/such/program", .argv = argv };
    struct err err = { 0 };
    pid_t pid = -1;
    int status = 0;

    (void)state;
    assert_int_equal(proc_spawn(&spec, &pid, &err), -1);
    assert_non_null(strstr(err.text, "start /no/such/program: No such file"));
    assert_int_equal(pid, -1);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* no zombie */
    assert_int_equal(errno, ECHILD);
}

static int open_fds(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Each point in turn fails alone, then with all points after it, as on a machine that has run out of something: the ways
 * out of a failure pass points, too. Neither a descriptor nor a child may be left over. */
static void spawn_survives_every_fault(void **state)
{
    const char *argv[] = { "true", NULL };
    struct proc_spec spec = { .path = "true", .argv = argv };
    int before = open_fds();

    (void)state;
    for (int from = 0; from < 2; from++) {
        int fired = 1, faults = 0;

        for (int nth = 1; fired; nth++) {
            pid_t pid = -1;
            int rc = 0, status = 0;

            if (from)
                fault_arm_from(NULL, nth);
            else
                fault_arm(nth);
            rc = proc_spawn(&spec, &pid, NULL);
            fired = fault_disarm();
            faults += fired;
            assert_int_equal(rc, fired ? -1 : 0);
            if (rc == 0)
                assert_int_equal(proc_wait_ms(pid, 20000, &status, NULL), 1);
            assert_int_equal(open_fds(), before);
            assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
            assert_int_equal(errno, ECHILD);
        }
        assert_int_equal(faults, 2);
    }
}

static void waiting_ends_at_its_limit_and_killing_works(void **state)
{
    const char *argv[] = { "sleep", "100", NULL };
    struct proc_spec spec = { .path = "sleep", .argv = argv, .new_session = true };
    char text[80];
    int status = 0;
    pid_t pid = 0;

    (void)state;
    assert_int_equal(proc_spawn(&spec, &pid, NULL), 0);
    assert_int_equal(proc_poll(pid, &status, NULL), 0);
    assert_int_equal(getsid(pid), pid);
    assert_int_equal(proc_wait_ms(pid, 30, &status, NULL), 0);
    assert_true(proc_rss_bytes(pid) > 0);
    proc_kill(pid, SIGTERM);
    assert_int_equal(proc_wait_ms(pid, 20000, &status, NULL), 1);
    proc_describe(status, text, sizeof text);
    assert_string_equal(text, "killed by signal 15 (Terminated)");
    assert_int_equal(proc_poll(pid, &status, NULL), -1);
    assert_int_equal(proc_rss_bytes(pid), -1);
    proc_describe(3 << 8, text, sizeof text);
    assert_string_equal(text, "exit 3");
}

static void a_child_dies_with_its_parent_when_asked(void **state)
{
    const char *argv[] = { "sleep", "100", NULL };
    struct proc_spec spec = { .path = "sleep", .argv = argv, .die_with_parent = true };
    int rd = -1, wr = -1, status = 0;
    pid_t middle = 0, child = 0;
    char byte = 0;

    (void)state;
    assert_int_equal(proc_pipe(&rd, &wr, NULL), 0);
    middle = fork();
    if (middle == 0) {
        struct proc_fd keep = { wr, wr }; /* the pipe closes when the grandchild is gone */

        spec.fds = &keep;
        spec.n_fds = 1;
        if (proc_spawn(&spec, &child, NULL) < 0)
            _exit(1);
        _exit(0);
    }
    close(wr);
    assert_int_equal(waitpid(middle, &status, 0), middle);
    assert_int_equal(status, 0);
    assert_int_equal(read(rd, &byte, 1), 0); /* hangs until the test's time limit if it lives on */
    close(rd);
}

static void the_machine_is_known(void **state)
{
    char path[400];

    (void)state;
    assert_true(proc_physical_cores() >= 1);
    assert_true(proc_memory_bytes() > 1000000);
    assert_true(proc_rss_bytes(getpid()) > 10000);
    assert_true(proc_rss_peak_bytes() >= proc_rss_bytes(getpid()) / 2); /* counters lag a little */
    proc_rss_peak_reset();
    assert_true(proc_rss_peak_bytes() > 10000);
    assert_int_equal(proc_self_path(path, sizeof path, NULL), 0);
    assert_non_null(strstr(path, "test_proc"));
    assert_int_equal(proc_self_path(path, 5, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_only_the_descriptors_it_was_given),
        cmocka_unit_test(descriptors_may_swap_numbers),
        cmocka_unit_test(the_environment_is_inherited_and_overridden),
        cmocka_unit_test(signals_are_back_to_normal_in_the_child),
        cmocka_unit_test(a_failed_exec_is_an_error_here_not_exit_127),
        cmocka_unit_test(spawn_survives_every_fault),
        cmocka_unit_test(waiting_ends_at_its_limit_and_killing_works),
        cmocka_unit_test(a_child_dies_with_its_parent_when_asked),
        cmocka_unit_test(the_machine_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
