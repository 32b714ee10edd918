/* test_pipelines.c - what becomes of columns in a trial, as runners tell it: stored once for equal ones, shown for each trial,
 * gone with its study; what is not as it should be is left out and hurts nobody. */
#include "tests/rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "controller/api.h"
#include "store/query.h"

#include <stdio.h>
#include <string.h>

#define SPEC \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},'seed':7,'parallel':1,'scheduler':'none','space':[{'family':'boost'}]}"

#define STEPS "\"steps\":[{\"say\":\"in bins\",\"inputs\":2}]"
#define GROUP "{\"type\":\"number\",\"n\":2,\"columns\":[\"a\",\"b\"],\"inputs\":2," STEPS "}"
#define DROP  "{\"why\":\"the target\",\"n\":1,\"columns\":[\"y\"]}"
#define WHOLE(groups, drops) \
    "{\"form\":\"bins\",\"columns\":2,\"inputs\":2,\"groups\":[" groups "],\"dropped\":[" drops "]}"

/* One trial runs to its end and tells this; its id. */
static int64_t told(struct fake *f, const char *pipeline)
{
    struct msg_answer a;
    struct msg_event e;
    struct buf b;

    for (int asked = 0; f->n_trials == 0 || f->trials[0].next != MSG_FINAL;) {
        assert_true(asked < 20);
        if (f->n_trials == 0)
            (void)fake_ask(f), asked++;
        else
            fake_step(f, 0);
    }
    int64_t trial = f->trials[0].trial;
    fake_event(f, 0, &e);
    mem_free(e.detail);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_addf(&b, NULL, "{\"steps\":3,\"pipeline\":%s}", pipeline), 0);
    e.detail = buf_take(&b, NULL);
    if (fake_report(f, &e, 1, &a) < 0)
        fail_msg("%s", rig_err.text);
    mem_free(e.detail);
    f->trials[0].seq = e.seq;
    f->trials[0].next = MSG_COMPLETE;
    if (a.replies[0].action == MSG_KEEP)
        fake_step(f, 0);
    else
        fake_drop(f, 0);
    msg_answer_fini(&a);
    return trial;
}

static json_t *shown(struct rig *r, int64_t trial)
{
    json_t *out = NULL;

    if (ctl_trial_pipeline(r->ctl, trial, &out, &rig_err) < 0)
        fail_msg("%s", rig_err.text);
    assert_int_equal(json_integer_value(json_object_get(out, "trial")), trial);
    return out;
}

static int64_t stored(struct rig *r)
{
    sqlite3_stmt *q = NULL;

    assert_int_equal(
        sqlite3_prepare_v2(r->ctl->store->db, "SELECT count(*) FROM pipeline", -1, &q, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return n;
}

static void equal_pipelines_are_stored_once_and_shown_for_each(void **state)
{
    struct rig r;
    struct fake f;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    rig_study(&r, SPEC);
    fake_open(&f, &r, "a", 1);
    int64_t one = told(&f, WHOLE(GROUP, DROP)), two = told(&f, WHOLE(GROUP, DROP)),
            three = told(&f, WHOLE(GROUP, ""));
    assert_int_equal(stored(&r), 2);
    json_t *a = shown(&r, one), *b = shown(&r, two), *c = shown(&r, three);
    json_t *want = rig_json(WHOLE(GROUP, DROP));
    assert_true(json_equal(json_object_get(a, "pipeline"), want));
    assert_true(json_equal(json_object_get(b, "pipeline"), want));
    assert_false(json_equal(json_object_get(c, "pipeline"), want));
    assert_string_equal(json_string_value(json_object_get(c, "family")), "boost");
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(want);
    rig_close(&r);
}

static void what_is_no_pipeline_is_left_out(void **state)
{
    static const char *const bad[] = {
        "7",
        "{}",
        "[]",
        "\"text\"",
        WHOLE("7", DROP),
        WHOLE("{}", DROP),
        WHOLE(GROUP, "{\"why\":7,\"n\":1,\"columns\":[]}"),
        WHOLE(GROUP, "{\"why\":\"x\",\"n\":-1,\"columns\":[]}"),
        WHOLE(GROUP, "{\"why\":\"x\",\"n\":1,\"columns\":[3]}"),
        WHOLE("{\"type\":\"number\",\"n\":2,\"columns\":[\"a\"],\"inputs\":2}", DROP),
        WHOLE("{\"type\":\"number\",\"n\":2,\"columns\":[\"a\"],\"inputs\":2.5," STEPS "}", DROP),
        WHOLE("{\"type\":\"number\",\"n\":2,\"columns\":[\"a\"],\"inputs\":2,\"more\":1," STEPS "}",
              DROP),
        "{\"form\":\"bins\",\"columns\":2,\"inputs\":2,\"groups\":[],\"dropped\":[],\"evil\":1}",
        "{\"form\":\"bins\",\"columns\":2,\"inputs\":2,\"groups\":[]}",
    };
    struct rig r;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        rig_open(&r);
        rig_dataset(&r, "d");
        rig_study(&r, SPEC);
        fake_open(&f, &r, "a", 1);
        json_t *o = shown(&r, told(&f, bad[i]));
        if (!json_is_null(json_object_get(o, "pipeline")) || stored(&r) != 0)
            fail_msg("%s was taken", bad[i]);
        json_decref(o);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_pipelines_are_stored_once_and_shown_for_each),
        cmocka_unit_test(what_is_no_pipeline_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
