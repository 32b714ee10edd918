/* test_study.c - rows of studies: what goes in comes out, states step only by events that their table allows, lists,
 * deletion, the search's bytes. */
#include "tests/store/store_rig.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_column_comes_back_as_it_went_in(void **state)
{
    struct store_rig *r = store_rig_new();
    struct study_row in = { .name = mem_strdup("a \"name\""),
                            .owner = mem_strdup("me"),
                            .spec = mem_strdup("{\"x\":1}"),
                            .data = mem_strdup("{\"rows\":3}"),
                            .reason = mem_strdup("waits for \xc3\xa9"),
                            .seed = -5,
                            .numeric_sig = mem_strdup("assay-1/cpu"),
                            .priority = 3,
                            .used_ms = INT64_C(1) << 40,
                            .best_trial = 7,
                            .result = mem_strdup("{}"),
                            .is_archived = true,
                            .created_at = 11,
                            .started_at = 12,
                            .ended_at = 13 };
    struct study_row out = { 0 }, found = { 0 };

    store_rig_blob(r, 3, 10, "artifact", in.artifact);
    assert_int_equal(store_study_insert(r->store, &in, NULL), 0);
    assert_int_equal(store_study_get(r->store, in.id, &out, NULL), 1);
    assert_int_equal(out.id, in.id);
    assert_string_equal(out.name, in.name);
    assert_string_equal(out.owner, in.owner);
    assert_string_equal(out.spec, in.spec);
    assert_string_equal(out.data, in.data);
    assert_int_equal(out.state, SS_QUEUED);
    assert_string_equal(out.reason, in.reason);
    assert_int_equal(out.seed, in.seed);
    assert_string_equal(out.numeric_sig, in.numeric_sig);
    assert_int_equal(out.priority, in.priority);
    assert_true(out.used_ms == in.used_ms);
    assert_int_equal(out.dataset, 0);
    assert_int_equal(out.best_trial, in.best_trial);
    assert_string_equal(out.artifact, in.artifact);
    assert_string_equal(out.result, in.result);
    assert_true(out.is_archived);
    assert_int_equal(out.created_at, 11);
    assert_int_equal(out.started_at, 12);
    assert_int_equal(out.ended_at, 13);
    assert_int_equal(store_study_find(r->store, in.name, &found, NULL), 1);
    assert_int_equal(found.id, in.id);
    assert_int_equal(store_study_find(r->store, "nobody", &found, NULL), 0);
    study_row_fini(&in);
    study_row_fini(&out);
    study_row_fini(&found);
    store_rig_free(r);
    (void)state;
}

