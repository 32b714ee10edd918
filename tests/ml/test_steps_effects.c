/* test_steps_effects.c - effects of levels, fitted together: they are those of a ridge regression, no fit sees the rows that
 * it is for, fits that begin with other effects end in the same place, all instruction sets give the same bits; the step finds
 * codes whose effects add up, tells nothing of noise, gives new levels no effect, leads back to its column, and its bytes come
 * back. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/prep_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"
#include "ml/prep/level_effects.h"
#include "ml/prep/prep.h"

#include <math.h>
#include <string.h>

/* ---- the fit ---- */

enum { N = 600, COLS = 3, OF_EACH = 6, LEVELS = COLS * OF_EACH, SWEEPS = 8 };

struct rows {
    int32_t level[COLS * N], first[COLS];
    float weight[N];
    double y[N];
    uint8_t part[N];
    struct effect_rows in;
};

static struct rows *rows_new(bool is_logistic)
{
    struct rows *r = mem_zalloc(sizeof *r);
    struct rng rng;

    rng_init(&rng, 3, 0);
    for (int c = 0; c < COLS; c++)
        r->first[c] = c * OF_EACH;
    for (int i = 0; i < N; i++) {
        double score = 0;
        for (int c = 0; c < COLS; c++) {
            int l = (int)rng_below(&rng, OF_EACH);
            r->level[c * N + i] = l;
            score += sin(5.0 * l + c);
        }
        score += rng_normal(&rng);
        r->y[i] = is_logistic ? score > 0.3 : score;
        r->weight[i] = 1 + (float)rng_below(&rng, 3);
        r->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
    }
    r->in = (struct effect_rows){ .n = N,
                                  .cols = COLS,
                                  .level = r->level,
                                  .levels = LEVELS,
                                  .first = r->first,
                                  .y = r->y,
                                  .weight = r->weight,
                                  .part = r->part,
                                  .is_logistic = is_logistic };
    return r;
}

static int place_of(const struct rows *r, int row, int col)
{
    return r->first[col] + r->level[col * N + row];
}

static void effects_of(const struct rows *r, double penalty, float *out, double *gain)
{
    struct err err = { 0 };

    struct level_effects *k = level_effects_new(&r->in, NULL, &err);
    if (!k)
        fail_msg("%s", err.text);
    level_effects_run(k, penalty, SWEEPS, EFFECT_STILL);
    if (gain)
        *gain = level_effects_gain(k);
    memcpy(out, level_effects_all(k), LEVELS * EFFECT_WIDE * sizeof *out);
    level_effects_free(k);
}

/* Numbers less the mean of the rows that the fit sees, in units of their spread; classes as they are. */
static void in_units_of(const struct rows *r, int fit, double y[N])
{
    double n = 0, sum = 0, squares = 0;

    for (int i = 0; i < N; i++) {
        n += r->part[i] != fit;
        sum += r->part[i] != fit ? r->y[i] : 0;
        squares += r->part[i] != fit ? r->y[i] * r->y[i] : 0;
    }
    double spread = sqrt(squares / n - sum / n * (sum / n));
    for (int i = 0; i < N; i++)
        y[i] = r->in.is_logistic ? r->y[i] : (r->y[i] - sum / n) / spread;
}

/* The sums over the rows that a fit sees of the derivatives of their losses, where the mean is this; all: over all rows. */
struct sums {
    double slope[LEVELS], bend[LEVELS], all;
};

static void row_add(const struct rows *r, int i, double g, double h, struct sums *s)
{
    s->all += g;
    for (int c = 0; c < COLS; c++) {
        s->slope[place_of(r, i, c)] += g;
        s->bend[place_of(r, i, c)] += h;
    }
}

static void sums_of(const struct rows *r, int fit, const float *e, double mean, struct sums *s)
{
    double y[N];

    *s = (struct sums){ .all = 0 };
    in_units_of(r, fit, y);
    for (int i = 0; i < N; i++) {
        double score = mean, w = (double)r->weight[i];
        if (r->part[i] == fit)
            continue;
        for (int c = 0; c < COLS; c++)
            score += (double)e[place_of(r, i, c) * EFFECT_WIDE + fit];
        double p = r->in.is_logistic ? 1 / (1 + exp(-score)) : score;
        row_add(r, i, w * (y[i] - p), w * (r->in.is_logistic ? p * (1 - p) : 1), s);
    }
}

