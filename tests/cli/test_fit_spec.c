/* test_fit_spec.c - the options of `assay fit`: the spec they make, what is refused before a table is read, and errors and advice
 * in the words of options. */
#include "tests/unit.h"

#include "base/mem.h"
#include "cli/fit_spec.h"
#include "ml/fit/warnings.h"

/* Options as they are typed, parted by spaces. */
static void typed(struct fit_opts *o, const char *line)
{
    struct err err = { 0 };
    char *copy = mem_strdup(line), *argv[40] = { NULL }, *save = NULL;
    int argc = 0;

    memset(o, 0, sizeof(*o));
    assert_int_equal(conf_defaults(o, fit_options, FIT_OPTIONS, &err), 0);
    for (char *p = strtok_r(copy, " ", &save); p && argc < 40; p = strtok_r(NULL, " ", &save))
        argv[argc++] = p;
    for (int i = 0; i < argc;)
        assert_int_equal(conf_args(o, fit_options, FIT_OPTIONS, argc, argv, &i, &err), 0);
    mem_free(copy);
}

static void options_become_a_spec(void **state)
{
    struct fit_opts o;
    struct err err = { 0 };

    (void)state;
    typed(
        &o,
        "--target y --folds 3 --families linear,boost --test t.csv --time 9s --gap 2d --time-column day "
        "--columns a=date,b=ignore --missing -,none --monotone a=increasing --ensemble 3");
    json_t *spec = fit_spec_new(&o, &err), *want;
    assert_string_equal(err.text, "");
    want = json_loads(
        "{\"dataset\": \"train\", \"target\": \"y\", \"seed\": 1, \"task\": \"auto\","
        "\"validation\": {\"kind\": \"kfold\", \"folds\": 3}, \"test\": {\"dataset\": \"test\"},"
        "\"space\": [{\"family\": \"linear\"}, {\"family\": \"boost\"}],"
        "\"budget\": {\"time\": \"9000ms\"}, \"time\": {\"column\": \"day\", \"gap\": \"2d\"},"
        "\"columns\": {\"a\": \"date\", \"b\": \"ignore\", \"*\": {\"missing\": [\"-\", \"none\"]}},"
        "\"monotone\": {\"a\": \"increasing\"}, \"ensemble\": 3}",
        0, NULL);
    assert_non_null(want);
    if (!json_equal(spec, want))
        fail_msg("%s", json_dumps(spec, JSON_INDENT(1)));
    json_decref(want);
    json_decref(spec);
    conf_fini(&o, fit_options, FIT_OPTIONS);
}

static void what_options_alone_tell_is_refused(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        { "--metric rsme", "--metric: \"rsme\" is not known; did you mean rmse?" },
        { "--metric auc --task regression", "--metric: auc does not suit the task regression" },
        { "--task regresion", "--task: \"regresion\" is not known; did you mean regression?" },
        { "--families bost", "--families: \"bost\" is no family of models; did you mean boost?" },
        { "--families ,", "--families: must not be empty" },
        { "--sampler tpee", "--sampler: \"tpee\" is no sampler; did you mean tpe?" },
        { "--sampler asha", "--sampler: asha is a scheduler" },
        { "--scheduler ash", "--scheduler: \"ash\" is no scheduler; did you mean asha?" },
        { "--scheduler tpe", "--scheduler: tpe is a sampler" },
        { "--validation kfolds", "--validation: \"kfolds\" is not known; did you mean kfold?" },
        { "--folds 1", "--folds: must be from 2 to 20, not 1" },
        { "--validation holdout --folds 5", "--folds: does not go with --validation holdout" },
        { "--ensemble 1", "--ensemble: must be off, or 2 to 50 members" },
        { "--gap 7d", "--gap: belongs to --time-column" },
        { "--time-column t --gap 7x", "--gap: '7x' is not a duration" },
        { "--time-column t --gap nan", "--gap: 'nan' is not a duration" },
        { "--time-column t --gap -1", "--gap: must be from 0" },
        { "--time-column t --groups g", "--groups: does not go with --time-column" },
        { "--groups y", "--groups: \"y\" is the target" },
        { "--weights y", "--weights: \"y\" is the target" },
        { "--time-column y", "--time-column: \"y\" is the target" },
        { "--weights w --groups w", "--weights: \"w\" is already the column of groups" },
        { "--columns x", "--columns: \"x\" is not NAME=TYPE" },
        { "--columns x=number", "--columns x: \"number\" is not known; did you mean numeric?" },
        { "--columns y=ignore", "--columns: ignores the target" },
        { "--columns ,", "--columns: names no column" },
        { "--monotone x=up", "--monotone x: \"up\" is not known; did you mean increasing?" },
        { "--monotone y=increasing", "--monotone y: is the target" },
        { "--missing \xff", "--missing: the text is not UTF-8" },
        { "--task regression --positive yes", "--positive: does not suit the task regression" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fit_opts o;
        struct err err = { 0 };
        char line[200];

        snprintf(line, sizeof(line), "--target y %s", cases[i].line);
        typed(&o, line);
        assert_null(fit_spec_new(&o, &err));
        if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("%s: %s", cases[i].line, err.text);
        assert_int_equal(err.code, ERR_ARG);
        conf_fini(&o, fit_options, FIT_OPTIONS);
    }
}

