/* formats.c - see formats.h. Parquet and Arrow files are read from their end: where the stream cannot
 * do that, it is first written to a file without a name beside the frame. */
#include "ml/read/formats.h"

#include "base/io.h"
#include "base/mem.h"
#include "ml/read/columnar/arrow.h"
#include "ml/read/columnar/parquet.h"
#include "ml/read/typed.h"

#include <string.h>
#include <unistd.h>

bool parquet_is(const uint8_t *head, long n)
{
    return n >= 12 && memcmp(head, PARQUET_MAGIC, 4) == 0;
}

bool arrow_is_head(const uint8_t *head, long n)
{
    return n > 0 && (arrow_is_file(head, (size_t)n) || arrow_is_stream(head, (size_t)n));
}

/* ---- columns ---- */

/* Decides which columns are passed over, and begins the table. */
static int table_begin(struct typed *t, struct cells_col *cols, int n, const struct csv_opts *opts,
                       const char *path, struct err *err)
{
    char **names = mem_array((size_t)n, sizeof(*names));
    int rc;

    for (int i = 0; i < n; i++)
        names[i] = mem_strdup(cols[i].name);
    rc = typed_init(t, path, names, n, opts, err);
    mem_free(names);
    for (int i = 0; i < n && rc == 0; i++) {
        struct csv_col *col = &t->table.cols[i];
        bool is_left_out = !col->is_declared &&
                           ((cols[i].refused && opts->overrides_optional) || cols[i].is_index);
        if (is_left_out)
            col->mode = COL_IGNORED;
        cols[i].is_skipped = col->mode == COL_IGNORED;
        if (cols[i].refused && !cols[i].is_skipped)
            rc = err_set(err, ERR_ARG,
                         "column \"%.100s\" is %s, which is not read: flatten it, or leave it out "
                         "by declaring it as ignore",
                         cols[i].name, cols[i].refused);
    }
    return rc;
}

/* Rows that the caller may still want. */
static int64_t rows_left(const struct typed *t)
{
    return t->opts->most_rows ? t->opts->most_rows - t->rows : INT64_MAX;
}

/* ---- files read from their end ---- */

/* The bytes of a file: of the stream's, or of one that the stream was written to. */
struct bytes {
    const struct feed *feed;
    const struct csv_opts *opts;
    /* -1 = of the stream's */
    int fd;
};

static long bytes_at(void *ctx, void *out, size_t n, int64_t at, struct err *err)
{
    struct bytes *b = ctx;

    if (b->fd < 0)
        return b->opts->read_at(b->feed->ctx, out, n, at, err);
    return io_read_at(b->fd, out, n, at, err);
}

static int spool_fill(struct feed *f, int fd, int64_t *bytes, struct err *err)
{
    enum { PART = 1 << 20 };
    char *some = mem_alloc(PART);
    long got;

    while ((got = feed_read(f, some, PART, err)) > 0) {
        if (io_write_all(fd, some, (size_t)got, (off_t)*bytes, err) < 0) {
            got = -1;
            break;
        }
        *bytes += got;
    }
    mem_free(some);
    return got < 0 ? -1 : 0;
}

static int bytes_open(struct bytes *b, struct feed *f, const char *path, struct columnar_file *file,
                      struct err *err)
{
    char *name = NULL;

    *file = (struct columnar_file){ .read_at = bytes_at, .ctx = b, .bytes = b->opts->file_bytes };
    if (b->opts->read_at)
        return 0;
    b->fd = io_open_aside(path, "spool", 0600, &name, err);
    if (b->fd < 0)
        return -1;
    unlink(name);
    mem_free(name);
    file->bytes = 0;
    return spool_fill(f, b->fd, &file->bytes, err);
}

/* ---- Parquet ---- */

/* Looks at the memory now and then, and at the rows that the file declares before they are made. */
struct parquet_take {
    struct typed t;
    struct parquet *p;
    int64_t file_bytes;
    unsigned n;
};

