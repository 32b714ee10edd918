/* test_gp_pool.c - candidates side by side: their scores are the expected improvement of the model's mean and deviation at
 * each (gp_predict, normal_log_ei), whatever was cut and added before, with the same bits on every instruction set; and a
 * copy of a candidate is that candidate. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"
#include "search/samplers/gp/gp_pool.h"
#include "search/space/normal.h"

#include <math.h>

enum { D = 4, MOST = 40, CAP = 48 };

/* Three numbers and a choice, a model of random points and targets, a block of random candidates. */
struct scene {
    struct space *space;
    struct gp_code code;
    struct gp_model model;
    struct gp_block block;
    double targets[MOST], theta[D + GP_SCALE];
    struct gp_aim aim;
    int n, told;
};

static void random_point(struct scene *s, struct rng *r, double *unit, double *point, double *x)
{
    for (int i = 0; i < D; i++)
        unit[i] = rng_unit(r);
    space_from_unit(s->space, unit, point);
    gp_code_of(&s->code, point, x);
}

static int lanes_of(const struct gp_block *b)
{
    return b->is_half ? GP_LANES / 2 : GP_LANES;
}

static void block_fill(struct scene *s, struct rng *r, struct gp_block *b, bool is_half)
{
    double unit[D], point[D], x[D];

    gp_block_init(b, D, D, CAP);
    b->is_half = is_half;
    for (int l = 0; l < lanes_of(b); l++) {
        random_point(s, r, unit, point, x);
        gp_block_put(b, &s->code, l, x, unit, l == 3 ? 0 : (uint64_t)l + 1);
    }
}

/* Adds points to the model until it has n. */
static void grow(struct scene *s, struct rng *r, int n)
{
    double unit[D], point[D], x[D];

    while (s->model.points.n < n) {
        random_point(s, r, unit, point, x);
        gp_points_add(&s->model.points, x);
    }
    gp_model_extend(&s->model, MIN(n, s->told), s->targets);
}

static void scene_init(struct scene *s, struct rng *r)
{
    *s = (struct scene){ .space = space_new() };
    spaces_float(s->space, "x", 0, 1, 0, false);
    spaces_int(s->space, "y", 1, 9, 0, false);
    spaces_choice(s->space, "z", 3, false);
    spaces_float(s->space, "w", 0, 1, 0, false);
    assert_int_equal(gp_code_init(&s->code, s->space, NULL), 0);
    gp_model_init(&s->model, D, CAP);
    memcpy(s->model.points.is_choice, s->code.is_choice, sizeof s->code.is_choice);
    s->n = 2 + (int)rng_below(r, MOST - 2);
    s->told = 1 + (int)rng_below(r, (uint32_t)s->n);
    for (int i = 0; i < s->n; i++)
        s->targets[i] = rng_normal(r);
    for (int i = 0; i < D + GP_SCALE; i++)
        s->theta[i] = -2 * rng_unit(r);
    s->aim = (struct gp_aim){ rng_normal(r), rng_below(r, 2) };
    gp_model_clear(&s->model, s->theta);
    grow(s, r, s->n);
    block_fill(s, r, &s->block, rng_below(r, 2));
}

static void scene_fini(struct scene *s)
{
    gp_block_fini(&s->block);
    gp_model_fini(&s->model);
    space_free(s->space);
}

static double score_of(const struct scene *s, double mean, double variance)
{
    double sd = sqrt(fmax(variance, 1e-30));

    if (s->aim.is_noisy)
        sd = sd * sd / sqrt(sd * sd + s->model.kernel.noise);
    return log(sd) + normal_log_ei((mean - s->aim.best) / sd);
}

/* Whether a lane's score is that of its mean and variance, which single precision may change by so
 * much, and which it rises with. Where the spread is small the logarithm goes far: of sd .008 and a
 * mean 39 sd below the best it is -780, and a change of the variance by 1e-7 changes it by 1.5. The
 * products of some forty numbers err by up to 2e-5 (4,000 seeds). */
static bool is_score(struct scene *s, int lane)
{
    const double rounding = 5e-5, approximation = 5e-3;
    double x[D], mean = 0, sd = 0, got = (double)s->block.score[lane];

    for (int k = 0; k < D; k++)
        x[k] = s->block.x[k * GP_LANES + lane];
    gp_predict(&s->model, x, &mean, &sd);
    return got > score_of(s, mean - rounding, sd * sd - rounding) - approximation &&
           got < score_of(s, mean + rounding, sd * sd + rounding) + approximation;
}

