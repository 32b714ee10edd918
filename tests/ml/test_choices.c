/* test_choices.c - what each word that a configuration may choose of the preparation does: to the inputs, to their values, in
 * a file and in a table to predict; and that none of them shows a row what it may not see. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/model/variant.h"
#include "ml/prep/prep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 1500 };

/* Numbers whose product matters, one with holes, one with heavy tails; codes of 60 values and of 7; words; a list. */
static struct frame *table_new(bool is_shuffled)
{
    static const char *const words[] = { "good", "bad",  "fine", "poor",
                                         "red",  "blue", "slow", "fast" };
    char hash[SHA256_HEX];
    struct buf b;
    struct rng rng;

    rng_init(&rng, 5, 0);
    buf_init(&b, 1 << 21);
    assert_int_equal(buf_adds(&b, "a,b,holes,tails,zip,month,city,note,tags,y\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        double a = rng_normal(&rng), c = rng_normal(&rng), tail = exp(3 * rng_normal(&rng));
        int zip = (int)rng_below(&rng, 60), month = (int)rng_below(&rng, 7);
        int city = (int)rng_below(&rng, 70), word = (int)rng_below(&rng, 8),
            tag = (int)rng_below(&rng, 3);
        double y = 2 * a * c + sin(zip * 37.0) * 4 + sin(month * 2.5) * 2 + cos(city * 11.0) +
                   word % 4 + log(tail) * 0.3 + 0.3 * rng_normal(&rng);
        if (is_shuffled)
            y = rng_normal(&rng);
        char holes[32] = "";
        if (i % 7 != 0)
            (void)snprintf(holes, sizeof holes, "%.5f", a + 0.5 * rng_normal(&rng));
        assert_int_equal(
            buf_addf(
                &b, NULL,
                "%.6f,%.6f,%s,%.6g,%d,%d,c%d,the %s thing number %d was quite %s and old,%s,%.6f\n",
                a, c, holes, tail, 10001 + zip * 13, month + 1, city, words[word], i % 9,
                words[(word + i) % 8],
                tag == 0   ? "x|y"
                : tag == 1 ? "y"
                           : "z|x",
                y),
            0);
    }
    struct csv_opts opts = { 0 };
    static const struct csv_override kinds[] = {
        { .name = "note", .type = FRAME_CATEGORICAL, .kind = FRAME_TEXT },
        { .name = "tags", .type = FRAME_CATEGORICAL, .kind = FRAME_LIST }
    };
    opts.overrides = kinds;
    opts.n_overrides = 2;
    struct frame *f = csv_frame_n(b.data, b.len, 0, &opts, hash);
    buf_fini(&b);
    return f;
}

static struct ml_data *data_new(const struct frame *f)
{
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_REGRESSION,
                                       .metric = METRIC_RMSE,
                                       .folds = 3,
                                       .split_seed = 2 };
    struct err err = { 0 };
    struct ml_data *d = ml_data_open(&spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static struct ml_data *got(struct ml_data *d, const char *name, const char *word)
{
    struct prep_choice c = { { 0 } };
    struct err err = { 0 };

    assert_true(prep_choice_set(&c, name, word));
    struct ml_data *v = ml_variant_get(d, &c, &err);
    if (!v)
        fail_msg("%s", err.text);
    return v;
}

/* How many inputs the step makes of the column; step NULL = the column as it is. */
static int inputs_of(const struct prep *p, const char *column, const char *step)
{
    int n = 0;

    for (int i = 0; i < prep_inputs(p); i++) {
        int of[PREP_SOURCES], k = prep_input_columns(p, i, of);
        const char *made = prep_input_step(p, i);
        if ((made == NULL) != (step == NULL) || (step && strcmp(step, made) != 0))
            continue;
        for (int j = 0; j < k; j++)
            n += strcmp(prep_column_name(p, of[j]), column) == 0;
    }
    return n;
}

static int plain_input(const struct prep *p, const char *column)
{
    for (int c = 0; c < prep_columns(p); c++) {
        if (strcmp(prep_column_name(p, c), column) == 0)
            return prep_plain_of(p, c);
    }
    return -1;
}

static void each_word_makes_the_inputs_that_it_says(void **state)
{
    static const struct {
        const char *name, *word, *column, *step;
        bool makes;
    } cases[] = {
        { "codes", "auto", "zip", "codes", true },
        { "codes", "quantity", "zip", "codes", false },
        { "codes", "levels", "zip", "codes", false },
        { "codes", "levels", "zip", NULL, true },
        { "text", "auto", "note", "words", true },
        { "text", "auto", "note", "text", true },
        { "text", "scores", "note", "words", true },
        { "text", "scores", "note", "text", false },
        { "text", "topics", "note", "words", false },
        { "text", "topics", "note", "text", true },
        { "text", "scores", "tags", "items", false },
        { "text", "topics", "tags", "words", false },
        { "text", "topics", "tags", "items", true },
        { "text", "auto", "tags", "items", true },
        { "pairs", "off", "a", "pair", false },
        { "pairs", "more", "b", "pair", true },
        { "effects", "auto", "city", "effects", true },
        { "effects", "auto", "zip", "effects", true },
        { "effects", "off", "city", "effects", false },
        { "effects", "only", "city", "effects", true },
        { "effects", "only", "city", "levels", true },
        { "levels", "plain", "city", "effects", false },
        { "levels", "plain", "city", "levels", false },
        { "levels", "auto", "city", "levels", true },
    };
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ml_data *v = got(d, cases[i].name, cases[i].word);
        if ((inputs_of(v->prep, cases[i].column, cases[i].step) > 0) != cases[i].makes)
            fail_msg("%s %s: %s of %s", cases[i].name, cases[i].word,
                     cases[i].step ? cases[i].step : "itself", cases[i].column);
        ml_variant_put(d, v);
    }
    ml_data_close(d);
    frame_close(f);
}

/* Codes that become levels: the input has levels named by the numbers, the column still holds numbers, and quantities stay. */
static void codes_become_levels(void **state)
{
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f), *v = got(d, "codes", "levels");
    int zip = plain_input(v->prep, "zip"), month = plain_input(v->prep, "month"),
        a = plain_input(v->prep, "a");
    int of[PREP_SOURCES];
    const char *const *levels = NULL;

