/* test_ask.c - ask and tell: who gets which trial, what a report is answered, and what remains true
 * when clients or the controller die. rig_close checks that the journal rebuilds what was. */
#include "tests/rig.h"

#include "base/rng.h"
#include "base/str.h"
#include "controller/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPACE "'space':{'x':[-5,5],'c':{'choice':['a','b']},'m':{'uniform':[0,1],'when':{'c':'b'}}}"

static json_t *call(struct rig *r, const char *study, int64_t trial, bool is_end, const char *body)
{
    json_t *in = rig_json(body), *out = NULL;
    int rc = study ? RIG_CALL(r, ctl_study_suggest(r->ctl, study, in, &out, &rig_err))
                   : RIG_CALL(r, ctl_trial_tell(r->ctl, trial, in, is_end, &out, &rig_err));

    json_decref(in);
    return rc < 0 ? NULL : out;
}

/* key: "count" = so many trials; "ahead" = at most so many. */
static json_t *ask_for(struct rig *r, const char *study, const char *client, const char *key, int n)
{
    char body[100];

    (void)snprintf(body, sizeof body, "{'client':'%s','%s':%d}", client, key, n);
    json_t *out = call(r, study, 0, false, body);
    if (!out)
        fail_msg("suggest: %s: %s", rig_err.where, rig_err.text);
    return out;
}

static json_t *suggest(struct rig *r, const char *study, const char *client, int count)
{
    return ask_for(r, study, client, "count", count);
}

static int64_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const json_t *trial_at(const json_t *suggestions, size_t i)
{
    return json_array_get(json_object_get(suggestions, "trials"), i);
}

/* Tells something of this trial; the verdict as static text. */
static const char *tell(struct rig *r, const char *client, const json_t *t, bool is_end,
                        const char *rest)
{
    static char verdict[20];
    char body[300];

    (void)snprintf(body, sizeof body, "{'client':'%s','lease':%lld%s%s}", client,
                   (long long)number_of(t, "lease"), *rest ? "," : "", rest);
    json_t *out = call(r, NULL, number_of(t, "trial"), is_end, body);
    if (!out)
        fail_msg("tell: %s: %s", rig_err.where, rig_err.text);
    str_copy(verdict, sizeof verdict, json_string_value(json_object_get(out, "verdict")));
    json_decref(out);
    return verdict;
}

static const char *complete(struct rig *r, const char *client, const json_t *t)
{
    double x = json_number_value(json_object_get(json_object_get(t, "params"), "x"));
    char rest[60];

    (void)snprintf(rest, sizeof rest, "'value':%.17g", (x - 1) * (x - 1));
    return tell(r, client, t, true, rest);
}

static void a_study_runs_from_the_first_question_to_its_result(void **state)
{
    struct rig r;
    json_t *out = NULL;
    int n = 0;

    (void)state;
    rig_open(&r);
    int64_t id =
        rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':30},'metric':'loss','seed':3}");
    for (;; n++) {
        out = suggest(&r, "s", "one", 1);
        if (json_is_true(json_object_get(out, "done")))
            break;
        const json_t *t = trial_at(out, 0), *p = json_object_get(t, "params");
        assert_int_equal(!json_object_get(p, "m"),
                         !str_eq(json_string_value(json_object_get(p, "c")), "b"));
        assert_null(json_object_get(p, "family"));
        assert_string_equal(complete(&r, "one", t), "completed");
        assert_string_equal(complete(&r, "one", t), "completed"); /* a repeat changes nothing */
        json_decref(out);
        if (n == 11)
            rig_restart(&r);
    }
    json_decref(out);
    assert_int_equal(n, 30);
    struct study *st = rig_get(&r, id);
    assert_int_equal(st->row.state, SS_COMPLETED);
    assert_int_equal(st->count[TS_COMPLETED], 30);
    assert_true(st->trials[st->board[0] - 1].score < 1);
    assert_int_equal(RIG_CALL(&r, ctl_study_get(r.ctl, "s", &out, &rig_err)), 0);
    assert_string_equal(json_string_value(json_object_get(out, "metric")), "loss");
    assert_false(json_is_true(json_object_get(out, "larger_is_better")));
    json_decref(out);
    rig_close(&r);
}

