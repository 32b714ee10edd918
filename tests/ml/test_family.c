/* test_family.c - the table of families is consistent. Defaults and first configurations are legal,
 * each name finds its own family, parameter or choice, and the formulas of cost and memory are
 * positive and grow with the number of rows. */
#include "tests/unit.h"

#include "base/base.h"
#include "ml/family/family.h"
#include "ml/family/family_params.h"

#include <math.h>

static void every_family_is_found_by_its_name(void **state)
{
    const struct family *f;
    int n = 0;

    (void)state;
    for (; (f = family_at(n)); n++) {
        assert_ptr_equal(family_find(f->name), f);
        assert_true(f->levels >= 1 && f->tasks && f->help[0]);
        for (int i = 0; i < f->levels; i++)
            assert_non_null(f->level_help[i]);
    }
    assert_true(n >= 3);
    assert_null(family_find("nothing"));
    assert_null(family_at(-1));
}

static void parameters_are_found_by_name_and_defaults_lie_in_their_ranges(void **state)
{
    const struct family *f;

    (void)state;
    for (int n = 0; (f = family_at(n)); n++) {
        assert_true(f->n_params <= FAMILY_MAX_PARAMS);
        for (int i = 0; i < f->n_params; i++) {
            const struct family_param *p = &f->params[i];
            assert_int_equal(family_param_find(f, p->name), i);
            assert_true(p->hard_lo <= p->lo && p->lo <= p->hi && p->hi <= p->hard_hi);
            assert_true(p->lo <= p->def && p->def <= p->hi);
            assert_true(!p->is_log || p->lo > 0);
            if (p->kind == FP_CHOICE)
                assert_true(p->hard_lo == 0 && p->hard_hi == family_choice_count(p) - 1);
        }
        assert_int_equal(family_param_find(f, "nothing"), -1);
    }
}

static void first_configurations_are_legal_and_start_with_the_defaults(void **state)
{
    const struct family *f;

    (void)state;
    for (int n = 0; (f = family_at(n)); n++) {
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        const double *row;
        family_defaults(f, params);
        assert_non_null(f->portfolio(0));
        assert_memory_equal(f->portfolio(0), params, (size_t)f->n_params * sizeof *params);
        for (int i = 0; (row = f->portfolio(i)); i++)
            assert_int_equal(family_params_check(f, row, &err), 0);
    }
}

/* Small tables get more epochs, large ones fewer, larger batches, and fewer and wider members; those of very many columns
 * one network without waves. Rows of the portfolio are moved into these ranges, and other families stay as they are. */
static void the_defaults_of_networks_suit_the_table(void **state)
{
    static const struct {
        int64_t rows;
        int encoded;
        double epochs, batch, members, embedding, width;
    } cases[] = {
        { 0, 8, 128, 64, 8, 1, 64 },      { 2000, 8, 128, 64, 8, 1, 64 },
        { 32000, 8, 32, 128, 8, 1, 64 },  { 10000000, 8, 12, 256, 2, 1, 128 },
        { 2000, 784, 15, 64, 1, 0, 256 }, { 60000, 784, 15, 128, 1, 0, 256 },
    };
    const struct family *f = family_find("mlp"), *boost = family_find("boost");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct family_shape s = { .rows = cases[i].rows, .encoded = cases[i].encoded };
        double want[] = { [MLP_EPOCHS] = cases[i].epochs,
                          [MLP_BATCH] = cases[i].batch,
                          [MLP_MEMBERS] = cases[i].members,
                          [MLP_WIDTH] = cases[i].width,
                          [MLP_EMBEDDING] = cases[i].embedding };
        static const int which[] = { MLP_EPOCHS, MLP_BATCH, MLP_MEMBERS, MLP_WIDTH, MLP_EMBEDDING };
        for (size_t k = 0; k < ARRAY_LEN(which); k++)
            assert_float_equal(family_param_for(f, which[k], &s, "auc").def, want[which[k]], 0);
        for (int row = 0; f->portfolio(row); row++) {
            double params[FAMILY_MAX_PARAMS];
            memcpy(params, f->portfolio(row), (size_t)f->n_params * sizeof *params);
            family_suit(f, &s, "auc", params);
            assert_float_equal(params[MLP_EPOCHS], cases[i].epochs, 0);
            assert_true(params[MLP_MEMBERS] <= (cases[i].encoded > 256 ? 1 : 16));
            assert_float_equal(params[MLP_BATCH], cases[i].batch, 0);
            if (row < 2) /* the row that reads numbers in pieces begins with the same network */
                assert_float_equal(params[MLP_MEMBERS], cases[i].members, 0);
        }
        for (int k = 0; k < boost->n_params; k++) {
            const struct family_param *p = &boost->params[k];
            assert_float_equal(family_param_for(boost, k, &s, "auc").hi,
                               p->axis == FA_PREP ? 0 : p->hi, 0);
        }
    }
}

