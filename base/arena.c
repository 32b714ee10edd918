/* arena.c - a list of blocks. Each block is twice as large as the last one, up to BLOCK_LAST. A
 * larger request gets a block of its own size. Blocks come zeroed from calloc. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* BLOCK_FIRST: one page, less what malloc and the head of the block need. */
enum { BLOCK_FIRST = 4096 - 64, BLOCK_LAST = 256 * 1024, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(16) char data[];
};

void arena_init(struct arena *a)
{
    memset(a, 0, sizeof *a);
}

void arena_fini(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *b = a->blocks;

        a->blocks = b->next;
        mem_free(b);
    }
    a->used_bytes = 0;
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = mem_zalloc(sizeof *b + size);

    b->size = size;
    return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
    struct arena_block *b = a->blocks;
    size_t want = 0;
    void *p = NULL;

    CHECK(n < SIZE_MAX / 2);
    want = (MAX(n, 1) + ALIGN - 1) / ALIGN * ALIGN;
    if (!b || b->size - b->used < want) {
        size_t size = b ? MIN(b->size * 2, BLOCK_LAST) : BLOCK_FIRST;
        struct arena_block *fresh = block_new(MAX(size, want));

        /* A block for one large request goes second, so that the first one is filled further. */
        if (b && want > size) {
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            a->blocks = fresh;
        }
        b = fresh;
    }
    p = b->data + b->used;
    b->used += want;
    a->used_bytes += want;
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = s ? strnlen(s, n) : 0;
    char *copy = NULL;

    if (!s)
        return NULL;
    copy = arena_alloc(a, len + 1);
    memcpy(copy, s, len);
    return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    int n = 0;
    char *out = NULL;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    out = arena_alloc(a, (size_t)n + 1);
    n = vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    CHECK(n >= 0);
    return out;
}
