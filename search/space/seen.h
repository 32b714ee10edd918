/* seen.h - a set of 64-bit hashes: which points were proposed, which observations have come. Grows as needed; saved as a
 * sorted list, so that equal sets give equal bytes whatever the order of their making. */
#ifndef SEARCH_SPACE_SEEN_H
#define SEARCH_SPACE_SEEN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen {
    uint64_t *slots; /* open addressing; 0 = free */
    size_t n, cap;
};

void seen_init(struct seen *s);
void seen_fini(struct seen *s);
bool seen_add(struct seen *s, uint64_t hash); /* true when it was not there */
bool seen_has(const struct seen *s, uint64_t hash);
int seen_save(const struct seen *s, struct buf *out, struct err *err);
int seen_load(struct seen *s, struct view *in,
              struct err *err); /* into an empty one; any bytes are safe */

#endif