/* The answer to a result that asks for the next trial, which it holds in "next". */
static json_t *complete_and_ask(struct rig *r, const char *client, const json_t *t)
{
    char body[200];

    (void)snprintf(body, sizeof body, "{'client':'%s','lease':%lld,'value':1,'ask':true}", client,
                   (long long)number_of(t, "lease"));
    json_t *out = call(r, NULL, number_of(t, "trial"), true, body);
    if (!out)
        fail_msg("complete: %s: %s", rig_err.where, rig_err.text);
    return out;
}

static void the_answer_to_a_result_may_hold_the_next_trial(void **state)
{
    struct rig r;
    char body[200];
    int64_t number = 0;

    (void)state;
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':4},'levels':3,'seed':3,"
                  "'scheduler':'none'}");
    json_t *out = suggest(&r, "s", "one", 1);
    /* A report that does not end the work on the trial holds nothing. */
    (void)snprintf(body, sizeof body,
                   "{'client':'one','lease':%lld,'level':1,'value':2,'ask':true}",
                   (long long)number_of(trial_at(out, 0), "lease"));
    json_t *told = call(&r, NULL, number_of(trial_at(out, 0), "trial"), false, body);
    assert_string_equal(json_string_value(json_object_get(told, "verdict")), "continue");
    assert_null(json_object_get(told, "next"));
    json_decref(told);
    for (int n = 1; n <= 4; n++) {
        const json_t *t = trial_at(out, 0);

        assert_int_equal(number_of(t, "number"), n);
        told = complete_and_ask(&r, "one", t);
        json_t *again = complete_and_ask(&r, "one", t); /* its answer was lost */
        assert_true(json_equal(told, again));
        json_decref(again);
        json_decref(out);
        out = json_incref(json_object_get(told, "next"));
        json_decref(told);
        assert_non_null(out);
        number = number_of(trial_at(out, 0), "number");
        assert_int_equal(number, n < 4 ? n + 1 : 0);
        assert_int_equal(json_is_true(json_object_get(out, "done")), n == 4);
        if (n == 2)
            rig_restart(&r);
    }
    json_decref(out);
    rig_close(&r);
}

static void a_client_that_asks_again_gets_what_it_holds(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':10}}");
    json_t *a = suggest(&r, "s", "one", 2), *b = suggest(&r, "s", "one", 2);
    assert_int_equal(json_array_size(json_object_get(a, "trials")), 2);
    assert_true(json_equal(a, b));
    json_decref(b);
    rig_restart(&r); /* the leases come back with their clients */
    b = suggest(&r, "s", "one", 2);
    assert_true(json_equal(json_object_get(a, "trials"), json_object_get(b, "trials")));
    json_t *other = suggest(&r, "s", "two", 1);
    assert_int_equal(number_of(trial_at(other, 0), "number"), 3);
    /* somebody else's trial is not theirs to end */
    char body[100];
    (void)snprintf(body, sizeof body, "{'client':'two','lease':%lld,'value':1}",
                   (long long)number_of(trial_at(a, 0), "lease"));
    json_t *out = call(&r, NULL, number_of(trial_at(a, 0), "trial"), true, body);
    assert_string_equal(json_string_value(json_object_get(out, "verdict")), "gone");
    json_decref(out);
    json_decref(a);
    json_decref(b);
    json_decref(other);
    rig_close(&r);
}

static void a_silent_client_loses_its_trial_and_cannot_overwrite_it(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':1},'lost_after':'60s'}");
    json_t *a = suggest(&r, "s", "one", 1);
    rig_pass(&r, 50000);
    assert_string_equal(tell(&r, "one", trial_at(a, 0), false, ""),
                        "continue"); /* a sign of life */
    rig_pass(&r, 50000);
    json_t *b = suggest(&r, "s", "two", 1);
    assert_int_equal(json_array_size(json_object_get(b, "trials")), 0);
    json_decref(b);
    rig_pass(&r, 20000);
    b = suggest(&r, "s", "two", 1);
    assert_int_equal(number_of(trial_at(b, 0), "trial"), number_of(trial_at(a, 0), "trial"));
    assert_true(number_of(trial_at(b, 0), "lease") > number_of(trial_at(a, 0), "lease"));
    assert_string_equal(tell(&r, "one", trial_at(a, 0), false, ""), "gone");
    assert_string_equal(complete(&r, "one", trial_at(a, 0)), "gone");
    assert_string_equal(complete(&r, "two", trial_at(b, 0)), "completed");
    assert_string_equal(complete(&r, "one", trial_at(a, 0)), "gone");
    json_decref(a);
    json_decref(b);
    rig_close(&r);
}

