/* lexicon.h - the texts of a column, read once: each text as places in a list of distinct words.
 *
 * What is made of a column reads its texts many times: rules are tried, words are counted, then they
 * are looked up. Signs are read once here, and what depends on a word alone (its feature, its letter
 * n-grams) is worked out once for each distinct word. Features are the same, in the same order, as
 * words_read gives them for each text with seed 0. Called by bag*.c,
 * spelling.c, score.c and ml/prep/. */
#ifndef ML_TEXT_LEXICON_H
#define ML_TEXT_LEXICON_H

#include "ml/text/words.h"

/* Columns beyond these are read anew each time, so that memory is bounded: by twice the bytes, 24
 * bytes a word and 4 bytes an n-gram. */
enum { LEXICON_MOST_BYTES = 16 << 20, LEXICON_MOST_WORDS = 1 << 20, LEXICON_MOST_GRAMS = 6 << 20 };

struct lexicon {
    /* the texts; NULL = not made */
    const char *const *levels;
    int n_levels;
    int64_t *start; /* [n_levels + 1] */
    uint32_t *word; /* [start[n_levels]] places in the lists below */
    int64_t n;
    uint32_t n_words, words_cap;
    uint32_t *hash; /* [n_words] of words_word */
    /* the signs of word w are the bytes sign[sign_at[w]] .. sign[sign_at[w + 1] - 1] */
    uint32_t *sign_at;
    uint8_t *sign;
    uint32_t n_signs, signs_cap;
    /* Letter n-grams, made when they are asked for: those of word w are gram[gram_at[w]] .. , places
     * among the n_grams distinct ones. */
    uint32_t *gram_at, *gram, *gram_hash;
    uint32_t n_grams;
};

/* The texts of a column, read once (`read`) or not (NULL). */
struct texts {
    const char *const *levels;
    int n_levels;
    struct lexicon *read;
};

/* Reads the texts. False = they are too many, or there is no memory: do without. */
bool lexicon_make(const char *const *levels, int n_levels, struct lexicon *out);
void lexicon_fini(struct lexicon *l);
/* The signs of a word, the first WORDS_MOST_SIGNS; returns their number. */
int lexicon_signs(const struct lexicon *l, uint32_t w, uint32_t sign[WORDS_MOST_SIGNS]);
/* Sets the letter n-grams; false as above. */
bool lexicon_grams(struct lexicon *l);

#endif