static void errors_of_the_controller_name_options(void **state)
{
    static const struct {
        const char *where, *text, *want;
    } cases[] = {
        { "metric", "metric: no", "--metric: no" },
        { "space[0].family", "space[0].family: cnn needs images", "--families: cnn needs images" },
        { "validation.folds", "validation.folds: no", "--folds: no" },
        { "monotone.a b", "monotone.a b: no", "--monotone a b: no" },
        { "columns.*", "columns.*: no", "--missing: no" },
        { "test.dataset", "test.dataset: no", "--test: no" },
        { "", "target: column \"y\": one value", "--target: column \"y\": one value" },
        { "", "time: no", "--time-column: no" },
        { "", "t.csv: line 3: no", "t.csv: line 3: no" },
        { "", "dataset: 2 rows are too few", "dataset: 2 rows are too few" },
        { "", "targets: no", "targets: no" },
        { "blob", "blob: no", "blob: no" },
        { "", "no", "no" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { .code = ERR_CONFLICT };

        snprintf(err.text, sizeof(err.text), "%s", cases[i].text);
        snprintf(err.where, sizeof(err.where), "%s", cases[i].where);
        assert_int_equal(fit_spec_err(&err), -1);
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(err.code, ERR_CONFLICT);
    }
    assert_int_equal(fit_spec_err(NULL), -1);
}

static void advice_names_options(void **state)
{
    static const struct {
        const char *code, *column, *said, *want;
    } cases[] = {
        { "leak", "x", "leave it out (" WARN_SAY_IGNORE ").",
          "leave it out (--columns x=ignore)." },
        { "identifier", "my id", WARN_SAY_IGNORE, "--columns 'my id=ignore'" },
        { "leak", "it's", WARN_SAY_IGNORE, "--columns 'it'\\''s=ignore'" },
        { "leak", "a,b", WARN_SAY_IGNORE, "columns: {a,b: ignore}" }, /* no option can name it */
        { "target_dates", "due", "labels (" WARN_SAY_LABEL ").", "labels (--columns due=label)." },
        { "never_repeats", "id", WARN_SAY_TYPE ".", "say so: --columns id=numeric." },
        { "grouped", "who", "then " WARN_SAY_GROUPS ".", "then give --groups who." },
        { "ordered", "day", "then " WARN_SAY_TIME ".", "then give --time-column day." },
        { "ordered", "", "give it " WARN_SAY_AS_TIME ".", "give it with --time-column." },
        { "repeats", "", "or " WARN_SAY_SOME_GROUPS ".", "or give --groups." },
        { "repeats", "", "which " WARN_SAY_AS_GROUPS ".", "which with --groups." },
        { "other_test_rows", "x", WARN_SAY_SOME_TIME " if later", "give --time-column if later" },
        { "constant", "as time", "Column \"as time\" is the same",
          "Column \"as time\" is the same" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[400], got[400];
        const char *at = strstr(cases[i].said, "%.80s");

        if (at)
            snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - cases[i].said), cases[i].said,
                     cases[i].column, at + strlen("%.80s"));
        else
            snprintf(text, sizeof(text), "%s", cases[i].said);
        json_t *w = json_pack("{s:s, s:s, s:s}", "code", cases[i].code, "column", cases[i].column,
                              "text", text);
        fit_spec_advice(w, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        json_decref(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_a_spec),
        cmocka_unit_test(what_options_alone_tell_is_refused),
        cmocka_unit_test(errors_of_the_controller_name_options),
        cmocka_unit_test(advice_names_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
