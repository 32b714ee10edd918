/* mem.h - heap allocation. mem_alloc and friends never return NULL: a small control-plane allocation
 * that fails ends the process (its state is on disk). mem_try_* are for data and may return NULL. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *mem_alloc(size_t n);                  /* uninitialised; n may be 0 */
void *mem_zalloc(size_t n);                 /* zeroed */
void *mem_array(size_t count, size_t size); /* zeroed, overflow-checked */
void *mem_resize(void *p, size_t n);        /* realloc that cannot fail */
char *mem_strdup(const char *s);            /* NULL gives NULL */
void *mem_dup(const void *p, size_t n);
void mem_free(void *p); /* = free; NULL is legal */
/* The next capacity of a full array that grows one element at a time: twice as large while it is small, then a quarter
 * larger, so that no more than a fifth of a long array stands empty. */
size_t mem_more(size_t cap);
/* Room for one more element in an array that holds n of them and has room for `cap`, an int or a size_t: both may change.
 * More than the type of `cap` can count ends the process. */
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

void *mem_try_alloc(size_t n);  /* 64-byte aligned, uninitialised, NULL when there is none */
void *mem_try_zalloc(size_t n); /* 64-byte aligned, zeroed */
void mem_try_free(void *p);

/* For processes that answer for what they hold (glibc; elsewhere nothing happens). lean: from now on blocks of 4 MiB and more
 * leave the process when they are freed, and grow where they are. give_back: all that was freed leaves, in up to some
 * milliseconds. in_use: what was taken and not freed, 0 = unknown. */
void mem_lean(void);
void mem_give_back(void);
int64_t mem_in_use(void);

#ifdef __cplusplus
}
#endif
#endif
