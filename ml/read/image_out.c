/* image_out.c - see image_out.h. A chunk of images is held row by row and written column by column,
 * bytes as bytes, floats as the narrowest type that holds them. The label column comes first.
 * Called by images.c. */
#include "ml/read/image_out.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/cells/csv_num.h"
#include "ml/read/csv_dict.h"
#include "ml/table/frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 8 << 20, CHUNK_MOST_ROWS = 4096 };

/* What is known of the values of one column. */
struct pixel {
    double min, max, sum;
    int64_t missing, finite;
    uint64_t seen[4]; /* of bytes: which values occur */
};

struct image_out {
    const char *path, *name;
    int64_t max_bytes;
    struct frame_out *out;
    struct frame_image shape;
    bool floats;
    int values;
    /* The chunk being filled: [chunk_rows][values] bytes or floats. */
    void *chunk;
    int64_t chunk_rows, filled, n_chunks;
    struct pixel *pixels;
    uint64_t **entries; /* [n_chunks][values] */
    void *column, *pack;
    /* Labels: codes of texts, or numbers. */
    struct csv_dict dict;
    uint32_t *codes;
    double *numbers;
    int64_t n_labels, cap_labels;
    bool has_text, has_number;
};

struct image_out *image_out_new(const char *path, const char *name, int64_t max_bytes)
{
    struct image_out *o = mem_zalloc(sizeof *o);

    o->path = path;
    o->name = name;
    o->max_bytes = max_bytes;
    csv_dict_init(&o->dict);
    return o;
}

void image_out_free(struct image_out *o)
{
    if (!o)
        return;
    frame_out_abort(o->out);
    for (int64_t i = 0; i < o->n_chunks; i++)
        mem_free(o->entries[i]);
    mem_free(o->entries);
    mem_try_free(o->chunk);
    mem_try_free(o->pixels);
    mem_try_free(o->column);
    mem_try_free(o->pack);
    mem_free(o->codes);
    mem_free(o->numbers);
    csv_dict_fini(&o->dict);
    mem_free(o);
}

int64_t image_out_rows(const struct image_out *o)
{
    return o->n_chunks * o->chunk_rows + o->filled;
}

int64_t image_out_labels(const struct image_out *o)
{
    return o->n_labels;
}

/* ---- images ---- */

static int memory_take(struct image_out *o, struct err *err)
{
    int64_t width = o->floats ? (int64_t)sizeof(float) : 1, row = o->values * width;

    o->chunk_rows = CHUNK_BYTES / row;
    o->chunk_rows = MIN(MAX(o->chunk_rows, FRAME_MIN_CHUNK_ROWS), CHUNK_MOST_ROWS);
    o->chunk = mem_try_alloc((size_t)(o->chunk_rows * row));
    o->pixels = mem_try_zalloc((size_t)o->values * sizeof *o->pixels);
    o->column = mem_try_alloc((size_t)o->chunk_rows * sizeof(double));
    o->pack = mem_try_alloc((size_t)o->chunk_rows * sizeof(double));
    if (!o->chunk || !o->pixels || !o->column || !o->pack)
        return err_set(err, ERR_NOMEM, "%s: no memory for images of %d numbers", o->name,
                       o->values);
    for (int i = 0; i < o->values; i++)
        o->pixels[i] = (struct pixel){ .min = INFINITY, .max = -INFINITY };
    return 0;
}

static bool same_shape(const struct frame_image *a, const struct frame_image *b)
{
    return a->height == b->height && a->width == b->width && a->channels == b->channels;
}

int image_out_shape(struct image_out *o, const struct frame_image *shape, bool floats,
                    const char *what, struct err *err)
{
    const struct frame_image *is = &o->shape;

    if (o->values > 0)
        return same_shape(is, shape)
                   ? 0
                   : err_set(err, ERR_ARG,
                             "%s: \"%.100s\" is %d x %d with %d channels, the images before it are "
                             "%d x %d with %d: make them equal first",
                             o->name, what, shape->width, shape->height, shape->channels, is->width,
                             is->height, is->channels);
    if ((int64_t)shape->height * shape->width > IMAGE_MAX_VALUES / shape->channels)
        return err_set(err, ERR_TOOBIG,
                       "%s: images of %d x %d x %d are over the limit of %d numbers", o->name,
                       shape->width, shape->height, shape->channels, IMAGE_MAX_VALUES);
    o->shape = *shape;
    o->floats = floats;
    o->values = frame_image_values(shape);
    return memory_take(o, err);
}

