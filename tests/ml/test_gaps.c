/* test_gaps.c - numbers that stand for a missing one are read as missing and no others are; missing
 * numbers become what another column tells, where it tells nearly all; bytes come back. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/prep_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/describe.h"
#include "ml/prep/prep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 2000, LINE = 80 };

/* A table of three columns: height; weight, which is about ten times the height; and noise. A row in
 * `every` has `gap` as its height; every second one of these has none as its weight where
 * weight_too. */
struct wanted {
    const char *gap;
    int every;
    bool weight_too;
    /* the lowest height */
    double from;
};

static struct frame *table(const struct wanted *w)
{
    char *text = mem_alloc((size_t)(ROWS + 1) * LINE);
    size_t n = (size_t)sprintf(text, "height,weight,noise\n");
    char hash[SHA256_HEX];
    struct rng rng;

    rng_init(&rng, 5, 0);
    for (int i = 0; i < ROWS; i++) {
        double height = w->from + 4 * rng_unit(&rng);
        double weight = 10 * height + 0.2 * rng_normal(&rng), noise = rng_normal(&rng);
        if (i % w->every == 1 && w->weight_too && i / w->every % 2 == 0)
            n += (size_t)sprintf(text + n, "%s,,%.6f\n", w->gap, noise);
        else if (i % w->every == 1)
            n += (size_t)sprintf(text + n, "%s,%.6f,%.6f\n", w->gap, weight, noise);
        else
            n += (size_t)sprintf(text + n, "%.6f,%.6f,%.6f\n", height, weight, noise);
    }
    struct frame *f = csv_frame_n(text, n, 0, NULL, hash);
    mem_free(text);
    return f;
}

static struct prep *fitted(const struct frame *f, int missing)
{
    struct prep_spec spec = { .frame = f };
    struct err err = { 0 };

