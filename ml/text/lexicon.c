/* lexicon.c - see lexicon.h. Words are told apart by their hash and their signs. */
#include "ml/text/lexicon.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_SIGN_BYTES = 3 * WORDS_MOST_SIGNS };

/* Signs as bytes: one below 0x80, else three of seven bits, of which the first has the top bit. */
static uint32_t signs_pack(const uint32_t *sign, int n, uint8_t out[MOST_SIGN_BYTES])
{
    uint32_t bytes = 0;

    for (int i = 0; i < n; i++) {
        if (sign[i] < 0x80) {
            out[bytes++] = (uint8_t)sign[i];
            continue;
        }
        out[bytes++] = (uint8_t)(0x80 | sign[i] >> 14);
        out[bytes++] = sign[i] >> 7 & 0x7F;
        out[bytes++] = sign[i] & 0x7F;
    }
    return bytes;
}

static int signs_unpack(const uint8_t *from, const uint8_t *end, uint32_t sign[WORDS_MOST_SIGNS])
{
    int n = 0;

    while (from < end) {
        if (*from < 0x80) {
            sign[n++] = *from++;
            continue;
        }
        sign[n++] = (from[0] & 0x7Fu) << 14 | (uint32_t)from[1] << 7 | from[2];
        from += 3;
    }
    return n;
}

/* ---- the list of distinct words ---- */

struct index {
    struct lexicon *to;
    uint32_t *slot; /* [mask + 1] the place of a word + 1; 0 = free */
    uint32_t mask;
};

static uint32_t slot_first(const struct index *x, uint32_t hash)
{
    return (hash * 0x9E3779B1u) >> 7 & x->mask;
}

static void index_grow(struct index *x)
{
    mem_free(x->slot);
    x->mask = 2 * x->mask + 1;
    x->slot = mem_array((size_t)x->mask + 1, sizeof *x->slot);
    for (uint32_t w = 0; w < x->to->n_words; w++) {
        uint32_t s = slot_first(x, x->to->hash[w]);
        while (x->slot[s] != 0)
            s = (s + 1) & x->mask;
        x->slot[s] = w + 1;
    }
}

static uint32_t word_add(struct lexicon *l, uint32_t hash, const uint8_t *sign, uint32_t bytes)
{
    if (l->n_words + 1 >= l->words_cap) {
        l->words_cap = l->words_cap * 2 + 1024;
        l->hash = mem_resize(l->hash, l->words_cap * sizeof *l->hash);
        l->sign_at = mem_resize(l->sign_at, l->words_cap * sizeof *l->sign_at);
        l->sign_at[0] = 0;
    }
    if (l->n_signs + bytes > l->signs_cap) {
        l->signs_cap = l->signs_cap * 2 + 8192;
        l->sign = mem_resize(l->sign, l->signs_cap);
    }
    memcpy(l->sign + l->n_signs, sign, bytes);
    l->n_signs += bytes;
    l->hash[l->n_words++] = hash;
    l->sign_at[l->n_words] = l->n_signs;
    return l->n_words - 1;
}

static uint32_t word_place(struct index *x, uint32_t hash, const uint8_t *sign, uint32_t bytes)
{
    struct lexicon *l = x->to;
    uint32_t s = slot_first(x, hash);

    for (; x->slot[s] != 0; s = (s + 1) & x->mask) {
        uint32_t w = x->slot[s] - 1;
        if (l->hash[w] == hash && l->sign_at[w + 1] - l->sign_at[w] == bytes &&
            memcmp(l->sign + l->sign_at[w], sign, bytes) == 0)
            return w;
    }
    uint32_t w = word_add(l, hash, sign, bytes);
    x->slot[s] = w + 1;
    if (l->n_words * 2 > x->mask)
        index_grow(x);
    return w;
}

/* ---- reading ---- */

/* False = there are too many words. */
static bool text_add(struct index *x, const char *text, size_t n)
{
    struct lexicon *l = x->to;
    uint32_t sign[WORDS_MOST_SIGNS], hash = 0;
    uint8_t packed[MOST_SIGN_BYTES];
    size_t at = 0;

    while (l->n_words < LEXICON_MOST_WORDS) {
        int signs = words_word(0, text, n, &at, sign, &hash);
        if (signs == 0)
            return true;
        uint32_t bytes = signs_pack(sign, signs, packed);
        l->word[l->n++] = word_place(x, hash, packed, bytes);
    }
    return false;
}

