/* hash_set.h - a set of 64-bit hashes: which points were proposed, which observations have come. Grows as needed; saved as a
 * sorted list, so that equal sets give equal bytes whatever the order of their making. */
#ifndef SEARCH_SPACE_HASH_SET_H
#define SEARCH_SPACE_HASH_SET_H

#include "base/buf.h"
#include "base/err.h"

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
int hash_set_save(const struct hash_set *s, struct buf *out, struct err *err);
int hash_set_load(struct hash_set *s, struct view *in,
                  struct err *err); /* into an empty one; any bytes are safe */

#endif
