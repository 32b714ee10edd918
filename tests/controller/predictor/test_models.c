/* test_models.c - models in memory have a bound: what was not used for longest goes first, and what
 * can never fit is refused before it is read. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/fit_rig.h"
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "controller/predictor/models.h"
#include "ml/model/models.h"

#include <math.h>

static char path[512];

/* A linear model of a small table, as a file. */
static int setup(void **state)
{
    static const char *const classes[] = { "no", "yes" };
    const struct model_ops *ops = model_find("linear");
    struct ml_data_spec spec = { .target = "y",
                                 .positive = "yes",
                                 .task = ML_BINARY,
                                 .metric = METRIC_AUC,
                                 .folds = 2,
                                 .split_seed = 1 };
    struct lane l = { .seed = 5, .level = 1, .max_steps = 20 };
    char hash[SHA256_HEX];
    struct err err = { 0 };
    struct buf csv, model, out;

    (void)state;
    buf_init(&csv, 1 << 20);
    assert_int_equal(buf_adds(&csv, "a,b,y\n", NULL), 0);
    for (int i = 0; i < 200; i++)
        assert_int_equal(buf_addf(&csv, NULL, "%d,%d,%s\n", i, i * 7 % 13, i % 3 ? "yes" : "no"),
                         0);
    struct frame *f = csv_frame_n(csv.data, csv.len, 0, NULL, hash);
    spec.frame = f;
    struct ml_data *d = ml_data_open(&spec, &err);
    assert_non_null(d);
    buf_init(&model, ARTIFACT_MAX_BYTES);
    buf_init(&out, ARTIFACT_MAX_BYTES);
    family_defaults(ops->family, l.params);
    if (ops->open(d, &l, &err) < 0 || ops->advance(d, &l, 1, 20, NULL, &err) < 0 ||
        ops->save(&l, l.steps_done, &model, &err) < 0)
        fail_msg("%s", err.text);
    ops->close(&l);
    struct artifact_parts parts = { .task = ML_BINARY,
                                    .target = "y",
                                    .n_classes = 2,
                                    .classes = classes,
                                    .family = "linear",
                                    .params_json = "{}",
                                    .metric = "auc",
                                    .score = 0.5,
                                    .score_se = NAN,
                                    .prep = d->prep,
                                    .n_models = 1,
                                    .models = &model };
    if (artifact_write(&parts, &out, &err) < 0)
        fail_msg("%s", err.text);
    (void)!snprintf(path, sizeof path, "%s/model", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_int_equal(io_replace(path, out.data, out.len, 0600, &err), 0);
    buf_fini(&csv);
    buf_fini(&model);
    buf_fini(&out);
    ml_data_close(d);
    frame_close(f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return remove(path);
}

static char *hash_of(char out[SHA256_HEX], char digit)
{
    memset(out, digit, SHA256_HEX - 1);
    out[SHA256_HEX - 1] = '\0';
    return out;
}

static void a_model_is_loaded_once(void **state)
{
    struct models *m = models_new(1 << 26);
    char h[SHA256_HEX];
    struct err err = { 0 };

    (void)state;
    const struct artifact *first = models_get(m, hash_of(h, 'a'), path, &err);
    assert_non_null(first);
    assert_ptr_equal(models_get(m, h, "/nowhere", &err), first);
    assert_int_equal(models_count(m), 1);
    models_free(m);
}

static void the_one_not_used_for_longest_goes_first(void **state)
{
    int64_t most = 20 * io_file_bytes(path);
    struct models *m = models_new(most);
    char h[SHA256_HEX], used[SHA256_HEX];
    struct err err = { 0 };

    (void)state;
    hash_of(used, 'f');
    for (int i = 0; i < 40; i++) {
        hash_of(h, (char)('0' + i % 10))[0] = (char)('a' + i / 10);
        assert_non_null(models_get(m, h, path, &err));
        assert_non_null(models_get(m, used, path, &err)); /* in use: stays */
        assert_true(models_bytes(m) <= most || models_count(m) == 1);
    }
    assert_in_range(models_count(m), 1, 20);
    assert_non_null(models_get(m, used, "/nowhere", &err));
    models_free(m);
}

static void what_never_fits_and_what_is_no_model_are_refused(void **state)
{
    struct models *m = models_new(io_file_bytes(path));
    char h[SHA256_HEX], wrong[600];
    struct err err = { 0 };

    (void)state;
    assert_null(models_get(m, hash_of(h, 'a'), path, &err));
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_non_null(strstr(err.text, "predict_memory"));
    assert_null(models_get(m, h, "/nowhere", &err));
    assert_int_equal(err.code, ERR_NOTFOUND);
    (void)!snprintf(wrong, sizeof wrong, "%s.wrong", path);
    assert_int_equal(io_replace(wrong, "x", 1, 0600, &err), 0);
    assert_null(models_get(m, h, wrong, &err));
    assert_int_equal(models_count(m), 0);
    models_free(m);
    remove(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_loaded_once),
        cmocka_unit_test(the_one_not_used_for_longest_goes_first),
        cmocka_unit_test(what_never_fits_and_what_is_no_model_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
