/* test_turn.c - the turn's transaction and its savepoints: what is undone, what a failed commit leaves, what happens when
 * SQLite ends a transaction by itself. */
#include "tests/store/store_rig.h"

#include "base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_turn_begins_with_the_first_write(void **state)
{
    struct store_rig *r = store_rig_new();
    struct study_row row = { 0 };

    assert_false(store_turn_is_open(r->store));
    assert_int_equal(store_study_get(r->store, 1, &row, NULL), 0);
    assert_false(store_turn_is_open(r->store));
    assert_int_equal(store_turn_commit(r->store, NULL), 0); /* nothing to commit is no error */
    store_rig_study(r, "one");
    assert_true(store_turn_is_open(r->store));
    store_rig_commit(r);
    assert_false(store_turn_is_open(r->store));
    store_rig_free(r);
    (void)state;
}

static void rollback_takes_everything_back_and_the_sequence_too(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one");

    store_rig_commit(r);
    store_rig_trial(r, study, 1);
    assert_int_equal(journal_last(r->store), 2);
    store_turn_rollback(r->store);
    store_turn_rollback(r->store); /* twice is legal */
    assert_int_equal(journal_last(r->store), 1);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial"), 0);
    store_rig_trial(r, study, 1);
    store_rig_commit(r);
    assert_int_equal(store_rig_count(r, "SELECT max(seq) FROM journal"), 2);
    store_rig_free(r);
    (void)state;
}

static void one_request_undone_leaves_the_others_of_the_turn(void **state)
{
    struct store_rig *r = store_rig_new();
    struct savepoint first, second, inner;

    assert_int_equal(savepoint_open(&first, r->store, NULL), 0);
    store_rig_study(r, "kept");
    assert_int_equal(savepoint_keep(&first, NULL), 0);
    assert_int_equal(savepoint_open(&second, r->store, NULL), 0);
    store_rig_study(r, "undone");
    assert_int_equal(savepoint_open(&inner, r->store, NULL), 0);
    store_rig_study(r, "inner");
    assert_int_equal(savepoint_keep(&inner, NULL), 0);
    assert_int_equal(journal_last(r->store), 3);
    savepoint_undo(&second);
    assert_int_equal(journal_last(r->store), 1);
    store_rig_study(r, "after");
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 2);
    assert_int_equal(
        store_rig_count(r, "SELECT count(*) FROM study WHERE name = 'undone' OR name = 'inner'"),
        0);
    store_rig_check_replay(r);
    store_rig_free(r);
    (void)state;
}

static void a_part_that_is_undone_takes_its_savepoint_with_it(void **state)
{
    struct store_rig *r = store_rig_new();
    struct savepoint whole, part;
    struct err err = { 0 };

    assert_int_equal(savepoint_open(&whole, r->store, NULL), 0);
    store_rig_study(r, "kept");
    assert_int_equal(savepoint_join(&part, r->store, NULL), 0);
    store_rig_study(r, "part");
    assert_int_equal(savepoint_keep(&part, NULL), 0);
    savepoint_undo(&part); /* legal after any end of it */
    assert_int_equal(savepoint_keep(&whole, NULL), 0);

    assert_int_equal(savepoint_open(&whole, r->store, NULL), 0);
    store_rig_study(r, "whole");
    assert_int_equal(savepoint_join(&part, r->store, NULL), 0);
    store_rig_study(r, "undone");
    savepoint_undo(&part);
    assert_int_equal(savepoint_keep(&whole, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(journal_last(r->store), 2);

    /* Where no other one is open it is a savepoint of its own. */
    assert_int_equal(savepoint_join(&part, r->store, NULL), 0);
    store_rig_study(r, "alone");
    savepoint_undo(&part);
    assert_int_equal(savepoint_open(&whole, r->store, NULL), 0);
    store_rig_study(r, "after");
    assert_int_equal(savepoint_keep(&whole, NULL), 0);
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 3);
    assert_int_equal(
        store_rig_count(r, "SELECT count(*) FROM study WHERE name IN ('kept', 'part', 'after')"),
        3);
    store_rig_check_replay(r);
    store_rig_free(r);
    (void)state;
}

static void a_failed_commit_leaves_the_database_as_before_the_turn(void **state)
{
    static const char *const points[] = { "turn.commit", "store.step" };

    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct store_rig *r = store_rig_new();
        struct err err = { 0 };

        store_rig_study(r, "one");
        fault_arm_name(points[i], 1, false);
        assert_int_equal(store_turn_commit(r->store, &err), -1);
        assert_int_equal(fault_disarm(), 1);
        assert_int_equal(err.code, ERR_IO);
        assert_false(store_turn_is_open(r->store));
        assert_int_equal(journal_last(r->store), 0);
        assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 0);
        store_rig_study(r, "two"); /* and the store goes on */
        store_rig_commit(r);
        store_rig_restart(r);
        assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study WHERE name = 'two'"), 1);
        store_rig_free(r);
    }
    (void)state;
}