    (void)state;
    assert_int_equal(prep_input_type(d->prep, plain_input(d->prep, "zip")), FRAME_NUMERIC);
    assert_int_equal(prep_input_type(v->prep, zip), FRAME_CATEGORICAL);
    assert_int_equal(prep_input_type(v->prep, month), FRAME_CATEGORICAL);
    assert_int_equal(prep_input_type(v->prep, a), FRAME_NUMERIC);
    prep_input_columns(v->prep, zip, of);
    assert_int_equal(prep_column_type(v->prep, of[0]), FRAME_NUMERIC);
    assert_int_equal(prep_input_levels(v->prep, month, &levels), 7);
    for (int i = 0; i < 7; i++)
        assert_true(strlen(levels[i]) == 1 && levels[i][0] >= '1' && levels[i][0] <= '7');
    assert_int_equal(prep_input_levels(v->prep, zip, &levels), 60);
    ml_variant_put(d, v);
    ml_data_close(d);
    frame_close(f);
}

/* Numbers are matched as numbers whatever their spelling, and one that training never had is like a missing one. */
static void codes_of_a_table_to_predict_are_matched_as_numbers(void **state)
{
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f), *v = got(d, "codes", "levels");
    static const char rest[] = "c1,the good thing number 1 was quite bad and old,x|y";
    char text[900];
    struct prep_dense x;
    struct err err = { 0 };

    (void)state;
    (void)snprintf(
        text, sizeof text,
        "a,b,holes,tails,zip,month,city,note,tags\n0.5,0.5,1,2,10014,3,%s\n0.5,0.5,1,2,10014.0,3.0,%s\n"
        "0.5,0.5,1,2,10015,3,%s\n0.5,0.5,1,2,10014.5,3,%s\n0.5,0.5,1,2,,3,%s\n",
        rest, rest, rest, rest, rest);
    struct csv_opts opts = { 0 };
    static const struct csv_override kinds[] = {
        { .name = "note", .type = FRAME_CATEGORICAL, .kind = FRAME_TEXT },
        { .name = "tags", .type = FRAME_CATEGORICAL, .kind = FRAME_LIST }
    };
    opts.overrides = kinds;
    opts.n_overrides = 2;
    struct frame *g = csv_frame(text, &opts);
    struct prep_view *view = prep_view_new(v->prep, g, &err);
    assert_non_null(view);
    assert_int_equal(prep_dense_make(view, 0, 5, &x, &err), 0);
    int at = 0, n = prep_dense_of(v->prep, plain_input(v->prep, "zip"), &at);
    assert_true(n > 10);
    for (int row = 1; row < 5; row++) {
        bool is_equal = memcmp(x.x + at, x.x + row * x.stride + at, (size_t)n * sizeof *x.x) == 0;
        assert_int_equal(is_equal, row == 1);
    }
    /* unknown ones and missing ones alike */
    assert_memory_equal(x.x + 2 * x.stride + at, x.x + 4 * x.stride + at, (size_t)n * sizeof *x.x);
    assert_memory_equal(x.x + 3 * x.stride + at, x.x + 4 * x.stride + at, (size_t)n * sizeof *x.x);
    prep_dense_fini(&x);
    prep_view_free(view);
    frame_close(g);
    ml_variant_put(d, v);
    ml_data_close(d);
    frame_close(f);
}

