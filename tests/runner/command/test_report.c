/* test_report.c - the lines by which programs report, and those that only look like it. */
#include "tests/unit.h"

#include "base/str.h"
#include "trial-runner/command/report.h"

#include <math.h>

static void every_form_of_a_report_is_read(void **state)
{
    static const struct {
        const char *line;
        int level;
        double value;
    } cases[] = {
        { "assay: {\"level\": 3, \"score\": 0.5}", 3, 0.5 },
        { "assay:{\"step\":3,\"accuracy\":0.5,\"other\":[1]}", 3, 0.5 },
        { "assay: {\"epoch\": 2, \"value\": 1e-3}\r", 2, 1e-3 },
        { "assay: {\"score\": 1}", 0, 1 },
        { "assay: level=3 score=0.5", 3, 0.5 },
        { "assay: step=3, accuracy=0.5, time=12.5", 3, 0.5 },
        { "assay: 0.25", 0, 0.25 },
        { "assay: {\"score\": NaN}", 0, NAN },
        { "assay: score=nan level=4", 4, NAN },
        { "assay: {\"score\": null, \"level\": 1}", 1, NAN },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct report r;

        if (report_line(&r, cases[i].line, "accuracy", &err) != 1)
            fail_msg("%s: %s", cases[i].line, err.text);
        assert_int_equal(r.level, cases[i].level);
        if (isnan(cases[i].value) ? !isnan(r.value) : !(r.value == cases[i].value))
            fail_msg("%s: %g", cases[i].line, r.value);
    }
}

static void other_lines_are_none_and_broken_ones_say_why(void **state)
{
    static const char *const others[] = { "", "epoch 3", " assay: 1", "Assay: 1", "assay 1" };
    static const char *const broken[] = {
        "assay:",
        "assay: {",
        "assay: []",
        "assay: x",
        "assay: level=3",
        "assay: level=0 score=1",
        "assay: score=one",
        "assay: {\"level\":1.5,\"score\":1}",
        "assay: {\"score\":\"1\"}",
        "assay: {\"level\":-1,\"score\":1}",
        "assay: level=1e9 score=1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct report r;
        assert_int_equal(report_line(&r, others[i], "score", NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct err err = { 0 };
        struct report r;

        if (report_line(&r, broken[i], "score", &err) != -1 || !err.text[0])
            fail_msg("accepted: %s", broken[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_report_is_read),
        cmocka_unit_test(other_lines_are_none_and_broken_ones_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
