/* test_search.c - searchers as users meet them: what auto chose and why, options with the path of a wrong one, every sampler
 * with every scheduler through whole studies, warm starts, rungs, previews. */
#include "search/searchers.h"
#include "tests/rig.h"

#include "base/log.h"
#include "base/str.h"
#include "controller/decide/propose.h"
#include "controller/decide/warm.h"
#include "controller/state/trial.h"

#include <math.h>

#define BASE "'dataset':'d','target':'y','seed':7,"

static json_t *get(struct rig *r, int64_t id)
{
    json_t *out = NULL;
    char ref[32];

    snprintf(ref, sizeof ref, "%lld", (long long)id);
    assert_int_equal(ctl_study_get(r->ctl, ref, &out, &rig_err), 0);
    return out;
}

static const char *text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* ---- auto ---- */

static void auto_says_what_it_chose_and_why(void **state)
{
    struct rig r;
    json_t *shown = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    shown = get(&r, rig_study(&r, "{'name':'a'," BASE "'budget':{'trials':40}}"));
    assert_string_not_equal(text(shown, "sampler"), "auto");
    assert_string_not_equal(text(shown, "scheduler"), "auto");
    assert_non_null(text(shown, "sampler_why"));
    assert_non_null(text(shown, "scheduler_why"));
    assert_string_equal(text(json_object_get(json_object_get(shown, "spec"), "sampler"), "kind"),
                        "auto");
    json_decref(shown);
    shown = get(&r, rig_study(&r, "{'name':'b'," BASE
                                  "'budget':{'trials':40},'sampler':'random','scheduler':'none'}"));
    assert_string_equal(text(shown, "sampler"), "random");
    assert_null(text(shown, "sampler_why"));
    assert_null(text(shown, "scheduler_why"));
    json_decref(shown);
    rig_close(&r);
}

/* The rule may change; a study keeps what it has. */
static void a_choice_outlives_the_rule(void **state)
{
    struct rig r;
    json_t *shown = NULL;
    char *at = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t id = rig_study(&r, "{'name':'a'," BASE
                               "'budget':{'trials':40},'space':[{'family':'boost','l2':1}]}");
    struct study *st = rig_get(&r, id);
    at = strstr(st->row.data, "\"sampler\":\"");
    assert_non_null(at);
    char data[4000];
    snprintf(data, sizeof data, "%.*s\"sampler\":\"testhash\"%s", (int)(at - st->row.data),
             st->row.data, strchr(at + 11, '"') + 1);
    free(st->row.data);
    st->row.data = strdup(data);
    rig_begin(&r);
    assert_int_equal(store_study_update(r.ctl->store, &st->row, &rig_err), 0);
    rig_end(&r, 0);
    rig_restart(&r);
    shown = get(&r, id);
    assert_string_equal(text(shown, "sampler"), "testhash");
    json_decref(shown);
    rig_close(&r);
}

static void wrong_options_are_told_with_their_path(void **state)
{
    static const struct {
        const char *searcher, *where, *what;
    } cases[] = {
        { "'sampler':{'kind':'random','startup':20}", "sampler.startup", "unknown option" },
        { "'sampler':{'kind':'auto','startup':20}", "sampler.startup", "auto takes no options" },
        { "'scheduler':{'kind':'auto','eta':3}", "scheduler.eta", "auto takes no options" },
        { "'scheduler':{'kind':'none','eta':3}", "scheduler.eta", "unknown option" },
        { "'sampler':'atuo'", "sampler", "did you mean auto" },
        { "'scheduler':'nonne'", "scheduler", "did you mean none" },
        { "'sampler':'xgboost'", "sampler", "there are auto, random, tpe" },
        { "'sampler':'asha'", "sampler", "asha is a scheduler" },
        { "'scheduler':'tpe'", "scheduler", "tpe is a sampler" },
        { "'sampler':['tpe']", "sampler", "must be a name or {kind: name" },
        { "'scheduler':3", "scheduler", "must be a name or {kind: name" },
        { "'warm_start':'nowhere'", "warm_start", "no study" },
        { "'warm_start':77", "warm_start", "no study" },
    };
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char spec[300];
        json_t *out = NULL, *json = NULL;
        snprintf(spec, sizeof spec, "{" BASE "%s}", cases[i].searcher);
        json = rig_json(spec);
        assert_int_equal(RIG_CALL(&r, ctl_study_create(r.ctl, json, "t", false, &out, &rig_err)),
                         -1);
        if (!strstr(rig_err.text, cases[i].what) || strstr(rig_err.text, "startup: startup") ||
            strcmp(rig_err.where, cases[i].where) != 0)
            fail_msg("%s: %s: %s", cases[i].searcher, rig_err.where, rig_err.text);
        json_decref(json);
    }
    rig_close(&r);
}

