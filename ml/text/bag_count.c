/* bag_count.c - how many training rows have each bucket (bag.h).
 *
 * Of texts that were read once (lexicon.h) the words and n-grams are counted in short arrays with one
 * element for each bucket that occurs. Pairs of words, and texts that are read here, have too many
 * features for that: one array has an element for every bucket there is, or where the texts are few
 * a hash table grows with them. */
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/text/bag_private.h"

#include <string.h>

/* Texts of so few words are counted in a hash table. */
enum { FEW_WORDS = BAG_HALF / 4 };

/* Rows that have a feature, and the text that had it last, + 1. */
struct counted {
    uint32_t rows, last;
};

/* Without a branch, which would be guessed wrong for many n-grams. */
static inline void count_one(struct counted *c, uint32_t text, int64_t rows)
{
    c->rows += c->last == text ? 0 : (uint32_t)rows;
    c->last = text;
}

void bag_counts_fini(struct bag_counts *c)
{
    mem_try_free(c->list[0]);
    mem_try_free(c->list[1]);
    *c = (struct bag_counts){ 0 };
}

static int no_memory(int64_t n, struct err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to count the words of %lld texts", (long long)n);
}

/* ---- short arrays ---- */

/* Features as buckets: place[i] of feature i among the buckets that occur, ascending. */
struct places {
    uint32_t *place;
    struct bag_bucket_rows *bucket;
    struct counted *count;
    uint32_t n;
};

static void places_fini(struct places *p)
{
    mem_try_free(p->place);
    mem_try_free(p->bucket);
    mem_try_free(p->count);
}

static int places_init(struct places *p, const uint32_t *hash, uint32_t n, bool is_letters,
                       struct err *err)
{
    uint64_t *key = mem_try_alloc(((size_t)n + 1) * sizeof *key);
    uint32_t *from = mem_try_alloc(((size_t)n + 1) * sizeof *from);

    *p = (struct places){ .place = mem_try_alloc(((size_t)n + 1) * sizeof *p->place),
                          .bucket = mem_try_alloc(((size_t)n + 1) * sizeof *p->bucket),
                          .count = mem_try_zalloc(((size_t)n + 1) * sizeof *p->count) };
    bool is_fine = key && from && p->place && p->bucket && p->count;
    for (uint32_t i = 0; i < n && is_fine; i++) {
        key[i] = bag_bucket(is_letters ? hash[i] : words_single(hash[i]), is_letters);
        from[i] = i;
    }
    is_fine = is_fine && ml_sort_u64(key, from, n, err) == 0;
    for (uint32_t i = 0; i < n && is_fine; i++) {
        if (i == 0 || key[i] != key[i - 1])
            p->bucket[p->n++] = (struct bag_bucket_rows){ (uint32_t)key[i], 0 };
        p->place[from[i]] = p->n - 1;
    }
    mem_try_free(key);
    mem_try_free(from);
    if (is_fine)
        return 0;
    places_fini(p);
    return no_memory(n, err);
}

/* The list of the buckets that have rows. */
static void places_take(struct places *p, struct bag_counts *out, int half)
{
    for (uint32_t i = 0; i < p->n; i++) {
        p->bucket[i].rows = p->count[i].rows;
        if (p->bucket[i].rows > 0)
            p->bucket[out->n[half]++] = p->bucket[i];
    }
    out->list[half] = p->bucket;
    p->bucket = NULL;
}

static int count_words(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                       struct bag_counts *out, struct err *err)
{
    struct places p;

    if (places_init(&p, l->hash, l->n_words, false, err) < 0)
        return -1;
    CHECK(p.count);
    for (int64_t t = 0; t < n; t++) {
        int64_t end = l->start[texts[t].level + 1];
        for (int64_t at = l->start[texts[t].level]; at < end; at++)
            count_one(&p.count[p.place[l->word[at]]], (uint32_t)t + 1, texts[t].rows);
    }
    places_take(&p, out, 0);
    places_fini(&p);
    return 0;
}

