/* buf.c - see buf.h. Growing uses realloc directly rather than mem_resize, because running out of
 * memory for data must be an error, not the end of the process. */
#include "base/buf.h"

#include "base/fault.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A buffer with a sink passes its bytes on from this length: writes stay large, memory small. */
#define SINK_BYTES ((size_t)64 << 10)

void buf_init(struct buf *b, size_t max)
{
    memset(b, 0, sizeof *b);
    b->max = max;
}

void buf_init_sink(struct buf *b, size_t max, buf_sink_fn *sink, void *ctx)
{
    buf_init(b, max);
    b->sink = sink;
    b->sink_ctx = ctx;
}

int buf_flush(struct buf *b, struct err *err)
{
    CHECK(b->sink);
    if (b->len > 0 && b->sink(b->sink_ctx, b->data, b->len, err) < 0)
        return -1;
    b->passed += b->len;
    buf_clear(b);
    return 0;
}

void buf_fini(struct buf *b)
{
    mem_free(b->data);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

/* Makes room for n more bytes and the final NUL. is_exact: no room for later adds, for a caller
 * that knows the whole length. */
static int reserve(struct buf *b, size_t n, bool is_exact, struct err *err)
{
    size_t need = 0, cap = 0;
    char *data = NULL;

    CHECK(b->passed + b->len <= b->max);
    if (n > b->max - b->passed - b->len)
        return err_set(err, ERR_TOOBIG, "%zu bytes are over the limit of %zu",
                       b->passed + b->len + n, b->max);
    need = b->len + n + 1;
    if (need <= b->cap)
        return 0;
    cap = is_exact ? need : MAX(b->cap + b->cap / 2, 64);
    cap = MAX(MIN(cap, b->max + 1), need);
    data = FAULT("buf.grow") ? NULL : realloc(b->data, cap);
    if (!data)
        return err_set(err, ERR_NOMEM, "no memory for %zu bytes", cap);
    b->data = data;
    b->cap = cap;
    b->data[b->len] = '\0';
    return 0;
}

int buf_reserve(struct buf *b, size_t n, struct err *err)
{
    return reserve(b, n, true, err);
}

int buf_add(struct buf *b, const void *p, size_t n, struct err *err)
{
    if (b->sink && b->len >= SINK_BYTES && buf_flush(b, err) < 0)
        return -1;
    if (reserve(b, n, false, err) < 0)
        return -1;
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
    return 0;
}

int buf_adds(struct buf *b, const char *s, struct err *err)
{
    return buf_add(b, s, strlen(s), err);
}

int buf_addf(struct buf *b, struct err *err, const char *fmt, ...)
{
    char small[512], *text = small;
    va_list ap, again;
    int n = 0, rc = 0;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        rc = err_set(err, ERR_ARG, "cannot format '%s'", fmt);
    } else {
        if ((size_t)n >= sizeof small) {
            text = mem_alloc((size_t)n + 1);
            n = vsnprintf(text, (size_t)n + 1, fmt, again);
        }
        rc = buf_add(b, text, (size_t)n, err);
    }
    va_end(again);
    if (text != small)
        mem_free(text);
    return rc;
}

char *buf_take(struct buf *b, size_t *len)
{
    char *data = b->data ? b->data : mem_zalloc(1);

    CHECK(!b->sink); /* its first bytes are gone */
    if (len)
        *len = b->len;
    buf_init(b, b->max);
    return data;
}

/* Byte by byte, so that the files do not depend on the machine's byte order. */
static void put_le(uint8_t *out, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static int put(struct buf *b, uint64_t v, size_t n, struct err *err)
{
    uint8_t bytes[8];

    put_le(bytes, v, n);
    return buf_add(b, bytes, n, err);
}

int buf_put_u8(struct buf *b, uint8_t v, struct err *err)
{
    return put(b, v, 1, err);
}

int buf_put_u32(struct buf *b, uint32_t v, struct err *err)
{
    return put(b, v, 4, err);
}

int buf_put_u64(struct buf *b, uint64_t v, struct err *err)
{
    return put(b, v, 8, err);
}

int buf_put_f32(struct buf *b, float v, struct err *err)
{
    uint32_t bits = 0;

    memcpy(&bits, &v, sizeof bits);
    return buf_put_u32(b, bits, err);
}

int buf_put_f64(struct buf *b, double v, struct err *err)
{
    uint64_t bits = 0;

    memcpy(&bits, &v, sizeof bits);
    return buf_put_u64(b, bits, err);
}

/* A text that does not fit leaves nothing behind, not even its length. */
int buf_put_str(struct buf *b, const char *s, struct err *err)
{
    size_t n = strlen(s), before = b->len;

    if (n > UINT32_MAX)
        return err_set(err, ERR_TOOBIG, "a text of %zu bytes is too long", n);
    if (buf_put_u32(b, (uint32_t)n, err) == 0 && buf_add(b, s, n, err) == 0)
        return 0;
    b->len = before;
    if (b->data)
        b->data[before] = '\0';
    return -1;
}

int view_bytes(struct view *v, const void **out, size_t n, struct err *err)
{
    if (v->pos > v->len || n > v->len - v->pos)
        return err_set(err, ERR_ARG, "data ends at byte %zu, but %zu more are needed at byte %zu",
                       v->len, n, v->pos);
    *out = n ? v->data + v->pos : (const uint8_t *)"";
    v->pos += n;
    return 0;
}

static int get(struct view *v, uint64_t *out, size_t n, struct err *err)
{
    const void *p = NULL;

    if (view_bytes(v, &p, n, err) < 0)
        return -1;
    *out = get_le(p, n);
    return 0;
}

int view_u8(struct view *v, uint8_t *out, struct err *err)
{
    uint64_t x = 0;

    if (get(v, &x, 1, err) < 0)
        return -1;
    *out = (uint8_t)x;
    return 0;
}

int view_u32(struct view *v, uint32_t *out, struct err *err)
{
    uint64_t x = 0;

    if (get(v, &x, 4, err) < 0)
        return -1;
    *out = (uint32_t)x;
    return 0;
}

int view_u64(struct view *v, uint64_t *out, struct err *err)
{
    return get(v, out, 8, err);
}

int view_f32(struct view *v, float *out, struct err *err)
{
    uint32_t bits = 0;

    if (view_u32(v, &bits, err) < 0)
        return -1;
    memcpy(out, &bits, sizeof *out);
    return 0;
}

int view_f64(struct view *v, double *out, struct err *err)
{
    uint64_t bits = 0;

    if (view_u64(v, &bits, err) < 0)
        return -1;
    memcpy(out, &bits, sizeof *out);
    return 0;
}

int view_str(struct view *v, char **out, size_t max, struct err *err)
{
    size_t start = v->pos;
    const void *p = NULL;
    uint32_t n = 0;
    char *s = NULL;

    if (view_u32(v, &n, err) < 0)
        return -1;
    if (n > max) {
        v->pos = start;
        return err_set(err, ERR_ARG, "text of %u bytes at byte %zu: at most %zu", n, start, max);
    }
    if (view_bytes(v, &p, n, err) < 0) {
        v->pos = start;
        return -1;
    }
    if (n && memchr(p, 0, n)) {
        v->pos = start;
        return err_set(err, ERR_ARG, "text at byte %zu holds a NUL", start);
    }
    s = mem_alloc((size_t)n + 1);
    memcpy(s, p, n);
    s[n] = '\0';
    *out = s;
    return 0;
}
