/* words.c - see words.h. */
#include "ml/text/words.h"

#include "base/mem.h"

#include <string.h>

uint32_t words_next(const char *text, size_t n, size_t *at)
{
    const uint8_t *p = (const uint8_t *)text + *at;
    size_t left = n - *at;
    uint32_t c = p[0];
    size_t more = c < 0x80 ? 0 : c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : left;

    if (more >= left) {
        ++*at;
        return c < 0x80 ? c : 0xFFFD;
    }
    c = more == 0 ? c : c & (0x3Fu >> more);
    for (size_t i = 1; i <= more; i++)
        c = c << 6 | (p[i] & 0x3Fu);
    *at += more + 1;
    return c;
}

static uint32_t fold_latin(uint32_t c)
{
    if (c < 0x100)
        return c >= 0xC0 && c <= 0xDE && c != 0xD7 ? c + 32 : c;
    if (c == 0x130 || c == 0x131)
        return 'i';
    if (c == 0x178)
        return 0xFF;
    if (c == 0x17F)
        return 's';
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E))
        return c & 1 ? c + 1 : c;
    return c == 0x138 || c == 0x149 ? c : c | 1;
}

static uint32_t fold_greek(uint32_t c)
{
    if (c >= 0x391 && c <= 0x3AB && c != 0x3A2)
        return c + 32;
    if (c >= 0x388 && c <= 0x38A)
        return c + 37;
    switch (c) {
    case 0x386:
        return 0x3AC;
    case 0x38C:
        return 0x3CC;
    case 0x38E:
    case 0x38F:
        return c + 63;
    case 0x3C2: /* the sigma at the end of a word */
        return 0x3C3;
    default:
        return c;
    }
}

static uint32_t fold_cyrillic(uint32_t c)
{
    if (c <= 0x40F)
        return c + 80;
    if (c <= 0x42F)
        return c + 32;
    if (c == 0x4C0)
        return 0x4CF;
    if (c >= 0x4C1 && c <= 0x4CE)
        return c & 1 ? c + 1 : c;
    if ((c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF) || (c >= 0x4D0 && c <= 0x52F))
        return c | 1;
    return c;
}

uint32_t words_fold(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (c < 0x180)
        return fold_latin(c);
    if (c >= 0x370 && c < 0x400)
        return fold_greek(c);
    if (c >= 0x400 && c < 0x530)
        return fold_cyrillic(c);
    return c;
}

/* What changes the picture before it, or joins two of them. */
static bool is_skin(uint32_t c)
{
    return (c >= 0x1F3FB && c <= 0x1F3FF) || (c >= 0xFE00 && c <= 0xFE0F);
}

/* Emoji and other pictures; not what gives them another skin. */
static bool is_picture(uint32_t c)
{
    return (c >= 0x2600 && c <= 0x27BF) || (c >= 0x1F000 && c <= 0x1FAFF && !is_skin(c));
}

bool words_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_';
    if (c < 0xC0)
        return c == 0xAA || c == 0xB5 || c == 0xBA;
    /* signs of multiplication, punctuation, symbols, private use, and no character */
    return c != 0xD7 && c != 0xF7 && (!(c >= 0x2000 && c <= 0x2BFF) || is_picture(c)) &&
           !is_skin(c) && !(c >= 0x3000 && c <= 0x3004) && !(c >= 0x3008 && c <= 0x3020) &&
           !(c >= 0xFF00 && c <= 0xFF0F) && !(c >= 0xFF1A && c <= 0xFF20) &&
           !(c >= 0xE000 && c <= 0xF8FF) && c != 0xFEFF && c < 0xFFF0;
}

/* kana, Chinese signs and pictures */
static bool is_word_alone(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) || is_picture(c);
}

static uint32_t hash_add(uint32_t h, uint32_t c)
{
    return (h ^ c) * 16777619u;
}

static void put(struct words *w, uint32_t hash)
{
    MEM_GROW(w->hash, w->n, w->cap);
    w->hash[w->n++] = hash;
}

struct reader {
    const struct words_rule *rule;
    const struct words_speller *speller;
    const char *text;
    size_t n;
    struct words *out;
};

/* An ASCII byte in lower case where it is part of a word, else 0. */
static uint32_t ascii_word(uint8_t c)
{
    uint32_t lower = c | 0x20u;

    if (lower - 'a' < 26)
        return lower;
    return c - (uint32_t)'0' < 10 || c == '_' ? c : 0;
}

