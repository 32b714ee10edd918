/* peaks.c - see peaks.h: the clock, how forms are timed, and bytes from each cache. */
#include "tests/bench/roofline/peaks.h"

#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "tests/bench/roofline/peaks_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef SIMD_MIDDLE
#include <immintrin.h>
#endif

/* TIMES: how often a kernel is timed, for some 20 microseconds each. CHAIN: additions that wait for each other. */
enum { TIMES = 600, CHAIN = 4096 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- timing ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void peaks_form(struct peak *p, const char *form, double units, double cycle, void (*run)(void *),
                void *arg)
{
    double took[TIMES];

    for (int i = 0; i < TIMES; i++) {
        double before = now();
        run(arg);
        took[i] = (now() - before) / units;
    }
    qsort(took, TIMES, sizeof *took, by_value);
    printf("    %-58s %6.3f cycles, median %6.3f\n", form, took[0] / cycle,
           took[TIMES / 2] / cycle);
    if (p->best == 0 || took[0] < p->best)
        *p = (struct peak){ took[0], took[TIMES / 2], form };
}

static void chain(void *arg)
{
    uint64_t x = *(uint64_t *)arg;

    for (int i = 0; i < CHAIN; i += 8) {
#define LINK \
    x += 1;  \
    __asm__ volatile("" : "+r"(x));
        LINK LINK LINK LINK LINK LINK LINK LINK
    }
    *(uint64_t *)arg = x;
}

static double cycle_measure(void)
{
    double least = 1;
    uint64_t x = 0;

    for (int i = 0; i < 20 * TIMES; i++) {
        double before = now();
        chain(&x);
        double took = (now() - before) / CHAIN;
        least = took < least ? took : least;
    }
    return least;
}

/* ---- bytes ---- */

/* PIECE: bytes that are read and timed at once. */
enum { PIECE = 64 << 10 };

struct streaming {
    uint8_t *at, *to;
    int64_t bytes, next;
    int64_t piece;
    uint64_t sum;
};

static void read_plain(void *arg)
{
    struct streaming *s = arg;
    const uint8_t *at = s->at + s->next;
    uint64_t sum[4] = { 0 };

    for (int64_t done = 0; done < PIECE; done += s->piece) {
        for (int64_t i = 0; i < s->piece; i += (int64_t)sizeof sum) {
            uint64_t v[4];
            memcpy(v, at + i, sizeof v);
            for (int k = 0; k < 4; k++)
                sum[k] ^= v[k];
        }
        __asm__ volatile("" : : : "memory");
    }
    s->sum += sum[0] + sum[1] + sum[2] + sum[3];
    s->next = (s->next + s->piece) % s->bytes;
}

#ifdef SIMD_MIDDLE
SIMD_MIDDLE static void read_middle(void *arg)
{
    struct streaming *s = arg;
    const __m256i *at = (const __m256i *)(const void *)(s->at + s->next);
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;

    for (int64_t done = 0; done < PIECE; done += s->piece) {
        for (int64_t i = 0; i < s->piece / (int64_t)sizeof a; i += 4) {
            a = _mm256_xor_si256(a, _mm256_loadu_si256(at + i));
            b = _mm256_xor_si256(b, _mm256_loadu_si256(at + i + 1));
            c = _mm256_xor_si256(c, _mm256_loadu_si256(at + i + 2));
            d = _mm256_xor_si256(d, _mm256_loadu_si256(at + i + 3));
        }
        __asm__ volatile("" : : : "memory");
    }
    a = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    s->sum += (uint64_t)_mm256_extract_epi64(a, 0);
    s->next = (s->next + s->piece) % s->bytes;
}
#endif

static void copy_piece(void *arg)
{
    struct streaming *s = arg;

    for (int64_t done = 0; done < PIECE; done += s->piece)
        memcpy(s->to + s->next, s->at + s->next, (size_t)s->piece);
    s->next = (s->next + s->piece) % s->bytes;
}

static int64_t cache_bytes(int name, int64_t otherwise)
{
    int64_t bytes = sysconf(name);

    return bytes > 0 ? bytes : otherwise;
}

static void streams_measure(struct peaks *p)
{
    static const int64_t least_piece = 8 << 10;

    p->level_bytes[LEVEL_1] = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    p->level_bytes[LEVEL_2] = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    p->level_bytes[LEVEL_3] = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 16 << 20);
    p->level_bytes[LEVEL_MEMORY] = INT64_MAX;
    puts("  a byte read in order; read, and written elsewhere");
    for (int k = 0; k < LEVELS; k++) {
        /* Half of the cache, which has other tenants; what comes from memory is four times the last cache. */
        int64_t bytes = k == LEVEL_MEMORY ? 4 * p->level_bytes[LEVEL_3] : p->level_bytes[k] / 2;
        struct streaming s = { .bytes = bytes / PIECE * PIECE, .piece = PIECE };
        char form[48];
        if (k == LEVEL_1)
            s.bytes = s.piece = least_piece;
        s.at = mem_zalloc((size_t)s.bytes);
        /* not the same place of a page as the source */
        uint8_t *to = mem_zalloc((size_t)s.bytes + 2048);
        s.to = to + 2048;
        snprintf(form, sizeof form, "%s, read", peak_level_name(k));
        for (int64_t i = 0; i < s.bytes && k < LEVEL_MEMORY; i += s.piece)
            read_plain(&s);
        peaks_form(&p->read[k], form, PIECE, p->cycle, read_plain, &s);
        snprintf(form, sizeof form, "%s, read in vectors", peak_level_name(k));
#ifdef SIMD_MIDDLE
        if (simd_level() >= SIMD_AVX2)
            peaks_form(&p->read[k], form, PIECE, p->cycle, read_middle, &s);
#endif
        /* source and target share the cache */
        s.bytes = k == LEVEL_1 ? s.bytes : s.bytes / 2 / PIECE * PIECE;
        s.next = 0;
        for (int64_t i = 0; i < s.bytes && k < LEVEL_MEMORY; i += s.piece)
            copy_piece(&s);
        snprintf(form, sizeof form, "%s, memcpy", peak_level_name(k));
        peaks_form(&p->copy[k], form, PIECE, p->cycle, copy_piece, &s);
        p->read[k].form = p->copy[k].form = peak_level_name(k);
        mem_free(s.at);
        mem_free(to);
    }
}

/* ---- all ---- */

const char *peak_level_name(enum peak_level level)
{
    static const char *const names[LEVELS] = { "first-level cache", "second-level cache",
                                               "third-level cache", "memory" };

    return names[level];
}

enum peak_level peak_level_of(const struct peaks *p, int64_t bytes)
{
    enum peak_level k = LEVEL_1;

    while (k < LEVEL_MEMORY && bytes > p->level_bytes[k])
        k++;
    return k;
}

void peaks_measure(struct peaks *p)
{
    memset(p, 0, sizeof *p);
    p->cycle = cycle_measure();
    printf("peaks of this machine, one thread at %.2f GHz (best of %d short times, and their median"
           ")\n",
           1e-9 / p->cycle, TIMES);
    peaks_trees_measure(p);
    streams_measure(p);
}