/* At the minimum, penalty times an effect is the sum of weight (y - p) of the level's rows, and the sum over all rows is 0: what
 * is missing would move no effect by more than a fiftieth of what effects are. */
static void fits_are_the_minimum_of_what_they_say(void **state)
{
    const double penalty = 2;
    float e[LEVELS * EFFECT_WIDE];

    (void)state;
    for (int is_logistic = 0; is_logistic < 2; is_logistic++) {
        struct rows *r = rows_new(is_logistic);
        effects_of(r, penalty, e, NULL);
        for (int fit = 0; fit < EFFECT_FITS; fit++) {
            double lo = -20, hi = 20;
            struct sums s;
            /* the mean is not told: it is where the residuals add up to 0 */
            for (int step = 0; step < 60; step++) {
                double mean = (lo + hi) / 2;
                sums_of(r, fit, e, mean, &s);
                lo = s.all > 0 ? mean : lo;
                hi = s.all > 0 ? hi : mean;
            }
            for (int l = 0; l < LEVELS; l++) {
                double left = s.slope[l] - penalty * (double)e[l * EFFECT_WIDE + fit];
                assert_true(fabs(left) / (s.bend[l] + penalty) < 0.02);
            }
        }
        mem_free(r);
    }
}

static void no_fit_sees_the_rows_that_it_is_for(void **state)
{
    float a[LEVELS * EFFECT_WIDE], b[LEVELS * EFFECT_WIDE];

    (void)state;
    for (int is_logistic = 0; is_logistic < 2; is_logistic++) {
        struct rows *r = rows_new(is_logistic);
        int same = 0;
        effects_of(r, 1, a, NULL);
        for (int i = 0; i < N; i++) {
            double other = is_logistic ? 1 - r->y[i] : 5 * r->y[i] + 1000;
            r->y[i] = r->part[i] == 2 ? other : r->y[i];
        }
        effects_of(r, 1, b, NULL);
        for (int l = 0; l < LEVELS; l++) {
            assert_true(a[l * EFFECT_WIDE + 2] == b[l * EFFECT_WIDE + 2]);
            same += a[l * EFFECT_WIDE + 1] == b[l * EFFECT_WIDE + 1];
        }
        assert_true(same < LEVELS / 2);
        mem_free(r);
    }
}

static void gain_is_that_of_rows_not_seen(void **state)
{
    float e[LEVELS * EFFECT_WIDE];
    double gain = 0, noise = 0;
    struct rows *r = rows_new(false);
    struct rng rng;

    (void)state;
    effects_of(r, 1, e, &gain);
    assert_true(gain > 0.4 && gain < 0.7);
    /* of numbers that are far from 0, too */
    for (int i = 0; i < N; i++)
        r->y[i] = 1e9 + r->y[i];
    effects_of(r, 1, e, &noise);
    assert_true(fabs(noise - gain) < 1e-4);
    rng_init(&rng, 4, 0);
    for (int i = 0; i < N; i++)
        r->y[i] = rng_normal(&rng);
    effects_of(r, 1, e, &noise);
    assert_true(noise < 0.02);
    mem_free(r);
}

/* From the effects of a stronger penalty, in the same fit or in one that begins with them, a fit comes to where it comes alone. */
static void fits_that_begin_with_others_end_in_the_same_place(void **state)
{
    float alone[LEVELS * EFFECT_WIDE];

    (void)state;
    for (int is_logistic = 0; is_logistic < 2; is_logistic++) {
        struct rows *r = rows_new(is_logistic);
        struct err err = { 0 };
        double want = 0;
        effects_of(r, 1, alone, &want);
        struct level_effects *path = level_effects_new(&r->in, NULL, &err);
        assert_non_null(path);
        level_effects_run(path, 30, SWEEPS, EFFECT_STILL);
        struct level_effects *next = level_effects_new(&r->in, level_effects_all(path), &err);
        assert_non_null(next);
        /* what is asked in between changes nothing */
        assert_true(level_effects_gain(path) < want);
        level_effects_run(path, 1, SWEEPS, EFFECT_STILL);
        level_effects_run(next, 1, SWEEPS, EFFECT_STILL);
        assert_true(fabs(level_effects_gain(path) - want) < 0.005);
        assert_true(fabs(level_effects_gain(next) - want) < 0.005);
        for (int l = 0; l < LEVELS; l++) {
            for (int fit = 0; fit < EFFECT_FITS; fit++) {
                int at = l * EFFECT_WIDE + fit;
                assert_true(fabsf(level_effects_all(path)[at] - alone[at]) < 0.05f);
                assert_true(fabsf(level_effects_all(next)[at] - alone[at]) < 0.05f);
            }
        }
        level_effects_free(path);
        level_effects_free(next);
        mem_free(r);
    }
}

