/* test_ask_wait.c - calls of programs that wait for a trial (`wait_ms`): who is answered when, and what
 * ends a wait. rig_close checks that the journal rebuilds what was. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/api.h"

#include <stdio.h>
#include <string.h>

#define SPACE "'space':{'x':[-5,5]}"

static int64_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const json_t *trial_at(const json_t *suggestions, size_t i)
{
    return json_array_get(json_object_get(suggestions, "trials"), i);
}

static size_t n_trials(const json_t *suggestions)
{
    return json_array_size(json_object_get(suggestions, "trials"));
}

static const char *verdict_of(const json_t *told, size_t i)
{
    const json_t *result = json_array_get(json_object_get(told, "results"), i);

    return json_string_value(json_object_get(result, "verdict"));
}

static json_t *suggest(struct rig *r, const char *client, int count)
{
    char body[100];
    json_t *in = NULL, *out = NULL;

    (void)snprintf(body, sizeof body, "{'client':'%s','count':%d}", client, count);
    in = rig_json(body);
    assert_int_equal(RIG_CALL(r, ctl_study_suggest(r->ctl, "s", in, &out, &rig_err)), 0);
    json_decref(in);
    return out;
}

/* Tells one result, `rest`, of this trial. */
static void tell(struct rig *r, const char *client, const json_t *t, const char *rest,
                 const char *verdict)
{
    char body[200];
    json_t *in = NULL, *out = NULL;

    (void)snprintf(body, sizeof body, "{'client':'%s','results':[{'trial':%lld,'lease':%lld,%s}]}",
                   client, (long long)number_of(t, "trial"), (long long)number_of(t, "lease"),
                   rest);
    in = rig_json(body);
    assert_int_equal(RIG_CALL(r, ctl_study_tell(r->ctl, "s", in, &out, &rig_err)), 0);
    assert_string_equal(verdict_of(out, 0), verdict);
    json_decref(in);
    json_decref(out);
}

/* What a call that waits was answered. */
struct heard {
    int n;
    json_t *answer;
    enum err_code code;
};

static void on_answer(void *arg, json_t *answer_new, const struct err *err)
{
    struct heard *h = arg;

    h->n++;
    json_decref(h->answer);
    h->answer = answer_new;
    h->code = err ? err->code : ERR_NONE;
}

static int held_call(struct ctl *ctl, const char *body, bool tells, struct heard *h,
                     struct ctl_hold **hold)
{
    json_t *in = rig_json(body), *out = NULL;
    int rc = tells ? ctl_study_tell(ctl, "s", in, &out, &rig_err)
                   : ctl_study_suggest(ctl, "s", in, &out, &rig_err);

    *hold = rc == 0 ? ctl_study_hold(ctl, "s", in, out, on_answer, h) : NULL;
    json_decref(in);
    json_decref(out);
    return rc;
}

static struct ctl_hold *hold(struct rig *r, const char *body, bool tells, struct heard *h)
{
    struct ctl_hold *got = NULL;

    *h = (struct heard){ 0 };
    assert_int_equal(RIG_CALL(r, held_call(r->ctl, body, tells, h, &got)), 0);
    return got;
}

static int64_t trial_of(const struct heard *h)
{
    assert_int_equal(h->n, 1);
    assert_int_equal(h->code, ERR_NONE);
    return n_trials(h->answer) ? number_of(trial_at(h->answer, 0), "trial") : 0;
}

#define WAITS(client) "{'client':'" client "','count':1,'wait_ms':5000}"

static void a_call_waits_for_a_trial_or_for_the_end(void **state)
{
    struct heard two, three, gone;
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':2},'sampler':'random'}");
    json_t *a = suggest(&r, "one", 2);
    assert_non_null(hold(&r, WAITS("two"), false, &two));
    assert_non_null(hold(&r, WAITS("three"), false, &three));
    struct ctl_hold *leaves = hold(&r, WAITS("gone"), false, &gone);
    assert_non_null(leaves);
    assert_int_equal(two.n + three.n + gone.n, 0);
    tell(&r, "one", trial_at(a, 0), "'released':true",
         "released"); /* goes to the oldest call, and to no other */
    assert_int_equal(trial_of(&two), number_of(trial_at(a, 0), "trial"));
    assert_int_equal(three.n + gone.n, 0);
    ctl_study_hold_cancel(r.ctl, leaves);
    tell(&r, "one", trial_at(a, 1), "'released':true", "released");
    assert_int_equal(trial_of(&three), number_of(trial_at(a, 1), "trial"));
    /* A client that told its results with the call gets their verdicts, and the end. */
    char body[200];
    (void)snprintf(body, sizeof body,
                   "{'client':'two','count':1,'wait_ms':5000,'results':[{'trial':%lld,'lease':2,"
                   "'value':1}]}",
                   (long long)trial_of(&two));
    struct heard end;
    assert_non_null(hold(&r, body, true, &end));
    assert_int_equal(end.n, 0);
    tell(&r, "three", trial_at(three.answer, 0), "'value':2", "completed");
    assert_int_equal(end.n, 1);
    assert_string_equal(verdict_of(end.answer, 0), "completed");
    assert_true(json_is_true(json_object_get(json_object_get(end.answer, "next"), "done")));
    assert_int_equal(gone.n, 0);
    json_decref(a);
    json_decref(two.answer);
    json_decref(three.answer);
    json_decref(end.answer);
    rig_close(&r);
}

static void a_call_waits_no_longer_than_it_says(void **state)
{
    static const char *const others[] = {
        "{'client':'two','count':1}", /* does not want to wait */
        "{'client':'two','count':1,'wait_ms':0}",
        "{'client':'two','count':1,'wait_ms':5000,'holding':[1]}", /* has something to do */
    };
    struct heard h;
    struct rig r;

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':1},'sampler':'random'}");
    assert_null(hold(&r, WAITS("one"), false, &h)); /* there is one */
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_null(hold(&r, others[i], false, &h));
    assert_non_null(hold(&r, WAITS("two"), false, &h));
    rig_pass(&r, 4900);
    assert_int_equal(h.n, 0);
    rig_pass(&r, 200);
    assert_int_equal(trial_of(&h), 0);
    assert_false(json_is_true(json_object_get(h.answer, "done")));
    json_decref(h.answer);
    /* A user ends the study meanwhile. */
    assert_non_null(hold(&r, WAITS("two"), false, &h));
    json_t *out = NULL;
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_KILL, &out, &rig_err)), 0);
    json_decref(out);
    assert_int_equal(trial_of(&h), 0);
    assert_true(json_is_true(json_object_get(h.answer, "done")));
    json_decref(h.answer);
    assert_int_equal(rig_get(&r, id)->row.state, SS_STOPPED);
    rig_close(&r);
    /* A controller that stops lets nobody wait. */
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':1},'sampler':'random'}");
    json_decref(suggest(&r, "one", 1));
    assert_non_null(hold(&r, WAITS("two"), false, &h));
    ctl_stop(r.ctl);
    assert_int_equal(trial_of(&h), 0);
    json_decref(h.answer);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_a_trial_or_for_the_end),
        cmocka_unit_test(a_call_waits_no_longer_than_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
