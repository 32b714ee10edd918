/* frame_check.c - checks everything in a frame file that reading relies on, once, when it is
 * opened: the file may come from a stranger or a failing disk. Every offset, length, type, name and
 * level text is checked.
 *
 * The work is linear in the size of the file: tables that claim to overlap are refused by a budget
 * of entries and text bytes that a true file cannot exceed. Values of codes are not scanned;
 * reading turns a code out of range into "missing". Called by frame_open. */
#include "ml/table/frame_file.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const uint8_t *data;
    uint64_t size, n_chunks;
    /* what a true file of this size cannot exceed */
    uint64_t entries_left, text_left;
    const struct frame_trailer *t;
};

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged frame file: %s", what);
}

static bool table_ok(struct check *c, uint64_t at, uint64_t n, uint64_t width)
{
    if (at % 8 || at > c->size || n > c->entries_left || n > (c->size - at) / width)
        return false;
    c->entries_left -= n;
    return true;
}

static bool text_ok(struct check *c, uint64_t at, uint64_t n)
{
    if (at >= c->size || n >= c->size - at || n >= c->text_left || n > FRAME_MAX_TEXT)
        return false;
    c->text_left -= n + 1;
    const char *s = (const char *)c->data + at;
    return s[n] == '\0' && memchr(s, 0, n) == NULL && utf8_ok(s, n);
}

static int check_chunks(struct check *c, const struct frame_rec *r, struct err *err)
{
    uint64_t rows = c->t->rows, per = c->t->chunk_rows;

    if (!table_ok(c, r->chunks_at, c->n_chunks, 8))
        return broken(err, "a chunk table lies outside");
    const uint64_t *e = (const uint64_t *)(const void *)(c->data + r->chunks_at);
    for (uint64_t i = 0; i < c->n_chunks; i++) {
        uint64_t at = e[i] & ~7ull, n = i + 1 < c->n_chunks ? per : rows - i * per;
        enum frame_chunk type = (enum frame_chunk)(e[i] & 7);
        bool is_pixels = c->t->version == FRAME_VERSION_IMAGES && type == FC_U8;
        if ((type <= FC_F64) != (frame_rec_type(r) == FRAME_NUMERIC) &&
            !(is_pixels && frame_rec_type(r) == FRAME_NUMERIC))
            return broken(err, "a chunk is of another kind than its column");
        if (at > c->size || n > (c->size - at) / (uint64_t)frame_chunk_width(type))
            return broken(err, "a chunk lies outside");
    }
    return 0;
}

static int check_levels(struct check *c, const struct frame_rec *r, struct err *err)
{
    if (!table_ok(c, r->levels_at, (uint64_t)r->n_levels + 1, 8) ||
        !table_ok(c, r->map_at, r->n_levels, 4))
        return broken(err, "a level table lies outside");
    const uint64_t *at = (const uint64_t *)(const void *)(c->data + r->levels_at);
    const uint32_t *map = (const uint32_t *)(const void *)(c->data + r->map_at);
    for (uint32_t i = 0; i < r->n_levels; i++) {
        if (at[i + 1] <= at[i] || !text_ok(c, at[i], at[i + 1] - at[i] - 1))
            return broken(err, "a level is no text");
        if (map[i] >= r->n_levels)
            return broken(err, "a level code is out of range");
    }
    return 0;
}