static void instruction_sets_agree(void **state)
{
    float a[LEVELS * EFFECT_WIDE], b[LEVELS * EFFECT_WIDE];

    (void)state;
    for (int is_logistic = 0; is_logistic < 2; is_logistic++) {
        struct rows *r = rows_new(is_logistic);
        double gain[2] = { 0 };
        simd_force(SIMD_PLAIN);
        effects_of(r, 1, a, &gain[0]);
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            effects_of(r, 1, b, &gain[1]);
            assert_memory_equal(a, b, sizeof a);
            assert_true(gain[0] == gain[1]);
        }
        simd_force(simd_best());
        mem_free(r);
    }
}

/* ---- the step ---- */

/* MANY: more than there are bins, without which whole numbers that are surely names have no effects. */
enum { ROWS = 6000, CODES = 120, MANY = 300 };

struct made {
    struct frame *f;
    struct prep *p;
    double y[ROWS];
    uint8_t part[ROWS], use[ROWS];
    int a[ROWS], b[ROWS];
};

static double effect(int level, int of)
{
    return sin(level * 12.9898 * (of + 1) + of);
}

/* Two columns of codes: of letters, or of whole numbers, whose effects and one of a number add up. classes: 0 = a number. */
static struct made *made_new(bool are_numbers, int classes, bool is_noise)
{
    struct made *m = mem_zalloc(sizeof *m);
    struct err err = { 0 };
    struct rng rng;
    struct buf text;

