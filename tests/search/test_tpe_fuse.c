/* test_tpe_fuse.c - trials that are asked for together choose among few shapes once TPE has its model, and each of them is
 * still distributed as it would be alone, in every parameter. Fixed seeds: chance decides nothing. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"

#include <math.h>

enum { FUSE = 8, GROUPS = 1500, BINS = 8, HISTORY = 60 };

/* A family, as a study's space has it, with a shape below one choice. */
static struct space *family_space(void)
{
    struct space *s = space_new();

    int family = spaces_choice(s, "family", 3, false);
    spaces_choice(s, "a.bins", 12, false);
    spaces_axis(s, AXIS_SHAPE);
    spaces_under(s, family, 1);
    spaces_float(s, "a.rate", 0.001, 1, 0, true);
    spaces_under(s, family, 1);
    spaces_choice(s, "b.width", 16, true);
    spaces_axis(s, AXIS_SHAPE);
    spaces_under(s, family, 2);
    spaces_float(s, "penalty", 0, 1, 0, false);
    return s;
}

/* Shapes matter little, so that the model is in doubt about them. */
static double worth(const struct space *s, const double *point)
{
    double rate = isnan(point[2]) ? 0.5 : param_to_unit(&s->params[2], point[2]);

    return -fabs(point[4] - 0.4) - 0.3 * fabs(rate - 0.5) - 0.02 * point[0];
}

static struct sampler *with_model(const struct space *s, int fuse, uint64_t seed)
{
    struct search_setup setup = { .seed = seed, .fuse = fuse };
    struct sampler *x = sampler_find("tpe")->open(s, &setup, NULL);
    struct rng r;

    rng_init(&r, 7, 7);
    for (int i = 0; i < HISTORY; i++) { /* the same for all: numbers of a warm start */
        double point[8];
        struct observation o = { .trial = -i, .state = OBS_COMPLETED, .level = 1, .max_level = 1 };

        spaces_point(s, &r, point);
        o.value = worth(s, point);
        assert_int_equal(x->ops->adopt(x, -i, point, NULL), 0);
        assert_int_equal(x->ops->observe(x, &o, NULL), 0);
    }
    return x;
}

static double *ask(const struct space *s, int fuse, uint64_t seed, int n)
{
    double *points = mem_array((size_t)n * (size_t)s->n, sizeof *points);
    struct sampler *x = with_model(s, fuse, seed);

    assert_int_equal(x->ops->suggest(x, 1, n, points, NULL), n);
    sampler_close(x);
    return points;
}

static int bin_of(const struct param *p, double v)
{
    return isnan(v) ? BINS : MIN((int)(param_to_unit(p, v) * BINS), BINS - 1);
}

/* Two samples of one distribution? In standard deviations, by Wilson and Hilferty. */
static double surprise(const struct space *s, int i, const double *a, const double *b, int step_a,
                       int first_a, int n)
{
    double count[2][BINS + 1] = { { 0 } }, chi = 0;
    int df = -1;

    for (int k = 0; k < n; k++) {
        count[0][bin_of(&s->params[i], a[(first_a + k * step_a) * s->n + i])]++;
        count[1][bin_of(&s->params[i], b[k * s->n + i])]++;
    }
    for (int c = 0; c <= BINS; c++) {
        double sum = count[0][c] + count[1][c], d = count[0][c] - count[1][c];

        if (sum == 0)
            continue;
        chi += d * d / sum;
        df++;
    }
    if (df < 1)
        return 0;
    return (cbrt(chi / df) - (1 - 2.0 / (9 * df))) / sqrt(2.0 / (9 * df));
}

static void fused_marginals_are_those_of_trials_alone(void **state)
{
    static const int members[] = { 0, 3, FUSE - 1 };
    struct space *s = family_space();
    double *fused = ask(s, FUSE, 1, FUSE * GROUPS), *alone = ask(s, 0, 2, GROUPS);

    (void)state;
    for (size_t m = 0; m < ARRAY_LEN(members); m++) {
        for (int i = 0; i < s->n; i++) {
            double z = surprise(s, i, fused, alone, FUSE, members[m], GROUPS);
            if (!(z < 4))
                fail_msg("%s of member %d: %.1f standard deviations off", s->params[i].name,
                         members[m], z);
        }
    }
    mem_free(fused);
    mem_free(alone);
    space_free(s);
}

static double shapes_a_group(const struct space *s, const double *points)
{
    int shapes = 0;

    for (int g = 0; g < GROUPS; g++) {
        for (int k = g * FUSE; k < (g + 1) * FUSE; k++) {
            bool is_new = true;
            for (int j = g * FUSE; j < k && is_new; j++) {
                const double *a = points + j * s->n, *b = points + k * s->n;
                bool same_bins = a[1] == b[1] || (isnan(a[1]) && isnan(b[1]));
                bool same_width = a[3] == b[3] || (isnan(a[3]) && isnan(b[3]));
                is_new = !(a[0] == b[0] && same_bins && same_width);
            }
            shapes += is_new;
        }
    }
    return (double)shapes / GROUPS;
}

static void those_asked_for_together_have_few_shapes(void **state)
{
    struct space *s = family_space();
    double *fused = ask(s, FUSE, 1, FUSE * GROUPS), *alone = ask(s, 0, 1, FUSE * GROUPS);
    double few = shapes_a_group(s, fused), many = shapes_a_group(s, alone);

    (void)state;
    if (!(few - 1 < 0.6 * (many - 1))) /* shapes beyond the one that a group needs */
        fail_msg("%.2f shapes a group, %.2f without groups", few, many);
    mem_free(fused);
    mem_free(alone);
    space_free(s);
}

static void a_fused_trial_hangs_on_its_number_not_on_the_batch(void **state)
{
    struct space *s = family_space();
    double *whole = ask(s, FUSE, 3, 64), part[8];
    struct sampler *x = with_model(s, FUSE, 3);

    (void)state;
    for (int k = 0; k < 64; k++) {
        assert_int_equal(x->ops->suggest(x, 1 + k, 1, part, NULL), 1);
        assert_memory_equal(part, whole + k * s->n, (size_t)s->n * sizeof *part);
    }
    sampler_close(x);
    mem_free(whole);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_marginals_are_those_of_trials_alone),
        cmocka_unit_test(those_asked_for_together_have_few_shapes),
        cmocka_unit_test(a_fused_trial_hangs_on_its_number_not_on_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
