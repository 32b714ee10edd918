/* test_rng.c - the published vectors of Philox4x32-10, and the draws made of it. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "base/simd.h"

#include <math.h>

/* From the kat_vectors file of Random123. */
static const struct {
    uint32_t ctr[4], key[2], out[4];
} philox[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

static void known_answers_of_philox(void **state)
{
    uint32_t out[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(philox); i++) {
        rng_philox(philox[i].key, philox[i].ctr, out);
        assert_memory_equal(out, philox[i].out, sizeof out);
    }
}

/* On every instruction set, and where the position passes 2^32. */
static void a_stream_is_random_access_by_position(void **state)
{
    const uint64_t from[] = { 0, 0xfffffffau };
    struct rng r;
    uint32_t out[4];

    (void)state;
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (size_t f = 0; f < ARRAY_LEN(from); f++) {
            rng_init(&r, 0x123456789abcdef0u, 0xfedcba9876543210u);
            r.pos = from[f];
            for (uint64_t i = from[f]; i < from[f] + 10; i++) {
                rng_at(0x123456789abcdef0u, 0x76543210u, 0xfedcba98u, i, out);
                for (int k = 0; k < 4; k++)
                    assert_int_equal(rng_u32(&r), out[k]);
            }
        }
    }
    simd_force(simd_best());
}

static void a_copied_stream_continues_alike(void **state)
{
    struct rng a, b;

    (void)state;
    rng_init(&a, test_seed(), 9);
    for (int i = 0; i < 7; i++)
        rng_u32(&a);
    b = a;
    for (int i = 0; i < 50; i++)
        assert_true(rng_u64(&a) == rng_u64(&b));
}

static void derived_seeds_differ_from_each_other(void **state)
{
    uint64_t seen[300];

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(seen); i++) {
        seen[i] = rng_mix(42, i);
        for (uint64_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
    assert_true(rng_mix(1, 0) != rng_mix(0, 1));
}

static void below_stays_below_and_is_even(void **state)
{
    static const uint32_t limits[] = { 1, 2, 3, 7, 1000, 0x80000001u, 0xffffffffu };
    struct rng r;
    int count[6] = { 0 };

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 4);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        for (int k = 0; k < 1000; k++)
            assert_true(rng_below(&r, limits[i]) < limits[i]);
    }
    for (int k = 0; k < 60000; k++)
        count[rng_below(&r, 6)]++;
    for (int k = 0; k < 6; k++) /* 8 standard deviations */
        assert_in_range(count[k], 10000 - 730, 10000 + 730);
}

static void unit_is_in_its_half_open_range(void **state)
{
    struct rng r;
    double sum = 0;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int i = 0; i < 100000; i++) {
        double u = rng_unit(&r);

        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.008);
}

/* The quantile is checked through its own definition: Phi(z) must give back the cell that was drawn. */
static void normal_is_the_inverse_of_the_distribution_function(void **state)
{
    struct rng r, twin;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int i = 0; i < 200000; i++) {
        double z = 0, p = 0, want = 0;

        twin = r;
        z = rng_normal(&r);
        p = ((double)(rng_u64(&twin) >> 12) + 0.5) * 0x1p-52;
        want = p < 0.5 ? p : 1 - p;
        assert_true(fabs(0.5 * erfc(fabs(z) / sqrt(2)) / want - 1) < 1e-13);
        assert_true((z < 0) == (p < 0.5));
    }
}

static void normal_has_the_moments_of_a_normal(void **state)
{
    enum { N = 200000 };
    struct rng r;
    double m1 = 0, m2 = 0, m4 = 0;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 7);
    for (int i = 0; i < N; i++) {
        double z = rng_normal(&r);

        m1 += z / N;
        m2 += z * z / N;
        m4 += z * z * z * z / N;
    }
    assert_true(fabs(m1) < 8 / sqrt(N) && fabs(m2 - 1) < 8 * sqrt(2.0 / N));
    assert_true(fabs(m4 - 3) < 8 * sqrt(96.0 / N));
}

/* Bit for bit on every machine and compiler: a change here changes every study of every user. */
static void the_draws_are_frozen(void **state)
{
    struct rng r;
    double d = 0;
    uint64_t hash = 1469598103934665603u;

    (void)state;
    rng_init(&r, 2024, 1);
    for (int i = 0; i < 10000; i++) {
        uint64_t bits = 0;

        d = i % 3 ? rng_normal(&r) : rng_unit(&r) + rng_below(&r, 10);
        memcpy(&bits, &d, sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    assert_int_equal(hash, 0x0e6cc6236426955bu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers_of_philox),
        cmocka_unit_test(a_stream_is_random_access_by_position),
        cmocka_unit_test(a_copied_stream_continues_alike),
        cmocka_unit_test(derived_seeds_differ_from_each_other),
        cmocka_unit_test(below_stays_below_and_is_even),
        cmocka_unit_test(unit_is_in_its_half_open_range),
        cmocka_unit_test(normal_is_the_inverse_of_the_distribution_function),
        cmocka_unit_test(normal_has_the_moments_of_a_normal),
        cmocka_unit_test(the_draws_are_frozen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