int words_word(uint32_t seed, const char *text, size_t n_text, size_t *at,
               uint32_t sign[WORDS_MOST_SIGNS], uint32_t *hash)
{
    int n = 0;

    *hash = seed ^ 2166136261u;
    while (*at < n_text) {
        uint8_t byte = (uint8_t)text[*at];
        if (byte < 0x80) {
            uint32_t c = ascii_word(byte);
            ++*at;
            if (c == 0 && n > 0)
                break;
            if (c == 0)
                continue;
            *hash = hash_add(*hash, c);
            if (n < WORDS_MOST_SIGNS)
                sign[n++] = c;
            continue;
        }
        size_t here = *at;
        uint32_t c = words_fold(words_next(text, n_text, at));
        bool alone = is_word_alone(c), letter = alone || words_letter(c);
        if (letter && !(alone && n > 0)) {
            *hash = hash_add(*hash, c);
            if (n < WORDS_MOST_SIGNS)
                sign[n++] = c;
        } else if (letter) {
            *at = here; /* the next word begins here */
        }
        if (n > 0 && (alone || !letter))
            break;
    }
    return n;
}

int words_grams(uint32_t seed, const uint32_t *word, int n, uint32_t out[WORDS_MOST_GRAMS])
{
    uint32_t sign[WORDS_MOST_SIGNS + 2];
    int grams = 0;

    sign[0] = sign[n + 1] = ' ';
    memcpy(sign + 1, word, (size_t)n * sizeof *sign);
    for (int from = 0; from + WORDS_LETTERS_LEAST <= n + 2; from++) {
        uint32_t h = seed ^ 0x51ED270Bu;
        for (int i = 0; i < WORDS_LETTERS_MOST && from + i < n + 2; i++) {
            h = hash_add(h, sign[from + i]);
            if (i + 1 >= WORDS_LETTERS_LEAST)
                out[grams++] = words_hash_end(h + (uint32_t)i);
        }
    }
    return grams;
}

static int read_word(const struct reader *r, size_t *at, uint32_t sign[WORDS_MOST_SIGNS],
                     uint32_t *hash)
{
    return words_word(r->rule->seed, r->text, r->n, at, sign, hash);
}

static void read_text(const struct reader *r)
{
    uint32_t sign[WORDS_MOST_SIGNS], gram[WORDS_MOST_GRAMS], hash = 0, before = 0;
    bool has_before = false;
    size_t at = 0;

    for (int n = 0; (n = read_word(r, &at, sign, &hash)) > 0;) {
        if (r->speller)
            hash = r->speller->of(r->speller->spelling, sign, n, hash);
        put(r->out, words_single(hash));
        if (has_before && r->rule->pairs)
            put(r->out, words_pair(before, hash));
        before = hash;
        has_before = true;
    }
    r->out->n_words = r->out->n;
    at = 0;
    for (int n = 1; r->rule->letters && n > 0;) {
        n = read_word(r, &at, sign, &hash);
        int grams = n > 0 ? words_grams(r->rule->seed, sign, n, gram) : 0;
        for (int i = 0; i < grams; i++)
            put(r->out, gram[i]);
    }
}

static void put_item(void *ctx, const char *item, size_t n)
{
    const struct reader *r = ctx;
    uint32_t h = r->rule->seed ^ 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = hash_add(h, (uint8_t)item[i]);
    put(r->out, words_hash_end(h));
}

/* Spaces, and what lists of programs put around items: ['red', "blue"]. */
static bool is_around(char c)
{
    return c == ' ' || c == '\t' || c == '[' || c == ']' || c == '{' || c == '}' || c == '"' ||
           c == '\'';
}

void words_items(const char *sep, const char *text, size_t n,
                 void (*each)(void *ctx, const char *item, size_t n), void *ctx)
{
    size_t gap = strlen(sep);

    for (size_t from = 0; from <= n;) {
        const char *next = from < n ? memmem(text + from, n - from, sep, gap) : NULL;
        size_t to = next ? (size_t)(next - text) : n, end = to;
        while (from < end && is_around(text[from]))
            from++;
        while (end > from && is_around(text[end - 1]))
            end--;
        if (end > from)
            each(ctx, text + from, end - from);
        from = next ? to + gap : n + 1;
    }
}

void words_read(const struct words_rule *rule, const struct words_speller *speller,
                const char *text, size_t n, struct words *out)
{
    struct reader r = { rule, speller, text, MIN(n, (size_t)WORDS_MOST_BYTES), out };

    out->n = 0;
    if (*rule->sep) {
        words_items(rule->sep, text, r.n, put_item, &r);
        out->n_words = out->n;
    } else {
        read_text(&r);
    }
}

void words_fini(struct words *w)
{
    mem_free(w->hash);
    *w = (struct words){ 0 };
}