static int count_grams(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                       struct bag_counts *out, struct err *err)
{
    /* the text that had the word last, + 1: its n-grams are counted */
    uint32_t *seen = mem_try_zalloc(((size_t)l->n_words + 1) * sizeof *seen);
    uint32_t *place = mem_try_alloc(((size_t)l->gram_at[l->n_words] + 1) * sizeof *place);
    struct places p;

    if (!seen || !place || places_init(&p, l->gram_hash, l->n_grams, true, err) < 0) {
        mem_try_free(seen);
        mem_try_free(place);
        return no_memory(n, err);
    }
    for (uint32_t g = 0; g < l->gram_at[l->n_words]; g++)
        place[g] = p.place[l->gram[g]];
    CHECK(p.count);
    for (int64_t t = 0; t < n; t++) {
        int64_t end = l->start[texts[t].level + 1];
        for (int64_t at = l->start[texts[t].level]; at < end; at++) {
            uint32_t w = l->word[at];
            for (uint32_t g = l->gram_at[w]; seen[w] != t + 1 && g < l->gram_at[w + 1]; g++)
                count_one(&p.count[place[g]], (uint32_t)t + 1, texts[t].rows);
            seen[w] = (uint32_t)t + 1;
        }
    }
    places_take(&p, out, 1);
    places_fini(&p);
    mem_try_free(seen);
    mem_try_free(place);
    return 0;
}

/* ---- an element for every bucket ---- */

struct wide {
    struct counted *count; /* [BAG_HALF] */
    uint64_t *met;         /* [BAG_HALF / 64] a bit for each that any text has */
};

static void wide_fini(struct wide *w)
{
    mem_try_free(w->count);
    mem_try_free(w->met);
}

static int wide_init(struct wide *w, int64_t n, struct err *err)
{
    w->count = mem_try_zalloc(BAG_HALF * sizeof *w->count);
    w->met = mem_try_zalloc(BAG_HALF / 64 * sizeof *w->met);
    if (w->count && w->met)
        return 0;
    wide_fini(w);
    return no_memory(n, err);
}

static inline void wide_one(struct wide *w, uint32_t feature, uint32_t text, int64_t rows)
{
    uint32_t b = bag_bucket(feature, false);

    count_one(&w->count[b], text, rows);
    w->met[b / 64] |= 1ull << b % 64;
}

static int wide_take(const struct wide *w, struct bag_counts *out, int half, struct err *err)
{
    uint32_t from = half ? BAG_HALF : 0;
    int64_t n = 0;

    for (int at = 0; at < BAG_HALF / 64; at++)
        n += __builtin_popcountll(w->met[at]);
    out->list[half] = mem_try_alloc(((size_t)n + 1) * sizeof **out->list);
    if (!out->list[half])
        return no_memory(n, err);
    for (int at = 0; at < BAG_HALF / 64; at++) {
        for (uint64_t met = w->met[at]; met; met &= met - 1) {
            uint32_t b = (uint32_t)at * 64 + (uint32_t)__builtin_ctzll(met);
            out->list[half][out->n[half]++] =
                (struct bag_bucket_rows){ from + b, w->count[b].rows };
        }
    }
    return 0;
}

/* ---- a hash table of the buckets that occur ---- */

struct few {
    uint32_t *slot; /* [mask + 1] the place of a bucket in the lists + 1; 0 = free */
    uint32_t mask, n, cap;
    struct bag_bucket_rows *bucket; /* [cap] */
    uint32_t *last;                 /* [cap] the text that had it last, + 1 */
};

static uint32_t few_first(const struct few *f, uint32_t bucket)
{
    return bucket * 0x9E3779B1u >> 7 & f->mask;
}

static bool few_grow(struct few *f)
{
    uint32_t mask = 2 * f->mask + 1, cap = mask / 2 + 1;
    uint32_t *slot = mem_try_zalloc(((size_t)mask + 1) * sizeof *slot);
    struct bag_bucket_rows *bucket = mem_try_alloc(cap * sizeof *bucket);
    uint32_t *last = mem_try_alloc(cap * sizeof *last);

    if (!slot || !bucket || !last) {
        mem_try_free(slot);
        mem_try_free(bucket);
        mem_try_free(last);
        return false;
    }
    if (f->n > 0) {
        memcpy(bucket, f->bucket, f->n * sizeof *bucket);
        memcpy(last, f->last, f->n * sizeof *last);
    }
    mem_try_free(f->slot);
    mem_try_free(f->bucket);
    mem_try_free(f->last);
    *f = (struct few){ slot, mask, f->n, cap, bucket, last };
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t s = few_first(f, bucket[i].bucket);
        while (slot[s] != 0)
            s = (s + 1) & mask;
        slot[s] = i + 1;
    }
    return true;
}

