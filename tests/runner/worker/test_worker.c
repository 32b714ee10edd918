/* test_worker.c - real workers on a generated table, end to end: ingest, fit, rungs, artifacts, refit, limits, resuming,
 * death. The workers are this program. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "ml/family/family.h"
#include "ml/model/artifact.h"
#include "tests/runner/stage.h"
#include "trial-runner/runner.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>

/* ---- tables and grants ---- */

/* Two numbers and a level decide a noisy class. */
static char *table_new(int rows, size_t *n)
{
    struct buf b;
    struct rng r;

    rng_init(&r, 7, 0);
    buf_init(&b, (size_t)64 << 20);
    assert_int_equal(buf_adds(&b, "x1,x2,kind,y\n", NULL), 0);
    for (int i = 0; i < rows; i++) {
        double x1 = rng_unit(&r), x2 = rng_normal(&r);
        int kind = (int)rng_below(&r, 3);
        bool y = x1 + 0.3 * x2 + 0.4 * kind + 0.5 * rng_normal(&r) > 1;

        assert_int_equal(buf_addf(&b, NULL, "%.6f,%.6f,k%d,%s\n", x1, x2, kind, y ? "yes" : "no"),
                         0);
    }
    return buf_take(&b, n);
}

static bool task_ended(struct stage *g)
{
    return mock_count(g->mock, MSG_TASK_DONE) + mock_count(g->mock, MSG_TASK_FAILED) > 0;
}

static void grant_ingest(struct stage *g, const char *csv, size_t n)
{
    struct msg_grant m = { .kind = MSG_INGEST, .task = 1, .fence = 1, .source_name = "t.csv" };

    mock_blob(g->mock, csv, n, m.source);
    mock_grant(g->mock, &m);
}

/* A frame of `rows` rows, through the worker. The runner is started here. */
static void frame_make(struct stage *g, int rows, char frame[SHA256_HEX])
{
    size_t n = 0;
    char *csv = table_new(rows, &n);

    grant_ingest(g, csv, n);
    mem_free(csv);
    stage_start(g);
    stage_run_until(g, task_ended);
    if (mock_count(g->mock, MSG_TASK_FAILED))
        fail_msg("ingest: %s", mock_event(g->mock, 0)->detail);
    memcpy(frame, mock_find(g->mock, MSG_TASK_DONE, 1)->blob, SHA256_HEX);
}

static struct msg_grant fit_of(const char *frame)
{
    struct msg_grant m = { .kind = MSG_FIT, .group = 1, .study = 1, .n_trials = 1 };

    memcpy(m.data.frame, frame, SHA256_HEX);
    str_copy(m.data.target, sizeof m.data.target, "y");
    str_copy(m.data.task, sizeof m.data.task, "binary");
    str_copy(m.data.metric, sizeof m.data.metric, "auc");
    m.data.folds = 3;
    m.data.split_seed = 5;
    return m;
}

/* For trials that shall not end: log loss gets better for very many small steps, AUC by chance only. */
static struct msg_grant long_fit_of(const char *frame)
{
    struct msg_grant m = fit_of(frame);

    str_copy(m.data.metric, sizeof m.data.metric, "logloss");
    return m;
}

static const char boost[] = "{\"family\":\"boost\"}";
/* Time in which a fit has one usable step on every fold, on a machine that has nothing else to do. */
enum { DEADLINE_MS = TEST_ROUNDS(700, 5000), DEADLINE_MOST_MS = 45000 };
/* Far longer than any test that ends it waits. */
static const char endless[] = "{\"family\":\"boost\",\"learning_rate\":0.0001,\"leaves\":512,"
                              "\"min_leaf\":1,\"l2\":0}";

static void grant_fit(struct stage *g, struct msg_grant m, int64_t trial, const char *config,
                      int from, int to, const char *checkpoint)
{
    struct msg_trial granted = {
        .trial = trial, .fence = 1, .config = (char *)config, .seed = 3, .from = from, .to = to
    };

    if (checkpoint)
        memcpy(granted.checkpoint, checkpoint, SHA256_HEX);
    if (checkpoint)
        granted.fence = 2;
    m.trials = &granted;
    mock_grant(g->mock, &m);
}

static int top_of(const char *family)
{
    return family_find(family)->levels;
}

