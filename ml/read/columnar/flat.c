/* flat.c - see flat.h. Called by arrow_schema.c and arrow.c. */
#include "ml/read/columnar/flat.h"

#include <string.h>

static bool within(struct flat *f, size_t at, size_t n)
{
    if (at <= f->n && n <= f->n - at)
        return true;
    f->bad = true;
    return false;
}

static uint64_t load(struct flat *f, size_t at, size_t n)
{
    uint64_t v = 0;

    if (within(f, at, n))
        memcpy(&v, f->p + at, n);
    return v;
}

/* The table whose place is `at`. Its first word leads back to the list of its fields. */
static struct flat_table table_of(struct flat *f, size_t at)
{
    struct flat_table t = { .f = f };
    int64_t fields = (int64_t)at - (int32_t)load(f, at, 4);

    if (f->bad || at == 0 || fields < 0 || (uint64_t)fields > f->n) {
        f->bad = true;
        return t;
    }
    size_t bytes = (size_t)load(f, (size_t)fields, 2);
    if (bytes < 4 || !within(f, (size_t)fields, bytes)) {
        f->bad = true;
        return t;
    }
    t.at = at;
    t.fields = (size_t)fields;
    t.fields_bytes = bytes;
    return t;
}

struct flat_table flat_root(struct flat *f)
{
    return table_of(f, (size_t)load(f, 0, 4));
}

/* The place of a field; 0 = it is not there. */
static size_t field_at(const struct flat_table *t, int field)
{
    size_t entry = 4 + 2 * (size_t)field;

    if (t->at == 0 || t->f->bad || entry + 2 > t->fields_bytes)
        return 0;
    size_t offset = (size_t)load(t->f, t->fields + entry, 2);
    return offset ? t->at + offset : 0;
}

int64_t flat_i64(const struct flat_table *t, int field, int64_t otherwise)
{
    size_t at = field_at(t, field);

    return at ? (int64_t)load(t->f, at, 8) : otherwise;
}

int64_t flat_i32(const struct flat_table *t, int field, int64_t otherwise)
{
    size_t at = field_at(t, field);

    return at ? (int32_t)load(t->f, at, 4) : otherwise;
}

int64_t flat_i16(const struct flat_table *t, int field, int64_t otherwise)
{
    size_t at = field_at(t, field);

    return at ? (int16_t)load(t->f, at, 2) : otherwise;
}

int64_t flat_u8(const struct flat_table *t, int field, int64_t otherwise)
{
    size_t at = field_at(t, field);

    return at ? (int64_t)load(t->f, at, 1) : otherwise;
}

/* Follows an offset, which always leads forward. */
static size_t follow(struct flat *f, size_t at)
{
    size_t to = at + (size_t)load(f, at, 4);

    if (!within(f, to, 4))
        return 0;
    return to;
}

struct flat_table flat_table(const struct flat_table *t, int field)
{
    size_t at = field_at(t, field);
    size_t to = at ? follow(t->f, at) : 0;

    return to ? table_of(t->f, to) : (struct flat_table){ .f = t->f };
}

struct flat_vector flat_vector(const struct flat_table *t, int field, size_t element)
{
    struct flat_vector v = { .f = t->f };
    size_t at = field_at(t, field);
    size_t to = at ? follow(t->f, at) : 0;

    if (!to)
        return v;
    size_t n = (size_t)load(t->f, to, 4);
    if (n > t->f->n / element || !within(t->f, to + 4, n * element)) {
        t->f->bad = true;
        return v;
    }
    v.at = to + 4;
    v.n = n;
    return v;
}

const char *flat_text(const struct flat_table *t, int field, size_t *n)
{
    struct flat_vector v = flat_vector(t, field, 1);

    *n = v.n;
    return v.at ? (const char *)t->f->p + v.at : NULL;
}

struct flat_table flat_table_at(const struct flat_vector *v, size_t i)
{
    size_t to = i < v->n ? follow(v->f, v->at + 4 * i) : 0;

    return to ? table_of(v->f, to) : (struct flat_table){ .f = v->f };
}

int64_t flat_i64_at(const struct flat_vector *v, size_t i)
{
    return (int64_t)load(v->f, v->at + 8 * i, 8);
}