static bool texts_add(struct lexicon *l, const char *const *levels)
{
    struct index x = { .to = l, .mask = 2047 };
    bool is_fine = true;

    index_grow(&x);
    l->start[0] = 0;
    for (int t = 0; t < l->n_levels && is_fine; t++) {
        is_fine = text_add(&x, levels[t], strnlen(levels[t], WORDS_MOST_BYTES));
        l->start[t + 1] = l->n;
    }
    mem_free(x.slot);
    return is_fine;
}

bool lexicon_make(const char *const *levels, int n_levels, struct lexicon *out)
{
    size_t bytes = 0;

    *out = (struct lexicon){ .n_levels = n_levels };
    for (int t = 0; t < n_levels && bytes <= LEXICON_MOST_BYTES; t++)
        bytes += strnlen(levels[t], WORDS_MOST_BYTES);
    if (bytes > LEXICON_MOST_BYTES)
        return false;
    out->start = mem_try_alloc(((size_t)n_levels + 1) * sizeof *out->start);
    /* a word takes a byte and one that ends it, but for the last word of a text */
    out->word = mem_try_alloc((bytes / 2 + (size_t)n_levels + 1) * sizeof *out->word);
    if (out->start && out->word && texts_add(out, levels)) {
        out->levels = levels;
        return true;
    }
    lexicon_fini(out);
    return false;
}

void lexicon_fini(struct lexicon *l)
{
    mem_try_free(l->start);
    mem_try_free(l->word);
    mem_free(l->hash);
    mem_free(l->sign_at);
    mem_free(l->sign);
    mem_free(l->gram_at);
    mem_try_free(l->gram);
    mem_free(l->gram_hash);
    *l = (struct lexicon){ 0 };
}

/* ---- letter n-grams ---- */

struct gram_index {
    struct lexicon *to;
    uint32_t *slot; /* [mask + 1] the place of an n-gram + 1; 0 = free */
    uint32_t mask, cap;
};

static void grams_grow(struct gram_index *x)
{
    const struct lexicon *l = x->to;

    mem_free(x->slot);
    x->mask = 2 * x->mask + 1;
    x->slot = mem_array((size_t)x->mask + 1, sizeof *x->slot);
    for (uint32_t g = 0; g < l->n_grams; g++) {
        uint32_t s = l->gram_hash[g] & x->mask;
        while (x->slot[s] != 0)
            s = (s + 1) & x->mask;
        x->slot[s] = g + 1;
    }
}

/* An n-gram is known by its hash, as everywhere. */
static uint32_t gram_place(struct gram_index *x, uint32_t hash)
{
    struct lexicon *l = x->to;
    uint32_t s = hash & x->mask;

    for (; x->slot[s] != 0; s = (s + 1) & x->mask) {
        if (l->gram_hash[x->slot[s] - 1] == hash)
            return x->slot[s] - 1;
    }
    MEM_GROW(l->gram_hash, l->n_grams, x->cap);
    l->gram_hash[l->n_grams++] = hash;
    x->slot[s] = l->n_grams;
    if (l->n_grams * 2 > x->mask)
        grams_grow(x);
    return l->n_grams - 1;
}

int lexicon_signs(const struct lexicon *l, uint32_t w, uint32_t sign[WORDS_MOST_SIGNS])
{
    return signs_unpack(l->sign + l->sign_at[w], l->sign + l->sign_at[w + 1], sign);
}

/* Room for all n-grams: three from each sign is the most. */
static bool grams_room(struct lexicon *l)
{
    uint32_t sign[WORDS_MOST_SIGNS];
    size_t n = 0;

    for (uint32_t w = 0; w < l->n_words; w++)
        n += 3 * (size_t)lexicon_signs(l, w, sign);
    l->gram = n <= LEXICON_MOST_GRAMS ? mem_try_alloc((n + 1) * sizeof *l->gram) : NULL;
    return l->gram != NULL;
}

bool lexicon_grams(struct lexicon *l)
{
    uint32_t sign[WORDS_MOST_SIGNS], hash[WORDS_MOST_GRAMS], n = 0;
    struct gram_index x = { .to = l, .mask = 4095 };

    if (l->gram)
        return true;
    if (!grams_room(l))
        return false;
    l->gram_at = mem_array((size_t)l->n_words + 1, sizeof *l->gram_at);
    grams_grow(&x);
    for (uint32_t w = 0; w < l->n_words; w++) {
        int grams = words_grams(0, sign, lexicon_signs(l, w, sign), hash);
        for (int i = 0; i < grams; i++)
            l->gram[n++] = gram_place(&x, hash[i]);
        l->gram_at[w + 1] = n;
    }
    mem_free(x.slot);
    return true;
}
