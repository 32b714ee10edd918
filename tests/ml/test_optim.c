/* test_optim.c - the steps of the optimisers are those of the papers that ml/math/optim_math.h names, computed here in double
 * precision and one parameter after another; every set of instructions gives the same bits; padding stays zero. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/optim.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

enum { N = 48, REAL = 41, STEPS = 3 };

static const char *const names[OPTIM_KINDS] = { "adamw",   "adam",    "sgd",  "nesterov",
                                                "rmsprop", "adagrad", "lars", "lamb" };

struct reference {
    double w[N], m[N], v[N];
};

static double norm(const double *x)
{
    double sum = 0;

    for (int i = 0; i < REAL; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The update of a parameter apart from the norms: what is taken off w, over the rate. */
static double direction(enum optim_kind kind, const struct layer_adam *a, double g, double w,
                        double *m, double *v)
{
    double u = (double)a->beta1, s = (double)a->beta2, d = (double)a->decay, eps = (double)a->eps;
    double all = kind == OPTIM_ADAMW || kind == OPTIM_LAMB ? g : g + d * w;

    switch (kind) {
    case OPTIM_SGD:
        *m = u * *m + all;
        return *m;
    case OPTIM_NESTEROV:
        *m = u * *m + all;
        return all + u * *m;
    case OPTIM_RMSPROP:
        *v = s * *v + (1 - s) * all * all;
        return all / (sqrt(*v) + eps);
    case OPTIM_ADAGRAD:
        *v += all * all;
        return all / (sqrt(*v) + eps);
    default:
        *m = u * *m + (1 - u) * all;
        *v = s * *v + (1 - s) * all * all;
        all = *m * (double)a->fix_m / (sqrt(*v * (double)a->fix_v) + eps);
        return kind == OPTIM_ADAM ? all : all + d * w;
    }
}

static void reference_step(enum optim_kind kind, const struct layer_adam *a, bool is_matrix,
                           struct reference *r, const double *g)
{
    double rate = (double)a->rate, by[N] = { 0 }, t = 1;

    if (kind == OPTIM_LARS) {
        if (is_matrix)
            t = 0.02 * norm(r->w) / (norm(g) + (double)a->decay * norm(r->w) + (double)a->eps);
        for (int i = 0; i < REAL; i++) {
            r->m[i] = (double)a->beta1 * r->m[i] + rate * t * (g[i] + (double)a->decay * r->w[i]);
            r->w[i] -= r->m[i];
        }
        return;
    }
    for (int i = 0; i < REAL; i++)
        by[i] = direction(kind, a, g[i], r->w[i], &r->m[i], &r->v[i]);
    if (kind == OPTIM_LAMB && is_matrix)
        t = norm(r->w) / norm(by);
    for (int i = 0; i < REAL; i++)
        r->w[i] -= rate * t * by[i];
}

static struct layer_adam at_step(int t)
{
    return (struct layer_adam){ .rate = 0.05f,
                                .decay = 0.1f,
                                .beta1 = 0.9f,
                                .beta2 = 0.95f,
                                .eps = 1e-6f,
                                .fix_m = (float)(1 / (1 - pow(0.9, t))),
                                .fix_v = (float)(1 / (1 - pow(0.95, t))) };
}

static void check_kind(enum optim_kind kind, bool is_matrix)
{
    struct reference r = { 0 };
    float w[N] = { 0 }, g[N] = { 0 }, m[N] = { 0 }, v[N] = { 0 };
    double exact[N] = { 0 };
    struct rng rng;

    rng_init(&rng, 31, (uint64_t)kind);
    for (int i = 0; i < REAL; i++)
        r.w[i] = (double)(w[i] = (float)rng_normal(&rng));
    for (int t = 1; t <= STEPS; t++) {
        struct layer_adam a = at_step(t);
        for (int i = 0; i < REAL; i++)
            exact[i] = (double)(g[i] = (float)rng_normal(&rng));
        optim_step(kind, &a, is_matrix, w, g, m, v, N);
        reference_step(kind, &a, is_matrix, &r, exact);
    }
    for (int i = 0; i < N; i++) {
        if (fabs((double)w[i] - r.w[i]) > 1e-5 * (1 + fabs(r.w[i])) || (i >= REAL && w[i] != 0.0f))
            fail_msg("%s, parameter %d: %.9g, expected %.9g", names[kind], i, (double)w[i], r.w[i]);
    }
}