static int bytes_flush(struct image_out *o, int c, uint64_t *entry, struct err *err)
{
    const uint8_t *from = (const uint8_t *)o->chunk + c;
    struct pixel *p = &o->pixels[c];
    uint8_t *column = o->column, lo = 255, hi = 0;
    uint64_t sum = 0;

    for (int64_t i = 0; i < o->filled; i++, from += o->values) {
        uint8_t v = column[i] = *from;
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        sum += v;
        p->seen[v >> 6] |= UINT64_C(1) << (v & 63);
    }
    p->min = fmin(p->min, lo);
    p->max = fmax(p->max, hi);
    p->sum += (double)sum;
    p->finite += o->filled;
    return frame_out_chunk(o->out, FC_U8, column, o->filled, entry, err);
}

static int floats_flush(struct image_out *o, int c, uint64_t *entry, struct err *err)
{
    const float *from = (const float *)o->chunk + c;
    struct pixel *p = &o->pixels[c];
    enum frame_chunk type = FC_F32;
    double *column = o->column;

    for (int64_t i = 0; i < o->filled; i++, from += o->values) {
        double v = column[i] = (double)*from;
        p->missing += isnan(v);
        if (!isfinite(v))
            continue;
        p->min = fmin(p->min, v);
        p->max = fmax(p->max, v);
        p->sum += v;
        p->finite++;
    }
    int64_t bytes = frame_pack_numbers(column, o->filled, o->pack, &type);
    return frame_out_chunk(o->out, type, o->pack, bytes, entry, err);
}

static int chunk_flush(struct image_out *o, struct err *err)
{
    if (!o->out)
        o->out = frame_out_images(o->path, &o->shape, err);
    if (!o->out)
        return -1;
    uint64_t *entries = mem_array((size_t)o->values, sizeof *entries);
    o->entries = mem_resize(o->entries, (size_t)(o->n_chunks + 1) * sizeof *o->entries);
    o->entries[o->n_chunks] = entries;
    for (int c = 0; c < o->values; c++) {
        int rc =
            o->floats ? floats_flush(o, c, &entries[c], err) : bytes_flush(o, c, &entries[c], err);
        if (rc < 0) {
            mem_free(entries);
            return -1;
        }
    }
    o->n_chunks++;
    o->filled = 0;
    return 0;
}

static int64_t bytes_held(const struct image_out *o)
{
    return CHUNK_BYTES + (int64_t)o->values * (int64_t)sizeof(struct pixel) +
           o->n_chunks * o->values * 8 + o->cap_labels * 12 + csv_dict_bytes(&o->dict);
}

static int row_end(struct image_out *o, struct err *err)
{
    if (++o->filled < o->chunk_rows)
        return 0;
    if (o->max_bytes > 0 && bytes_held(o) > o->max_bytes)
        return err_set(err, ERR_TOOBIG, "%s: reading on would need more than the memory allowed",
                       o->name);
    return chunk_flush(o, err);
}

int image_out_bytes(struct image_out *o, const uint8_t *pixels, struct err *err)
{
    memcpy((uint8_t *)o->chunk + o->filled * o->values, pixels, (size_t)o->values);
    return row_end(o, err);
}

int image_out_floats(struct image_out *o, const double *values, struct err *err)
{
    float *to = (float *)o->chunk + o->filled * o->values;

    for (int i = 0; i < o->values; i++)
        to[i] = (float)values[i];
    return row_end(o, err);
}

/* ---- labels ---- */

static int label_room(struct image_out *o, bool is_text, struct err *err)
{
    if (is_text ? o->has_number : o->has_text)
        return err_set(err, ERR_ARG, "%s: labels are texts or numbers, not both", o->name);
    o->has_text = is_text;
    o->has_number = !is_text;
    if (o->n_labels < o->cap_labels)
        return 0;
    o->cap_labels = (int64_t)mem_more((size_t)o->cap_labels);
    if (o->max_bytes > 0 && o->cap_labels * 12 > o->max_bytes)
        return err_set(err, ERR_TOOBIG, "%s: more labels than the memory allowed holds", o->name);
    if (is_text)
        o->codes = mem_resize(o->codes, (size_t)o->cap_labels * sizeof *o->codes);
    else
        o->numbers = mem_resize(o->numbers, (size_t)o->cap_labels * sizeof *o->numbers);
    return 0;
}

