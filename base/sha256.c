/* sha256.c - FIPS 180-4. There are two functions for a run of blocks: portable C, and the SHA
 * extensions of x86 (about 8 times as fast). The first call chooses by asking the CPU. */
#include "base/sha256.h"

#include "base/base.h"
#include "base/str.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

static const uint32_t k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void block_portable(uint32_t h[8], const uint8_t *p)
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
               (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                      k256[i] + w[i];
        uint32_t t2 =
            (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

static void blocks_portable(uint32_t h[8], const uint8_t *p, size_t n)
{
    for (; n; n--, p += 64)
        block_portable(h, p);
}

#if HAVE_X86
static int cpu_has_sha(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

/* The instructions keep the state as two vectors, ABEF and CDGH, and do two rounds each. The message
 * schedule is a ring of four vectors, which have names of their own so that they stay in registers. */
struct ni_state {
    __m128i abef, cdgh;
};

#define TARGET_NI    __attribute__((target("sha,sse4.1,ssse3")))
#define TARGET_NI_IN TARGET_NI static inline __attribute__((always_inline))

TARGET_NI_IN __m128i ni_load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* Rounds 4i to 4i+3. */
TARGET_NI_IN void ni_rounds(struct ni_state *s, __m128i words, int i)
{
    __m128i sum = _mm_add_epi32(words, ni_load(k256 + 4 * i));

    s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
    s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

/* The four words after w0 to w3. */
TARGET_NI_IN __m128i ni_next(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));

    return _mm_sha256msg2_epu32(sum, w3);
}

TARGET_NI_IN void ni_block(struct ni_state *s, const uint8_t *p)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i w0 = _mm_shuffle_epi8(ni_load(p), swap);
    __m128i w1 = _mm_shuffle_epi8(ni_load(p + 16), swap);
    __m128i w2 = _mm_shuffle_epi8(ni_load(p + 32), swap);
    __m128i w3 = _mm_shuffle_epi8(ni_load(p + 48), swap);

    for (int i = 0;; i += 4) {
        ni_rounds(s, w0, i);
        ni_rounds(s, w1, i + 1);
        ni_rounds(s, w2, i + 2);
        ni_rounds(s, w3, i + 3);
        if (i == 12)
            return;
        w0 = ni_next(w0, w1, w2, w3);
        w1 = ni_next(w1, w2, w3, w0);
        w2 = ni_next(w2, w3, w0, w1);
        w3 = ni_next(w3, w0, w1, w2);
    }
}

TARGET_NI static void blocks_sha_ni(uint32_t h[8], const uint8_t *p, size_t n)
{
    __m128i lo = _mm_shuffle_epi32(ni_load(h), 0xB1);
    __m128i hi = _mm_shuffle_epi32(ni_load(h + 4), 0x1B);
    struct ni_state s = { _mm_alignr_epi8(lo, hi, 8), _mm_blend_epi16(hi, lo, 0xF0) };

    for (; n; n--, p += 64) {
        struct ni_state before = s;

        ni_block(&s, p);
        s.abef = _mm_add_epi32(s.abef, before.abef);
        s.cdgh = _mm_add_epi32(s.cdgh, before.cdgh);
    }
    lo = _mm_shuffle_epi32(s.abef, 0x1B);
    hi = _mm_shuffle_epi32(s.cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(lo, hi, 0xF0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(hi, lo, 8));
}
#endif

int sha256_portable_only; /* set by tests, which compare the two ways */

static void blocks(uint32_t h[8], const uint8_t *p, size_t n)
{
#if HAVE_X86
    static int has = -1;
    int v = __atomic_load_n(&has, __ATOMIC_RELAXED);

    if (v < 0) {
        v = cpu_has_sha();
        __atomic_store_n(&has, v, __ATOMIC_RELAXED);
    }
    if (v && !sha256_portable_only) {
        blocks_sha_ni(h, p, n);
        return;
    }
#endif
    blocks_portable(h, p, n);
}

void sha256_init(struct sha256 *s)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

    memset(s, 0, sizeof *s);
    memcpy(s->h, start, sizeof start);
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
    const uint8_t *p = data;

    CHECK(s->fill < sizeof s->block);
    s->bytes += n;
    if (s->fill) {
        size_t k = MIN(n, sizeof s->block - s->fill);

        memcpy(s->block + s->fill, p, k);
        s->fill += k;
        p += k;
        n -= k;
        if (s->fill < sizeof s->block)
            return;
        blocks(s->h, s->block, 1);
        s->fill = 0;
    }
    if (n >= 64) {
        blocks(s->h, p, n / 64);
        p += n / 64 * 64;
        n %= 64;
    }
    if (n) {
        memcpy(s->block, p, n);
        s->fill = n;
    }
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
    static const uint8_t pad[64] = { 0x80 };
    uint64_t bits = s->bytes * 8;
    uint8_t len[8];

    for (int i = 0; i < 8; i++)
        len[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, pad, s->fill < 56 ? 56 - s->fill : 120 - s->fill);
    sha256_add(s, len, sizeof len);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_end_hex(struct sha256 *s, char out[SHA256_HEX])
{
    uint8_t bytes[SHA256_BYTES];

    sha256_end(s, bytes);
    str_hex(bytes, sizeof bytes, out);
}

void sha256_hex(const void *p, size_t n, char out[SHA256_HEX])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, p, n);
    sha256_end_hex(&s, out);
}
