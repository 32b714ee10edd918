/* test_blob_row.c - rows of blobs and collection: what is young, named or only uncommitted stays. */
#include "tests/store/store_rig.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool file_is_there(const struct store_rig *r, const char *sha256)
{
    char path[400];

    return blob_path(r->data, sha256, path, sizeof path, NULL) == 0;
}

/* Gives up what stands in it, and counts what it was asked. */
struct judge {
    bool rows, files;
    int asked_named, asked_new;
};

static bool judge_row(void *arg, const char *sha256, bool was_named)
{
    struct judge *j = arg;

    (void)sha256;
    j->asked_named += was_named;
    j->asked_new += !was_named;
    return j->rows;
}

static bool judge_file(void *arg, const char *name, const struct file_mark *mark)
{
    const struct judge *j = arg;

    (void)name, (void)mark;
    return j->files;
}

static int64_t collect(struct store_rig *r, struct judge *j)
{
    return store_rig_collect(r, &(struct blob_judge){ judge_row, judge_file, j });
}

static void rows_are_counted_and_added_again_without_effect(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];
    int64_t n = 0, bytes = 0;

    store_rig_blob(r, 1, 100, "csv", sha256);
    store_rig_blob(r, 1, 100, "csv", sha256);
    store_rig_blob(r, 2, 50, "model", sha256);
    assert_int_equal(store_blob_total(r->store, &n, &bytes, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 150);
    assert_int_equal(store_blob_has(r->store, sha256, &bytes, NULL), 1);
    assert_int_equal(bytes, 50);
    sha256_hex("x", 1, sha256);
    assert_int_equal(store_blob_has(r->store, sha256, NULL, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void what_nothing_names_stays_until_the_judge_gives_it_up(void **state)
{
    struct store_rig *r = store_rig_new();
    char file_only[SHA256_HEX], with_row[SHA256_HEX];
    struct judge j = { 0 };

    store_rig_blob(r, 1, 100, NULL, file_only);
    store_rig_blob(r, 2, 50, "csv", with_row);
    store_rig_commit(r);
    clk_advance(&r->clk, INT64_C(1000) * 24 * 3600 * 1000); /* a clock that jumps is no judge */
    assert_int_equal(collect(r, &j), 0);
    assert_true(file_is_there(r, file_only) && file_is_there(r, with_row));
    assert_true(j.asked_new > 0 && j.asked_named == 0);
    j.files = true;
    assert_int_equal(collect(r, &j), 100);
    assert_false(file_is_there(r, file_only));
    j.rows = true;
    assert_int_equal(collect(r, &j), 50);
    assert_int_equal(store_blob_has(r->store, with_row, NULL, NULL), 0);
    assert_false(file_is_there(r, with_row));
    store_rig_free(r);
    (void)state;
}

static void what_a_row_names_stays(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[5][SHA256_HEX];
    struct dataset_row d = { .name = mem_strdup("d"), .state = mem_strdup("ready") };
    struct study_row s = { .name = mem_strdup("s"), .spec = mem_strdup("{}") };
    struct trial_row t = { .number = 1, .config = mem_strdup("{}") };
    struct judge j = { .rows = true, .files = true };

    for (unsigned i = 0; i < 5; i++)
        store_rig_blob(r, i, 10 + i, "x", sha256[i]);
    str_copy(d.blob, SHA256_HEX, sha256[0]);
    str_copy(d.frame, SHA256_HEX, sha256[1]);
    str_copy(d.identity, SHA256_HEX, sha256[0]);
    str_copy(s.artifact, SHA256_HEX, sha256[2]);
    str_copy(t.checkpoint, SHA256_HEX, sha256[3]);
    str_copy(t.artifact, SHA256_HEX, sha256[4]);
    assert_int_equal(store_dataset_put(r->store, &d, NULL), 0);
    assert_int_equal(store_study_insert(r->store, &s, NULL), 0);
    t.study = s.id;
    assert_int_equal(store_trial_insert(r->store, &t, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r, &j), 0);
    assert_int_equal(j.asked_named + j.asked_new, 0);
    t.checkpoint[0] = '\0'; /* let go of one */
    assert_int_equal(store_trial_update(r->store, &t, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r, &j), 13);
    assert_int_equal(j.asked_named, 1); /* it is known that something let go of it */
    assert_int_equal(store_study_delete(r->store, s.id, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r, &j), 12 + 14);
    str_copy(d.frame, SHA256_HEX, "");
    assert_int_equal(store_dataset_put(r->store, &d, NULL), 0);
    store_rig_commit(r);
    assert_true(file_is_there(r, sha256[1]));
    assert_int_equal(collect(r, &j), 11);
    str_copy(d.frame, SHA256_HEX, sha256[0]);
    assert_true(file_is_there(r, sha256[0]));
    assert_int_equal(j.asked_new, 0);
    dataset_row_fini(&d);
    study_row_fini(&s);
    trial_row_fini(&t);
    store_rig_free(r);
    (void)state;
}

/* The rows dropped in a turn may come back, whatever was collected in it. */
static void nothing_goes_because_of_a_turn_that_fails(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];
    int64_t bytes = 0;

    store_rig_blob(r, 1, 100, "csv", sha256);
    store_rig_commit(r);
    assert_int_equal(store_blob_collect(r->store, r->data, &store_rig_all, &bytes, NULL), 0);
    for (int i = 0; i < 40; i++) /* again in one turn */
        assert_int_equal(store_blob_collect(r->store, r->data, &store_rig_all, &bytes, NULL), 0);
    assert_int_equal(bytes, 0);
    fault_arm_name("turn.commit", 1, false);
    assert_int_equal(store_turn_commit(r->store, NULL), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(store_blob_has(r->store, sha256, NULL, NULL), 1);
    /* Nor later, when the file is looked at again. */
    struct judge none = { 0 };
    assert_int_equal(collect(r, &none), 0);
    assert_true(file_is_there(r, sha256));
    store_rig_free(r);
    (void)state;
}

static void bytes_brought_again_keep_their_file(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];
    int64_t bytes = 0;

    store_rig_blob(r, 1, 100, "csv", sha256);
    store_rig_commit(r);
    assert_int_equal(store_blob_collect(r->store, r->data, &store_rig_all, &bytes, NULL), 0);
    store_rig_commit(r); /* the row is gone, its file is about to go */
    store_rig_blob(r, 1, 100, NULL, sha256);
    struct judge none = { 0 };
    assert_int_equal(collect(r, &none), 0);
    assert_true(file_is_there(r, sha256));
    assert_int_equal(store_blob_add(r->store, sha256, 100, "csv", NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r, &none), 0);
    assert_true(file_is_there(r, sha256));
    store_rig_free(r);
    (void)state;
}

static void what_a_token_brought_is_counted(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];
    int64_t bytes = -1;

    for (unsigned i = 0; i < 3; i++) {
        store_rig_blob(r, i, 100 + i, "csv", sha256);
        if (i > 0)
            assert_int_equal(store_blob_own(r->store, sha256, "eve", NULL), 0);
    }
    assert_int_equal(store_blob_owned(r->store, "eve", &bytes, NULL), 0);
    assert_int_equal(bytes, 101 + 102);
    assert_int_equal(store_blob_owned(r->store, "", &bytes, NULL), 0);
    assert_int_equal(bytes, 0);
    store_rig_free(r);
    (void)state;
}

/* The statement that finds loose rows must know every column that refers to a blob. */
static void every_column_that_names_a_blob_is_known_to_collection(void **state)
{
    struct store_rig *r = store_rig_new();
    sqlite3_stmt *stmt = NULL;
    int n = 0;

    assert_int_equal(
        sqlite3_prepare_v2(
            r->store->db,
            "SELECT t.name || '.' || f.\"from\" || ' = blob_loose.sha256' FROM pragma_table_list t"
            " JOIN pragma_foreign_key_list(t.name) f WHERE f.\"table\" = 'blob'",
            -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        if (!strstr(sql_text[SQL_BLOB_LOOSE], text))
            fail_msg("not in BLOB_LOOSE: %s", text);
        n++;
    }
    sqlite3_finalize(stmt);
    assert_int_equal(n, 6);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted_and_added_again_without_effect),
        cmocka_unit_test(what_nothing_names_stays_until_the_judge_gives_it_up),
        cmocka_unit_test(what_a_row_names_stays),
        cmocka_unit_test(nothing_goes_because_of_a_turn_that_fails),
        cmocka_unit_test(bytes_brought_again_keep_their_file),
        cmocka_unit_test(what_a_token_brought_is_counted),
        cmocka_unit_test(every_column_that_names_a_blob_is_known_to_collection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