static struct prep_dense rows_of(const struct prep *p, const struct frame *f)
{
    struct prep_dense x;
    struct err err = { 0 };
    struct prep_view *v = prep_view_new(p, f, &err);

    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, f->rows, &x, &err), 0);
    prep_view_free(v);
    return x;
}

static int by_float(const void *va, const void *vb)
{
    float a = *(const float *)va, b = *(const float *)vb;

    return (a > b) - (a < b);
}

/* The dense values of one column, with mean 0 and spread 1 whatever the scale; far values are near under ranks and robust. */
static void scales_keep_the_order_and_draw_tails_in(void **state)
{
    static const char *const words[] = { "standard", "robust", "quantile" };
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f);
    double top[3] = { 0 };

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(words); w++) {
        struct ml_data *v = got(d, "scale", words[w]);
        struct prep_dense x = rows_of(v->prep, f);
        double *tail = mem_array(ROWS, sizeof *tail), sum = 0, square = 0;
        float z[ROWS];
        int at, first = -1;
        prep_dense_of(v->prep, plain_input(v->prep, "tails"), &at);
        frame_numbers(f, frame_find(f, "tails"), 0, ROWS, tail);
        for (int i = 0; i < ROWS; i++) {
            z[i] = x.x[i * x.stride + at];
            sum += (double)z[i];
            square += (double)z[i] * (double)z[i];
            top[w] = fmax(top[w], (double)z[i]);
            if (first < 0 || tail[i] < tail[first])
                first = i;
        }
        assert_float_equal(sum / ROWS, 0, 1e-4);
        assert_float_equal(square / ROWS, 1, 1e-3);
        for (int i = 0; i + 1 < ROWS; i++)
            assert_true(tail[i] <= tail[i + 1] ? z[i] <= z[i + 1] : z[i] >= z[i + 1]);
        float least = z[first];
        qsort(z, ROWS, sizeof *z, by_float);
        assert_true(z[0] == least);
        mem_free(tail);
        prep_dense_fini(&x);
        ml_variant_put(d, v);
    }
    assert_true(top[0] > 15 && top[1] < 5 && top[2] < 5);
    ml_data_close(d);
    frame_close(f);
}