static int check_col(struct check *c, const struct frame_rec *r, struct err *err)
{
    uint32_t note = frame_rec_note(r);

    if (frame_rec_type(r) > FRAME_IGNORED || frame_rec_kind(r) >= FRAME_KINDS ||
        !frame_kind_fits(frame_rec_kind(r), frame_rec_type(r)))
        return broken(err, "unknown column type");
    if (r->name_bytes == 0 || !text_ok(c, r->name_at, r->name_bytes))
        return broken(err, "a column name is no text");
    if (note > FRAME_MAX_NOTE || (note && !text_ok(c, r->name_at + r->name_bytes + 1, note)))
        return broken(err, "a column's note is no text");
    if (r->missing < 0 || (uint64_t)r->missing > c->t->rows || r->not_numbers > r->missing ||
        r->distinct < 0 || isinf(r->min) || isinf(r->max))
        return broken(err, "a column's statistics are impossible");
    if (frame_rec_type(r) == FRAME_IGNORED)
        return r->n_levels ? broken(err, "an ignored column has levels") : 0;
    if (check_chunks(c, r, err) < 0)
        return -1;
    if (frame_rec_type(r) == FRAME_NUMERIC)
        return r->n_levels ? broken(err, "a numeric column has levels") : 0;
    return check_levels(c, r, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct check *c, const struct frame_rec *recs, struct err *err)
{
    uint32_t n = c->t->n_cols;
    const char **names = mem_array(n, sizeof(*names));
    int rc = 0;

    for (uint32_t i = 0; i < n; i++)
        names[i] = (const char *)c->data + recs[i].name_at;
    qsort(names, n, sizeof(*names), by_text);
    for (uint32_t i = 1; i < n && rc == 0; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = broken(err, "two columns share a name");
    }
    mem_free(names);
    return rc;
}

static int check_image(const struct frame_trailer *t, const struct frame_rec *recs, struct err *err)
{
    uint64_t values = (uint64_t)t->image_height * t->image_width;

    if (t->version == FRAME_VERSION)
        return t->image_height ? broken(err, "it has images, and its version has none") : 0;
    if (t->image_first >= t->n_cols || t->image_channels < 1 ||
        t->image_channels > FRAME_MAX_CHANNELS || values < 1 ||
        values > (t->n_cols - t->image_first) / t->image_channels)
        return broken(err, "its images have an impossible shape");
    values *= t->image_channels;
    for (uint64_t i = 0; i < values; i++) {
        if (frame_rec_type(&recs[t->image_first + i]) != FRAME_NUMERIC)
            return broken(err, "a column of its images is not numeric");
    }
    return 0;
}

int frame_check(const uint8_t *data, uint64_t size, struct frame_trailer *t, struct err *err)
{
    struct check c = { data, size, 0, size / 4, size, t };
    uint32_t version = 0;

    if (size < 2 * FRAME_EDGE_BYTES || memcmp(data, FRAME_MAGIC, 8) != 0)
        return err_set(err, ERR_ARG, "not a frame file");
    memcpy(&version, data + 8, sizeof(version));
    if (version != FRAME_VERSION && version != FRAME_VERSION_IMAGES)
        return err_set(err, ERR_VERSION,
                       "frame file of version %u; this program reads versions %d and %d", version,
                       FRAME_VERSION, FRAME_VERSION_IMAGES);
    memcpy(t, data + size - sizeof(*t), sizeof(*t));
    if (memcmp(t->magic, FRAME_MAGIC, 8) != 0 || t->version != version || t->file_bytes != size)
        return broken(err, "it is cut short");
    if (t->n_cols < 1 || t->n_cols > FRAME_MAX_COLS || t->rows < 1 || t->rows > INT64_MAX / 16)
        return broken(err, "impossible size");
    if (t->chunk_rows < FRAME_MIN_CHUNK_ROWS || t->chunk_rows > FRAME_CHUNK_ROWS)
        return broken(err, "impossible chunk size");
    if (t->cols_at % 8 || t->cols_at > size ||
        t->n_cols > (size - t->cols_at) / sizeof(struct frame_rec))
        return broken(err, "its column table lies outside");
    c.n_chunks = (t->rows + t->chunk_rows - 1) / t->chunk_rows;
    const struct frame_rec *recs = (const struct frame_rec *)(const void *)(data + t->cols_at);
    for (uint32_t i = 0; i < t->n_cols; i++) {
        if (check_col(&c, &recs[i], err) < 0)
            return -1;
    }
    return check_image(t, recs, err) < 0 ? -1 : check_names(&c, recs, err);
}