/* ---- all of them ---- */

/* A trial never trains a level twice, but where its checkpoint was lost, which no fake runner here loses. */
static void assert_no_level_twice(struct rig *r, int64_t id)
{
    struct study *st = rig_get(r, id);

    for (int64_t k = 1; k <= st->n_trials; k++) {
        json_t *trial = NULL, *attempt = NULL;
        size_t i = 0;
        json_int_t reached = 0;

        assert_int_equal(ctl_trial_get(r->ctl, st->trials[k - 1].id, &trial, &rig_err), 0);
        json_array_foreach(json_object_get(trial, "attempts"), i, attempt)
        {
            json_int_t from = json_integer_value(json_object_get(attempt, "from"));
            if (from < reached)
                fail_msg("trial %lld begins again at level %lld of %lld", (long long)k,
                         (long long)from, (long long)reached);
            reached = MAX(reached, from);
            if (strcmp(text(attempt, "end_reason"), "pause") == 0 ||
                strcmp(text(attempt, "end_reason"), "complete") == 0)
                reached = json_integer_value(json_object_get(attempt, "to"));
        }
        json_decref(trial);
    }
}

static void run_with(const char *sampler, const char *scheduler, const char *budget)
{
    struct rig r;
    char spec[400];

    rig_open(&r);
    rig_dataset(&r, "d");
    snprintf(spec, sizeof spec,
             "{'name':'s'," BASE "'validation':'kfold','budget':%s,'sampler':'%s',"
             "'scheduler':'%s'}",
             budget, sampler, scheduler);
    int64_t id = rig_study(&r, spec);
    rig_run(&r, id, 3, test_seed(), 0, 0);
    struct study *st = rig_get(&r, id);
    if (st->row.state != SS_COMPLETED || st->n_trials != 36)
        fail_msg("%s/%s: %s with %d trials", sampler, scheduler, study_state_name[st->row.state],
                 st->n_trials);
    assert_false(study_has_open_trials(st));
    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = trial_mem(st, k);
        if (t->source == SRC_FIRST && t->state != TS_COMPLETED)
            fail_msg("%s/%s: first trial %lld did not run to its top", sampler, scheduler,
                     (long long)k);
    }
    assert_no_level_twice(&r, id);
    rig_close(&r);
}

static void every_sampler_and_scheduler_carries_a_study(void **state)
{
    (void)state;
    for (int i = 0; sampler_at(i); i++) {
        const char *name = sampler_at(i)->name;
        run_with(name, "none", "{'trials':36}");
        run_with(name, "testhash", "{'trials':36,'time':'1h'}");
    }
    for (int i = 0; scheduler_at(i); i++) {
        run_with("random", scheduler_at(i)->name, "{'trials':36}");
        run_with("random", scheduler_at(i)->name, "{'trials':36,'time':'1h'}");
    }
}

/* ---- warm start ---- */

static int64_t earlier(struct rig *r)
{
    int64_t id = rig_study(r, "{'name':'early'," BASE
                              "'budget':{'trials':30},'sampler':'random','scheduler':'none'}");

    rig_run(r, id, 3, 5, 0, 0);
    return id;
}

