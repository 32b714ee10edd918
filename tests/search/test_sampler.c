/* test_sampler.c - what every sampler promises, checked on each of the registry: legal points, none twice, none at all
 * once the space is used up, free axes untouched, replay identity, any observation in any order. A new sampler is under test as soon as it has its row. */
#include "tests/search/probe.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"
#include "search/space/hash_set.h"

#include <math.h>

enum { ROUNDS = 24, MAX_P = 12, LARGE = 300, SMALL = 60 };

static struct sampler *open_one(const struct sampler_ops *ops, const struct space *s, uint64_t seed)
{
    struct search_setup setup = { .seed = seed };
    struct err err = { 0 };
    struct sampler *sampler = ops->open(s, &setup, &err);

    if (!sampler)
        fail_msg("%s: %s", ops->name, err.text);
    return sampler;
}

/* Uses both up. */
static void same_state(struct sampler *a, struct sampler *b)
{
    assert_true(probe_sampler(a) == probe_sampler(b));
}

static struct observation random_observation(struct rng *r, int64_t last)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, 5e-324 };
    return (struct observation){ .trial = 1 + (int64_t)rng_below(r, (uint32_t)last + 1),
                                 .state = (enum obs_state)rng_below(r, OBS_STATES),
                                 .level = (int)rng_below(r, 9),
                                 .max_level = 9,
                                 .value = rng_below(r, 3) ? rng_normal(r)
                                                          : odd[rng_below(r, ARRAY_LEN(odd))],
                                 .cost = rng_below(r, 1000) };
}

static void registry_rows_are_complete(void **state)
{
    (void)state;
    for (int i = 0; sampler_at(i); i++) {
        const struct sampler_ops *o = sampler_at(i);
        assert_true(sampler_find(o->name) == o);
        assert_true(o->help[0] && o->n_options <= SEARCH_MAX_OPTIONS);
        assert_true(o->open && o->close && o->suggest && o->adopt && o->observe);
    }
    assert_null(sampler_at(-1));
    assert_null(sampler_find("nobody"));
    assert_null(sampler_find(NULL));
    assert_non_null(sampler_find("random"));
    assert_false(sampler_find("random")->is_test_only);
    assert_true(sampler_find("testhash")->is_test_only);
    sampler_close(NULL);
}

/* Asks until there is nothing left, with results in between; every point new, all of them there. */
static void use_up(const struct sampler_ops *ops, const struct space *s, struct rng *r)
{
    double points[MAX_P * 16];
    struct sampler *sampler = open_one(ops, s, rng_u64(r));
    struct hash_set seen;
    int64_t next = 1;
    int n = 0, got = 0;

    hash_set_init(&seen);
    while (got == n) {
        n = 1 + (int)rng_below(r, 16);
        got = ops->suggest(sampler, next, n, points, NULL);
        for (int k = 0; k < got; k++) {
            assert_int_equal(space_check(s, points + k * s->n, NULL), 0);
            assert_true(hash_set_add(&seen, space_hash(s, points + k * s->n)));
        }
        next += got;
        struct observation o = random_observation(r, next);
        assert_int_equal(ops->observe(sampler, &o, NULL), 0);
    }
    assert_true((double)seen.n == space_search_size(s));
    assert_int_equal(ops->suggest(sampler, next, 4, points, NULL), 0);
    hash_set_fini(&seen);
    sampler_close(sampler);
}

static void a_finite_space_is_used_up_without_a_repeat(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct space *s = spaces_random(&r, 6, true);
        double most = round < 3 ? LARGE : SMALL; /* models take milliseconds a point */
        for (int i = 0; space_search_size(s) <= most && sampler_at(i); i++)
            use_up(sampler_at(i), s, &r);
        space_free(s);
    }
}

/* Each choice opens the next one: depth + 1 points, of which the last is one in 2^depth draws. */
static void deep_conditionals_are_used_up_without_a_repeat(void **state)
{
    static const int depths[] = { 1, 2, 9, 11 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 8);
    for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
        struct space *s = spaces_chain(depths[d]);
        for (int i = 0; sampler_at(i); i++)
            use_up(sampler_at(i), s, &r);
        space_free(s);
    }
}

