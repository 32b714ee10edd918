/* test_api.c - the rest of what web/ may call: pages of lists, events, datasets, tokens and links, health, debug verbs, and
 * what a failed commit means to the requests of its turn. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/str.h"
#include "controller/serve/auth.h"
#include "store/blob.h"

#define SPEC \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':25},'seed':7,'scheduler':'none'}"

static int64_t ended_study(struct rig *r)
{
    int64_t id = 0;

    rig_open(r);
    rig_dataset(r, "d");
    id = rig_study(r, SPEC);
    rig_run(r, id, 2, 1, 0, 0);
    return id;
}

static int64_t num(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* ---- lists ---- */

static void pages_of_trials_hold_each_trial_once(void **state)
{
    static const char *const sorts[] = { "number", "-number", "score" };
    struct rig r;
    int64_t id = ended_study(&r);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(sorts); s++) {
        int seen[26] = { 0 };
        int64_t after = 0;

        for (int page = 0; page < 20; page++) {
            json_t *out = NULL, *row = NULL;
            size_t i = 0;

            assert_int_equal(
                RIG_CALL(&r, ctl_trials(r.ctl, "s", NULL, sorts[s], after, 4, &out, &rig_err)), 0);
            json_array_foreach(json_object_get(out, "trials"), i, row) seen[num(row, "number")]++;
            after = num(out, "next");
            json_decref(out);
            if (!after)
                break;
        }
        for (int k = 1; k <= 25; k++)
            assert_int_equal(seen[k], 1);
    }
    assert_int_equal(rig_get(&r, id)->n_board, 25);
    rig_close(&r);
}

static void the_leaderboard_is_ranked_in_pages(void **state)
{
    struct rig r;
    double last = 2;

    (void)state;
    ended_study(&r);
    for (int64_t at = 0; at < 25; at += 10) {
        json_t *out = NULL, *row = NULL;
        size_t i = 0;

        assert_int_equal(RIG_CALL(&r, ctl_leaderboard(r.ctl, "s", at, 10, &out, &rig_err)), 0);
        assert_int_equal(num(out, "total"), 25);
        json_array_foreach(json_object_get(out, "rows"), i, row)
        {
            double score = json_number_value(json_object_get(row, "score"));

            assert_int_equal(num(row, "rank"), at + (int64_t)i + 1);
            assert_true(score <= last);
            last = score;
        }
        json_decref(out);
    }
    rig_close(&r);
}