/* One trial from where it stands until its verdict is not `continue`; reports every `stride`
 * levels. */
static void climb(struct rig *r, const char *client, const json_t *t, int stride)
{
    int64_t levels = number_of(t, "levels");
    double x = json_number_value(json_object_get(json_object_get(t, "params"), "x"));
    const char *said = "continue";

    for (int64_t l = number_of(t, "level") + stride; str_eq(said, "continue"); l += stride) {
        char rest[80];

        l = MIN(l, levels);
        (void)snprintf(rest, sizeof rest, "'level':%lld,'value':%.17g", (long long)l,
                       x * x + 10.0 / (double)l);
        said = tell(r, client, t, false, rest);
        assert_true(l < levels || !str_eq(said, "continue"));
    }
}

static void schedulers_pause_stop_and_promote(void **state)
{
    static const char *const schedulers[] = { "asha", "hyperband", "median", "sha", "none" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(schedulers); i++) {
        struct rig r;
        struct rng rng;
        char spec[400];
        bool done = false;
        int steps = 0;

        rig_open(&r);
        rng_init(&rng, test_seed(), i);
        (void)snprintf(spec, sizeof spec,
                       "{'name':'s'," SPACE ",'budget':{'trials':40},'levels':27,'scheduler':'%s',"
                       "'sampler':'random','goal':'minimize'}",
                       schedulers[i]);
        int64_t id = rig_study(&r, spec);
        while (!done && ++steps < 2000) {
            char client[20];
            json_t *out = NULL;

            (void)snprintf(client, sizeof client, "w%u", rng_below(&rng, 4));
            out = suggest(&r, "s", client, 1);
            done = json_is_true(json_object_get(out, "done"));
            if (trial_at(out, 0) && rng_below(&rng, 10) > 0)
                climb(&r, client, trial_at(out, 0), 1 + (int)rng_below(&rng, 5));
            else
                rig_pass(&r, 1000);
            json_decref(out);
            if (steps % 17 == 0)
                rig_restart(&r);
        }
        struct study *st = rig_get(&r, id);
        if (!done || st->row.state != SS_COMPLETED)
            fail_msg("%s: state %d after %d steps", schedulers[i], (int)st->row.state, steps);
        assert_true(st->n_board >= 1);
        assert_int_equal(st->trials[st->board[0] - 1].level, 27);
        if (!str_eq(schedulers[i], "none"))
            assert_true(st->count[TS_PRUNED] > 0);
        rig_close(&r);
    }
}

static void failures_are_the_configurations_and_end_nothing_else(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':3},'goal':'maximize'}");
    json_t *a = suggest(&r, "s", "one", 3);
    assert_string_equal(tell(&r, "one", trial_at(a, 0), true, "'failed':'out of memory'"),
                        "failed");
    assert_string_equal(tell(&r, "one", trial_at(a, 1), true, "'value':null"), "failed");
    assert_string_equal(tell(&r, "one", trial_at(a, 2), true, "'value':0.5"), "completed");
    struct study *st = rig_get(&r, id);
    assert_int_equal(st->row.state, SS_COMPLETED);
    assert_int_equal(st->count[TS_FAILED], 2);
    json_decref(a);
    rig_close(&r);
}

/* ---- many results in a call ---- */

static json_t *tell_many(struct rig *r, const char *study, const char *body)
{
    json_t *in = rig_json(body), *out = NULL;
    int rc = RIG_CALL(r, ctl_study_tell(r->ctl, study, in, &out, &rig_err));

    json_decref(in);
    return rc < 0 ? NULL : out;
}

static json_t *ask_ahead(struct rig *r, const char *study, const char *client, int ahead)
{
    return ask_for(r, study, client, "ahead", ahead);
}

