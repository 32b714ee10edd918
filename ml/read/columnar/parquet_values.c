/* parquet_values.c - see parquet_values.h. Called by parquet.c. */
#include "ml/read/columnar/parquet_values.h"

#include "base/mem.h"

#include <string.h>

enum { SPLIT_BYTES = 1 << 20, MADE_BYTES = 16 << 20, MADE_FEW = 16 };

static int short_page(struct err *err)
{
    return err_set(err, ERR_ARG, "it holds fewer values than it says");
}

/* Bytes of a value in the file; 0 = they vary. */
static size_t width_of(const struct parquet_col *col)
{
    static const uint8_t widths[] = { [PQ_INT32] = 4, [PQ_INT64] = 8,  [PQ_INT96] = 12,
                                      [PQ_FLOAT] = 4, [PQ_DOUBLE] = 8, [PQ_FIXED] = 0 };

    return col->type == PQ_FIXED   ? (size_t)col->width
           : col->type == PQ_BYTES ? 0
                                   : widths[col->type];
}

static bool fits(const struct parquet_col *col, int encoding)
{
    enum parquet_type t = col->type;

    switch (encoding) {
    case PQ_PLAIN:
        return true;
    case PQ_RLE:
        return t == PQ_BOOLEAN;
    case PQ_DELTA_BINARY_PACKED:
        return t == PQ_INT32 || t == PQ_INT64;
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
        return t == PQ_BYTES;
    case PQ_DELTA_BYTE_ARRAY:
        return t == PQ_BYTES || t == PQ_FIXED;
    case PQ_BYTE_STREAM_SPLIT:
        return t != PQ_BYTES && t != PQ_BOOLEAN && t != PQ_INT96;
    default:
        return false;
    }
}

/* The lengths of all texts come before the texts, so they are passed over to find these. */
static bool lengths_start(struct delta *d, const uint8_t **p, const uint8_t *end, int64_t values,
                          uint64_t *sum)
{
    struct delta pass;

    if (!delta_init(d, *p, end))
        return false;
    pass = *d;
    if (!delta_pass(&pass, values, sum))
        return false;
    *p = pass.p;
    return true;
}

static bool texts_start(struct parquet_values *v, int64_t values)
{
    uint64_t prefix_sum = 0, suffix_sum = 0;

    if (v->encoding == PQ_DELTA_BYTE_ARRAY &&
        !lengths_start(&v->prefixes, &v->p, v->end, values, &prefix_sum))
        return false;
    if (!lengths_start(&v->delta, &v->p, v->end, values, &suffix_sum))
        return false;
    v->last_at = v->last_n = 0;
    if (v->encoding == PQ_DELTA_BYTE_ARRAY && prefix_sum + suffix_sum > MADE_BYTES)
        v->most = MADE_FEW;
    return suffix_sum <= (uint64_t)(v->end - v->p);
}

static bool start(struct parquet_values *v, int64_t values)
{
    size_t width = width_of(v->col);
    uint32_t n;

    switch (v->encoding) {
    case PQ_RLE:
        if (v->end - v->p < 4)
            return false;
        memcpy(&n, v->p, 4);
        v->p += 4;
        if (n > (size_t)(v->end - v->p))
            return false;
        rle_init(&v->rle, v->p, v->p + n, 1);
        return true;
    case PQ_DELTA_BINARY_PACKED:
        return delta_init(&v->delta, v->p, v->end);
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
    case PQ_DELTA_BYTE_ARRAY:
        return texts_start(v, values);
    case PQ_BYTE_STREAM_SPLIT:
        v->split_n = (v->end - v->p) / (long)width;
        v->split_at = 0;
        v->most = MAX(1, MIN(v->most, SPLIT_BYTES / (int64_t)width));
        return (size_t)(v->end - v->p) % width == 0;
    default:
        return true;
    }
}

int parquet_values_start(struct parquet_values *v, const struct parquet_col *col,
                         const struct parquet_page *page, struct err *err)
{
    v->col = col;
    v->encoding = page->encoding;
    v->p = page->p;
    v->end = page->end;
    v->bit = 0;
    v->most = PARQUET_STRETCH;
    if (!fits(col, v->encoding))
        return err_set(err, ERR_ARG, "encoding %d is not one of this type", v->encoding);
    return start(v, page->values) ? 0 : err_set(err, ERR_ARG, "its values are damaged");
}

