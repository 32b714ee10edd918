/* mem.c - see mem.h. Only this file and buf.c call malloc and realloc, so that the program decides
 * in one place what happens when memory runs out. */
#include "base/mem.h"

#include "base/base.h"
#include "base/fault.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* From HUGE_FROM bytes on an array asks for pages of 2 MiB. Growing a tree reads rows that lie far
 * apart, and with pages of 4 KiB most of the time went into address translation (1 million rows x
 * 50 columns, 20 trees: 2.57 s with 4 KiB pages and 1.36 s with this and a new order of
 * reading). */
enum { HUGE_FROM = 16 << 20, HUGE_PAGE = 2 << 20 };

static void *must(void *p, size_t n)
{
    if (!p) {
        fprintf(stderr, "out of memory: %zu bytes\n", n);
        abort();
    }
    return p;
}

void *mem_alloc(size_t n)
{
    return must(malloc(n ? n : 1), n);
}

void *mem_zalloc(size_t n)
{
    return must(calloc(1, n ? n : 1), n);
}

void *mem_array(size_t count, size_t size)
{
    return must(calloc(count ? count : 1, size ? size : 1), count);
}

void *mem_resize(void *p, size_t n)
{
    return must(realloc(p, n ? n : 1), n);
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

void *mem_dup(const void *p, size_t n)
{
    void *q = mem_alloc(n);

    if (n)
        memcpy(q, p, n);
    return q;
}

void mem_free(void *p)
{
    free(p);
}

size_t mem_more(size_t cap)
{
    return cap < 4 ? 4 : cap < 1024 ? cap * 2 : cap + cap / 4;
}

void *mem_grow(void *array, size_t size, size_t n, size_t *cap, size_t most_cap)
{
    CHECK(n <= *cap);
    if (n < *cap)
        return array;
    size_t more = mem_more(*cap);
    CHECK(more > *cap && more <= most_cap && more <= SIZE_MAX / size);
    *cap = more;
    return mem_resize(array, more * size);
}

void *mem_try_alloc(size_t n)
{
    if (n > SIZE_MAX - 64 || FAULT("mem.try_alloc"))
        return NULL;
    n = n ? (n + 63) / 64 * 64 : 64;
    void *p = NULL; /* not aligned_alloc, which wants n to be a multiple of the alignment */
    if (posix_memalign(&p, n < HUGE_FROM ? 64 : HUGE_PAGE, n) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (n >= HUGE_FROM)
        (void)madvise(p, n / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* only a hint */
#endif
    return p;
}

void *mem_try_zalloc(size_t n)
{
    void *p = mem_try_alloc(n);

    return p ? memset(p, 0, n) : NULL;
}

void mem_try_free(void *p)
{
    free(p);
}

#ifdef __GLIBC__
/* LARGE_BYTES: blocks from this size on are mapped, so that they can leave alone when freed.
 * KEPT_BYTES: free memory at the end of the heap up to this size is kept for the next blocks. */
enum { LARGE_BYTES = 4 << 20, KEPT_BYTES = 8 << 20 };

void mem_lean(void)
{
    /* Setting it also stops glibc from raising the threshold to the size of what is freed. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

void mem_give_back(void)
{
    (void)malloc_trim(0);
}

int64_t mem_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return (int64_t)(m.uordblks + m.hblkhd);
}
#else
void mem_lean(void)
{
}

void mem_give_back(void)
{
}

int64_t mem_in_use(void)
{
    return 0;
}
#endif