/* A search with little time trains for fewer epochs, so that the schedule ends where the trial is judged: half the time,
 * half the epochs, down to a least number. Tables of images have few epochs anyway. */
static void little_time_means_few_epochs(void **state)
{
    const struct family *f = family_find("mlp");
    struct family_shape s = {
        .rows = 4000, .columns = 20, .encoded = 20, .outputs = 1, .folds = 5
    };
    double last = 1e9, members = 8;

    (void)state;
    assert_float_equal(family_param_for(f, MLP_EPOCHS, &s, "auc").def, 91, 0);
    for (s.fold_ms = 1000000; s.fold_ms > 0; s.fold_ms /= 2) {
        struct family_param p = family_param_for(f, MLP_EPOCHS, &s, "auc");
        double params[FAMILY_MAX_PARAMS];
        struct family_shape fold = s;

        family_defaults(f, params);
        family_suit(f, &s, "auc", params);
        fold.folds = 1;
        /* A network of fewer members has more epochs in the same time. */
        assert_true(p.lo == p.hi && p.hi == p.def && params[MLP_EPOCHS] == p.def);
        assert_true(p.def <= last || params[MLP_MEMBERS] < members);
        members = params[MLP_MEMBERS];
        if (p.def < 64 && p.def > 12)
            assert_in_range(f->cost(&fold, params, 0, f->levels) / 1000, s.fold_ms * 0.9,
                            s.fold_ms * 1.02);
        last = p.def;
    }
    assert_float_equal(last, 12, 0);
    assert_float_equal(members, 2, 0);
    s = (struct family_shape){ .rows = 2000, .columns = 784, .encoded = 784, .fold_ms = 1 };
    assert_float_equal(family_param_for(f, MLP_EPOCHS, &s, "auc").def, 15, 0);
}

/* Where columns are many beside the rows, a relaxed L1 penalty comes first, then a plain one; otherwise L1 comes after L2,
 * and of several classes, where it takes long, after robust scales, too, and relaxed is not searched. */
static void many_columns_begin_with_l1(void **state)
{
    static const struct {
        int64_t rows;
        int encoded, outputs, texts, numbers;
        int penalty[3], robust[3];
    } cases[] = {
        { 200, 2000, 1, 0, 9, { 3, 1, 0 }, { 0, 0, 1 } },
        { 2400, 300, 1, 0, 9, { 3, 1, 0 }, { 0, 0, 1 } },
        { 2401, 300, 1, 0, 9, { 0, 1, 0 }, { 0, 0, 1 } },
        { 200, 99, 1, 0, 9, { 0, 1, 0 }, { 0, 0, 1 } },
        { 200, 2000, 1, 1, 9, { 0, 1, 0 }, { 0, 0, 1 } },
        { 200, 2000, 3, 0, 9, { 0, 0, 1 }, { 0, 1, 0 } },
        { 200, 2000, 3, 0, 0, { 0, 0, 0 }, { 0, 0, 0 } },
    };
    const struct family *f = family_find("linear");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct family_shape s = { .rows = cases[i].rows,
                                  .encoded = cases[i].encoded,
                                  .outputs = cases[i].outputs,
                                  .texts = cases[i].texts,
                                  .numbers = cases[i].numbers };
        double params[FAMILY_MAX_PARAMS];

        assert_float_equal(family_param_for(f, LINEAR_PENALTY, &s, "auc").def, cases[i].penalty[0],
                           0);
        assert_float_equal(family_param_for(f, LINEAR_PENALTY, &s, "auc").hi,
                           cases[i].outputs > 1 ? 2 : 3, 0);
        for (int row = 1; f->portfolio(row); row++) {
            memcpy(params, f->portfolio(row), (size_t)f->n_params * sizeof *params);
            family_suit(f, &s, "auc", params);
            assert_float_equal(params[LINEAR_PENALTY], cases[i].penalty[row], 0);
            assert_float_equal(params[LINEAR_PREP_SCALE], cases[i].robust[row], 0);
        }
    }
    assert_float_equal(family_param_for(f, LINEAR_PENALTY, NULL, "auc").def, 0, 0);
}

