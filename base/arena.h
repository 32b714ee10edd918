/* arena.h - memory freed all at once: one per HTTP request, per decode, per trial. Not thread-safe. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *blocks;
    size_t used_bytes; /* handed out so far */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a);             /* frees everything; the arena may be used again */
void *arena_alloc(struct arena *a, size_t n); /* 16-byte aligned, zeroed; never NULL */
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