static const char *verdict_of(const json_t *told, size_t i)
{
    const json_t *one = json_array_get(json_object_get(told, "results"), i);

    return json_string_value(json_object_get(one, "verdict"));
}

static size_t n_trials(const json_t *suggestions)
{
    return json_array_size(json_object_get(suggestions, "trials"));
}

/* A body that tells the value 1 of all these trials and asks for `ahead` more. */
static void results_of(char *body, size_t size, const char *client, const json_t *asked, int ahead)
{
    size_t n = 0;

    (void)snprintf(body, size, "{'client':'%s','count':1,'ahead':%d,'results':[", client, ahead);
    for (size_t i = 0; i < n_trials(asked); i++) {
        n = strlen(body);
        (void)snprintf(body + n, size - n, "%s{'trial':%lld,'lease':%lld,'value':1}", i ? "," : "",
                       (long long)number_of(trial_at(asked, i), "trial"),
                       (long long)number_of(trial_at(asked, i), "lease"));
    }
    n = strlen(body);
    (void)snprintf(body + n, size - n, "]}");
}

static void many_results_in_a_call_bring_the_next_trials(void **state)
{
    static char body[20000];
    struct rig r;
    int n = 0, calls = 0, most = 0;

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':100},'sampler':'random'}");
    json_t *asked = ask_ahead(&r, "s", "one", 9);
    assert_int_equal(n_trials(asked), 10);
    for (; n_trials(asked) > 0; calls++) {
        results_of(body, sizeof body, "one", asked, 9);
        json_t *told = tell_many(&r, "s", body), *again = NULL;
        assert_non_null(told);
        again = tell_many(&r, "s", body); /* its answer was lost */
        if (!json_equal(told, again))
            fail_msg("%s but then %s", json_dumps(told, 0), json_dumps(again, 0));
        json_decref(again);
        for (size_t i = 0; i < n_trials(asked); i++)
            assert_string_equal(verdict_of(told, i), "completed");
        n += (int)n_trials(asked);
        most = MAX(most, (int)n_trials(asked));
        json_decref(asked);
        asked = json_incref(json_object_get(told, "next"));
        json_decref(told);
        if (calls == 3)
            rig_restart(&r);
    }
    assert_true(json_is_true(json_object_get(asked, "done")));
    json_decref(asked);
    assert_int_equal(n, 100);
    assert_int_equal(most, 10);
    assert_true(calls > 14); /* near the end a client gets a share of what is left */
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    assert_int_equal(rig_get(&r, id)->count[TS_COMPLETED], 100);
    rig_close(&r);
}

static void trials_are_kept_ahead_only_where_nothing_is_lost_by_it(void **state)
{
    static const struct {
        const char *more;
        size_t n;
    } cases[] = {
        { "'sampler':'random'", 21 },
        { "'sampler':'sobol'", 21 },
        { "'sampler':'tpe'", 1 }, /* the next one should know the result of this one */
        { "'sampler':'gp'", 1 },
        { "'sampler':'auto'", 1 },
        { "'sampler':'random','levels':9,'scheduler':'asha'", 1 },
        { "'sampler':'random','parallel':30", 1 }, /* others would find no place */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        char spec[300];

        rig_open(&r);
        (void)snprintf(spec, sizeof spec, "{'name':'s'," SPACE ",'budget':{'trials':400},%s}",
                       cases[i].more);
        rig_study(&r, spec);
        json_t *asked = ask_ahead(&r, "s", "one", 20);
        if (n_trials(asked) != cases[i].n)
            fail_msg("%s: %zu trials", cases[i].more, n_trials(asked));
        /* One that holds trials gets no further ones for later. */
        json_t *again = ask_ahead(&r, "s", "one", 50);
        assert_true(json_equal(asked, again));
        json_decref(asked);
        json_decref(again);
        rig_close(&r);
    }
}