/* Networks of which a fold takes more than twice the time that it is to take are not searched. Without a limit in
 * time all are, but pieces of more than 64 numbers. */
static void networks_that_take_too_long_are_not_searched(void **state)
{
    const struct family *f = family_find("mlp");
    struct family_shape s = { .rows = 800, .columns = 8, .encoded = 8, .outputs = 1, .folds = 5 };
    double last = 1e9, def = 0;

    (void)state;
    assert_float_equal(family_param_for(f, MLP_WIDTH, &s, "rmse").hi, 512, 0);
    assert_float_equal(family_param_for(f, MLP_EMBEDDING, &s, "rmse").hi, 2, 0);
    for (s.fold_ms = 100000; s.fold_ms > 10; s.fold_ms /= 2) {
        struct family_param width = family_param_for(f, MLP_WIDTH, &s, "rmse");
        struct family_shape fold = s;
        double params[FAMILY_MAX_PARAMS];

        family_defaults(f, params);
        family_suit(f, &s, "rmse", params);
        params[MLP_WIDTH] = width.hi;
        fold.folds = 1;
        double ms =
            (double)(f->cost(&fold, params, 0, f->levels) - f->cost(&fold, params, 0, 3)) / 1000;
        assert_true((width.hi <= last || width.def > def) && width.hi >= width.def);
        assert_true(ms <= 2.0 * s.fold_ms + 1 || width.hi < 2 * width.def);
        last = width.hi;
        def = width.def;
    }
    assert_true(last == 128 && def == 128);
    assert_float_equal(family_param_for(f, MLP_EMBEDDING, &s, "rmse").hi, 1, 0);
    s = (struct family_shape){
        .rows = 800, .columns = 65, .encoded = 65, .outputs = 1, .folds = 5
    };
    assert_float_equal(family_param_for(f, MLP_EMBEDDING, &s, "rmse").hi, 1, 0);
}

static void an_illegal_value_gives_an_error_that_names_the_parameter(void **state)
{
    static const struct {
        const char *name;
        double value;
    } bad[] = {
        { "learning_rate", 0 },
        { "learning_rate", 1.5 },
        { "learning_rate", (double)NAN },
        { "rounds", 0 },
        { "rounds", 1.5 },
        { "leaves", 1 },
        { "leaves", (double)INFINITY },
        { "depth", 0 },
        { "min_leaf", 0.5 },
        { "row_sample", 0 },
        { "col_sample", 1.01 },
        { "l2", -1 },
        { "bins", 3 },
        { "grow", 0.5 },
    };
    const struct family *f = family_find("boost");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        family_defaults(f, params);
        params[family_param_find(f, bad[i].name)] = bad[i].value;
        assert_int_equal(family_params_check(f, params, &err), -1);
        assert_string_equal(err.where, bad[i].name);
        assert_int_equal(err.code, ERR_ARG);
    }
}

static void the_name_of_a_choice_finds_the_choice(void **state)
{
    const struct family *f = family_find("boost");
    const struct family_param *p = &f->params[BOOST_BINS];
    char name[32];

    (void)state;
    assert_int_equal(family_choice_count(p), 3);
    for (int i = 0; i < 3; i++) {
        family_choice_name(p, i, name, sizeof name);
        assert_int_equal(family_choice_find(p, name), i);
    }
    assert_int_equal(family_choice_find(p, "25"), -1);
    assert_int_equal(family_choice_find(p, "2555"), -1);
    assert_int_equal(family_choice_find(p, ""), -1);
    assert_int_equal(family_choice_find(&f->params[BOOST_LEAVES], "63"), -1);
}

static void the_shape_key_contains_only_parameters_of_the_shape(void **state)
{
    const struct family *f = family_find("boost");
    double a[FAMILY_MAX_PARAMS], b[FAMILY_MAX_PARAMS];
    char ka[200], kb[200];

    (void)state;
    family_defaults(f, a);
    family_defaults(f, b);
    b[BOOST_LEAVES] = 5;
    family_shape_key(f, a, ka, sizeof ka);
    family_shape_key(f, b, kb, sizeof kb);
    assert_string_equal(ka, kb);
    b[BOOST_BINS] = 0;
    family_shape_key(f, b, kb, sizeof kb);
    assert_string_not_equal(ka, kb);
    assert_string_equal(kb, "boost bins=63");
    b[BOOST_BINS] = a[BOOST_BINS];
    b[BOOST_PREP_LEVELS] = 1;
    family_shape_key(f, b, kb, sizeof kb);
    assert_string_not_equal(ka, kb);
    assert_non_null(strstr(kb, " prep_levels=means"));
    family_defaults(family_find("linear"), a);
    family_shape_key(family_find("linear"), a, ka, sizeof ka);
    assert_string_equal(ka, "linear");
}