static void empty_and_single_spaces_have_one_point(void **state)
{
    double points[8];

    (void)state;
    for (int single = 0; single < 2; single++) {
        struct space *s = space_new();
        if (single) {
            spaces_constant(s, "constant", 4);
            spaces_float(s, "float", 2, 2, 0, true);
            spaces_choice(s, "choice", 1, false);
        }
        for (int i = 0; sampler_at(i); i++) {
            struct sampler *sampler = open_one(sampler_at(i), s, 3);
            assert_int_equal(sampler->ops->suggest(sampler, 1, 2, points, NULL), 1);
            assert_int_equal(sampler->ops->suggest(sampler, 2, 1, points, NULL), 0);
            sampler_close(sampler);
        }
        space_free(s);
    }
}

static void adopted_points_are_not_proposed_again(void **state)
{
    double points[MAX_P * 8], point[MAX_P];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    struct space *s = space_new();
    spaces_int(s, "a", 0, 9, 0, false);
    spaces_int(s, "rounds", 1, 1000, 0, false);
    spaces_axis(s, AXIS_FREE);
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *sampler = open_one(sampler_at(i), s, rng_u64(&r));
        for (int a = 0; a < 5; a++) { /* with free values that no proposal carries */
            point[0] = a;
            point[1] = 1 + rng_below(&r, 1000);
            assert_int_equal(sampler->ops->adopt(sampler, 1 + a, point, NULL), 0);
            assert_int_equal(sampler->ops->adopt(sampler, 1 + a, point, NULL), 0);
        }
        assert_int_equal(sampler->ops->suggest(sampler, 6, 8, points, NULL), 5);
        for (int k = 0; k < 5; k++) {
            assert_true(points[2 * k] >= 5);
            assert_true(points[2 * k + 1] == s->params[1].def);
        }
        point[0] = 99;
        struct err err = { 0 };
        assert_int_equal(sampler->ops->adopt(sampler, 20, point, &err), -1);
        assert_string_equal(err.where, "a");
        sampler_close(sampler);
    }
    space_free(s);
}

/* x lives; y is told in the same order what x proposed. */
static void recall_one(const struct sampler_ops *ops, const struct space *s, struct rng *r)
{
    uint64_t seed = rng_u64(r);
    struct sampler *x = open_one(ops, s, seed), *y = open_one(ops, s, seed);
    double points[MAX_P * 5 + 1];
    int64_t next = 1;

    for (int call = 0; call < 40; call++) {
        if (rng_below(r, 3) == 0) {
            struct observation o = random_observation(r, next);
            assert_int_equal(ops->observe(x, &o, NULL), 0);
            assert_int_equal(ops->observe(y, &o, NULL), 0);
            continue;
        }
        int got = ops->suggest(x, next, 1 + (int)rng_below(r, 5), points, NULL);
        for (int k = 0; k < got; k++)
            assert_int_equal(ops->recall(y, next++, points + k * s->n, NULL), 0);
    }
    same_state(x, y);
    sampler_close(x);
    sampler_close(y);
}

static void recalled_proposals_leave_the_state_that_proposing_left(void **state)
{
    struct rng r;

    (void)state;
    assert_non_null(sampler_find("tpe")->recall); /* the default's restarts rest on it */
    rng_init(&r, test_seed(), 7);
    for (int round = 0; round < ROUNDS / 3; round++) {
        struct space *s = spaces_random(&r, MAX_P, rng_below(&r, 2));
        for (int i = 0; sampler_at(i); i++) {
            if (sampler_at(i)->recall)
                recall_one(sampler_at(i), s, &r);
        }
        space_free(s);
    }
}

