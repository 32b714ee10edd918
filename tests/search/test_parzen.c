/* test_parzen.c - the densities of TPE are densities: over any finite tree of parameters their mass is one, draws come as
 * often as the density says, the fast sums agree with plain ones. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/simd.h"
#include "search/samplers/tpe/parzen.h"
#include "search/samplers/tpe/parzen_sum.h"

#include <math.h>

enum { ROUNDS = 60, MAX_P = 5, KERNELS = 7, DRAWS = 20000, MANY = 300 };

/* A density with some random kernels. */
static void any_parzen(struct parzen *p, struct parzen_axes *a, const struct space *s,
                       struct rng *r)
{
    double point[SPACE_MAX_PARAMS], place[SPACE_MAX_PARAMS];
    int n = (int)rng_below(r, KERNELS + 1);

    parzen_axes_init(a, s);
    parzen_init(p, a);
    for (int k = 0; k < n; k++) {
        spaces_point(s, r, point);
        parzen_place(a, point, place);
        parzen_add(p, place, 0.1 + rng_unit(r));
    }
    parzen_build(p, 0.1 + rng_unit(r), 0.01 + rng_unit(r), 0.05 + 0.9 * rng_unit(r));
}

static double log_of(struct parzen *p, const double *place)
{
    double log = 0;

    parzen_logs(p, place, 1, &log);
    return log;
}

/* What a uniform draw, choice by choice, has as its chance: what densities are relative to. */
static double uniform_share(const struct space *s, const double *point)
{
    double share = 1;

    for (int i = 0; i < s->n; i++) {
        const struct param *p = &s->params[i];
        if (isnan(point[i]))
            continue;
        if (p->kind == PARAM_INT && p->is_log)
            share *= log((point[i] + 0.5) / (point[i] - 0.5)) / log((p->hi + 0.5) / (p->lo - 0.5));
        else
            share /= param_size(p);
    }
    return share;
}

static void the_mass_of_any_tree_is_one(void **state)
{
    double point[MAX_P], place[MAX_P];
    int checked = 0;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct space *s = spaces_random(&r, MAX_P, true);
        struct parzen_axes a;
        struct parzen p;
        double size = space_search_size(s), sum = 0;
        any_parzen(&p, &a, s, &r);
        for (double rank = 0; size <= 3000 && rank < size; rank++) {
            space_at(s, (uint64_t)rank, point);
            parzen_place(&a, point, place);
            sum += exp(log_of(&p, place)) * uniform_share(s, point);
        }
        if (size <= 3000) {
            assert_true(fabs(sum - 1) < 1e-6);
            checked++;
        }
        parzen_fini(&p);
        parzen_axes_fini(&a);
        space_free(s);
    }
    assert_true(checked > ROUNDS / 3);
}

/* A line's density is interpolated: its integral is one all the same. */
static void the_mass_of_a_line_is_one(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < ROUNDS; round++) {
        struct space *s = space_new();
        struct parzen_axes a;
        struct parzen p;
        double sum = 0;
        spaces_float(s, "x", 1e-3, 10, 0, true);
        any_parzen(&p, &a, s, &r);
        for (int i = 0; i < 4000; i++) {
            double x = (i + 0.5) / 4000;
            sum += exp(log_of(&p, &x)) / 4000;
        }
        assert_true(fabs(sum - 1) < 0.01);
        parzen_fini(&p);
        parzen_axes_fini(&a);
        space_free(s);
    }
}

/* Chi-squared of draws over all points of a small space, as standard deviations from its mean. */
static double surprise(struct parzen *p, const struct space *s, struct rng *r)
{
    size_t n = (size_t)space_search_size(s);
    double point[MAX_P], place[MAX_P], at[MAX_P];
    double chi = 0, cells = 0, rest_want = 0, rest_got = 0;
    uint64_t *hash = mem_array(n, sizeof *hash);
    double *got = mem_array(n, sizeof *got);

    for (size_t k = 0; k < n; k++) {
        space_at(s, k, point);
        hash[k] = space_hash(s, point);
    }
    for (int i = 0; i < DRAWS; i++) {
        size_t k = 0;
        uint64_t drawn = parzen_draw(p, r, r, point, at);
        assert_int_equal(space_check(s, point, NULL), 0);
        assert_true(drawn == space_hash(s, point));
        parzen_place(p->axes, point, place);
        assert_memory_equal(at, place, (size_t)p->axes->n * sizeof *at);
        for (uint64_t h = drawn; hash[k] != h; k++)
            assert_true(k + 1 < n);
        got[k]++;
    }
    for (size_t k = 0; k < n; k++) {
        space_at(s, k, point);
        parzen_place(p->axes, point, place);
        double want = DRAWS * exp(log_of(p, place)) * uniform_share(s, point);
        if (want < 5) { /* too few for a square: all such together */
            rest_want += want;
            rest_got += got[k];
            continue;
        }
        chi += (got[k] - want) * (got[k] - want) / want;
        cells++;
    }
    if (rest_want >= 5) {
        chi += (rest_got - rest_want) * (rest_got - rest_want) / rest_want;
        cells++;
    }
    mem_free(hash);
    mem_free(got);
    return cells > 1 ? (chi - (cells - 1)) / sqrt(2 * (cells - 1)) : 0;
}

