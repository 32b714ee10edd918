/* test_query.c - the table of statements: each finds its rows by a key, and values pass through unharmed. */
#include "tests/store/store_rig.h"

#include "store/query.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Those whose purpose is to read a whole table. */
static bool may_scan(int id)
{
    static const int whole[] = {
        SQL_RUNNER_EACH,
        SQL_TOKEN_EACH,
        SQL_SESSION_EACH,
        SQL_SESSION_EXPIRE,
        SQL_TASK_EACH,
        SQL_DATASET_EACH,
        SQL_BLOB_TOTAL,
        SQL_REPLAY_JOURNAL,
        SQL_REPLAY_STUDIES,
        SQL_REPLAY_TRIALS,
        SQL_REPLAY_REPORTS,
        SQL_STUDY_EACH /* newest first, in the order of the table, until the limit */
    };

    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        if (whole[i] == id)
            return true;
    }
    return id >= SQL_DIGEST_FIRST && id <= SQL_DIGEST_LAST;
}

static void no_statement_scans_a_table_unasked(void **state)
{
    struct store_rig *r = store_rig_new();

    for (int id = 0; id < SQL_COUNT; id++) {
        sqlite3_stmt *stmt = NULL;
        char text[3000];

        if (may_scan(id))
            continue;
        snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql_text[id]);
        if (sqlite3_prepare_v2(r->store->db, text, -1, &stmt, NULL) != SQLITE_OK)
            continue; /* BEGIN and its kin have no plan */
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(stmt, 3);

            /* The rows of a subquery were found by its own plan, which has a line of its own. */
            if (strstr(plan, "SCAN") && !strstr(plan, "USING INDEX task_open") &&
                !strstr(plan, "SCAN (subquery") && !strstr(plan, "SCAN CONSTANT ROW"))
                fail_msg("%s\n    %s", sql_text[id], plan);
            if (strstr(plan,
                       "TEMP B-TREE") && /* each sorts little or is asked once in a long while: */
                id != SQL_DATASET_FIND_HASH && /* the one or two that match */
                id != SQL_TRIAL_COUNTS)        /* only for a study that cannot be loaded */
                fail_msg("%s\n    %s", sql_text[id], plan);
        }
        sqlite3_finalize(stmt);
    }
    store_rig_free(r);
    (void)state;
}

static void not_a_number_and_zero_references_are_null(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t trial = store_rig_trial(r, store_rig_study(r, "one"), 1);

    assert_int_equal(trial, 1);
    assert_int_equal(
        store_rig_count(r,
                        "SELECT count(*) FROM trial WHERE score IS NULL AND checkpoint IS NULL AND"
                        " retry_of IS NULL AND reason IS NULL AND detail IS NULL"),
        1);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial WHERE seed = -2"),
                     1); /* UINT64_MAX - 1 */
    store_rig_free(r);
    (void)state;
}

static void text_with_quotes_is_data(void **state)
{
    static const char *const names[] = { "'; DROP TABLE study; --", "\" OR 1 = 1", "%s%n",
                                         "\xf0\x9f\x98\x80" };
    struct store_rig *r = store_rig_new();
    struct study_row row = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t id = store_rig_study(r, names[i]);

        assert_int_equal(store_study_find(r->store, names[i], &row, NULL), 1);
        assert_int_equal(row.id, id);
        study_row_fini(&row);
    }
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 4);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_statement_scans_a_table_unasked),
        cmocka_unit_test(not_a_number_and_zero_references_are_null),
        cmocka_unit_test(text_with_quotes_is_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