    spec.choice.of[PREP_OF_MISSING] = missing;
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

/* The standardised height and its indicator (where there is one) in each row of a table. */
static void heights(const struct prep *p, const char *csv, int n, float *z, float *indicator)
{
    struct frame *f = csv_frame(csv, NULL);
    struct err err = { 0 };
    struct prep_view *v = prep_view_new(p, f, &err);
    struct prep_dense d;
    int at = 0;

    if (!v)
        fail_msg("%s", err.text);
    assert_int_equal(prep_dense_make(v, 0, n, &d, NULL), 0);
    assert_string_equal(prep_input_name(p, 0), "height");
    bool has_indicator = prep_dense_of(p, 0, &at) == 2;
    for (int i = 0; i < n; i++) {
        z[i] = d.x[i * d.stride + at];
        indicator[i] = has_indicator ? d.x[i * d.stride + at + 1] : 0;
    }
    prep_dense_fini(&d);
    prep_view_free(v);
    frame_close(f);
}

static const char *const ask = "height,weight,noise\n0,50,0\n5,50,0\n-999,70,0\n7,70,0\n,60,0\n"
                               "6,60,0\n,,0\n0,,0\n6,45,0\n";
enum { ASKED = 9 };

static void a_rare_zero_far_from_all_others_is_what_another_column_tells(void **state)
{
    struct frame *f = table(&(struct wanted){ "0", 200, false, 4 });
    struct prep *p = fitted(f, MISSING_AUTO);
    float z[ASKED], indicator[ASKED];

    (void)state;
    heights(p, ask, ASKED, z, indicator);
    assert_true(fabsf(z[0] - z[1]) < 0.1F && fabsf(z[4] - z[5]) < 0.1F);
    /* nothing tells it: the median, which is near 6 */
    assert_true(fabsf(z[6] - z[5]) < 0.2F && z[7] == z[6]);
    /* another number is no blank, and a height that is there stays */
    assert_true(z[2] < z[1] - 100 && z[8] == z[5]);
    prep_bytes_check(p, 1);
    prep_free(p);
    frame_close(f);
}

/* A number may be missing for the first time in the rows that are to be predicted. */
static void a_column_that_lacks_no_number_is_told_where_one_is_missing_later(void **state)
{
    static const char *const later = "height,weight,noise\n,50,0\n5,50,0\n,,0\n,60,\n6,60,0\n";
    struct frame *f = table(&(struct wanted){ "5", ROWS, false, 4 });
    float z[5], indicator[5];

    (void)state;
    assert_true(f->cols[0].missing == 0 && f->cols[1].missing == 0);
    for (int missing = 0; missing < 2; missing++) {
        struct prep *p = fitted(f, missing ? MISSING_MEDIAN : MISSING_AUTO);
        heights(p, later, 5, z, indicator);
        /* nothing tells the third one, nor any where the spec says so: the median, which is near 6 */
        assert_true(fabsf(z[2] - z[4]) < 0.2F);
        assert_true(missing ? z[0] == z[2] && z[3] == z[2]
                            : fabsf(z[0] - z[1]) < 0.1F && fabsf(z[3] - z[4]) < 0.1F);
        prep_bytes_check(p, 1);
        prep_free(p);
    }
    frame_close(f);
}

static void a_number_below_zero_may_be_missing_in_many_rows(void **state)
{
    struct frame *f = table(&(struct wanted){ "-999", 3, false, 4 });
    struct prep *p = fitted(f, MISSING_AUTO);
    float z[ASKED], indicator[ASKED];

    (void)state;
    heights(p, ask, ASKED, z, indicator);
    assert_true(fabsf(z[2] - z[3]) < 0.1F && fabsf(z[4] - z[5]) < 0.1F);
    assert_true(z[0] < z[1] - 2);
    prep_bytes_check(p, 1);
    prep_free(p);
    frame_close(f);
}

/* That a number is missing may say something about the target: then models see that it is. */
static void many_gaps_that_say_something_are_not_filled(void **state)
{
    struct frame *f = table(&(struct wanted){ "-999", 3, false, 4 });
    double y[ROWS];
    uint8_t part[ROWS];
    float z[ASKED], indicator[ASKED];
    struct err err = { 0 };

    (void)state;
    for (int classes = 0; classes <= 3; classes += 3) {
        for (int i = 0; i < ROWS; i++) {
            /* numbers far from 0 say it, too */
            y[i] = (i % 3 == 1 && i % 5 < 2 ? 2 : i % 2) + (classes == 0 ? 1e10 : 0);
            part[i] = (uint8_t)(i % PREP_PARTS);
        }
        const struct prep_target t = { .y = y, .part = part, .n_classes = classes };
        const struct prep_spec spec = { .frame = f, .target = &t };
        struct prep *p = prep_fit(&spec, &err);
        if (!p)
            fail_msg("%s", err.text);
        heights(p, ask, ASKED, z, indicator);
        /* the median and an indicator */
        assert_true(z[2] == z[4] && z[2] == z[6] && fabsf(z[2] - z[5]) < 0.2F);
        assert_true(indicator[2] > indicator[3] && indicator[2] == indicator[4]);
        prep_free(p);
    }
    frame_close(f);
}

static void other_zeros_are_numbers(void **state)
{
    static const struct wanted tables[] = {
        { "0", 4, false, 4 },     /* many */
        { "0", 200, false, 0.5 }, /* near others */
        { "0", 1999, false, 4 },  /* one */
        { "-7", 200, false, 4 },  /* a number like any other */
        { "-9", 200, false, -4 }, /* others are below 0 too */
    };
    float z[ASKED], indicator[ASKED];
    char text[LINE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct frame *f = table(&tables[i]);
        struct prep *p = fitted(f, MISSING_AUTO);
        snprintf(text, sizeof text, "height,weight,noise\n%s,50,0\n5,50,0\n", tables[i].gap);
        heights(p, text, 2, z, indicator);
        assert_true(z[0] < z[1] - 1);
        prep_free(p);
        frame_close(f);
    }
}

/* `missing` of the spec says what is missing, and nothing else is. */
static void what_the_user_declares_is_all_that_is_missing(void **state)
{
    static const char *const none[] = { NULL };
    static const struct csv_override columns[] = {
        { .name = "height", .missing = none, .has_no_type = true }
    };
    const struct csv_opts opts = { .overrides = columns, .n_overrides = 1 };
    char *text = mem_alloc((size_t)ROWS * LINE);
    size_t n = (size_t)sprintf(text, "height,weight\n");
    char hash[SHA256_HEX];
    float z[2], indicator[2];

    (void)state;
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "%d,%d\n", i % 100 == 0 ? 0 : 100 + i % 97, 3 * (i % 97));
    for (int declared = 0; declared < 2; declared++) {
        struct frame *f = csv_frame_n(text, n, 0, declared ? &opts : NULL, hash);
        struct prep *p = fitted(f, MISSING_AUTO);
        heights(p, "height,weight\n0,150\n150,150\n", 2, z, indicator);
        assert_true(declared ? z[0] < z[1] - 1 : fabsf(z[0] - z[1]) < 0.2F);
        prep_free(p);
        frame_close(f);
    }
    mem_free(text);
}