/* A body that tells the value 1 of the first `told` trials and says that it holds the others. */
static void results_while_holding(char *body, size_t size, const json_t *list, size_t told)
{
    size_t n = 0;

    (void)snprintf(body, size, "{'client':'one','count':1,'ahead':9,'results':[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_array_get(list, i);

        n = strlen(body);
        if (i < told)
            (void)snprintf(body + n, size - n, "%s{'trial':%lld,'lease':%lld,'value':1}",
                           i ? "," : "", (long long)number_of(t, "trial"),
                           (long long)number_of(t, "lease"));
        else
            (void)snprintf(body + n, size - n, "%s%lld", i == told ? "],'holding':[" : ",",
                           (long long)number_of(t, "trial"));
    }
    n = strlen(body);
    (void)snprintf(body + n, size - n, "]}");
}

static void a_client_that_names_what_it_holds_gets_what_is_missing(void **state)
{
    static char body[20000];
    struct rig r;
    int n = 0;

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':200},'sampler':'random'}");
    json_t *asked = ask_ahead(&r, "s", "one", 9),
           *held = json_deep_copy(json_object_get(asked, "trials"));
    json_decref(asked);
    for (int k = 0; k < 12; k++) {
        assert_int_equal(json_array_size(held), 10);
        results_while_holding(body, sizeof body, held, 6);
        json_t *told = tell_many(&r, "s", body), *again = tell_many(&r, "s", body);
        assert_true(told && json_equal(told, again)); /* its answer was lost */
        const json_t *next = json_object_get(told, "next");
        assert_int_equal(n_trials(next), 6);
        for (size_t i = 0; i < 6; i++, n++) {
            assert_string_equal(verdict_of(told, i), "completed");
            json_array_remove(held, 0);
        }
        for (size_t i = 0; i < n_trials(next); i++) {
            for (size_t j = 0; j < json_array_size(held); j++) /* none that it holds already */
                assert_int_not_equal(number_of(json_array_get(held, j), "trial"),
                                     number_of(trial_at(next, i), "trial"));
            json_array_append(held, (json_t *)(uintptr_t)trial_at(next, i));
        }
        json_decref(told);
        json_decref(again);
        if (k == 5)
            rig_restart(&r);
    }
    assert_int_equal(rig_get(&r, id)->count[TS_COMPLETED], n);
    assert_int_equal(rig_get(&r, id)->count[TS_RUNNING], 10);
    /* It was started again and knows of none: it gets those that it holds, and no further ones. */
    asked = ask_ahead(&r, "s", "one", 50);
    assert_true(json_equal(json_object_get(asked, "trials"), held));
    json_decref(asked);
    json_decref(held);
    rig_close(&r);
}

static void what_a_client_says_it_holds_changes_nothing_for_others(void **state)
{
    struct rig r;
    char body[300];

    (void)state;
    rig_open(&r);
    rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':90},'sampler':'random'}");
    rig_study(&r, "{'name':'learns'," SPACE ",'budget':{'trials':90},'sampler':'tpe'}");
    json_t *one = ask_ahead(&r, "s", "one", 3);
    (void)snprintf(body, sizeof body, "{'client':'two','ahead':3,'holding':[%lld,777]}",
                   (long long)number_of(trial_at(one, 0), "trial"));
    json_t *two = call(&r, "s", 0, false, body);
    assert_int_equal(n_trials(two),
                     4); /* it holds neither: one is another client's, one is not there */
    assert_true(number_of(trial_at(two, 0), "trial") > number_of(trial_at(one, 3), "trial"));
    json_decref(one);
    json_decref(two);
    one = ask_ahead(&r, "learns", "one", 3);
    assert_int_equal(n_trials(one), 1);
    (void)snprintf(body, sizeof body, "{'client':'one','ahead':3,'holding':[%lld]}",
                   (long long)number_of(trial_at(one, 0), "trial"));
    two = call(&r, "learns", 0, false, body);
    assert_int_equal(n_trials(two), 0); /* it should know the result first */
    json_decref(one);
    json_decref(two);
    rig_close(&r);
}