static void a_warm_start_tells_the_sampler_the_best_of_before(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t old = earlier(&r);
    int64_t a = rig_study(&r, "{'name':'a'," BASE "'sampler':'testhash'}");
    int64_t b = rig_study(&r, "{'name':'b'," BASE "'sampler':'testhash','warm_start':'early'}");
    uint64_t cold = rig_probe(&r, a), warm = rig_probe(&r, b);
    assert_true(warm != cold);

    /* It stands on its own: the earlier study may go. */
    char ref[32];
    snprintf(ref, sizeof ref, "%lld", (long long)old);
    assert_int_equal(study_reload(r.ctl, rig_get(&r, a), &rig_err), 0);
    assert_int_equal(study_reload(r.ctl, rig_get(&r, b), &rig_err), 0);
    assert_int_equal(RIG_CALL(&r, ctl_study_delete(r.ctl, ref, &rig_err)), 0);
    rig_restart(&r);
    assert_true(rig_probe(&r, b) == warm);
    rig_close(&r);
}

static void with_other_rows_the_best_are_tried_first(void **state)
{
    struct rig r;
    struct config c;
    int n = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    earlier(&r);
    int64_t id = rig_study(&r, "{'name':'b'," BASE
                               "'budget':{'trials':40},'test':{'fraction':0.2},'warm_start':1}");
    struct study *st = rig_get(&r, id);
    while (warm_first(st, n, &c)) {
        bool is_there = false;
        for (int i = 0; i < st->search->n_script; i++)
            is_there |= st->search->script[i].config.family == c.family &&
                        memcmp(st->search->script[i].config.params, c.params,
                               (size_t)c.family->n_params * sizeof *c.params) == 0;
        assert_true(is_there);
        n++;
    }
    assert_int_equal(n, WARM_FIRST);
    rig_run(&r, id, 2, 5, 40, 0);
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    rig_close(&r);
}

static void a_warm_start_by_another_metric_is_an_error(void **state)
{
    struct rig r;
    json_t *json = rig_json("{" BASE "'metric':'accuracy','warm_start':'early'}"), *out = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    earlier(&r);
    assert_int_equal(RIG_CALL(&r, ctl_study_create(r.ctl, json, "t", false, &out, &rig_err)), -1);
    assert_non_null(strstr(rig_err.text, "this one binary by accuracy"));
    json_decref(json);
    rig_close(&r);
}

/* ---- rungs and previews ---- */

/* Every trial that the scheduler was given stands in exactly one place of its lowest rung. */
static void brackets_account_for_every_trial(void **state)
{
    (void)state;
    for (int nth = 0; scheduler_at(nth / 3); nth++) {
        int i = nth / 3;
        struct rig r;
        char spec[300];
        json_t *shown = NULL, *bracket = NULL, *rung = NULL;
        size_t b = 0, k = 0;
        json_int_t below = 0;

        if (!scheduler_at(i)->describe)
            continue;
        rig_open(&r);
        rig_dataset(&r, "d");
        snprintf(
            spec, sizeof spec,
            "{'name':'s'," BASE "'budget':{'trials':40},'validation':'holdout',"
            "'space':[{'family':'boost'}],'sampler':'random','scheduler':'%s','resource':'%s'}",
            scheduler_at(i)->name, family_resource_name[nth % 3]);
        int64_t id = rig_study(&r, spec);
        rig_run(&r, id, 3, 5, 30, 0);
        rig_restart(&r); /* an ended study has no searchers: what it shows was kept */
        shown = get(&r, id);
        json_array_foreach(json_object_get(shown, "brackets"), b, bracket)
        {
            assert_string_equal(text(bracket, "family"), "boost");
            json_array_foreach(json_object_get(bracket, "rungs"), k, rung)
            {
                assert_true(json_is_number(json_object_get(rung, "resource")));
                below += k > 0 ? 0
                               : json_integer_value(json_object_get(rung, "running")) +
                                     json_integer_value(json_object_get(rung, "waiting")) +
                                     json_integer_value(json_object_get(rung, "promoted")) +
                                     json_integer_value(json_object_get(rung, "done"));
            }
        }
        if (json_array_size(json_object_get(shown, "brackets")) == 0 || below != 38)
            fail_msg("%s: %lld of 38 trials: %s", scheduler_at(i)->name, (long long)below,
                     json_dumps(json_object_get(shown, "brackets"), 0));
        json_decref(shown);
        rig_close(&r);
    }
}

