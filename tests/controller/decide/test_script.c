/* test_script.c - the order of what is tried before the sampler. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/script.h"
#include "controller/decide/share.h"
#include "controller/problem/config.h"

#include <stdio.h>
#include <string.h>

#define SPEC(more)                                                                       \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':'random'," \
    "'scheduler':'asha','validation':'kfold'," more "}"

/* Without a sampler of the user's own. */
#define NAMED(more) \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','validation':'kfold'," more "}"

static bool is_of(const char *config, const char *family)
{
    return strstr(config, family) != NULL;
}

/* All of boosting is better than all forests, and these than extra trees. */
static double boosting_leads(const char *config, int level)
{
    return fake_score(config, level) / 100 + (is_of(config, "\"boost\"")    ? 0.9
                                              : is_of(config, "\"forest\"") ? 0.7
                                                                            : 0.5);
}

static double forests_lead(const char *config, int level)
{
    return fake_score(config, level) / 100 + (is_of(config, "\"forest\"") ? 0.9
                                              : is_of(config, "\"mlp\"")  ? 0.4
                                                                          : 0.5);
}

static const char *family_of(struct rig *r, int64_t id, int64_t number)
{
    const struct study *st = rig_get(r, id);

    return st->families[st->trials[number - 1].family]->name;
}

/* Works one trial after another until there are so many; each time it may be loaded again. */
static int64_t work(struct rig *r, const char *spec, double (*score)(const char *, int), int n,
                    bool reload)
{
    bool has_images = r->has_images;

    rig_open(r);
    r->has_images = has_images;
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);
    rig_run_until(r, id, score, n, reload);
    return id;
}

static void the_lead_comes_first_and_each_family_once(void **state)
{
    static const char *const first[] = { "baseline", "boost",       "linear",
                                         "forest",   "extra_trees", "mlp" };
    struct rig r = { .has_images = false };
    int64_t id = work(&r, SPEC("'budget':{'time':'1h'}"), boosting_leads, 6, false);

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(first); i++)
        assert_string_equal(family_of(&r, id, i + 1), first[i]);
    rig_close(&r);
}

/* A study of 20,000 rows and 30 columns of its own controller. */
static struct study *study_of_shape(struct rig *r, const char *spec, int encoded, int outputs)
{
    rig_open(r);
    rig_dataset(r, "d");
    struct study *st = rig_get(r, rig_study(r, spec));

    st->problem.shape.rows = st->problem.data.rows = 20000;
    st->problem.shape.columns = 30;
    st->problem.shape.encoded = encoded;
    st->problem.shape.outputs = outputs;
    return st;
}

/* Whether it is the first configuration of its family with another limit of rounds, trees or epochs. */
static bool is_quick(const struct study *st, const struct script_item *item)
{
    int i = 0, k = 0;

    while (i < st->space.n_families && st->space.first[i].family != item->config.family)
        i++;
    if (i == st->space.n_families)
        return false; /* the baseline */
    const struct family *f = item->config.family;
    while (k < f->n_params && !(f->params[k].axis == FA_FREE && f->params[k].kind == FP_INT))
        k++;
    return k < f->n_params && item->config.params[k] < st->space.first[i].params[k];
}

/* A short fit goes before a first one that takes long, so that a model is there soon, and costs little
 * beside it. Not without a limit in time, nor where the first one is short itself or a user chose. */
