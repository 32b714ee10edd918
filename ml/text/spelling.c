/* spelling.c - see spelling.h. What is left of a word is known by a hash of 32 bits, as all features
 * are. */
#include "ml/text/spelling.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <string.h>

enum { MOST_LEFT = SPELLING_MOST_SIGNS + 1, MOST_BYTES = 3 * SPELLING_MOST_SIGNS };

/* Whether a word may be a misspelt one, or a common one. */
static bool is_spelt(const uint32_t *sign, int n)
{
    if (n < SPELLING_LEAST_SIGNS || n > SPELLING_MOST_SIGNS)
        return false;
    for (int i = 0; i < n; i++) {
        bool is_mark = sign[i] == '_' || sign[i] - (uint32_t)'0' < 10;
        if (is_mark || sign[i] >= 0xD800)
            return false;
    }
    return true;
}

/* Keys of the word whole and without each of its signs; returns their number. No key is 0. */
static int keys_of(const uint32_t *sign, int n, uint32_t out[MOST_LEFT])
{
    uint32_t before = 0x2545F491u;
    int keys = 0;

    for (int skip = 0; skip <= n; skip++) {
        uint32_t h = before;
        for (int i = skip + 1; i < n; i++)
            h = (h ^ sign[i]) * 16777619u;
        /* a sign like the one before leaves what that one left */
        if (skip == 0 || skip == n || sign[skip] != sign[skip - 1])
            out[keys++] = words_hash_end(h) | 1u;
        if (skip < n)
            before = (before ^ sign[skip]) * 16777619u;
    }
    return keys;
}

/* The key of a common word. */
static uint32_t key_whole(uint32_t hash)
{
    return (words_hash_end(hash ^ 0x5BD1E995u) & ~1u) | 2u;
}

static uint32_t slot_of(const struct spelling *s, uint32_t key)
{
    uint32_t at = key * 0x9E3779B1u >> 7 & s->mask;

    while (s->key[at] != 0 && s->key[at] != key)
        at = (at + 1) & s->mask;
    return at;
}

static void key_put(struct spelling *s, uint32_t key, int rank)
{
    uint32_t at = slot_of(s, key);

    if (s->key[at] == 0) {
        s->key[at] = key;
        s->rank[at] = (uint16_t)rank;
    }
}

/* The commonest near one of the common words; -1 = there is none. */
static int nearest(const struct spelling *s, const uint32_t *key, int n)
{
    int best = -1;

    for (int k = 0; k < n; k++) {
        uint32_t at = slot_of(s, key[k]);
        if (s->key[at] != 0 && (best < 0 || s->rank[at] < best))
            best = s->rank[at];
    }
    return best;
}

uint32_t spelling_of(const struct spelling *s, const uint32_t *sign, int n, uint32_t hash)
{
    uint32_t key[MOST_LEFT];

    if (s->n == 0 || !is_spelt(sign, n))
        return hash;
    uint32_t at = slot_of(s, key_whole(hash));
    int rank = s->key[at] != 0 ? s->rank[at] : nearest(s, key, keys_of(sign, n, key));
    return rank < 0 ? hash : s->hash[s->as[rank]];
}

uint32_t *spelling_all(const struct spelling *s, const struct lexicon *l, struct err *err)
{
    uint32_t *hash = mem_try_alloc(((size_t)l->n_words + 1) * sizeof *hash);
    uint32_t sign[WORDS_MOST_SIGNS];

    if (!hash)
        err_set(err, ERR_NOMEM, "no memory for the spelling of %u words", l->n_words);
    for (uint32_t w = 0; hash && w < l->n_words; w++)
        hash[w] = spelling_of(s, sign, lexicon_signs(l, w, sign), l->hash[w]);
    return hash;
}

double spelling_share(const struct spelling *s, const struct lexicon *l, const uint32_t *rows,
                      struct err *err)
{
    uint32_t *hash = spelling_all(s, l, err);
    double all = 0, other = 0;

    if (!hash)
        return -1;
    for (uint32_t w = 0; w < l->n_words; w++) {
        all += rows[w];
        other += hash[w] != l->hash[w] ? rows[w] : 0;
    }
    mem_try_free(hash);
    return all > 0 ? other / all : 0;
}

/* ---- the common words ---- */

static int room_init(struct spelling *s, int64_t words, int64_t keys, struct err *err)
{
    uint32_t slots = 64;

    while (slots < 2 * keys)
        slots *= 2;
    *s = (struct spelling){ .mask = slots - 1 };
    s->hash = mem_try_alloc(((size_t)words + 1) * sizeof *s->hash);
    s->as = mem_try_alloc(((size_t)words + 1) * sizeof *s->as);
    s->text = mem_try_alloc((size_t)words * MOST_BYTES + 1);
    s->at = mem_try_zalloc(((size_t)words + 1) * sizeof *s->at);
    s->key = mem_try_zalloc(slots * sizeof *s->key);
    s->rank = mem_try_alloc(slots * sizeof *s->rank);
    if (s->hash && s->as && s->text && s->at && s->key && s->rank)
        return 0;
    spelling_fini(s);
    return err_set(err, ERR_NOMEM, "no memory for the spelling of words");
}

