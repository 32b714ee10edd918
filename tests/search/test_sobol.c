/* test_sobol.c - Sobol's sequence: every dimension and the first pair are the nets that theory says, all dimensions up to
 * the largest space are there and differ, elements are uniform over seeds, and the cover is more even than random. */
#include "tests/search/discrepancy.h"
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/space/sequence.h"
#include "search/space/space.h"

#include <math.h>

static void check_block(const struct sequence *q, int dims, uint64_t first)
{
    double unit[SPACE_MAX_PARAMS];
    char *hit = mem_array((size_t)dims, 128);

    for (uint64_t i = 0; i < 128; i++) {
        sequence_sobol.at(q, first + i, unit);
        for (int d = 0; d < dims; d++) {
            assert_true(unit[d] >= 0 && unit[d] < 1);
            assert_int_equal(hit[d * 128 + (int)(unit[d] * 128)]++, 0);
        }
    }
    mem_free(hit);
}

/* Every block of 2^m elements that starts at a multiple of it has one in each 2^-m of every dimension. */
static void each_dimension_is_a_perfect_net(void **state)
{
    static const int dims[] = { 1, 2, 7, 64, SPACE_MAX_PARAMS };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(dims); c++) {
        struct sequence *q = sequence_sobol.make(dims[c], test_seed() + c);
        for (uint64_t first = 0; first < 256 + 128; first += 128)
            check_block(q, dims[c], first);
        sequence_sobol.destroy(q);
    }
    sequence_sobol.destroy(NULL);
}

static void check_boxes(const struct sequence *q, int m, int wide)
{
    char hit[256] = { 0 };

    for (uint64_t i = 0; i < UINT64_C(1) << m; i++) {
        double u[2];
        sequence_sobol.at(q, i, u);
        int box = (int)(u[0] * (1 << wide)) << (m - wide) | (int)(u[1] * (1 << (m - wide)));
        assert_int_equal(hit[box]++, 0);
    }
}

/* A (0,m,2)-net: one point in every box of volume 2^-m, whatever its shape. */
static void the_first_two_dimensions_are_a_perfect_net_together(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sequence *q = sequence_sobol.make(2, test_seed() + seed);
        for (int m = 1; m <= 8; m++) {
            for (int wide = 0; wide <= m; wide++) {
                check_boxes(q, m, wide);
            }
        }
        sequence_sobol.destroy(q);
    }
}

/* No two dimensions may move together: the 2^10 points of any pair fill most of a 32 x 32 board. A bad pair of direction
 * numbers leaves it nearly empty. */
static void no_pair_of_dimensions_is_locked(void **state)
{
    enum { DIMS = 40, N = 1024 };
    struct sequence *q = sequence_sobol.make(DIMS, TEST_FIXED_SEED);
    double *u = mem_array((size_t)N * DIMS, sizeof *u);
    int worst = N;

    (void)state;
    for (int k = 0; k < N; k++)
        sequence_sobol.at(q, (uint64_t)k, u + (size_t)k * DIMS);
    for (int a = 0; a < DIMS; a++) {
        for (int b = 0; b < a; b++) {
            char hit[N] = { 0 };
            int full = 0;
            for (int k = 0; k < N; k++) {
                const double *x = u + (size_t)k * DIMS;
                char *box = &hit[(int)(x[a] * 32) * 32 + (int)(x[b] * 32)];
                full += !*box;
                *box = 1;
            }
            worst = full < worst ? full : worst;
        }
    }
    assert_true(worst >= N / 8);
    mem_free(u);
    sequence_sobol.destroy(q);
}

static void an_element_is_uniform_over_seeds(void **state)
{
    enum { SEEDS = 4000, BINS = 20 };
    static const uint64_t elements[] = { 0, 1, 77, SEQUENCE_END - 1 };
    double share[BINS], pair_share[BINS * BINS / 4];

    (void)state;
    marginals_even(share, BINS);
    marginals_even(pair_share, BINS * BINS / 4);
    for (size_t e = 0; e < ARRAY_LEN(elements); e++) {
        double count[3][BINS] = { { 0 } }, pair[BINS * BINS / 4] = { 0 }, u[3];
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct sequence *q = sequence_sobol.make(3, rng_mix(TEST_FIXED_SEED, seed));
            sequence_sobol.at(q, elements[e], u);
            for (int d = 0; d < 3; d++)
                count[d][(int)(u[d] * BINS)]++;
            pair[(int)(u[1] * BINS / 2) * BINS / 2 + (int)(u[2] * BINS / 2)]++;
            sequence_sobol.destroy(q);
        }
        for (int d = 0; d < 3; d++)
            assert_true(marginals_chi(count[d], share, BINS) < 5);
        assert_true(marginals_chi(pair, pair_share, BINS * BINS / 4) < 5);
    }
}

static void it_covers_more_evenly_than_random(void **state)
{
    static const int dims[] = { 1, 2, 5, 10 };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(dims); c++) {
        discrepancy_below_random(&sequence_sobol, dims[c], 64);
        discrepancy_below_random(&sequence_sobol, dims[c], 256);
        discrepancy_below_random(&sequence_sobol, dims[c], 200); /* no power of two */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dimension_is_a_perfect_net),
        cmocka_unit_test(the_first_two_dimensions_are_a_perfect_net_together),
        cmocka_unit_test(no_pair_of_dimensions_is_locked),
        cmocka_unit_test(an_element_is_uniform_over_seeds),
        cmocka_unit_test(it_covers_more_evenly_than_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