static void empty_cells_are_told_by_another_column_that_has_them(void **state)
{
    struct frame *f = table(&(struct wanted){ "", 50, true, 4 });
    struct prep *p = fitted(f, MISSING_AUTO), *plain = fitted(f, MISSING_MEDIAN);
    float z[ASKED], indicator[ASKED];

    (void)state;
    heights(p, ask, ASKED, z, indicator);
    assert_true(fabsf(z[4] - z[5]) < 0.1F);
    /* rows without a weight have the median and the indicator still */
    assert_true(indicator[6] > indicator[4] && indicator[4] == indicator[5]);
    prep_bytes_check(p, 1);
    /* a configuration that wants the median gets it */
    heights(plain, "height,weight,noise\n,45,0\n,75,0\n", 2, z, indicator);
    assert_true(z[0] == z[1]);
    prep_free(plain);
    prep_free(p);
    frame_close(f);
}

/* The gaps come from the rows that may be seen. */
static void other_rows_are_not_looked_at(void **state)
{
    struct frame *f = table(&(struct wanted){ "0", 200, false, 4 });
    uint8_t *use = mem_alloc(ROWS);
    float z[ASKED], indicator[ASKED];
    struct err err = { 0 };

    (void)state;
    for (int i = 0; i < ROWS; i++)
        use[i] = i % 200 != 1;
    const struct prep_spec spec = { .frame = f, .use = use };
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    heights(p, ask, ASKED, z, indicator);
    assert_true(z[0] < z[1] - 2);
    prep_free(p);
    mem_free(use);
    frame_close(f);
}

/* A prediction must not rise or fall with such a column: it tells no other, and has no blank. */
static void a_column_with_a_constraint_tells_no_other_and_has_no_blank(void **state)
{
    static const char *const gaps[] = { "", "0" };
    static const uint8_t plain[2][3] = { { 0, 1, 0 }, { 1, 0, 0 } };
    float z[ASKED], indicator[ASKED];
    struct err err = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct frame *f = table(&(struct wanted){ gaps[i], 50, false, 4 });
        const struct prep_spec spec = { .frame = f, .plain = plain[i] };
        struct prep *p = prep_fit(&spec, &err);
        if (!p)
            fail_msg("%s", err.text);
        heights(p, ask, ASKED, z, indicator);
        /* row 4 has a weight, which tells the height unless it has the constraint; row 6 has none,
         * row 7 has a height of 0 */
        assert_true(i == 0 ? z[4] == z[6] : z[4] != z[6] && fabsf(z[4] - z[5]) < 0.1F);
        assert_true(z[7] < z[1] - 2);
        prep_free(p);
        frame_close(f);
    }
}

static void numbers_far_from_zero_are_told(void **state)
{
    struct frame *f = table(&(struct wanted){ "", 50, false, 1e9 });
    struct prep *p = fitted(f, MISSING_AUTO);
    float z[4], indicator[4];

    (void)state;
    heights(p,
            "height,weight,noise\n,10000000010,0\n1000000001,10000000010,0\n"
            ",10000000030,0\n1000000003,10000000030,0\n",
            4, z, indicator);
    assert_true(fabsf(z[0] - z[1]) < 0.1F && fabsf(z[2] - z[3]) < 0.1F && z[3] > z[1] + 1);
    prep_free(p);
    frame_close(f);
}

