/* test_trial.c - rows of trials, reports and attempts. */
#include "tests/store/store_rig.h"

#include "base/mem.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_column_comes_back_as_it_went_in(void **state)
{
    struct store_rig *r = store_rig_new();
    struct trial_row in = { .study = store_rig_study(r, "one"),
                            .number = 1,
                            .config = mem_strdup("{\"family\":\"boost\"}"),
                            .config_hash = "0123456789abcdef",
                            .family = mem_strdup("boost"),
                            .shape_key = mem_strdup("boost/63"),
                            .seed = UINT64_MAX - 3,
                            .reason = TR_DRAINED,
                            .detail = mem_strdup("text"),
                            .fence = 4,
                            .msg_seq = 5,
                            .msg_answer = mem_strdup("{\"a\":1}"),
                            .level = 1,
                            .max_level = 4,
                            .run_to = 2,
                            .score = 0.1,
                            .score_se = DBL_MIN,
                            .select_value = -DBL_MAX,
                            .test_score = NAN,
                            .test_se = 0,
                            .checkpoint_level = 1,
                            .info = mem_strdup("{}"),
                            .crashes_alone = 1,
                            .retry_of = 9,
                            .vstart = 100,
                            .vcost = 7,
                            .created_at = 1,
                            .started_at = 2,
                            .ended_at = 3 };
    struct trial_row out = { 0 };

    store_rig_blob(r, 4, 10, "checkpoint", in.checkpoint);
    store_rig_blob(r, 5, 10, "artifact", in.artifact);
    assert_int_equal(store_trial_insert(r->store, &in, NULL), 0);
    assert_int_equal(store_trial_get(r->store, in.id, &out, NULL), 1);
    assert_int_equal(out.study, in.study);
    assert_int_equal(out.number, 1);
    assert_string_equal(out.config, in.config);
    assert_string_equal(out.config_hash, in.config_hash);
    assert_string_equal(out.family, in.family);
    assert_string_equal(out.shape_key, in.shape_key);
    assert_true(out.seed == in.seed);
    assert_int_equal(out.state, TS_QUEUED);
    assert_int_equal(out.reason, TR_DRAINED);
    assert_string_equal(out.detail, in.detail);
    assert_int_equal(out.fence, 4);
    assert_int_equal(out.msg_seq, 5);
    assert_string_equal(out.msg_answer, in.msg_answer);
    assert_int_equal(out.level * 100 + out.max_level * 10 + out.run_to, 142);
    assert_true(out.score == 0.1 && out.score_se == DBL_MIN && out.select_value == -DBL_MAX);
    assert_true(isnan(out.test_score) && out.test_se == 0);
    assert_string_equal(out.checkpoint, in.checkpoint);
    assert_int_equal(out.checkpoint_level, 1);
    assert_string_equal(out.artifact, in.artifact);
    assert_string_equal(out.info, in.info);
    assert_int_equal(out.crashes_alone, 1);
    assert_int_equal(out.retry_of, 9);
    assert_int_equal(out.vstart, 100);
    assert_int_equal(out.vcost, 7);
    assert_int_equal(out.created_at * 100 + out.started_at * 10 + out.ended_at, 123);
    trial_row_fini(&in);
    trial_row_fini(&out);
    store_rig_free(r);
    (void)state;
}

