/* test_migrate.c - a new folder gets the newest schema; every table is STRICT; the schema guards what code relies on. */
#include "tests/store/store_rig.h"

#include "store/migrate.h"
#include "store/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int64_t pragma_i64(struct store_rig *r, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t v = -1;

    assert_int_equal(sqlite3_prepare_v2(r->store->db, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        v = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return v;
}

static void a_new_database_has_the_newest_schema_and_the_pragmas(void **state)
{
    struct store_rig *r = store_rig_new();

    assert_int_equal(pragma_i64(r, "PRAGMA user_version"), store_version_newest());
    assert_int_equal(pragma_i64(r, "PRAGMA foreign_keys"), 1);
    assert_int_equal(pragma_i64(r, "PRAGMA synchronous"), 2);
    assert_int_equal(pragma_i64(r, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    store_rig_free(r);
    (void)state;
}

/* Searchers were stored as bytes up to version 4. */
static void a_database_with_stored_searchers_opens_without_them(void **state)
{
    static const char old[] =
        "CREATE TABLE search_state (study INTEGER PRIMARY KEY REFERENCES study (id),"
        " seq INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;"
        "INSERT INTO search_state VALUES (1, 7, x'01ff');"
        "DROP TABLE epochs;"
        "DROP TABLE output;"
        "DROP TABLE pipeline;"
        "DROP TRIGGER trial_predictions_freed;"
        "DROP TRIGGER trial_predictions_deleted;"
        "DROP INDEX trial_predictions;"
        "ALTER TABLE trial DROP COLUMN predictions;"
        "PRAGMA user_version = 4;";
    struct store_rig *r = store_rig_new();

    store_rig_study(r, "one");
    store_rig_commit(r);
    assert_int_equal(sqlite3_exec(r->store->db, old, NULL, NULL, NULL), SQLITE_OK);
    store_rig_restart(r);
    assert_int_equal(pragma_i64(r, "PRAGMA user_version"), store_version_newest());
    assert_int_equal(
        pragma_i64(r, "SELECT count(*) FROM sqlite_schema WHERE name = 'search_state'"), 0);
    assert_int_equal(pragma_i64(r, "SELECT count(*) FROM study WHERE name = 'one'"), 1);
    assert_int_equal(pragma_i64(r, "PRAGMA foreign_key_check"), -1);
    store_rig_free(r);
    (void)state;
}

static void every_table_is_strict(void **state)
{
    struct store_rig *r = store_rig_new();

    assert_true(
        pragma_i64(
            r, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND"
               " name NOT LIKE 'sqlite_%'") >= 13);
    assert_int_equal(
        pragma_i64(
            r, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND"
               " name NOT LIKE 'sqlite_%' AND NOT strict"),
        0);
    store_rig_free(r);
    (void)state;
}

/* Every column that refers to another table can be found by an index, or deleting a parent would scan. */
static void every_reference_has_an_index(void **state)
{
    struct store_rig *r = store_rig_new();

    assert_int_equal(
        pragma_i64(
            r,
            "SELECT count(*) FROM pragma_table_list t JOIN pragma_foreign_key_list(t.name) f"
            " WHERE t.schema = 'main' AND t.name != 'attempt' AND NOT EXISTS (SELECT 1 FROM"
            " pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c ON c.seqno = 0 WHERE c.name = f.\"from\")"
            " AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) p WHERE p.name = f.\"from\" AND p.pk = 1)"),
        0);
    store_rig_free(r);
    (void)state;
}

static void states_outside_the_tables_cannot_be_stored(void **state)
{
    static const char *const bad[] = {
        "UPDATE study SET state = 'none'",   "UPDATE trial SET state = 'lost'",
        "UPDATE trial SET state = 'QUEUED'", "UPDATE trial SET number = 0",
        "UPDATE trial SET level = 'two'",
    };
    struct store_rig *r = store_rig_new();

    store_rig_trial(r, store_rig_study(r, "one"), 1);
    store_rig_commit(r);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (sqlite3_exec(r->store->db, bad[i], NULL, NULL, NULL) == SQLITE_OK)
            fail_msg("stored: %s", bad[i]);
    }
    for (int i = 1; i < TS_STATES; i++) { /* and each name that the code knows can */
        char sql[100];

        snprintf(sql, sizeof sql, "UPDATE trial SET state = '%s'", trial_state_name[i]);
        assert_int_equal(sqlite3_exec(r->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    for (int i = 1; i < SS_STATES; i++) {
        char sql[100];

        snprintf(sql, sizeof sql, "UPDATE study SET state = '%s'", study_state_name[i]);
        assert_int_equal(sqlite3_exec(r->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_database_has_the_newest_schema_and_the_pragmas),
        cmocka_unit_test(a_database_with_stored_searchers_opens_without_them),
        cmocka_unit_test(every_table_is_strict),
        cmocka_unit_test(every_reference_has_an_index),
        cmocka_unit_test(states_outside_the_tables_cannot_be_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
