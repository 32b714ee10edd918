/* judge_shape.c - does a column of texts hold lists ("red|blue") or running text, or categories?
 *
 * Both judgements look at up to SAMPLE of the different texts, evenly over the file. A list is cut
 * at one sign into short items which come back in other cells and in other places of the cell; the
 * parts of "Last, First" keep their places, so they are no list. Running text has several words a
 * cell, which come back although most cells differ. Called by judge.c. */
#include "base/mem.h"
#include "ml/cells/judge_private.h"
#include "ml/cells/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE = 2000, MOST_SLOTS = 1 << 16, MOST_WORDS = 40000, MIN_LISTS = 10, MIN_TEXTS = 20 };

struct slot {
    uint64_t hash;
    uint32_t count;
    bool is_first, is_later;
};

struct bag {
    /* open addressing */
    struct slot *slots;
    size_t n_slots;
    int64_t words, distinct;
};

static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull;
    return h ? h : 1;
}

static int64_t stride(const struct frame_levels *l)
{
    return l->n > SAMPLE ? l->n / SAMPLE : 1;
}

/* Room for all words of the sample: every word but the last of a text has a sign behind it. */
static void bag_init(struct bag *b, const struct frame_levels *l)
{
    size_t most = 64;

    for (int64_t i = 0; i < l->n && most < MOST_SLOTS; i += stride(l))
        most += strlen(l->text + l->text_at[i]) + 1;
    for (b->n_slots = 64; b->n_slots < most && b->n_slots < MOST_SLOTS;)
        b->n_slots *= 2;
    b->slots = mem_zalloc(b->n_slots * sizeof(*b->slots));
}

static void bag_add(struct bag *b, const char *s, size_t n, bool is_first)
{
    uint64_t h = hash_of(s, n);
    size_t i = (h ^ h >> 32) & (b->n_slots - 1);

    if (b->words == MOST_WORDS)
        return;
    while (b->slots[i].hash && b->slots[i].hash != h)
        i = (i + 1) & (b->n_slots - 1);
    b->distinct += b->slots[i].hash == 0;
    b->slots[i].hash = h;
    b->slots[i].count++;
    b->slots[i].is_first |= is_first;
    b->slots[i].is_later |= !is_first;
    b->words++;
}

/* ---- lists ---- */

struct lists {
    char sign;
    bool has_brackets;
    struct bag items;
    /* of the sample: rows, rows with two items or more, words in all items, texts in brackets */
    int64_t rows, multi, words, brackets, texts;
};

static bool is_bracketed(const char *s, size_t n)
{
    return n >= 2 && ((s[0] == '[' && s[n - 1] == ']') || (s[0] == '{' && s[n - 1] == '}') ||
                      (s[0] == '(' && s[n - 1] == ')'));
}

static void item_add(struct lists *k, const char *s, size_t n, bool is_first)
{
    words_trim(&s, &n);
    if (n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s)
        s++, n -= 2;
    if (n == 0)
        return;
    k->words++;
    for (size_t i = 1; i < n; i++)
        k->words += s[i] == ' ' && s[i - 1] != ' ';
    bag_add(&k->items, s, n, is_first);
}

static void list_add(struct lists *k, const char *s, size_t n, int64_t count)
{
    size_t from = 0;
    int items = 0;

    words_trim(&s, &n);
    k->texts++;
    k->brackets += is_bracketed(s, n);
    if (k->has_brackets && is_bracketed(s, n))
        s++, n -= 2;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && s[i] != k->sign)
            continue;
        item_add(k, s + from, i - from, items++ == 0);
        from = i + 1;
    }
    k->rows += count;
    k->multi += items > 1 ? count : 0;
}

static bool lists_win(const struct lists *k)
{
    int64_t again = 0, crossing = 0;

    for (size_t i = 0; i < k->items.n_slots; i++) {
        const struct slot *s = &k->items.slots[i];
        again += s->count > 1;
        crossing += s->is_first && s->is_later;
    }
    if (k->has_brackets && k->brackets * 20 < k->texts * 19)
        return false;
    return k->multi * 5 >= k->rows && k->items.distinct * 3 <= k->items.words &&
           k->words <= 3 * k->items.words && crossing * 10 >= again * 3 && crossing >= 2;
}