static void a_number_is_used_once_and_only_in_a_study_that_is_there(void **state)
{
    struct store_rig *r = store_rig_new();
    struct trial_row row = { .study = store_rig_study(r, "one"),
                             .number = 1,
                             .config = mem_strdup("{}") };
    struct err err = { 0 };

    store_rig_trial(r, row.study, 1);
    assert_int_equal(store_trial_insert(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    row.study = 70;
    assert_int_equal(store_trial_insert(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(journal_last(r->store), 2);
    trial_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static void an_event_is_stored_with_its_journal_row_and_only_if_the_table_allows_it(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one"), id = store_rig_trial(r, study, 1);
    struct trial_row row = { 0 };
    struct err err = { 0 };

    assert_int_equal(store_trial_get(r->store, id, &row, NULL), 1);
    row.state = TS_COMPLETED;
    assert_int_equal(store_trial_event(r->store, &row, TE_COMPLETE, NULL, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    row.state = TS_RUNNING;
    row.fence = 1;
    assert_int_equal(store_trial_event(r->store, &row, TE_LEASE, "{\"runner\":1}", NULL), 0);
    row.level = 2;
    sha256_hex("never uploaded", 14, row.artifact);
    row.state = TS_COMPLETED;
    assert_int_equal(store_trial_event(r->store, &row, TE_COMPLETE, NULL, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(journal_last(r->store), 3);
    assert_int_equal(store_rig_count(r,
                                     "SELECT count(*) FROM journal WHERE event = 'trial.lease' AND"
                                     " data = '{\"runner\":1}' AND study = 1 AND trial = 1"),
                     1);
    trial_row_fini(&row);
    assert_int_equal(store_rig_step(r->store, id, TE_COMPLETE, NULL), 0);
    assert_int_equal(store_rig_step(r->store, id, TE_COMPLETE, &err), -1); /* exactly once */
    assert_int_equal(store_rig_step(r->store, id, TE_FAIL, &err), -1);
    store_rig_check_replay(r);
    store_rig_free(r);
    (void)state;
}

static void an_update_is_no_event(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t id = store_rig_trial(r, store_rig_study(r, "one"), 1);
    struct trial_row row = { 0 };
    struct err err = { 0 };

    assert_int_equal(store_trial_get(r->store, id, &row, NULL), 1);
    row.msg_seq = 3;
    assert_int_equal(store_trial_update(r->store, &row, NULL), 0);
    assert_int_equal(journal_last(r->store), 2);
    row.id = 50;
    assert_int_equal(store_trial_update(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    trial_row_fini(&row);
    assert_int_equal(store_trial_get(r->store, id, &row, NULL), 1);
    assert_int_equal(row.msg_seq, 3);
    trial_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static int on_trial(void *arg, struct trial_row *row)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 40 - n, "%lld ", (long long)row->number);
    return 0;
}

static void trials_come_by_number(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t one = store_rig_study(r, "one"), two = store_rig_study(r, "two");
    char text[40] = "";

    store_rig_trial(r, one, 3);
    store_rig_trial(r, two, 2);
    store_rig_trial(r, one, 1);
    store_rig_trial(r, one, 2);
    assert_int_equal(store_trial_each(r->store, one, on_trial, text, NULL), 0);
    assert_string_equal(text, "1 2 3 ");
    store_rig_free(r);
    (void)state;
}

static int on_report(void *arg, int level, double value, double se)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 100 - n, "%d:%.17g:%g ", level, value, se);
    return 0;
}

static void a_rung_is_reported_once_and_numbers_survive_exactly(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t id = store_rig_trial(r, store_rig_study(r, "one"), 1);
    char text[100] = "";
    struct err err = { 0 };

    assert_int_equal(store_report_add(r->store, id, 2, 0.1 + 0.2, 0.5, NULL), 0);
    assert_int_equal(store_report_add(r->store, id, 1, NAN, INFINITY, NULL), 0);
    assert_int_equal(store_report_add(r->store, id, 2, 1, 1, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(store_report_add(r->store, 99, 1, 1, 1, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(store_report_each(r->store, id, on_report, text, NULL), 0);
    assert_string_equal(text, "1:nan:nan 2:0.30000000000000004:0.5 ");
    store_rig_check_replay(r);
    store_rig_free(r);
    (void)state;
}

static int on_attempt(void *arg, const struct attempt_row *a)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 200 - n, "%lld %s %s %d-%d %s; ", (long long)a->fence, a->session, a->device,
             a->from_level, a->to_level, a->end_reason ? a->end_reason : "runs");
    return 0;
}

static void an_attempt_is_one_lease_and_is_closed_once(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t id = store_rig_trial(r, store_rig_study(r, "one"), 1);
    struct attempt_row a = { .trial = id,
                             .fence = 1,
                             .runner = store_rig_runner(r, "s1"),
                             .to_level = 2,
                             .session = "s1",
                             .device = "cpu0" };
    char text[200] = "";
    struct err err = { 0 };

    assert_int_equal(store_attempt_open(r->store, &a, NULL), 0);
    assert_int_equal(store_attempt_open(r->store, &a, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(store_attempt_close(r->store, id, 1, "lost", NULL), 0);
    assert_int_equal(store_attempt_close(r->store, id, 1, "lost", &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    a.fence = 2;
    a.from_level = 1;
    assert_int_equal(store_attempt_open(r->store, &a, NULL), 0);
    assert_int_equal(store_attempt_each(r->store, id, on_attempt, text, NULL), 0);
    assert_string_equal(text, "1 s1 cpu0 0-2 lost; 2 s1 cpu0 1-2 runs; ");
    assert_int_equal(store_attempt_reopen(r->store, id, 1, NULL),
                     0); /* REJOIN: the same lease goes on */
    assert_int_equal(store_attempt_close(r->store, id, 1, "completed", NULL), 0);
    assert_int_equal(store_attempt_reopen(r->store, id, 7, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    a.fence = 3;
    a.runner = 99;
    assert_int_equal(store_attempt_open(r->store, &a, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    store_rig_free(r);
    (void)state;
}

static int on_epochs(void *arg, int level, const char *data)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 200 - n, "%d %s; ", level, data);
    return 0;
}

static void epochs_of_the_last_runs_are_kept_and_go_with_their_study(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one"), id = store_rig_trial(r, study, 1);
    char text[200] = "", data[20];

    for (int level = 1; level <= EPOCHS_RUNS + 2; level++) {
        snprintf(data, sizeof data, "{\"n\":%d}", level);
        assert_int_equal(store_epochs_put(r->store, id, level, data, NULL), 0);
    }
    assert_int_equal(store_epochs_put(r->store, id, 5, "{}", NULL), 0); /* replaces; 6 goes */
    assert_int_equal(store_epochs_each(r->store, id, on_epochs, text, NULL), 0);
    assert_string_equal(text, "3 {\"n\":3}; 4 {\"n\":4}; 5 {}; ");
    assert_int_equal(store_study_delete(r->store, study, NULL), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM epochs"), 0);
    store_rig_free(r);
    (void)state;
}

static int on_output(void *arg, const struct output_row *row)
{
    char *text = arg;
    size_t n = strlen(text);

    snprintf(text + n, 200 - n, "%d/%d %s;", (int)row->piece, (int)row->fence, row->text);
    return 0;
}

static void output_comes_in_pieces_up_to_a_limit_and_goes_with_its_study(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one"), id = store_rig_trial(r, study, 1);
    char text[200] = "", rest[200] = "";

    assert_int_equal(store_output_add(r->store, id, 1, "one", 10, NULL), 0);
    assert_int_equal(store_output_add(r->store, id, 1, "", 10, NULL), 0); /* nothing is no piece */
    assert_int_equal(store_output_add(r->store, id, 2, "two", 10, NULL), 0);
    assert_int_equal(store_output_add(r->store, id, 2, "seven", 10, NULL), 0); /* too much */
    assert_int_equal(store_output_add(r->store, id, 2, "four", 10, NULL), 0);
    assert_int_equal(store_output_each(r->store, id, 0, 100, on_output, text, NULL), 0);
    assert_string_equal(text, "1/1 one;2/2 two;3/2 four;");
    assert_int_equal(store_output_each(r->store, id, 1, 1, on_output, rest, NULL), 0);
    assert_string_equal(rest, "2/2 two;");
    assert_int_equal(store_study_delete(r->store, study, NULL), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM output"), 0);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_comes_back_as_it_went_in),
        cmocka_unit_test(a_number_is_used_once_and_only_in_a_study_that_is_there),
        cmocka_unit_test(an_event_is_stored_with_its_journal_row_and_only_if_the_table_allows_it),
        cmocka_unit_test(an_update_is_no_event),
        cmocka_unit_test(trials_come_by_number),
        cmocka_unit_test(a_rung_is_reported_once_and_numbers_survive_exactly),
        cmocka_unit_test(an_attempt_is_one_lease_and_is_closed_once),
        cmocka_unit_test(output_comes_in_pieces_up_to_a_limit_and_goes_with_its_study),
        cmocka_unit_test(epochs_of_the_last_runs_are_kept_and_go_with_their_study),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