int image_out_text(struct image_out *o, const char *text, struct err *err)
{
    char s[1024 + 16] = { 0 }; /* the dictionary reads 8 bytes past the end */
    size_t n = strlen(text);
    uint32_t code = 0;

    if (n == 0 || n > 1024 || !utf8_ok(text, n) || csv_is_missing(text, n))
        return err_set(err, ERR_ARG, "%s: \"%.100s\" cannot be the name of a class", o->name, text);
    memcpy(s, text, n);
    if (label_room(o, true, err) < 0 || csv_dict_add(&o->dict, s, n, &code, err) < 0)
        return -1;
    o->dict.count[code]++;
    o->codes[o->n_labels++] = code;
    return 0;
}

int image_out_number(struct image_out *o, double v, struct err *err)
{
    if (label_room(o, false, err) < 0)
        return -1;
    o->numbers[o->n_labels++] = v;
    return 0;
}

void image_out_cut(struct image_out *o)
{
    int64_t rows = image_out_rows(o);

    for (int64_t i = rows; i < o->n_labels && o->has_text; i++)
        o->dict.count[o->codes[i]]--;
    o->n_labels = MIN(o->n_labels, rows);
}

/* ---- the end ---- */

static int labels_write(struct image_out *o, struct err *err)
{
    int64_t n_chunks = (o->n_labels + o->chunk_rows - 1) / o->chunk_rows;
    uint64_t *entries = mem_array((size_t)n_chunks, sizeof *entries);
    struct frame_levels levels = { 0 };
    struct frame_stats stats;
    int rc = 0;

    frame_stats_init(&stats);
    for (int64_t i = 0; i < n_chunks && rc == 0; i++) {
        int64_t at = i * o->chunk_rows, n = MIN(o->chunk_rows, o->n_labels - at), bytes;
        enum frame_chunk type = FC_U8;
        if (o->has_text) {
            bytes = frame_pack_codes(o->codes + at, n, o->pack, &type);
        } else {
            frame_stats_numbers(&stats, o->numbers + at, n);
            bytes = frame_pack_numbers(o->numbers + at, n, o->pack, &type);
        }
        rc = frame_out_chunk(o->out, type, o->pack, bytes, &entries[i], err);
    }
    if (rc == 0 && o->has_text)
        rc = csv_dict_levels(&o->dict, &levels, err);
    if (rc == 0)
        rc = frame_out_col(o->out, IMAGE_LABEL, o->has_text ? FRAME_CATEGORICAL : FRAME_NUMERIC,
                           &stats, entries, n_chunks, o->has_text ? &levels : NULL, err);
    frame_stats_fini(&stats);
    mem_free(entries);
    return rc;
}

/* Distinct values of bytes are counted; of floats only whether there is more than one. */
static int64_t distinct_of(const struct image_out *o, const struct pixel *p)
{
    int64_t n = 0;

    for (int i = 0; i < 4; i++)
        n += __builtin_popcountll(p->seen[i]);
    if (!o->floats)
        return n;
    return p->finite == 0 ? 0 : p->min == p->max ? 1 : MIN(p->finite, FRAME_DISTINCT_CAP);
}

static int pixels_write(struct image_out *o, struct err *err)
{
    uint64_t *entries = mem_array((size_t)o->n_chunks, sizeof *entries);
    char name[FRAME_PIXEL_NAME];
    int rc = 0;

    for (int c = 0; c < o->values && rc == 0; c++) {
        const struct pixel *p = &o->pixels[c];
        struct frame_stats stats = { .missing = p->missing,
                                     .min = p->min,
                                     .max = p->max,
                                     .sum = p->sum,
                                     .finite = p->finite,
                                     .distinct = distinct_of(o, p) };
        for (int64_t i = 0; i < o->n_chunks; i++)
            entries[i] = o->entries[i][c];
        frame_pixel_name(&o->shape, c, name);
        rc = frame_out_col(o->out, name, FRAME_NUMERIC, &stats, entries, o->n_chunks, NULL, err);
    }
    mem_free(entries);
    return rc;
}

int image_out_end(struct image_out *o, char hash[SHA256_HEX], struct err *err)
{
    int64_t rows = image_out_rows(o);

    if (rows == 0)
        return err_set(err, ERR_ARG, "%s: there are no images", o->name);
    if (o->n_labels > 0 && o->n_labels != rows)
        return err_set(err, ERR_ARG, "%s: %" PRId64 " images, but %" PRId64 " labels", o->name,
                       rows, o->n_labels);
    if (o->filled > 0 && chunk_flush(o, err) < 0)
        return -1;
    o->shape.first = o->n_labels > 0;
    frame_out_shape(o->out, &o->shape);
    if ((o->n_labels > 0 && labels_write(o, err) < 0) || pixels_write(o, err) < 0)
        return -1;
    struct frame_out *out = o->out;
    o->out = NULL;
    return frame_out_end(out, rows, o->chunk_rows, hash, err);
}