static void a_commit_apart_is_durable_after_its_sync(void **state)
{
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };

    assert_int_equal(store_sync_apart(r->store, &err), 0);
    assert_false(store_owes_sync(r->store));
    store_rig_study(r, "one");
    assert_int_equal(store_turn_commit(r->store, &err), 0);
    assert_true(store_owes_sync(r->store));
    assert_int_equal(journal_last(r->store), 1);
    assert_int_equal(journal_durable(r->store), 0);
    store_rig_study(r, "two"); /* the next turn gathers meanwhile */
    fault_arm_name("turn.sync", 1, false);
    assert_int_equal(store_sync(r->store, &err), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_true(store_owes_sync(r->store));
    assert_int_equal(store_sync(r->store, &err), 0);
    store_synced(r->store);
    assert_false(store_owes_sync(r->store));
    assert_int_equal(journal_durable(r->store), 1); /* not the open turn's row */
    assert_int_equal(store_turn_commit(r->store, &err), 0);
    assert_int_equal(store_sync(r->store, &err), 0);
    store_synced(r->store);
    assert_int_equal(journal_durable(r->store), 2);
    store_rig_restart(r);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 2);
    store_rig_free(r);
    (void)state;
}

/* Reads take part in a turn, too, and must not make the disk flush. */
static void a_turn_that_changes_nothing_owes_no_sync(void **state)
{
    struct store_rig *r = store_rig_new();
    struct savepoint sp;
    struct err err = { 0 };

    assert_int_equal(store_sync_apart(r->store, &err), 0);
    store_rig_study(r, "one");
    assert_int_equal(store_turn_commit(r->store, &err), 0);
    assert_int_equal(store_sync(r->store, &err), 0);
    store_synced(r->store);
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        assert_int_equal(savepoint_open(&sp, r->store, &err), 0);
        if (is_kept)
            assert_int_equal(savepoint_keep(&sp, &err), 0);
        else
            savepoint_undo(&sp);
        assert_true(store_turn_is_open(r->store));
        assert_int_equal(store_turn_commit(r->store, &err), 0);
        assert_false(store_turn_is_open(r->store));
        assert_false(store_owes_sync(r->store));
    }
    store_rig_study(r, "two");
    assert_int_equal(store_turn_commit(r->store, &err), 0);
    assert_true(store_owes_sync(r->store));
    assert_int_equal(store_sync(r->store, &err), 0);
    store_synced(r->store);
    store_rig_free(r);
    (void)state;
}

static void a_savepoint_that_cannot_be_kept_is_undone(void **state)
{
    struct store_rig *r = store_rig_new();
    struct savepoint sp;

    assert_int_equal(savepoint_open(&sp, r->store, NULL), 0);
    store_rig_study(r, "one");
    fault_arm_name("store.step", 1, false);
    assert_int_equal(savepoint_keep(&sp, NULL), -1);
    assert_int_equal(fault_disarm(), 1);
    savepoint_undo(&sp); /* legal after any end of it */
    assert_int_equal(store_turn_commit(r->store, NULL), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 0);
    store_rig_free(r);
    (void)state;
}

static void a_turn_that_cannot_begin_is_not_open(void **state)
{
    struct store_rig *r = store_rig_new();
    struct savepoint sp;

    fault_arm_name("store.step", 1, false);
    assert_int_equal(savepoint_open(&sp, r->store, NULL), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_false(store_turn_is_open(r->store));
    savepoint_undo(&sp);
    store_rig_study(r, "one");
    store_rig_commit(r);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_begins_with_the_first_write),
        cmocka_unit_test(rollback_takes_everything_back_and_the_sequence_too),
        cmocka_unit_test(one_request_undone_leaves_the_others_of_the_turn),
        cmocka_unit_test(a_part_that_is_undone_takes_its_savepoint_with_it),
        cmocka_unit_test(a_failed_commit_leaves_the_database_as_before_the_turn),
        cmocka_unit_test(a_commit_apart_is_durable_after_its_sync),
        cmocka_unit_test(a_turn_that_changes_nothing_owes_no_sync),
        cmocka_unit_test(a_savepoint_that_cannot_be_kept_is_undone),
        cmocka_unit_test(a_turn_that_cannot_begin_is_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
