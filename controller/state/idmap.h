/* idmap.h - from an id to a place in an array, in constant time: leases, runners. Open addressing; keys are not 0. */
#ifndef CONTROLLER_STATE_IDMAP_H
#define CONTROLLER_STATE_IDMAP_H

#include <stdint.h>

struct idmap_slot {
    int64_t key; /* 0 = free */
    int place;
};
struct idmap {
    struct idmap_slot *slots; /* a power of two of them; NULL while empty */
    int n, cap;
};

int idmap_find(const struct idmap *m, int64_t key);      /* its place, -1 = it is not there */
void idmap_put(struct idmap *m, int64_t key, int place); /* also moves one that is there */
void idmap_remove(struct idmap *m, int64_t key);         /* one that is not there is legal */
void idmap_fini(struct idmap *m);                        /* empty afterwards */

#endif
