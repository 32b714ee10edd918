/* arrow.c - see arrow.h. A stream is a row of messages, each with metadata (a flatbuffer) and a body:
 * a schema, then dictionaries and batches. The footer of a file has the schema and lists the
 * messages. Called by ml/read/formats.c. */
#include "ml/read/columnar/arrow.h"

#include "base/mem.h"
#include "ml/read/columnar/arrow_column.h"
#include "ml/read/columnar/codec.h"

#include <string.h>

enum { MESSAGE_SCHEMA = 1, MESSAGE_DICTIONARY, MESSAGE_BATCH };

/* PIECE: memory grows by so many bytes at once, as they arrive. */
enum { META_MOST = 256 << 20, PIECE = 4 << 20 };
/* FILE_TAIL: the length of the footer and the mark. */
enum { FILE_HEAD = 8, FILE_TAIL = 10, BLOCK_BYTES = 24 };

#define CONTINUES   UINT32_C(0xffffffff)
#define BUFFER_MOST (INT64_C(1) << 33)

/* Of the batch or dictionary at hand. */
struct batch {
    int64_t rows;
    struct flat_vector nodes, buffers, views;
    /* the next one of each that a column takes */
    size_t node, buffer, view;
    bool is_packed;
    enum codec codec;
};

struct arrow {
    arrow_source *source;
    void *ctx;
    int64_t max_bytes, taken;
    bool has_ended;
    /* of a file: where to read next; its footer, and the blocks of messages that it lists */
    struct columnar_file file;
    bool is_file;
    int64_t at;
    struct arrow_buffer footer;
    struct flat footer_flat;
    struct flat_vector dictionary_blocks, batch_blocks;
    size_t block;
    struct arrow_schema schema;
    struct arrow_dictionary *dictionaries;
    size_t n_dictionaries, cap_dictionaries;
    uint64_t serial;
    /* the message at hand */
    struct arrow_buffer meta;
    struct flat flat;
    struct flat_table root;
    /* body_start: of a file */
    int64_t body_bytes, body_at, body_start;
    struct batch batch;
    int64_t n_batches;
    /* of the column at hand */
    struct arrow_buffer valid, values, packed;
    struct arrow_buffer *bytes;
    size_t n_bytes;
};

bool arrow_is_file(const uint8_t *head, size_t n)
{
    return n >= FILE_HEAD && memcmp(head, ARROW_MAGIC "\0", FILE_HEAD) == 0;
}

bool arrow_is_stream(const uint8_t *head, size_t n)
{
    static const uint8_t continues[] = { 255, 255, 255, 255 };

    return n >= FILE_HEAD && memcmp(head, continues, sizeof(continues)) == 0;
}

/* ---- bytes ---- */

