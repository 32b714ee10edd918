/* test_variants.c - preparations that configurations choose: trials with equal choices share one, choices that come to the
 * same preparation too; those that nobody uses are few; what a variant's values know of a target is what the preparation of
 * the data's own choice may know; and a trial on a variant comes to the same bytes after a resume, whatever was made before
 * it. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/model.h"
#include "ml/model/variant.h"

#include <math.h>

enum { ROWS = 1200 };

/* A column of 100 levels, one of 12, and a number with missing values, all of which the target follows. */
static struct frame *table_new(void)
{
    char hash[SHA256_HEX];
    struct buf b;
    struct rng rng;

    rng_init(&rng, 11, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "many,few,x,y\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        int many = (int)rng_below(&rng, 100), few = (int)rng_below(&rng, 12);
        double x = rng_normal(&rng), y = sin(many) + few % 3 + x + 0.3 * rng_normal(&rng);
        char number[32] = "";
        if (i % 9 != 0)
            (void)snprintf(number, sizeof number, "%.6f", x);
        assert_int_equal(buf_addf(&b, NULL, "m%d,f%d,%s,%.6f\n", many, few, number, y), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
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

static struct prep_choice choice_of(const char *name, const char *word)
{
    struct prep_choice c = { { 0 } };

    assert_true(prep_choice_set(&c, name, word));
    return c;
}

static struct ml_data *got(struct ml_data *d, const char *name, const char *word)
{
    const struct prep_choice c = choice_of(name, word);
    struct err err = { 0 };
    struct ml_data *v = ml_variant_get(d, &c, &err);

    if (!v)
        fail_msg("%s", err.text);
    return v;
}

/* The parameters and words of every family are those of the preparation, and the first leaves it to the data. */
static void families_offer_only_choices_that_there_are(void **state)
{
    const struct family *f;
    int n = 0;

    (void)state;
    for (int i = 0; (f = family_at(i)); i++) {
        double params[FAMILY_MAX_PARAMS];
        family_defaults(f, params);
        struct prep_choice c = ml_choice_of(f, params);
        assert_true(prep_choice_is_auto(&c));
        for (int k = 0; k < f->n_params; k++) {
            const struct family_param *p = &f->params[k];
            assert_int_equal(p->axis == FA_PREP, strncmp(p->name, "prep_", 5) == 0);
            if (p->axis != FA_PREP)
                continue;
            assert_true(p->lo == 0 && p->hi >= 0 && p->def == 0 && p->hard_lo == 0);
            for (int word = 1; word < family_choice_count(p); word++) {
                family_defaults(f, params);
                params[k] = word;
                c = ml_choice_of(f, params);
                assert_false(prep_choice_is_auto(&c));
                n++;
            }
        }
    }
    assert_true(n > 10);
    struct prep_choice none = { { 0 } };
    assert_false(prep_choice_set(&none, "levels", "mean"));
    assert_false(prep_choice_set(&none, "level", "means"));
}

static void choices_are_written_as_words(void **state)
{
    struct prep_choice c = { { 0 } };
    char text[200];

    (void)state;
    prep_choice_text(&c, text, sizeof text);
    assert_string_equal(text, "");
    assert_true(prep_choice_set(&c, "few_levels", "means") &&
                prep_choice_set(&c, "levels", "plain"));
    prep_choice_text(&c, text, sizeof text);
    assert_string_equal(text, "levels plain, few_levels means");
}

static void equal_choices_share_one_variant(void **state)
{
    struct frame *f = table_new();
    struct ml_data *d = data_new(f);
    const struct prep_choice none = { { 0 } };

    (void)state;
    assert_ptr_equal(ml_variant_get(d, &none, NULL), d);
    struct ml_data *plain = got(d, "levels", "plain"), *again = got(d, "levels", "plain");
    struct ml_data *means = got(d, "levels", "means");
    assert_ptr_equal(plain, again);
    assert_ptr_not_equal(plain, d);
    assert_ptr_not_equal(plain, means);
    assert_int_equal(ml_variants(d), 2);
    assert_int_equal(prep_inputs(plain->prep), 3);
    assert_int_equal(prep_inputs(d->prep), 6);
    assert_int_equal(prep_inputs(means->prep), 6);
    assert_true(prep_width(means->prep) < prep_width(d->prep)); /* no columns of single levels */
    assert_ptr_equal(plain->y, d->y);
    /* what a variant makes counts as the problem's */
    int64_t before = ml_data_shared_bytes(d);
    assert_non_null(ml_data_bins(plain, 0, 255, NULL));
    assert_true(ml_data_shared_bytes(d) >= before + ROWS * 16);
    assert_int_equal(ml_variants_shed(d), 0); /* all are in use */
    ml_variant_put(d, plain);
    assert_int_equal(ml_variants_shed(d), 0);
    ml_variant_put(d, again);
    ml_variant_put(d, means);
    assert_int_equal(ml_variants_shed(d), 2);
    assert_true(ml_data_shared_bytes(d) == before);
    ml_data_close(d);
    frame_close(f);
}

/* Without levels that have means there is nothing to smooth: two choices come to one preparation, or to that of the data. */
static void choices_that_come_to_the_same_share_it(void **state)
{
    struct frame *f =
        csv_frame("a,b,y\n1,2,3\n2,1,1\n3,4,4\n4,3,2\n5,6,6\n6,5,4\n7,7,7\n8,9,9\n", NULL);
    struct ml_data *d = data_new(f);

    (void)state;
    struct ml_data *v = got(d, "levels", "plain");
    assert_ptr_equal(v, d);
    assert_ptr_equal(got(d, "few_levels", "means"), d);
    assert_int_equal(ml_variants(d), 0);
    ml_variant_put(d, v);
    ml_data_close(d);
    frame_close(f);
}

static void few_variants_that_nobody_uses_are_kept(void **state)
{
    struct frame *f = table_new();
    struct ml_data *d = data_new(f), *v[5];
    struct prep_choice c[5];
    int n = 0;

    (void)state;
    for (uint8_t levels = 0; levels < 3; levels++) {
        for (uint8_t few = levels == 0; few < 2; few++) {
            c[n] = (struct prep_choice){ { 0 } };
            c[n].of[PREP_OF_LEVELS] = levels;
            c[n].of[PREP_OF_FEW_LEVELS] = few;
            v[n] = ml_variant_get(d, &c[n], NULL);
            assert_non_null(v[n++]);
        }
    }
    assert_int_equal(n, 5);
    assert_int_equal(ml_variants(d), 5);
    for (int i = 0; i < n; i++)
        ml_variant_put(d, v[i]);
    assert_int_equal(ml_variants(d), VARIANTS_IDLE);
    struct ml_data *newest = ml_variant_get(d, &c[4], NULL),
                   *oldest = ml_variant_get(d, &c[0], NULL);
    assert_ptr_equal(newest, v[4]);
    assert_int_equal(ml_variants(d), VARIANTS_IDLE + 1); /* the oldest was made anew */
    ml_variant_put(d, newest);
    ml_variant_put(d, oldest);
    ml_data_close(d);
    frame_close(f);
}

/* ---- honesty ---- */

static struct prep_dense fold_rows(const struct ml_data *d, const struct prep_target *t,
                                   const uint8_t *train)
{
    struct prep_dense out;
    struct err err = { 0 };
    struct prep_view *v = prep_view_fold(d->prep, d->spec.frame, t, train, &err);

    if (!v || prep_dense_make(v, 0, d->rows, &out, &err) < 0)
        fail_msg("%s", err.text);
    prep_view_free(v);
    return out;
}

/* Under every choice the values of a fold's view know no target that the fold holds out, and no training row its own. */
static void no_choice_lets_a_row_see_a_target_it_may_not_see(void **state)
{
    struct frame *f = table_new();
    struct ml_data *d = data_new(f);
    const struct family *boost = family_find("boost"), *linear = family_find("linear");
    uint8_t train[ROWS], part[ROWS];
    double *y = mem_array(ROWS, sizeof *y);
    const struct prep_target target = { .y = y, .part = part };

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        train[i] = d->fold[i] != 0;
        part[i] = (uint8_t)(i * 7 % PREP_PARTS);
        y[i] = d->y[i];
    }
    for (int k = 0; k < boost->n_params + linear->n_params; k++) {
        const struct family *of = k < boost->n_params ? boost : linear;
        int at = k < boost->n_params ? k : k - boost->n_params;
        double params[FAMILY_MAX_PARAMS];
        family_defaults(of, params);
        for (int word = 1; of->params[at].axis == FA_PREP && word <= of->params[at].hard_hi;
             word++) {
            params[at] = word;
            const struct prep_choice c = ml_choice_of(of, params);
            struct ml_data *v = ml_variant_get(d, &c, NULL);
            struct prep_dense before = fold_rows(v, &target, train);
            for (int i = 0; i < ROWS; i++)
                y[i] += train[i] ? 0 : 100.0 + i;
            struct prep_dense after = fold_rows(v, &target, train);
            assert_memory_equal(before.x, after.x, (size_t)(ROWS * before.stride) * sizeof(float));
            prep_dense_fini(&after);
            int own = 5;
            while (!train[own])
                own++;
            y[own] += 50;
            after = fold_rows(v, &target, train);
            assert_memory_equal(before.x + own * before.stride, after.x + own * after.stride,
                                (size_t)before.cols * sizeof(float));
            prep_dense_fini(&before);
            prep_dense_fini(&after);
            memcpy(y, d->y, ROWS * sizeof *y);
            ml_variant_put(d, v);
        }
    }
    mem_free(y);
    ml_data_close(d);
    frame_close(f);
}

/* ---- trials ---- */

static struct fit_trial *opened(struct ml_data *d, const struct family *f, const double *params)
{
    struct err err = { 0 };
    struct fit_trial *t = fit_trial_open(d, f, params, 42, false, &err);

    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static struct buf shipped(struct fit_trial *t)
{
    struct err err = { 0 };
    struct buf b;

    buf_init(&b, 1 << 26);
    if (fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1 ||
        fit_trial_artifact(t, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* Trained to its first level in one process and resumed in another, which has made other variants before. */
static struct buf resumed(struct ml_data *d, const struct family *f, const double *params)
{
    struct fit_trial *first = opened(d, f, params);
    struct frame *frame = table_new();
    struct ml_data *other = data_new(frame);
    struct err err = { 0 };
    struct buf b;

    buf_init(&b, 1 << 26);
    assert_int_equal(fit_trial_advance(first, 1, NULL, &err), 1);
    assert_int_equal(fit_trial_save(first, &b, &err), 0);
    fit_trial_close(first);
    ml_variant_put(other, got(other, "levels", "plain"));
    struct fit_trial *t = opened(other, f, params);
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    assert_int_equal(fit_trial_load(t, &in, &err), 0);
    buf_fini(&b);
    b = shipped(t);
    fit_trial_close(t);
    ml_data_close(other);
    frame_close(frame);
    return b;
}

static void a_trial_comes_to_the_same_bytes_however_it_is_trained(void **state)
{
    static const char *const families[] = { "linear", "boost", "forest", "extra_trees", "mlp" };
    struct frame *frame = table_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        const struct family *f = family_find(families[i]);
        struct ml_data *d = data_new(frame);
        double params[FAMILY_MAX_PARAMS];
        family_defaults(f, params);
        if (strcmp(f->name, "mlp") == 0)
            params[family_param_find(f, "epochs")] = 2;
        if (family_param_find(f, "trees") >= 0)
            params[family_param_find(f, "trees")] = 8;
        struct fit_trial *plain = opened(d, f, params);
        struct buf without = shipped(plain);
        params[family_param_find(f, "prep_levels")] = 1;
        struct fit_trial *t = opened(d, f, params);
        assert_ptr_not_equal(fit_trial_data(t), d);
        struct buf whole = shipped(t), again = resumed(d, f, params);
        assert_int_equal(whole.len, again.len);
        assert_memory_equal(whole.data, again.data, whole.len);
        assert_true(whole.len != without.len || memcmp(whole.data, without.data, whole.len) != 0);
        struct err err = { 0 };
        struct artifact *a = artifact_load(whole.data, whole.len, &err);
        assert_non_null(a);
        assert_int_equal(prep_width(artifact_prep(a)), prep_width(fit_trial_data(t)->prep));
        artifact_close(a);
        static const char said[] = "\"prep_levels\":\"means\"";
        assert_non_null(memmem(whole.data, whole.len, said, sizeof said - 1));
        assert_null(memmem(without.data, without.len, "prep_", 5));
        fit_trial_close(plain);
        fit_trial_close(t);
        buf_fini(&without);
        buf_fini(&whole);
        buf_fini(&again);
        ml_data_close(d);
    }
    frame_close(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_offer_only_choices_that_there_are),
        cmocka_unit_test(choices_are_written_as_words),
        cmocka_unit_test(equal_choices_share_one_variant),
        cmocka_unit_test(choices_that_come_to_the_same_share_it),
        cmocka_unit_test(few_variants_that_nobody_uses_are_kept),
        cmocka_unit_test(no_choice_lets_a_row_see_a_target_it_may_not_see),
        cmocka_unit_test(a_trial_comes_to_the_same_bytes_however_it_is_trained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