static uint32_t utf8_put(uint32_t c, char *out)
{
    uint32_t n = 0;

    if (c < 0x80) {
        out[n++] = (char)c;
        return n;
    }
    if (c < 0x800) {
        out[n++] = (char)(0xC0 | c >> 6);
    } else {
        out[n++] = (char)(0xE0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
    }
    out[n++] = (char)(0x80 | (c & 0x3F));
    return n;
}

/* Adds a word behind the commoner ones; as: the place of what it stands for. */
static void word_add(struct spelling *s, const uint32_t *sign, int n, uint32_t hash, int as)
{
    uint32_t key[MOST_LEFT], to = s->at[s->n];
    int keys = keys_of(sign, n, key);

    for (int k = 0; k < keys; k++)
        key_put(s, key[k], s->n);
    key_put(s, key_whole(hash), s->n);
    for (int i = 0; i < n; i++)
        to += utf8_put(sign[i], s->text + to);
    s->as[s->n] = (uint16_t)as;
    s->hash[s->n++] = hash;
    s->at[s->n] = to;
}

/* The words of enough rows, the commonest first and by their hashes where rows are equal; returns how
 * many. -1 = error. */
static int64_t common_words(const struct lexicon *l, const uint32_t *rows, uint64_t *key,
                            uint32_t *word, struct err *err)
{
    size_t n = 0;

    for (uint32_t w = 0; w < l->n_words; w++) {
        if (rows[w] < SPELLING_LEAST_ROWS)
            continue;
        key[n] = (uint64_t)~rows[w] << 32 | l->hash[w];
        word[n++] = w;
    }
    if (ml_sort_u64(key, word, n, err) < 0)
        return -1;
    return MIN((int64_t)n, SPELLING_MOST_WORDS);
}

static int words_add(const struct lexicon *l, const uint32_t *rows, const uint32_t *word, int64_t n,
                     struct spelling *s, struct err *err)
{
    uint32_t sign[WORDS_MOST_SIGNS], key[MOST_LEFT],
        *of = mem_try_alloc((size_t)n * sizeof *of + 1);
    int64_t keys = 0;

    for (int64_t i = 0; i < n; i++)
        keys += MIN(lexicon_signs(l, word[i], sign), SPELLING_MOST_SIGNS) + 2;
    if (!of || room_init(s, n, keys, err) < 0) {
        mem_try_free(of);
        return err_set(err, ERR_NOMEM, "no memory for the spelling of words");
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t w = word[i];
        int signs = lexicon_signs(l, w, sign);
        if (!is_spelt(sign, signs))
            continue;
        int near = nearest(s, key, keys_of(sign, signs, key));
        int as = near >= 0 && of[s->as[near]] / SPELLING_TIMES >= rows[w] ? s->as[near] : s->n;
        of[s->n] = rows[w];
        word_add(s, sign, signs, l->hash[w], as);
    }
    mem_try_free(of);
    return 0;
}

int spelling_fit(const struct lexicon *l, const uint32_t *rows, struct spelling *out,
                 struct err *err)
{
    uint64_t *key = mem_try_alloc(((size_t)l->n_words + 1) * sizeof *key);
    uint32_t *word = mem_try_alloc(((size_t)l->n_words + 1) * sizeof *word);
    int64_t n = -1;

    *out = (struct spelling){ .n = 0 };
    if (key && word)
        n = common_words(l, rows, key, word, err);
    else
        err_set(err, ERR_NOMEM, "no memory for the spelling of %u words", l->n_words);
    int rc = n < 0 ? -1 : words_add(l, rows, word, n, out, err);
    mem_try_free(key);
    mem_try_free(word);
    return rc;
}

void spelling_fini(struct spelling *s)
{
    mem_try_free(s->hash);
    mem_try_free(s->as);
    mem_try_free(s->text);
    mem_try_free(s->at);
    mem_try_free(s->key);
    mem_try_free(s->rank);
    *s = (struct spelling){ .n = 0 };
}

/* ---- bytes ---- */

int spelling_save(const struct spelling *s, struct buf *out, struct err *err)
{
    char word[MOST_BYTES + 1];

    if (buf_put_u32(out, (uint32_t)s->n, err) < 0)
        return -1;
    for (int i = 0; i < s->n; i++) {
        size_t bytes = s->at[i + 1] - s->at[i];
        memcpy(word, s->text + s->at[i], bytes);
        word[bytes] = '\0';
        if (buf_put_str(out, word, err) < 0 || buf_put_u32(out, s->as[i], err) < 0)
            return -1;
    }
    return 0;
}

static int word_load(struct view *in, struct spelling *s, struct err *err)
{
    uint32_t sign[WORDS_MOST_SIGNS], hash = 0, as = 0;
    char *word = NULL;
    size_t at = 0;

    if (view_str(in, &word, MOST_BYTES, err) < 0)
        return -1;
    size_t bytes = strlen(word);
    int n = words_word(0, word, bytes, &at, sign, &hash);
    bool is_fine = at == bytes && is_spelt(sign, n);
    mem_free(word);
    if (view_u32(in, &as, err) < 0)
        return -1;
    if (!is_fine || as > (uint32_t)s->n || (as < (uint32_t)s->n && s->as[as] != as))
        return err_set(err, ERR_ARG, "the spelling of words in this file is damaged");
    word_add(s, sign, n, hash, (int)as);
    return 0;
}

int spelling_load(struct view *in, struct spelling *out, struct err *err)
{
    uint32_t n = 0;

    *out = (struct spelling){ .n = 0 };
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n > SPELLING_MOST_WORDS)
        return err_set(err, ERR_ARG, "the spelling of words in this file is damaged");
    if (room_init(out, n, (int64_t)n * (MOST_LEFT + 1), err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (word_load(in, out, err) < 0) {
            spelling_fini(out);
            return -1;
        }
    }
    return 0;
}
