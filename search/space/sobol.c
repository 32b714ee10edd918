/* sobol.c - Sobol's sequence in base 2, scrambled. In each dimension, element i is the XOR of the
 * direction numbers of the bits set in i (Sobol 1967). Direction numbers follow the recurrence of a
 * primitive polynomial over GF(2) (Bratley and Fox, ACM Algorithm 659, 1988), with one polynomial
 * per dimension in order of degree. The polynomials are computed here instead of read from a table,
 * so that every space has enough dimensions (512 need degree 13).
 *
 * The first numbers of each recurrence may be chosen freely, as long as they are odd. As Joe and
 * Kuo do (SIAM Journal on Scientific Computing 30, 2008), they are chosen for good two-dimensional
 * projections: of some candidates, the one with the smallest sum of t values against earlier
 * dimensions. t says how far the first 2^m points are from a perfect net. Joe and Kuo searched for
 * months over up to 2^18 points. This search looks at 16 to 1024 points, as many as a study has
 * trials, and takes milliseconds.
 *
 * Scrambling is Owen's nested uniform scrambling (1995): each bit is flipped by a random bit that
 * depends on all bits above it. The points remain a net, every element is uniform, and the error
 * falls faster than with a random shift. */
#include "search/space/sequence.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdbool.h>
#include <string.h>

enum { BITS = 53, MAX_DEGREE = 13, BITS_PER_DRAW = 7 };
/* The choice of direction numbers: how many candidates are tried, with how many earlier dimensions
 * each is compared, and for which numbers of points 2^m. */
enum { CANDIDATES = 8, COMPARED = 16, MIN_M = 4, MAX_M = 10 };

/* Fixed, so that the unscrambled sequence is the same for all studies. */
static const uint64_t CANDIDATE_SEED = 0x6a6f652d6b756f; /* "joe-kuo" */

struct sequence {
    int dims;
    uint64_t *seeds;           /* one per dimension */
    uint64_t (*numbers)[BITS]; /* direction numbers, left-aligned in BITS bits */
};

/* ---- polynomials: bit k is the coefficient of x^k ---- */

/* A polynomial is primitive if the powers of x modulo it reach 1 only after 2^degree - 1
 * multiplications. */
static bool is_primitive(uint32_t poly, int degree)
{
    uint32_t period = (UINT32_C(1) << degree) - 1, x = 1;

    for (uint32_t k = 1; k <= period; k++) {
        x <<= 1;
        if (x >> degree & 1)
            x ^= poly;
        if (x == 1)
            return k == period;
    }
    return false;
}

/* The next primitive polynomial after `poly`, by degree, then by its coefficients. */
static uint32_t next_primitive(uint32_t poly, int *degree)
{
    for (;;) {
        poly += 2; /* the constant coefficient is 1 */
        if (poly >> *degree > 1)
            (*degree)++;
        CHECK(*degree <= MAX_DEGREE);
        if (is_primitive(poly, *degree))
            return poly;
    }
}

/* ---- direction numbers ---- */

/* Fills v[degree..BITS) from v[0..degree) by the recurrence of the polynomial. */
static void recur(uint64_t *v, uint32_t poly, int degree)
{
    for (int k = degree; k < BITS; k++) {
        v[k] = v[k - degree] ^ v[k - degree] >> degree;
        for (int i = 1; i < degree; i++) {
            if (poly >> (degree - i) & 1)
                v[k] ^= v[k - i];
        }
    }
}

/* The leading rows of a generator matrix: bit k of row r is output bit r of direction number k.
 * Those of the first 2^m points are its upper left m x m corner. */
struct corner {
    uint32_t rows[MAX_M];
};

static struct corner corner_of(const uint64_t *v)
{
    struct corner c = { { 0 } };

    for (int r = 0; r < MAX_M; r++) {
        for (int k = 0; k < MAX_M; k++)
            c.rows[r] |= (uint32_t)(v[k] >> (BITS - 1 - r) & 1) << k;
    }
    return c;
}

/* Adds a row to a basis in echelon form over GF(2), by its highest bit; false when it depends on
 * the others. */
static bool basis_add(uint32_t *basis, uint32_t row)
{
    for (int bit = MAX_M - 1; bit >= 0 && row; bit--) {
        if (!(row >> bit & 1))
            continue;
        if (!basis[bit]) {
            basis[bit] = row;
            return true;
        }
        row ^= basis[bit];
    }
    return false;
}

/* t of the first 2^m points of two dimensions: every elementary box of volume 2^(t-m) holds exactly
 * 2^t of them (Niederreiter 1987). t is m minus the largest k for which any k leading rows, some
 * from each of the two generator matrices, are linearly independent. */
