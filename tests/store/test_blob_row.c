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

enum { HOUR = 3600 * 1000 };

static bool file_is_there(const struct store_rig *r, const char *sha256)
{
    char path[400];

    return blob_path(r->data, sha256, path, sizeof path, NULL) == 0;
}

static int64_t collect(struct store_rig *r)
{
    struct err err = { 0 };
    int64_t bytes = -1;

    if (store_blob_collect(r->store, r->data, HOUR, &bytes, &err) < 0)
        fail_msg("collect: %s", err.text);
    store_rig_commit(r);
    return bytes;
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

static void an_uploaded_blob_has_an_hour_to_be_named(void **state)
{
    struct store_rig *r = store_rig_new();
    char file_only[SHA256_HEX], with_row[SHA256_HEX];

    store_rig_blob(r, 1, 100, NULL, file_only);
    store_rig_blob(r, 2, 50, "csv", with_row);
    store_rig_commit(r);
    clk_advance(&r->clk, HOUR - 60000);
    assert_int_equal(collect(r), 0);
    assert_true(file_is_there(r, file_only) && file_is_there(r, with_row));
    clk_advance(&r->clk, 120000);
    assert_int_equal(collect(r), 100); /* the file that never had a row, and the other's row */
    assert_false(file_is_there(r, file_only));
    assert_true(file_is_there(r, with_row));
    assert_int_equal(store_blob_has(r->store, with_row, NULL, NULL), 0);
    assert_int_equal(collect(r), 50); /* its file, now that the row's end is committed */
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
    clk_advance(&r->clk, 100 * HOUR);
    assert_int_equal(collect(r) + collect(r), 0);
    t.checkpoint[0] = '\0'; /* let go of one */
    assert_int_equal(store_trial_update(r->store, &t, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r) + collect(r), 13);
    assert_int_equal(store_study_delete(r->store, s.id, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r) + collect(r), 12 + 14);
    assert_true(file_is_there(r, sha256[0]) && file_is_there(r, sha256[1]));
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
    clk_advance(&r->clk, 2 * HOUR);
    assert_int_equal(store_blob_collect(r->store, r->data, HOUR, &bytes, NULL), 0);
    assert_int_equal(store_blob_collect(r->store, r->data, HOUR, &bytes, NULL),
                     0); /* twice in one turn */
    assert_int_equal(bytes, 0);
    fault_arm_name("turn.commit", 1, false);
    assert_int_equal(store_turn_commit(r->store, NULL), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(store_blob_has(r->store, sha256, NULL, NULL), 1);
    assert_true(file_is_there(r, sha256));
    store_rig_free(r);
    (void)state;
}

static void saying_again_that_it_is_there_gives_another_hour(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];

    store_rig_blob(r, 1, 100, "csv", sha256);
    clk_advance(&r->clk, 2 * HOUR);
    assert_int_equal(store_blob_add(r->store, sha256, 100, "csv", NULL), 0);
    store_rig_commit(r);
    assert_int_equal(collect(r) + collect(r), 0);
    assert_int_equal(store_blob_has(r->store, sha256, NULL, NULL), 1);
    store_rig_free(r);
    (void)state;
}

static void a_file_put_again_is_young_again(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX], path[400];

    store_rig_blob(r, 1, 100, NULL, sha256);
    assert_int_equal(blob_path(r->data, sha256, path, sizeof path, NULL), 0);
    store_rig_age(path, 5 * HOUR);
    store_rig_blob(r, 1, 100, NULL, sha256);
    assert_int_equal(collect(r), 0);
    store_rig_age(path, 5 * HOUR);
    assert_int_equal(collect(r), 100);
    store_rig_free(r);
    (void)state;
}

static void an_upload_that_nobody_goes_on_with_goes_after_a_day(void **state)
{
    struct store_rig *r = store_rig_new();
    char id[33];
    int64_t size = 0;

    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "abc", 3, NULL), 0);
    clk_advance(&r->clk, 23 * HOUR);
    assert_int_equal(collect(r), 0);
    clk_advance(&r->clk, 2 * HOUR);
    assert_int_equal(collect(r), 3);
    assert_int_equal(blob_upload_size(r->data, id, &size, NULL), -1);
    store_rig_free(r);
    (void)state;
}

/* The statement that drops rows must know every column that refers to a blob. */
static void every_column_that_names_a_blob_is_known_to_collection(void **state)
{
    struct store_rig *r = store_rig_new();
    sqlite3_stmt *stmt = NULL;
    int n = 0;

    assert_int_equal(
        sqlite3_prepare_v2(
            r->store->db,
            "SELECT t.name || '.' || f.\"from\" || ' = blob.sha256' FROM pragma_table_list t"
            " JOIN pragma_foreign_key_list(t.name) f WHERE f.\"table\" = 'blob'",
            -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        if (!strstr(sql_text[SQL_BLOB_DROP_UNNAMED], text))
            fail_msg("not in BLOB_DROP_UNNAMED: %s", text);
        n++;
    }
    sqlite3_finalize(stmt);
    assert_int_equal(n, 5);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted_and_added_again_without_effect),
        cmocka_unit_test(an_uploaded_blob_has_an_hour_to_be_named),
        cmocka_unit_test(what_a_row_names_stays),
        cmocka_unit_test(nothing_goes_because_of_a_turn_that_fails),
        cmocka_unit_test(saying_again_that_it_is_there_gives_another_hour),
        cmocka_unit_test(a_file_put_again_is_young_again),
        cmocka_unit_test(an_upload_that_nobody_goes_on_with_goes_after_a_day),
        cmocka_unit_test(every_column_that_names_a_blob_is_known_to_collection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
