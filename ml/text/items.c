/* items.c - see items.h. Items are counted by their text in a hash table that holds at most
 * ITEMS_MOST_SEEN of them: lists of ever new items take bounded memory. */
#include "ml/text/items.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_SLOTS = 1 << 17, ITEMS_MOST_SEEN = 1 << 16 };

struct seen {
    char *text;
    int64_t rows, last; /* the last level that had it */
};

struct count {
    struct seen *slot; /* [ITEMS_SLOTS] */
    int n;
    int64_t rows, level;
};

static uint32_t item_hash(const char *item, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)item[i]) * 16777619u;
    return h ^ h >> 15;
}

static bool is_item(const char *text, const char *item, size_t n)
{
    return strncmp(text, item, n) == 0 && text[n] == '\0';
}

static void count_item(void *ctx, const char *item, size_t n)
{
    struct count *c = ctx;
    uint32_t s = item_hash(item, n) & (ITEMS_SLOTS - 1);

    if (n > ITEMS_NAME_BYTES)
        return;
    while (c->slot[s].text && !is_item(c->slot[s].text, item, n))
        s = (s + 1) & (ITEMS_SLOTS - 1);
    struct seen *e = &c->slot[s];
    if (!e->text) {
        if (c->n == ITEMS_MOST_SEEN)
            return;
        c->n++;
        e->text = mem_alloc(n + 1);
        memcpy(e->text, item, n);
        e->text[n] = '\0';
    }
    if (e->last != c->level + 1)
        e->rows += c->rows;
    e->last = c->level + 1;
}

static int by_rows(const void *va, const void *vb)
{
    const struct seen *a = va, *b = vb;

    if (a->rows != b->rows)
        return a->rows > b->rows ? -1 : 1;
    if (!a->text || !b->text)
        return !a->text - !b->text;
    return strcmp(a->text, b->text);
}

int items_fit(const char *sep, const char *const *levels, int n_levels, const int64_t *rows,
              struct items *out, struct err *err)
{
    struct count c = { .slot = mem_try_zalloc(ITEMS_SLOTS * sizeof *c.slot) };

    CHECK(strlen(sep) < WORDS_SEP_BYTES);
    *out = (struct items){ .n = 0 };
    memcpy(out->sep, sep, strlen(sep) + 1);
    if (!c.slot)
        return err_set(err, ERR_NOMEM, "no memory to count the items of a list");
    for (int l = 0; l < n_levels; l++) {
        c.rows = rows[l];
        c.level = l;
        if (rows[l] > 0)
            words_items(sep, levels[l], MIN(strlen(levels[l]), (size_t)WORDS_MOST_BYTES),
                        count_item, &c);
    }
    qsort(c.slot, ITEMS_SLOTS, sizeof *c.slot, by_rows);
    for (int i = 0; i < c.n; i++) {
        if (out->n == i && i < ITEMS_MOST && c.slot[i].rows >= ITEMS_LEAST_ROWS)
            out->name[out->n++] = c.slot[i].text;
        else
            mem_free(c.slot[i].text);
    }
    mem_try_free(c.slot);
    return 0;
}

void items_fini(struct items *s)
{
    for (int i = 0; i < s->n; i++)
        mem_free(s->name[i]);
    *s = (struct items){ .n = 0 };
}

int items_parts(const struct items *s)
{
    return s->n + 2;
}

struct tally {
    const struct items *items;
    uint8_t *out;
};

static void tally_item(void *ctx, const char *item, size_t n)
{
    const struct tally *t = ctx;
    int i = 0;

    while (i < t->items->n && !is_item(t->items->name[i], item, n))
        i++;
    t->out[0] += t->out[0] < UINT8_MAX;
    t->out[1 + i] += t->out[1 + i] < UINT8_MAX;
}

void items_of(const struct items *s, const char *list, uint8_t *out)
{
    struct tally t = { s, out };

    for (int i = 0; i < s->n + 2; i++)
        out[i] = 0;
    words_items(s->sep, list, MIN(strlen(list), (size_t)WORDS_MOST_BYTES), tally_item, &t);
}

int items_save(const struct items *s, struct buf *out, struct err *err)
{
    if (buf_put_str(out, s->sep, err) < 0 || buf_put_u32(out, (uint32_t)s->n, err) < 0)
        return -1;
    for (int i = 0; i < s->n; i++) {
        if (buf_put_str(out, s->name[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the items of a list in this file are damaged");
}

int items_load(struct view *in, struct items *out, struct err *err)
{
    char *sep = NULL;
    uint32_t n = 0;

    *out = (struct items){ .n = 0 };
    if (view_str(in, &sep, WORDS_SEP_BYTES - 1, err) < 0)
        return -1;
    bool ok = *sep && utf8_ok(sep, strlen(sep));
    memcpy(out->sep, sep, strlen(sep) + 1);
    mem_free(sep);
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (!ok || n > ITEMS_MOST)
        return broken(err);
    for (out->n = 0; out->n < (int)n; out->n++) {
        if (view_str(in, &out->name[out->n], ITEMS_NAME_BYTES, err) < 0) {
            items_fini(out);
            return -1;
        }
        if (!utf8_ok(out->name[out->n], strlen(out->name[out->n]))) {
            out->n++;
            items_fini(out);
            return broken(err);
        }
    }
    return 0;
}
