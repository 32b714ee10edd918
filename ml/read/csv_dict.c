/* csv_dict.c - texts to codes.
 *
 * Open addressing over slots of 8 bytes, because a column of texts that never repeat has two slots
 * a row. The texts lie in one pool in order of appearance; where one ends the next begins. Spellings
 * of "missing" are not stored: a text that is not found is asked whether it is one. The hash is keyed
 * per process, because column values come from strangers; codes depend on the order of appearance
 * alone, so the key cannot show. One dictionary per text column, used by one thread. */
#include "ml/read/csv_dict.h"

#include "base/mem.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/words.h"
#include "ml/read/csv_opts.h"

#include <string.h>
#include <sys/auxv.h>

__extension__ typedef unsigned __int128 u128;

/* same_text reads past the end */
enum { TEXT_PAD = 8 };

void csv_dict_init(struct csv_dict *d)
{
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);

    *d = (struct csv_dict){ .seed = 0x9e3779b97f4a7c15ull };
    if (random)
        memcpy(&d->seed, random, sizeof(d->seed));
}

void csv_dict_fini(struct csv_dict *d)
{
    mem_try_free(d->slots);
    mem_free(d->text);
    mem_free(d->count);
    mem_free(d->text_at);
    mem_try_free(d->counts);
    *d = (struct csv_dict){ 0 };
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    u128 p = (u128)(a ^ 0xa0761d6478bd642full) * (b ^ 0xe7037ed1a0b428dbull);

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The first n bytes of the 8 at p, n from 1 to 8. */
static inline uint64_t load_part(const char *p, size_t n)
{
    return csv_load8(p) << (64 - 8 * n);
}

static inline uint32_t hash_text(const struct csv_dict *d, const char *s, size_t n)
{
    uint64_t h = d->seed ^ n;

    for (; n > 8; n -= 8, s += 8)
        h = mix(csv_load8(s), h);
    return (uint32_t)mix(n ? load_part(s, n) : 0, h);
}

/* Whether n bytes are equal; both sides have 8 readable bytes past the end. */
static inline bool same_text(const char *a, const char *b, size_t n)
{
    for (; n > 8; n -= 8, a += 8, b += 8) {
        if (csv_load8(a) != csv_load8(b))
            return false;
    }
    return n == 0 || load_part(a, n) == load_part(b, n);
}

/* The slot of a text, or the free slot where it belongs. */
static inline struct csv_slot *slot_find(const struct csv_dict *d, const char *s, size_t n,
                                         uint32_t hash)
{
    uint32_t mask = d->n_slots - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct csv_slot *slot = &d->slots[i];
        if (slot->level == 0)
            return slot;
        if (slot->hash != hash)
            continue;
        const uint64_t *at = &d->text_at[slot->level - 1];
        if (at[1] - at[0] == n + 1 && same_text(d->text + at[0], s, n))
            return slot;
    }
}

static int slots_grow(struct csv_dict *d, struct err *err)
{
    uint32_t n = d->n_slots ? d->n_slots * 2 : 32;
    struct csv_slot *slots = mem_try_zalloc((size_t)n * sizeof(*slots));

    if (!slots)
        return err_set(err, ERR_NOMEM, "no memory for %u different texts", d->n_levels);
    for (uint32_t i = 0; i < d->n_slots; i++) {
        uint32_t to = d->slots[i].hash & (n - 1);
        if (d->slots[i].level == 0)
            continue;
        while (slots[to].level)
            to = (to + 1) & (n - 1);
        slots[to] = d->slots[i];
    }
    mem_try_free(d->slots);
    d->slots = slots;
    d->n_slots = n;
    return 0;
}

static void text_add(struct csv_dict *d, const char *s, size_t n)
{
    size_t need = d->text_bytes + n + 1 + TEXT_PAD;

    if (need > d->text_cap) {
        d->text_cap = MAX(need, d->text_cap + d->text_cap / 2);
        d->text = mem_resize(d->text, d->text_cap);
    }
    memcpy(d->text + d->text_bytes, s, n);
    memset(d->text + d->text_bytes + n, 0, 1 + TEXT_PAD);
    d->text_bytes += n + 1;
}

/* Adds a level that is not there yet. */
static int level_add(struct csv_dict *d, const char *s, size_t n, uint32_t hash, uint32_t *code,
                     struct err *err)
{
    if (n > CSV_MAX_FIELD)
        return err_set(err, ERR_TOOBIG, "a field of %zu bytes is over the limit of %d", n,
                       CSV_MAX_FIELD);
    if (d->n_levels >= CSV_MAX_LEVELS)
        return err_set(err, ERR_TOOBIG, "more than %d different texts", CSV_MAX_LEVELS);
    if (d->n_levels >= d->n_slots / 4 * 3 && slots_grow(d, err) < 0)
        return -1;
    if (d->n_levels == d->cap_levels) {
        d->cap_levels = d->cap_levels ? d->cap_levels * 2 : 16;
        d->count = mem_resize(d->count, (size_t)d->cap_levels * sizeof(*d->count));
        d->text_at = mem_resize(d->text_at, ((size_t)d->cap_levels + 1) * sizeof(*d->text_at));
    }
    struct csv_slot *slot = slot_find(d, s, n, hash);
    *code = d->n_levels;
    d->count[*code] = 0;
    d->text_at[*code] = d->text_bytes;
    text_add(d, s, n);
    d->text_at[++d->n_levels] = d->text_bytes;
    *slot = (struct csv_slot){ hash, d->n_levels };
    return 0;
}

int csv_dict_add(struct csv_dict *d, const char *s, size_t n, uint32_t *code, struct err *err)
{
    uint32_t hash;

    *code = FRAME_CODE_MISSING;
    if (n == 0)
        return 0;
    hash = hash_text(d, s, n);
    if (d->n_slots > 0) {
        const struct csv_slot *slot = slot_find(d, s, n, hash);
        if (slot->level) {
            *code = slot->level - 1;
            return 0;
        }
    }
    bool is_missing =
        d->missing ? words_are_listed(d->missing, s, n) : !d->is_exact && csv_is_missing(s, n);
    return is_missing ? 0 : level_add(d, s, n, hash, code, err);
}

int64_t csv_dict_bytes(const struct csv_dict *d)
{
    return (int64_t)(d->text_cap + (size_t)d->n_slots * sizeof(*d->slots) +
                     (size_t)d->cap_levels * (sizeof(*d->count) + sizeof(*d->text_at)));
}

int csv_dict_levels(struct csv_dict *d, struct frame_levels *out, struct err *err)
{
    mem_try_free(d->slots);
    d->slots = NULL;
    d->n_slots = 0;
    if (!d->text_at)
        d->text_at = mem_zalloc(sizeof(*d->text_at));
    d->counts = mem_try_alloc(((size_t)d->n_levels + 1) * sizeof(*d->counts));
    if (!d->counts)
        return err_set(err, ERR_NOMEM, "no memory for %u different texts", d->n_levels);
    for (uint32_t i = 0; i < d->n_levels; i++)
        d->counts[i] = d->count[i];
    *out = (struct frame_levels){ d->n_levels, d->text, d->text_at, d->counts };
    return 0;
}
