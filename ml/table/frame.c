/* frame.c - an open table: the file is mapped read-only and shared, checked as a whole
 * (frame_check.c), and read through calls that turn chunks into doubles or level indices.
 *
 * Immutable after it is opened, so any number of threads may read it. The writers are frame_write.c
 * and ml/read. Called by ml/prep, ml/model and the CLI. */
#include "ml/table/frame.h"

#include "base/mem.h"
#include "ml/table/frame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct frame_map {
    const uint8_t *data;
    uint64_t size;
    struct frame_trailer t;
    const struct frame_rec *recs;
    struct frame_col *cols;
    /* hash table of column number + 1; its size is a power of two */
    uint32_t *by_name;
    uint32_t n_slots;
};

static uint32_t name_hash(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}

static int map_file(struct frame_map *m, const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -1;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOTFOUND, "%s: no such file", path);
    if (fd < 0)
        return err_errno(err, "open %s", path);
    if (fstat(fd, &st) < 0) {
        err_errno(err, "stat %s", path);
    } else if (!S_ISREG(st.st_mode) || st.st_size < 2 * FRAME_EDGE_BYTES) {
        err_set(err, ERR_ARG, "%s: not a frame file", path);
    } else {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        rc = p == MAP_FAILED ? err_errno(err, "map %s", path) : 0;
        m->data = rc == 0 ? p : NULL;
        m->size = (uint64_t)st.st_size;
    }
    close(fd);
    return rc;
}

static void name_put(struct frame_map *m, uint32_t i)
{
    uint32_t slot = name_hash(m->cols[i].name) & (m->n_slots - 1);

    while (m->by_name[slot])
        slot = (slot + 1) & (m->n_slots - 1);
    m->by_name[slot] = i + 1;
}

static int col_open(struct frame_map *m, uint32_t i, struct err *err)
{
    const struct frame_rec *r = &m->recs[i];
    struct frame_col *c = &m->cols[i];

    *c = (struct frame_col){ .name = (const char *)m->data + r->name_at,
                             .type = frame_rec_type(r),
                             .missing = r->missing,
                             .not_numbers = r->not_numbers,
                             .min = r->min,
                             .max = r->max,
                             .mean = r->mean,
                             .distinct = r->distinct,
                             .n_levels = (int)r->n_levels,
                             .kind = frame_rec_kind(r) };
    c->note = frame_rec_note(r) ? c->name + r->name_bytes + 1 : "";
    if (r->n_levels) {
        const uint64_t *at = (const uint64_t *)(const void *)(m->data + r->levels_at);
        const char **levels = mem_try_alloc(r->n_levels * sizeof(*levels));
        if (!levels)
            return err_set(err, ERR_NOMEM, "no memory for %u levels", r->n_levels);
        for (uint32_t l = 0; l < r->n_levels; l++)
            levels[l] = (const char *)m->data + at[l];
        c->levels = levels;
    }
    name_put(m, i);
    return 0;
}

/* Are all images stored as bytes? */
static bool holds_bytes(const struct frame *f)
{
    const struct frame_map *m = f->map;
    uint64_t n_chunks = (m->t.rows + m->t.chunk_rows - 1) / m->t.chunk_rows;

    for (int i = 0; i < frame_image_values(&f->image); i++) {
        const uint64_t *entry =
            (const uint64_t *)(const void *)(m->data + m->recs[f->image.first + i].chunks_at);
        for (uint64_t c = 0; c < n_chunks; c++) {
            if ((entry[c] & 7) != FC_U8)
                return false;
        }
    }
    return true;
}

struct frame *frame_open(const char *path, struct err *err)
{
    struct frame *f = mem_zalloc(sizeof(*f));
    struct frame_map *m = f->map = mem_zalloc(sizeof(*m));

    if (map_file(m, path, err) < 0)
        goto fail;
    if (frame_check(m->data, m->size, &m->t, err) < 0) {
        err_wrap(err, "%s", path);
        goto fail;
    }
    m->recs = (const struct frame_rec *)(const void *)(m->data + m->t.cols_at);
    m->cols = mem_array(m->t.n_cols, sizeof(*m->cols));
    for (m->n_slots = 16; m->n_slots < m->t.n_cols * 2;)
        m->n_slots *= 2;
    m->by_name = mem_array(m->n_slots, sizeof(*m->by_name));
    f->rows = (int64_t)m->t.rows;
    f->n_cols = (int)m->t.n_cols;
    f->cols = m->cols;
    f->image = (struct frame_image){ (int)m->t.image_first, (int)m->t.image_height,
                                     (int)m->t.image_width, (int)m->t.image_channels, false };
    for (uint32_t i = 0; i < m->t.n_cols; i++) {
        if (col_open(m, i, err) < 0)
            goto fail;
    }
    f->image.is_bytes = f->image.height && holds_bytes(f);
    return f;
fail:
    frame_close(f);
    return NULL;
}

void frame_close(struct frame *f)
{
    if (!f)
        return;
    struct frame_map *m = f->map;
    for (int i = 0; m->cols && i < f->n_cols; i++)
        mem_try_free((void *)(uintptr_t)m->cols[i].levels);
    for (int i = (int)m->t.n_cols; m->cols && i < f->n_cols; i++)
        mem_free((void *)(uintptr_t)m->cols[i].name);
    if (m->data)
        munmap((void *)(uintptr_t)m->data, m->size);
    mem_free(m->cols);
    mem_free(m->by_name);
    mem_free(m);
    mem_free(f);
}