static void studies_without_a_name_never_collide(void **state)
{
    static const char *const names[] = { "d", "d-2", "d-3" };
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t id = rig_study(&r, "{'dataset':'d','target':'y','budget':{'trials':3}}");
        assert_string_equal(rig_get(&r, id)->row.name, names[i]);
    }
    json_t *spec = NULL, *data = NULL, *out = NULL;
    char text[200];
    assert_int_equal(RIG_CALL(&r, ctl_dataset_get(r.ctl, "d", &data, &rig_err)), 0);
    snprintf(text, sizeof text, "{'dataset':'%s','target':'y','budget':{'trials':3}}",
             json_string_value(json_object_get(data, "identity")));
    assert_string_equal(rig_get(&r, rig_study(&r, text))->row.name,
                        "d-4"); /* as the CLI names it */
    json_decref(data);
    spec = rig_json("{'name':'d-2','dataset':'d','target':'y'}");
    assert_int_equal(RIG_CALL(&r, ctl_study_create(r.ctl, spec, "o", false, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    json_decref(spec);
    rig_close(&r);
}

static void on_backup(void *arg, json_t *out_new, const struct err *err)
{
    assert_null(err);
    *(json_t **)arg = out_new;
}

static void bad_arguments_get_one_clear_error(void **state)
{
    struct rig r;
    json_t *out = NULL, *empty = json_object();
    char sha[SHA256_HEX], name[200];

    (void)state;
    ended_study(&r);
#define FAILS(call, want)                         \
    do {                                          \
        assert_int_equal(RIG_CALL(&r, call), -1); \
        assert_int_equal(rig_err.code, want);     \
        assert_true(rig_err.text[0]);             \
    } while (0)
    FAILS(ctl_trials(r.ctl, "s", "done", NULL, 0, 10, &out, &rig_err), ERR_ARG);
    FAILS(ctl_trials(r.ctl, "s", NULL, "speed", 0, 10, &out, &rig_err), ERR_ARG);
    FAILS(ctl_trials(r.ctl, "x", NULL, NULL, 0, 10, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_leaderboard(r.ctl, "s", -1, 10, &out, &rig_err), ERR_ARG);
    FAILS(ctl_leaderboard(r.ctl, "99", 0, 10, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_trial_get(r.ctl, 999, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_trial_kill(r.ctl, 999, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_trial_retry(r.ctl, 1, &out, &rig_err), ERR_CONFLICT);
    FAILS(ctl_trial_artifact(r.ctl, 999, sha, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_trial_logs(r.ctl, 999, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_best_artifact(r.ctl, "x", sha, name, sizeof name, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_dataset_create(r.ctl, empty, &out, &rig_err), ERR_ARG);
    FAILS(ctl_dataset_get(r.ctl, "x", &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_dataset_delete(r.ctl, "x", &rig_err), ERR_NOTFOUND);
    FAILS(ctl_runner_act(r.ctl, 99, "drain", &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_runner_act(r.ctl, 1, "explode", &out, &rig_err), ERR_ARG);
    FAILS(ctl_runner_report(r.ctl, 0, 1, empty, &out, &rig_err), ERR_ARG);
    FAILS(ctl_runner_hello(r.ctl, 0, empty, &out, &rig_err), ERR_ARG);
    FAILS(ctl_study_create(r.ctl, empty, "t", false, &out, &rig_err), ERR_ARG);
    FAILS(ctl_token_new(r.ctl, "a b", "user", &out, &rig_err), ERR_ARG);
    FAILS(ctl_token_new(r.ctl, "ab", "root", &out, &rig_err), ERR_ARG);
    FAILS(ctl_backup(r.ctl, "relative", on_backup, NULL, &rig_err), ERR_ARG);
    FAILS(ctl_debug(r.ctl, "stat", empty, &out, &rig_err), ERR_NOTFOUND);
    FAILS(ctl_blob_path(r.ctl, "../../etc/passwd", name, sizeof name, &rig_err), ERR_ARG);
#undef FAILS
    assert_null(out);
    json_decref(empty);
    rig_close(&r);
}

/* ---- datasets ---- */

static json_t *dataset(struct rig *r, const char *name, const char *file, const char *columns)
{
    char sha[SHA256_HEX];
    json_t *out = NULL;
    json_t *body = json_pack("{s:s?, s:s, s:s, s:o}", "name", name, "blob", rig_blob(r, file, sha),
                             "file_name", "my file.csv.gz", "columns",
                             columns ? rig_json(columns) : json_null());
    int rc = RIG_CALL(r, ctl_dataset_create(r->ctl, body, &out, &rig_err));

    json_decref(body);
    return rc == 0 ? out : NULL;
}

static void the_same_file_asked_for_again_is_the_same_dataset(void **state)
{
    struct rig r;
    json_t *a = NULL, *b = NULL, *c = NULL, *d = NULL;

    (void)state;
    rig_open(&r);
    a = dataset(&r, "a", "file", NULL);
    b = dataset(&r, "b", "file", NULL);
    c = dataset(&r, "c", "file", "{'x':'categorical'}");
    d = dataset(&r, NULL, "file 2", NULL);
    assert_int_equal(num(a, "id"), num(b, "id"));
    assert_int_not_equal(num(a, "id"), num(c, "id"));
    assert_string_equal(json_string_value(json_object_get(d, "name")), "my-file");
    assert_int_equal(r.ctl->n_tasks, 3);
    assert_null(dataset(&r, "a", "file 3", NULL)); /* the name is taken */
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    assert_null(dataset(&r, "e", "file 3", "{'x':'dates'}"));
    assert_string_equal(rig_err.where, "columns.x");
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(d);
    rig_close(&r);
}

static void a_dataset_in_use_cannot_be_deleted(void **state)
{
    struct rig r;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    rig_dataset(&r, "e");
    id = rig_study(
        &r, "{'name':'s','dataset':'d','target':'y','budget':{'trials':2},'test':{'dataset':'e'}}");
    assert_int_equal(RIG_CALL(&r, ctl_dataset_delete(r.ctl, "d", &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    assert_int_equal(RIG_CALL(&r, ctl_dataset_delete(r.ctl, "e", &rig_err)), -1);
    rig_run(&r, id, 1, 1, 0, 0);
    assert_int_equal(RIG_CALL(&r, ctl_dataset_delete(r.ctl, "d", &rig_err)), 0);
    rig_close(&r);
}

/* ---- events ---- */

struct feed {
    int64_t last, n, progress;
};

static void on_event(void *arg, int64_t seq, const char *event, const char *json)
{
    struct feed *f = arg;

    assert_non_null(json);
    if (seq == 0) {
        assert_string_equal(event, "progress");
        f->progress++;
        return;
    }
    assert_true(seq > f->last);
    f->last = seq;
    f->n++;
}

static void on_live(void *arg, int64_t study, int64_t seq, const char *event, const char *json)
{
    (void)study;
    on_event(arg, seq, event, json);
}

static void subscribers_get_every_committed_row_once_in_order(void **state)
{
    struct rig r;
    struct feed live = { 0 }, replayed = { 0 };
    struct ctl_sub *sub = NULL;
    bool more = true;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    live.last = replayed.last = ctl_events_last(r.ctl);
    sub = ctl_subscribe(r.ctl, 0, on_live, &live);
    id = rig_study(&r, SPEC);
    rig_run(&r, id, 2, 1, 0, 0);
    while (more)
        assert_int_equal(
            ctl_events_since(r.ctl, 0, replayed.last, 7, on_event, &replayed, &more, &rig_err), 0);
    assert_true(live.n > 50);
    assert_int_equal(live.n, replayed.n);
    assert_int_equal(live.last, replayed.last);
    ctl_unsubscribe(r.ctl, sub);
    rig_close(&r);
}

/* ---- commits ---- */

static void count_answers(void *arg, bool ok, const struct err *err)
{
    ((int *)arg)[ok ? 0 : 1]++;
    assert_int_equal(err == NULL, ok);
}

static void a_failed_commit_answers_no_to_every_request_of_its_turn(void **state)
{
    struct rig r;
    int answers[2] = { 0 };
    json_t *spec = rig_json(SPEC), *out = NULL, *token = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    assert_int_equal(ctl_request_begin(r.ctl, &rig_err), 0);
    assert_int_equal(ctl_study_create(r.ctl, spec, "t", false, &out, &rig_err), 0);
    assert_int_equal(ctl_request_end(r.ctl, true, &rig_err), 0);
    ctl_after_commit(r.ctl, count_answers, answers);
    assert_int_equal(ctl_request_begin(r.ctl, &rig_err), 0);
    assert_int_equal(ctl_token_new(r.ctl, "t", "user", &token, &rig_err), 0);
    assert_int_equal(ctl_request_end(r.ctl, true, &rig_err), 0);
    ctl_after_commit(r.ctl, count_answers, answers);
    json_decref(out);
    json_decref(token);
    fault_arm_name("turn.commit", 1, false);
    ctl_turn_end(r.ctl);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(answers[0], 0);
    assert_int_equal(answers[1], 2);
    assert_int_equal(r.ctl->n_studies, 0);
    assert_false(ctl_admits(r.ctl));
    rig_pass(&r, 1000);
    assert_true(ctl_admits(r.ctl));
    assert_int_equal(ctl_tokens(r.ctl, &out, &rig_err), 0);
    assert_int_equal(json_array_size(json_object_get(out, "tokens")), 0);
    json_decref(out);
    json_decref(spec);
    rig_close(&r);
}

static void slow_turn(struct rig *r, int64_t ms)
{
    assert_int_equal(rig_begin(r), 0);
    clk_advance(&r->clk, ms);
    assert_int_equal(rig_end(r, 0), 0);
}

static void slow_turns_push_back(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    assert_true(ctl_admits(r.ctl));
    for (int i = 0; i < 20; i++)
        slow_turn(&r, 30);
    assert_false(ctl_admits(r.ctl));
    for (int i = 0; i < 20; i++)
        assert_int_equal(RIG_CALL(&r, 0), 0);
    assert_true(ctl_admits(r.ctl)); /* quick turns bring it down */
    rig_close(&r);
}

/* An idle controller that refuses work because of one slow turn long ago would leave every device idle. */
static void one_slow_turn_is_soon_forgotten(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    slow_turn(&r, 3000);
    assert_false(ctl_admits(r.ctl));
    clk_advance(&r.clk, 200);
    assert_true(ctl_admits(r.ctl));
    rig_close(&r);
}

static void a_long_recovery_is_no_slow_turn(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_restart(&r);
    clk_advance(&r.clk, 3000); /* until the loop runs */
    rig_turn(&r);
    assert_int_equal(r.ctl->turn_avg_us, 0);
    assert_true(ctl_admits(r.ctl));
    rig_close(&r);
}

/* ---- who may come in ---- */

static void tokens_links_and_sessions_open_and_close(void **state)
{
    struct rig r;
    struct ctl_who who;
    struct ctl_keys keys, again;
    char code[33];
    json_t *out = NULL;
    const char *token = NULL;

    (void)state;
    rig_open(&r);
    assert_int_equal(RIG_CALL(&r, ctl_token_new(r.ctl, "ci", "runner", &out, &rig_err)), 0);
    token = json_string_value(json_object_get(out, "token"));
    assert_int_equal(ctl_token_who(r.ctl, token, &who, &rig_err), 0);
    assert_int_equal(who.role, CTL_RUNNER);
    assert_string_equal(who.name, "ci");
    assert_int_equal(ctl_token_who(r.ctl, "nonsense", &who, &rig_err), 0);
    assert_int_equal(who.role, CTL_NOBODY);
    assert_int_equal(RIG_CALL(&r, ctl_token_revoke(r.ctl, num(out, "id"), &rig_err)), 0);
    assert_int_equal(ctl_token_who(r.ctl, token, &who, &rig_err), 0);
    assert_int_equal(who.role, CTL_NOBODY);
    json_decref(out);

    assert_int_equal(ctl_link_new(r.ctl, NULL, NULL, code, &rig_err), 0);
    assert_int_equal(RIG_CALL(&r, ctl_link_use(r.ctl, code, &keys, &rig_err)), 0);
    assert_int_equal(RIG_CALL(&r, ctl_link_use(r.ctl, code, &again, &rig_err)), -1); /* once */
    assert_int_equal(ctl_session_who(r.ctl, &keys, &who, &rig_err), 0);
    assert_int_equal(who.role, CTL_ADMIN);
    again = keys;
    again.secret[0] = '\0';
    assert_int_equal(ctl_session_who(r.ctl, &again, &who, &rig_err), 0);
    assert_int_equal(who.role, CTL_NOBODY);
    assert_int_equal(ctl_link_new(r.ctl, NULL, NULL, code, &rig_err), 0);
    clk_advance(&r.clk, 600001);
    assert_int_equal(RIG_CALL(&r, ctl_link_use(r.ctl, code, &again, &rig_err)),
                     -1); /* ten minutes */
    rig_close(&r);
}

static void the_first_token_is_made_once_and_private(void **state)
{
    struct rig r;
    char path[400];
    struct buf text;

    (void)state;
    rig_open(&r);
    assert_int_equal(RIG_CALL(&r, auth_first_token(r.ctl, &rig_err)), 0);
    snprintf(path, sizeof path, "%s/admin-token", r.dir);
    assert_int_equal(io_read_file(path, 100, &text, &rig_err), 0);
    assert_int_equal(text.len, 65);
    rig_restart(&r);
    assert_int_equal(RIG_CALL(&r, auth_first_token(r.ctl, &rig_err)), 0);
    struct buf again;
    assert_int_equal(io_read_file(path, 100, &again, &rig_err), 0);
    assert_string_equal(text.data, again.data);
    buf_fini(&text);
    buf_fini(&again);
    rig_close(&r);
}

/* ---- the service ---- */

static void the_service_tells_of_itself(void **state)
{
    struct rig r;
    struct buf text;
    json_t *out = NULL, *args = json_object();
    char path[400];

    (void)state;
    ended_study(&r);
    assert_int_equal(ctl_health(r.ctl, &out, &rig_err), 0);
    assert_string_equal(json_string_value(json_object_get(out, "status")), "ok");
    json_decref(out);
    assert_int_equal(ctl_config(r.ctl, &out, &rig_err), 0);
    assert_int_equal(num(out, "lease_ms"), RIG_LEASE_MS);
    json_decref(out);
    buf_init(&text, 1 << 20);
    assert_int_equal(ctl_metrics(r.ctl, &text, &rig_err), 0);
    assert_non_null(strstr(text.data, "\nassay_trials_completed_total 25\n"));
    buf_fini(&text);
    static const char *const verbs[] = { "state", "digest", "replay" };
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        out = NULL;
        assert_int_equal(RIG_CALL(&r, ctl_debug(r.ctl, verbs[i], args, &out, &rig_err)), 0);
        assert_true(json_is_object(out));
        json_decref(out);
    }
    snprintf(path, sizeof path, "%s/backup.db", r.dir);
    out = NULL;
    assert_int_equal(ctl_backup(r.ctl, path, on_backup, &out, &rig_err), 0);
    assert_non_null(out); /* a rig has no loop: it is made at once */
    assert_true(num(out, "db_bytes") > 0);
    assert_true(num(out, "missing") > 0); /* the rows of a rig name files that are nowhere */
    json_decref(out);
    json_decref(args);
    r.ctl->conf.dev = false;
    assert_int_equal(RIG_CALL(&r, ctl_debug(r.ctl, "state", NULL, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_DENIED);
    rig_close(&r);
}

static void a_restart_changes_no_fact(void **state)
{
    struct rig r;
    json_t *before = NULL, *after = NULL, *args = json_object();
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, SPEC);
    for (int i = 0; i < 3; i++) {
        struct fake f;
        char session[16];

        snprintf(session, sizeof session, "f%d", i);
        fake_open(&f, &r, session, 2);
        fake_ask(&f);
        fake_step(&f, 0);
        before = after = NULL;
        assert_int_equal(RIG_CALL(&r, ctl_debug(r.ctl, "digest", args, &before, &rig_err)), 0);
        rig_restart(&r);
        assert_int_equal(RIG_CALL(&r, ctl_debug(r.ctl, "digest", args, &after, &rig_err)), 0);
        assert_true(json_equal(before, after));
        json_decref(before);
        json_decref(after);
    }
    assert_true(rig_count(&r, id, TS_RUNNING) >= 3);
    json_decref(args);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_trials_hold_each_trial_once),
        cmocka_unit_test(the_leaderboard_is_ranked_in_pages),
        cmocka_unit_test(studies_without_a_name_never_collide),
        cmocka_unit_test(bad_arguments_get_one_clear_error),
        cmocka_unit_test(the_same_file_asked_for_again_is_the_same_dataset),
        cmocka_unit_test(a_dataset_in_use_cannot_be_deleted),
        cmocka_unit_test(subscribers_get_every_committed_row_once_in_order),
        cmocka_unit_test(a_failed_commit_answers_no_to_every_request_of_its_turn),
        cmocka_unit_test(slow_turns_push_back),
        cmocka_unit_test(one_slow_turn_is_soon_forgotten),
        cmocka_unit_test(a_long_recovery_is_no_slow_turn),
        cmocka_unit_test(tokens_links_and_sessions_open_and_close),
        cmocka_unit_test(the_first_token_is_made_once_and_private),
        cmocka_unit_test(the_service_tells_of_itself),
        cmocka_unit_test(a_restart_changes_no_fact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
