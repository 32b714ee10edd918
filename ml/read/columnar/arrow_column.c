/* arrow_column.c - see arrow_column.h. Called by arrow.c. */
#include "ml/read/columnar/arrow_column.h"

#include <math.h>
#include <string.h>

enum { STRETCH = 2048, VIEW_BYTES = 16, VIEW_INLINE = 12 };

/* Room for one stretch. */
struct stretch {
    int64_t ints[STRETCH];
    double numbers[STRETCH];
    struct cells_text texts[STRETCH];
    uint32_t index[STRETCH];
    uint8_t valid[STRETCH];
};

static bool bit_at(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static int too_short(const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "its buffer of %s is too short for its rows", what);
}

/* What the rows need of each buffer. */
static int lengths_check(const struct arrow_column *c, struct err *err)
{
    size_t rows = (size_t)c->rows, need = 0;

    if (rows == 0 || c->shape->layout == ARROW_NULL)
        return 0;
    if (c->valid->n > 0 && c->valid->n < (rows + 7) / 8)
        return too_short("missing values", err);
    switch (c->shape->layout) {
    case ARROW_BITS:
        need = (rows + 7) / 8;
        break;
    case ARROW_TEXT32:
        need = (rows + 1) * 4;
        break;
    case ARROW_TEXT64:
        need = (rows + 1) * 8;
        break;
    case ARROW_VIEWS:
        need = rows * VIEW_BYTES;
        break;
    default:
        need = rows * (size_t)c->shape->width;
    }
    return c->values->n < need ? too_short("values", err) : 0;
}

/* ---- whole numbers ---- */

#define WIDEN(type)                                          \
    for (int64_t i = 0; i < n; i++) {                        \
        type v_;                                             \
        memcpy(&v_, p + (size_t)i * sizeof(v_), sizeof(v_)); \
        out[i] = (int64_t)v_;                                \
    }

static void ints_widen(const struct arrow_shape *s, const uint8_t *p, int64_t n, int64_t *out)
{
    switch (s->width * 2 + s->is_signed) {
    case 3:
        WIDEN(int8_t)
        break;
    case 2:
        WIDEN(uint8_t)
        break;
    case 5:
        WIDEN(int16_t)
        break;
    case 4:
        WIDEN(uint16_t)
        break;
    case 9:
        WIDEN(int32_t)
        break;
    case 8:
        WIDEN(uint32_t)
        break;
    default:
        WIDEN(int64_t)
    }
}

/* ---- values ---- */

static void reals_widen(int width, const uint8_t *p, int64_t n, double *out)
{
    if (width == 8) {
        memcpy(out, p, (size_t)n * sizeof(*out));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, p + i * 4, sizeof(v));
        out[i] = (double)v;
    }
}

static void numbers_make(const struct arrow_column *c, int64_t at, int64_t n, struct stretch *s)
{
    size_t width = (size_t)c->shape->width;
    const uint8_t *p = c->values->p + (size_t)at * width;

    if (c->shape->layout == ARROW_INTS) {
        ints_widen(c->shape, p, n, s->ints);
        logical_ints(c->logical, s->ints, n, s->numbers);
    } else if (c->shape->layout == ARROW_REALS) {
        reals_widen(c->shape->width, p, n, s->numbers);
    } else {
        for (int64_t i = 0; i < n; i++)
            s->numbers[i] = logical_bytes(c->logical, p + (size_t)i * width, width);
    }
    for (int64_t i = 0; i < n; i++)
        s->numbers[i] = s->valid[i] ? s->numbers[i] : (double)NAN;
}

static int64_t offset_at(const struct arrow_column *c, int64_t i)
{
    int32_t narrow;
    int64_t wide;

    if (c->shape->layout == ARROW_TEXT32) {
        memcpy(&narrow, c->values->p + i * 4, 4);
        return narrow;
    }
    memcpy(&wide, c->values->p + i * 8, 8);
    return wide;
}

/* The bytes of row i; false = they lie outside of the buffers. */
static bool text_at(const struct arrow_column *c, int64_t i, struct cells_text *out)
{
    if (c->shape->layout == ARROW_FIXED) {
        *out = (struct cells_text){ (const char *)c->values->p + i * c->shape->width,
                                    (uint32_t)c->shape->width };
        return true;
    }
    if (c->shape->layout != ARROW_VIEWS) {
        int64_t from = offset_at(c, i), to = offset_at(c, i + 1);
        if (from < 0 || to < from || (uint64_t)to > c->bytes->n || to - from > UINT32_MAX)
            return false;
        *out = (struct cells_text){ (const char *)c->bytes->p + from, (uint32_t)(to - from) };
        return true;
    }
    const uint8_t *view = c->values->p + i * VIEW_BYTES;
    int32_t word[4];
    memcpy(word, view, sizeof(word));
    if (word[0] < 0)
        return false;
    *out = (struct cells_text){ (const char *)view + 4, (uint32_t)word[0] };
    if (word[0] <= VIEW_INLINE)
        return true;
    if (word[2] < 0 || (size_t)word[2] >= c->n_bytes || word[3] < 0)
        return false;
    const struct arrow_buffer *b = &c->bytes[word[2]];
    if ((size_t)word[3] > b->n || (size_t)word[0] > b->n - (size_t)word[3])
        return false;
    out->p = (const char *)b->p + word[3];
    return true;
}