void parquet_values_fini(struct parquet_values *v)
{
    mem_try_free(v->made);
    v->made = NULL;
    v->made_cap = 0;
}

/* ---- whole numbers and booleans ---- */

static void split_take(struct parquet_values *v, int64_t n, size_t width, uint8_t *out)
{
    for (size_t k = 0; k < width; k++) {
        const uint8_t *from = v->p + k * (size_t)v->split_n + (size_t)v->split_at;
        for (int64_t i = 0; i < n; i++)
            out[(size_t)i * width + k] = from[i];
    }
    v->split_at += n;
}

/* The bytes of n values of a fixed width: in the page, or put together in `room`. NULL = there are
 * fewer. */
static const uint8_t *fixed_take(struct parquet_values *v, int64_t n, size_t width, uint8_t *room)
{
    const uint8_t *p = v->p;

    if (v->encoding == PQ_BYTE_STREAM_SPLIT) {
        if (n > v->split_n - v->split_at)
            return NULL;
        split_take(v, n, width, room);
        return room;
    }
    if ((uint64_t)n > (uint64_t)(v->end - v->p) / width)
        return NULL;
    v->p += (size_t)n * width;
    return p;
}

static bool ints_take(struct parquet_values *v, int64_t n, int64_t *out)
{
    uint8_t room[PARQUET_STRETCH * 8];

    if (v->encoding == PQ_DELTA_BINARY_PACKED) {
        if (!delta_take(&v->delta, n, out))
            return false;
        for (int64_t i = 0; i < n && v->col->type == PQ_INT32; i++)
            out[i] = (int32_t)out[i];
        return true;
    }
    const uint8_t *p = fixed_take(v, n, v->col->type == PQ_INT32 ? 4 : 8, room);
    if (!p)
        return false;
    if (v->col->type == PQ_INT64) {
        memcpy(out, p, (size_t)n * sizeof(*out));
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t x;
        memcpy(&x, p + i * 4, sizeof(x));
        out[i] = x;
    }
    return true;
}

int parquet_values_bools(struct parquet_values *v, int64_t n, uint32_t *out, struct err *err)
{
    if (v->encoding == PQ_RLE)
        return rle_take(&v->rle, n, out) ? 0 : short_page(err);
    if (v->bit + (uint64_t)n > (uint64_t)(v->end - v->p) * 8)
        return short_page(err);
    for (int64_t i = 0; i < n; i++, v->bit++)
        out[i] = v->p[v->bit >> 3] >> (v->bit & 7) & 1;
    return 0;
}

/* ---- floating point ---- */

static bool reals_take(struct parquet_values *v, int64_t n, double *out)
{
    uint8_t room[PARQUET_STRETCH * 8];
    const uint8_t *p = fixed_take(v, n, v->col->type == PQ_FLOAT ? 4 : 8, room);

    if (!p)
        return false;
    if (v->col->type == PQ_DOUBLE) {
        memcpy(out, p, (size_t)n * sizeof(*out));
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, p + i * 4, sizeof(x));
        out[i] = (double)x;
    }
    return true;
}

/* ---- bytes ---- */

/* Makes room for `need` bytes behind the last text, which moves to the front. */
static int made_room(struct parquet_values *v, size_t need, struct err *err)
{
    if (v->last_n + need + CELLS_PAD > v->made_cap) {
        size_t cap = MAX(v->last_n + need + CELLS_PAD, v->made_cap * 2);
        char *made = mem_try_alloc(cap);
        if (!made)
            return err_set(err, ERR_NOMEM, "no memory for %zu bytes of texts", need);
        if (v->last_n)
            memcpy(made, v->made + v->last_at, v->last_n);
        mem_try_free(v->made);
        v->made = made;
        v->made_cap = cap;
    } else if (v->last_n) {
        memmove(v->made, v->made + v->last_at, v->last_n);
    }
    v->last_at = 0;
    return 0;
}

