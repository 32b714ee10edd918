/* test_sampler.c - what every sampler promises, checked on each of the registry: legal points, none twice, none at all
 * once the space is used up, free axes untouched, replay and save/load identity, any observation in any order, damaged
 * states refused. A new sampler is under test as soon as it has its row. */
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

static struct buf state_of(const struct sampler *s)
{
    struct buf b;

    buf_init(&b, SEARCH_MAX_STATE_BYTES);
    assert_int_equal(s->ops->save(s, &b, NULL), 0);
    return b;
}

static void same_state(const struct sampler *a, const struct sampler *b)
{
    struct buf x = state_of(a), y = state_of(b);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    buf_fini(&x);
    buf_fini(&y);
}

static struct observation random_observation(struct rng *r, int64_t last)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, 5e-324 };
    return (struct observation){ .trial = 1 + (int64_t)rng_below(r, (uint32_t)last + 1),
                                 .state = (enum obs_state)rng_below(r, OBS_STATES),
                                 .resource = (int)rng_below(r, 9),
                                 .max_resource = 9,
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
        assert_true(o->open && o->close && o->suggest && o->adopt && o->observe && o->save &&
                    o->load);
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

/* One random call; the same draws give the same call. */
static void random_call(struct sampler *s, struct rng *r, int64_t *next, double *point_out)
{
    double points[MAX_P * 5];
    uint32_t what = rng_below(r, 4);

    if (what == 0) {
        int got = s->ops->suggest(s, *next, 1 + (int)rng_below(r, 5), points, NULL);
        assert_true(got >= 0);
        *next += got;
        if (got > 0)
            memcpy(point_out, points, (size_t)s->space->n * sizeof *points);
    } else if (what == 1) {
        spaces_point(s->space, r, points);
        assert_int_equal(s->ops->adopt(s, (*next)++, points, NULL), 0);
    } else {
        struct observation o = random_observation(r, *next);
        assert_int_equal(s->ops->observe(s, &o, NULL), 0);
    }
}

/* The sampler as it would be after a restart. */
static struct sampler *reborn(struct sampler *old)
{
    struct buf saved = state_of(old);
    struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
    struct sampler *s = open_one(old->ops, old->space, old->seed);

    assert_int_equal(s->ops->load(s, &in, NULL), 0);
    sampler_close(old);
    buf_fini(&saved);
    return s;
}

/* The same calls on two samplers, of which one dies and comes back now and then. */
static void live_twice(const struct sampler_ops *ops, const struct space *s, struct rng *deaths)
{
    double a[MAX_P] = { 0 }, b[MAX_P] = { 0 };
    uint64_t seed = rng_u64(deaths);
    struct sampler *x = open_one(ops, s, seed), *y = open_one(ops, s, seed);
    int64_t next_a = 1, next_b = 1;
    struct rng ra, rb;

    rng_init(&ra, seed, 0);
    rng_init(&rb, seed, 0);
    for (int call = 0; call < 60; call++) {
        random_call(x, &ra, &next_a, a);
        random_call(y, &rb, &next_b, b);
        assert_int_equal(next_a, next_b);
        assert_memory_equal(a, b, sizeof a);
        if (rng_below(deaths, 10) == 0)
            y = reborn(y);
    }
    same_state(x, y);
    sampler_close(x);
    sampler_close(y);
}

static void replay_and_restore_give_the_same_study(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < ROUNDS / 3; round++) {
        struct space *s = spaces_random(&r, MAX_P, rng_below(&r, 2));
        for (int i = 0; sampler_at(i); i++)
            live_twice(sampler_at(i), s, &r);
        space_free(s);
    }
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
        struct sampler *x = open_one(sampler_at(i), s, 5);
        struct observation seen[200];
        assert_int_equal(x->ops->suggest(x, 1, 16, points, NULL), 16);
        for (size_t k = 0; k < ARRAY_LEN(seen); k++) {
            seen[k] = random_observation(&r, 30); /* some of trials that it never heard of */
            assert_int_equal(x->ops->observe(x, &seen[k], NULL), 0);
            struct buf before = state_of(x);
            assert_int_equal(x->ops->observe(x, &seen[rng_below(&r, (uint32_t)k + 1)], NULL), 0);
            struct buf after = state_of(x);
            assert_int_equal(before.len, after.len);
            assert_memory_equal(before.data, after.data, before.len);
            buf_fini(&before);
            buf_fini(&after);
        }
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

/* ---- states from elsewhere ---- */

static int load_into(const struct sampler_ops *ops, const struct space *s, uint64_t seed,
                     const void *bytes, size_t n, struct err *err)
{
    struct view in = { bytes, n, 0 };
    struct sampler *x = open_one(ops, s, seed);
    int rc = x->ops->load(x, &in, err);
    double point[16];

    if (rc == 0) /* then it can go on */
        assert_in_range(x->ops->suggest(x, INT64_MAX, 1, point, NULL), 0, 1);
    sampler_close(x);
    return rc;
}

static struct buf state_after_some_calls(const struct sampler_ops *ops, const struct space *s)
{
    double points[16 * 20];
    struct sampler *x = open_one(ops, s, 9);
    struct rng r;

    rng_init(&r, 9, 9);
    assert_int_equal(x->ops->suggest(x, 1, 20, points, NULL), 20);
    for (int k = 0; k < 20; k++) {
        struct observation o = random_observation(&r, 20);
        assert_int_equal(x->ops->observe(x, &o, NULL), 0);
    }
    struct buf b = state_of(x);
    sampler_close(x);
    return b;
}

static void a_state_of_another_study_is_refused(void **state)
{
    struct space *s = spaces_mixed(), *other = spaces_chain(3);

    (void)state;
    for (int i = 0; sampler_at(i); i++) {
        struct buf b = state_after_some_calls(sampler_at(i), s);
        struct err err = { 0 };
        assert_int_equal(load_into(sampler_at(i), s, 9, b.data, b.len, &err), 0);
        assert_int_equal(load_into(sampler_at(i), s, 8, b.data, b.len, &err), -1);
        assert_int_equal(err.code, ERR_CONFLICT);
        assert_int_equal(load_into(sampler_at(i), other, 9, b.data, b.len, &err), -1);
        assert_int_equal(err.code, ERR_CONFLICT);
        for (int k = 0; sampler_at(k); k++)
            assert_int_equal(load_into(sampler_at(k), s, 9, b.data, b.len, NULL), k == i ? 0 : -1);
        buf_fini(&b);
    }
    space_free(s);
    space_free(other);
}

static void damaged_states_are_refused_or_harmless(void **state)
{
    struct space *s = spaces_mixed();
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int i = 0; sampler_at(i); i++) {
        struct buf b = state_after_some_calls(sampler_at(i), s);
        for (size_t n = 0; n < b.len; n++)
            assert_int_equal(load_into(sampler_at(i), s, 9, b.data, n, NULL), -1);
        for (int k = 0; k < 400; k++) {
            char *copy = mem_dup(b.data, b.len);
            for (uint32_t flips = 1 + rng_below(&r, 4); flips > 0; flips--)
                copy[rng_below(&r, (uint32_t)b.len)] = (char)rng_u32(&r);
            (void)load_into(sampler_at(i), s, 9, copy, b.len, NULL);
            mem_free(copy);
        }
        assert_int_equal(buf_add(&b, "x", 1, NULL), 0);
        assert_int_equal(load_into(sampler_at(i), s, 9, b.data, b.len, NULL), -1);
        buf_fini(&b);
    }
    space_free(s);
}

static void a_full_buffer_fails_the_save(void **state)
{
    struct space *s = spaces_mixed();

    (void)state;
    for (int i = 0; sampler_at(i); i++) {
        struct sampler *x = open_one(sampler_at(i), s, 5);
        struct buf whole = state_of(x);
        for (size_t max = 0; max < whole.len; max++) {
            struct err err = { 0 };
            struct buf b;
            buf_init(&b, max);
            assert_int_equal(x->ops->save(x, &b, &err), -1);
            assert_int_equal(err.code, ERR_TOOBIG);
            buf_fini(&b);
        }
        buf_fini(&whole);
        sampler_close(x);
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
        cmocka_unit_test(replay_and_restore_give_the_same_study),
        cmocka_unit_test(recalled_proposals_leave_the_state_that_proposing_left),
        cmocka_unit_test(batches_of_any_size_give_the_same_points),
        cmocka_unit_test(a_repeated_observation_changes_nothing),
        cmocka_unit_test(another_seed_gives_another_study),
        cmocka_unit_test(a_state_of_another_study_is_refused),
        cmocka_unit_test(damaged_states_are_refused_or_harmless),
        cmocka_unit_test(a_full_buffer_fails_the_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