void frame_add_absent(struct frame *f, const char *name, enum frame_type type, enum frame_kind kind)
{
    struct frame_map *m = f->map;
    uint32_t at = (uint32_t)f->n_cols, slots = m->n_slots;

    CHECK(frame_find(f, name) < 0);
    m->cols = mem_resize(m->cols, ((size_t)at + 1) * sizeof(*m->cols));
    m->cols[at] = (struct frame_col){ .name = mem_strdup(name),
                                      .type = type,
                                      .missing = f->rows,
                                      .min = (double)NAN,
                                      .max = (double)NAN,
                                      .mean = (double)NAN,
                                      .kind = kind,
                                      .note = "" };
    f->cols = m->cols;
    f->n_cols++;
    while (m->n_slots < (at + 1) * 2)
        m->n_slots *= 2;
    if (m->n_slots == slots) {
        name_put(m, at);
        return;
    }
    mem_free(m->by_name);
    m->by_name = mem_array(m->n_slots, sizeof(*m->by_name));
    for (uint32_t i = 0; i <= at; i++)
        name_put(m, i);
}

/* Whether the column is none of the file's (frame_add_absent). */
static bool is_absent(const struct frame *f, int col)
{
    return (uint32_t)col >= f->map->t.n_cols;
}

int frame_find(const struct frame *f, const char *name)
{
    const struct frame_map *m = f->map;

    for (uint32_t slot = name_hash(name) & (m->n_slots - 1); m->by_name[slot];
         slot = (slot + 1) & (m->n_slots - 1)) {
        if (strcmp(m->cols[m->by_name[slot] - 1].name, name) == 0)
            return (int)m->by_name[slot] - 1;
    }
    return -1;
}

void frame_pixel_name(const struct frame_image *m, int i, char out[FRAME_PIXEL_NAME])
{
    int pixel = i / m->channels, y = pixel / m->width, x = pixel % m->width;

    if (m->channels == 1)
        (void)snprintf(out, FRAME_PIXEL_NAME, "p%d_%d", y, x);
    else
        (void)snprintf(out, FRAME_PIXEL_NAME, "p%d_%d_%d", y, x, i % m->channels);
}

/* A stretch of a column that lies within one chunk. */
struct stretch {
    const uint8_t *data;
    enum frame_chunk type;
    int64_t n;
};

static struct stretch stretch_at(const struct frame *f, int col, int64_t from, int64_t n)
{
    const struct frame_map *m = f->map;
    const uint64_t *entry = (const uint64_t *)(const void *)(m->data + m->recs[col].chunks_at);
    int64_t per = m->t.chunk_rows, chunk = from / per, skip = from % per;
    enum frame_chunk type = (enum frame_chunk)(entry[chunk] & 7);

    return (struct stretch){ m->data + (entry[chunk] & ~7ull) + skip * frame_chunk_width(type),
                             type, MIN(n, per - skip) };
}

static void range_check(const struct frame *f, int col, enum frame_type type, int64_t from,
                        int64_t n)
{
    CHECK(col >= 0 && col < f->n_cols && f->cols[col].type == type);
    CHECK(from >= 0 && n >= 0 && from <= f->rows && n <= f->rows - from);
}

void frame_numbers(const struct frame *f, int col, int64_t from, int64_t n, double *out)
{
    range_check(f, col, FRAME_NUMERIC, from, n);
    for (int64_t i = 0; is_absent(f, col) && i < n; i++)
        out[i] = (double)NAN;
    while (n > 0 && !is_absent(f, col)) {
        struct stretch s = stretch_at(f, col, from, n);
        frame_unpack_numbers(s.data, s.type, s.n, out);
        from += s.n, out += s.n, n -= s.n;
    }
}

void frame_numbers_at(const struct frame *f, int col, const int64_t *rows, int64_t n, double *out)
{
    for (int64_t i = 0, to; i < n; i = to) {
        range_check(f, col, FRAME_NUMERIC, rows[i], 1);
        if (is_absent(f, col)) {
            out[i] = (double)NAN;
            to = i + 1;
            continue;
        }
        struct stretch s = stretch_at(f, col, rows[i], f->rows - rows[i]);
        for (to = i + 1; to < n && rows[to] - rows[i] < s.n; to++)
            CHECK(rows[to] >= rows[to - 1]);
        frame_pick_numbers(s.data, s.type, rows + i, to - i, out + i);
    }
}

void frame_codes(const struct frame *f, int col, int64_t from, int64_t n, int32_t *out)
{
    const struct frame_map *m = f->map;

    range_check(f, col, FRAME_CATEGORICAL, from, n);
    for (int64_t i = 0; is_absent(f, col) && i < n; i++)
        out[i] = -1;
    if (is_absent(f, col))
        return;
    const uint32_t *map = (const uint32_t *)(const void *)(m->data + m->recs[col].map_at);
    while (n > 0) {
        struct stretch s = stretch_at(f, col, from, n);
        frame_unpack_codes(s.data, s.type, s.n, map, m->recs[col].n_levels, out);
        from += s.n, out += s.n, n -= s.n;
    }
}
