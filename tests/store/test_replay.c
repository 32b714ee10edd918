/* test_replay.c - the journal rebuilds the state, and whatever disagrees is named: rows are changed behind the store's
 * back, one way at a time. */
#include "tests/store/store_rig.h"

#include "store/query.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct lines {
    char text[1000];
    int n;
};

static void on_diff(void *arg, const char *line)
{
    struct lines *l = arg;
    size_t n = strlen(l->text);

    snprintf(l->text + n, sizeof l->text - n, "%s\n", line);
    l->n++;
}

/* A study that ran, with trials in several states. */
static void history_make(struct store_rig *r)
{
    int64_t study = store_rig_study(r, "one");

    assert_int_equal(store_rig_study_step(r->store, study, SE_START, NULL), 0);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(store_rig_trial(r, study, i), i);
    assert_int_equal(store_rig_step(r->store, 1, TE_LEASE, NULL), 0);
    assert_int_equal(store_report_add(r->store, 1, 1, 0.123456789012345678, NAN, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 1, TE_PAUSE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 1, TE_PROMOTE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 1, TE_LEASE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 1, TE_COMPLETE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 2, TE_LEASE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 2, TE_LOST, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 2, TE_REJOIN, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 2, TE_FAIL, NULL), 0);
    assert_int_equal(store_rig_step(r->store, 3, TE_CANCEL, NULL), 0);
    assert_int_equal(journal_add(r->store, study, 0, "some.note", "not even JSON", NULL), 0);
    store_rig_commit(r);
}

static void an_honest_history_replays_identically(void **state)
{
    struct store_rig *r = store_rig_new();
    struct lines lines = { 0 };

    assert_int_equal(store_replay(r->store, on_diff, &lines, NULL), 0); /* an empty one */
    history_make(r);
    store_rig_study(r, "two");
    assert_int_equal(store_study_delete(r->store, 2, NULL), 0);
    assert_int_equal(store_replay(r->store, on_diff, &lines, NULL), 0);
    assert_string_equal(lines.text, "");
    store_rig_free(r);
    (void)state;
}

static void every_disagreement_is_named(void **state)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        { "UPDATE trial SET state = 'failed' WHERE id = 1",
          "trial 1: row says failed, journal completed" },
        { "UPDATE study SET state = 'stopped'", "study 1: row says stopped, journal running" },
        { "DELETE FROM trial WHERE id = 4", "trial 4: in the journal, but no row" },
        { "INSERT INTO trial SELECT 9, study, 9, config, config_hash, family, shape_key, seed, state, reason, detail,"
          " fence, msg_seq, msg_answer, level, max_level, run_to, score, score_se, select_value, test_score, test_se,"
          " checkpoint, checkpoint_level, artifact, info, crashes_alone, retry_of, vstart, vcost, created_at, started_at,"
          " ended_at, NULL FROM trial WHERE id = 4",
          "trial 9: a row, but not in the journal" },
        { "UPDATE report SET value = 0.12",
          "row says 0.12 +- nan, journal 0.12345678901234568 +- nan" },
        { "DELETE FROM report", "report of trial 1: in the journal, but no row" },
        { "INSERT INTO report VALUES (1, 2, 1.0, 1.0)",
          "report of trial 1 at 2: a row, but not in the journal" },
        { "DELETE FROM journal WHERE event = 'trial.promote'", "trial 1 is paused: cannot lease" },
        { "DELETE FROM journal WHERE event = 'trial.create' AND trial = 2",
          "trial 2 is not created yet" },
        { "DELETE FROM journal WHERE event = 'study.create'", "study 1 is not created yet" },
        { "UPDATE journal SET event = 'trial.fly' WHERE event = 'trial.lost'",
          "is no trial event" },
        { "UPDATE journal SET data = 'x' WHERE event = 'report'", "report" },
        { "INSERT INTO journal VALUES (999, 1, 1, 1, 'trial.complete', NULL)",
          "trial 1 is completed: cannot complete" },
        { "INSERT INTO journal VALUES (999, 1, 1, 1, 'trial.create', NULL)",
          "trial 1 is created twice" },
        { "INSERT INTO journal VALUES (999, 1, 1, 1, 'report', '{\"level\":1}')",
          "reports level 1 twice" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_rig *r = store_rig_new();
        struct lines lines = { 0 };

        history_make(r);
        assert_int_equal(sqlite3_exec(r->store->db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_exec(r->store->db, cases[i].sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(store_replay(r->store, on_diff, &lines, NULL), 1);
        if (!strstr(lines.text, cases[i].want))
            fail_msg("%s: %s", cases[i].sql, lines.text);
        store_rig_free(r);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_history_replays_identically),
        cmocka_unit_test(every_disagreement_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