/* A number that is there in no row, nor a column that tells it, is not told by the weight of the
 * row that it is shown in. */
static void a_shuffled_column_stays_as_it_was_in_its_own_rows(void **state)
{
    static const int32_t order[] = { 1, 0, 0 };
    struct frame *f = table(&(struct wanted){ "", 50, true, 4 });
    struct frame *few = csv_frame("height,weight,noise\n,70,0\n,,0\n6,60,0\n", NULL);
    struct prep *p = fitted(f, MISSING_AUTO);
    struct prep_view *v = prep_view_new(p, few, NULL);
    struct prep_dense own, shuffled;
    int at = 0;

    (void)state;
    assert_int_equal(prep_dense_of(p, 0, &at), 2);
    assert_int_equal(prep_dense_make(v, 0, 3, &own, NULL), 0);
    assert_int_equal(prep_view_shuffle(v, 0, order, NULL), 0);
    assert_int_equal(prep_dense_make(v, 0, 3, &shuffled, NULL), 0);
    for (int i = 0; i < 3; i++) {
        const float *is = shuffled.x + i * shuffled.stride + at;
        const float *was = own.x + order[i] * own.stride + at;
        assert_true(is[0] == was[0] && is[1] == was[1]);
    }
    assert_true(own.x[at] != own.x[own.stride + at]);
    prep_dense_fini(&own);
    prep_dense_fini(&shuffled);
    prep_view_free(v);
    prep_free(p);
    frame_close(few);
    frame_close(f);
}

/* What `assay explain` says of it. */
static void says(int missing, enum describe_form form, const char *text, bool is_said)
{
    struct frame *f = table(&(struct wanted){ "0", 200, false, 4 });
    struct prep *p = fitted(f, missing);
    struct prep_choice choice = { 0 };
    struct err err = { 0 };
    struct buf b;

    choice.of[PREP_OF_MISSING] = (uint8_t)missing;
    const struct describe_in in = { .prep = p, .form = form, .frame = f, .choice = &choice };
    buf_init(&b, 1 << 20);
    if (prep_describe(&in, &b, &err) < 0)
        fail_msg("%s", err.text);
    char *said = buf_take(&b, NULL);
    assert_true((strstr(said, text) != NULL) == is_said);
    mem_free(said);
    prep_free(p);
    frame_close(f);
}

static void a_description_says_what_is_missing_and_what_becomes_of_it(void **state)
{
    static const char *const told = "missing values are told by \\\"weight\\\" where possible";

    (void)state;
    says(MISSING_AUTO, DESCRIBE_BINS, "\"0 is read as missing\"", true);
    says(MISSING_AUTO, DESCRIBE_BINS, told, true);
    says(MISSING_MEAN, DESCRIBE_DENSE, told, false);
    says(MISSING_MEAN, DESCRIBE_DENSE, "missing values become the mean", true);
}

/* ---- numbers that are names ---- */

enum { SHOPS = 100 };

/* Shops from 100 on and, in every 20th row, none (-1); size, which is ten times the shop and 1500
 * without one, and is missing in every 33rd row; noise. y: what each shop sells, none sells much. */
static struct frame *shops(double *y, uint8_t *part)
{
    char *text = mem_alloc((size_t)(ROWS + 1) * LINE), size[LINE / 2] = "";
    size_t n = (size_t)sprintf(text, "size,shop,noise\n");
    char hash[SHA256_HEX];
    struct rng rng;

    rng_init(&rng, 6, 0);
    for (int i = 0; i < ROWS; i++) {
        int shop = i % 20 == 3 ? -1 : 100 + (int)(SHOPS * rng_unit(&rng));
        double noise = rng_normal(&rng), about = shop < 0 ? 1500 : 10 * shop;
        snprintf(size, sizeof size, "%.3f", about + rng_normal(&rng));
        n += (size_t)sprintf(text + n, "%s,%d,%.6f\n", i % 33 == 1 ? "" : size, shop, noise);
        y[i] = shop < 0 ? 8 : shop * 7919 % 13 * 0.5 + 0.1 * noise;
        part[i] = (uint8_t)(i / 7 % PREP_PARTS);
    }
    struct frame *f = csv_frame_n(text, n, 0, NULL, hash);
    mem_free(text);
    return f;
}

