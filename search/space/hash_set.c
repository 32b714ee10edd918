/* hash_set.c - the hash set: linear probing in a power-of-two table at most two thirds full. The keys are hashes already, so
 * their low bits serve as the slot. */
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

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int hash_set_save(const struct hash_set *s, struct buf *out, struct err *err)
{
    uint64_t *keys = mem_array(s->n + 1, sizeof *keys);
    size_t n = 0;
    int rc = buf_put_u64(out, s->n, err);

    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i])
            keys[n++] = s->slots[i];
    }
    CHECK(n == s->n);
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = buf_put_u64(out, keys[i], err);
    mem_free(keys);
    return rc;
}

int hash_set_load(struct hash_set *s, struct view *in, struct err *err)
{
    uint64_t n = 0, key = 0, last = 0;

    CHECK(s->n == 0);
    if (view_u64(in, &n, err) < 0)
        return -1;
    if (n > (in->len - in->pos) / sizeof key)
        return err_set(err, ERR_ARG, "saved state is cut short");
    for (uint64_t i = 0; i < n; i++) {
        if (view_u64(in, &key, err) < 0)
            return -1;
        if (key <= last)
            return err_set(err, ERR_ARG, "saved state is damaged: hashes out of order");
        hash_set_add(s, key);
        last = key;
    }
    return 0;
}