static void few_fini(struct few *f)
{
    mem_try_free(f->slot);
    mem_try_free(f->bucket);
    mem_try_free(f->last);
}

/* False = there is no memory. */
static bool few_one(struct few *f, uint32_t feature, uint32_t text, int64_t rows)
{
    uint32_t bucket = bag_bucket(feature, false), s = few_first(f, bucket);

    while (f->slot[s] != 0 && f->bucket[f->slot[s] - 1].bucket != bucket)
        s = (s + 1) & f->mask;
    if (f->slot[s] == 0) {
        if (f->n == f->cap)
            return few_grow(f) && few_one(f, feature, text, rows);
        f->bucket[f->n] = (struct bag_bucket_rows){ bucket, 0 };
        f->last[f->n] = 0;
        f->slot[s] = ++f->n;
    }
    uint32_t at = f->slot[s] - 1;
    f->bucket[at].rows += f->last[at] == text ? 0 : (uint32_t)rows;
    f->last[at] = text;
    return true;
}

/* The buckets that enough rows have, ascending. */
static int few_take(struct few *f, struct bag_counts *out, int64_t texts, struct err *err)
{
    uint64_t *key = mem_try_alloc(((size_t)f->n + 1) * sizeof *key);
    uint32_t *rows = mem_try_alloc(((size_t)f->n + 1) * sizeof *rows), n = 0;

    for (uint32_t i = 0; i < f->n && key && rows; i++) {
        key[n] = f->bucket[i].bucket;
        rows[n] = f->bucket[i].rows;
        n += f->bucket[i].rows >= BAG_LEAST_ROWS;
    }
    int rc = key && rows ? ml_sort_u64(key, rows, n, err) : no_memory(texts, err);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        f->bucket[i] = (struct bag_bucket_rows){ (uint32_t)key[i], rows[i] };
    if (rc == 0) {
        out->n[0] = n;
        out->list[0] = f->bucket;
        f->bucket = NULL;
    }
    mem_try_free(key);
    mem_try_free(rows);
    return rc;
}

/* ---- pairs of words ---- */

static int pairs_few(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                     struct bag_counts *out, struct err *err)
{
    struct few f = { .mask = 1023 };
    bool is_fine = few_grow(&f);

    for (int64_t t = 0; t < n && is_fine; t++) {
        int64_t first = l->start[texts[t].level], end = l->start[texts[t].level + 1];
        for (int64_t at = first; at < end && is_fine; at++) {
            uint32_t hash = l->hash[l->word[at]], text = (uint32_t)t + 1;
            is_fine = few_one(&f, words_single(hash), text, texts[t].rows);
            if (at > first && is_fine)
                is_fine =
                    few_one(&f, words_pair(l->hash[l->word[at - 1]], hash), text, texts[t].rows);
        }
    }
    int rc = is_fine ? few_take(&f, out, n, err) : no_memory(n, err);
    few_fini(&f);
    return rc;
}

static int pairs_many(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                      struct bag_counts *out, struct err *err)
{
    struct wide c;

    if (wide_init(&c, n, err) < 0)
        return -1;
    for (int64_t t = 0; t < n; t++) {
        int64_t first = l->start[texts[t].level], end = l->start[texts[t].level + 1];
        for (int64_t at = first; at < end; at++) {
            uint32_t hash = l->hash[l->word[at]];
            wide_one(&c, words_single(hash), (uint32_t)t + 1, texts[t].rows);
            if (at > first)
                wide_one(&c, words_pair(l->hash[l->word[at - 1]], hash), (uint32_t)t + 1,
                         texts[t].rows);
        }
    }
    int rc = wide_take(&c, out, 0, err);
    wide_fini(&c);
    return rc;
}

