/* bag.c - see bag.h. */
#include "ml/text/bag.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

enum { HALF = BAG_BUCKETS / 2 };

/* Texts of 16 words then have length 1, as by TF-IDF, and suit the same penalties. */
static const float PRESENCE = 0.25F;

/* The bucket of feature i of a text. */
static uint32_t bucket_of(const struct words *w, int i)
{
    return (w->hash[i] & (HALF - 1)) + (i < w->n_words ? 0 : HALF);
}

/* How many rows have each bucket. */
struct counts {
    uint32_t *rows; /* [BAG_BUCKETS] */
    uint32_t *last; /* [BAG_BUCKETS] the text that had it last, + 1 */
    uint64_t *met;  /* [BAG_BUCKETS / 64] a bit for each bucket that any text has */
};

static int counts_init(struct counts *c, int64_t n, struct err *err)
{
    c->rows = mem_try_zalloc(BAG_BUCKETS * sizeof *c->rows);
    c->last = mem_try_zalloc(BAG_BUCKETS * sizeof *c->last);
    c->met = mem_try_zalloc(BAG_BUCKETS / 64 * sizeof *c->met);
    return c->rows && c->last && c->met
               ? 0
               : err_set(err, ERR_NOMEM, "no memory to count the words of %lld texts",
                         (long long)n);
}

static void counts_fini(struct counts *c)
{
    mem_try_free(c->rows);
    mem_try_free(c->last);
    mem_try_free(c->met);
}

/* rows[bucket] += the rows whose text has a feature of the bucket. */
static void count_rows(const struct words_rule *rule, const struct bag_text *texts, int64_t n,
                       struct counts *c)
{
    struct words w = { 0 };

    for (int64_t t = 0; t < n; t++) {
        words_read(rule, texts[t].text, strlen(texts[t].text), &w);
        for (int i = 0; i < w.n; i++) {
            uint32_t b = bucket_of(&w, i);
            if (c->last[b] == (uint32_t)t + 1)
                continue;
            c->rows[b] += (uint32_t)texts[t].rows;
            c->last[b] = (uint32_t)t + 1;
            c->met[b / 64] |= 1ull << b % 64;
        }
    }
    words_fini(&w);
}

/* Buckets of [from, from + HALF) that at least `least` rows have, `least` > 0. Their numbers go to
 * `out`, ascending, unless that is NULL. */
static int64_t buckets_with(const struct counts *c, int from, int64_t least, uint32_t *out)
{
    int64_t n = 0;

    for (int at = from / 64; at < (from + HALF) / 64; at++) {
        for (uint64_t met = c->met[at]; met; met &= met - 1) {
            uint32_t b = (uint32_t)at * 64 + (uint32_t)__builtin_ctzll(met);
            if (c->rows[b] < least)
                continue;
            if (out)
                out[n] = b;
            n++;
        }
    }
    return n;
}

/* The fewest rows that a bucket of [from, from + HALF) must have so that at most `most` are kept.
 */
static int64_t least_rows(const struct counts *c, int from, int64_t most)
{
    int64_t lo = BAG_LEAST_ROWS, hi = (int64_t)UINT32_MAX + 1;

    if (buckets_with(c, from, lo, NULL) <= most)
        return lo;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (buckets_with(c, from, mid, NULL) <= most)
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

static void keep(struct bag *b, const struct counts *c, int64_t total, int most)
{
    for (int from = 0; from < (b->rule.letters ? BAG_BUCKETS : HALF); from += HALF) {
        int64_t n = buckets_with(c, from, least_rows(c, from, most), b->bucket + b->n_kept);
        for (int64_t i = 0; i < n; i++) {
            uint32_t rows = c->rows[b->bucket[b->n_kept]];
            double share = (1.0 + (double)total) / (1.0 + (double)rows);
            b->idf[b->n_kept++] = is_counted(b) ? 1 : (float)(1.0 + fm_log_d(share));
        }
        if (from == 0)
            b->n_words = b->n_kept;
    }
}

int bag_fit(const struct words_rule *rule, const struct bag_text *texts, int64_t n, int most,
            struct bag *out, struct err *err)
{
    struct counts counts;
    int64_t total = 0;
    int rc = -1;

    CHECK(most <= BAG_MOST_KEPT);
    *out = (struct bag){ .rule = *rule };
    if (counts_init(&counts, n, err) == 0) {
        for (int64_t t = 0; t < n; t++)
            total += texts[t].rows;
        count_rows(rule, texts, n, &counts);
        out->bucket = mem_array((size_t)most, sizeof *out->bucket);
        out->idf = mem_array((size_t)most, sizeof *out->idf);
        keep(out, &counts, total, rule->letters ? most / 2 : most);
        rc = bag_slots(out, err);
    }
    counts_fini(&counts);
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
    *b = (struct bag){ 0 };
}

/* ---- one text ---- */

int bag_room_init(struct bag_room *r, struct err *err)
{
    *r = (struct bag_room){ 0 };
    r->count = mem_try_zalloc(BAG_MOST_KEPT * sizeof *r->count);
    r->col = mem_try_alloc(BAG_MOST_KEPT * sizeof *r->col);
    r->value = mem_try_alloc(BAG_MOST_KEPT * sizeof *r->value);
    if (r->count && r->col && r->value)
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

void bag_read(const struct bag *b, struct bag_room *r, const char *text)
{
    int words = 0;

    words_read(&b->rule, text, strlen(text), &r->words);
    r->n = 0;
    for (int i = 0; i < r->words.n; i++) {
        uint32_t s = slot_of(b, bucket_of(&r->words, i));
        if (b->slot[s] == 0)
            continue;
        uint16_t at = b->slot_at[s];
        if (r->count[at]++ == 0)
            r->col[r->n++] = at;
    }
    for (int i = 0; i < r->n; i++) {
        uint16_t at = r->col[i];
        words += at < b->n_words;
        r->value[i] = b->rule.presence ? PRESENCE
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
    if (buf_put_str(out, b->rule.sep, err) < 0 ||
        buf_put_u8(out, (uint8_t)(b->rule.letters + 2 * b->rule.pairs + 4 * b->rule.presence),
                   err) < 0 ||
        buf_put_u32(out, b->rule.seed, err) < 0 || buf_put_u32(out, (uint32_t)b->n_kept, err) < 0)
        return -1;
    for (int i = 0; i < b->n_kept; i++) {
        if (buf_put_u32(out, b->bucket[i], err) < 0 || buf_put_f32(out, b->idf[i], err) < 0)
            return -1;
    }
    return 0;
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
    return !ok || flags > 7 || (flags && *rule->sep) ? broken(err) : 0;
}

static int load_kept(struct view *in, struct bag *b, struct err *err)
{
    b->bucket = mem_array((size_t)b->n_kept + 1, sizeof *b->bucket);
    b->idf = mem_array((size_t)b->n_kept + 1, sizeof *b->idf);
    for (int i = 0; i < b->n_kept; i++) {
        if (view_u32(in, &b->bucket[i], err) < 0 || view_f32(in, &b->idf[i], err) < 0)
            return -1;
        if (b->bucket[i] >= BAG_BUCKETS || (i > 0 && b->bucket[i] <= b->bucket[i - 1]) ||
            !(b->idf[i] >= 1 && b->idf[i] < 100) || (!b->rule.letters && b->bucket[i] >= HALF))
            return broken(err);
        b->n_words += b->bucket[i] < HALF;
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
    if (load_kept(in, out, err) == 0)
        return 0;
    bag_fini(out);
    return -1;
}