static void missing_numbers_become_what_the_word_says(void **state)
{
    static const char *const words[] = { "median", "mean", "low" };
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f);
    const struct frame_col *c = &f->cols[frame_find(f, "holes")];
    int at, of_auto = prep_dense_of(d->prep, plain_input(d->prep, "holes"), &at);

    (void)state;
    assert_int_equal(of_auto, 2);
    for (size_t w = 0; w < ARRAY_LEN(words); w++) {
        struct ml_data *v = got(d, "missing", words[w]);
        struct prep_dense x = rows_of(v->prep, f);
        int below = 0;
        assert_int_equal(prep_dense_of(v->prep, plain_input(v->prep, "holes"), &at), 1);
        float hole = x.x[at];
        for (int i = 0; i < ROWS; i++) {
            if (i % 7 == 0)
                assert_true(x.x[i * x.stride + at] == hole);
            else
                below += x.x[i * x.stride + at] < hole;
        }
        int full = ROWS - (int)c->missing;
        if (w == 0)
            assert_true(abs(below - full / 2) <= 2);
        if (w == 1) /* which has mean 0 after all */
            assert_float_equal((double)hole, 0, 1e-4);
        if (w == 2)
            assert_int_equal(below, 0);
        prep_dense_fini(&x);
        ml_variant_put(d, v);
    }
    ml_data_close(d);
    frame_close(f);
}

/* Runs `each` for each word of each choice that a family offers. */
static void for_each_word(struct ml_data *d,
                          void (*each)(struct ml_data *d, struct ml_data *v, const char *what))
{
    const struct family *f = family_find("mlp");

    for (int k = 0; k < f->n_params; k++) {
        if (f->params[k].axis != FA_PREP)
            continue;
        for (int word = 1; word < family_choice_count(&f->params[k]); word++) {
            char name[64];
            family_choice_name(&f->params[k], word, name, sizeof name);
            struct ml_data *v = got(d, f->params[k].name + strlen("prep_"), name);
            each(d, v, name);
            ml_variant_put(d, v);
        }
    }
}

static void save_and_load(struct ml_data *d, struct ml_data *v, const char *what)
{
    struct err err = { 0 };
    struct buf b, again;

    buf_init(&b, 1 << 26);
    buf_init(&again, 1 << 26);
    assert_int_equal(prep_save(v->prep, &b, &err), 0);
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    struct prep *p = prep_load(&in, &err);
    if (!p)
        fail_msg("%s: %s", what, err.text);
    assert_int_equal(in.pos, b.len);
    assert_int_equal(prep_save(p, &again, &err), 0);
    assert_int_equal(b.len, again.len);
    assert_memory_equal(b.data, again.data, b.len);
    struct prep_dense x = rows_of(v->prep, d->spec.frame), y = rows_of(p, d->spec.frame);
    assert_memory_equal(x.x, y.x, (size_t)(ROWS * x.stride) * sizeof *x.x);
    prep_dense_fini(&x);
    prep_dense_fini(&y);
    prep_free(p);
    /* a file that is cut anywhere is refused */
    for (size_t n = 0; n < b.len; n += b.len / 97 + 1) {
        struct view cut = { (const uint8_t *)b.data, n, 0 };
        assert_null(prep_load(&cut, &err));
    }
    buf_fini(&b);
    buf_fini(&again);
}

static void a_saved_preparation_makes_the_same_rows(void **state)
{
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f);

    (void)state;
    for_each_word(d, save_and_load);
    ml_data_close(d);
    frame_close(f);
}

/* ---- steps that preparations share ---- */

/* The rows of the table as a fold sees them. */
static struct prep_dense rows_by(const struct prep *p, const struct frame *f,
                                 const struct prep_target *t, const uint8_t *train)
{
    struct prep_dense out;
    struct err err = { 0 };
    struct prep_view *v = prep_view_fold(p, f, t, train, &err);

    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, f->rows, &out, &err), 0);
    prep_view_free(v);
    return out;
}

