/* rng.c - Philox4x32-10 and the distributions made from it. The results are equal bit for bit on
 * every machine: integers, and doubles with only + - * / sqrt in a fixed order. The Makefile builds
 * with -ffp-contract=off, so that no compiler fuses a multiplication with an addition. */
#include "base/rng.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

void rng_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t out[4])
{
    rng_block((uint64_t)key[1] << 32 | key[0], ctr[2], ctr[3], (uint64_t)ctr[1] << 32 | ctr[0],
              out);
}

void rng_at(uint64_t seed, uint32_t a, uint32_t b, uint64_t c, uint32_t out[4])
{
    rng_block(seed, a, b, c, out);
}

uint64_t rng_mix(uint64_t seed, uint64_t tag)
{
    return rng_derive(seed, tag);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t stream)
{
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->stream = stream;
}

typedef uint64_t pair __attribute__((vector_size(16), aligned(8)));

/* The products of numbers below 2^32, each in a lane of 64 bits. From lanes of 64 bits a compiler makes
 * products of 64 bits, three times the work. */
static inline pair product(pair a, pair b)
{
#ifdef __SSE2__
    return (pair)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return a * b;
#endif
}

struct block_pair {
    pair c0, c1, c2, c3;
};

static inline void round_of(struct block_pair *b, pair k0, pair k1)
{
    const pair low = { 0xFFFFFFFF, 0xFFFFFFFF };
    pair p0 = product(b->c0, (pair){ 0xD2511F53, 0xD2511F53 });
    pair p1 = product(b->c2, (pair){ 0xCD9E8D57, 0xCD9E8D57 });

    b->c0 = p1 >> 32 ^ b->c1 ^ k0;
    b->c1 = p1 & low;
    b->c2 = p0 >> 32 ^ b->c3 ^ k1;
    b->c3 = p0 & low;
}

static inline void block_pair_init(struct block_pair *b, const struct rng *r, uint64_t from)
{
    const pair low = { 0xFFFFFFFF, 0xFFFFFFFF }, pos = { from, from + 1 };
    uint64_t stream = r->stream;

    b->c0 = pos & low;
    b->c1 = pos >> 32;
    b->c2 = (pair){ stream & 0xFFFFFFFF, stream & 0xFFFFFFFF };
    b->c3 = (pair){ stream >> 32, stream >> 32 };
}

static inline void block_pair_store(const struct block_pair *b, uint32_t *out)
{
    pair left = b->c0 | b->c1 << 32, right = b->c2 | b->c3 << 32;
    uint64_t all[4] = { left[0], right[0], left[1], right[1] };

    memcpy(out, all, sizeof all);
}

/* The next four blocks of the stream, two and two side by side. */
static void four_blocks(const struct rng *r, uint32_t *out)
{
    const pair low = { 0xFFFFFFFF, 0xFFFFFFFF };
    pair k0 = { r->seed & 0xFFFFFFFF, r->seed & 0xFFFFFFFF };
    pair k1 = { r->seed >> 32, r->seed >> 32 };
    struct block_pair a, b;

    block_pair_init(&a, r, r->pos);
    block_pair_init(&b, r, r->pos + 2);
    for (int i = 0; i < 10; i++) {
        round_of(&a, k0, k1);
        round_of(&b, k0, k1);
        k0 = (k0 + 0x9E3779B9) & low;
        k1 = (k1 + 0xBB67AE85) & low;
    }
    block_pair_store(&a, out);
    block_pair_store(&b, out + 8);
}

/* Many streams end within their first block. */
void rng_refill(struct rng *r)
{
    if (r->pos > 0) {
        four_blocks(r, r->out);
        r->pos += 4;
        r->left = RNG_AHEAD;
        return;
    }
    rng_block(r->seed, (uint32_t)r->stream, (uint32_t)(r->stream >> 32), r->pos++,
              r->out + RNG_AHEAD - 4);
    r->left = 4;
}

/* Lemire, "Fast random integer generation in an interval", 2019: multiply, and reject the few
 * values that would make some results more likely than others. */
uint32_t rng_below(struct rng *r, uint32_t n)
{
    CHECK(n >= 1);
    uint64_t m = (uint64_t)rng_u32(r) * n;
    if ((uint32_t)m < n) { /* what is rejected is below n, and to know how much takes a division */
        uint32_t reject = (0u - n) % n;
        while ((uint32_t)m < reject)
            m = (uint64_t)rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

static double poly(const double *c, int n, double x)
{
    double y = c[n - 1];

    for (int i = n - 2; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

/* The natural logarithm of a normal positive double, to about 1e-16. The C library's log differs
 * between machines. */
static double own_log(double x)
{
    static const double c[] = { 2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23 };
    uint64_t bits = 0;
    int e = 0;
    double m = 0, f = 0;

    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    f = (m - 1) / (m + 1);
    return e * 0.69314718055994530942 + f * poly(c, ARRAY_LEN(c), f * f);
}

/* The inverse of the normal distribution by Wichura's AS 241 (PPND16), with a relative error of
 * about 1e-16; 0 < p < 1. The coefficients are those of the paper. */
static double normal_quantile(double p)
{
    static const double a[] = { 3.3871328727963666080e0,  1.3314166789178437745e+2,
                                1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                3.3430575583588128105e+4, 2.5090809287301226727e+3 };
    static const double b[] = { 1.0,
                                4.2313330701600911252e+1,
                                6.8718700749205790830e+2,
                                5.3941960214247511077e+3,
                                2.1213794301586595867e+4,
                                3.9307895800092710610e+4,
                                2.8729085735721942674e+4,
                                5.2264952788528545610e+3 };
    static const double c[] = { 1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[] = { 1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9 };
    static const double e[] = { 6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[] = { 1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15 };
    double q = p - 0.5, r = 0, z = 0;

    if (q <= 0.425 && q >= -0.425) {
        r = 0.180625 - q * q;
        return q * poly(a, 8, r) / poly(b, 8, r);
    }
    r = sqrt(-own_log(q < 0 ? p : 1 - p));
    z = r <= 5 ? poly(c, 8, r - 1.6) / poly(d, 8, r - 1.6) : poly(e, 8, r - 5) / poly(f, 8, r - 5);
    return q < 0 ? -z : z;
}

double rng_normal(struct rng *r)
{
    /* p is the middle of one of 2^52 equal cells: it is exact, and never 0 or 1. */
    return normal_quantile(((double)(rng_u64(r) >> 12) + 0.5) * 0x1p-52);
}