static void a_wait_for_others_is_a_part_of_a_trials_time(void **state)
{
    static const struct {
        int64_t trial_us, wait_ms;
    } cases[] = { { 0, 500 }, { 1000, 5 }, { 800000, 100 }, { 3600000000, 500 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;

        rig_open(&r);
        int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':2}}");
        json_decref(suggest(&r, "s", "one", 2));
        rig_get(&r, id)->trial_us = cases[i].trial_us;
        json_t *two = suggest(&r, "s", "two", 1);
        assert_int_equal(n_trials(two), 0);
        assert_int_equal(number_of(two, "wait_ms"), cases[i].wait_ms);
        json_decref(two);
        rig_close(&r);
    }
}

static void a_result_that_does_not_fit_is_refused_alone(void **state)
{
    struct rig r;
    char body[1000];

    (void)state;
    rig_open(&r);
    int64_t other = rig_study(&r, "{'name':'other'," SPACE ",'budget':{'trials':9}}");
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':9},"
                               "'objectives':['value','size']}");
    json_t *foreign = suggest(&r, "other", "one", 1), *a = suggest(&r, "s", "one", 3);
    json_t *b = suggest(&r, "s", "two", 1);
    long long t[5] = { number_of(trial_at(a, 0), "trial"), number_of(trial_at(a, 1), "trial"),
                       number_of(trial_at(a, 2), "trial"), number_of(trial_at(foreign, 0), "trial"),
                       number_of(trial_at(b, 0), "trial") };
    (void)snprintf(body, sizeof body,
                   "{'client':'one','results':[{'trial':%lld,'lease':1,'values':[1,2]},"
                   "{'trial':%lld,'lease':1,'value':3},{'trial':%lld,'lease':1,'values':[1,2]},"
                   "{'trial':999,'lease':1,'values':[1,2]},{'trial':%lld,'lease':1,'values':[4,5]},"
                   "{'trial':%lld,'lease':2,'values':[6,7]},"
                   "{'trial':%lld,'lease':1,'failed':'no memory'}]}",
                   t[0], t[1], t[3], t[4], t[0], t[2]);
    static const char *const verdicts[] = { "completed", "refused", "refused", "refused",
                                            "gone",      "gone",    "failed" };
    json_t *told = tell_many(&r, "s", body);
    assert_non_null(told);
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        assert_string_equal(verdict_of(told, i), verdicts[i]);
    const json_t *one = json_array_get(json_object_get(told, "results"), 1);
    assert_string_equal(json_string_value(json_object_get(one, "where")), "results[1].values");
    assert_non_null(
        strstr(json_string_value(json_object_get(one, "detail")), "a list of 2 numbers is needed"));
    one = json_array_get(json_object_get(told, "results"), 3);
    assert_string_equal(json_string_value(json_object_get(one, "where")), "results[3]");
    assert_null(json_object_get(told, "next"));
    struct study *st = rig_get(&r, id);
    assert_int_equal(st->count[TS_COMPLETED], 1);
    assert_int_equal(st->count[TS_FAILED], 1);
    assert_int_equal(st->count[TS_RUNNING], 2);
    assert_int_equal(rig_get(&r, other)->count[TS_RUNNING], 1);
    json_t *again = tell_many(&r, "s", body);
    assert_true(json_equal(told, again));
    json_decref(again);
    json_decref(told);
    json_decref(foreign);
    json_decref(a);
    json_decref(b);
    rig_close(&r);
}

static void trials_that_are_given_back_go_to_the_next_one_at_once(void **state)
{
    struct rig r;
    char body[400];

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE ",'budget':{'trials':2}}");
    json_t *a = suggest(&r, "s", "one", 2);
    (void)snprintf(body, sizeof body,
                   "{'client':'one','results':[{'trial':%lld,'lease':1,'value':2},"
                   "{'trial':%lld,'lease':1,'released':true}]}",
                   (long long)number_of(trial_at(a, 0), "trial"),
                   (long long)number_of(trial_at(a, 1), "trial"));
    for (int i = 0; i < 2; i++) { /* a repeat has the same answer */
        json_t *told = tell_many(&r, "s", body);
        assert_string_equal(verdict_of(told, 0), "completed");
        assert_string_equal(verdict_of(told, 1), "released");
        json_decref(told);
        if (i == 0)
            rig_restart(&r);
    }
    assert_int_equal(rig_get(&r, id)->count[TS_QUEUED], 1);
    /* It is not this client's any more, even before somebody else has it. */
    assert_string_equal(complete(&r, "one", trial_at(a, 1)), "gone");
    json_t *b = suggest(&r, "s", "two", 1);
    assert_int_equal(number_of(trial_at(b, 0), "trial"), number_of(trial_at(a, 1), "trial"));
    assert_int_equal(number_of(trial_at(b, 0), "lease"), 2);
    json_t *told = tell_many(&r, "s", body);
    assert_string_equal(verdict_of(told, 1), "gone");
    json_decref(told);
    assert_string_equal(complete(&r, "two", trial_at(b, 0)), "completed");
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    json_decref(a);
    json_decref(b);
    rig_close(&r);
}