static void three_steps_are_those_of_the_paper(void **state)
{
    (void)state;
    for (int kind = 0; kind < OPTIM_KINDS; kind++) {
        check_kind((enum optim_kind)kind, true);
        check_kind((enum optim_kind)kind, false);
    }
}

/* One step from w = 1 with gradient 0.5, without decay, worked out by hand. */
static void the_first_step_is_as_computed_by_hand(void **state)
{
    static const double after[OPTIM_KINDS] = {
        [OPTIM_ADAMW] = 1 - 0.1,     /* m / sqrt(v) = 1 after the corrections */
        [OPTIM_ADAM] = 1 - 0.1,      /* the same */
        [OPTIM_SGD] = 1 - 0.1 * 0.5, /* m = g */
        [OPTIM_NESTEROV] = 1 - 0.1 * (0.5 + 0.9 * 0.5),
        [OPTIM_RMSPROP] = 1 - 0.1 / 0.22360679774997896, /* sqrt(0.05) */
        [OPTIM_ADAGRAD] = 1 - 0.1,
        [OPTIM_LARS] = 1 - 0.1 * 0.02 * (1 / 0.5) * 0.5, /* |w| / |g| = 2 */
        [OPTIM_LAMB] = 1 - 0.1,                          /* |w| / |q| = 1 */
    };

    (void)state;
    for (int kind = 0; kind < OPTIM_KINDS; kind++) {
        float w[16] = { 1.0f }, g[16] = { 0.5f }, m[16] = { 0 }, v[16] = { 0 };
        struct layer_adam a = { .rate = 0.1f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f };
        a.fix_m = 1 / 0.1f;
        a.fix_v = 1 / 0.05f;
        optim_step((enum optim_kind)kind, &a, true, w, g, m, v, 16);
        if (fabs((double)w[0] - after[kind]) > 1e-6)
            fail_msg("%s: %.9g, expected %.9g", names[kind], (double)w[0], after[kind]);
    }
}

static void every_set_of_instructions_makes_the_same_step(void **state)
{
    static float w0[N * 5], g[N * 5], want[N * 5];
    struct layer_adam a = at_step(2);
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 4);
    for (int i = 0; i < N * 5; i++) {
        w0[i] = (float)rng_normal(&rng);
        g[i] = (float)rng_normal(&rng);
    }
    for (int kind = 0; kind < OPTIM_KINDS; kind++) {
        for (int level = 0; level <= (int)simd_best(); level++) {
            float w[N * 5], m[N * 5] = { 0 }, v[N * 5] = { 0 };
            simd_force((enum simd_level)level);
            memcpy(w, w0, sizeof w);
            optim_step((enum optim_kind)kind, &a, true, w, g, m, v, N * 5);
            optim_scale(w, (float)(1 / (1 + optim_squares(w, N * 5))), N * 5);
            optim_add(w, g, 0.3f, N * 5);
            if (level == 0)
                memcpy(want, w, sizeof w);
            assert_memory_equal(w, want, sizeof w);
        }
    }
    simd_force(simd_best());
}

/* No gradient, or weights of 0 as the last block has them at first: no division by 0. */
static void norms_of_zero_make_a_plain_step(void **state)
{
    struct layer_adam a = at_step(1);

    (void)state;
    a.decay = 0;
    for (int kind = OPTIM_LARS; kind <= OPTIM_LAMB; kind++) {
        float w[16] = { 0 }, g[16] = { 0.5f }, m[16] = { 0 }, v[16] = { 0 }, none[16] = { 0 };
        optim_step((enum optim_kind)kind, &a, true, w, g, m, v, 16);
        assert_true(w[0] < 0.0f && isfinite(w[0]));
        float one[16] = { 1.0f }, m2[16] = { 0 }, v2[16] = { 0 };
        optim_step((enum optim_kind)kind, &a, true, one, none, m2, v2, 16);
        assert_true(one[0] == 1.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_steps_are_those_of_the_paper),
        cmocka_unit_test(the_first_step_is_as_computed_by_hand),
        cmocka_unit_test(every_set_of_instructions_makes_the_same_step),
        cmocka_unit_test(norms_of_zero_make_a_plain_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
