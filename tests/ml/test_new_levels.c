/* test_new_levels.c - levels that training never saw. A table whose levels all have many rows shows models no row of a new
 * level, so some of its training rows hide theirs: how many do, that held-out rows and other tables hide nothing, and that a
 * model then predicts rows of new levels by their other columns. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/fit_rig.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4000, NEW = 400, REGIONS = 8 };

struct made {
    struct frame *f;
    struct prep *p;
    double y[ROWS + NEW], region[ROWS + NEW];
    uint8_t part[ROWS + NEW], train[ROWS + NEW];
    struct prep_target target;
};

/* ROWS rows of so many levels, each of which stands in a region, and NEW rows without a target, whose levels are others. The
 * last column is the target: three parts region, one part level. */
static void table_make(struct made *m, int n_levels)
{
    struct rng rng;
    struct buf b;

    rng_init(&rng, 12, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "store,region,y\n", NULL), 0);
    for (int i = 0; i < ROWS + NEW; i++) {
        int level = (int)rng_below(&rng, (uint32_t)n_levels) + (i < ROWS ? 0 : n_levels);
        m->region[i] = 3 * sin(level % REGIONS * 5);
        m->y[i] = m->region[i] + sin(level * 17) + 0.3 * rng_normal(&rng);
        m->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        m->train[i] = i < ROWS && i % 4 != 0;
        assert_int_equal(buf_addf(&b, NULL, "s%d,r%d,", level, level % REGIONS), 0);
        assert_int_equal(
            i < ROWS ? buf_addf(&b, NULL, "%.4f\n", m->y[i]) : buf_adds(&b, "\n", NULL), 0);
    }
    m->f = csv_frame(b.data, NULL);
    buf_fini(&b);
}

static struct made *made_new(int n_levels)
{
    static const char *const skip[] = { "y", NULL };
    static uint8_t use[ROWS + NEW];
    struct made *m = mem_zalloc(sizeof *m);
    struct err err = { 0 };

    table_make(m, n_levels);
    memset(use, 1, ROWS);
    m->target = (struct prep_target){ .y = m->y, .part = m->part };
    const struct prep_spec spec = { .frame = m->f, .skip = skip, .use = use, .target = &m->target };
    m->p = prep_fit(&spec, &err);
    if (!m->p)
        fail_msg("%s", err.text);
    return m;
}

static void made_free(struct made *m)
{
    prep_free(m->p);
    frame_close(m->f);
    mem_free(m);
}

static int input_of(const struct made *m, const char *name)
{
    for (int i = 0; i < prep_inputs(m->p); i++) {
        if (strcmp(prep_input_name(m->p, i), name) == 0)
            return i;
    }
    fail_msg("no input is called %s", name);
    return -1;
}

/* Counts the first ROWS rows that show a new level, apart those that are not trained on and those that are. In each of them all
 * inputs made of the column agree. The view is freed. */
static void count_hidden(const struct made *m, struct prep_view *v, int count[2])
{
    int often = input_of(m, "store: frequency"), plain = input_of(m, "store");
    struct prep_bins b;

    assert_non_null(v);
    assert_int_equal(prep_bins_make(v, 0, ROWS, &b, NULL), 0);
    count[0] = count[1] = 0;
    for (int i = 0; i < ROWS; i++) {
        bool is_hidden = b.bins[i * b.stride + plain] == 255;
        assert_int_equal(is_hidden, b.bins[i * b.stride + often] == 0);
        count[m->train[i]] += is_hidden;
    }
    prep_bins_fini(&b);
    prep_view_free(v);
}

static void some_training_rows_show_a_new_level(void **state)
{
    struct made *m = made_new(100);
    int count[2], again[2], share = ROWS * 3 / 4 / 32;

    (void)state;
    count_hidden(m, prep_view_fold(m->p, m->f, &m->target, m->train, NULL), count);
    assert_in_range(count[1], share - 40, share + 40);
    assert_int_equal(count[0], 0);
    count_hidden(m, prep_view_fold(m->p, m->f, &m->target, m->train, NULL), again);
    assert_memory_equal(count, again, sizeof count);
    count_hidden(m, prep_view_new(m->p, m->f, NULL), count);
    assert_int_equal(count[0] + count[1], 0);
    made_free(m);
}

/* Where many levels are rare, enough rows show a new level: those that are the only ones of theirs in all parts but their own.
 * No other row hides its level. */
static void rare_levels_hide_none(void **state)
{
    static int rows[ROWS][PREP_PARTS], all[ROWS];
    static int32_t code[ROWS];
    struct made *m = made_new(3000);
    int at = 0, often = input_of(m, "store: frequency");
    struct prep_view *v = prep_view_fold(m->p, m->f, &m->target, NULL, NULL);
    struct prep_dense d;
    float least = INFINITY;

    (void)state;
    assert_int_equal(prep_dense_make(v, 0, ROWS, &d, NULL), 0);
    prep_dense_of(m->p, often, &at);
    frame_codes(m->f, frame_find(m->f, "store"), 0, ROWS, code);
    for (int i = 0; i < ROWS; i++) {
        assert_in_range(code[i], 0, ROWS - 1);
        rows[code[i]][m->part[i]]++;
        all[code[i]]++;
        least = fminf(least, d.x[i * d.stride + at]);
    }
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(d.x[i * d.stride + at] == least,
                         all[code[i]] == rows[code[i]][m->part[i]]);
    prep_dense_fini(&d);
    prep_view_free(v);
    made_free(m);
}

/* Predictions of all rows after 100 rounds on those that have a target. */
static float *boosted(const struct made *m)
{
    const struct ml_data_spec spec = { .frame = m->f,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_REGRESSION,
                                       .metric = METRIC_RMSE,
                                       .folds = 5,
                                       .split_seed = 3 };
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct rig r = { .frame = m->f, .d = ml_data_open(&spec, &err) };

    if (!r.d)
        fail_msg("%s", err.text);
    family_defaults(family_find("boost"), params);
    struct lane l = rig_lane(&r, "boost", params, FOLD_ALL, 100);
    struct buf b = rig_lane_bytes("boost", &l, 100);
    float *p = rig_predict(&r, "boost", &b);
    buf_fini(&b);
    rig_lane_close("boost", &l);
    ml_data_close(r.d);
    return p;
}

/* Of a row of a new level the region's part can be known, and no more. Models that saw no such row are off from it by 2.0. */
static void models_fall_back_to_the_other_columns(void **state)
{
    struct made *m = made_new(100);
    float *p = boosted(m);
    double square = 0;

    (void)state;
    for (int i = ROWS; i < ROWS + NEW; i++)
        square += (p[i] - m->region[i]) * (p[i] - m->region[i]) / NEW;
    if (!(sqrt(square) < 0.6))
        fail_msg("off by %.2f", sqrt(square));
    free(p);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_training_rows_show_a_new_level),
        cmocka_unit_test(rare_levels_hide_none),
        cmocka_unit_test(models_fall_back_to_the_other_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