static void a_call_with_a_malformed_result_takes_none(void **state)
{
#define FINE "{'trial':1,'lease':1,'value':1}"
    static const struct {
        const char *results, *where;
    } bad[] = {
        { "[" FINE ",7]", "results[1]" },
        { "[" FINE ",{'lease':1,'value':1}]", "results[1].trial" },
        { "[" FINE ",{'trial':1,'value':1}]", "results[1].lease" },
        { "[" FINE ",{'trial':1,'lease':1}]", "results[1].value" },
        { "[" FINE ",{'trial':1,'lease':1,'value':'x'}]", "results[1].value" },
        { "[" FINE ",{'trial':1,'lease':1,'value':1,'failed':'x'}]", "results[1].failed" },
        { "[" FINE ",{'trial':1,'lease':1,'value':1,'released':true}]", "results[1].released" },
        { "[" FINE ",{'trial':1,'lease':1,'released':false}]", "results[1].released" },
        { "[" FINE ",{'trial':1,'lease':1,'values':[1,'x']}]", "results[1].values[1]" },
        { "[" FINE ",{'trial':1,'lease':1,'valeu':1}]", "results[1].valeu" },
        { "[" FINE "],'count':257", "count" },
        { "[" FINE "],'ahead':-1", "ahead" },
        { "[" FINE "],'holding':7", "holding" },
        { "[" FINE "],'holding':[1,0]", "holding[1]" },
        { "[" FINE "],'holding':['1']", "holding[0]" },
        { "{}", "results" },
    };
    struct rig r;
    char body[300];

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s'," SPACE "}");
    json_t *a = suggest(&r, "s", "one", 1);
    assert_int_equal(number_of(trial_at(a, 0), "trial"), 1);
    json_decref(a);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        (void)snprintf(body, sizeof body, "{'client':'one','results':%s}", bad[i].results);
        assert_null(tell_many(&r, "s", body));
        if (!str_eq(rig_err.where, bad[i].where))
            fail_msg("%s: %s: %s", bad[i].results, rig_err.where, rig_err.text);
    }
    assert_null(tell_many(&r, "s", "{'client':'one'}"));
    assert_string_equal(rig_err.where, "results");
    assert_null(tell_many(&r, "nobody", "{'client':'one','results':[]}"));
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    assert_int_equal(rig_get(&r, id)->count[TS_RUNNING], 1);
    rig_close(&r);
}

static void a_space_that_is_used_up_ends_the_study(void **state)
{
    struct rig r;
    int n = 0;

    (void)state;
    rig_open(&r);
    int64_t id = rig_study(&r, "{'name':'s','space':{'x':{'int':[1,3]},'c':{'choice':['a','b']}}}");
    assert_int_equal(RIG_CALL(&r, 0), 0);
    for (;; n++) {
        json_t *out = suggest(&r, "s", "one", 1);
        bool done = json_is_true(json_object_get(out, "done"));
        if (!done)
            assert_string_equal(complete(&r, "one", trial_at(out, 0)), "completed");
        json_decref(out);
        if (done)
            break;
    }
    assert_int_equal(n, 6);
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    rig_close(&r);
}

