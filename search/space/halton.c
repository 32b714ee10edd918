/* halton.c - Halton's sequence (1960): dimension d of an element is the radical inverse of its
 * index in base the d-th prime, that is, the digits of the index mirrored at the point. The digits
 * of each place are permuted at random and independently (Owen, A randomized Halton algorithm in R,
 * 2017), because the plain sequence forms stripes in large bases. The fraction beyond 32 bits is
 * random and keyed by the element, so every element is uniform over the cube.
 *
 * Any number of dimensions is possible, but a base b is covered evenly only after b elements, so
 * Sobol's sequence is better from about 20 dimensions on. Halton's has no powers of two at which it
 * is best cut, which suits studies that may end at any time. */
#include "search/space/sequence.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdbool.h>

enum { MAX_PLACES = 32 }; /* base 2 needs 32 digits for 32 bits; larger bases need fewer */

struct base {
    uint32_t prime;
    int places;
    uint16_t *digits; /* places x prime: what each digit becomes */
    uint64_t seed;
};
struct sequence {
    int dims;
    struct base *bases;
};

static bool is_prime(uint32_t n)
{
    for (uint32_t k = 2; k * k <= n; k++) {
        if (n % k == 0)
            return false;
    }
    return true;
}

/* A random permutation of 0..n-1 (Fisher and Yates). */
static void permute(struct rng *r, uint16_t *digits, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t other = rng_below(r, k + 1);
        digits[k] = digits[other];
        digits[other] = (uint16_t)k;
    }
}

static void base_init(struct base *b, uint32_t prime, uint64_t seed)
{
    struct rng r;

    b->prime = prime;
    b->seed = seed;
    for (uint64_t reach = 1; reach < UINT64_C(1) << 32; reach *= prime)
        b->places++;
    CHECK(b->places <= MAX_PLACES);
    b->digits = mem_array((size_t)b->places * prime, sizeof *b->digits);
    for (int p = 0; p < b->places; p++) {
        rng_init(&r, seed, (uint64_t)p);
        permute(&r, b->digits + (size_t)p * prime, prime);
    }
}

static struct sequence *halton_make(int dims, uint64_t seed)
{
    struct sequence *q = mem_zalloc(sizeof *q);
    uint32_t prime = 1;

    q->dims = dims;
    q->bases = mem_array((size_t)dims, sizeof *q->bases);
    for (int d = 0; d < dims; d++) {
        do
            prime++;
        while (!is_prime(prime));
        base_init(&q->bases[d], prime, rng_mix(seed, (uint64_t)d));
    }
    return q;
}

static void halton_destroy(struct sequence *q)
{
    if (!q)
        return;
    for (int d = 0; d < q->dims; d++)
        mem_free(q->bases[d].digits);
    mem_free(q->bases);
    mem_free(q);
}

static double base_at(const struct base *b, uint64_t index)
{
    uint32_t digits[MAX_PLACES] = { 0 }, tail[4];
    uint64_t rest = index;

    for (int p = 0; p < b->places; p++) {
        digits[p] = b->digits[(size_t)p * b->prime + rest % b->prime];
        rest /= b->prime;
    }
    rng_at(~b->seed, 0, 0, index, tail);
    double x = tail[0] * 0x1p-32;
    for (int p = b->places - 1; p >= 0; p--)
        x = (digits[p] + x) / b->prime;
    return x < 1 ? x : 1 - 0x1p-53;
}

static void halton_at(const struct sequence *q, uint64_t index, double *unit)
{
    CHECK(index < SEQUENCE_END);
    for (int d = 0; d < q->dims; d++)
        unit[d] = base_at(&q->bases[d], index);
}

const struct sequence_ops sequence_halton = { halton_make, halton_destroy, halton_at };
