/* hash_set.c - a set of 64-bit hashes: linear probing in a table whose size is a power of two and
 * which is at most two thirds full. The keys are hashes already, so their low bits serve as the
 * slot. */
#include "search/space/hash_set.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void hash_set_init(struct hash_set *s)
{
    memset(s, 0, sizeof *s);
}

void hash_set_fini(struct hash_set *s)
{
    mem_free(s->slots);
    hash_set_init(s);
}

/* 0 marks a free slot, so the hash 0 is kept as 1. */
static uint64_t key_of(uint64_t hash)
{
    return hash ? hash : 1;
}

/* The slot of a key, or the free slot where it belongs. */
static size_t slot_of(const struct hash_set *s, uint64_t key)
{
    size_t at = (size_t)key & (s->cap - 1);

    while (s->slots[at] && s->slots[at] != key)
        at = (at + 1) & (s->cap - 1);
    return at;
}

static void grow(struct hash_set *s)
{
    struct hash_set old = *s;

    s->cap = old.cap ? old.cap * 2 : 64;
    s->slots = mem_array(s->cap, sizeof *s->slots);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.slots[i])
            s->slots[slot_of(s, old.slots[i])] = old.slots[i];
    }
    mem_free(old.slots);
}

bool hash_set_has(const struct hash_set *s, uint64_t hash)
{
    uint64_t key = key_of(hash);

    return s->cap > 0 && s->slots[slot_of(s, key)] == key;
}

bool hash_set_add(struct hash_set *s, uint64_t hash)
{
    uint64_t key = key_of(hash);

    if (3 * (s->n + 1) > 2 * s->cap)
        grow(s);
    size_t at = slot_of(s, key);
    if (s->slots[at] == key)
        return false;
    s->slots[at] = key;
    s->n++;
    return true;
}