static void draws_come_as_often_as_the_density_says(void **state)
{
    int checked = 0;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 3);
    for (int round = 0; checked < 15 && round < 10 * ROUNDS; round++) {
        struct space *s = spaces_random(&r, MAX_P, true);
        double size = space_search_size(s);
        if (size >= 4 && size <= 100) {
            struct parzen_axes a;
            struct parzen p;
            any_parzen(&p, &a, s, &r);
            assert_true(surprise(&p, s, &r) < 6);
            checked++;
            parzen_fini(&p);
            parzen_axes_fini(&a);
        }
        space_free(s);
    }
    assert_int_equal(checked, 15);
}

/* Every kind and branch, continuous ones too: draws are legal, near a kernel the density is higher than far from it. */
static void kernels_draw_near_themselves(void **state)
{
    struct space *s = spaces_mixed();
    double point[16], place[16], drawn[16], drawn_place[16];
    double near = 0, far = 0;
    struct parzen_axes a;
    struct parzen p;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 4);
    parzen_axes_init(&a, s);
    parzen_init(&p, &a);
    for (int round = 0; round < 200; round++) {
        spaces_point(s, &r, point);
        parzen_place(&a, point, place);
        parzen_keep(&p, 0);
        parzen_add(&p, place, 1);
        parzen_build(&p, 0.2, 0.1, 0.2);
        uint64_t hash = parzen_draw(&p, &r, &r, drawn, drawn_place);
        assert_int_equal(space_check(s, drawn, NULL), 0);
        assert_true(hash == space_hash(s, drawn));
        near += log_of(&p, place);
        spaces_point(s, &r, point);
        parzen_place(&a, point, place);
        far += log_of(&p, place);
    }
    assert_true(near > far + 200);
    parzen_fini(&p);
    parzen_axes_fini(&a);
    space_free(s);
}

/* A space of all kinds, with branches, and a batch of its points. */
static struct space *batch_make(struct parzen *p, struct parzen_axes *a, double *places,
                                struct rng *r)
{
    struct space *s = spaces_mixed();
    double point[SPACE_MAX_PARAMS], place[SPACE_MAX_PARAMS];

    parzen_axes_init(a, s);
    parzen_init(p, a);
    for (int k = 0; k < MANY; k++) {
        spaces_point(s, r, point);
        parzen_place(a, point, place);
        parzen_add(p, place, 0.1 + rng_unit(r));
    }
    parzen_build(p, 0.3, 0.05, 0.3);
    for (int i = 0; i < PARZEN_BATCH; i++) {
        spaces_point(s, r, point);
        parzen_place(a, point, places + (size_t)i * (size_t)a->n);
    }
    return s;
}

/* Another bit in a density, and a study would go another way on another machine. */
static void every_instruction_set_gives_the_same_bits(void **state)
{
    double places[PARZEN_BATCH * SPACE_MAX_PARAMS], plain[PARZEN_BATCH], logs[PARZEN_BATCH];
    struct parzen_axes a;
    struct parzen p;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    struct space *s = batch_make(&p, &a, places, &r);
    simd_force(SIMD_PLAIN);
    parzen_logs(&p, places, PARZEN_BATCH, plain);
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        parzen_logs(&p, places, PARZEN_BATCH, logs);
        assert_memory_equal(logs, plain, sizeof plain);
    }
    simd_force(simd_best());
    parzen_fini(&p);
    parzen_axes_fini(&a);
    space_free(s);
}

static void a_point_has_the_same_density_in_any_batch(void **state)
{
    double places[PARZEN_BATCH * SPACE_MAX_PARAMS], all[PARZEN_BATCH], few[PARZEN_BATCH];
    struct parzen_axes a;
    struct parzen p;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 7);
    struct space *s = batch_make(&p, &a, places, &r);
    parzen_logs(&p, places, PARZEN_BATCH, all);
    for (int from = 0, n = 1; from < PARZEN_BATCH; from += n, n = MIN(n + 1, PARZEN_BATCH - from)) {
        parzen_logs(&p, places + (size_t)from * (size_t)a.n, n, few);
        assert_memory_equal(few, all + from, (size_t)n * sizeof *few);
    }
    parzen_fini(&p);
    parzen_axes_fini(&a);
    space_free(s);
}

