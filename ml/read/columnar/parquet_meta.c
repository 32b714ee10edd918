/* parquet_meta.c - see parquet_meta.h. The numbers of fields and of enumerations are those of
 * parquet.thrift. Called by parquet.c. */
#include "ml/read/columnar/parquet_meta.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* TAIL: the length of the footer and the magic. */
enum { TAIL_BYTES = 8, MAX_FOOTER = 1 << 30, MAX_COLS = 100000, MAX_WIDTH = 1 << 20 };

/* ---- one element of the schema ---- */

enum repetition { REQUIRED, OPTIONAL, REPEATED };

struct element {
    const uint8_t *name;
    size_t name_bytes;
    /* -1 = a group of others */
    int64_t type;
    int64_t width, repetition, children;
    /* ConvertedType, the older way to say what values mean; -1 = none */
    int64_t converted, scale;
    /* the field of the union LogicalType; 0 = none */
    int logical;
    int64_t unit, bits;
    bool is_signed;
};

static void unit_read(struct thrift *t, struct element *e)
{
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        e->unit = f.id;
        thrift_skip(t, f.type);
    }
}

static void logical_struct(struct thrift *t, struct element *e)
{
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        if (e->logical == 5 && f.id == 1)
            e->scale = thrift_int(t, &f);
        else if ((e->logical == 7 || e->logical == 8) && f.id == 2 && f.type == THRIFT_STRUCT)
            unit_read(t, e);
        else if (e->logical == 10 && f.id == 1)
            e->bits = thrift_int(t, &f);
        else if (e->logical == 10 && f.id == 2)
            e->is_signed = thrift_bool(&f);
        else
            thrift_skip(t, f.type);
    }
}

static void logical_read(struct thrift *t, struct element *e)
{
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        e->logical = f.id;
        if (f.type == THRIFT_STRUCT)
            logical_struct(t, e);
        else
            thrift_skip(t, f.type);
    }
}

static struct element element_read(struct thrift *t)
{
    struct element e = { .type = -1, .converted = -1, .is_signed = true };
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            e.type = thrift_int(t, &f);
            break;
        case 2:
            e.width = thrift_int(t, &f);
            break;
        case 3:
            e.repetition = thrift_int(t, &f);
            break;
        case 4:
            e.name = thrift_binary(t, &f, &e.name_bytes);
            break;
        case 5:
            e.children = thrift_int(t, &f);
            break;
        case 6:
            e.converted = thrift_int(t, &f);
            break;
        case 7:
            e.scale = thrift_int(t, &f);
            break;
        case 10:
            if (f.type == THRIFT_STRUCT)
                logical_read(t, &e);
            else
                thrift_skip(t, f.type);
            break;
        default:
            thrift_skip(t, f.type);
        }
    }
    return e;
}

/* ---- what a leaf means ---- */

/* Seconds are divided by 10^3, 10^6 or 10^9. */
static int unit_scale(int64_t unit)
{
    return unit >= 1 && unit <= 3 ? (int)unit * 3 : -1;
}

static struct logical int_means(const struct element *e)
{
    int64_t c = e->converted;
    bool is_wide = e->type == PQ_INT64;

    if (e->logical == 5 || (!e->logical && c == 5))
        return (struct logical){ AS_DECIMAL, (int)e->scale };
    if (e->logical == 6 || (!e->logical && c == 6))
        return (struct logical){ AS_DAYS, 0 };
    if (e->logical == 7 || e->logical == 8)
        return (struct logical){ e->logical == 7 ? AS_TIME : AS_STAMP, unit_scale(e->unit) };
    if (!e->logical && c >= 7 && c <= 10)
        return (struct logical){ c < 9 ? AS_TIME : AS_STAMP, c % 2 ? 3 : 6 };
    if ((e->logical == 10 && !e->is_signed) || (!e->logical && c >= 11 && c <= 14))
        return (struct logical){ is_wide ? AS_UINT64 : AS_UINT32, 0 };
    return (struct logical){ AS_INT, 0 };
}

static struct logical bytes_mean(const struct element *e, const char **refused)
{
    if (e->logical == 5 || (!e->logical && e->converted == 5))
        return (struct logical){ AS_BIG_DECIMAL, (int)e->scale };
    if (e->logical == 14 && e->type == PQ_FIXED && e->width == 16)
        return (struct logical){ AS_UUID, 0 };
    if (e->logical == 15 && e->type == PQ_FIXED && e->width == 2)
        return (struct logical){ AS_HALF, 0 };
    if (e->converted == 21)
        *refused = "an interval";
    if (e->logical == 13 || e->converted == 20)
        *refused = "BSON";
    if (e->logical >= 16)
        *refused = e->logical == 16 ? "a variant" : "geometry";
    return (struct logical){ *refused ? AS_REFUSED : AS_TEXT, 0 };
}

