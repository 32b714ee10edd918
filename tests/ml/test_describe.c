/* test_describe.c - what is said of a pipeline: one line for columns with equal steps, whatever the width of the table; what
 * is left out and why; names of strangers cut and kept valid. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ml/prep/describe.h"

#include <stdio.h>
#include <string.h>

static char *described(const struct frame *f, enum describe_form form,
                       const struct prep_choice *choice)
{
    static const char *const skip[] = { "y", NULL };
    const struct prep_choice none = { { 0 } };
    const struct prep_spec spec = { .frame = f, .skip = skip, .choice = choice ? *choice : none };
    struct err err = { 0 };
    struct prep *p = prep_fit(&spec, &err);
    struct buf b;

    if (!p)
        fail_msg("%s", err.text);
    const struct describe_in in = {
        .prep = p, .form = form, .frame = f, .skip = skip, .choice = &spec.choice
    };
    buf_init(&b, 1 << 20);
    if (prep_describe(&in, &b, &err) < 0)
        fail_msg("%s", err.text);
    prep_free(p);
    return buf_take(&b, NULL);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\nis not in\n%s", part, text);
}

static void a_small_table_is_told_as_it_is(void **state)
{
    struct frame *f = csv_frame(
        "a,b,c,k,y\n1,,u,5,1\n2,1,v,5,2\n3,4,u,5,3\n4,3,v,5,4\n5,6,u,5,5\n6,5,v,5,6\n", NULL);
    char *text = described(f, DESCRIBE_DENSE, NULL);

    (void)state;
    assert_string_equal(
        text,
        "{\"form\":\"dense\",\"columns\":3,\"inputs\":3,\"width\":4,\"groups\":["
        "{\"type\":\"number\",\"n\":1,\"columns\":[\"a\"],\"inputs\":1,\"width\":1,\"steps\":[{\"say\":\"standardised\","
        "\"inputs\":1}]},"
        "{\"type\":\"number\",\"n\":1,\"columns\":[\"b\"],\"inputs\":1,\"width\":2,\"steps\":[{\"say\":\"missing values "
        "become the median, with an indicator\",\"inputs\":0},{\"say\":\"standardised\",\"inputs\":1}]},"
        "{\"type\":\"category\",\"n\":1,\"columns\":[\"c\"],\"inputs\":1,\"width\":1,\"steps\":[{\"say\":\"one-hot, its rare "
        "levels together\",\"inputs\":1}]}],"
        "\"dropped\":[{\"why\":\"the same value in all training rows\",\"n\":1,\"columns\":[\"k\"]},"
        "{\"why\":\"the target\",\"n\":1,\"columns\":[\"y\"]}]}");
    mem_free(text);
    frame_close(f);
}

static void a_family_that_reads_nothing_has_no_groups(void **state)
{
    struct frame *f = csv_frame("a,y\n1,1\n2,2\n3,3\n4,4\n", NULL);
    char *text = described(f, DESCRIBE_NONE, NULL);

    (void)state;
    expect(text, "\"groups\":[],\"dropped\":[{\"why\":\"the target\"");
    mem_free(text);
    frame_close(f);
}

static void a_wide_table_is_told_in_as_few_words(void **state)
{
    enum { WIDE = 1000 };
    struct buf b;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&b, 1 << 22);
    for (int c = 0; c < WIDE; c++)
        assert_int_equal(buf_addf(&b, NULL, "column_%d,", c), 0);
    assert_int_equal(buf_adds(&b, "y\n", NULL), 0);
    for (int r = 0; r < 12; r++) {
        for (int c = 0; c < WIDE; c++)
            assert_int_equal(buf_addf(&b, NULL, "%d,", (r * 7 + c) % 11), 0);
        assert_int_equal(buf_addf(&b, NULL, "%d\n", r), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    char *text = described(f, DESCRIBE_BINS, NULL);
    assert_true(strlen(text) < 600);
    expect(text, "\"n\":1000,\"columns\":[\"column_0\",");
    expect(text, "\"inputs\":1000");
    assert_null(strstr(text, "column_8\""));
    mem_free(text);
    frame_close(f);
    buf_fini(&b);
}

static void more_kinds_than_there_is_room_for_are_one(void **state)
{
    struct buf b;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&b, 1 << 22);
    /* dates each of which has another set of parts that say something */
    for (int c = 0; c < 60; c++)
        assert_int_equal(buf_addf(&b, NULL, "a%d,", c), 0);
    assert_int_equal(buf_adds(&b, "y\n", NULL), 0);
    for (int r = 0; r < 40; r++) {
        for (int c = 0; c < 60; c++) {
            int month = c & 1 ? r % 12 + 1 : 3, day = c & 2 ? r * 5 % 28 + 1 : 7,
                hour = c & 4 ? r * 7 % 24 : 9;
            int minute = c & 8 ? r * 11 % 60 : 30, second = c & 16 ? r * 13 % 60 : 15,
                year = c & 32 ? 2000 + r % 9 : 2020;
            assert_int_equal(buf_addf(&b, NULL, "%04d-%02d-%02d %02d:%02d:%02d,", year, month, day,
                                      hour, minute, second),
                             0);
        }
        assert_int_equal(buf_addf(&b, NULL, "%d\n", r), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    char *text = described(f, DESCRIBE_BINS, NULL);
    int groups = 0;
    for (const char *at = text; (at = strstr(at, "{\"type\":")); at++)
        groups++;
    assert_true(groups <= DESCRIBE_GROUPS && groups > 4);
    assert_true(strlen(text) < 48 << 10);
    mem_free(text);
    frame_close(f);
    buf_fini(&b);
}

static void names_are_cut_between_letters(void **state)
{
    char csv[2000], name[400] = "", *text;

    (void)state;
    for (int i = 0; i < 60; i++)
        memcpy(name + (size_t)i * 2, "é", sizeof "é"); /* two bytes, and the end */
    (void)snprintf(csv, sizeof csv, "%s,\"q\"\"t\",y\n1,4,1\n2,5,2\n3,6,3\n4,1,4\n", name);
    struct frame *f = csv_frame(csv, NULL);
    text = described(f, DESCRIBE_BINS, NULL);
    assert_true(utf8_ok(text, strlen(text)));
    expect(text, "q\\\"t");
    assert_null(strstr(text, name));
    mem_free(text);
    frame_close(f);
}

static void choices_are_told(void **state)
{
    struct prep_choice c = { { 0 } };
    struct frame *f =
        csv_frame("a,m,y\n1,3,1\n,4,2\n3,5,3\n4,3,4\n5,4,5\n6,5,6\n7,3,7\n8,4,8\n9,5,9\n", NULL);

    (void)state;
    assert_true(prep_choice_set(&c, "missing", "low") && prep_choice_set(&c, "scale", "quantile") &&
                prep_choice_set(&c, "codes", "levels"));
    char *text = described(f, DESCRIBE_DENSE, &c);
    expect(text, "missing values become the lowest value");
    expect(text, "rank among the training rows");
    expect(text, "\"type\":\"code\"");
    mem_free(text);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_table_is_told_as_it_is),
        cmocka_unit_test(a_family_that_reads_nothing_has_no_groups),
        cmocka_unit_test(a_wide_table_is_told_in_as_few_words),
        cmocka_unit_test(more_kinds_than_there_is_room_for_are_one),
        cmocka_unit_test(names_are_cut_between_letters),
        cmocka_unit_test(choices_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