static void scores_are_the_expected_improvement(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 200; round++) {
        struct scene s;
        scene_init(&s, &r);
        gp_block_score(&s.block, &s.model, &s.aim);
        for (int l = 0; l < GP_LANES; l++) {
            if (l == 3 || l >= lanes_of(&s.block))
                assert_true(s.block.score[l] == -INFINITY); /* nothing is there */
            else
                assert_true(is_score(&s, l));
        }
        scene_fini(&s);
    }
}

/* Rows in several parts, some of them of points that were cut off again. */
static void what_was_cut_leaves_no_trace(void **state)
{
    double want[GP_LANES];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < 100; round++) {
        struct scene s;
        scene_init(&s, &r);
        int kept = (int)rng_below(&r, (uint32_t)s.told);
        gp_block_score(&s.block, &s.model, &s.aim);
        gp_model_cut(&s.model, kept);
        gp_block_cut(&s.block, kept);
        grow(&s, &r, s.told);
        gp_block_score(&s.block, &s.model, &s.aim);
        grow(&s, &r, s.n);
        gp_block_score(&s.block, &s.model, &s.aim);
        memcpy(want, s.block.score, sizeof want);
        gp_block_cut(&s.block, 0);
        gp_block_score(&s.block, &s.model, &s.aim);
        assert_memory_equal(s.block.score, want, sizeof want);
        scene_fini(&s);
    }
}

static void every_instruction_set_gives_the_same_scores(void **state)
{
    double plain[GP_LANES] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < 100; round++) {
        struct scene s;
        scene_init(&s, &r);
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            gp_block_cut(&s.block, 0);
            gp_block_score(&s.block, &s.model, &s.aim);
            if (level == SIMD_PLAIN)
                memcpy(plain, s.block.score, sizeof plain);
            assert_memory_equal(s.block.score, plain, sizeof plain);
        }
        scene_fini(&s);
    }
    simd_force(simd_best());
}

/* Rows that came one by one or several at once, with the instruction set `level`. */
static void side_by_side(struct scene *s, struct rng *r, enum simd_level level)
{
    struct gp_block blocks[GP_BLOCKS], one;

    for (int b = 0; b < GP_BLOCKS; b++)
        block_fill(s, r, &blocks[b], false);
    for (int n = s->n; n <= MOST; n += 1 + (int)rng_below(r, 6)) {
        grow(s, r, n);
        simd_force(level);
        gp_blocks_score(blocks, &s->model, &s->aim);
        simd_force(SIMD_PLAIN);
        for (int b = 0; b < GP_BLOCKS; b++) {
            gp_block_init(&one, D, D, CAP);
            memcpy(one.x, blocks[b].x, D * GP_LANES * sizeof *one.x);
            memcpy(one.hash, blocks[b].hash, sizeof one.hash);
            gp_block_score(&one, &s->model, &s->aim);
            assert_memory_equal(blocks[b].score, one.score, sizeof one.score);
            gp_block_fini(&one);
        }
        gp_block_cut(&blocks[rng_below(r, GP_BLOCKS)], (int)rng_below(r, (uint32_t)n));
    }
    for (int b = 0; b < GP_BLOCKS; b++)
        gp_block_fini(&blocks[b]);
}

static void blocks_side_by_side_have_the_scores_of_each_alone(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int round = 0; round < 100; round++) {
        struct scene s;
        scene_init(&s, &r);
        side_by_side(&s, &r, (enum simd_level)(round % ((int)simd_best() + 1)));
        scene_fini(&s);
    }
    simd_force(simd_best());
}

static void a_copied_candidate_is_the_same(void **state)
{
    struct gp_block other;
    struct scene s;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    scene_init(&s, &r);
    block_fill(&s, &r, &other, rng_below(&r, 2));
    gp_block_score(&s.block, &s.model, &s.aim);
    gp_block_score(&other, &s.model, &s.aim);
    gp_block_copy(&other, 3, &s.block, 7, D, D);
    assert_true(other.score[3] == s.block.score[7] && other.hash[3] == s.block.hash[7]);
    assert_memory_equal(other.units + 3 * D, s.block.units + 7 * D, D * sizeof *other.units);
    gp_block_cut(&other, s.told - 1);
    gp_block_score(&other, &s.model, &s.aim);
    assert_true(other.score[3] == s.block.score[7]);
    gp_block_fini(&other);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_expected_improvement),
        cmocka_unit_test(what_was_cut_leaves_no_trace),
        cmocka_unit_test(every_instruction_set_gives_the_same_scores),
        cmocka_unit_test(blocks_side_by_side_have_the_scores_of_each_alone),
        cmocka_unit_test(a_copied_candidate_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
