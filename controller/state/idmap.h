/* idmap.h - finds the place of an id in an array, in constant time: leases by trial, runners by id,
 * studies in lists. A hash table with open addressing; a key is any number but 0. The array belongs
 * to the caller, who tells the map whenever an element moves. */
#ifndef CONTROLLER_STATE_IDMAP_H
#define CONTROLLER_STATE_IDMAP_H

#include <stdint.h>

struct idmap_slot {
    int64_t key; /* 0 = free */
    int place;
};
struct idmap {
    struct idmap_slot *slots; /* cap of them, a power of two; NULL while cap is 0; owned */
    int n, cap;
};

int idmap_find(const struct idmap *m, int64_t key);      /* -1 = there is no such key */
void idmap_put(struct idmap *m, int64_t key, int place); /* adds the key, or changes its place */
void idmap_remove(struct idmap *m, int64_t key);         /* without effect if it is not there */
void idmap_fini(struct idmap *m);                        /* the map is empty afterwards */

#endif
