/* csv_dict.c - texts to codes. Open addressing over 8-byte slots (half the hash, the code), so that a miss is decided in
 * the slot; the texts lie in one pool. Spellings of missing are words too, whose code says so: a lookup then answers for
 * them at no cost. The hash is keyed per process, because column values come from strangers; codes depend on the order of
 * appearance alone, so the key never shows. One dictionary per text column, used by one thread. */
#include "ml/csv_dict.h"

#include "base/mem.h"
#include "ml/csv.h"
#include "ml/csv_num.h"

#include <string.h>
#include <sys/auxv.h>

__extension__ typedef unsigned __int128 u128;

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
    mem_free(d->word_at);
    mem_free(d->word_code);
    mem_free(d->count);
    *d = (struct csv_dict){ 0 };
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    u128 p = (u128)(a ^ 0xa0761d6478bd642full) * (b ^ 0xe7037ed1a0b428dbull);

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The last n bytes of the 8 at p, n in 1..8. */
static inline uint64_t load_part(const char *p, size_t n)
{
    return csv_load8(p) << (64 - 8 * n);
}

static inline uint64_t hash_text(const struct csv_dict *d, const char *s, size_t n)
{
    uint64_t h = d->seed ^ n;

    for (; n > 8; n -= 8, s += 8)
        h = mix(csv_load8(s), h);
    return mix(n ? load_part(s, n) : 0, h);
}

/* n equal bytes; both sides have 8 readable bytes past the end. */
static inline bool same_text(const char *a, const char *b, size_t n)
{
    for (; n > 8; n -= 8, a += 8, b += 8) {
        if (csv_load8(a) != csv_load8(b))
            return false;
    }
    return n == 0 || load_part(a, n) == load_part(b, n);
}

static inline int64_t find_word(const struct csv_dict *d, const char *s, size_t n, uint64_t h)
{
    uint32_t mask = d->n_slots - 1;

    if (d->n_slots == 0)
        return -1;
    for (uint32_t i = (uint32_t)h & mask; d->slots[i]; i = (i + 1) & mask) {
        if (d->slots[i] >> 32 != h >> 32)
            continue;
        uint32_t word = (uint32_t)d->slots[i] - 1;
        uint64_t at = d->word_at[word];
        if (d->word_at[word + 1] - at - 1 == n && same_text(d->text + at, s, n))
            return word;
    }
    return -1;
}

static void slot_put(uint64_t *slots, uint32_t mask, uint64_t h, uint32_t word)
{
    uint32_t i = (uint32_t)h & mask;

    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = (h >> 32) << 32 | (word + 1);
}

/* The low half of a hash is not kept: growing hashes the words anew. */
static int slots_grow(struct csv_dict *d, struct err *err)
{
    uint32_t n = d->n_slots ? d->n_slots * 2 : 32;
    uint64_t *slots = mem_try_zalloc((size_t)n * sizeof(*slots));

    if (!slots)
        return err_set(err, ERR_NOMEM, "no memory for %u different texts", d->n_words);
    for (uint32_t w = 0; w < d->n_words; w++) {
        uint64_t at = d->word_at[w];
        slot_put(slots, n - 1, hash_text(d, d->text + at, d->word_at[w + 1] - at - 1), w);
    }
    mem_try_free(d->slots);
    d->slots = slots;
    d->n_slots = n;
    return 0;
}

static void words_grow(struct csv_dict *d)
{
    d->cap_words = d->cap_words ? d->cap_words + d->cap_words / 2 : 16;
    d->word_at = mem_resize(d->word_at, ((size_t)d->cap_words + 1) * sizeof(*d->word_at));
    d->word_code = mem_resize(d->word_code, (size_t)d->cap_words * sizeof(*d->word_code));
    d->count = mem_resize(d->count, (size_t)d->cap_words * sizeof(*d->count));
    d->word_at[0] = 0;
}

static void text_grow(struct csv_dict *d, size_t n)
{
    size_t need = d->text_bytes + n + 1 + 8; /* same_text reads past the end */

    if (need <= d->text_cap)
        return;
    d->text_cap = MAX(need, d->text_cap + d->text_cap / 2);
    d->text = mem_resize(d->text, MAX(d->text_cap, 64));
}

int csv_dict_add(struct csv_dict *d, const char *s, size_t n, uint32_t *code, struct err *err)
{
    uint64_t h = hash_text(d, s, n);
    int64_t word = find_word(d, s, n, h);

    if (word >= 0) {
        *code = d->word_code[word];
        return 0;
    }
    if (n > CSV_MAX_FIELD)
        return err_set(err, ERR_TOOBIG, "a field of %zu bytes is over the limit of %d", n,
                       CSV_MAX_FIELD);
    if (d->n_levels >= CSV_MAX_LEVELS)
        return err_set(err, ERR_TOOBIG, "more than %d different texts", CSV_MAX_LEVELS);
    if (d->n_words >= d->n_slots / 4 * 3 && slots_grow(d, err) < 0)
        return -1;
    if (d->n_words == d->cap_words)
        words_grow(d);
    text_grow(d, n);
    memcpy(d->text + d->text_bytes, s, n);
    d->text[d->text_bytes + n] = '\0';
    d->text_bytes += n + 1;
    uint32_t at = d->n_words++;
    d->word_at[at + 1] = d->text_bytes;
    d->word_code[at] = csv_is_missing(s, n) ? FRAME_CODE_MISSING : d->n_levels;
    if (d->word_code[at] != FRAME_CODE_MISSING)
        d->count[d->n_levels++] = 0;
    slot_put(d->slots, d->n_slots - 1, h, at);
    *code = d->word_code[at];
    return 0;
}

int64_t csv_dict_bytes(const struct csv_dict *d)
{
    return (int64_t)(d->text_cap + (size_t)d->n_slots * 8 + (size_t)d->cap_words * 20);
}

void csv_dict_levels(struct csv_dict *d, struct frame_levels *out)
{
    uint32_t kept = 0; /* words that are levels, moved up over the spellings of missing */

    mem_try_free(d->slots);
    d->slots = NULL;
    d->n_slots = 0;
    for (uint32_t w = 0; w < d->n_words; w++) {
        if (d->word_code[w] != FRAME_CODE_MISSING)
            d->word_at[kept++] = d->word_at[w];
    }
    CHECK(kept == d->n_levels);
    *out = (struct frame_levels){ kept, d->text, d->word_at, d->count };
}