static void what_is_absent_comes_back_absent(void **state)
{
    struct store_rig *r = store_rig_new();
    struct study_row out = { 0 };

    assert_int_equal(store_study_get(r->store, store_rig_study(r, "one"), &out, NULL), 1);
    assert_null(out.data);
    assert_null(out.reason);
    assert_null(out.result);
    assert_string_equal(out.numeric_sig, "");
    assert_string_equal(out.artifact, "");
    assert_true(out.created_at > 0); /* filled in */
    study_row_fini(&out);
    assert_int_equal(store_study_get(r->store, 99, &out, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void a_name_is_taken_once(void **state)
{
    struct store_rig *r = store_rig_new();
    struct study_row row = { .name = mem_strdup("one"), .spec = mem_strdup("{}") };
    struct err err = { 0 };

    store_rig_study(r, "one");
    assert_int_equal(store_study_insert(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(row.id, 0);
    assert_int_equal(journal_last(r->store), 1);
    study_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static void a_row_cannot_name_a_blob_or_dataset_that_is_not_stored(void **state)
{
    struct store_rig *r = store_rig_new();
    struct study_row row = { 0 };
    struct err err = { 0 };

    assert_int_equal(store_study_get(r->store, store_rig_study(r, "one"), &row, NULL), 1);
    sha256_hex("missing", 7, row.artifact);
    assert_int_equal(store_study_update(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    row.artifact[0] = '\0';
    row.dataset = 5;
    assert_int_equal(store_study_update(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    study_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static void states_step_as_the_table_says(void **state)
{
    static const enum study_event path[] = { SE_START, SE_PAUSE, SE_RESUME, SE_FINISH,
                                             SE_COMPLETE };
    struct store_rig *r = store_rig_new();
    struct study_row row = { 0 };
    struct err err = { 0 };
    int64_t id = store_rig_study(r, "one");

    for (size_t i = 0; i < ARRAY_LEN(path); i++)
        assert_int_equal(store_rig_study_step(r->store, id, path[i], NULL), 0);
    assert_int_equal(store_study_get(r->store, id, &row, NULL), 1);
    assert_int_equal(row.state, SS_COMPLETED);
    assert_int_equal(journal_last(r->store), 6);
    /* The caller's row may be old: the stored state decides. */
    row.state = SS_RUNNING;
    assert_int_equal(store_study_event(r->store, &row, SE_START, NULL, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    row.id = 44;
    assert_int_equal(store_study_event(r->store, &row, SE_START, NULL, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(journal_last(r->store), 6);
    store_rig_check_replay(r);
    study_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

struct seen {
    int64_t ids[20];
    int n, stop_at, stop_with;
};

static int on_study(void *arg, struct study_row *row)
{
    struct seen *s = arg;

    s->ids[s->n++] = row->id;
    return s->n == s->stop_at ? s->stop_with : 0;
}

static void lists_are_newest_first_filtered_and_paged(void **state)
{
    static const struct {
        uint32_t mask;
        bool archived;
        int64_t after;
        int limit, n;
        int64_t first;
    } cases[] = {
        { 0, true, 0, 10, 5, 5 },
        { 0, false, 0, 10, 4, 5 },
        { 0, true, 4, 10, 3, 3 },
        { 0, true, 0, 2, 2, 5 },
        { 1u << SS_RUNNING, true, 0, 10, 1, 2 },
        { 1u << SS_QUEUED, false, 0, 10, 3, 5 },
        { 1u << SS_FAILED, true, 0, 10, 0, 0 },
        { 1u << SS_RUNNING | 1u << SS_QUEUED, true, 3, 1, 1, 2 },
    };
    struct store_rig *r = store_rig_new();
    struct study_row row = { 0 };

    for (int i = 1; i <= 5; i++) {
        char name[20];

        snprintf(name, sizeof name, "s%d", i);
        store_rig_study(r, name);
    }
    assert_int_equal(store_rig_study_step(r->store, 2, SE_START, NULL), 0);
    assert_int_equal(store_study_get(r->store, 1, &row, NULL), 1);
    row.is_archived = true;
    assert_int_equal(store_study_update(r->store, &row, NULL), 0);
    study_row_fini(&row);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen seen = { 0 };

        assert_int_equal(store_study_each(r->store, cases[i].mask, cases[i].archived,
                                          cases[i].after, cases[i].limit, on_study, &seen, NULL),
                         0);
        assert_int_equal(seen.n, cases[i].n);
        assert_int_equal(seen.ids[0], cases[i].first);
    }
    store_rig_free(r);
    (void)state;
}

static void a_row_callback_may_stop_or_fail(void **state)
{
    struct store_rig *r = store_rig_new();
    struct seen stop = { .stop_at = 1, .stop_with = 1 }, broken = { .stop_at = 1, .stop_with = -1 };

    store_rig_study(r, "one");
    store_rig_study(r, "two");
    assert_int_equal(store_study_each(r->store, 0, true, 0, 10, on_study, &stop, NULL), 0);
    assert_int_equal(stop.n, 1);
    assert_int_equal(store_study_each(r->store, 0, true, 0, 10, on_study, &broken, NULL), -1);
    store_rig_free(r);
    (void)state;
}

static void a_deleted_study_leaves_one_journal_row_and_its_id_is_not_used_again(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t id = store_rig_study(r, "one"), trial = store_rig_trial(r, id, 1),
            other = store_rig_study(r, "two");
    struct err err = { 0 };

    assert_int_equal(store_report_add(r->store, trial, 1, 1, 1, NULL), 0);
    assert_int_equal(store_study_delete(r->store, id, NULL), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM journal WHERE study = 1"), 1);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial"), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM report"), 0);
    assert_int_equal(store_study_delete(r->store, id, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(store_study_delete(r->store, other, NULL),
                     0); /* the newest: its id would come back by itself */
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(store_rig_study(r, "one"), 3); /* the name is free */
    assert_int_equal(store_rig_trial(r, 3, 1), trial + 1);
    store_rig_check_replay(r);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_comes_back_as_it_went_in),
        cmocka_unit_test(what_is_absent_comes_back_absent),
        cmocka_unit_test(a_name_is_taken_once),
        cmocka_unit_test(a_row_cannot_name_a_blob_or_dataset_that_is_not_stored),
        cmocka_unit_test(states_step_as_the_table_says),
        cmocka_unit_test(lists_are_newest_first_filtered_and_paged),
        cmocka_unit_test(a_row_callback_may_stop_or_fail),
        cmocka_unit_test(a_deleted_study_leaves_one_journal_row_and_its_id_is_not_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
