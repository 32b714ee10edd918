/* bag.c - see bag.h. */
#include "base/mem.h"
#include "base/utf8.h"
#include "ml/math/fmath.h"
#include "ml/text/bag_private.h"

#include <math.h>
#include <string.h>

static int64_t buckets_with(const struct bag_counts *c, int half, int64_t least)
{
    int64_t n = 0;

    for (int64_t i = 0; i < c->n[half]; i++)
        n += c->list[half][i].rows >= least;
    return n;
}

/* The fewest rows that a bucket of a half must have so that at most `most` are kept. */
static int64_t least_rows(const struct bag_counts *c, int half, int64_t most)
{
    int64_t lo = BAG_LEAST_ROWS, hi = lo;

    if (buckets_with(c, half, lo) <= most)
        return lo;
    for (int64_t i = 0; i < c->n[half]; i++)
        hi = MAX(hi, (int64_t)c->list[half][i].rows + 1);
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (buckets_with(c, half, mid) <= most)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static uint32_t slot_of(const struct bag *b, uint32_t bucket)
{
    uint32_t s = bucket * 0x9E3779B1u >> 7 & b->mask;

    while (b->slot[s] != 0 && b->slot[s] != bucket + 1)
        s = (s + 1) & b->mask;
    return s;
}

static int bag_slots(struct bag *b, struct err *err)
{
    uint32_t n = 64;

    while (n < (uint32_t)b->n_kept * 2)
        n *= 2;
    b->mask = n - 1;
    b->slot = mem_try_zalloc(n * sizeof *b->slot);
    b->slot_at = mem_try_alloc(n * sizeof *b->slot_at);
    if (!b->slot || !b->slot_at)
        return err_set(err, ERR_NOMEM, "no memory for the words of a text");
    for (int i = 0; i < b->n_kept; i++) {
        uint32_t s = slot_of(b, b->bucket[i]);
        b->slot[s] = b->bucket[i] + 1;
        b->slot_at[s] = (uint16_t)i;
    }
    return 0;
}

static bool is_counted(const struct bag *b)
{
    return *b->rule.sep || b->rule.presence;
}

static void keep(struct bag *b, const struct bag_counts *c, int64_t total, int most)
{
    for (int half = 0; half < (b->rule.letters ? 2 : 1); half++) {
        int64_t least = least_rows(c, half, most);
        for (int64_t i = 0; i < c->n[half]; i++) {
            uint32_t rows = c->list[half][i].rows;
            if (rows < least)
                continue;
            double share = (1.0 + (double)total) / (1.0 + (double)rows);
            b->bucket[b->n_kept] = c->list[half][i].bucket;
            b->idf[b->n_kept++] = is_counted(b) ? 1 : (float)(1.0 + fm_log_d(share));
        }
        if (half == 0)
            b->n_words = b->n_kept;
    }
}

int bag_fit(const struct words_rule *rule, const struct texts *from, const struct bag_text *texts,
            int64_t n, int most, struct bag *out, struct err *err)
{
    struct bag_counts counts;
    int64_t total = 0;

    CHECK(most <= BAG_MOST_KEPT);
    *out = (struct bag){ .rule = *rule };
    if (rule->spelling && bag_spelling(from, texts, n, &out->spelling, err) < 0)
        return -1;
    if (bag_count(out, from, texts, n, &counts, err) < 0) {
        bag_fini(out);
        return -1;
    }
    for (int64_t t = 0; t < n; t++)
        total += texts[t].rows;
    out->bucket = mem_array((size_t)most, sizeof *out->bucket);
    out->idf = mem_array((size_t)most, sizeof *out->idf);
    keep(out, &counts, total, rule->letters ? most / 2 : most);
    bag_counts_fini(&counts);
    int rc = bag_slots(out, err);
    if (rc < 0)
        bag_fini(out);
    return rc;
}

void bag_fini(struct bag *b)
{
    mem_free(b->bucket);
    mem_free(b->idf);
    mem_try_free(b->slot);
    mem_try_free(b->slot_at);
    spelling_fini(&b->spelling);
    *b = (struct bag){ 0 };
}

/* ---- one text ---- */

/* The place of a bucket in the bag. */
static uint16_t place_of(const struct bag *b, uint32_t bucket)
{
    uint32_t s = slot_of(b, bucket);

    return b->slot[s] == 0 ? BAG_NOWHERE : b->slot_at[s];
}

/* The places of the n-grams of all words, those that have one. */
static int grams_find(struct bag_room *r, const struct lexicon *l)
{
    uint16_t *place = mem_try_alloc(((size_t)l->n_grams + 1) * sizeof *place);
    uint32_t n = 0;

    r->gram = mem_try_alloc(((size_t)l->gram_at[l->n_words] + 1) * sizeof *r->gram);
    r->gram_at = mem_try_zalloc(((size_t)l->n_words + 1) * sizeof *r->gram_at);
    for (uint32_t g = 0; g < l->n_grams && place; g++)
        place[g] = place_of(r->bag, bag_bucket(l->gram_hash[g], true));
    for (uint32_t w = 0; w < l->n_words && place && r->gram && r->gram_at; w++) {
        for (uint32_t g = l->gram_at[w]; g < l->gram_at[w + 1]; g++) {
            r->gram[n] = place[l->gram[g]];
            n += r->gram[n] != BAG_NOWHERE;
        }
        r->gram_at[w + 1] = n;
    }
    mem_try_free(place);
    return place && r->gram && r->gram_at ? 0 : -1;
}

static int places_find(struct bag_room *r)
{
    const struct lexicon *l = r->from->read;
    const struct bag *b = r->bag;

    r->hash = b->rule.spelling ? spelling_all(&b->spelling, l, NULL) : NULL;
    if (b->rule.spelling && !r->hash)
        return -1;
    const uint32_t *hash = r->hash ? r->hash : l->hash;
    r->word = mem_try_alloc(((size_t)l->n_words + 1) * sizeof *r->word);
    for (uint32_t w = 0; w < l->n_words && r->word; w++)
        r->word[w] = place_of(b, bag_bucket(words_single(hash[w]), false));
    return r->word && (!r->bag->rule.letters || grams_find(r, l) == 0) ? 0 : -1;
}

int bag_room_init(struct bag_room *r, const struct bag *b, const struct texts *from,
                  struct err *err)
{
    *r = (struct bag_room){ .bag = b, .from = from };
    r->count = mem_try_zalloc(BAG_MOST_KEPT * sizeof *r->count);
    r->col = mem_try_alloc((BAG_MOST_KEPT + 1) * sizeof *r->col);
    r->value = mem_try_alloc(BAG_MOST_KEPT * sizeof *r->value);
    if (r->count && r->col && r->value && (!bag_is_read(&b->rule, from) || places_find(r) == 0))
        return 0;
    bag_room_fini(r);
    return err_set(err, ERR_NOMEM, "no memory to read texts");
}

void bag_room_fini(struct bag_room *r)
{
    words_fini(&r->words);
    mem_try_free(r->count);
    mem_try_free(r->col);
    mem_try_free(r->value);
    mem_try_free(r->word);
    mem_try_free(r->gram);
    mem_try_free(r->gram_at);
    mem_try_free(r->hash);
    *r = (struct bag_room){ 0 };
}

/* Scales the entries [from, to) to length `length`. */
static void scale(float *value, int from, int to, double length)
{
    double squares = 0;

    for (int i = from; i < to; i++)
        squares += (double)value[i] * (double)value[i];
    double by = squares > 0 ? length / sqrt(squares) : 0;
    for (int i = from; i < to; i++)
        value[i] = (float)((double)value[i] * by);
}

/* 1 + ln t of small counts, which are nearly all. */
static double frequency(int t)
{
    static const double small[] = { 0, 1, 1.6931471805599454, 2.09861228866811, 2.386294361119891 };

    return t < (int)ARRAY_LEN(small) ? small[t] : 1.0 + fm_log_d((double)t);
}

/* Without a branch for how often the text had it; r->col has room for one more than there are. */
static inline void place_found(struct bag_room *r, uint16_t at)
{
    r->col[r->n] = at;
    r->n += r->count[at] == 0;
    r->count[at]++;
}

static inline void place_count(struct bag_room *r, uint16_t at)
{
    if (at != BAG_NOWHERE)
        place_found(r, at);
}

/* The features of a text that was read before, in the order of words_read. */
static void read_again(struct bag_room *r, int level)
{
    const struct lexicon *l = r->from->read;
    const uint32_t *hash = r->hash ? r->hash : l->hash;
    int64_t first = l->start[level], end = l->start[level + 1];

    for (int64_t at = first; at < end; at++) {
        place_count(r, r->word[l->word[at]]);
        if (r->bag->rule.pairs && at > first)
            place_count(
                r, place_of(r->bag, bag_bucket(words_pair(hash[l->word[at - 1]], hash[l->word[at]]),
                                               false)));
    }
    for (int64_t at = first; at < end && r->gram; at++) {
        uint32_t w = l->word[at];
        for (uint32_t g = r->gram_at[w]; g < r->gram_at[w + 1]; g++)
            place_found(r, r->gram[g]);
    }
}

static void read_anew(struct bag_room *r, const char *text)
{
    const struct bag *b = r->bag;

    bag_words(b, text, &r->words);
    for (int i = 0; i < r->words.n; i++)
        place_count(r, place_of(b, bag_bucket(r->words.hash[i], i >= r->words.n_words)));
}

void bag_read(struct bag_room *r, int level)
{
    const struct bag *b = r->bag;
    int words = 0;

    r->n = 0;
    if (r->word)
        read_again(r, level);
    else
        read_anew(r, r->from->levels[level]);
    for (int i = 0; i < r->n; i++) {
        uint16_t at = r->col[i];
        words += at < b->n_words;
        r->value[i] = b->rule.presence ? BAG_PRESENCE
                      : *b->rule.sep   ? (float)r->count[at]
                                       : (float)(frequency(r->count[at]) * (double)b->idf[at]);
        r->count[at] = 0;
    }
    if (is_counted(b))
        return;
    /* the features of words stand before those of letters */
    double length = b->rule.letters ? 0.7071067811865476 : 1.0;
    scale(r->value, 0, words, length);
    scale(r->value, words, r->n, length);
}

/* ---- bytes ---- */

int bag_save(const struct bag *b, struct buf *out, struct err *err)
{
    const struct words_rule *r = &b->rule;
    int flags = r->letters + 2 * r->pairs + 4 * r->presence + 8 * r->spelling;

    if (buf_put_str(out, r->sep, err) < 0 || buf_put_u8(out, (uint8_t)flags, err) < 0 ||
        buf_put_u32(out, r->seed, err) < 0 || buf_put_u32(out, (uint32_t)b->n_kept, err) < 0)
        return -1;
    for (int i = 0; i < b->n_kept; i++) {
        if (buf_put_u32(out, b->bucket[i], err) < 0 || buf_put_f32(out, b->idf[i], err) < 0)
            return -1;
    }
    return r->spelling ? spelling_save(&b->spelling, out, err) : 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the words of a text column in this file are damaged");
}

static int load_rule(struct view *in, struct words_rule *rule, struct err *err)
{
    char *sep = NULL;
    uint8_t flags = 0;

    if (view_str(in, &sep, WORDS_SEP_BYTES - 1, err) < 0)
        return -1;
    memcpy(rule->sep, sep, strlen(sep) + 1);
    bool ok = utf8_ok(sep, strlen(sep));
    mem_free(sep);
    if (view_u8(in, &flags, err) < 0 || view_u32(in, &rule->seed, err) < 0)
        return -1;
    rule->letters = flags & 1;
    rule->pairs = flags >> 1 & 1;
    rule->presence = flags >> 2 & 1;
    rule->spelling = flags >> 3 & 1;
    return !ok || flags > 15 || (flags && *rule->sep) ? broken(err) : 0;
}

static int load_kept(struct view *in, struct bag *b, struct err *err)
{
    b->bucket = mem_array((size_t)b->n_kept + 1, sizeof *b->bucket);
    b->idf = mem_array((size_t)b->n_kept + 1, sizeof *b->idf);
    for (int i = 0; i < b->n_kept; i++) {
        if (view_u32(in, &b->bucket[i], err) < 0 || view_f32(in, &b->idf[i], err) < 0)
            return -1;
        if (b->bucket[i] >= BAG_BUCKETS || (i > 0 && b->bucket[i] <= b->bucket[i - 1]) ||
            !(b->idf[i] >= 1 && b->idf[i] < 100) || (!b->rule.letters && b->bucket[i] >= BAG_HALF))
            return broken(err);
        b->n_words += b->bucket[i] < BAG_HALF;
    }
    return bag_slots(b, err);
}

int bag_load(struct view *in, struct bag *out, struct err *err)
{
    uint32_t n = 0;

    *out = (struct bag){ 0 };
    if (load_rule(in, &out->rule, err) < 0 || view_u32(in, &n, err) < 0)
        return -1;
    if (n > BAG_MOST_KEPT || n > (in->len - in->pos) / 8)
        return broken(err);
    out->n_kept = (int)n;
    if (load_kept(in, out, err) == 0 &&
        (!out->rule.spelling || spelling_load(in, &out->spelling, err) == 0))
        return 0;
    bag_fini(out);
    return -1;
}