static void cost_and_memory_are_positive_and_grow_with_rows(void **state)
{
    const struct family *f;

    (void)state;
    for (int n = 0; (f = family_at(n)); n++) {
        double params[FAMILY_MAX_PARAMS];
        family_defaults(f, params);
        for (int outputs = 1; outputs <= 26; outputs += 25) {
            int64_t cost = 0, bytes = 0;
            for (int64_t rows = 10; rows <= 10000000; rows *= 10) {
                struct family_shape s = { .rows = rows,
                                          .columns = 20,
                                          .encoded = 50,
                                          .outputs = outputs,
                                          .folds = 5,
                                          .task = outputs > 1 ? FT_MULTICLASS : FT_REGRESSION };
                int64_t c = f->cost(&s, params, 0, f->levels),
                        b = f->host_bytes(&s, params, f->levels);
                assert_true(c >= 1 && c >= cost && b >= 1 && b >= bytes);
                cost = c;
                bytes = b;
            }
        }
    }
}

static void the_top_level_adds_no_cost_if_it_does_not_lower_the_learning_rate(void **state)
{
    const struct family *f = family_find("boost");
    struct family_shape s = {
        .rows = 10000, .columns = 20, .encoded = 20, .outputs = 1, .folds = 5, .task = FT_BINARY
    };
    double params[FAMILY_MAX_PARAMS];
    struct family_plan two, three;

    (void)state;
    family_defaults(f, params);
    params[BOOST_LEARNING_RATE] = 0.2;
    f->plan(params, 2, &two);
    f->plan(params, 3, &three);
    assert_true(two.key == three.key);
    assert_int_equal(f->cost(&s, params, 2, 3), 1);
    assert_true(f->cost(&s, params, 0, 1) * 5 + 5 >= f->cost(&s, params, 0, 3));
    params[BOOST_LEARNING_RATE] = 0.02;
    f->plan(params, 2, &two);
    f->plan(params, 3, &three);
    assert_true(two.key == 0.1 && three.key == 0.02);
    assert_true(f->cost(&s, params, 2, 3) > f->cost(&s, params, 0, 2));
    assert_true(f->cost(&s, params, 0, 3) <= f->cost(&s, params, 2, 3));
}

static void the_configuration_chosen_after_training_is_legal(void **state)
{
    const struct family *f;

    (void)state;
    for (int n = 0; (f = family_at(n)); n++) {
        for (int level = 1; level <= f->levels; level++) {
            double params[FAMILY_MAX_PARAMS];
            struct err err = { 0 };
            struct family_plan plan;
            family_defaults(f, params);
            f->plan(params, level, &plan);
            assert_true(plan.cap >= 1 && plan.check_every >= 1 && plan.patience >= 1);
            f->choose(params, level, plan.cap);
            assert_int_equal(family_params_check(f, params, &err), 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_is_found_by_its_name),
        cmocka_unit_test(parameters_are_found_by_name_and_defaults_lie_in_their_ranges),
        cmocka_unit_test(first_configurations_are_legal_and_start_with_the_defaults),
        cmocka_unit_test(the_defaults_of_networks_suit_the_table),
        cmocka_unit_test(little_time_means_few_epochs),
        cmocka_unit_test(many_columns_begin_with_l1),
        cmocka_unit_test(networks_that_take_too_long_are_not_searched),
        cmocka_unit_test(an_illegal_value_gives_an_error_that_names_the_parameter),
        cmocka_unit_test(the_name_of_a_choice_finds_the_choice),
        cmocka_unit_test(the_shape_key_contains_only_parameters_of_the_shape),
        cmocka_unit_test(cost_and_memory_are_positive_and_grow_with_rows),
        cmocka_unit_test(the_top_level_adds_no_cost_if_it_does_not_lower_the_learning_rate),
        cmocka_unit_test(the_configuration_chosen_after_training_is_legal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
