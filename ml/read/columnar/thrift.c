/* thrift.c - see thrift.h. Called by parquet_meta.c and parquet_page.c. */
#include "ml/read/columnar/thrift.h"

/* Deeper structures do not occur in Parquet's metadata. */
enum { MAX_DEPTH = 24 };

static uint64_t varint(struct thrift *t)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && t->p < t->end; shift += 7) {
        uint8_t b = *t->p++;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
    t->bad = true;
    t->p = t->end;
    return 0;
}

static int64_t zigzag(struct thrift *t)
{
    uint64_t v = varint(t);

    return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

bool thrift_next(struct thrift *t, struct thrift_field *f)
{
    if (t->p == t->end)
        t->bad = true;
    if (t->bad)
        return false;
    uint8_t b = *t->p++;
    f->type = (enum thrift_type)(b & 15);
    if (b == THRIFT_STOP)
        return false;
    if (f->type == THRIFT_STOP || f->type > THRIFT_STRUCT) {
        t->bad = true;
        return false;
    }
    int64_t id = b >> 4 ? f->id + (b >> 4) : zigzag(t);
    if (id < 0 || id > INT16_MAX)
        t->bad = true;
    f->id = (int)id;
    return !t->bad;
}

static bool is_int(enum thrift_type type)
{
    return type >= THRIFT_I8 && type <= THRIFT_I64;
}

int64_t thrift_int(struct thrift *t, const struct thrift_field *f)
{
    if (!is_int(f->type)) {
        thrift_skip(t, f->type);
        return 0;
    }
    if (f->type != THRIFT_I8)
        return zigzag(t);
    if (t->p == t->end) {
        t->bad = true;
        return 0;
    }
    return (int8_t)*t->p++;
}

bool thrift_bool(const struct thrift_field *f)
{
    return f->type == THRIFT_TRUE;
}

static const uint8_t *binary(struct thrift *t, size_t *n)
{
    uint64_t len = varint(t);

    *n = 0;
    if (t->bad || len > (uint64_t)(t->end - t->p)) {
        t->bad = true;
        return t->p;
    }
    *n = (size_t)len;
    t->p += len;
    return t->p - len;
}

const uint8_t *thrift_binary(struct thrift *t, const struct thrift_field *f, size_t *n)
{
    if (f->type == THRIFT_BINARY)
        return binary(t, n);
    thrift_skip(t, f->type);
    *n = 0;
    return t->p;
}

static size_t list_head(struct thrift *t, enum thrift_type *element)
{
    uint64_t n;

    *element = THRIFT_STOP;
    if (t->p == t->end) {
        t->bad = true;
        return 0;
    }
    uint8_t b = *t->p++;
    *element = (enum thrift_type)(b & 15);
    n = b >> 4 == 15 ? varint(t) : b >> 4;
    /* Each element takes a byte at least. */
    if (n > (uint64_t)(t->end - t->p) || *element > THRIFT_STRUCT ||
        (n > 0 && *element == THRIFT_STOP))
        t->bad = true;
    return t->bad ? 0 : (size_t)n;
}

size_t thrift_list(struct thrift *t, const struct thrift_field *f, enum thrift_type *element)
{
    *element = THRIFT_STOP;
    if (f->type == THRIFT_LIST || f->type == THRIFT_SET)
        return list_head(t, element);
    thrift_skip(t, f->type);
    return 0;
}

static void skip(struct thrift *t, enum thrift_type type, bool is_element, int depth);

static void skip_struct(struct thrift *t, int depth)
{
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f))
        skip(t, f.type, false, depth + 1);
}

static void skip_map(struct thrift *t, int depth)
{
    uint64_t n = varint(t);

    if (n == 0)
        return;
    if (t->p == t->end || n > (uint64_t)(t->end - t->p)) {
        t->bad = true;
        return;
    }
    uint8_t types = *t->p++;
    for (uint64_t i = 0; i < n && !t->bad; i++) {
        skip(t, (enum thrift_type)(types >> 4), true, depth + 1);
        skip(t, (enum thrift_type)(types & 15), true, depth + 1);
    }
}

static void skip_bytes(struct thrift *t, size_t n)
{
    if ((size_t)(t->end - t->p) < n)
        t->bad = true;
    else
        t->p += n;
}

/* A boolean field lies in the field's type; as an element of a list it is a byte. */
static void skip(struct thrift *t, enum thrift_type type, bool is_element, int depth)
{
    enum thrift_type element;
    size_t n;

    if (depth > MAX_DEPTH)
        t->bad = true;
    if (t->bad)
        return;
    if (type == THRIFT_TRUE || type == THRIFT_FALSE) {
        skip_bytes(t, is_element);
    } else if (type == THRIFT_I8) {
        skip_bytes(t, 1);
    } else if (is_int(type)) {
        (void)varint(t);
    } else if (type == THRIFT_DOUBLE) {
        skip_bytes(t, 8);
    } else if (type == THRIFT_BINARY) {
        (void)binary(t, &n);
    } else if (type == THRIFT_LIST || type == THRIFT_SET) {
        n = list_head(t, &element);
        for (size_t i = 0; i < n && !t->bad; i++)
            skip(t, element, true, depth + 1);
    } else if (type == THRIFT_MAP) {
        skip_map(t, depth);
    } else if (type == THRIFT_STRUCT) {
        skip_struct(t, depth);
    } else {
        t->bad = true;
    }
}

void thrift_skip(struct thrift *t, enum thrift_type type)
{
    skip(t, type, false, 0);
}
