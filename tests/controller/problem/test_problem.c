/* test_problem.c - what the controller says of a problem without linking a kernel must be what ml/ says. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/problem/metric.h"
#include "controller/problem/problem.h"
#include "controller/problem/space.h"
#include "ml/family/family.h"
#include "ml/metric/metric.h"
#include "ml/model/data.h"
#include "ml/model/target.h"
#include "ml/table/frame.h"

#include <math.h>

static void the_table_of_metrics_is_that_of_ml(void **state)
{
    (void)state;
    for (int i = 0; i < METRICS; i++) {
        const struct metric_info *info = metric_info((enum metric_id)i);
        const struct metric *m = metric_find(info->name);

        assert_non_null(m);
        assert_int_equal(m->larger_is_better, info->larger_is_better);
        assert_int_equal(m->tasks, info->tasks);
        assert_non_null(metric_at(i));
    }
    assert_null(metric_at(METRICS));
    assert_string_equal(metric_for_task(FT_BINARY), metric_info(metric_default(ML_BINARY))->name);
    assert_string_equal(metric_for_task(FT_MULTICLASS),
                        metric_info(metric_default(ML_MULTICLASS))->name);
    assert_string_equal(metric_for_task(FT_REGRESSION),
                        metric_info(metric_default(ML_REGRESSION))->name);
}

/* ---- task: auto ---- */

enum { ROWS = 600 };

/* A frame with a column x and a target y made by `value`; codes when it gives levels. */
static struct frame *make(const char *path, double (*value)(int row), bool words)
{
    static const char *const levels[] = { "a", "b", "c", "d" };
    static double x[ROWS], y[ROWS];
    static int32_t codes[ROWS];
    char hash[SHA256_HEX];
    struct err err = { 0 };
    struct frame_writer *w = frame_writer_new(path, &err);

