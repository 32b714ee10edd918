/* discrepancy.c - centred L2 discrepancy in closed form, O(n^2 dims), and the comparison with random points, whose
 * expectation is known: E = ((5/4)^d - (13/12)^d) / n. */
#include "tests/search/discrepancy.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

double discrepancy_l2(const double *unit, int n, int dims)
{
    double single = 0, pairs = 0;

    for (int i = 0; i < n; i++) {
        const double *x = unit + (size_t)i * (size_t)dims;
        double product = 1;
        for (int d = 0; d < dims; d++) {
            double z = fabs(x[d] - 0.5);
            product *= 1 + z / 2 - z * z / 2;
        }
        single += product;
        for (int j = 0; j < n; j++) {
            const double *y = unit + (size_t)j * (size_t)dims;
            product = 1;
            for (int d = 0; d < dims; d++)
                product *= 1 + (fabs(x[d] - 0.5) + fabs(y[d] - 0.5) - fabs(x[d] - y[d])) / 2;
            pairs += product;
        }
    }
    return pow(13.0 / 12, dims) - 2 * single / n + pairs / n / n;
}

void discrepancy_below_random(const struct sequence_ops *ops, int dims, int n)
{
    enum { SEEDS = 8 };
    double *unit = mem_array((size_t)n * (size_t)dims, sizeof *unit), sum = 0;
    double random = (pow(1.25, dims) - pow(13.0 / 12, dims)) / n;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct sequence *q = ops->make(dims, rng_mix(TEST_FIXED_SEED, seed));
        for (int i = 0; i < n; i++)
            ops->at(q, (uint64_t)i, unit + (size_t)i * (size_t)dims);
        sum += discrepancy_l2(unit, n, dims) / SEEDS;
        ops->destroy(q);
    }
    if (!(sum < 0.8 * random))
        fail_msg("%d points of %d dimensions: %g, random ones %g", n, dims, sum, random);
    print_message("    %3d points, %2d dimensions: %.3f of random's discrepancy\n", n, dims,
                  sum / random);
    mem_free(unit);
}
