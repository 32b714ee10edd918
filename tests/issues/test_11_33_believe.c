/* test_11_33_believe.c - issue 11, point 33: what runners say was believed too far. A score that its metric does not have, or
 * a file that is no model, counts for nothing and goes back to the queue; a runner's session is its own; a task is ended by
 * who was given it. */
#include "tests/rig.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "ml/model/artifact_head.h"

#include <float.h>
#include <math.h>

static const char spec[] =
    "{'name':'s','dataset':'d','target':'y','metric':'auc','budget':{'trials':3},"
    "'sampler':'random','scheduler':'none','deterministic':true}";

struct scene {
    struct rig r;
    struct fake f;
    int64_t study;
};

static void scene_open(struct scene *s)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    fake_open(&s->f, &s->r, "honest", 1);
    s->study = rig_study(&s->r, spec);
    assert_int_equal(fake_ask(&s->f), 1);
}

static enum msg_action say(struct fake *f, const struct msg_event *e)
{
    struct msg_answer a;
    enum msg_action action;

    assert_int_equal(fake_report(f, e, 1, &a), 0);
    action = a.replies[0].action;
    msg_answer_fini(&a);
    return action;
}

static void a_score_that_its_metric_does_not_have_is_refused(void **state)
{
    static const struct {
        double value, se, test_value, test_se;
        bool is_well;
    } cases[] = {
        { 1e308, 0.01, NAN, NAN, false }, { 1.01, 0.01, NAN, NAN, false },
        { -0.2, 0.01, NAN, NAN, false },  { 0.9, -1, NAN, NAN, false },
        { 0.9, 7, NAN, NAN, false },      { 0.9, 0.01, 1e9, NAN, false },
        { 0.9, 0.01, 0.9, -3, false },    { 0.9, 0.01, 0.9, 0.01, true },
        { 1 + 1e-12, 0, NAN, NAN, true }, { 0.9, NAN, NAN, NAN, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene s;
        struct msg_event e;
        enum msg_action action;

        scene_open(&s);
        s.f.trials[0].next = MSG_FINAL;
        fake_event(&s.f, 0, &e);
        e.value = cases[i].value;
        e.se = cases[i].se;
        e.test_value = cases[i].test_value;
        e.test_se = cases[i].test_se;
        action = say(&s.f, &e);
        if ((action == MSG_STALE) == cases[i].is_well)
            fail_msg("case %zu: %s", i, msg_action_name[action]);
        if (!cases[i].is_well)
            assert_int_equal(rig_get(&s.r, s.study)->trials[0].state, TS_QUEUED);
        assert_int_equal(rig_get(&s.r, s.study)->n_board, 0);
        rig_close(&s.r);
    }
}

static void a_file_that_is_no_model_is_refused(void **state)
{
    static const char *const files[] = { "garbage", "", ARTIFACT_MAGIC, ARTIFACT_MAGIC "\1\0\0\0" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct scene s;
        struct msg_event e;

        scene_open(&s);
        s.f.trials[0].next = MSG_FINAL;
        assert_int_equal(fake_step(&s.f, 0), MSG_KEEP);
        fake_event(&s.f, 0, &e);
        assert_int_equal(e.type, MSG_COMPLETE);
        rig_file(&s.r, e.blob, files[i], strlen(files[i]));
        assert_int_equal(say(&s.f, &e), MSG_STALE);
        assert_int_equal(rig_count(&s.r, s.study, TS_COMPLETED), 0);
        assert_int_equal(rig_get(&s.r, s.study)->trials[0].state, TS_QUEUED);
        rig_close(&s.r);
    }
}

/* The head is a model's; what follows is not what the head says. */
static void a_model_with_a_damaged_section_is_refused(void **state)
{
    struct scene s;
    struct msg_event e;
    char path[700];
    struct buf file = { 0 };

    (void)state;
    scene_open(&s);
    s.f.trials[0].next = MSG_FINAL;
    assert_int_equal(fake_step(&s.f, 0), MSG_KEEP);
    fake_event(&s.f, 0, &e);
    (void)snprintf(path, sizeof path, "%s/blobs/%.2s/%s", s.r.dir, e.blob, e.blob);
    assert_int_equal(io_read_file(path, 1 << 20, &file, NULL), 0);
    assert_int_equal(file.len, ARTIFACT_HEAD_BYTES);
    file.data[ARTIFACT_HEAD_BYTES - 1] ^= 1; /* of the last section's checksum */
    rig_file(&s.r, e.blob, file.data, file.len);
    buf_fini(&file);
    assert_int_equal(say(&s.f, &e), MSG_STALE);
    assert_int_equal(rig_count(&s.r, s.study, TS_COMPLETED), 0);
    rig_close(&s.r);
}

static void nobody_sees_a_session_and_no_other_token_may_use_it(void **state)
{
    struct scene s;
    json_t *list = NULL, *hello = NULL, *report = NULL, *out = NULL, *trial = NULL;
    char *text = NULL;

    (void)state;
    scene_open(&s);
    assert_int_equal(ctl_runners(s.r.ctl, 0, 1000, &list, &rig_err), 0);
    assert_int_equal(ctl_trial_get(s.r.ctl, s.f.trials[0].trial, &trial, &rig_err), 0);
    text = jsonx_dump(trial);
    assert_non_null(strstr(text, "\"attempts\":[{"));
    assert_null(strstr(text, "\"session\""));
    mem_free(text);
    text = jsonx_dump(list);
    assert_null(strstr(text, "\"session\""));
    mem_free(text);
    report = json_pack("{s:s, s:[], s:[]}", "session", "honest", "held", "events");
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_report(s.r.ctl, 7, s.f.id, report, &out, &rig_err)),
                     -1);
    assert_int_equal(rig_err.code, ERR_DENIED);
    hello = json_pack("{s:i, s:s, s:s, s:s, s:[{s:s, s:s, s:i}]}", "protocol", MSG_PROTOCOL, "name",
                      "thief", "session", "honest", "numeric_sig", "assay-1/cpu", "devices", "id",
                      "cpu0", "kind", "cpu", "max_lanes", 1);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_hello(s.r.ctl, 7, hello, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_DENIED);
    rig_restart(&s.r); /* whose it is, is stored */
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_hello(s.r.ctl, 7, hello, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_DENIED);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_report(s.r.ctl, 0, s.f.id, report, &out, &rig_err)),
                     0);
    json_decref(out);
    json_decref(report);
    json_decref(hello);
    json_decref(trial);
    json_decref(list);
    rig_close(&s.r);
}