static struct prep *shops_fitted(const struct frame *f, const double *y, const uint8_t *part,
                                 int codes)
{
    const struct prep_target t = { .y = y, .part = part };
    struct prep_spec spec = { .frame = f, .target = &t };
    struct err err = { 0 };

    spec.choice.of[PREP_OF_CODES] = (uint8_t)codes;
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

/* The first dense column of an input in each row of a table. */
static void input_values(const struct prep *p, const char *name, const char *csv, int n, float *z)
{
    struct frame *f = csv_frame(csv, NULL);
    struct prep_view *v = prep_view_new(p, f, NULL);
    struct prep_dense d;
    int input = 0, at = 0;

    while (input < prep_inputs(p) && strcmp(prep_input_name(p, input), name) != 0)
        input++;
    assert_true(input < prep_inputs(p));
    assert_true(prep_dense_of(p, input, &at) > 0);
    assert_int_equal(prep_dense_make(v, 0, n, &d, NULL), 0);
    for (int i = 0; i < n; i++)
        z[i] = d.x[i * d.stride + at];
    prep_dense_fini(&d);
    prep_view_free(v);
    frame_close(f);
}

static void a_name_keeps_what_is_known_of_it(void **state)
{
    static const char *const rows = "size,shop,noise\n1500,-1,0\n1500,150,0\n1510,151,0\n,,0\n";
    double y[ROWS];
    uint8_t part[ROWS];
    struct frame *f = shops(y, part);
    struct prep *p = shops_fitted(f, y, part, CODES_AUTO);
    float mean[4], number[4];

    (void)state;
    /* as a number -1 is missing; as a name it has its mean */
    input_values(p, "shop: mean of target", rows, 4, mean);
    input_values(p, "shop", rows, 4, number);
    assert_true(fabsf(number[0] - number[1]) < 0.1F);
    assert_true(mean[0] > mean[1] + 1 && mean[0] > mean[2] + 1 && mean[0] > mean[3] + 1);
    prep_bytes_check(p, 7);
    prep_free(p);
    frame_close(f);
}

static void names_tell_others_as_they_are(void **state)
{
    double y[ROWS];
    uint8_t part[ROWS];
    struct frame *f = shops(y, part);
    struct prep *p = shops_fitted(f, y, part, CODES_LEVELS);
    float z[4];

    (void)state;
    for (int i = 0; i < prep_inputs(p); i++) {
        if (strcmp(prep_input_name(p, i), "shop") == 0)
            assert_int_equal(prep_input_type(p, i), FRAME_CATEGORICAL);
    }
    input_values(p, "size", "size,shop,noise\n,-1,0\n1500,-1,0\n,180,0\n1800,180,0\n", 4, z);
    assert_true(fabsf(z[0] - z[1]) < 0.1F && fabsf(z[2] - z[3]) < 0.1F && z[3] > z[1] + 0.5F);
    prep_bytes_check(p, 7);
    prep_free(p);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rare_zero_far_from_all_others_is_what_another_column_tells),
        cmocka_unit_test(a_column_that_lacks_no_number_is_told_where_one_is_missing_later),
        cmocka_unit_test(a_number_below_zero_may_be_missing_in_many_rows),
        cmocka_unit_test(many_gaps_that_say_something_are_not_filled),
        cmocka_unit_test(other_zeros_are_numbers),
        cmocka_unit_test(what_the_user_declares_is_all_that_is_missing),
        cmocka_unit_test(empty_cells_are_told_by_another_column_that_has_them),
        cmocka_unit_test(other_rows_are_not_looked_at),
        cmocka_unit_test(a_column_with_a_constraint_tells_no_other_and_has_no_blank),
        cmocka_unit_test(numbers_far_from_zero_are_told),
        cmocka_unit_test(a_shuffled_column_stays_as_it_was_in_its_own_rows),
        cmocka_unit_test(a_description_says_what_is_missing_and_what_becomes_of_it),
        cmocka_unit_test(a_name_keeps_what_is_known_of_it),
        cmocka_unit_test(names_tell_others_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
