/* test_draws.c - many numbers at once are those of the stream. */
#include "tests/unit.h"

#include "base/rng.h"
#include "ml/cpu/draws.h"
#include "ml/cpu/simd.h"

static void many_numbers_are_those_of_the_stream(void **state)
{
    uint32_t out[DRAWS];

    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < 20; seed++) {
            uint64_t key = rng_mix(seed, 5), stream = seed & 1 ? 1 : rng_mix(seed, 6);
            struct rng r;
            rng_init(&r, key, stream);
            for (uint64_t block = 0; block < 5; block++) {
                draws_fill(key, stream, block * DRAWS / 4, out);
                for (int i = 0; i < DRAWS; i++)
                    assert_int_equal(out[i], rng_u32(&r));
            }
        }
    }
    simd_force(simd_best());
}

static void counters_go_on_past_32_bits(void **state)
{
    uint64_t block = 0xfffffff8u;
    uint32_t out[DRAWS], want[4];

    (void)state;
    draws_fill(9, 1, block, out);
    for (int i = 0; i < DRAWS / 4; i++) {
        rng_at(9, 1, 0, block + (uint64_t)i, want);
        assert_memory_equal(out + 4 * i, want, sizeof want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_numbers_are_those_of_the_stream),
        cmocka_unit_test(counters_go_on_past_32_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