static int64_t sum(const json_t *preview, const char *key)
{
    int64_t n = 0;
    json_t *line = NULL;
    size_t i = 0;

    json_array_foreach(json_object_get(preview, "lines"), i, line) n +=
        json_integer_value(json_object_get(line, key));
    return n;
}

static void a_preview_accounts_for_the_budget_and_stores_nothing(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (int i = 0; scheduler_at(i); i++) {
        json_t *out = NULL, *cost = NULL, *spec = NULL;
        char line[300];

        snprintf(line, sizeof line, "{'name':'s'," BASE "'budget':{'trials':60},'scheduler':'%s'}",
                 scheduler_at(i)->name);
        spec = rig_json(line);
        if (ctl_study_preview(r.ctl, spec, &out, &rig_err) < 0)
            fail_msg("%s: %s", scheduler_at(i)->name, rig_err.text);
        assert_int_equal(json_integer_value(json_object_get(out, "trials")), 60);
        assert_int_equal(sum(out, "typical"), 60);
        assert_int_equal(sum(out, "most"), 60);
        cost = json_object_get(out, "cost");
        double typical = json_number_value(json_object_get(cost, "typical"));
        double most = json_number_value(json_object_get(cost, "most"));
        if (!(typical > 0 && (typical <= most * 1.000001 || scheduler_at(i)->is_test_only)))
            fail_msg("%s: %g, at most %g", scheduler_at(i)->name, typical, most);
        assert_false(json_is_true(json_object_get(cost, "measured")));
        assert_int_equal(r.ctl->n_studies, 0);
        json_decref(out);
        json_decref(spec);
    }
    earlier(&r);
    json_t *spec = rig_json("{" BASE "'budget':{'trials':60}}"), *out = NULL;
    assert_int_equal(ctl_study_preview(r.ctl, spec, &out, &rig_err), 0);
    assert_true(
        json_is_true(json_object_get(json_object_get(out, "cost"), "measured"))); /* trials ran */
    json_decref(out);
    json_decref(spec);
    rig_close(&r);
}

/* Issue 11, point 27: a budget of 3 trials was previewed as 6, the baseline and every family's first. */
static void a_preview_of_few_trials_is_of_those_that_run(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (int trials = 1; trials <= 12; trials++) {
        json_t *out = NULL, *spec = NULL;
        char line[300];

        snprintf(line, sizeof line, "{'name':'s'," BASE "'budget':{'trials':%d}}", trials);
        spec = rig_json(line);
        assert_int_equal(ctl_study_preview(r.ctl, spec, &out, &rig_err), 0);
        assert_int_equal(json_integer_value(json_object_get(out, "trials")), trials);
        assert_int_equal(sum(out, "typical"), trials);
        assert_int_equal(sum(out, "most"), trials);
        assert_false(json_is_true(json_object_get(out, "open")));
        json_decref(out);
        json_decref(spec);
    }
    rig_close(&r);
}

static void hyperband_of_rounds_has_the_brackets_of_the_paper(void **state)
{
    static const int ends[][2] = { { 1, 54 }, { 3, 41 }, { 9, 24 }, { 27, 14 }, { 81, 10 + 1 } };
    struct rig r;
    json_t *out = NULL, *line = NULL;
    size_t i = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    json_t *spec = rig_json("{'name':'s'," BASE "'budget':{'trials':145},'resource':'rounds',"
                            "'space':[{'family':'boost'}],'scheduler':'hyperband'}");
    assert_int_equal(ctl_study_preview(r.ctl, spec, &out, &rig_err), 0);
    assert_int_equal(json_array_size(json_object_get(out, "lines")), 1 + ARRAY_LEN(ends));
    json_array_foreach(json_object_get(out, "lines"), i, line)
    {
        if (i == 0) /* the baseline */
            continue;
        assert_int_equal(json_integer_value(json_object_get(line, "level")), ends[i - 1][0]);
        assert_int_equal(json_integer_value(json_object_get(line, "typical")), ends[i - 1][1]);
        assert_int_equal(json_integer_value(json_object_get(line, "max_level")), 81);
    }
    json_decref(out);
    json_decref(spec);
    rig_close(&r);
}