static void a_quick_trial_comes_before_a_long_first_one(void **state)
{
    static const struct {
        const char *spec;
        int outputs, rows;
        const char *quick; /* NULL = there is none */
    } cases[] = {
        { NAMED("'space':[{'family':'boost'}],'budget':{'time':'10s'}"), 200, 6000, "boost" },
        { NAMED("'space':[{'family':'forest'}],'budget':{'time':'60s'}"), 200, 90000, "forest" },
        { NAMED("'budget':{'time':'60s'}"), 1, 200000, "boost" },
        { NAMED("'space':[{'family':'extra_trees'}],'budget':{'time':'10s'}"), 200, 6000,
          "extra_trees" },
        { NAMED("'space':[{'family':'boost'}],'budget':{'time':'60s'}"), 1, 500, NULL },
        { NAMED("'space':[{'family':'boost','rounds':500}],'budget':{'time':'10s'}"), 200, 6000,
          NULL },
        { NAMED("'space':[{'family':'boost'}],'budget':{'trials':9}"), 200, 6000, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        struct study *st = study_of_shape(&r, cases[i].spec, 30, cases[i].outputs);

        st->problem.shape.rows = st->problem.data.rows = cases[i].rows;
        mem_free(st->search->script);
        assert_int_equal(script_make(st, &rig_err), 0);
        const struct script_item *item = &st->search->script[1]; /* after the baseline */
        assert_int_equal(is_quick(st, item), cases[i].quick != NULL);
        if (cases[i].quick) {
            int64_t us = budget_fold_us(st, &item->config, item->config.family->levels);
            assert_string_equal(item->config.family->name, cases[i].quick);
            assert_int_equal(item->source, SRC_FIRST);
            assert_in_range(us * st->problem.shape.folds, 1, 500000);
        }
        rig_close(&r);
    }
}

/* With hundreds of classes a fold of boosting takes longer than its share of the time. */
static void a_lead_that_is_dear_comes_after_those_that_are_cheaper(void **state)
{
    static const struct {
        const char *time;
        int outputs, encoded;
        const char *first[5];
        int owed; /* first trials in this order; the others are taken by share */
    } cases[] = { { "1h", 300, 30, { "boost", "linear", "forest", "extra_trees", "mlp" }, 5 },
                  { "60s", 1, 30, { "boost", "linear", "forest", "extra_trees", "mlp" }, 5 },
                  { "60s", 300, 30, { "linear", "forest", "extra_trees", "mlp", "boost" }, 4 },
                  { "60s", 300, 900, { "forest", "extra_trees", "mlp", "boost", "linear" }, 3 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        char spec[200];

        snprintf(spec, sizeof spec,
                 "{'name':'s','dataset':'d','target':'y','seed':7,'budget':{'time':'%s'}}",
                 cases[i].time);
        struct study *st = study_of_shape(&r, spec, cases[i].encoded, cases[i].outputs);
        mem_free(st->search->script);
        assert_int_equal(script_make(st, &rig_err), 0);
        assert_int_equal(budget_lead_is_dear(st), i >= 2);
        int from = is_quick(st, &st->search->script[1]) ? 2 : 1;
        for (int k = 0; k < 5; k++)
            assert_string_equal(st->search->script[k + from].config.family->name,
                                cases[i].first[k]);
        assert_int_equal(st->search->script_free - from, cases[i].owed);
        rig_close(&r);
    }
}

/* Where no family is cheaper than a dear lead, it comes first, after a quick trial, and the others are owed theirs. */
static void a_dear_lead_without_cheaper_families_comes_first(void **state)
{
    static const char *const first[] = { "baseline", "boost", "boost", "linear" };
    struct rig r = { .has_images = false };
    struct study *st = study_of_shape(
        &r, NAMED("'budget':{'time':'60s'},'space':[{'family':'linear'},{'family':'boost'}]"), 900,
        300);

    (void)state;
    mem_free(st->search->script);
    assert_int_equal(script_make(st, &rig_err), 0);
    assert_true(budget_lead_is_dear(st));
    for (int i = 0; i < (int)ARRAY_LEN(first); i++)
        assert_string_equal(st->search->script[i].config.family->name, first[i]);
    assert_true(is_quick(st, &st->search->script[1]) && !is_quick(st, &st->search->script[2]));
    assert_int_equal(st->search->script_free, ARRAY_LEN(first));
    rig_close(&r);
}

/* How much of the time a trial of the family may take, in per cent; 0 = all. */
static int percent_of(const struct study *st, const char *family, int to)
{
    struct trial_mem t = { .source = SRC_FIRST, .run_to = (int16_t)to, .max_level = 4 };

    while (!str_eq(st->families[t.family]->name, family))
        t.family++;
    return (int)(budget_trial_ms(st, &t) * 100 / st->spec.budget_time_ms);
}

/* A list of families of which a spec gives the names alone leaves the rest to the search: the lead comes first
 * wherever it stands in the list, and the families share the time. With a value or a sampler of the user's own the list
 * is taken as it is. Without the lead forests begin whole, too. */
static void families_by_name_alone_are_searched_like_all(void **state)
{
    static const struct {
        const char *spec;
        bool is_shared;
        const char *first[3];
        enum trial_source last; /* the third's source */
        int percent;            /* of the time that its trials may take */
    } cases[] = {
        { NAMED("'budget':{'time':'60s'},"
                "'space':[{'family':'linear'},{'family':'boost'},{'family':'forest'}]"),
          true,
          { "boost", "linear", "forest" },
          SRC_SCRIPT,
          10 },
        { NAMED("'budget':{'time':'60s'},"
                "'space':[{'family':'linear'},{'family':'mlp'},{'family':'forest'}]"),
          true,
          { "linear", "mlp", "forest" },
          SRC_FIRST,
          33 },
        { NAMED("'budget':{'time':'60s'},'space':[{'family':'linear'},{'family':'boost',"
                "'leaves':31},{'family':'forest'}]"),
          false,
          { "linear", "boost", "forest" },
          SRC_FIRST,
          0 },
        { SPEC("'budget':{'time':'60s'},"
               "'space':[{'family':'linear'},{'family':'boost'},{'family':'forest'}]"),
          false,
          { "linear", "boost", "forest" },
          SRC_FIRST,
          0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        rig_open(&r);
        rig_dataset(&r, "d");
        struct study *st = rig_get(&r, rig_study(&r, cases[i].spec));
        const struct script_item *item = &st->search->script[1]; /* after the baseline */

        assert_int_equal(share_decides(st), cases[i].is_shared);
        for (int k = 0; k < 3; k++)
            assert_string_equal(item[k].config.family->name, cases[i].first[k]);
        assert_int_equal(item[2].source, cases[i].last);
        assert_int_equal(percent_of(st, "forest", 2), cases[i].percent);
        rig_close(&r);
    }
}

static void no_first_trial_takes_the_time_of_the_others(void **state)
{
    static const struct {
        const char *validation;
        int outputs;
        bool is_held;
        int lead, path;
    } cases[] = { { "auto", 1, false, 33, 25 },     { "auto", 1, true, 66, 25 },
                  { "holdout", 1, true, 66, 25 },   { "auto", 300, true, 33, 33 },
                  { "holdout", 300, true, 33, 33 }, { "kfold", 1, false, 0, 25 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        char spec[200];

        snprintf(spec, sizeof spec,
                 "{'name':'s','dataset':'d','target':'y','seed':7,'budget':{'time':'60s'},"
                 "'validation':'%s'}",
                 cases[i].validation);
        struct study *st = study_of_shape(&r, spec, 30, cases[i].outputs);
        st->problem.data.holdout = cases[i].is_held;
        assert_int_equal(percent_of(st, "boost", 4), cases[i].lead);
        assert_int_equal(percent_of(st, "linear", 4), cases[i].path);
        assert_int_equal(percent_of(st, "forest", 4), 10);
        assert_int_equal(percent_of(st, "mlp", 4), 33);
        assert_int_equal(percent_of(st, "mlp", 3), 50); /* it is judged there (stage.h) */
        rig_close(&r);
    }
}

/* Hundreds of short linear trials do not say that a network can gain nothing any more. */
static void trials_of_the_best_family_say_that_the_best_is_old(void **state)
{
    static const struct {
        const char *best, *ends;
        int64_t rule; /* stop_no_gain_trials */
        int counts;
    } cases[] = { { "mlp", "linear", -1, 0 },
                  { "mlp", "mlp", -1, 1 },
                  { "baseline", "linear", -1, 1 },
                  { "mlp", "linear", 50, 1 } };
    struct rig r = { .has_images = false };
    int64_t id = work(&r, SPEC("'budget':{'time':'1h'}"), boosting_leads, 6, false);
    struct study *st = rig_get(&r, id);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t number = 1;
        int best = 0;

        while (!str_eq(st->families[best]->name, cases[i].best))
            best++;
        while (!str_eq(family_of(&r, id, number), cases[i].ends))
            number++;
        st->spec.stop_no_gain_trials = cases[i].rule;
        st->search->best_score = 0.99;
        st->search->best_family = best;
        st->search->since_gain = 7;
        budget_note_end(st, number, 0.5, 0);
        assert_int_equal(st->search->since_gain, 7 + cases[i].counts);
        budget_note_end(st, number, 0.999, 0);
        assert_int_equal(st->search->since_gain, 0);
        assert_string_equal(st->families[st->search->best_family]->name, cases[i].ends);
    }
    rig_close(&r);
}

/* A short trial takes more time around it than in it. */
static void a_trial_costs_its_family_more_than_computing(void **state)
{
    struct rig r = { .has_images = false };
    int64_t id = work(&r, SPEC("'budget':{'time':'1h'}"), boosting_leads, 6, false);
    struct study *st = rig_get(&r, id);
    struct shares s;
    int linear = 1;

    (void)state;
    while (!str_eq(st->families[linear]->name, "linear"))
        linear++;
    for (int i = 0; i < st->n_trials; i++)
        st->trials[i].work_us = 200;
    st->trials[3].family = (int8_t)linear; /* a second one */
    share_make(st, &s);
    assert_int_equal(s.of[linear].tries, 2);
    assert_int_equal(s.of[linear].spent_us, 2 * 5200);
    rig_close(&r);
}

static void the_network_for_images_comes_second_where_there_are_images(void **state)
{
    static const char *const first[] = { "baseline", "boost", "cnn", "linear", "forest" };
    struct rig r = { .has_images = true };
    int64_t id = work(&r, SPEC("'budget':{'time':'1h'}"), boosting_leads, 5, false);

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(first); i++)
        assert_string_equal(family_of(&r, id, i + 1), first[i]);
    rig_close(&r);
}

/* A few epochs say nothing about a network beside other families, so its first trial is whole: always where trials are
 * counted, and where time is limited if the time is enough for several. A forest must first be good at a lower level. */
static void the_first_network_runs_whole_if_there_is_time(void **state)
{
    static const struct {
        const char *spec;
        bool is_whole;
    } cases[] = { { SPEC("'budget':{'time':'1h'}"), true },
                  { SPEC("'budget':{'trials':60}"), true },
                  { SPEC("'budget':{'time':'250ms'}"), false } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        bool has_network = false;

        rig_open(&r);
        rig_dataset(&r, "d");
        struct study *st = rig_get(&r, rig_study(&r, cases[i].spec));
        for (int k = 0; k < st->search->n_script; k++) {
            const struct script_item *item = &st->search->script[k];
            if (str_eq(item->config.family->name, "forest"))
                assert_int_equal(item->source, SRC_SCRIPT);
            if (!str_eq(item->config.family->name, "mlp") || has_network)
                continue;
            has_network = true;
            assert_int_equal(item->source, cases[i].is_whole ? SRC_FIRST : SRC_SCRIPT);
        }
        assert_true(has_network);
        rig_close(&r);
    }
}

/* Whoever names families, and nothing of their parameters, has their portfolios; the first two of networks run whole where
 * the time allows. With a value or a sampler of the user's own only the
 * defaults come first. */
static void named_families_have_their_portfolios(void **state)
{
    static const struct {
        const char *spec;
        int rows, whole;
    } cases[] = {
        { NAMED("'space':[{'family':'mlp'}],'budget':{'time':'1h'}"), 5, 2 },
        { NAMED("'space':[{'family':'mlp'}],'budget':{'time':'250ms'}"), 5, 1 },
        { SPEC("'space':[{'family':'mlp'}],'budget':{'time':'1h'}"), 1, 1 },
        { NAMED("'space':[{'family':'mlp','width':64}],'budget':{'time':'1h'}"), 1, 1 },
        { NAMED("'space':[{'family':'mlp','width':64},{'family':'forest'}],'budget':{'time':'1h'}"),
          1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        int rows = 0, whole = 0;

        rig_open(&r);
        rig_dataset(&r, "d");
        struct study *st = rig_get(&r, rig_study(&r, cases[i].spec));
        for (int k = 0; k < st->search->n_script; k++) {
            const struct script_item *item = &st->search->script[k];
            bool is_network = str_eq(item->config.family->name, "mlp") && !is_quick(st, item);
            rows += is_network;
            whole += is_network && item->source == SRC_FIRST;
        }
        assert_int_equal(rows, cases[i].rows);
        assert_int_equal(whole, cases[i].whole);
        rig_close(&r);
    }
}

/* How many trials from number `from` to `to` are of a family. */
static int share_of(double (*score)(const char *, int), const char *spec, int from, int to,
                    const char *family, bool reload)
{
    struct rig r = { .has_images = false };
    int64_t id = work(&r, spec, score, to, reload);
    int n = 0;

    for (int64_t k = from; k <= to; k++)
        n += str_eq(family_of(&r, id, k), family);
    rig_close(&r);
    return n;
}

static void each_family_has_its_first_trials_and_then_the_best_has_most(void **state)
{
    static const char limited[] =
        "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','scheduler':'asha',"
        "'validation':'kfold','budget':{'time':'1h'}}";
    static const char counted[] = SPEC("'budget':{'trials':60}");
    static const char *const all[] = { "linear", "boost", "forest", "extra_trees", "mlp" };

    (void)state;
    for (int reload = 0; reload < 2; reload++) {
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            assert_int_equal(share_of(forests_lead, limited, 2, 21, all[i], reload), SHARE_EARLY);
        assert_in_range(share_of(boosting_leads, limited, 22, 41, "boost", reload), 10, 20);
        assert_in_range(share_of(forests_lead, limited, 22, 41, "forest", reload), 10, 20);
    }
    /* Without a limit in time they come in turn. */
    assert_int_equal(share_of(boosting_leads, counted, 7, 9, "boost", false), 1);
    assert_int_equal(share_of(forests_lead, counted, 7, 9, "boost", false), 1);
}

/* Whatever the order was, a load finds the same things taken and the same left. */
static void a_load_knows_what_was_taken(void **state)
{
    (void)state;
    for (int n = 6; n < 20; n++) {
        struct rig r = { .has_images = false };
        int64_t id = work(&r, SPEC("'budget':{'time':'1h'}"), boosting_leads, n, false);
        struct study *st = rig_get(&r, id);
        int pos = st->search->script_pos;
        struct script_item *before = mem_array((size_t)st->search->n_script, sizeof *before);

        memcpy(before, st->search->script, (size_t)st->search->n_script * sizeof *before);
        assert_int_equal(study_reload(r.ctl, st, &rig_err), 0);
        st = rig_get(&r, id);
        assert_int_equal(st->search->script_pos, pos);
        for (int i = 0; i < st->search->n_script; i++)
            assert_int_equal(config_hash_of(&st->search->script[i].config),
                             config_hash_of(&before[i].config));
        mem_free(before);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lead_comes_first_and_each_family_once),
        cmocka_unit_test(a_quick_trial_comes_before_a_long_first_one),
        cmocka_unit_test(a_lead_that_is_dear_comes_after_those_that_are_cheaper),
        cmocka_unit_test(a_dear_lead_without_cheaper_families_comes_first),
        cmocka_unit_test(families_by_name_alone_are_searched_like_all),
        cmocka_unit_test(no_first_trial_takes_the_time_of_the_others),
        cmocka_unit_test(trials_of_the_best_family_say_that_the_best_is_old),
        cmocka_unit_test(a_trial_costs_its_family_more_than_computing),
        cmocka_unit_test(the_network_for_images_comes_second_where_there_are_images),
        cmocka_unit_test(the_first_network_runs_whole_if_there_is_time),
        cmocka_unit_test(named_families_have_their_portfolios),
        cmocka_unit_test(each_family_has_its_first_trials_and_then_the_best_has_most),
        cmocka_unit_test(a_load_knows_what_was_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