static void batches_of_any_size_give_the_same_points(void **state)
{
    enum { N = 64 };
    struct space *s = spaces_mixed();
    double whole[N * 16], parts[N * 16];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *x = open_one(sampler_at(i), s, 5), *y = open_one(sampler_at(i), s, 5);
        assert_int_equal(x->ops->suggest(x, 1, N, whole, NULL), N);
        for (int at = 0; at < N;) {
            int n = MIN(1 + (int)rng_below(&r, 9), N - at);
            assert_int_equal(y->ops->suggest(y, 1 + at, n, parts + at * s->n, NULL), n);
            at += n;
        }
        assert_memory_equal(whole, parts, (size_t)(N * s->n) * sizeof *whole);
        sampler_close(x);
        sampler_close(y);
    }
    space_free(s);
}

static void a_repeated_observation_changes_nothing(void **state)
{
    struct space *s = spaces_mixed();
    double points[16 * 16];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *x = open_one(sampler_at(i), s, 5), *y = open_one(sampler_at(i), s, 5);
        struct observation seen[200];
        assert_int_equal(x->ops->suggest(x, 1, 16, points, NULL), 16);
        assert_int_equal(y->ops->suggest(y, 1, 16, points, NULL), 16);
        for (size_t k = 0; k < ARRAY_LEN(seen); k++) {
            seen[k] = random_observation(&r, 30); /* some of trials that it never heard of */
            assert_int_equal(x->ops->observe(x, &seen[k], NULL), 0);
            assert_int_equal(y->ops->observe(y, &seen[k], NULL), 0);
            assert_int_equal(x->ops->observe(x, &seen[rng_below(&r, (uint32_t)k + 1)], NULL), 0);
        }
        same_state(x, y);
        sampler_close(y);
        sampler_close(x);
    }
    space_free(s);
}

/* Over a few points: some samplers begin at the defaults whatever the seed. */
static void another_seed_gives_another_study(void **state)
{
    enum { N = 8 };
    struct space *s = spaces_mixed();
    double a[N * 16], b[N * 16];

    (void)state;
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *x = open_one(sampler_at(i), s, 5), *y = open_one(sampler_at(i), s, 6);
        int differ = 0;
        assert_int_equal(x->ops->suggest(x, 1, N, a, NULL), N);
        assert_int_equal(y->ops->suggest(y, 1, N, b, NULL), N);
        for (int k = 0; k < N; k++)
            differ += !space_points_equal(s, a + k * s->n, b + k * s->n);
        assert_true(differ >= N / 2);
        sampler_close(x);
        sampler_close(y);
    }
    space_free(s);
}

/* The controller lets any number of trials of such a sampler be in flight. */
static void what_ignores_results_proposes_the_same_without_them(void **state)
{
    enum { N = 120 };
    struct space *s = spaces_mixed();
    double a[10 * 16], b[10 * 16];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *x = open_one(sampler_at(i), s, 5), *y = open_one(sampler_at(i), s, 5);
        bool differ = false;
        for (int from = 0; from < N; from += 10) {
            assert_int_equal(x->ops->suggest(x, from + 1, 10, a, NULL), 10);
            assert_int_equal(y->ops->suggest(y, from + 1, 10, b, NULL), 10);
            for (int k = 0; k < 10; k++)
                differ = differ || !space_points_equal(s, a + k * s->n, b + k * s->n);
            for (int k = 0; k < 30; k++) {
                struct observation o = random_observation(&r, from + 10);
                assert_int_equal(x->ops->observe(x, &o, NULL), 0);
            }
        }
        if (differ == x->ops->ignores_results)
            fail_msg("%s: its proposals %s on results", x->ops->name,
                     differ ? "depend" : "do not depend");
        sampler_close(x);
        sampler_close(y);
    }
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_rows_are_complete),
        cmocka_unit_test(a_finite_space_is_used_up_without_a_repeat),
        cmocka_unit_test(deep_conditionals_are_used_up_without_a_repeat),
        cmocka_unit_test(empty_and_single_spaces_have_one_point),
        cmocka_unit_test(adopted_points_are_not_proposed_again),
        cmocka_unit_test(recalled_proposals_leave_the_state_that_proposing_left),
        cmocka_unit_test(batches_of_any_size_give_the_same_points),
        cmocka_unit_test(a_repeated_observation_changes_nothing),
        cmocka_unit_test(another_seed_gives_another_study),
        cmocka_unit_test(what_ignores_results_proposes_the_same_without_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