static void same_bytes(const struct prep *a, const struct prep *b)
{
    struct buf one, two;

    buf_init(&one, 1 << 26);
    buf_init(&two, 1 << 26);
    assert_int_equal(prep_save(a, &one, NULL), 0);
    assert_int_equal(prep_save(b, &two, NULL), 0);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.data, two.data, one.len);
    buf_fini(&one);
    buf_fini(&two);
}

/* Both give a fold's rows equal values, and other ones when the target is another. */
static void same_rows(const struct prep *a, const struct prep *b, const struct frame *f, double *y,
                      const struct prep_target *target, const uint8_t *train)
{
    struct prep_dense before = rows_by(a, f, target, train);

    for (int pass = 0; pass < 3; pass++) {
        struct prep_dense one = rows_by(a, f, target, train), two = rows_by(b, f, target, train);
        size_t bytes = (size_t)(ROWS * one.stride) * sizeof(float);
        assert_memory_equal(one.x, two.x, bytes);
        assert_int_equal(memcmp(one.x, before.x, bytes) != 0, pass == 1);
        prep_dense_fini(&one);
        prep_dense_fini(&two);
        for (int i = 0; i < ROWS; i++)
            y[i] = -y[i];
    }
    for (int i = 0; i < ROWS; i++)
        y[i] = -y[i];
    prep_dense_fini(&before);
}

/* A preparation that shares steps with one that is freed before it is used, and one that fits all of
 * them itself: equal bytes, and equal rows of a fold. */
static void shared_steps_are_those_that_would_be_fitted(void **state)
{
    static const char *const choices[][4] = {
        { "scale", "robust" },
        { "scale", "quantile" },
        { "missing", "low" },
        { "levels", "means" },
        { "levels", "plain" },
        { "few_levels", "means" },
        { "codes", "levels" },
        { "codes", "quantity" },
        { "effects", "only" },
        { "effects", "off" },
        { "text", "scores" },
        { "text", "topics" },
        { "pairs", "more" },
        { "pairs", "off" },
        { "scale", "standard", "missing", "mean" },
        { "scale", "robust", "pairs", "off" },
    };
    static const char *const skip[] = { "y", NULL };
    struct frame *f = table_new(false);
    double *y = mem_array(ROWS, sizeof *y);
    uint8_t part[ROWS], train[ROWS];
    const struct prep_target target = { .y = y, .part = part };

    (void)state;
    frame_numbers(f, frame_find(f, "y"), 0, ROWS, y);
    for (int i = 0; i < ROWS; i++) {
        part[i] = (uint8_t)(i * 7 % PREP_PARTS);
        train[i] = i % 3 != 0;
    }
    for (size_t k = 0; k < ARRAY_LEN(choices); k++) {
        struct prep_spec spec = { .frame = f, .skip = skip, .target = &target };
        struct prep *like = prep_fit(&spec, NULL);
        for (int i = 0; i < 4 && choices[k][i]; i += 2)
            assert_true(prep_choice_set(&spec.choice, choices[k][i], choices[k][i + 1]));
        struct prep *alone = prep_fit(&spec, NULL);
        spec.like = like;
        struct prep *shared = prep_fit(&spec, NULL);
        prep_free(like);
        assert_true(alone && shared);
        same_bytes(alone, shared);
        same_rows(alone, shared, f, y, &target, train);
        prep_free(alone);
        prep_free(shared);
    }
    mem_free(y);
    frame_close(f);
}

/* ---- honesty ---- */

static struct prep_dense fold_rows(const struct ml_data *d, const struct prep_target *t,
                                   const uint8_t *train)
{
    return rows_by(d->prep, d->spec.frame, t, train);
}