static int net_t(const struct corner *a, const struct corner *b, int m)
{
    uint32_t mask = (UINT32_C(1) << m) - 1, basis_a[MAX_M] = { 0 };
    int strength = m;

    for (int from_a = 0; from_a < m; from_a++) {
        uint32_t basis[MAX_M];
        int from_b = 0;
        memcpy(basis, basis_a, sizeof basis);
        while (from_a + from_b < m && basis_add(basis, b->rows[from_b] & mask))
            from_b++;
        strength = MIN(strength, from_a + from_b);
        (void)basis_add(basis_a,
                        a->rows[from_a] & mask); /* rows of one dimension are always independent */
    }
    return m - strength;
}

/* The sum of t against earlier dimensions; smaller is better. Stops as soon as the sum reaches
 * `enough`. */
static int badness(const struct corner *all, int dim, const struct corner *c, int enough)
{
    int sum = 0;

    for (int other = MAX(0, dim - COMPARED); other < dim && sum < enough; other++) {
        for (int m = MIN_M; m <= MAX_M; m += 2)
            sum += net_t(&all[other], c, m);
    }
    return sum;
}

static void choose_numbers(struct corner *corners, int dim, uint32_t poly, int degree,
                           uint64_t *out)
{
    uint64_t v[BITS] = { 0 };
    int best = INT32_MAX;

    for (int c = 0; c < CANDIDATES && best > 0; c++) {
        struct rng r;
        rng_init(&r, rng_mix(CANDIDATE_SEED, (uint64_t)dim), (uint64_t)c);
        for (int k = 0; k < degree; k++) /* odd, below 2^(k+1) */
            v[k] = (uint64_t)(2 * rng_below(&r, UINT32_C(1) << k) + 1) << (BITS - 1 - k);
        recur(v, poly, degree);
        struct corner corner = corner_of(v);
        int bad = badness(corners, dim, &corner, best);
        if (bad < best) {
            best = bad;
            corners[dim] = corner;
            memcpy(out, v, sizeof v);
        }
    }
}

static struct sequence *sobol_make(int dims, uint64_t seed)
{
    struct sequence *q = mem_zalloc(sizeof *q);
    struct corner *corners = mem_array((size_t)dims, sizeof *corners);
    uint32_t poly = 1;
    int degree = 1;

    q->dims = dims;
    q->seeds = mem_array((size_t)dims, sizeof *q->seeds);
    q->numbers = mem_array((size_t)dims, sizeof *q->numbers);
    for (int d = 0; d < dims; d++) {
        q->seeds[d] = rng_mix(seed, (uint64_t)d);
        if (d == 0) { /* van der Corput's sequence */
            for (int k = 0; k < BITS; k++)
                q->numbers[0][k] = UINT64_C(1) << (BITS - 1 - k);
            corners[0] = corner_of(q->numbers[0]);
            continue;
        }
        poly = next_primitive(poly, &degree);
        choose_numbers(corners, d, poly, degree, q->numbers[d]);
    }
    mem_free(corners);
    return q;
}

static void sobol_destroy(struct sequence *q)
{
    if (!q)
        return;
    mem_free(q->seeds);
    mem_free(q->numbers);
    mem_free(q);
}

/* ---- elements ---- */

/* Owen's scrambling. The random bits form a binary tree: the bit at a node flips the next bit of
 * every element whose leading bits lead to that node. One draw of 128 bits holds a subtree of 7
 * levels; `node` is its index in heap order. */
static uint64_t scramble(uint64_t seed, uint64_t x)
{
    uint64_t out = 0;

    for (int level = 0; level < BITS; level += BITS_PER_DRAW) {
        int n = MIN(BITS_PER_DRAW, BITS - level);
        uint32_t flips[4], node = 1;
        rng_at(seed, (uint32_t)level, 0, x >> (BITS - level), flips);
        for (int k = 0; k < n; k++) {
            uint32_t bit = x >> (BITS - 1 - level - k) & 1;
            out = out << 1 | (bit ^ (flips[node >> 5] >> (node & 31) & 1));
            node = node << 1 | bit;
        }
    }
    return out;
}

static void sobol_at(const struct sequence *q, uint64_t index, double *unit)
{
    CHECK(index < SEQUENCE_END);
    for (int d = 0; d < q->dims; d++) {
        uint64_t x = 0;
        for (int k = 0; index >> k; k++)
            x ^= index >> k & 1 ? q->numbers[d][k] : 0;
        unit[d] = (double)scramble(q->seeds[d], x) * 0x1p-53;
    }
}

const struct sequence_ops sequence_sobol = { sobol_make, sobol_destroy, sobol_at };