/* No text has no bytes at all, so that a pointer tells it from a missing one. */
static int texts_make(const struct arrow_column *c, int64_t at, int64_t n, struct stretch *s,
                      struct err *err)
{
    for (int64_t i = 0; i < n; i++) {
        s->texts[i] = (struct cells_text){ NULL, 0 };
        if (!s->valid[i] || c->shape->layout == ARROW_NULL)
            continue;
        if (!text_at(c, at + i, &s->texts[i]))
            return err_set(err, ERR_ARG, "row %lld: its text lies outside of its buffer",
                           (long long)(at + i + 1));
    }
    return 0;
}

static void bools_make(const struct arrow_column *c, int64_t at, int64_t n, struct stretch *s,
                       struct cells *cells)
{
    static const char words[] = "false\0true\0                                ";
    static const struct cells_text texts[] = { { words, 5 }, { words + 6, 4 } };

    for (int64_t i = 0; i < n; i++)
        s->index[i] = s->valid[i] ? bit_at(c->values->p, at + i) : CELLS_MISSING_INDEX;
    cells->texts = texts;
    cells->n_texts = 2;
    cells->index = s->index;
    cells->serial = 0;
}

/* ---- places in a dictionary ---- */

static int places_make(const struct arrow_column *c, int64_t at, int64_t n, struct stretch *s,
                       struct cells *cells, struct err *err)
{
    const struct arrow_dictionary *d = c->dictionary;

    ints_widen(c->shape, c->values->p + (size_t)at * (size_t)c->shape->width, n, s->ints);
    for (int64_t i = 0; i < n; i++) {
        bool is_in = s->ints[i] >= 0 && (uint64_t)s->ints[i] < d->n;
        if (s->valid[i] && !is_in)
            return err_set(err, ERR_ARG, "row %lld: value %lld of a dictionary of %zu",
                           (long long)(at + i + 1), (long long)s->ints[i], d->n);
        s->index[i] = s->valid[i] ? (uint32_t)s->ints[i] : CELLS_MISSING_INDEX;
    }
    cells->kind = d->kind;
    if (d->kind != CELLS_TEXTS) {
        for (int64_t i = 0; i < n; i++)
            s->numbers[i] = s->valid[i] ? d->numbers[s->index[i]] : (double)NAN;
        cells->numbers = s->numbers;
        return 0;
    }
    cells->texts = d->texts;
    cells->n_texts = (uint32_t)d->n;
    cells->index = s->index;
    cells->serial = d->serial;
    return 0;
}

static int stretch_give(const struct arrow_column *c, int col, int64_t at, int64_t n,
                        struct stretch *s, cells_take *take, void *ctx, struct err *err)
{
    struct cells cells = { .kind = c->kind, .n = n };
    int rc = 0;

    memset(s->valid, 1, (size_t)n);
    for (int64_t i = 0; i < n && c->valid->n > 0; i++)
        s->valid[i] = bit_at(c->valid->p, at + i);
    if (c->dictionary) {
        rc = places_make(c, at, n, s, &cells, err);
    } else if (c->shape->layout == ARROW_BITS) {
        bools_make(c, at, n, s, &cells);
    } else if (c->kind == CELLS_TEXTS) {
        rc = texts_make(c, at, n, s, err);
        cells.texts = s->texts;
    } else {
        numbers_make(c, at, n, s);
        cells.numbers = s->numbers;
    }
    return rc == 0 ? take(ctx, col, &cells, err) : rc;
}

int arrow_column_give(const struct arrow_column *c, int col, cells_take *take, void *ctx,
                      struct err *err)
{
    /* Numbers are made from zeros where a layout could not give any. */
    struct stretch s = { 0 };

    if (lengths_check(c, err) < 0)
        return -1;
    for (int64_t at = 0; at < c->rows; at += STRETCH) {
        int64_t n = MIN(c->rows - at, STRETCH);
        if (stretch_give(c, col, at, n, &s, take, ctx, err) < 0)
            return -1;
    }
    return 0;
}
