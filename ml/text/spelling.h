/* spelling.h - which word a misspelt one stands for: the commonest that differs by one edit.
 *
 * Two words are near where they are equal, or become equal, when at most one sign is taken out of each:
 * one sign too much, too few or wrong, or two that changed places. Training texts tell what is right:
 * the words of at least SPELLING_LEAST_ROWS rows, unless a near one has SPELLING_TIMES as many. Then
 * the rarer one is a common mistake and stands for the other, as do words that are near to it only.
 * Words that are short or have digits are always read as they are. No dictionary of any language is
 * used. Called by bag*.c, words.c and score.c. */
#ifndef ML_TEXT_SPELLING_H
#define ML_TEXT_SPELLING_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/text/lexicon.h"

#include <stdint.h>

enum {
    SPELLING_LEAST_ROWS = 10,
    SPELLING_TIMES = 8,
    SPELLING_LEAST_SIGNS = 4,
    SPELLING_MOST_SIGNS = 24,
    SPELLING_MOST_WORDS = 4096
};

struct spelling {
    /* the common words, the commonest first; 0 = none, each word stands for itself */
    int n;
    uint16_t *as;   /* [n] the place of the one that it stands for, its own or an earlier one */
    uint32_t *hash; /* [n] of words_word */
    char *text;     /* [at[n]] their signs as UTF-8 */
    uint32_t *at;   /* [n + 1] */
    /* a hash table of what is left of the words when a sign is taken out: 0 = a free slot */
    uint32_t *key;
    uint16_t *rank; /* of the commonest word that leaves it */
    uint32_t mask;
};

/* rows: [n_words] the training rows that have each word. */
int spelling_fit(const struct lexicon *l, const uint32_t *rows, struct spelling *out,
                 struct err *err);
void spelling_fini(struct spelling *s);
int spelling_save(const struct spelling *s, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int spelling_load(struct view *in, struct spelling *out, struct err *err);

/* The hash of the word that a word of n signs stands for; hash: its own. */
uint32_t spelling_of(const struct spelling *s, const uint32_t *sign, int n, uint32_t hash);
/* The same of all words of a lexicon: [n_words], mem_try_free; NULL = there is no memory. */
uint32_t *spelling_all(const struct spelling *s, const struct lexicon *l, struct err *err);
/* Of the rows of all words, the share of those that stand for others; -1 = error. */
double spelling_share(const struct spelling *s, const struct lexicon *l, const uint32_t *rows,
                      struct err *err);

#endif