static int wanted_ends;
static int n_ends(struct stage *g)
{
    return mock_count(g->mock, MSG_COMPLETE) + mock_count(g->mock, MSG_FAILED) +
           mock_count(g->mock, MSG_PAUSED);
}
static bool all_ended(struct stage *g)
{
    return n_ends(g) >= wanted_ends;
}
static bool has_progress(struct stage *g)
{
    return mock_count(g->mock, MSG_PROGRESS) > 0;
}
static bool has_checkpoint(struct stage *g)
{
    return mock_count(g->mock, MSG_CHECKPOINT) > 0;
}

static void run_to_ends(struct stage *g, int n)
{
    wanted_ends = n;
    stage_run_until(g, all_ended);
}

/* Runs trials that would not end, from `trial` on, to deadlines of ever more time until one had enough for something to ship.
 * Returns that one. */
static int64_t run_to_deadline(struct stage *g, const char *frame, int64_t trial,
                               const char *checkpoint)
{
    struct msg_grant m = long_fit_of(frame);

    for (m.deadline_ms = DEADLINE_MS;; m.deadline_ms *= 4, trial++) {
        assert_true(m.deadline_ms <= DEADLINE_MOST_MS);
        grant_fit(g, m, trial, endless, 0, top_of("boost"), checkpoint);
        run_to_ends(g, n_ends(g) + 1);
        if (mock_find(g->mock, MSG_COMPLETE, trial))
            return trial;
        assert_int_equal(mock_find(g->mock, MSG_FAILED, trial)->reason, TR_BUDGET);
    }
}

/* ---- ingest ---- */

static void a_table_becomes_a_frame_and_its_schema(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX];
    const char *bytes = NULL;
    json_t *detail = NULL;
    size_t n = 0;

    frame_make(g, 500, frame);
    detail = jsonx_load(mock_find(g->mock, MSG_TASK_DONE, 1)->detail,
                        strlen(mock_find(g->mock, MSG_TASK_DONE, 1)->detail), "detail", NULL);
    assert_true(mock_has_blob(g->mock, frame, &bytes, &n));
    /* The detail is longer than the mock keeps: its head says enough. */
    json_decref(detail);
    assert_non_null(strstr(mock_find(g->mock, MSG_TASK_DONE, 1)->detail, "\"bytes\":"));
    assert_non_null(strstr(mock_find(g->mock, MSG_TASK_DONE, 1)->detail, frame));
    assert_true(n > 500 * 8);
}

static void a_broken_table_is_refused_with_its_line(void **state)
{
    static const char csv[] = "a,b\n1,2\n3\n";
    struct stage *g = *state;

    grant_ingest(g, csv, sizeof csv - 1);
    stage_start(g);
    stage_run_until(g, task_ended);
    assert_int_equal(mock_event(g->mock, 0)->type, MSG_TASK_FAILED);
    assert_int_equal(mock_event(g->mock, 0)->reason, TR_INVALID);
    assert_non_null(strstr(mock_event(g->mock, 0)->detail, "line 3"));
}

/* ---- fits ---- */

static void every_family_ends_with_a_loadable_artifact(void **state)
{
    static const char *const configs[] = { "{\"family\":\"baseline\"}", "{\"family\":\"linear\"}",
                                           boost };
    struct stage *g = *state;
    char frame[SHA256_HEX];

    frame_make(g, 400, frame);
    g->final_action = MSG_KEEP;
    for (int i = 0; i < 3; i++)
        grant_fit(g, fit_of(frame), i + 1, configs[i], 0,
                  i < 2 ? top_of(i ? "linear" : "baseline") : top_of("boost"), NULL);
    run_to_ends(g, 3);
    for (int i = 0; i < 3; i++) {
        const struct mock_event *ev = mock_find(g->mock, MSG_COMPLETE, i + 1);
        struct err err = { 0 };
        struct artifact *a = NULL;
        const char *bytes = NULL;
        size_t n = 0;

        if (!ev)
            fail_msg("%s: %s", configs[i], mock_find(g->mock, MSG_FAILED, i + 1)->detail);
        assert_true(mock_has_blob(g->mock, ev->blob, &bytes, &n));
        a = artifact_load(bytes, n, &err);
        if (!a)
            fail_msg("%s: %s", configs[i], err.text);
        artifact_close(a);
        ev = mock_find(g->mock, MSG_FINAL, i + 1);
        assert_true(isfinite(ev->value) && ev->value >= (i ? 0.7 : 0.5));
        assert_non_null(strstr(ev->detail, "\"free\":"));
    }
}