static long read_some(struct arrow *a, void *out, size_t n, struct err *err)
{
    size_t done = 0;

    if (a->is_file) {
        long got = a->file.read_at(a->file.ctx, out, n, a->at, err);
        a->at += MAX(got, 0);
        return got;
    }
    while (done < n) {
        long got = a->source(a->ctx, (char *)out + done, n - done, err);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    a->taken += (int64_t)done;
    return (long)done;
}

static int read_exact(struct arrow *a, void *out, size_t n, const char *what, struct err *err)
{
    long got = read_some(a, out, n, err);

    if (got < 0)
        return -1;
    return (size_t)got == n ? 0 : err_set(err, ERR_ARG, "the file ends within %s", what);
}

static int64_t held(const struct arrow *a)
{
    int64_t sum =
        (int64_t)(a->meta.cap + a->footer.cap + a->valid.cap + a->values.cap + a->packed.cap);

    for (size_t i = 0; i < a->n_bytes; i++)
        sum += (int64_t)a->bytes[i].cap;
    for (size_t i = 0; i < a->n_dictionaries; i++) {
        const struct arrow_dictionary *d = &a->dictionaries[i];
        sum += (int64_t)(d->cap * (d->kind == CELLS_TEXTS ? sizeof(*d->texts) : 8));
        for (size_t k = 0; k < d->n_kept; k++)
            sum += (int64_t)d->kept[k].cap;
    }
    return sum;
}

static int buffer_room(struct arrow *a, struct arrow_buffer *b, size_t n, struct err *err)
{
    if (n + CELLS_PAD <= b->cap)
        return 0;
    if (n > BUFFER_MOST || (a->max_bytes > 0 && held(a) + (int64_t)(n - b->n) > a->max_bytes))
        return err_set(err, ERR_TOOBIG, "a buffer of %zu bytes is more than the memory allowed", n);
    uint8_t *p = mem_try_alloc(n + CELLS_PAD);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a buffer of %zu bytes", n);
    if (b->n)
        memcpy(p, b->p, b->n);
    mem_try_free(b->p);
    b->p = p;
    b->cap = n + CELLS_PAD;
    return 0;
}

static void buffer_fini(struct arrow_buffer *b)
{
    mem_try_free(b->p);
    *b = (struct arrow_buffer){ 0 };
}

/* Reads n bytes of the stream. Memory grows as they arrive, not by what the file claims. */
static int buffer_read(struct arrow *a, struct arrow_buffer *b, int64_t n, const char *what,
                       struct err *err)
{
    b->n = 0;
    while ((int64_t)b->n < n) {
        size_t part = (size_t)MIN(n - (int64_t)b->n, (int64_t)MAX((size_t)PIECE, b->n));
        if (buffer_room(a, b, b->n + part, err) < 0 ||
            read_exact(a, b->p + b->n, part, what, err) < 0)
            return -1;
        b->n += part;
    }
    if (buffer_room(a, b, b->n, err) < 0)
        return -1;
    memset(b->p + b->n, 0, CELLS_PAD);
    return 0;
}

static int skip_bytes(struct arrow *a, int64_t n, struct err *err)
{
    char some[16384];

    /* In a file every buffer is gone to by its place. */
    if (a->is_file)
        return 0;
    while (n > 0) {
        size_t part = (size_t)MIN(n, (int64_t)sizeof(some));
        if (read_exact(a, some, part, "a batch", err) < 0)
            return -1;
        n -= (int64_t)part;
    }
    return 0;
}

/* ---- messages ---- */

/* Reads the metadata of a message, n bytes. */
static int meta_read(struct arrow *a, uint32_t n, struct err *err)
{
    if (n > META_MOST)
        return err_set(err, ERR_ARG, "a message cannot have %u bytes of metadata", n);
    if (buffer_read(a, &a->meta, n, "a message", err) < 0)
        return -1;
    a->flat = (struct flat){ a->meta.p, a->meta.n, false };
    a->root = flat_root(&a->flat);
    a->body_bytes = flat_i64(&a->root, 3, 0);
    a->body_at = 0;
    if (a->flat.bad || a->body_bytes < 0)
        return err_set(err, ERR_ARG, "the metadata of a message are damaged");
    return 1;
}

/* The length of the metadata, before which a mark may stand. *got: bytes read, 0 at the end. */
static int length_read(struct arrow *a, uint32_t *n, long *got, struct err *err)
{
    *n = 0;
    *got = read_some(a, n, sizeof(*n), err);
    if (*got == sizeof(*n) && *n == CONTINUES)
        *got = read_some(a, n, sizeof(*n), err);
    return *got < 0 ? -1 : 0;
}

/* The next message that the footer lists, dictionaries first. */
static int block_next(struct arrow *a, struct err *err)
{
    size_t i = a->block++, n = a->dictionary_blocks.n;
    const struct flat_vector *v = i < n ? &a->dictionary_blocks : &a->batch_blocks;
    uint32_t length = 0;
    long got = 0;

    i -= i < n ? 0 : n;
    if (i >= v->n)
        return 0;
    int64_t at = flat_i64_at(v, 3 * i), meta = (int32_t)flat_i64_at(v, 3 * i + 1);
    int64_t body = flat_i64_at(v, 3 * i + 2);
    if (at < 0 || meta < 8 || body < 0 || at > a->file.bytes || meta > a->file.bytes - at ||
        body > a->file.bytes - at - meta)
        return err_set(err, ERR_ARG, "a message lies outside of the file");
    a->at = at;
    if (length_read(a, &length, &got, err) < 0)
        return -1;
    if (got != sizeof(length) || length > meta - (a->at - at))
        return err_set(err, ERR_ARG, "a message lies outside of the file");
    a->body_start = at + meta;
    if (meta_read(a, length, err) < 0)
        return -1;
    return a->body_bytes > body ? err_set(err, ERR_ARG, "a message is longer than its block") : 1;
}

/* 1 = a message, 0 = there are no more. */
static int message_next(struct arrow *a, struct err *err)
{
    uint32_t length = 0;
    long got = 0;

    if (a->is_file)
        return block_next(a, err);
    if (a->has_ended)
        return 0;
    if (skip_bytes(a, a->body_bytes - a->body_at, err) < 0 ||
        length_read(a, &length, &got, err) < 0)
        return -1;
    if (got != 0 && got != sizeof(length))
        return err_set(err, ERR_ARG, "the stream is cut short");
    a->has_ended = length == 0;
    return a->has_ended ? 0 : meta_read(a, length, err);
}

static int64_t message_type(const struct arrow *a)
{
    return flat_u8(&a->root, 1, 0);
}

static int open_stream(struct arrow *a, struct err *err)
{
    int rc = message_next(a, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || message_type(a) != MESSAGE_SCHEMA)
        return err_set(err, ERR_ARG, "it does not begin with a schema");
    struct flat_table table = flat_table(&a->root, 2);
    return arrow_schema_read(&a->schema, &table, err);
}

struct arrow *arrow_open(arrow_source *source, void *ctx, int64_t max_bytes, struct err *err)
{
    struct arrow *a = mem_zalloc(sizeof(*a));

    a->source = source;
    a->ctx = ctx;
    a->max_bytes = max_bytes;
    if (open_stream(a, err) == 0)
        return a;
    arrow_close(a);
    return NULL;
}

/* At the end: the footer, its length, the mark. */
static int open_file(struct arrow *a, struct err *err)
{
    uint8_t tail[FILE_TAIL];
    int32_t n;

    a->at = a->file.bytes - FILE_TAIL;
    if (a->at < FILE_HEAD)
        return err_set(err, ERR_ARG, "the file is cut short");
    if (read_exact(a, tail, FILE_TAIL, "its footer", err) < 0)
        return -1;
    memcpy(&n, tail, sizeof(n));
    if (memcmp(tail + 4, ARROW_MAGIC, 6) != 0)
        return err_set(err, ERR_ARG, "the file does not end as Arrow does: it is cut short");
    a->at = a->file.bytes - FILE_TAIL - n;
    if (n < 8 || n > META_MOST || a->at < FILE_HEAD)
        return err_set(err, ERR_ARG, "the footer cannot have %d bytes", n);
    if (buffer_read(a, &a->footer, n, "its footer", err) < 0)
        return -1;
    a->footer_flat = (struct flat){ a->footer.p, a->footer.n, false };
    struct flat_table root = flat_root(&a->footer_flat), schema = flat_table(&root, 1);
    a->dictionary_blocks = flat_vector(&root, 2, BLOCK_BYTES);
    a->batch_blocks = flat_vector(&root, 3, BLOCK_BYTES);
    if (a->footer_flat.bad || !schema.at)
        return err_set(err, ERR_ARG, "the footer is damaged");
    return arrow_schema_read(&a->schema, &schema, err);
}

struct arrow *arrow_open_file(const struct columnar_file *file, int64_t max_bytes, struct err *err)
{
    struct arrow *a = mem_zalloc(sizeof(*a));

    a->is_file = true;
    a->file = *file;
    a->taken = file->bytes;
    a->max_bytes = max_bytes;
    if (open_file(a, err) == 0)
        return a;
    arrow_close(a);
    return NULL;
}

static void dictionary_clear(struct arrow_dictionary *d)
{
    mem_try_free(d->numbers);
    mem_try_free(d->texts);
    for (size_t i = 0; i < d->n_kept; i++)
        buffer_fini(&d->kept[i]);
    mem_free(d->kept);
    *d = (struct arrow_dictionary){ .id = d->id };
}

void arrow_close(struct arrow *a)
{
    if (!a)
        return;
    arrow_schema_fini(&a->schema);
    for (size_t i = 0; i < a->n_dictionaries; i++)
        dictionary_clear(&a->dictionaries[i]);
    mem_free(a->dictionaries);
    buffer_fini(&a->meta);
    buffer_fini(&a->footer);
    buffer_fini(&a->valid);
    buffer_fini(&a->values);
    buffer_fini(&a->packed);
    for (size_t i = 0; i < a->n_bytes; i++)
        buffer_fini(&a->bytes[i]);
    mem_free(a->bytes);
    mem_free(a);
}

struct cells_col *arrow_cols(struct arrow *a, int *n)
{
    *n = a->schema.n;
    return a->schema.names;
}

int64_t arrow_taken(const struct arrow *a)
{
    return a->taken;
}

int64_t arrow_bytes(const struct arrow *a)
{
    return held(a);
}

/* ---- the body of a batch ---- */

static int batch_begin(struct arrow *a, const struct flat_table *table, struct err *err)
{
    struct batch *b = &a->batch;
    struct flat_table packing = flat_table(table, 3);
    int64_t codec = flat_u8(&packing, 0, 0);

    *b = (struct batch){ .rows = flat_i64(table, 0, 0),
                         .nodes = flat_vector(table, 1, 16),
                         .buffers = flat_vector(table, 2, 16),
                         .views = flat_vector(table, 4, 8),
                         .is_packed = packing.at != 0,
                         .codec = codec ? CODEC_ZSTD : CODEC_LZ4_FRAME };
    if (a->flat.bad || b->rows < 0 || codec > 1 || flat_u8(&packing, 1, 0) != 0)
        return err_set(err, ERR_ARG, "its metadata are damaged");
    return 0;
}

/* Unpacks a->packed into b: its unpacked length, then its bytes. */
static int buffer_unpack(struct arrow *a, struct arrow_buffer *b, struct err *err)
{
    struct arrow_buffer *from = &a->packed;
    int64_t n;

    b->n = 0;
    if (from->n < sizeof(n))
        return err_set(err, ERR_ARG, "a packed buffer of %zu bytes", from->n);
    memcpy(&n, from->p, sizeof(n));
    if (n == -1)
        n = (int64_t)(from->n - sizeof(n));
    else if (n < 0 || n > BUFFER_MOST)
        return err_set(err, ERR_ARG, "a packed buffer of %lld bytes", (long long)n);
    if (buffer_room(a, b, (size_t)n, err) < 0)
        return -1;
    b->n = (size_t)n;
    memset(b->p + b->n, 0, CELLS_PAD);
    bool is_plain = memcmp(from->p, "\xff\xff\xff\xff\xff\xff\xff\xff", sizeof(n)) == 0;
    if (n == 0)
        return 0;
    return codec_unpack(is_plain ? CODEC_NONE : a->batch.codec, from->p + sizeof(n),
                        from->n - sizeof(n), b->p, b->n, err);
}

/* Reads the next buffer of the body; b NULL = passes over it. */
static int buffer_next(struct arrow *a, struct arrow_buffer *b, struct err *err)
{
    struct batch *batch = &a->batch;
    size_t i = batch->buffer++;

    if (i >= batch->buffers.n)
        return err_set(err, ERR_ARG, "the batch has too few buffers");
    int64_t at = flat_i64_at(&batch->buffers, 2 * i), n = flat_i64_at(&batch->buffers, 2 * i + 1);
    if (at < 0 || n < 0 || at > a->body_bytes || n > a->body_bytes - at)
        return err_set(err, ERR_ARG, "a buffer lies outside of its batch");
    if (b)
        b->n = 0;
    if (!b || n == 0)
        return b ? buffer_room(a, b, 0, err) : 0;
    if (a->is_file)
        a->at = a->body_start + at;
    else if (at < a->body_at)
        return err_set(err, ERR_ARG, "its buffers are not in order");
    if (skip_bytes(a, at - a->body_at, err) < 0)
        return -1;
    a->body_at = at;
    if (buffer_read(a, batch->is_packed ? &a->packed : b, n, "a batch", err) < 0)
        return -1;
    a->body_at += n;
    return batch->is_packed ? buffer_unpack(a, b, err) : 0;
}

static int bytes_room(struct arrow *a, size_t n)
{
    if (n > a->n_bytes) {
        a->bytes = mem_resize(a->bytes, n * sizeof(*a->bytes));
        memset(a->bytes + a->n_bytes, 0, (n - a->n_bytes) * sizeof(*a->bytes));
        a->n_bytes = n;
    }
    return 0;
}

/* The number of buffers of bytes that the next field of views has; -1 = damaged. */
static int64_t views_next(struct arrow *a)
{
    struct batch *b = &a->batch;
    size_t i = b->view++;
    int64_t n = i < b->views.n ? flat_i64_at(&b->views, i) : -1;

    return n < 0 || (uint64_t)n > b->buffers.n ? -1 : n;
}

/* Passes over the buffers of a field. */
static int field_skip(struct arrow *a, const struct arrow_field *f, struct err *err)
{
    int64_t n = f->buffers;

    a->batch.node += (size_t)f->nodes;
    for (int i = 0; i < f->views; i++) {
        int64_t more = views_next(a);
        if (more < 0)
            return err_set(err, ERR_ARG, "the batch has too few buffers");
        n += more;
    }
    for (int64_t i = 0; i < n; i++) {
        if (buffer_next(a, NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* Reads the buffers of one column. */
static int column_load(struct arrow *a, const struct arrow_shape *shape, struct arrow_column *c,
                       struct err *err)
{
    int64_t n_bytes = 0;

    if (a->batch.node >= a->batch.nodes.n)
        return err_set(err, ERR_ARG, "the batch has too few columns");
    c->rows = flat_i64_at(&a->batch.nodes, 2 * a->batch.node++);
    c->shape = shape;
    c->valid = &a->valid;
    c->values = &a->values;
    a->valid.n = a->values.n = 0;
    if (shape->layout == ARROW_NULL)
        return 0;
    if (buffer_next(a, &a->valid, err) < 0 || buffer_next(a, &a->values, err) < 0)
        return -1;
    if (shape->layout == ARROW_TEXT32 || shape->layout == ARROW_TEXT64)
        n_bytes = 1;
    else if (shape->layout == ARROW_VIEWS)
        n_bytes = views_next(a);
    if (n_bytes < 0)
        return err_set(err, ERR_ARG, "the batch has too few buffers");
    bytes_room(a, (size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes; i++) {
        if (buffer_next(a, &a->bytes[i], err) < 0)
            return -1;
    }
    c->bytes = a->bytes;
    c->n_bytes = (size_t)n_bytes;
    return 0;
}

/* ---- dictionaries ---- */

static struct arrow_dictionary *dictionary_find(struct arrow *a, int64_t id)
{
    for (size_t i = 0; i < a->n_dictionaries; i++) {
        if (a->dictionaries[i].id == id)
            return &a->dictionaries[i];
    }
    return NULL;
}

/* The column whose dictionary it is; -1 = none that is read. */
static int dictionary_column(const struct arrow *a, int64_t id)
{
    for (int c = 0; c < a->schema.n; c++) {
        const struct arrow_field *f = &a->schema.fields[c];
        const struct cells_col *name = &a->schema.names[c];
        if (f->has_dictionary && f->dictionary == id && !name->refused && !name->is_skipped)
            return c;
    }
    return -1;
}

static int dictionary_room(struct arrow_dictionary *d, size_t n, struct err *err)
{
    bool is_text = d->kind == CELLS_TEXTS;
    size_t width = is_text ? sizeof(*d->texts) : sizeof(*d->numbers);

    if (d->n + n <= d->cap)
        return 0;
    size_t cap = MAX(d->n + n, d->cap * 2);
    void *from = is_text ? (void *)d->texts : (void *)d->numbers, *to = mem_try_alloc(cap * width);
    if (!to)
        return err_set(err, ERR_NOMEM, "no memory for a dictionary of %zu values", cap);
    if (d->n)
        memcpy(to, from, d->n * width);
    mem_try_free(from);
    if (is_text)
        d->texts = to;
    else
        d->numbers = to;
    d->cap = cap;
    return 0;
}

/* cells_take of the values of a dictionary. */
static int dictionary_take(void *ctx, int col, const struct cells *cells, struct err *err)
{
    struct arrow_dictionary *d = ctx;

    (void)col;
    if (d->n + (size_t)cells->n > UINT32_MAX - 1)
        return err_set(err, ERR_TOOBIG, "a dictionary of more than 4 billion values");
    if (dictionary_room(d, (size_t)cells->n, err) < 0)
        return -1;
    for (int64_t i = 0; i < cells->n; i++) {
        if (d->kind != CELLS_TEXTS)
            d->numbers[d->n++] = cells->numbers[i];
        else if (!cells->index)
            d->texts[d->n++] = cells->texts[i];
        else
            d->texts[d->n++] = cells->index[i] == CELLS_MISSING_INDEX
                                   ? (struct cells_text){ NULL, 0 }
                                   : cells->texts[cells->index[i]];
    }
    return 0;
}

/* The dictionary's texts lie in the buffers of the column, which it therefore keeps. */
static void buffer_keep(struct arrow_dictionary *d, struct arrow_buffer *b)
{
    if (!b->p)
        return;
    MEM_GROW(d->kept, d->n_kept, d->cap_kept);
    d->kept[d->n_kept++] = *b;
    *b = (struct arrow_buffer){ 0 };
}

static int dictionary_load(struct arrow *a, int col, int64_t id, bool is_more, struct err *err)
{
    const struct arrow_field *f = &a->schema.fields[col];
    struct arrow_column c = { .logical = &f->logical, .kind = a->schema.names[col].kind };
    struct arrow_dictionary *d = dictionary_find(a, id);

    if (!d) {
        MEM_GROW(a->dictionaries, a->n_dictionaries, a->cap_dictionaries);
        d = &a->dictionaries[a->n_dictionaries++];
        *d = (struct arrow_dictionary){ .id = id };
    }
    if (!is_more)
        dictionary_clear(d);
    d->kind = c.kind;
    d->serial = ++a->serial;
    if (column_load(a, &f->shape, &c, err) < 0)
        return -1;
    if (c.rows != a->batch.rows)
        return err_set(err, ERR_ARG, "its lengths disagree");
    /* Only a dictionary without buffers can be longer than its bytes. */
    if (c.rows > a->taken * 64)
        return err_set(err, ERR_ARG, "a dictionary of %lld values", (long long)c.rows);
    int rc = arrow_column_give(&c, col, dictionary_take, d, err);
    if (d->kind == CELLS_TEXTS) {
        buffer_keep(d, &a->values);
        for (size_t i = 0; i < c.n_bytes; i++)
            buffer_keep(d, &a->bytes[i]);
    }
    return rc;
}

static int dictionary_read(struct arrow *a, struct err *err)
{
    struct flat_table head = flat_table(&a->root, 2), data = flat_table(&head, 1);
    int64_t id = flat_i64(&head, 0, 0);
    int col = dictionary_column(a, id);

    if (a->flat.bad)
        return err_set(err, ERR_ARG, "the metadata of a dictionary are damaged");
    if (col < 0)
        return 0;
    if (batch_begin(a, &data, err) < 0 ||
        dictionary_load(a, col, id, flat_u8(&head, 2, 0) != 0, err) < 0)
        return err_wrap(err, "column \"%.100s\", dictionary", a->schema.names[col].name);
    return 0;
}

/* ---- batches ---- */

int arrow_next(struct arrow *a, int64_t *rows, struct err *err)
{
    int rc;

    while ((rc = message_next(a, err)) > 0) {
        int64_t type = message_type(a);
        if (type == MESSAGE_DICTIONARY && dictionary_read(a, err) < 0)
            return -1;
        if (type == MESSAGE_SCHEMA)
            return err_set(err, ERR_ARG, "a second schema");
        if (type != MESSAGE_BATCH)
            continue;
        struct flat_table head = flat_table(&a->root, 2);
        a->n_batches++;
        if (batch_begin(a, &head, err) < 0)
            return err_wrap(err, "batch %lld", (long long)a->n_batches);
        *rows = a->batch.rows;
        return 1;
    }
    return rc;
}

static int column_read(struct arrow *a, int col, int64_t rows, cells_take *take, void *ctx,
                       struct err *err)
{
    const struct arrow_field *f = &a->schema.fields[col];
    struct arrow_column c = { .logical = &f->logical, .kind = a->schema.names[col].kind };

    if (f->has_dictionary) {
        c.dictionary = dictionary_find(a, f->dictionary);
        if (!c.dictionary)
            return err_set(err, ERR_ARG, "its dictionary does not come before it");
    }
    if (column_load(a, f->has_dictionary ? &f->places : &f->shape, &c, err) < 0)
        return -1;
    if (c.rows != a->batch.rows)
        return err_set(err, ERR_ARG, "it has %lld rows in a batch of %lld", (long long)c.rows,
                       (long long)a->batch.rows);
    c.rows = rows;
    return arrow_column_give(&c, col, take, ctx, err);
}

int arrow_batch_read(struct arrow *a, int64_t rows, cells_take *take, void *ctx, struct err *err)
{
    for (int c = 0; c < a->schema.n; c++) {
        const struct cells_col *name = &a->schema.names[c];
        int rc = name->refused || name->is_skipped ? field_skip(a, &a->schema.fields[c], err)
                                                   : column_read(a, c, rows, take, ctx, err);
        if (rc < 0)
            return err_wrap(err, "column \"%.100s\", batch %lld", name->name,
                            (long long)a->n_batches);
    }
    return 0;
}
