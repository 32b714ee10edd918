/* test_halton.c - Halton's sequence: the digits of every dimension are permuted, never lost; elements are uniform over
 * seeds; the cover is more even than random. */
#include "tests/search/discrepancy.h"
#include "tests/search/marginals.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/space/sequence.h"
#include "search/space/space.h"

#include <math.h>

/* Each b^k elements from a multiple of it on have one in each b^-k. */
static void each_dimension_is_even_in_its_base(void **state)
{
    static const int primes[] = { 2, 3, 5, 7, 11, 13 }, places[] = { 9, 6, 4, 3, 2, 2 };

    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct sequence *q = sequence_halton.make(6, test_seed() + seed);
        for (int d = 0; d < 6; d++) {
            uint64_t n = (uint64_t)pow(primes[d], places[d]), first = n * (seed * 1000);
            char hit[1024] = { 0 };
            for (uint64_t i = 0; i < n; i++) {
                double u[6];
                sequence_halton.at(q, first + i, u);
                assert_int_equal(hit[(int)(u[d] * (double)n)]++, 0);
            }
        }
        sequence_halton.destroy(q);
    }
    sequence_halton.destroy(NULL);
}

static void the_largest_space_has_its_dimensions(void **state)
{
    struct sequence *q = sequence_halton.make(SPACE_MAX_PARAMS, test_seed());
    double unit[SPACE_MAX_PARAMS], again[SPACE_MAX_PARAMS];
    static const uint64_t elements[] = { 0, 1, 3670, SEQUENCE_END - 1 };

    (void)state;
    for (size_t e = 0; e < ARRAY_LEN(elements); e++) {
        sequence_halton.at(q, elements[e], unit);
        sequence_halton.at(q, elements[e], again);
        assert_memory_equal(unit, again, sizeof unit);
        for (int d = 0; d < SPACE_MAX_PARAMS; d++) {
            assert_true(unit[d] >= 0 && unit[d] < 1);
            assert_true(d == 0 || unit[d] != unit[d - 1]);
        }
    }
    sequence_halton.destroy(q);
}

static void an_element_is_uniform_over_seeds(void **state)
{
    enum { SEEDS = 4000, BINS = 20 };
    static const uint64_t elements[] = { 0, 1, 77, SEQUENCE_END - 1 };
    double share[BINS];

    (void)state;
    marginals_even(share, BINS);
    for (size_t e = 0; e < ARRAY_LEN(elements); e++) {
        double count[3][BINS] = { { 0 } }, u[3];
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct sequence *q = sequence_halton.make(3, rng_mix(TEST_FIXED_SEED, seed));
            sequence_halton.at(q, elements[e], u);
            for (int d = 0; d < 3; d++)
                count[d][(int)(u[d] * BINS)]++;
            sequence_halton.destroy(q);
        }
        for (int d = 0; d < 3; d++)
            assert_true(marginals_chi(count[d], share, BINS) < 5);
    }
}

static void it_covers_more_evenly_than_random(void **state)
{
    static const int dims[] = { 1, 2, 5, 10 };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(dims); c++) {
        discrepancy_below_random(&sequence_halton, dims[c], 64);
        discrepancy_below_random(&sequence_halton, dims[c], 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dimension_is_even_in_its_base),
        cmocka_unit_test(the_largest_space_has_its_dimensions),
        cmocka_unit_test(an_element_is_uniform_over_seeds),
        cmocka_unit_test(it_covers_more_evenly_than_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
