/* test_sort.c - the radix sort against the order of plain comparisons, and quantiles against sorted values. */
#include "tests/unit.h"

#include "base/rng.h"
#include "ml/math/sort.h"

#include <math.h>

enum { MOST = 3000 };

static const int sizes[] = { 1, 2, 3, 17, 255, 1000, MOST };

static void sorting_is_stable_and_in_order(void **state)
{
    static uint64_t key[MOST], was[MOST];
    static uint32_t row[MOST];
    struct rng r;

    (void)state;
    rng_init(&r, 7, 1);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int i = 0; i < sizes[s]; i++) {
            was[i] = key[i] = (uint64_t)rng_below(&r, 50) << rng_below(&r, 40);
            row[i] = (uint32_t)i;
        }
        assert_int_equal(ml_sort_u64(key, row, (size_t)sizes[s], NULL), 0);
        for (int i = 0; i < sizes[s]; i++) {
            assert_int_equal(key[i], was[row[i]]);
            if (i > 0)
                assert_true(key[i - 1] < key[i] || (key[i - 1] == key[i] && row[i - 1] < row[i]));
        }
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float drawn(struct rng *r, int kind)
{
    switch (kind) {
    case 0:
        return (float)rng_normal(r);
    case 1:
        return (float)(int32_t)rng_below(r, 5) - 2; /* many equal ones, both zeros among them */
    case 2:
        return (float)(rng_normal(r) * pow(10, rng_below(r, 70) - 35.0));
    default:
        return rng_below(r, 2) ? -0.0f : 0.0f;
    }
}

static void short_keys_come_in_the_order_of_their_values(void **state)
{
    static float v[MOST];
    static uint32_t key[MOST], spare[MOST];
    struct rng r;

    (void)state;
    rng_init(&r, 9, 1);
    ml_sort_u32(key, spare, 0);
    for (int kind = 0; kind < 4; kind++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int n = sizes[s];
            for (int i = 0; i < n; i++) {
                v[i] = drawn(&r, kind);
                key[i] = ml_key_f32(v[i]);
            }
            ml_sort_u32(key, spare, (size_t)n);
            qsort(v, (size_t)n, sizeof *v, by_value);
            for (int i = 0; i < n; i++)
                assert_true(ml_key_f32_value(key[i]) == v[i]);
        }
    }
}

static void quantiles_are_those_of_the_sorted_values(void **state)
{
    static const double shares[] = { 0, 0.001, 0.25, 0.5, 0.9, 1 };
    static float v[MOST];
    static uint32_t key[MOST];
    struct rng r;

    (void)state;
    rng_init(&r, 8, 1);
    for (int kind = 0; kind < 4; kind++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int n = sizes[s];
            for (int i = 0; i < n; i++)
                v[i] = drawn(&r, kind);
            for (size_t q = 0; q < sizeof shares / sizeof *shares; q++) {
                for (int i = 0; i < n; i++)
                    key[i] = ml_key_f32(v[i]);
                float got = ml_quantile(key, n, shares[q]);
                qsort(v, (size_t)n, sizeof *v, by_value);
                double at = shares[q] * (n - 1);
                int low = (int)at;
                double a = (double)v[low], b = (double)v[low + 1 < n ? low + 1 : low];
                assert_true(got == (float)(a + (at - low) * (b - a)));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_stable_and_in_order),
        cmocka_unit_test(short_keys_come_in_the_order_of_their_values),
        cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