static void leaf_means(const struct element *e, struct parquet_col *col, struct cells_col *name)
{
    col->type = (enum parquet_type)e->type;
    col->width = (int)e->width;
    col->is_optional = e->repetition == OPTIONAL;
    switch (col->type) {
    case PQ_BOOLEAN:
        col->logical.as = AS_BOOL;
        break;
    case PQ_INT32:
    case PQ_INT64:
        col->logical = int_means(e);
        break;
    case PQ_INT96:
        col->logical.as = AS_INT96;
        break;
    case PQ_FLOAT:
    case PQ_DOUBLE:
        col->logical.as = AS_REAL;
        break;
    default:
        col->logical = bytes_mean(e, &name->refused);
    }
    if (col->logical.scale < 0 || col->logical.scale > LOGICAL_MAX_SCALE)
        name->refused = "a type with an impossible scale";
    if (e->repetition == REPEATED)
        name->refused = "a list";
    name->kind = logical_kind(&col->logical);
}

static const char *group_refused(const struct element *e)
{
    if (e->logical == 3 || e->converted == 3)
        return "a list";
    if (e->logical == 2 || e->converted == 1 || e->converted == 2)
        return "a map";
    return "a struct";
}

/* ---- the schema ---- */

static int name_check(const struct element *e, struct err *err)
{
    if (e->name_bytes == 0 || memchr(e->name, 0, e->name_bytes) ||
        !utf8_ok((const char *)e->name, e->name_bytes))
        return err_set(err, ERR_ARG, "the name of a column is not valid text");
    return 0;
}

static struct parquet_col *col_add(struct parquet_meta *m, const struct element *e)
{
    int cap = m->cap_cols;

    MEM_GROW(m->cols, m->n_cols, cap);
    MEM_GROW(m->names, m->n_cols, m->cap_cols);
    char *name = mem_alloc(e->name_bytes + 1);
    memcpy(name, e->name, e->name_bytes);
    name[e->name_bytes] = 0;
    m->names[m->n_cols] =
        (struct cells_col){ .name = name, .is_index = str_starts(name, "__index_level_") };
    m->cols[m->n_cols] = (struct parquet_col){ .leaf = m->n_leaves };
    return &m->cols[m->n_cols++];
}

/* Passes over a column's children, and counts those of them that are leaves. */
static int children_pass(struct parquet_meta *m, struct thrift *t, size_t *left, int64_t children,
                         struct err *err)
{
    while (children > 0 && *left > 0) {
        struct element e = element_read(t);
        if (t->bad || e.children < 0 || e.children > (int64_t)*left)
            return err_set(err, ERR_ARG, "the schema is damaged");
        --*left;
        children += e.children - 1;
        m->n_leaves += e.type >= 0 && e.children == 0;
    }
    return children ? err_set(err, ERR_ARG, "the schema is cut short") : 0;
}

static int col_read(struct parquet_meta *m, struct thrift *t, size_t *left, struct err *err)
{
    struct element e = element_read(t);

    if (t->bad || e.type > PQ_FIXED || e.type < -1 || e.repetition < 0 || e.repetition > REPEATED ||
        e.children < 0)
        return err_set(err, ERR_ARG, "the schema is damaged");
    if (name_check(&e, err) < 0)
        return -1;
    if (m->n_cols == MAX_COLS)
        return err_set(err, ERR_TOOBIG, "more than %d columns", MAX_COLS);
    --*left;
    struct parquet_col *col = col_add(m, &e);
    struct cells_col *name = &m->names[m->n_cols - 1];
    if (e.type < 0 || e.children > 0) {
        name->refused = group_refused(&e);
        name->kind = CELLS_TEXTS;
        return children_pass(m, t, left, e.children, err);
    }
    m->n_leaves++;
    if (e.type == PQ_FIXED && (e.width < 1 || e.width > MAX_WIDTH))
        return err_set(err, ERR_ARG, "column \"%.100s\": values of %lld bytes", name->name,
                       (long long)e.width);
    leaf_means(&e, col, name);
    return 0;
}

static int schema_read(struct parquet_meta *m, struct thrift *t, const struct thrift_field *f,
                       struct err *err)
{
    enum thrift_type type;
    size_t left = thrift_list(t, f, &type);

