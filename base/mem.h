/* mem.h - heap allocation. mem_alloc and its kin never return NULL: if a small allocation fails,
 * the process ends, because every state that matters is on disk. mem_try_* are for data whose size
 * comes from a user's table; they may return NULL, and then only the trial or request fails. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *mem_alloc(size_t n);                  /* uninitialised; n may be 0 */
void *mem_zalloc(size_t n);                 /* zeroed */
void *mem_array(size_t count, size_t size); /* zeroed; count * size is checked for overflow */
void *mem_resize(void *p, size_t n);        /* realloc that cannot fail */
char *mem_strdup(const char *s);            /* NULL gives NULL */
void *mem_dup(const void *p, size_t n);
void mem_free(void *p); /* free(3); NULL is legal */
/* The next capacity of a full array that grows one element at a time: twice as large up to 1024
 * elements, then a quarter larger, so that at most a fifth of a long array is unused. */
size_t mem_more(size_t cap);
/* Makes room for one more element in an array of n elements with capacity `cap`. `cap` is an int or
 * a size_t; the macro may change `array` and `cap`. A capacity that the type of `cap` cannot hold
 * ends the process. */
/* NOLINTBEGIN(bugprone-sizeof-expression): elements may be pointers */
#define MEM_GROW(array, n, cap)                                                \
    do {                                                                       \
        size_t mem_cap_ = (size_t)(cap);                                       \
        (array) = mem_grow((array), sizeof *(array), (size_t)(n), &mem_cap_,   \
                           sizeof(cap) == sizeof(int) ? INT32_MAX : SIZE_MAX); \
        (cap) = (__typeof__(cap))mem_cap_;                                     \
    } while (0)
/* NOLINTEND(bugprone-sizeof-expression) */
void *mem_grow(void *array, size_t size, size_t n, size_t *cap, size_t most_cap);

void *mem_try_alloc(size_t n);  /* 64-byte aligned, uninitialised; NULL if there is no memory */
void *mem_try_zalloc(size_t n); /* 64-byte aligned, zeroed */
void mem_try_free(void *p);

/* For processes whose memory is measured and limited, that is the workers. These work with glibc;
 * elsewhere they do nothing, and mem_in_use returns 0 for "unknown".
 * mem_lean: from now on a block of 4 MiB or more leaves the process when it is freed.
 * mem_give_back: returns all freed memory to the system, which may take some milliseconds.
 * mem_in_use: bytes that were allocated and not freed. */
void mem_lean(void);
void mem_give_back(void);
int64_t mem_in_use(void);

#ifdef __cplusplus
}
#endif
#endif
