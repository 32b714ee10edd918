/* idmap.c - the hash table of idmap.h. A key stands in its home slot or in the next free one after
 * it. At most half of the slots are in use, so that a search ends after a step or two. Removing a
 * key moves later keys of the same run forward, so that no slot has to be marked as deleted. */
#include "controller/state/idmap.h"

#include "base/base.h"
#include "base/mem.h"

/* Fibonacci hashing: 2^64 divided by the golden ratio spreads ids that follow each other. */
static int home_of(const struct idmap *m, int64_t key)
{
    return (int)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (m->cap - 1);
}

static int slot_of(const struct idmap *m, int64_t key)
{
    int i = home_of(m, key);

    CHECK(m->n < m->cap); /* there is a free slot, so the search ends */
    while (m->slots[i].key && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

int idmap_find(const struct idmap *m, int64_t key)
{
    if (m->n == 0)
        return -1;
    const struct idmap_slot *s = &m->slots[slot_of(m, key)];
    return s->key ? s->place : -1;
}

static void grow(struct idmap *m)
{
    struct idmap old = *m;

    m->cap = MAX(2 * old.cap, 16);
    m->slots = mem_zalloc((size_t)m->cap * sizeof *m->slots);
    for (int i = 0; i < old.cap; i++) {
        if (old.slots[i].key)
            m->slots[slot_of(m, old.slots[i].key)] = old.slots[i];
    }
    mem_free(old.slots);
}

void idmap_put(struct idmap *m, int64_t key, int place)
{
    CHECK(key != 0 && place >= 0);
    if (2 * (m->n + 1) > m->cap)
        grow(m);
    struct idmap_slot *s = &m->slots[slot_of(m, key)];
    m->n += s->key == 0;
    *s = (struct idmap_slot){ key, place };
}

void idmap_remove(struct idmap *m, int64_t key)
{
    int mask = m->cap - 1, hole = 0;

    if (idmap_find(m, key) < 0)
        return;
    hole = slot_of(m, key);
    for (int i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
        int home = home_of(m, m->slots[i].key);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* its home lies after the hole: moved there, it would not be found */
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = (struct idmap_slot){ 0 };
    m->n--;
}

void idmap_fini(struct idmap *m)
{
    mem_free(m->slots);
    *m = (struct idmap){ 0 };
}
