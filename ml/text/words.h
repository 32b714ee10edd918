/* words.h - cuts a text into features: words, pairs of neighbouring words, and letter n-grams; or
 * the items of a list. A feature is a 32-bit hash; only the hash is kept.
 *
 * A word is a run of letters and digits, folded to lower case by words_fold (ASCII, Latin, Greek,
 * Cyrillic). Each Chinese or Japanese sign is a word of its own, because those languages put no
 * spaces between words, and so is each emoji. Letter n-grams are the 3 to 5 neighbouring signs of a word, with one space
 * before and behind it. The results depend on the bytes of the text and the seed only. Called by
 * bag*.c, lexicon.c and shape.c. */
#ifndef ML_TEXT_WORDS_H
#define ML_TEXT_WORDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Words are read from so many bytes of a text; what follows is skipped, so that one huge cell
     * costs bounded time and memory. */
    WORDS_MOST_BYTES = 16384,
    WORDS_LETTERS_LEAST = 3,
    WORDS_LETTERS_MOST = 5,
    /* letter n-grams are taken from so many signs of a word */
    WORDS_MOST_SIGNS = 64,
    WORDS_MOST_GRAMS = 3 * WORDS_MOST_SIGNS,
    WORDS_SEP_BYTES = 8
};

struct words_rule {
    /* "" = a text; else the cell is a list of items with this between them */
    char sep[WORDS_SEP_BYTES];
    /* of a text: pairs of neighbouring words, and letter n-grams, too */
    bool pairs, letters;
    /* a text has a word or not: no matter how often, how rare the word or how long the text
     * (bag.h) */
    bool presence;
    /* of a text: misspelt words count as those that they stand for (spelling.h) */
    bool spelling;
    uint32_t seed;
};

/* The next character of a text of n bytes from *at on. A byte that belongs to no character of UTF-8
 * counts as one sign that is no word. */
uint32_t words_next(const char *text, size_t n, size_t *at);
/* the character in lower case */
uint32_t words_fold(uint32_t c);
/* Whether the character is part of a word. */
bool words_letter(uint32_t c);

/* One word of a text of n bytes from *at on: its folded signs, the first WORDS_MOST_SIGNS of them,
 * and a hash of all. Returns how many signs are in `sign`; 0 = the text has ended. */
int words_word(uint32_t seed, const char *text, size_t n, size_t *at,
               uint32_t sign[WORDS_MOST_SIGNS], uint32_t *hash);
/* The letter n-grams of a word, as features; returns their number. */
int words_grams(uint32_t seed, const uint32_t *sign, int n, uint32_t out[WORDS_MOST_GRAMS]);

/* The last step of MurmurHash3 (Appleby, public domain): every bit of h changes every bit. */
static inline uint32_t words_hash_end(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* The feature of a word, and of two neighbours, from their hashes. */
static inline uint32_t words_single(uint32_t hash)
{
    return words_hash_end(hash);
}

static inline uint32_t words_pair(uint32_t before, uint32_t hash)
{
    return words_hash_end(before * 0x9E3779B1u + hash);
}

struct spelling;
/* Gives the hash of the word that a word of n signs stands for (spelling.h). */
struct words_speller {
    uint32_t (*of)(const struct spelling *s, const uint32_t *sign, int n, uint32_t hash);
    const struct spelling *spelling;
};
/* The features of one text, in the order of the text, each as often as it occurs. The letter
 * n-grams follow behind the words, and are those of the words as they are spelt. */
struct words {
    uint32_t *hash;
    int n, cap;
    /* of these, words and pairs of words, or items */
    int n_words;
};
/* speller: NULL = each word stands for itself. */
void words_read(const struct words_rule *rule, const struct words_speller *speller,
                const char *text, size_t n, struct words *out);
void words_fini(struct words *w);

/* Calls `each` for every item of a list, without the spaces, quotes and brackets around it; an empty
 * item is none. */
void words_items(const char *sep, const char *text, size_t n,
                 void (*each)(void *ctx, const char *item, size_t n), void *ctx);

#endif