static void what_cannot_be_fitted_says_why(void **state)
{
    static const struct {
        const char *config, *target, *text;
    } cases[] = {
        { "{\"family\":\"nonesuch\"}", "y", "nonesuch" },
        { "{\"family\":\"boost\",\"color\":1}", "y", "no such parameter" },
        { "{\"family\":\"boost\",\"learning_rate\":\"fast\"}", "y", "must be a number" },
        { "{\"family\":\"boost\",\"learning_rate\":-1}", "y", "" },
        { "{\"learning_rate\":0.1}", "y", "family" },
        { "{\"family\":\"boost\"}", "z", "z" },
    };
    struct stage *g = *state;
    char frame[SHA256_HEX];

    frame_make(g, 100, frame);
    for (int i = 0; i < (int)ARRAY_LEN(cases); i++) {
        struct msg_grant m = fit_of(frame);

        str_copy(m.data.target, sizeof m.data.target, cases[i].target);
        grant_fit(g, m, i + 1, cases[i].config, 0, top_of("boost"), NULL);
    }
    run_to_ends(g, (int)ARRAY_LEN(cases));
    for (int i = 0; i < (int)ARRAY_LEN(cases); i++) {
        const struct mock_event *ev = mock_find(g->mock, MSG_FAILED, i + 1);

        assert_int_equal(ev->reason, TR_INVALID);
        if (!strstr(ev->detail, cases[i].text))
            fail_msg("%s: %s", cases[i].config, ev->detail);
    }
}

static void pausing_and_resuming_changes_no_bit(void **state)
{
    struct stage *g = *state;
    int top = top_of("boost");
    char frame[SHA256_HEX];
    double straight = NAN;

    assert_true(top >= 2);
    frame_make(g, 400, frame);
    g->final_action = MSG_KEEP;
    grant_fit(g, fit_of(frame), 1, boost, 0, top, NULL);
    run_to_ends(g, 1);
    straight = mock_find(g->mock, MSG_FINAL, 1)->value;
    g->rung_action = MSG_PAUSE;
    grant_fit(g, fit_of(frame), 2, boost, 0, 1, NULL);
    run_to_ends(g, 2);
    assert_int_equal(mock_find(g->mock, MSG_RUNG, 2)->level, 1);
    grant_fit(g, fit_of(frame), 2, boost, 1, top, mock_find(g->mock, MSG_PAUSED, 2)->blob);
    run_to_ends(g, 3);
    assert_true(mock_find(g->mock, MSG_FINAL, 2)->value == straight);
    assert_string_equal(mock_find(g->mock, MSG_COMPLETE, 2)->blob,
                        mock_find(g->mock, MSG_COMPLETE, 1)->blob);
    g->rung_action = MSG_RUN_TO;
    g->run_to = top;
    grant_fit(g, fit_of(frame), 3, boost, 0, 1, NULL);
    run_to_ends(g, 4);
    assert_string_equal(mock_find(g->mock, MSG_COMPLETE, 3)->blob,
                        mock_find(g->mock, MSG_COMPLETE, 1)->blob);
}

static void draining_saves_and_the_next_runner_goes_on(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX], saved[SHA256_HEX];

    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    g->rules.lease_ms = 30000;
    grant_fit(g, long_fit_of(frame), 1, endless, 0, top_of("boost"), NULL);
    stage_run_until(g, has_progress);
    agent_drain(g->agent);
    loop_run(g->loop, NULL);
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_DRAINED);
    memcpy(saved, mock_find(g->mock, MSG_CHECKPOINT, 1)->blob, SHA256_HEX);
    stage_stop(g);
    stage_start(g);
    int64_t last = run_to_deadline(g, frame, 2, saved);
    assert_int_equal(mock_find(g->mock, MSG_COMPLETE, last)->fence, 2);
}

static void long_work_leaves_checkpoints(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX];

    g->checkpoint_ms = 100;
    frame_make(g, 12000, frame);
    grant_fit(g, long_fit_of(frame), 1, endless, 0, top_of("boost"), NULL);
    stage_run_until(g, has_checkpoint);
    assert_true(mock_has_blob(g->mock, mock_find(g->mock, MSG_CHECKPOINT, 1)->blob, NULL, NULL));
}