/* A table is uploaded, its holder is lost, and another says that it is done. */
static void a_task_is_ended_by_who_was_given_it(void **state)
{
    struct rig r;
    struct fake first, thief;
    char sha[SHA256_HEX];
    json_t *body = NULL, *out = NULL, *ask = NULL, *grant = NULL;
    struct msg_event e;

    (void)state;
    rig_open(&r);
    fake_open(&first, &r, "first", 1);
    fake_open(&thief, &r, "thief", 1);
    body = json_pack("{s:s, s:s, s:s}", "name", "d", "blob", rig_blob(&r, "d", sha), "file_name",
                     "d.csv");
    assert_int_equal(RIG_CALL(&r, ctl_dataset_create(r.ctl, body, &out, &rig_err)), 0);
    json_decref(out);
    ask = json_pack("{s:s, s:i, s:s, s:i}", "session", "first", "n", 1, "device", "cpu0",
                    "max_lanes", 1);
    grant = fake_ask_of(&first, ask);
    rig_pass(&r, 3 * RIG_LEASE_MS);
    msg_event_init(&e);
    e.type = MSG_TASK_FAILED;
    e.reason = TR_INVALID;
    e.detail = mem_strdup("the table is broken");
    e.trial = 1;
    e.fence = 1;
    e.seq = 1;
    assert_int_equal(say(&thief, &e), MSG_STALE);
    assert_int_equal(say(&first, &e), MSG_OK);
    mem_free(e.detail);
    json_decref(grant);
    json_decref(ask);
    json_decref(body);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_that_its_metric_does_not_have_is_refused),
        cmocka_unit_test(a_file_that_is_no_model_is_refused),
        cmocka_unit_test(a_model_with_a_damaged_section_is_refused),
        cmocka_unit_test(nobody_sees_a_session_and_no_other_token_may_use_it),
        cmocka_unit_test(a_task_is_ended_by_who_was_given_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