static void bad_calls_change_nothing(void **state)
{
    static const struct {
        const char *body, *where;
        bool is_end;
    } bad[] = {
        { "{}", "client", false },
        { "{'client':'a b','lease':1}", "client", false },
        { "{'client':'one'}", "lease", false },
        { "{'client':'one','lease':1,'level':0,'value':1}", "level", false },
        { "{'client':'one','lease':1,'level':28,'value':1}", "level", false },
        { "{'client':'one','lease':1,'level':1}", "value", false },
        { "{'client':'one','lease':1,'value':1}", "level", false },
        { "{'client':'one','lease':1,'level':1,'value':'x'}", "value", false },
        { "{'client':'one','lease':1,'value':1,'failed':'x'}", "failed", true },
        { "{'client':'one','lease':1,'valeu':1}", "valeu", true },
    };
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    rig_study(&r, "{'name':'table','dataset':'d','target':'y','budget':{'trials':4}}");
    rig_study(&r, "{'name':'s'," SPACE ",'levels':27,'scheduler':'none'}");
    assert_null(call(&r, "table", 0, false, "{'client':'one'}"));
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    assert_null(call(&r, "nobody", 0, false, "{'client':'one'}"));
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    assert_null(call(&r, "s", 0, false, "{'client':'one','count':0}"));
    json_t *a = suggest(&r, "s", "one", 1);
    assert_int_equal(number_of(trial_at(a, 0), "lease"), 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_null(call(&r, NULL, number_of(trial_at(a, 0), "trial"), bad[i].is_end, bad[i].body));
        if (!str_eq(rig_err.where, bad[i].where))
            fail_msg("%s: %s: %s", bad[i].body, rig_err.where, rig_err.text);
    }
    assert_null(call(&r, NULL, 999, true, "{'client':'one','lease':1,'value':1}"));
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    assert_string_equal(tell(&r, "one", trial_at(a, 0), false, "'level':27,'value':1"),
                        "completed");
    json_decref(a);
    rig_close(&r);
}

static void specs_of_both_kinds_do_not_mix(void **state)
{
    static const struct {
        const char *spec, *where;
    } bad[] = {
        { "{" SPACE ",'dataset':'d'}", "dataset" },
        { "{" SPACE ",'target':'y'}", "target" },
        { "{" SPACE ",'deterministic':true}", "deterministic" },
        { "{" SPACE ",'goal':'up'}", "goal" },
        { "{" SPACE ",'levels':0}", "levels" },
        { "{" SPACE ",'lost_after':'1ms'}", "lost_after" },
        { "{" SPACE ",'metric':'a b'}", "metric" },
        { "{" SPACE ",'enqueue':[{'x':9}]}", "enqueue[0].x" },
        { "{'dataset':'d','target':'y','levels':3}", "levels" },
    };
    struct rig r;

    (void)state;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *in = rig_json(bad[i].spec), *out = NULL;

        assert_int_equal(RIG_CALL(&r, ctl_study_create(r.ctl, in, "me", false, &out, &rig_err)),
                         -1);
        if (!str_eq(rig_err.where, bad[i].where))
            fail_msg("%s: %s: %s", bad[i].spec, rig_err.where, rig_err.text);
        json_decref(in);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_runs_from_the_first_question_to_its_result),
        cmocka_unit_test(the_answer_to_a_result_may_hold_the_next_trial),
        cmocka_unit_test(a_client_that_asks_again_gets_what_it_holds),
        cmocka_unit_test(a_silent_client_loses_its_trial_and_cannot_overwrite_it),
        cmocka_unit_test(schedulers_pause_stop_and_promote),
        cmocka_unit_test(failures_are_the_configurations_and_end_nothing_else),
        cmocka_unit_test(many_results_in_a_call_bring_the_next_trials),
        cmocka_unit_test(trials_are_kept_ahead_only_where_nothing_is_lost_by_it),
        cmocka_unit_test(a_client_that_names_what_it_holds_gets_what_is_missing),
        cmocka_unit_test(what_a_client_says_it_holds_changes_nothing_for_others),
        cmocka_unit_test(a_wait_for_others_is_a_part_of_a_trials_time),
        cmocka_unit_test(a_result_that_does_not_fit_is_refused_alone),
        cmocka_unit_test(trials_that_are_given_back_go_to_the_next_one_at_once),
        cmocka_unit_test(a_call_with_a_malformed_result_takes_none),
        cmocka_unit_test(a_space_that_is_used_up_ends_the_study),
        cmocka_unit_test(bad_calls_change_nothing),
        cmocka_unit_test(specs_of_both_kinds_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
