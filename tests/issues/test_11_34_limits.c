/* test_11_34_limits.c - issue 11, point 34: `debug sql` ran for as long as its statement liked, on the loop; a viewer read
 * training files by their hash; a child inherited whatever its parent knew. */
#include "tests/store/store_rig.h"
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "base/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define ENDLESS "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "

static int count_row(void *arg, const char *json)
{
    (void)json;
    ++*(int *)arg;
    return 0;
}

static void an_endless_statement_ends_and_hurts_nothing(void **state)
{
    static const char *const texts[] = {
        ENDLESS "count(*) FROM c",
        ENDLESS "x FROM c WHERE x < 0",
        "SELECT length(printf('%.*c', 900000000, 'x'))",
    };
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };
    int n = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(store_sql_readonly(r->store, texts[i], count_row, &n, &err), -1);
        if (i < 2)
            assert_non_null(strstr(err.text, "narrow it"));
    }
    n = 0;
    store_rig_study(r, "one"); /* an open turn goes on, also behind a statement that was cut */
    assert_int_equal(store_sql_readonly(r->store, texts[0], count_row, &n, &err), -1);
    store_rig_commit(r);
    assert_int_equal(store_sql_readonly(r->store, "SELECT name FROM study", count_row, &n, &err),
                     0);
    assert_int_equal(n, 1);
    store_rig_free(r);
}

static void a_viewer_sees_no_training_file(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    char path[100], sha[SHA256_HEX], headers[100];
    static const struct {
        const char *who;
        int status;
    } cases[] = { { "viewer", 403 }, { "runner", 404 }, { "user", 404 }, { "admin", 404 } };

    (void)state;
    sha256_hex("table", 5, sha);
    (void)!snprintf(path, sizeof path, "/api/v1/blobs/%s", sha);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)!snprintf(headers, sizeof headers, "Authorization: Bearer %s-token\r\n",
                        cases[i].who);
        struct web_reply r = web_rig_call(rig, false, "GET", path, headers, NULL);

        assert_int_equal(r.status, cases[i].status);
        web_reply_free(&r);
    }
    web_rig_free(rig, fake_ctl_free);
}

static void a_child_gets_the_environment_it_may_have_and_no_new_rights(void **state)
{
    const char *keep[] = { "PATH", "ASSAY_T_*", NULL }, *add[] = { "ADDED=1", NULL };
    const char *argv[] = {
        "sh", "-c",
        "test -n \"$PATH$ASSAY_T_A\" && test -z \"$SECRET\" && test \"$ADDED\" = 1"
        " && grep -q '^NoNewPrivs:.*1' /proc/self/status",
        NULL
    };
    struct proc_spec spec = {
        .path = "/bin/sh", .argv = argv, .env_add = add, .env_keep = keep, .no_new_privs = true
    };
    int status = -1;
    pid_t pid = 0;

    (void)state;
    setenv("ASSAY_T_A", "a", 1);
    setenv("SECRET", "token", 1);
    assert_int_equal(proc_spawn(&spec, &pid, NULL), 0);
    assert_int_equal(proc_wait_ms(pid, 20000, &status, NULL), 1);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endless_statement_ends_and_hurts_nothing),
        cmocka_unit_test(a_viewer_sees_no_training_file),
        cmocka_unit_test(a_child_gets_the_environment_it_may_have_and_no_new_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
