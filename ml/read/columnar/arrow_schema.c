/* arrow_schema.c - see arrow_schema.h. The numbers are those of Arrow's Schema.fbs. Called by
 * arrow.c. */
#include "ml/read/columnar/arrow_schema.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

enum { MAX_COLS = 100000, MAX_FIELDS = 200000, MAX_DEPTH = 32 };

/* Field and KeyValue of Schema.fbs. */
enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_TYPE, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN };

enum {
    TYPE_NULL = 1,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BINARY,
    TYPE_UTF8,
    TYPE_BOOL,
    TYPE_DECIMAL,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_STAMP,
    TYPE_INTERVAL,
    TYPE_LIST,
    TYPE_STRUCT,
    TYPE_UNION,
    TYPE_FIXED_BINARY,
    TYPE_FIXED_LIST,
    TYPE_MAP,
    TYPE_DURATION,
    TYPE_LARGE_BINARY,
    TYPE_LARGE_UTF8,
    TYPE_LARGE_LIST,
    TYPE_RUN_END,
    TYPE_BINARY_VIEW,
    TYPE_UTF8_VIEW,
    TYPE_LIST_VIEW,
    TYPE_LARGE_LIST_VIEW,
    TYPES
};

/* Names of what is refused, and the buffers that such a field has by itself. */
static const struct {
    const char *name;
    int buffers;
} nested[TYPES] = {
    [TYPE_INTERVAL] = { "an interval", 2 }, [TYPE_LIST] = { "a list", 2 },
    [TYPE_STRUCT] = { "a struct", 1 },      [TYPE_UNION] = { "a union", 1 },
    [TYPE_FIXED_LIST] = { "a list", 1 },    [TYPE_MAP] = { "a map", 2 },
    [TYPE_LARGE_LIST] = { "a list", 2 },    [TYPE_RUN_END] = { "run-end encoded", 0 },
    [TYPE_LIST_VIEW] = { "a list", 3 },     [TYPE_LARGE_LIST_VIEW] = { "a list", 3 },
};

/* 1, 1000, 10^6 or 10^9 units a second. */
static int unit_scale(int64_t unit)
{
    return unit >= 0 && unit <= 3 ? (int)unit * 3 : -1;
}