    rng_init(&rng, 11, 0);
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_adds(&text, "a,b,x\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        double x = rng_normal(&rng);
        m->a[i] = (int)rng_below(&rng, are_numbers ? MANY : CODES);
        m->b[i] = (int)rng_below(&rng, CODES);
        m->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        m->use[i] = i % 5 != 0;
        double s = is_noise ? 0 : effect(m->a[i], 1) + effect(m->b[i], 2) + x;
        s += rng_normal(&rng);
        m->y[i] = classes == 0 ? s : classes == 2 ? s > 0 : (s > -0.7) + (s > 0.7);
        char a[24] = "";
        const char *kind[2] = { are_numbers ? "" : "A", are_numbers ? "" : "B" };
        /* a missing code now and then */
        if (i % 50 != 7)
            (void)snprintf(a, sizeof a, "%s%d", kind[0], m->a[i] * 37 % 4441);
        int rc = buf_addf(&text, NULL, "%s,%s%d,%.5f\n", a, kind[1], m->b[i] * 37 % 4441, x);
        assert_int_equal(rc, 0);
    }
    m->f = csv_frame(text.data, NULL);
    buf_fini(&text);
    static const char *const labels[] = { "low", "middle", "high" };
    const struct prep_target t = {
        .y = m->y, .part = m->part, .n_classes = classes > 2 ? classes : 0, .classes = labels
    };
    const struct prep_spec spec = { .frame = m->f, .target = &t, .use = m->use };
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

/* The input that is the effect of the column; -1 = there is none. *n: how many inputs are effects. */
static int effect_input(const struct prep *p, const char *column, int *n)
{
    int found = -1;

    *n = 0;
    for (int i = 0; i < prep_inputs(p); i++) {
        int of[PREP_SOURCES];
        if (!prep_input_step(p, i) || strcmp(prep_input_step(p, i), "effects") != 0)
            continue;
        ++*n;
        assert_int_equal(prep_input_columns(p, i, of), 1);
        if (found < 0 && strcmp(prep_column_name(p, of[0]), column) == 0)
            found = i;
    }
    return found;
}

/* How the dense column of an input goes with what it should be, over the rows that were not used. */
static double agreement(const struct made *m, const struct prep_view *v, int input, int which)
{
    struct err err = { 0 };
    struct prep_dense d;
    double s = 0, t = 0, ss = 0, tt = 0, st = 0, n = 0;
    int at = 0;

    assert_int_equal(prep_dense_make(v, 0, ROWS, &d, &err), 0);
    assert_true(prep_dense_of(m->p, input, &at) >= 1);
    for (int i = 0; i < ROWS; i++) {
        double x = (double)d.x[(int64_t)i * d.stride + at],
               want = which == 1 ? effect(m->a[i], 1) : effect(m->b[i], 2);
        if (m->use[i] || i % 50 == 7)
            continue;
        n += 1, s += x, t += want, ss += x * x, tt += want * want, st += x * want;
    }
    prep_dense_fini(&d);
    return (st - s * t / n) / sqrt((ss - s * s / n) * (tt - t * t / n));
}

static void effects_of_codes_are_found(void **state)
{
    static const struct {
        bool are_numbers;
        int classes;
        /* of a, whose whole numbers are shown by 16 rows each and texts by 40, and of b */
        double least_a, least;
    } cases[] = { { false, 0, 0.95, 0.95 },
                  { true, 0, 0.9, 0.95 },
                  { false, 2, 0.9, 0.9 },
                  { true, 2, 0.8, 0.9 } };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        struct made *m = made_new(cases[k].are_numbers, cases[k].classes, false);
        struct err err = { 0 };
        int n = 0, a = effect_input(m->p, "a", &n), b = effect_input(m->p, "b", &n);
        assert_int_equal(n, 2);
        assert_string_equal(prep_input_name(m->p, b), "b: effect on target");
        const struct prep_target t = { .y = m->y, .part = m->part };
        struct prep_view *v = prep_view_fold(m->p, m->f, &t, m->use, &err),
                         *all = prep_view_new(m->p, m->f, &err);
        assert_true(v && all);
        assert_true(agreement(m, v, a, 1) > cases[k].least_a);
        assert_true(agreement(m, v, b, 2) > cases[k].least);
        /* a table to predict shows what the fold shows in rows that were not used */
        assert_true(agreement(m, all, b, 2) == agreement(m, v, b, 2));
        prep_view_free(v);
        prep_view_free(all);
        made_free(m);
    }
}

/* Pupils of classes whose numbers follow those of their schools, so that neighbours are alike, and a quantity of whole numbers.
 * are_names: a class has an effect beside that of its school. Returns how many columns have effects; *is_class: one is that. */
static int effects_of_classes(bool are_names, bool *is_class)
{
    enum { PUPILS = 1500, A_CLASS = 15, A_SCHOOL = 4 };
    static double y[PUPILS];
    static uint8_t part[PUPILS];
    struct err err = { 0 };
    struct rng rng;
    struct buf text;
    int n = 0;

    rng_init(&rng, 5, 0);
    buf_init(&text, 1 << 18);
    assert_int_equal(buf_adds(&text, "class,iq,age\n", NULL), 0);
    for (int i = 0; i < PUPILS; i++) {
        int class = (int)rng_below(&rng, PUPILS / A_CLASS), age = 20 + (int)rng_below(&rng, 40);
        double iq = rng_normal(&rng);
        part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        y[i] = iq + sin(age / 10.0) + 0.7 * effect(class / A_SCHOOL, 1) + 0.8 * rng_normal(&rng);
        y[i] += are_names ? 0.55 * effect(class, 2) : 0;
        int rc = buf_addf(&text, NULL, "%d,%.4f,%d\n", 1000 + 10 * class, iq, age);
        assert_int_equal(rc, 0);
    }
    struct frame *f = csv_frame(text.data, NULL);
    buf_fini(&text);
    const struct prep_target t = { .y = y, .part = part };
    const struct prep_spec spec = { .frame = f, .target = &t };
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    *is_class = effect_input(p, "class", &n) >= 0;
    prep_free(p);
    frame_close(f);
    return n;
}