/* Texts that begin as the one before does. */
static int shared_take(struct parquet_values *v, int64_t n, struct cells_text *out, struct err *err)
{
    int64_t prefix[PARQUET_STRETCH], suffix[PARQUET_STRETCH];
    size_t total = 0, last = v->last_n;

    if (!delta_take(&v->prefixes, n, prefix) || !delta_take(&v->delta, n, suffix))
        return short_page(err);
    for (int64_t i = 0; i < n; i++) {
        if (prefix[i] < 0 || suffix[i] < 0 || (uint64_t)prefix[i] > last)
            return err_set(err, ERR_ARG, "a text shares more than the one before it has");
        last = (size_t)(prefix[i] + suffix[i]);
        if (last > PARQUET_MAX_TEXT)
            return err_set(err, ERR_TOOBIG, "a text of %zu bytes is over the limit of %d", last,
                           PARQUET_MAX_TEXT);
        total += last;
    }
    if (made_room(v, total, err) < 0)
        return -1;
    char *to = v->made + v->last_n;
    for (int64_t i = 0; i < n; i++) {
        size_t shared = (size_t)prefix[i], own = (size_t)suffix[i];
        if (own > (size_t)(v->end - v->p))
            return short_page(err);
        memmove(to, v->made + v->last_at, shared);
        memcpy(to + shared, v->p, own);
        v->p += own;
        v->last_at = (size_t)(to - v->made);
        v->last_n = shared + own;
        out[i] = (struct cells_text){ to, (uint32_t)v->last_n };
        to += v->last_n;
    }
    memset(to, 0, CELLS_PAD);
    return 0;
}

static int lengths_take(struct parquet_values *v, int64_t n, struct cells_text *out,
                        struct err *err)
{
    int64_t length[PARQUET_STRETCH];

    if (!delta_take(&v->delta, n, length))
        return short_page(err);
    for (int64_t i = 0; i < n; i++) {
        if (length[i] < 0 || length[i] > v->end - v->p)
            return short_page(err);
        out[i] = (struct cells_text){ (const char *)v->p, (uint32_t)length[i] };
        v->p += length[i];
    }
    return 0;
}

static int plain_take(struct parquet_values *v, int64_t n, struct cells_text *out, struct err *err)
{
    const uint8_t *p = v->p, *end = v->end;
    uint32_t len;

    for (int64_t i = 0; i < n; i++) {
        if (end - p < 4)
            return short_page(err);
        memcpy(&len, p, 4);
        p += 4;
        if (len > (size_t)(end - p))
            return short_page(err);
        out[i] = (struct cells_text){ (const char *)p, len };
        p += len;
    }
    v->p = p;
    return 0;
}

static int fixed_texts(struct parquet_values *v, int64_t n, struct cells_text *out, struct err *err)
{
    size_t width = width_of(v->col);
    const uint8_t *p;

    v->last_n = 0;
    if (v->encoding == PQ_BYTE_STREAM_SPLIT && made_room(v, (size_t)n * width, err) < 0)
        return -1;
    p = fixed_take(v, n, width, (uint8_t *)v->made);
    if (!p)
        return short_page(err);
    for (int64_t i = 0; i < n; i++)
        out[i] = (struct cells_text){ (const char *)p + (size_t)i * width, (uint32_t)width };
    return 0;
}

int parquet_values_texts(struct parquet_values *v, int64_t n, struct cells_text *out,
                         struct err *err)
{
    size_t width = width_of(v->col);

    CHECK(n <= v->most);
    if (v->encoding == PQ_DELTA_BYTE_ARRAY) {
        if (shared_take(v, n, out, err) < 0)
            return -1;
        for (int64_t i = 0; i < n && width; i++) {
            if (out[i].n != width)
                return err_set(err, ERR_ARG, "a value of %u bytes where all have %zu", out[i].n,
                               width);
        }
        return 0;
    }
    if (v->encoding == PQ_DELTA_LENGTH_BYTE_ARRAY)
        return lengths_take(v, n, out, err);
    return width ? fixed_texts(v, n, out, err) : plain_take(v, n, out, err);
}

int parquet_values_numbers(struct parquet_values *v, int64_t n, double *out, struct err *err)
{
    int64_t ints[PARQUET_STRETCH];
    struct cells_text texts[PARQUET_STRETCH];

    CHECK(n <= v->most);
    switch (v->col->type) {
    case PQ_INT32:
    case PQ_INT64:
        if (!ints_take(v, n, ints))
            return short_page(err);
        logical_ints(&v->col->logical, ints, n, out);
        return 0;
    case PQ_FLOAT:
    case PQ_DOUBLE:
        return reals_take(v, n, out) ? 0 : short_page(err);
    default:
        if (parquet_values_texts(v, n, texts, err) < 0)
            return -1;
        for (int64_t i = 0; i < n; i++)
            out[i] = logical_bytes(&v->col->logical, (const uint8_t *)texts[i].p, texts[i].n);
        return 0;
    }
}
