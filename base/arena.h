/* arena.h - memory that is freed all at once. One arena serves one HTTP request, one decoded
 * message or one trial, so that nothing made on the way has to be freed one by one. An arena
 * belongs to one thread at a time. */
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
void arena_fini(struct arena *a); /* frees everything; the arena is empty and usable again */
void *arena_alloc(struct arena *a, size_t n);       /* 16-byte aligned, zeroed; never NULL */
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