static void a_checkpoint_that_cannot_be_read_costs_only_its_work(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX], rubbish[SHA256_HEX];

    frame_make(g, 400, frame);
    g->final_action = MSG_KEEP;
    mock_blob(g->mock, "rubbish", 7, rubbish);
    grant_fit(g, fit_of(frame), 1, boost, 1, top_of("boost"), rubbish);
    grant_fit(g, fit_of(frame), 2, boost, 0, top_of("boost"), NULL);
    run_to_ends(g, 2);
    assert_string_equal(mock_find(g->mock, MSG_COMPLETE, 1)->blob,
                        mock_find(g->mock, MSG_COMPLETE, 2)->blob);
}

/* ---- limits ---- */

static void the_deadline_cuts_with_the_best_so_far(void **state)
{
    struct stage *g = *state;
    struct msg_grant m;
    char frame[SHA256_HEX];

    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    int64_t last = run_to_deadline(g, frame, 2, NULL);
    assert_true(mock_find(g->mock, MSG_FINAL, last)->cut);
    m = long_fit_of(frame);
    m.deadline_ms = 1;
    grant_fit(g, m, 1, endless, 0, top_of("boost"), NULL);
    run_to_ends(g, n_ends(g) + 1);
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_BUDGET);
}

static void a_paused_trial_without_time_completes_with_what_it_has(void **state)
{
    static const char slow[] = "{\"family\":\"boost\",\"learning_rate\":0.01}"; /* at its top */
    struct stage *g = *state;
    int top = top_of("boost");
    struct msg_grant m;
    char frame[SHA256_HEX];

    frame_make(g, 400, frame);
    g->rung_action = MSG_PAUSE;
    g->final_action = MSG_KEEP;
    grant_fit(g, fit_of(frame), 1, slow, 0, top - 1, NULL);
    run_to_ends(g, 1);
    m = fit_of(frame);
    m.deadline_ms = 1;
    grant_fit(g, m, 1, slow, top - 1, top, mock_find(g->mock, MSG_PAUSED, 1)->blob);
    run_to_ends(g, 2);
    assert_int_equal(mock_count(g->mock, MSG_COMPLETE), 1);
    assert_true(mock_find(g->mock, MSG_FINAL, 1)->cut);
    assert_true(mock_find(g->mock, MSG_FINAL, 1)->value == mock_find(g->mock, MSG_RUNG, 1)->value);
}

#if !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__) /* they hold far more than a worker */
/* A trial that would fill the device's memory ends with its best so far before anybody must be killed; the next one runs in
 * the same process. */
static void a_trial_ends_before_its_worker_is_full(void **state)
{
    struct stage *g = *state;
    struct msg_grant m;
    char frame[SHA256_HEX];

    g->device_bytes = 48 << 20;
    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    m = long_fit_of(frame);
    grant_fit(g, m, 1, endless, 0, top_of("boost"), NULL);
    grant_fit(g, m, 2, "{\"family\":\"baseline\"}", 0, top_of("baseline"), NULL);
    run_to_ends(g, 2);
    if (mock_count(g->mock, MSG_FAILED))
        fail_msg("%s", mock_find(g->mock, MSG_FAILED, 1)->detail);
    assert_true(mock_find(g->mock, MSG_FINAL, 1)->cut);
    assert_false(mock_find(g->mock, MSG_FINAL, 2)->cut);
}
#endif

static void limits_of_a_trial_hold_between_slices(void **state)
{
    struct stage *g = *state;
    struct msg_grant m;
    char frame[SHA256_HEX];

    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    m = long_fit_of(frame);
    m.trial_memory_bytes = 1000;
    grant_fit(g, m, 1, endless, 0, top_of("boost"), NULL);
    run_to_ends(g, 1);
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_MEMORY);
    m.trial_memory_bytes = 0;
    m.trial_time_ms = 500;
    grant_fit(g, m, 2, endless, 0, top_of("boost"), NULL);
    run_to_ends(g, 2);
    if (mock_find(g->mock, MSG_FINAL, 2)) /* a slow machine may have nothing yet */
        assert_true(mock_find(g->mock, MSG_FINAL, 2)->cut);
    else
        assert_int_equal(mock_find(g->mock, MSG_FAILED, 2)->reason, TR_TIME);
    m.trial_time_ms = 1;
    grant_fit(g, m, 3, endless, 0, top_of("boost"), NULL);
    run_to_ends(g, 3);
    assert_true(mock_find(g->mock, MSG_FINAL, 3) ||
                mock_find(g->mock, MSG_FAILED, 3)->reason == TR_TIME);
}