    assert_non_null(w);
    for (int i = 0; i < ROWS; i++) {
        x[i] = i * 0.5;
        y[i] = value(i);
        codes[i] = (int32_t)y[i];
    }
    assert_int_equal(frame_writer_numeric(w, "x", x, ROWS, &err), 0);
    if (words)
        assert_int_equal(frame_writer_categorical(w, "y", codes, ROWS, levels, 4, &err), 0);
    else
        assert_int_equal(frame_writer_numeric(w, "y", y, ROWS, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    return frame_open(path, &err);
}

static double two_values(int i)
{
    return i % 2 ? 0.25 : 7;
}
static double four_words(int i)
{
    return i % 4;
}
static double two_words(int i)
{
    return i % 2;
}
static double ten_whole(int i)
{
    return i % 10;
}
static double twenty_one_whole(int i)
{
    return i % 21;
}
static double three_with_a_half(int i)
{
    return i % 3 * 0.5; /* lowest and highest are whole, not all */
}
static double real(int i)
{
    return sin(i);
}
static double some_missing(int i)
{
    return i % 7 ? i % 3 : NAN;
}
static double few_rows_each(int i)
{
    return i < 20 ? i : NAN; /* 20 classes of one row */
}

static void task_auto_means_what_ml_infers(void **state)
{
    static const struct {
        const char *what;
        double (*value)(int row);
        bool words;
    } cases[] = {
        { "two numbers", two_values, false },
        { "four words", four_words, true },
        { "two words", two_words, true },
        { "ten whole numbers", ten_whole, false },
        { "21 whole numbers", twenty_one_whole, false },
        { "three numbers, one not whole", three_with_a_half, false },
        { "real numbers", real, false },
        { "classes and missing values", some_missing, false },
        { "classes of one row", few_rows_each, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[300];
        struct frame *f =
            make(test_path(path, sizeof path, "frame"), cases[i].value, cases[i].words);
        struct dataset_row row = { .rows = ROWS, .cols = 2 };
        struct spec spec;
        struct problem p;
        struct err err = { 0 };
        enum ml_task want;

        assert_non_null(f);
        spec_init(&spec);
        str_copy(spec.target, sizeof spec.target, "y");
        row.schema = frame_schema_json(f);
        str_copy(row.frame, sizeof row.frame, "x");
        assert_int_equal(ml_task_infer(f, "y", &want, &err), 0);
        if (problem_resolve(&p, &spec, &row, NULL, &err) < 0)
            fail_msg("%s: %s", cases[i].what, err.text);
        if (p.task != (int)want)
            fail_msg("%s: %s, ml says %d", cases[i].what, p.data.task, (int)want);
        mem_free(row.schema);
        spec_fini(&spec);
        frame_close(f);
    }
}

/* Found by hand: a target near 1e300 failed each trial with "its predictions are not finite", and one near 1e-300 got a baseline
 * that scored 0. */
static void a_target_that_no_model_can_hold_is_refused(void **state)
{
    static const struct {
        double least, most;
        const char *says;
    } cases[] = {
        { -1e300, 1e300, "beyond what a model can hold" },
        { 0, 4e38, "divide them" },
        { -4e38, 0, "divide them" },
        { -1e38, 3e38, NULL },
        { 0, 1e-37, NULL },
        { 1e-300, 3e-300, "multiply them" },
        { 0, 1e-38, "multiply them" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char schema[300];
        struct dataset_row row = { .rows = ROWS, .cols = 2, .schema = schema };
        struct spec spec;
        struct problem p;
        struct err err = { 0 };

        snprintf(
            schema, sizeof schema,
            "{\"columns\":[{\"name\":\"x\",\"type\":\"numeric\",\"distinct\":50},{\"name\":\"y\",\"type\":"
            "\"numeric\",\"distinct\":%d,\"missing\":0,\"min\":%.17g,\"max\":%.17g}]}",
            ROWS, cases[i].least, cases[i].most);
        spec_init(&spec);
        str_copy(spec.target, sizeof spec.target, "y");
        str_copy(row.frame, sizeof row.frame, "x");
        int rc = problem_resolve(&p, &spec, &row, NULL, &err);
        if ((rc < 0) != (cases[i].says != NULL) ||
            (rc < 0 && (!strstr(err.text, cases[i].says) || !str_eq(err.where, "target"))))
            fail_msg("%g to %g: %s: %s", cases[i].least, cases[i].most, err.where, err.text);
        spec_fini(&spec);
    }
}

static void a_problem_survives_being_stored(void **state)
{
    struct rig r;
    struct problem *p = NULL, again;
    json_t *one = NULL, *two = NULL;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r,
                   "{'dataset':'d','target':'y','budget':{'trials':3},'test':{'fraction':0.25}}");
    p = &rig_get(&r, id)->problem;
    assert_int_equal(problem_load(&again, rig_get(&r, id)->row.data, &rig_err), 0);
    one = problem_json_new(p);
    two = problem_json_new(&again);
    assert_true(json_equal(one, two));
    assert_int_equal(p->shape.rows, 750);
    assert_int_equal(p->shape.columns, 6);
    json_decref(one);
    json_decref(two);
    rig_close(&r);
}

/* Inputs that steps derive of columns count in forecasts of time and memory. */
static void derived_inputs_are_foreseen(void **state)
{
    static const struct {
        const char *column;
        int columns, by_fold, many, few;
    } cases[] = {
        { "{'name':'w','type':'categorical','distinct':40}", 2, 0, 0, 1 },
        { "{'name':'w','type':'categorical','distinct':7}", 2, 0, 0, 0 },
        { "{'name':'w','type':'categorical','distinct':500}", 4, 1, 1, 0 },
        { "{'name':'w','type':'numeric','kind':'date','distinct':500}", 9, 0, 0, 0 },
    };
    char path[300];
    struct frame *f = make(test_path(path, sizeof path, "frame"), real, false);
    char *text = frame_schema_json(f);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *schema = rig_json(text);
        json_array_append_new(json_object_get(schema, "columns"), rig_json(cases[i].column));
        char *with = json_dumps(schema, JSON_COMPACT);
        struct dataset_row d = { .name = "t", .rows = ROWS, .cols = 3, .schema = with };
        struct spec spec = { .target = "y", .folds = 5 };
        struct problem p, again;
        str_copy(d.frame, sizeof d.frame, "f");
        if (problem_resolve(&p, &spec, &d, NULL, &rig_err) < 0)
            fail_msg("%s", rig_err.text);
        assert_int_equal(p.shape.columns, cases[i].columns);
        assert_int_equal(p.shape.by_fold, cases[i].by_fold);
        json_t *stored = problem_json_new(&p);
        char *line = json_dumps(stored, JSON_COMPACT);
        assert_int_equal(problem_load(&again, line, &rig_err), 0);
        assert_int_equal(again.shape.by_fold, cases[i].by_fold);
        assert_int_equal(again.shape.many_levels, cases[i].many);
        assert_int_equal(again.shape.few_levels, cases[i].few);
        free(line);
        free(with);
        json_decref(stored);
        json_decref(schema);
    }
    mem_free(text);
    frame_close(f);
}

/* The table has x (numbers from 0 up, one missing in `holes`), y and a column of words. */
static void columns_that_say_how_rows_are_used_are_checked(void **state)
{
    static const struct {
        const char *key, *column, *where, *text;
    } cases[] = {
        { "groups", "w", NULL, NULL },
        { "time", "x", NULL, NULL },
        { "weights", "x", NULL, NULL },
        { "groups", "z", "groups", "no column \"z\"" },
        { "time", "z", "time", "no column \"z\"" },
        { "weights", "w", "weights", "holds words" },
        { "weights", "low", "weights", "goes down to -1" },
        { "weights", "gone", "weights", "has no value in 2 rows" },
    };
    char path[300];
    struct frame *f = make(test_path(path, sizeof path, "frame"), real, false);
    char *text = frame_schema_json(f);
    json_t *schema = rig_json(text), *columns = json_object_get(schema, "columns");

    (void)state;
    json_array_append_new(columns, rig_json("{'name':'w','type':'categorical'}"));
    json_array_append_new(columns,
                          rig_json("{'name':'low','type':'numeric','min':-1.0,'max':2.0}"));
    json_array_append_new(
        columns, rig_json("{'name':'gone','type':'numeric','missing':2,'min':1.0,'max':2.0}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dataset_row row = { .rows = ROWS, .cols = 5, .schema = json_dumps(schema, 0) };
        json_t *j = rig_json("{'dataset':'d','target':'y','validation':{'kind':'holdout'}}");
        struct spec spec;
        struct problem p, again;
        struct err err = { 0 };

        json_object_set_new(j, cases[i].key, json_string(cases[i].column));
        assert_int_equal(spec_parse(&spec, j, &err), 0);
        str_copy(row.frame, sizeof row.frame, "x");
        int rc = problem_resolve(&p, &spec, &row, NULL, &err);
        if (cases[i].where) {
            assert_int_equal(rc, -1);
            assert_string_equal(err.where, cases[i].where);
            assert_non_null(strstr(err.text, cases[i].text));
        } else {
            assert_int_equal(rc, 0);
            /* forward in time one stretch is only trained on: 4 folds hold out a fifth each */
            assert_int_equal(p.data.folds, p.data.time_column[0] ? 4 : 5);
            json_t *one = problem_json_new(&p);
            char *saved = json_dumps(one, 0);
            assert_int_equal(problem_load(&again, saved, &err), 0);
            assert_memory_equal(&again.data, &p.data, sizeof p.data);
            free(saved);
            json_decref(one);
        }
        json_decref(j);
        spec_fini(&spec);
        free(row.schema);
    }
    json_decref(schema);
    mem_free(text);
    frame_close(f);
}

static void constraints_name_columns_of_numbers(void **state)
{
    static const struct {
        const char *monotone, *where;
        double (*value)(int row);
    } cases[] = {
        { "{'x':'increasing'}", NULL, two_words },
        { "{'x':'decreasing'}", NULL, real },
        { "{'x':'increasing'}", "monotone", four_words },
        { "{'z':'increasing'}", "monotone.z", real },
        { "{'w':'increasing'}", "monotone.w", real },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[300];
        struct frame *f = make(test_path(path, sizeof path, "frame"), cases[i].value, false);
        struct dataset_row row = { .rows = ROWS, .cols = 2 };
        struct spec spec;
        struct problem p, again;
        struct err err = { 0 };

        spec_init(&spec);
        str_copy(spec.target, sizeof spec.target, "y");
        spec.monotone = rig_json(cases[i].monotone);
        char *text = frame_schema_json(f);
        json_t *schema = rig_json(text);
        mem_free(text);
        json_array_append_new(json_object_get(schema, "columns"),
                              rig_json("{'name':'w','type':'categorical'}"));
        row.schema = json_dumps(schema, 0);
        str_copy(row.frame, sizeof row.frame, "x");
        int rc = problem_resolve(&p, &spec, &row, NULL, &err);
        if (cases[i].where) {
            assert_int_equal(rc, -1);
            assert_string_equal(err.where, cases[i].where);
            assert_ptr_equal(strstr(err.text, cases[i].where), err.text);
        } else {
            assert_int_equal(rc, 0);
            json_t *one = problem_json_new(&p);
            char *saved = json_dumps(one, 0);
            assert_int_equal(problem_load(&again, saved, &err), 0);
            assert_true(again.data.monotone[0]);
            assert_string_equal(again.data.monotone, p.data.monotone);
            free(saved);
            json_decref(one);
        }
        free(row.schema);
        json_decref(schema);
        spec_fini(&spec);
        frame_close(f);
    }
}

static double from_half(int i)
{
    return i + 0.5;
}
static double below_none(int i)
{
    return i - 3.5;
}

static void poisson_deviance_needs_counts(void **state)
{
    (void)state;
    for (int is_count = 0; is_count < 2; is_count++) {
        char path[300];
        struct frame *f =
            make(test_path(path, sizeof path, "frame"), is_count ? from_half : below_none, false);
        struct dataset_row row = { .rows = ROWS, .cols = 2 };
        struct spec spec;
        struct problem p;
        struct err err = { 0 };

        spec_init(&spec);
        str_copy(spec.target, sizeof spec.target, "y");
        str_copy(spec.metric, sizeof spec.metric, "poisson_deviance");
        str_copy(spec.metric_where, sizeof spec.metric_where, "metric");
        row.schema = frame_schema_json(f);
        str_copy(row.frame, sizeof row.frame, "x");
        assert_int_equal(problem_resolve(&p, &spec, &row, NULL, &err), is_count ? 0 : -1);
        if (!is_count)
            assert_string_equal(
                err.text, "metric: poisson_deviance needs a target from 0 up; \"y\" has -3.5");
        mem_free(row.schema);
        spec_fini(&spec);
        frame_close(f);
    }
}

/* ---- configurations ---- */

static const struct space_for binary = { FT_BINARY, "auc", false, false, false, NULL, false };

static void configurations_go_through_every_form_unchanged(void **state)
{
    struct study_space s;
    struct err err = { 0 };
    struct config c, back;
    struct rng rng;

    (void)state;
    assert_int_equal(study_space_build(&s, NULL, &binary, &err), 0);
    rng_init(&rng, test_seed(), 1);
    for (int k = 0; k < 500; k++) {
        double unit[SPACE_MAX_PARAMS], point[SPACE_MAX_PARAMS], again[SPACE_MAX_PARAMS];
        char *text = NULL, *text_again = NULL;

        for (int i = 0; i < s.space->n; i++)
            unit[i] = rng_unit(&rng);
        space_from_unit(s.space, unit, point);
        config_from_point(&c, s.space, NULL, point);
        assert_int_equal(family_params_check(c.family, c.params, &err), 0);
        text = config_text_new(&c);
        assert_int_equal(config_parse_text(&back, text, NULL, &err), 0);
        text_again = config_text_new(&back);
        assert_string_equal(text, text_again);
        assert_int_equal(config_to_point(&back, s.space, again, &err), 0);
        assert_true(space_points_equal(s.space, point, again));
        mem_free(text);
        mem_free(text_again);
    }
    study_space_fini(&s);
}

static void users_domains_become_parameters(void **state)
{
    static const struct {
        const char *spec, *param;
        double lo, hi;
        enum param_kind kind;
        bool is_log;
    } cases[] = {
        { "[{'family':'boost','learning_rate':0.1}]", "boost.learning_rate", 0.1, 0.1,
          PARAM_CONSTANT, false },
        { "[{'family':'boost','learning_rate':[0.1,0.2]}]", "boost.learning_rate", 0.1, 0.2,
          PARAM_FLOAT, false },
        { "[{'family':'boost','learning_rate':{'log':[0.1,0.2]}}]", "boost.learning_rate", 0.1, 0.2,
          PARAM_FLOAT, true },
        { "[{'family':'boost','leaves':{'int_log':[4,9]}}]", "boost.leaves", 4, 9, PARAM_INT,
          true },
        { "[{'family':'boost','leaves':{'int':[4,9]}}]", "boost.leaves", 4, 9, PARAM_INT, false },
        { "[{'family':'boost','leaves':{'choice':[4,9]}}]", "boost.leaves", 0, 0, PARAM_ORDINAL,
          false },
        { "[{'family':'boost','bins':{'choice':['63','255']}}]", "boost.bins", 0, 0,
          PARAM_CATEGORICAL, false },
        { "[{'family':'boost','bins':'63'}]", "boost.bins", 0, 0, PARAM_CATEGORICAL, false },
        { "[{'family':'boost','rounds':500}]", "boost.rounds", 500, 500, PARAM_CONSTANT, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *list = rig_json(cases[i].spec);
        struct study_space s;
        struct err err = { 0 };
        int k = -1;

        if (study_space_build(&s, list, &binary, &err) < 0)
            fail_msg("%s: %s: %s", cases[i].spec, err.where, err.text);
        k = space_find(s.space, cases[i].param);
        assert_true(k >= 0);
        assert_int_equal(s.space->params[k].kind, cases[i].kind);
        if (cases[i].hi > 0)
            assert_true(s.space->params[k].lo == cases[i].lo &&
                        s.space->params[k].hi == cases[i].hi);
        assert_int_equal(s.space->params[k].is_log, cases[i].is_log);
        study_space_fini(&s);
        json_decref(list);
    }
}

/* What the metric, the task and constraints make of the space: which parameters are in it, and how many choices. */
static void a_space_suits_task_metric_and_constraints(void **state)
{
    static const struct {
        struct space_for need;
        const char *param;
        int choices; /* 0 = not searched */
    } cases[] = {
        { { FT_REGRESSION, "mae", false, false, false, NULL, false }, "boost.objective", 3 },
        { { FT_REGRESSION, "rmse", false, false, false, NULL, false }, "boost.objective", 0 },
        { { FT_BINARY, "auc", false, false, false, NULL, false }, "boost.objective", 0 },
        { { FT_BINARY, "auc", false, false, false, NULL, false }, "boost.class_weight", 0 },
        { { FT_BINARY, "f1", false, false, false, NULL, false }, "boost.class_weight", 2 },
        { { FT_MULTICLASS, "balanced_accuracy", false, false, false, NULL, false },
          "boost.class_weight",
          2 },
        { { FT_BINARY, "auc", false, false, false, NULL, false }, "boost.alpha", 0 },
        { { FT_BINARY, "auc", false, false, false, NULL, false }, "linear.C", 0 }, /* a free axis */
        { { FT_BINARY, "auc", true, false, false, NULL, false }, "boost.grow", 2 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct study_space s;
        struct err err = { 0 };
        assert_int_equal(study_space_build(&s, NULL, &cases[i].need, &err), 0);
        int k = space_find(s.space, cases[i].param);
        assert_int_equal(k >= 0 ? s.space->params[k].n_choices : 0, cases[i].choices);
        for (int f = 0; f < s.n_families; f++)
            assert_true(!cases[i].need.is_monotone || s.first[f].family->keeps_monotone);
        study_space_fini(&s);
    }
}

/* What the table says of a family's defaults is in its first configuration, free axes too. */
static void a_first_configuration_suits_the_table(void **state)
{
    const struct family_shape shape = { .rows = 32000, .columns = 784, .encoded = 784 };
    const struct space_for need = { FT_BINARY, "auc", false, false, false, &shape, false };
    struct study_space s;
    struct err err = { 0 };
    char *text = NULL;

    (void)state;
    assert_int_equal(study_space_build(&s, NULL, &need, &err), 0);
    for (int i = 0; i < s.n_families; i++) {
        if (!str_eq(s.first[i].family->name, "mlp"))
            continue;
        text = config_text_new(&s.first[i]);
        assert_non_null(strstr(text, "\"embedding\":\"none\""));
        assert_non_null(strstr(text, "\"members\":1"));
        assert_non_null(strstr(text, "\"epochs\":15"));
        mem_free(text);
    }
    assert_non_null(text);
    study_space_fini(&s);
}

/* Facts of columns that choices of the preparation are about, and what is searched of them by families that read dense rows
 * and by trees. */
static void choices_are_offered_where_the_table_has_such_columns(void **state)
{
    static const struct {
        struct family_shape shape;
        const char *param;
        bool is_there;
    } cases[] = {
        { { .rows = 9000, .columns = 8, .encoded = 8 }, "linear.prep_scale", false },
        { { .rows = 9000, .columns = 8, .encoded = 8, .numbers = 1 }, "linear.prep_scale", true },
        { { .rows = 9000, .columns = 8, .encoded = 8, .numbers = 1 }, "mlp.prep_pairs", true },
        { { .rows = 9000, .columns = 8, .encoded = 8, .numbers = 1 }, "boost.prep_pairs", false },
        { { .rows = 9000, .columns = 8, .encoded = 8, .numbers = 1 }, "boost.prep_scale", false },
        { { .rows = 9000, .columns = 8, .encoded = 8, .holes = 1 }, "linear.prep_missing", false },
        { { .rows = 9000, .columns = 8, .encoded = 8, .codes = 1 }, "boost.prep_codes", true },
        { { .rows = 9000, .columns = 8, .encoded = 8, .few_codes = 1 }, "boost.prep_codes", false },
        { { .rows = 9000, .columns = 8, .encoded = 8, .few_codes = 1 }, "linear.prep_codes", true },
        { { .rows = 9000, .columns = 8, .encoded = 8, .texts = 1 }, "forest.prep_text", true },
    };
    struct err err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct space_for need = { FT_BINARY, "auc",           false, false,
                                        false,     &cases[i].shape, false };
        struct study_space s;

        assert_int_equal(study_space_build(&s, NULL, &need, &err), 0);
        if ((space_find(s.space, cases[i].param) >= 0) != cases[i].is_there)
            fail_msg("%s, case %zu", cases[i].param, i);
        study_space_fini(&s);
    }
}

/* Parameters of the preparation are searched only where the table has columns that they are about; a configuration says
 * only what is not left to the data. */
static void the_preparation_is_searched_where_the_table_has_such_columns(void **state)
{
    static const struct {
        int many, few;
        bool levels, few_levels;
    } cases[] = { { 0, 0, false, false }, { 2, 0, true, false }, { 0, 1, false, true } };
    struct err err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct family_shape shape = { .rows = 9000,
                                            .columns = 8,
                                            .encoded = 8,
                                            .many_levels = cases[i].many,
                                            .few_levels = cases[i].few };
        const struct space_for need = { FT_BINARY, "auc", false, false, false, &shape, false };
        struct study_space s;

        assert_int_equal(study_space_build(&s, NULL, &need, &err), 0);
        assert_int_equal(space_find(s.space, "boost.prep_levels") >= 0, cases[i].levels);
        assert_int_equal(space_find(s.space, "mlp.prep_few_levels") >= 0, cases[i].few_levels);
        char *text = config_text_new(&s.first[0]);
        assert_null(strstr(text, "prep_"));
        mem_free(text);
        study_space_fini(&s);
    }
    const struct space_for need = { FT_BINARY, "auc", false, false, false, NULL, false };
    json_t *list = json_pack("[{s:s, s:s}]", "family", "boost", "prep_levels", "plain");
    struct study_space s;
    assert_int_equal(study_space_build(&s, list, &need, &err), 0);
    char *text = config_text_new(&s.first[0]);
    assert_non_null(strstr(text, "\"prep_levels\":\"plain\""));
    mem_free(text);
    study_space_fini(&s);
    json_decref(list);
}

static void a_space_that_does_not_suit_is_one_error_with_its_path(void **state)
{
    static const struct {
        struct space_for need;
        const char *spec, *where;
    } cases[] = {
        { { FT_BINARY, "auc", false, false, false, NULL, false },
          "[{'family':'boost','objective':'poisson'}]",
          "space[0].objective" },
        { { FT_REGRESSION, "mae", false, false, false, NULL, false },
          "[{'family':'boost','objective':{'choice':['huber','logistic']}}]",
          "space[0].objective.choice" },
        { { FT_MULTICLASS, "auc", false, false, false, NULL, false },
          "[{'family':'boost','objective':'logistic'}]",
          "space[0].objective" },
        { { FT_REGRESSION, "rmse", false, false, false, NULL, false },
          "[{'family':'boost','class_weight':'balanced'}]",
          "space[0].class_weight" },
        { { FT_BINARY, "auc", true, false, false, NULL, false },
          "[{'family':'boost'},{'family':'linear'}]",
          "space[1].family" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *list = rig_json(cases[i].spec);
        struct study_space s;
        struct err err = { 0 };
        assert_int_equal(study_space_build(&s, list, &cases[i].need, &err), -1);
        assert_int_equal(strncmp(err.where, cases[i].where, strlen("space[0].family")), 0);
        json_decref(list);
    }
}

/* momentum and beta2 are searched only beside optimizers that use them. */
static void a_parameter_without_effect_is_not_searched(void **state)
{
    static const struct {
        const char *spec, *param;
        const char *parent; /* NULL: an error */
        uint64_t active;
    } cases[] = {
        { "[{'family':'mlp','momentum':[0.5,0.99]}]", "mlp.momentum", "family", 1 },
        { "[{'family':'mlp','optimizer':'sgd','momentum':[0.5,0.99]}]", "mlp.momentum", "family",
          1 },
        { "[{'family':'mlp','optimizer':{'choice':['sgd','adagrad','lamb']},'momentum':[0.5,0.99]}]",
          "mlp.momentum", "mlp.optimizer", 5 },
        { "[{'family':'cnn','optimizer':{'choice':['sgd','adam']},'beta2':{'choice':[0.9,0.99]}}]",
          "cnn.beta2", "cnn.optimizer", 2 },
        { "[{'family':'cnn','optimizer':'adagrad','momentum':0.9}]", "cnn.momentum", "family", 1 },
        { "[{'family':'cnn','optimizer':'adagrad','momentum':[0.5,0.9]}]", NULL, NULL, 0 },
        { "[{'family':'linear'}]", "linear.l1_ratio", "linear.penalty", 4 },
        { "[{'family':'linear','penalty':'elastic'}]", "linear.l1_ratio", "family", 1 },
        /* what nobody asked for is left out, not refused */
        { "[{'family':'linear','penalty':'l1'}]", "linear.penalty", "family", 1 },
        { "[{'family':'mlp','optimizer':'lars','beta2':[0.5,0.9]}]", NULL, NULL, 0 },
    };
    const struct space_for need = { FT_BINARY, "auc", false, true, false, NULL, false };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *list = rig_json(cases[i].spec);
        struct study_space s;
        struct err err = { 0 };
        int rc = study_space_build(&s, list, &need, &err);

        json_decref(list);
        assert_int_equal(rc, cases[i].parent ? 0 : -1);
        if (rc < 0) {
            assert_non_null(strstr(err.text, "has no effect with optimizer "));
            assert_int_equal(strncmp(err.where, "space[0].", 9), 0);
            continue;
        }
        const struct param *p = &s.space->params[space_find(s.space, cases[i].param)];
        assert_string_equal(s.space->params[p->parent].name, cases[i].parent);
        assert_int_equal(p->parent_mask, cases[i].active);
        study_space_fini(&s);
    }
}

/* `bins: 255` in YAML is a number, `bootstrap: true` a truth: both mean the choice of that name. */
static void a_choice_may_be_written_as_a_number_or_a_truth(void **state)
{
    static const struct {
        const char *param, *value, *want; /* NULL: refused */
    } cases[] = {
        { "boost.bins", "255", "255" },           { "boost.bins", "'63'", "63" },
        { "boost.bins", "127.0", "127" },         { "boost.bins", "100", NULL },
        { "boost.bins", "255.5", NULL },          { "boost.bins", "null", NULL },
        { "forest.max_features", "0.50", "0.5" }, { "forest.bootstrap", "false", "no" },
        { "forest.bootstrap", "true", "yes" },    { "forest.max_features", "true", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct space_for need = { FT_BINARY, "auc", false, false, false, NULL, false };
        char text[120], list_text[140];
        struct study_space s;
        struct config c;
        struct err err = { 0 };

        const char *dot = strchr(cases[i].param, '.');
        (void)snprintf(text, sizeof text, "{'family':'%.*s','%s':%s}", (int)(dot - cases[i].param),
                       cases[i].param, dot + 1, cases[i].value);
        (void)snprintf(list_text, sizeof list_text, "[%s]", text);
        json_t *config = rig_json(text), *list = rig_json(list_text);
        int rc = config_parse(&c, config, "", NULL, &err);
        assert_int_equal(study_space_build(&s, list, &need, &err), rc);
        assert_int_equal(rc, cases[i].want ? 0 : -1);
        if (rc == 0) {
            char want[40], *stored = config_text_new(&c);
            (void)snprintf(want, sizeof want, ":\"%s\"", cases[i].want);
            assert_non_null(strstr(stored, want));
            assert_string_equal(s.space->params[space_find(s.space, cases[i].param)].choices[0],
                                cases[i].want);
            mem_free(stored);
            study_space_fini(&s);
        }
        json_decref(config);
        json_decref(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_metrics_is_that_of_ml),
        cmocka_unit_test(task_auto_means_what_ml_infers),
        cmocka_unit_test(a_target_that_no_model_can_hold_is_refused),
        cmocka_unit_test(a_problem_survives_being_stored),
        cmocka_unit_test(derived_inputs_are_foreseen),
        cmocka_unit_test(poisson_deviance_needs_counts),
        cmocka_unit_test(configurations_go_through_every_form_unchanged),
        cmocka_unit_test(users_domains_become_parameters),
        cmocka_unit_test(columns_that_say_how_rows_are_used_are_checked),
        cmocka_unit_test(constraints_name_columns_of_numbers),
        cmocka_unit_test(a_space_suits_task_metric_and_constraints),
        cmocka_unit_test(a_choice_may_be_written_as_a_number_or_a_truth),
        cmocka_unit_test(a_parameter_without_effect_is_not_searched),
        cmocka_unit_test(a_first_configuration_suits_the_table),
        cmocka_unit_test(choices_are_offered_where_the_table_has_such_columns),
        cmocka_unit_test(the_preparation_is_searched_where_the_table_has_such_columns),
        cmocka_unit_test(a_space_that_does_not_suit_is_one_error_with_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
