/* test_store.c - opening, refusing, locking and closing a data folder; the read-only view beside a writer. */
#include "tests/store/store_rig.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void what_was_committed_is_there_after_a_restart(void **state)
{
    struct store_rig *r = store_rig_new();
    char before[SHA256_HEX], after[SHA256_HEX];
    int64_t study = store_rig_study(r, "one"), trial = store_rig_trial(r, study, 1);

    assert_int_equal(store_rig_step(r->store, trial, TE_LEASE, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(store_digest(r->store, before, NULL), 0);
    store_rig_trial(r, study, 2); /* not committed */
    store_rig_restart(r);
    assert_int_equal(store_digest(r->store, after, NULL), 0);
    assert_string_equal(before, after);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial"), 1);
    assert_int_equal(journal_last(r->store), 3);
    store_rig_check_replay(r);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_is_there_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