static int count_pairs(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                       struct bag_counts *out, struct err *err)
{
    int64_t words = 0;

    for (int64_t t = 0; t < n; t++)
        words += l->start[texts[t].level + 1] - l->start[texts[t].level];
    return words <= FEW_WORDS ? pairs_few(l, texts, n, out, err)
                              : pairs_many(l, texts, n, out, err);
}

/* Texts that were not read yet. */
static int count_unread(const struct bag *b, const struct texts *from, const struct bag_text *texts,
                        int64_t n, struct bag_counts *out, struct err *err)
{
    const struct words_rule *rule = &b->rule;
    struct wide c[2] = { { NULL, NULL }, { NULL, NULL } };
    struct words w = { 0 };
    int halves = rule->letters ? 2 : 1, rc = 0;

    for (int half = 0; half < halves && rc == 0; half++)
        rc = wide_init(&c[half], n, err);
    for (int64_t t = 0; t < n && rc == 0; t++) {
        const char *text = from->levels[texts[t].level];
        bag_words(b, text, &w);
        for (int i = 0; i < w.n; i++)
            wide_one(&c[halves > 1 && i >= w.n_words], w.hash[i], (uint32_t)t + 1, texts[t].rows);
    }
    for (int half = 0; half < halves && rc == 0; half++)
        rc = wide_take(&c[half], out, half, err);
    words_fini(&w);
    wide_fini(&c[0]);
    wide_fini(&c[1]);
    return rc;
}

static int count_read(const struct bag *b, const struct texts *from, const struct bag_text *texts,
                      int64_t n, struct bag_counts *out, struct err *err)
{
    struct lexicon l = *from->read;
    uint32_t *hash = NULL;

    if (b->rule.spelling) {
        hash = spelling_all(&b->spelling, &l, err);
        if (!hash)
            return -1;
        l.hash = hash;
    }
    int rc =
        b->rule.pairs ? count_pairs(&l, texts, n, out, err) : count_words(&l, texts, n, out, err);
    if (rc == 0 && b->rule.letters)
        rc = count_grams(&l, texts, n, out, err);
    mem_try_free(hash);
    return rc;
}

int bag_count(const struct bag *b, const struct texts *from, const struct bag_text *texts,
              int64_t n, struct bag_counts *out, struct err *err)
{
    *out = (struct bag_counts){ .n = { 0 } };
    int rc = bag_is_read(&b->rule, from) ? count_read(b, from, texts, n, out, err)
                                         : count_unread(b, from, texts, n, out, err);
    if (rc < 0)
        bag_counts_fini(out);
    return rc;
}

/* ---- spelling ---- */

uint32_t *bag_word_rows(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                        struct err *err)
{
    struct counted *count = mem_try_zalloc(((size_t)l->n_words + 1) * sizeof *count);
    uint32_t *rows = mem_try_alloc(((size_t)l->n_words + 1) * sizeof *rows);

    for (int64_t t = 0; t < n && count && rows; t++) {
        int64_t end = l->start[texts[t].level + 1];
        for (int64_t at = l->start[texts[t].level]; at < end; at++)
            count_one(&count[l->word[at]], (uint32_t)t + 1, texts[t].rows);
    }
    for (uint32_t w = 0; w < l->n_words && count && rows; w++)
        rows[w] = count[w].rows;
    if (!count || !rows) {
        mem_try_free(rows);
        rows = NULL;
        (void)no_memory(n, err);
    }
    mem_try_free(count);
    return rows;
}

int bag_spelling(const struct texts *from, const struct bag_text *texts, int64_t n,
                 struct spelling *out, struct err *err)
{
    struct lexicon own = { .levels = NULL };
    const struct lexicon *l = from->read;

    *out = (struct spelling){ .n = 0 };
    if (!l && !lexicon_make(from->levels, from->n_levels, &own))
        return 0;
    l = l ? l : &own;
    uint32_t *rows = bag_word_rows(l, texts, n, err);
    int rc = rows ? spelling_fit(l, rows, out, err) : -1;
    mem_try_free(rows);
    lexicon_fini(&own);
    return rc;
}