/* ---- death ---- */

/* Of the one child that we have. */
static pid_t worker_pid(void)
{
    char path[80], text[80] = "";
    FILE *f = NULL;
    long pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    pid = strtol(text, NULL, 10);
    assert_true(pid > 1);
    return (pid_t)pid;
}

static void a_killed_worker_costs_one_report_and_work_goes_on(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX];

    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    grant_fit(g, long_fit_of(frame), 1, endless, 0, top_of("boost"), NULL);
    grant_fit(g, fit_of(frame), 2, "{\"family\":\"baseline\"}", 0, top_of("baseline"), NULL);
    stage_run_until(g, has_progress);
    kill(worker_pid(), SIGKILL);
    run_to_ends(g, 2);
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_WORKER_DIED);
    assert_string_equal(mock_find(g->mock, MSG_FAILED, 1)->detail,
                        "worker killed by signal 9 (Killed) while it ran alone");
    assert_non_null(mock_find(g->mock, MSG_COMPLETE, 2));
}

static void a_stopped_trial_makes_room_at_once(void **state)
{
    struct stage *g = *state;
    char frame[SHA256_HEX];

    frame_make(g, 12000, frame);
    g->final_action = MSG_KEEP;
    grant_fit(g, long_fit_of(frame), 7, endless, 0, top_of("boost"), NULL);
    grant_fit(g, fit_of(frame), 2, "{\"family\":\"baseline\"}", 0, top_of("baseline"), NULL);
    stage_run_until(g, has_progress);
    g->stop_trial = 7;
    run_to_ends(g, 1);
    assert_non_null(mock_find(g->mock, MSG_COMPLETE, 2));
    assert_null(mock_find(g->mock, MSG_FINAL, 7));
}

/* ---- refit ---- */

static void a_refit_ships_the_winner_on_all_rows(void **state)
{
    struct stage *g = *state;
    struct msg_grant m;
    char frame[SHA256_HEX];
    const char *bytes = NULL;
    struct artifact *a = NULL;
    size_t n = 0;

    frame_make(g, 400, frame);
    m = fit_of(frame);
    m.kind = MSG_REFIT;
    m.n_trials = 0;
    m.task = 2;
    m.fence = 1;
    m.config = (char *)boost;
    m.seed = 3;
    m.rounds_hint = 20;
    mock_grant(g->mock, &m);
    while (mock_count(g->mock, MSG_TASK_DONE) + mock_count(g->mock, MSG_TASK_FAILED) < 2)
        stage_run_for(g, 20);
    if (!mock_find(g->mock, MSG_TASK_DONE, 2))
        fail_msg("%s", mock_find(g->mock, MSG_TASK_FAILED, 2)->detail);
    assert_true(mock_has_blob(g->mock, mock_find(g->mock, MSG_TASK_DONE, 2)->blob, &bytes, &n));
    a = artifact_load(bytes, n, NULL);
    assert_non_null(a);
    assert_int_equal(artifact_info(a)->n_models, 1);
    artifact_close(a);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stage_setup, stage_teardown)
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(a_table_becomes_a_frame_and_its_schema),
        T(a_broken_table_is_refused_with_its_line),
        T(every_family_ends_with_a_loadable_artifact),
        T(what_cannot_be_fitted_says_why),
        T(pausing_and_resuming_changes_no_bit),
        T(draining_saves_and_the_next_runner_goes_on),
        T(long_work_leaves_checkpoints),
        T(a_checkpoint_that_cannot_be_read_costs_only_its_work),
        T(the_deadline_cuts_with_the_best_so_far),
        T(a_paused_trial_without_time_completes_with_what_it_has),
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
        T(a_trial_ends_before_its_worker_is_full),
#endif
        T(limits_of_a_trial_hold_between_slices),
        T(a_killed_worker_costs_one_report_and_work_goes_on),
        T(a_stopped_trial_makes_room_at_once),
        T(a_refit_ships_the_winner_on_all_rows),
    };

    if (argc > 1 && str_eq(argv[1], "--worker"))
        return runner_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