static bool int_shape(const struct flat_table *type, struct arrow_shape *out)
{
    int64_t bits = flat_i32(type, 0, 0);

    *out = (struct arrow_shape){ ARROW_INTS, (int)(bits / 8), flat_u8(type, 1, 0) != 0 };
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static void ints_mean(struct arrow_field *f, int width, enum logical_as as, int scale)
{
    f->shape = (struct arrow_shape){ ARROW_INTS, width, true };
    f->logical = (struct logical){ as, scale };
}

static bool decimal_means(struct arrow_field *f, const struct flat_table *type)
{
    int64_t scale = flat_i32(type, 1, 0), bits = flat_i32(type, 2, 128);

    if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
        return false;
    f->shape = (struct arrow_shape){ ARROW_FIXED, (int)(bits / 8), false };
    f->logical = (struct logical){ AS_LITTLE_DECIMAL, (int)scale };
    return scale >= -LOGICAL_MAX_SCALE && scale <= LOGICAL_MAX_SCALE;
}

static bool float_means(struct arrow_field *f, const struct flat_table *type)
{
    int64_t precision = flat_i16(type, 0, 0);

    if (precision < 0 || precision > 2)
        return false;
    f->shape = (struct arrow_shape){ precision ? ARROW_REALS : ARROW_FIXED, 2 << precision, false };
    f->logical.as = precision ? AS_REAL : AS_HALF;
    return true;
}

static bool bytes_mean(struct arrow_field *f, enum arrow_layout layout, int64_t width)
{
    f->shape = (struct arrow_shape){ layout, (int)width, false };
    f->logical.as = AS_TEXT;
    return width >= 0 && width <= 1 << 20;
}

/* False = the type makes no sense. */
static bool type_means(struct arrow_field *f, int64_t type, const struct flat_table *t)
{
    int64_t unit;

    switch (type) {
    case TYPE_NULL:
        f->shape.layout = ARROW_NULL;
        f->logical.as = AS_TEXT;
        return true;
    case TYPE_INT:
        f->logical.as = AS_INT;
        if (!int_shape(t, &f->shape))
            return false;
        if (!f->shape.is_signed && f->shape.width == 8)
            f->logical.as = AS_UINT64;
        return true;
    case TYPE_FLOAT:
        return float_means(f, t);
    case TYPE_BOOL:
        f->shape.layout = ARROW_BITS;
        f->logical.as = AS_BOOL;
        return true;
    case TYPE_DECIMAL:
        return decimal_means(f, t);
    case TYPE_DATE:
        unit = flat_i16(t, 0, 1);
        ints_mean(f, unit ? 8 : 4, unit ? AS_STAMP : AS_DAYS, unit ? 3 : 0);
        return unit == 0 || unit == 1;
    case TYPE_TIME:
        ints_mean(f, flat_i32(t, 1, 32) == 64 ? 8 : 4, AS_TIME, unit_scale(flat_i16(t, 0, 1)));
        return f->logical.scale >= 0;
    case TYPE_STAMP:
    case TYPE_DURATION:
        ints_mean(f, 8, type == TYPE_STAMP ? AS_STAMP : AS_DURATION,
                  unit_scale(flat_i16(t, 0, type == TYPE_STAMP ? 0 : 1)));
        return f->logical.scale >= 0;
    case TYPE_FIXED_BINARY:
        return bytes_mean(f, ARROW_FIXED, flat_i32(t, 0, 0));
    case TYPE_BINARY:
    case TYPE_UTF8:
        return bytes_mean(f, ARROW_TEXT32, 0);
    case TYPE_LARGE_BINARY:
    case TYPE_LARGE_UTF8:
        return bytes_mean(f, ARROW_TEXT64, 0);
    case TYPE_BINARY_VIEW:
    case TYPE_UTF8_VIEW:
        return bytes_mean(f, ARROW_VIEWS, 0);
    default:
        f->shape.layout = ARROW_NESTED;
        return type > 0 && type < TYPES && nested[type].name;
    }
}

/* Counts what a field and all below it take of a batch. */
static void count(struct arrow_field *sum, const struct flat_table *field, int depth, int *seen)
{
    struct arrow_field own = { 0 };
    int64_t type = flat_u8(field, FIELD_TYPE_TYPE, 0);
    struct flat_table t = flat_table(field, FIELD_TYPE),
                      dictionary = flat_table(field, FIELD_DICTIONARY);
    struct flat_vector children = flat_vector(field, FIELD_CHILDREN, 4);

    if (depth > MAX_DEPTH || ++*seen > MAX_FIELDS || !type_means(&own, type, &t))
        field->f->bad = true;
    if (field->f->bad)
        return;
    sum->nodes++;
    if (dictionary.at) {
        sum->buffers += 2;
        return;
    }
    sum->views += own.shape.layout == ARROW_VIEWS;
    if (own.shape.layout == ARROW_NESTED)
        sum->buffers += nested[type].buffers;
    else if (own.shape.layout != ARROW_NULL)
        sum->buffers +=
            own.shape.layout == ARROW_TEXT32 || own.shape.layout == ARROW_TEXT64 ? 3 : 2;
    /* Dense unions have offsets too. */
    if (type == TYPE_UNION)
        sum->buffers += flat_i16(&t, 0, 0) == 1;
    for (size_t i = 0; i < children.n && !field->f->bad; i++) {
        struct flat_table child = flat_table_at(&children, i);
        count(sum, &child, depth + 1, seen);
    }
}

static int name_read(struct cells_col *name, const struct flat_table *field, int i, struct err *err)
{
    size_t n = 0;
    const char *text = flat_text(field, FIELD_NAME, &n);

    if (!text || n == 0 || memchr(text, 0, n) || !utf8_ok(text, n))
        return err_set(err, ERR_ARG, "the name of column %d is not valid text", i + 1);
    name->name = mem_alloc(n + 1);
    memcpy(name->name, text, n);
    name->name[n] = 0;
    name->is_index = str_starts(name->name, "__index_level_");
    return 0;
}

static int field_read(struct cells_col *name, struct arrow_field *f, const struct flat_table *field,
                      int i, int *seen, struct err *err)
{
    int64_t type = flat_u8(field, FIELD_TYPE_TYPE, 0);
    struct flat_table t = flat_table(field, FIELD_TYPE),
                      dictionary = flat_table(field, FIELD_DICTIONARY);

    if (name_read(name, field, i, err) < 0)
        return -1;
    if (!type_means(f, type, &t) || field->f->bad)
        return err_set(err, ERR_ARG, "column \"%.100s\" has a type that makes no sense",
                       name->name);
    if (f->shape.layout == ARROW_NESTED)
        name->refused = nested[type].name;
    name->kind = logical_kind(&f->logical);
    if (dictionary.at) {
        struct flat_table places = flat_table(&dictionary, 1);
        f->has_dictionary = true;
        f->dictionary = flat_i64(&dictionary, 0, 0);
        f->places = (struct arrow_shape){ ARROW_INTS, 4, true };
        if (places.at && !int_shape(&places, &f->places))
            field->f->bad = true;
    }
    count(f, field, 0, seen);
    return field->f->bad
               ? err_set(err, ERR_ARG, "column \"%.100s\": the schema is damaged", name->name)
               : 0;
}

int arrow_schema_read(struct arrow_schema *s, const struct flat_table *table, struct err *err)
{
    struct flat_vector fields = flat_vector(table, 1, 4);
    int seen = 0;

    if (flat_i16(table, 0, 0) != 0)
        return err_set(err, ERR_ARG, "its numbers are big-endian, which is not supported");
    if (table->f->bad || fields.n == 0)
        return err_set(err, ERR_ARG, fields.n ? "the schema is damaged" : "it has no columns");
    if (fields.n > MAX_COLS)
        return err_set(err, ERR_TOOBIG, "more than %d columns", MAX_COLS);
    s->names = mem_array(fields.n, sizeof(*s->names));
    s->fields = mem_array(fields.n, sizeof(*s->fields));
    for (s->n = 0; s->n < (int)fields.n; s->n++) {
        struct flat_table field = flat_table_at(&fields, (size_t)s->n);
        if (field_read(&s->names[s->n], &s->fields[s->n], &field, s->n, &seen, err) < 0) {
            s->n++;
            return -1;
        }
    }
    return 0;
}

void arrow_schema_fini(struct arrow_schema *s)
{
    for (int i = 0; i < s->n; i++)
        mem_free(s->names[i].name);
    mem_free(s->names);
    mem_free(s->fields);
    *s = (struct arrow_schema){ 0 };
}