static int parquet_cells(void *ctx, int col, const struct cells *cells, struct err *err)
{
    struct parquet_take *k = ctx;

    if (k->n++ % 64 == 0 && typed_check(&k->t, parquet_bytes(k->p), k->file_bytes, err) < 0)
        return -1;
    return typed_take(&k->t, col, cells, err);
}

static int parquet_run(struct parquet_take *k, const struct csv_opts *opts, const char *path,
                       char hash[SHA256_HEX], struct err *err)
{
    int n = 0;
    struct cells_col *cols = parquet_cols(k->p, &n);

    if (table_begin(&k->t, cols, n, opts, path, err) < 0)
        return -1;
    typed_group(&k->t, parquet_rows(k->p));
    if (typed_check(&k->t, 0, k->file_bytes, err) < 0)
        return -1;
    for (int g = 0; g < parquet_groups(k->p) && rows_left(&k->t) > 0; g++) {
        int64_t rows = MIN(parquet_group_rows(k->p, g), rows_left(&k->t));
        typed_group(&k->t, rows);
        if (parquet_group_read(k->p, g, rows, parquet_cells, k, err) < 0)
            return -1;
        typed_group_end(&k->t);
    }
    return typed_end(&k->t, hash, err);
}

int parquet_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                     char hash[SHA256_HEX], struct err *err)
{
    struct bytes b = { .feed = f, .opts = opts, .fd = -1 };
    struct parquet_take k = { .t.table.spool = -1 };
    struct columnar_file file;
    int rc = bytes_open(&b, f, frame_path, &file, err);

    if (rc == 0) {
        k.file_bytes = file.bytes;
        k.p = parquet_open(&file, err);
        rc = k.p ? parquet_run(&k, opts, frame_path, hash, err) : -1;
    }
    typed_fini(&k.t);
    parquet_close(k.p);
    if (b.fd >= 0)
        close(b.fd);
    return rc < 0 ? err_wrap(err, "%s", f->name) : 0;
}

/* ---- Arrow ---- */

static int arrow_run(struct typed *t, struct arrow *a, const struct csv_opts *opts,
                     const char *path, char hash[SHA256_HEX], struct err *err)
{
    int n = 0, rc = 0;
    struct cells_col *cols = arrow_cols(a, &n);
    int64_t rows = 0;

    if (table_begin(t, cols, n, opts, path, err) < 0)
        return -1;
    while (rows_left(t) > 0 && (rc = arrow_next(a, &rows, err)) > 0) {
        rows = MIN(rows, rows_left(t));
        typed_group(t, rows);
        if (rows > INT64_MAX / 4 - t->rows)
            return err_set(err, ERR_ARG, "a batch cannot have %lld rows", (long long)rows);
        if (typed_check(t, arrow_bytes(a), arrow_taken(a), err) < 0 ||
            arrow_batch_read(a, rows, typed_take, t, err) < 0)
            return -1;
        typed_group_end(t);
    }
    return rc < 0 ? -1 : typed_end(t, hash, err);
}

int arrow_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                   char hash[SHA256_HEX], struct err *err)
{
    struct bytes b = { .feed = f, .opts = opts, .fd = -1 };
    struct typed t = { .table.spool = -1 };
    struct columnar_file file;
    struct arrow *a = NULL;
    const uint8_t *head = NULL;
    long n = feed_look(f, FEED_AHEAD, &head, err);

    if (n > 0 && arrow_is_stream(head, (size_t)n))
        a = arrow_open(feed_source, f, opts->max_bytes, err);
    else if (n > 0 && bytes_open(&b, f, frame_path, &file, err) == 0)
        a = arrow_open_file(&file, opts->max_bytes, err);
    int rc = a ? arrow_run(&t, a, opts, frame_path, hash, err) : -1;
    typed_fini(&t);
    arrow_close(a);
    if (b.fd >= 0)
        close(b.fd);
    return rc < 0 ? err_wrap(err, "%s", f->name) : 0;
}
