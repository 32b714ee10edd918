/* test_journal.c - the journal's sequence and its readers. (What replay makes of it: test_replay.c.) */
#include "tests/store/store_rig.h"

#include "base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int on_row(void *arg, const struct journal_row *row)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 400 - n, "%lld:%lld:%lld:%s:%s ", (long long)row->seq, (long long)row->study,
             (long long)row->trial, row->event, row->data ? row->data : "-");
    assert_true(row->at > 0);
    return 0;
}

static void the_sequence_has_no_holes_whatever_fails(void **state)
{
    struct store_rig *r = store_rig_new();

    assert_int_equal(journal_add(r->store, 0, 0, "a", NULL, NULL), 0);
    fault_arm(1);
    assert_int_equal(journal_add(r->store, 0, 0, "lost", NULL, NULL), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(journal_add(r->store, 0, 0, "b", NULL, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(journal_add(r->store, 0, 0, "lost", NULL, NULL), 0);
    store_turn_rollback(r->store);
    assert_int_equal(journal_add(r->store, 0, 0, "c", NULL, NULL), 0);
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(journal_last(r->store), 3);
    assert_int_equal(store_rig_count(r, "SELECT sum(seq) FROM journal"), 6);
    store_rig_free(r);
    (void)state;
}

static void it_is_read_whole_by_study_or_by_trial_from_any_place(void **state)
{
    struct store_rig *r = store_rig_new();
    char text[400] = "";

    assert_int_equal(journal_add(r->store, 1, 0, "x", "{}", NULL), 0);
    assert_int_equal(journal_add(r->store, 1, 7, "y", NULL, NULL), 0);
    assert_int_equal(journal_add(r->store, 2, 8, "z", NULL, NULL), 0);
    assert_int_equal(journal_add(r->store, 1, 7, "w", "[1]", NULL), 0);
    assert_int_equal(store_journal_each(r->store, 0, 0, 10, on_row, text, NULL), 0);
    assert_string_equal(text, "1:1:0:x:{} 2:1:7:y:- 3:2:8:z:- 4:1:7:w:[1] ");
    text[0] = '\0';
    assert_int_equal(store_journal_each(r->store, 0, 1, 2, on_row, text, NULL), 0);
    assert_string_equal(text, "2:1:7:y:- 3:2:8:z:- ");
    text[0] = '\0';
    assert_int_equal(store_journal_each(r->store, 1, 1, 10, on_row, text, NULL), 0);
    assert_string_equal(text, "2:1:7:y:- 4:1:7:w:[1] ");
    text[0] = '\0';
    assert_int_equal(store_journal_trial(r->store, 7, 10, on_row, text, NULL), 0);
    assert_string_equal(text, "2:1:7:y:- 4:1:7:w:[1] ");
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sequence_has_no_holes_whatever_fails),
        cmocka_unit_test(it_is_read_whole_by_study_or_by_trial_from_any_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