static bool lists_look(const struct frame_levels *l, struct lists *k)
{
    bag_init(&k->items, l);
    for (int64_t i = 0; i < l->n; i += stride(l)) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        list_add(k, s, n, l->count[i]);
    }
    bool is_list = lists_win(k);
    mem_free(k->items.slots);
    k->items.slots = NULL;
    return is_list;
}

/* Some separator is in the text; spares looking at columns of single words. */
static bool may_be_lists(const struct frame_levels *l)
{
    int64_t rows = 0, hits = 0;

    for (int64_t i = 0; i < l->n; i += stride(l)) {
        rows += l->count[i];
        hits += strpbrk(l->text + l->text_at[i], "|;,/") ? l->count[i] : 0;
    }
    return hits * 5 >= rows;
}

bool judge_list(const struct frame_levels *l, bool must, struct judged *out)
{
    static const struct {
        char sign;
        bool has_brackets;
    } forms[] = { { ',', true }, { '|', false }, { ';', false }, { ',', false }, { '/', false } };
    struct lists best = { .sign = ',' };
    bool found = false;

    if (!must && (l->n < MIN_LISTS || !may_be_lists(l)))
        return false;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !found; i++) {
        struct lists k = { .sign = forms[i].sign, .has_brackets = forms[i].has_brackets };
        found = lists_look(l, &k);
        /* a declared list without evidence: the sign that cuts most */
        if (found || k.multi > best.multi)
            best = k;
        if (!found && best.has_brackets)
            best.has_brackets = best.brackets == best.texts;
    }
    if (!found && !must)
        return false;
    out->kind = FRAME_LIST;
    (void)snprintf(out->note, sizeof(out->note),
                   "{\"read\":\"list\",\"sep\":\"%c\"%s,\"items\":%lld}", best.sign,
                   best.has_brackets ? ",\"brackets\":true" : "", (long long)best.items.distinct);
    return true;
}

/* ---- running text ---- */

/* Words are parted by spaces and have a letter. */
static int64_t words_add(struct bag *b, const char *s, size_t n)
{
    int64_t words = 0;

    for (size_t i = 0; i < n;) {
        size_t from = i;
        bool has_letter = false;
        for (; i < n && s[i] != ' ' && s[i] != '\n' && s[i] != '\t'; i++)
            has_letter = has_letter || (s[i] | 0x20) >= 'a' || (unsigned char)s[i] >= 0x80;
        if (has_letter) {
            bag_add(b, s + from, i - from, words == 0);
            words++;
        }
        i++;
    }
    return words;
}

bool judge_long_text(const struct frame_levels *l, struct judged *out)
{
    int64_t all = 0, rows = 0, words = 0, again = 0;
    struct bag bag = { 0 };

    for (int64_t i = 0; i < l->n; i++)
        all += l->count[i];
    double share = (double)l->n / (double)all;
    if (l->n < MIN_TEXTS || share < 0.05)
        return false;
    bag_init(&bag, l);
    for (int64_t i = 0; i < l->n; i += stride(l)) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        words += l->count[i] * words_add(&bag, s, n);
        rows += l->count[i];
    }
    for (size_t i = 0; i < bag.n_slots; i++)
        again += bag.slots[i].count > 1 ? bag.slots[i].count : 0;
    mem_free(bag.slots);
    double mean = (double)words / (double)rows,
           repeated = (double)again / (double)MAX(bag.words, 1);
    if (repeated < 0.1 || !((mean >= 3 && share >= 0.3) || mean >= 5 ||
                            (mean >= 2 && share >= 0.5 && repeated >= 0.5)))
        return false;
    out->kind = FRAME_TEXT;
    (void)snprintf(out->note, sizeof(out->note),
                   "{\"read\":\"text\",\"words\":%.1f,\"different\":%.2f}", mean, share);
    return true;
}