static void a_name_is_found_beside_what_hides_it(void **state)
{
    bool is_class = false;

    (void)state;
    assert_int_equal(effects_of_classes(true, &is_class), 1);
    assert_true(is_class);
    assert_int_equal(effects_of_classes(false, &is_class), 0);
}

static void several_classes_have_an_effect_each(void **state)
{
    struct made *m = made_new(false, 3, false);
    int n = 0, a = effect_input(m->p, "a", &n);

    (void)state;
    assert_int_equal(n, 6);
    assert_non_null(strstr(prep_input_name(m->p, a), "a: effect on "));
    made_free(m);
}

static void noise_has_no_effects(void **state)
{
    (void)state;
    for (int classes = 0; classes <= 3; classes++) {
        int n = 0;
        if (classes == 1)
            continue;
        struct made *m = made_new(false, classes, true);
        effect_input(m->p, "a", &n);
        assert_int_equal(n, 0);
        made_free(m);
    }
}

/* The values of training rows do not follow their own targets: those of a part stay as they are when its targets change. */
static void no_row_knows_its_own_target(void **state)
{
    struct made *m = made_new(false, 2, false);
    struct err err = { 0 };
    struct prep_target t = { .y = m->y, .part = m->part };
    int n = 0, at = 0, input = effect_input(m->p, "a", &n), moved = 0;
    struct prep_dense d[2];

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct prep_view *v = prep_view_fold(m->p, m->f, &t, m->use, &err);
        assert_non_null(v);
        assert_int_equal(prep_dense_make(v, 0, ROWS, &d[round], &err), 0);
        prep_view_free(v);
        for (int i = 0; i < ROWS; i++)
            m->y[i] = m->part[i] == 1 || !m->use[i] ? 1 - m->y[i] : m->y[i];
    }
    prep_dense_of(m->p, input, &at);
    for (int i = 0; i < ROWS; i++) {
        float x = d[0].x[(int64_t)i * d[0].stride + at], y = d[1].x[(int64_t)i * d[1].stride + at];
        if (m->use[i] && m->part[i] == 1)
            assert_true(x == y);
        moved += x != y;
    }
    assert_true(moved > ROWS / 2);
    prep_dense_fini(&d[0]);
    prep_dense_fini(&d[1]);
    made_free(m);
}

/* A new level stands where the scores of all rows have their middle, between the levels of high and of low effects. */
static void new_levels_have_no_effect(void **state)
{
    struct made *m = made_new(false, 0, false);
    struct err err = { 0 };
    struct frame *f = csv_frame("a,b,x\nnew,B37,0\nA37,B37,0\n", NULL);
    struct prep_view *v = prep_view_new(m->p, f, &err);
    int n = 0, at = 0, input = effect_input(m->p, "a", &n);
    struct prep_dense d;

    (void)state;
    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, 2, &d, &err), 0);
    prep_dense_of(m->p, input, &at);
    assert_true(fabs((double)d.x[at]) < 0.2);
    assert_true(fabs((double)d.x[d.stride + at]) > 0.2);
    prep_dense_fini(&d);
    prep_view_free(v);
    frame_close(f);
    made_free(m);
}

static void bytes_come_back_and_damaged_ones_do_no_harm(void **state)
{
    (void)state;
    for (int are_numbers = 0; are_numbers < 2; are_numbers++) {
        struct made *m = made_new(are_numbers, 3, false);
        prep_bytes_check(m->p, 97);
        made_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_are_the_minimum_of_what_they_say),
        cmocka_unit_test(no_fit_sees_the_rows_that_it_is_for),
        cmocka_unit_test(gain_is_that_of_rows_not_seen),
        cmocka_unit_test(fits_that_begin_with_others_end_in_the_same_place),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(effects_of_codes_are_found),
        cmocka_unit_test(a_name_is_found_beside_what_hides_it),
        cmocka_unit_test(several_classes_have_an_effect_each),
        cmocka_unit_test(noise_has_no_effects),
        cmocka_unit_test(no_row_knows_its_own_target),
        cmocka_unit_test(new_levels_have_no_effect),
        cmocka_unit_test(bytes_come_back_and_damaged_ones_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
