/* hash_set.h - a set of 64-bit hashes: which points were proposed, which observations have come.
 * Grows as needed. */
#ifndef SEARCH_SPACE_HASH_SET_H
#define SEARCH_SPACE_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_set {
    uint64_t *slots; /* open addressing; 0 = free */
    size_t n, cap;
};

void hash_set_init(struct hash_set *s);
void hash_set_fini(struct hash_set *s);
bool hash_set_add(struct hash_set *s, uint64_t hash); /* true when it was not there */
bool hash_set_has(const struct hash_set *s, uint64_t hash);

#endif