static void see_nothing(struct ml_data *d, struct ml_data *v, const char *what)
{
    uint8_t train[ROWS], part[ROWS];
    double *y = mem_array(ROWS, sizeof *y);
    const struct prep_target target = { .y = y, .part = part };
    int own = 5;

    (void)what;
    for (int i = 0; i < ROWS; i++) {
        train[i] = d->fold[i] != 0;
        part[i] = (uint8_t)(i * 7 % PREP_PARTS);
        y[i] = d->y[i];
    }
    struct prep_dense before = fold_rows(v, &target, train);
    for (int i = 0; i < ROWS; i++)
        y[i] += train[i] ? 0 : 100.0 + i;
    struct prep_dense after = fold_rows(v, &target, train);
    assert_memory_equal(before.x, after.x, (size_t)(ROWS * before.stride) * sizeof(float));
    prep_dense_fini(&after);
    while (!train[own])
        own++;
    y[own] += 50;
    after = fold_rows(v, &target, train);
    assert_memory_equal(before.x + own * before.stride, after.x + own * after.stride,
                        (size_t)before.cols * sizeof(float));
    prep_dense_fini(&before);
    prep_dense_fini(&after);
    mem_free(y);
}

static void no_word_shows_a_row_a_target_that_it_may_not_see(void **state)
{
    struct frame *f = table_new(false);
    struct ml_data *d = data_new(f);

    (void)state;
    for_each_word(d, see_nothing);
    ml_data_close(d);
    frame_close(f);
}

static double rmse_of(struct ml_data *d, const char *family, const double *params)
{
    struct err err = { 0 };
    struct fit_result r = { 0 };
    struct fit_trial *t = fit_trial_open(d, family_find(family), params, 42, false, &err);

    if (!t || fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1 ||
        fit_trial_result(t, &r, &err) < 0)
        fail_msg("%s: %s", family, err.text);
    fit_trial_close(t);
    return r.score;
}

/* Each word of each choice of a family, the others at their defaults: the error is not below `least`. */
static void words_are_not_below(struct ml_data *d, const struct family *of, double least)
{
    for (int k = 0; k < of->n_params; k++) {
        if (of->params[k].axis != FA_PREP)
            continue;
        for (int word = 1; word < family_choice_count(&of->params[k]); word++) {
            double params[FAMILY_MAX_PARAMS];
            family_defaults(of, params);
            params[k] = word;
            double rmse = rmse_of(d, of->name, params);
            if (!(rmse > least))
                fail_msg("%s, %s %d: %g is better than chance, %g", of->name, of->params[k].name,
                         word, rmse, least);
        }
    }
}

/* Validation with shuffled labels is at chance: no better than the mean by more than three standard errors. */
static void shuffled_labels_leave_every_word_at_chance(void **state)
{
    struct frame *f = table_new(true);
    struct ml_data *d = data_new(f);
    double spread = 0, mean = 0;

    (void)state;
    for (int i = 0; i < ROWS; i++)
        mean += d->y[i] / ROWS;
    for (int i = 0; i < ROWS; i++)
        spread += (d->y[i] - mean) * (d->y[i] - mean) / ROWS;
    double least = sqrt(spread) * (1 - 3 * sqrt(0.5 / ROWS));
    words_are_not_below(d, family_find("linear"), least);
    words_are_not_below(d, family_find("boost"), least);
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_makes_the_inputs_that_it_says),
        cmocka_unit_test(codes_become_levels),
        cmocka_unit_test(codes_of_a_table_to_predict_are_matched_as_numbers),
        cmocka_unit_test(scales_keep_the_order_and_draw_tails_in),
        cmocka_unit_test(missing_numbers_become_what_the_word_says),
        cmocka_unit_test(a_saved_preparation_makes_the_same_rows),
        cmocka_unit_test(shared_steps_are_those_that_would_be_fitted),
        cmocka_unit_test(no_word_shows_a_row_a_target_that_it_may_not_see),
        cmocka_unit_test(shuffled_labels_leave_every_word_at_chance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