    if (t->bad || type != THRIFT_STRUCT || left < 1 || m->n_cols > 0)
        return err_set(err, ERR_ARG, "it has no schema");
    struct element root = element_read(t);
    left--;
    for (int64_t i = 0; i < root.children; i++) {
        if (left == 0)
            return err_set(err, ERR_ARG, "the schema is cut short");
        if (col_read(m, t, &left, err) < 0)
            return -1;
    }
    if (left > 0 || m->n_cols == 0)
        return err_set(err, ERR_ARG, m->n_cols ? "the schema is damaged" : "it has no columns");
    return 0;
}

/* ---- row groups ---- */

static int group_read(struct parquet_meta *m, struct thrift *t, struct err *err)
{
    struct thrift_field f = { 0 };
    struct parquet_group g = { .rows = -1 };

    while (thrift_next(t, &f)) {
        if (f.id == 1 && f.type == THRIFT_LIST)
            g.columns = *t;
        if (f.id == 3)
            g.rows = thrift_int(t, &f);
        else
            thrift_skip(t, f.type);
    }
    if (t->bad || g.rows < 0 || !g.columns.p || g.rows > INT64_MAX / 2 - m->rows)
        return err_set(err, ERR_ARG, "row group %d: its head is damaged", m->n_groups + 1);
    MEM_GROW(m->groups, m->n_groups, m->cap_groups);
    m->groups[m->n_groups++] = g;
    m->rows += g.rows;
    return 0;
}

static int groups_read(struct parquet_meta *m, struct thrift *t, const struct thrift_field *f,
                       struct err *err)
{
    enum thrift_type type;
    size_t n = thrift_list(t, f, &type);