/* Kernels that are kept need not be built again, but a density says the same as if they were. */
static void kept_kernels_are_as_new_ones(void **state)
{
    double places[PARZEN_BATCH * SPACE_MAX_PARAMS], point[SPACE_MAX_PARAMS];
    double want[PARZEN_BATCH], got[PARZEN_BATCH];
    struct parzen_axes a;
    struct parzen p, fresh;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 8);
    struct space *s = batch_make(&p, &a, places, &r);
    parzen_init(&fresh, &a);
    for (int round = 0; round < 2; round++) { /* of the same width, of another */
        parzen_keep(&p, MANY / 3);
        for (int k = 0; k < MANY; k++) {
            double place[SPACE_MAX_PARAMS];
            spaces_point(s, &r, point);
            parzen_place(&a, point, place);
            parzen_add(&p, place, 0.5);
        }
        parzen_keep(&fresh, 0);
        for (int k = 0; k < p.n; k++) {
            parzen_kernel(&p, k, point);
            parzen_add(&fresh, point, p.weights[k]);
        }
        parzen_build(&p, 0.3, round ? 0.4 : 0.05, 0.3);
        parzen_build(&fresh, 0.3, round ? 0.4 : 0.05, 0.3);
        parzen_logs(&p, places, PARZEN_BATCH, got);
        parzen_logs(&fresh, places, PARZEN_BATCH, want);
        assert_memory_equal(got, want, sizeof want);
    }
    parzen_fini(&p);
    parzen_fini(&fresh);
    parzen_axes_fini(&a);
    space_free(s);
}

/* 512 parameters: products of densities overflow a double, their logs must not. */
/* Numbers behind the last row stay as they are. */
static void columns_are_turned_into_rows(void **state)
{
    enum { ROOM = (PARZEN_MAX_CELLS + 1) * PARZEN_BATCH };
    double from[PARZEN_BATCH][PARZEN_MAX_CELLS], got[ROOM];
    const double *columns[PARZEN_BATCH];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 9);
    for (int c = 0; c < PARZEN_BATCH; c++) {
        columns[c] = from[c];
        for (int at = 0; at < PARZEN_MAX_CELLS; at++)
            from[c][at] = rng_unit(&r);
    }
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (int n = 1; n <= PARZEN_MAX_CELLS; n++) {
            for (int i = 0; i < ROOM; i++)
                got[i] = -1;
            parzen_turn(columns, n, got);
            for (int i = 0; i < ROOM; i++)
                assert_true(got[i] ==
                            (i < n * PARZEN_BATCH ? from[i % PARZEN_BATCH][i / PARZEN_BATCH] : -1));
        }
    }
    simd_force(simd_best());
}

static void very_many_parameters_stay_finite(void **state)
{
    double place[SPACE_MAX_PARAMS], point[SPACE_MAX_PARAMS], other[SPACE_MAX_PARAMS];
    struct space *s = space_new();
    struct parzen_axes a;
    struct parzen p;
    struct rng r;
    char name[16];

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int i = 0; i < SPACE_MAX_PARAMS; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        if (i % 2)
            spaces_float(s, name, 0, 1, 0, false);
        else
            spaces_choice(s, name, 20, i % 4 == 0);
    }
    parzen_axes_init(&a, s);
    parzen_init(&p, &a);
    spaces_point(s, &r, point);
    parzen_place(&a, point, place);
    parzen_add(&p, place, 1);
    spaces_point(s, &r, point);
    parzen_place(&a, point, other);
    parzen_add(&p, other, 1);
    parzen_build(&p, 1, 0.01, 0.01);
    assert_true(isfinite(log_of(&p, place)) && log_of(&p, place) > 800);
    spaces_point(s, &r, point);
    parzen_place(&a, point, other);
    assert_true(fabs(log_of(&p, other) + log(3)) < 1e-6); /* far from both: the prior alone */
    parzen_fini(&p);
    parzen_axes_fini(&a);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mass_of_any_tree_is_one),
        cmocka_unit_test(the_mass_of_a_line_is_one),
        cmocka_unit_test(draws_come_as_often_as_the_density_says),
        cmocka_unit_test(kernels_draw_near_themselves),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(a_point_has_the_same_density_in_any_batch),
        cmocka_unit_test(kept_kernels_are_as_new_ones),
        cmocka_unit_test(columns_are_turned_into_rows),
        cmocka_unit_test(very_many_parameters_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