static void a_preview_needs_no_dataset_but_a_right_spec(void **state)
{
    static const struct {
        const char *spec, *where;
    } cases[] = {
        { "{'dataset':'d','target':'nobody'}", "target" },
        { "{'dataset':'d','target':'y','space':[{'family':'boots'}]}", "space[0].family" },
        { "{'dataset':'d','target':'y','sampler':'x'}", "sampler" },
        { "{'dataset':'d','target':'y','budget':{'trails':1}}", "budget.trails" },
        { "{'dataset':'d','target':'y','resource':'epochs'}", "resource" },
        { "{'dataset':'d','target':'y','resource':'rounds','space':[{'family':'linear'}]}",
          "resource" },
        { "{'dataset':'elsewhere','target':'y'}", "dataset" },
        { "{'dataset':'d','target':'y','test':{'dataset':'elsewhere'}}", "test.dataset" },
    };
    struct rig r;
    /* Another reading of the table, which nobody has made yet. */
    json_t *spec = rig_json("{'dataset':'d','target':'y','columns':{'x1':'categorical'}}"),
           *out = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    assert_int_equal(ctl_study_preview(r.ctl, spec, &out, &rig_err), 0);
    assert_true(json_is_null(json_object_get(out, "cost")));
    assert_true(json_is_true(json_object_get(out, "open")));
    json_decref(out);
    json_decref(spec);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        spec = rig_json(cases[i].spec);
        assert_int_equal(ctl_study_preview(r.ctl, spec, &out, &rig_err), -1);
        assert_string_equal(rig_err.where, cases[i].where);
        json_decref(spec);
    }
    rig_close(&r);
}

static void the_list_of_searchers_is_what_specs_take(void **state)
{
    struct rig r;
    json_t *out = NULL, *s = NULL, *o = NULL;
    size_t i = 0, k = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    assert_int_equal(ctl_searchers(r.ctl, &out, &rig_err), 0);
    json_array_foreach(json_object_get(out, "schedulers"), i, s)
    {
        json_t *options = json_pack("{s:s}", "kind", text(s, "name")), *shown = NULL, *spec = NULL;

        json_array_foreach(json_object_get(s, "options"), k, o)
            json_object_set(options, text(o, "name"), json_object_get(o, "default"));
        spec = json_pack("{s:s, s:s, s:o}", "dataset", "d", "target", "y", "scheduler", options);
        if (ctl_study_preview(r.ctl, spec, &shown, &rig_err) < 0)
            fail_msg("%s: %s: %s", text(s, "name"), rig_err.where, rig_err.text);
        json_decref(shown);
        json_decref(spec);
    }
    assert_true(json_array_size(json_object_get(out, "samplers")) > 3);
    assert_true(i > 3);
    json_decref(out);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_says_what_it_chose_and_why),
        cmocka_unit_test(a_choice_outlives_the_rule),
        cmocka_unit_test(wrong_options_are_told_with_their_path),
        cmocka_unit_test(every_sampler_and_scheduler_carries_a_study),
        cmocka_unit_test(a_warm_start_tells_the_sampler_the_best_of_before),
        cmocka_unit_test(with_other_rows_the_best_are_tried_first),
        cmocka_unit_test(a_warm_start_by_another_metric_is_an_error),
        cmocka_unit_test(the_list_of_searchers_is_what_specs_take),
        cmocka_unit_test(brackets_account_for_every_trial),
        cmocka_unit_test(a_preview_accounts_for_the_budget_and_stores_nothing),
        cmocka_unit_test(a_preview_of_few_trials_is_of_those_that_run),
        cmocka_unit_test(hyperband_of_rounds_has_the_brackets_of_the_paper),
        cmocka_unit_test(a_preview_needs_no_dataset_but_a_right_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