    if (n > 0 && (type != THRIFT_STRUCT || m->n_groups > 0))
        return err_set(err, ERR_ARG, "the list of row groups is damaged");
    for (size_t i = 0; i < n; i++) {
        if (group_read(m, t, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- columns of a row group ---- */

struct chunk_meta {
    int64_t codec, values, bytes, data_at, dict_at;
    bool has_meta, is_elsewhere, is_encrypted;
};

static void chunk_meta_read(struct thrift *t, struct chunk_meta *c)
{
    struct thrift_field f = { 0 };

    c->has_meta = true;
    while (thrift_next(t, &f)) {
        switch (f.id) {
        case 4:
            c->codec = thrift_int(t, &f);
            break;
        case 5:
            c->values = thrift_int(t, &f);
            break;
        case 7:
            c->bytes = thrift_int(t, &f);
            break;
        case 9:
            c->data_at = thrift_int(t, &f);
            break;
        case 11:
            c->dict_at = thrift_int(t, &f);
            break;
        default:
            thrift_skip(t, f.type);
        }
    }
}

static struct chunk_meta chunk_read(struct thrift *t)
{
    struct chunk_meta c = { .codec = -1 };
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        if (f.id == 3 && f.type == THRIFT_STRUCT) {
            chunk_meta_read(t, &c);
            continue;
        }
        c.is_elsewhere |= f.id == 1;
        c.is_encrypted |= f.id == 8 || f.id == 9;
        thrift_skip(t, f.type);
    }
    return c;
}

static int codec_of(int64_t number, enum codec *out, struct err *err)
{
    static const char *const others[] = { [3] = "LZO", [4] = "Brotli", [5] = "the old LZ4" };

    switch (number) {
    case 0:
        *out = CODEC_NONE;
        return 0;
    case 1:
        *out = CODEC_SNAPPY;
        return 0;
    case 2:
        *out = CODEC_GZIP;
        return 0;
    case 6:
        *out = CODEC_ZSTD;
        return 0;
    case 7:
        *out = CODEC_LZ4;
        return 0;
    default:
        return err_set(err, ERR_ARG,
                       "packed with %s, which is not supported: write it with zstd or snappy",
                       number >= 3 && number <= 5 ? others[number] : "an unknown codec");
    }
}

static int chunk_check(const struct chunk_meta *c, const struct columnar_file *file, int64_t rows,
                       struct parquet_chunk *out, struct err *err)
{
    if (c->is_encrypted)
        return err_set(err, ERR_ARG, "it is encrypted");
    if (c->is_elsewhere || !c->has_meta)
        return err_set(err, ERR_ARG, "its data lie in another file");
    if (codec_of(c->codec, &out->codec, err) < 0)
        return -1;
    out->at = c->dict_at > 0 && c->dict_at < c->data_at ? c->dict_at : c->data_at;
    out->bytes = c->bytes;
    out->values = c->values;
    if (out->at < 4 || c->bytes < 0 || out->at > file->bytes || c->bytes > file->bytes - out->at)
        return err_set(err, ERR_ARG, "its pages lie outside of the file");
    if (c->values != rows)
        return err_set(err, ERR_ARG, "it has %lld values in a group of %lld rows",
                       (long long)c->values, (long long)rows);
    return 0;
}

int parquet_meta_chunks(const struct parquet_meta *m, const struct columnar_file *file, int group,
                        const bool *wanted, struct parquet_chunk *chunks, struct err *err)
{
    const struct parquet_group *g = &m->groups[group];
    struct thrift t = g->columns;
    struct thrift_field list = { .type = THRIFT_LIST };
    enum thrift_type type;
    size_t n = thrift_list(&t, &list, &type);
    int col = 0;

    if (n != (size_t)m->n_leaves || type != THRIFT_STRUCT)
        return err_set(err, ERR_ARG, "row group %d: it has %zu columns, the schema has %d",
                       group + 1, n, m->n_leaves);
    for (int i = 0; i < m->n_leaves; i++) {
        struct chunk_meta c = chunk_read(&t);
        if (t.bad)
            return err_set(err, ERR_ARG, "row group %d: its head is damaged", group + 1);
        while (col < m->n_cols && m->cols[col].leaf < i)
            col++;
        bool is_one = col < m->n_cols && m->cols[col].leaf == i && !m->names[col].refused;
        if (is_one && wanted[col] && chunk_check(&c, file, g->rows, &chunks[i], err) < 0)
            return err_wrap(err, "column \"%.100s\", row group %d", m->names[col].name, group + 1);
    }
    return 0;
}

/* ---- the footer ---- */

static int footer_parse(struct parquet_meta *m, size_t n, struct err *err)
{
    struct thrift t = { .p = m->footer, .end = m->footer + n };
    struct thrift_field f = { 0 };
    int64_t rows = -1;

    while (thrift_next(&t, &f)) {
        int rc = 0;
        if (f.id == 2)
            rc = schema_read(m, &t, &f, err);
        else if (f.id == 3)
            rows = thrift_int(&t, &f);
        else if (f.id == 4)
            rc = groups_read(m, &t, &f, err);
        else if (f.id == 8)
            rc = err_set(err, ERR_ARG, "it is encrypted");
        else
            thrift_skip(&t, f.type);
        if (rc < 0)
            return -1;
    }
    if (t.bad || m->n_cols == 0)
        return err_set(err, ERR_ARG, "it is damaged");
    if (rows != m->rows)
        return err_set(err, ERR_ARG, "it has %lld rows, but its row groups have %lld",
                       (long long)rows, (long long)m->rows);
    return 0;
}

static int footer_load(struct parquet_meta *m, const struct columnar_file *file, size_t *n,
                       struct err *err)
{
    uint8_t tail[TAIL_BYTES];
    uint32_t len;

    if (file->bytes < TAIL_BYTES + 4)
        return err_set(err, ERR_ARG, "the file ends within its footer");
    long got = file->read_at(file->ctx, tail, TAIL_BYTES, file->bytes - TAIL_BYTES, err);
    if (got < 0)
        return -1;
    if (got == TAIL_BYTES && memcmp(tail + 4, "PARE", 4) == 0)
        return err_set(err, ERR_ARG, "the file is encrypted");
    if (got != TAIL_BYTES || memcmp(tail + 4, "PAR1", 4) != 0)
        return err_set(err, ERR_ARG, "the file does not end as Parquet does: it is cut short");
    memcpy(&len, tail, sizeof(len));
    if (len > MAX_FOOTER || (int64_t)len > file->bytes - TAIL_BYTES - 4)
        return err_set(err, ERR_ARG, "the footer cannot have %u bytes", len);
    m->footer = mem_try_zalloc((size_t)len + CELLS_PAD);
    if (!m->footer)
        return err_set(err, ERR_NOMEM, "no memory for a footer of %u bytes", len);
    *n = len;
    got = file->read_at(file->ctx, m->footer, len, file->bytes - TAIL_BYTES - (int64_t)len, err);
    if (got < 0)
        return -1;
    return got == (long)len ? 0 : err_set(err, ERR_ARG, "the file ends within its footer");
}

int parquet_meta_read(struct parquet_meta *m, const struct columnar_file *file, struct err *err)
{
    size_t n = 0;

    *m = (struct parquet_meta){ 0 };
    if (footer_load(m, file, &n, err) < 0)
        return -1;
    return footer_parse(m, n, err) < 0 ? err_wrap(err, "the footer") : 0;
}

void parquet_meta_fini(struct parquet_meta *m)
{
    for (int i = 0; i < m->n_cols; i++)
        mem_free(m->names[i].name);
    mem_free(m->names);
    mem_free(m->cols);
    mem_free(m->groups);
    mem_try_free(m->footer);
}
