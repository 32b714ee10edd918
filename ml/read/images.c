/* images.c - see images.h. Works from the front of the stream to its end, with one row of images,
 * one picture, or one part of the labels in memory. Every error names the file within an
 * archive. */
#include "ml/read/images.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/read/array.h"
#include "ml/read/image_out.h"
#include "ml/read/picture.h"
#include "ml/read/tar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* bytes of one picture's file; numbers of labels that are read together */
enum { PICTURE_MAX = 64 << 20, PICTURE_PART = 1 << 16, LABELS_PART = 4096, NAME_BYTES = 1200 };

struct images {
    struct feed *feed;
    struct image_out *out;
    bool has_pictures, has_array, has_labels, is_over;
    int channels; /* of the first picture */
};

bool images_are(const uint8_t *head, long n)
{
    return array_is(head, n) || picture_is(head, n) || tar_is(head, n);
}

/* ---- arrays ---- */

static int labels_part(struct images *im, const struct array *a, const double *v, int64_t n,
                       struct err *err)
{
    char text[32];
    int rc = 0;

    for (int64_t i = 0; i < n && rc == 0; i++) {
        if (a->kind == ARRAY_FLOAT) {
            rc = image_out_number(im->out, v[i], err);
        } else {
            (void)snprintf(text, sizeof text, "%" PRId64, (int64_t)v[i]);
            rc = image_out_text(im->out, text, err);
        }
    }
    return rc;
}

static int labels_take(struct images *im, struct feed *f, const struct array *a, struct err *err)
{
    uint8_t bytes[LABELS_PART * 8];
    double v[LABELS_PART];

    if (im->has_labels)
        return err_set(err, ERR_ARG, "%s: a second array of labels", f->name);
    im->has_labels = true;
    for (int64_t left = a->dims[0]; left > 0;) {
        int64_t n = MIN(left, LABELS_PART);
        long got = feed_read(f, bytes, (size_t)(n * a->width), err);
        if (got < 0)
            return -1;
        array_numbers(a, bytes, got / a->width, v);
        if (labels_part(im, a, v, got / a->width, err) < 0)
            return -1;
        left -= got / a->width;
        if (got == n * a->width)
            continue;
        im->is_over = true;
        if (f->may_be_cut)
            return 0;
        return err_set(err, ERR_ARG, "%s ends after %" PRId64 " of %" PRId64 " labels", f->name,
                       a->dims[0] - left, a->dims[0]);
    }
    return 0;
}

static int array_shape(struct images *im, const struct feed *f, const struct array *a,
                       struct err *err)
{
    struct frame_image shape = { .channels = 1 };
    bool is_bytes = a->kind == ARRAY_UINT && a->width == 1;

    for (int i = 1; i < a->n_dims; i++) {
        if (a->dims[i] < 1 || a->dims[i] > IMAGE_MAX_VALUES)
            return err_set(err, ERR_TOOBIG,
                           "%s: dimension %d is %" PRId64 "; images have at most %d numbers",
                           f->name, i + 1, a->dims[i], IMAGE_MAX_VALUES);
    }
    if (a->n_dims == 4 && a->dims[3] > FRAME_MAX_CHANNELS)
        return err_set(err, ERR_ARG,
                       "%s: %" PRId64 " channels; the order is N x height x width x channels, with "
                       "at most %d of them",
                       f->name, a->dims[3], FRAME_MAX_CHANNELS);
    shape.height = (int)a->dims[1];
    shape.width = (int)a->dims[2];
    shape.channels = a->n_dims == 4 ? (int)a->dims[3] : 1;
    if (im->has_array || im->has_pictures)
        return err_set(err, ERR_ARG, "%s: a second array of images", f->name);
    im->has_array = true;
    return image_out_shape(im->out, &shape, !is_bytes, f->name, err);
}

static int array_rows(struct images *im, struct feed *f, const struct array *a, uint8_t *row,
                      double *v, struct err *err)
{
    int64_t values = a->dims[1] * a->dims[2] * (a->n_dims == 4 ? a->dims[3] : 1);
    int64_t bytes = values * a->width;

    for (int64_t i = 0; i < a->dims[0]; i++) {
        long got = feed_read(f, row, (size_t)bytes, err);
        if (got < 0)
            return -1;
        if (got < bytes) {
            im->is_over = true;
            if (f->may_be_cut)
                return 0;
            return err_set(err, ERR_ARG, "%s ends after %" PRId64 " of %" PRId64 " images", f->name,
                           i, a->dims[0]);
        }
        int rc = 0;
        if (v) {
            array_numbers(a, row, values, v);
            rc = image_out_floats(im->out, v, err);
        } else {
            rc = image_out_bytes(im->out, row, err);
        }
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int array_take(struct images *im, struct feed *f, struct err *err)
{
    struct array a;

    if (array_head(f, &a, err) < 0)
        return -1;
    if (im->has_pictures)
        return err_set(err, ERR_ARG, "%s: an array beside pictures", f->name);
    if (a.n_dims == 1 || (a.n_dims == 2 && a.dims[1] == 1))
        return labels_take(im, f, &a, err);
    if (a.n_dims == 2)
        return err_set(err, ERR_ARG,
                       "%s: %" PRId64 " x %" PRId64 " numbers are neither images (N x height x "
                       "width) nor labels (N); a table of numbers is read as CSV: "
                       "numpy.savetxt(\"table.csv\", a, delimiter=\",\")",
                       f->name, a.dims[0], a.dims[1]);
    if (array_shape(im, f, &a, err) < 0)
        return -1;
    size_t values = (size_t)(a.dims[1] * a.dims[2] * (a.n_dims == 4 ? a.dims[3] : 1));
    bool is_bytes = a.kind == ARRAY_UINT && a.width == 1;
    uint8_t *row = mem_try_alloc(values * (size_t)a.width);
    double *v = is_bytes ? NULL : mem_try_alloc(values * sizeof *v);
    int rc = -1;
    if (!row || (!is_bytes && !v))
        err_set(err, ERR_NOMEM, "%s: no memory for an image", f->name);
    else
        rc = array_rows(im, f, &a, row, v, err);
    mem_try_free(row);
    mem_try_free(v);
    return rc;
}

/* ---- pictures ---- */

/* All bytes of a file, in steps: no size that a stranger wrote is believed. */
static int file_take(struct feed *f, struct buf *out, struct err *err)
{
    char part[PICTURE_PART];
    long n;

    while ((n = feed_read(f, part, sizeof part, err)) > 0) {
        if (buf_add(out, part, (size_t)n, NULL) < 0)
            return err_set(err, ERR_TOOBIG, "%s: the file is over 64 MiB", f->name);
    }
    return n < 0 ? -1 : 0;
}

/* "cats/17.png" -> "cats"; a file outside of any folder has no class. */
static int class_take(struct images *im, const char *path, struct err *err)
{
    char folder[TAR_MAX_NAME];
    const char *end = strrchr(path, '/');

    str_copy(folder, sizeof folder, path);
    folder[end ? end - path : 0] = '\0';
    const char *class = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
    if (*class == '\0' || str_eq(class, "."))
        return image_out_labels(im->out) == 0
                   ? 0
                   : err_set(err, ERR_ARG, "%s: \"%s\" lies outside of the classes' folders",
                             im->feed->name, path);
    if (image_out_labels(im->out) < image_out_rows(im->out) - 1)
        return err_set(err, ERR_ARG, "%s: the pictures before \"%s\" lie outside of any folder",
                       im->feed->name, path);
    return image_out_text(im->out, class, err);
}

static int picture_put(struct images *im, const struct buf *b, const char *path, struct err *err)
{
    struct picture p;

    if (picture_decode((const uint8_t *)b->data, b->len, im->channels, IMAGE_MAX_VALUES, &p, err) <
        0)
        return err_wrap(err, "%s: \"%s\"", im->feed->name, path);
    const struct frame_image shape = { 0, p.height, p.width, p.channels, true };
    im->channels = p.channels;
    int rc = image_out_shape(im->out, &shape, false, path, err);
    if (rc == 0)
        rc = image_out_bytes(im->out, p.pixels, err);
    mem_try_free(p.pixels);
    return rc;
}

static int picture_take(struct images *im, struct feed *f, const char *path, struct err *err)
{
    struct buf b;

    if (im->has_array || im->has_labels)
        return err_set(err, ERR_ARG, "%s: a picture beside arrays", f->name);
    im->has_pictures = true;
    buf_init(&b, PICTURE_MAX);
    int rc = file_take(f, &b, err);
    if (rc == 0 && im->feed->may_be_cut && im->feed->has_ended) {
        im->is_over = true;
    } else if (rc == 0) {
        rc = picture_put(im, &b, path, err);
        if (rc == 0)
            rc = class_take(im, path, err);
    }
    buf_fini(&b);
    return rc;
}

/* ---- files ---- */

static int file_dispatch(struct images *im, struct feed *f, const char *path, struct err *err)
{
    const uint8_t *head = NULL;
    long n = feed_look(f, FEED_AHEAD, &head, err);

    if (n < 0)
        return -1;
    if (array_is(head, n))
        return array_take(im, f, err);
    if (picture_is(head, n))
        return picture_take(im, f, path, err);
    if (im->feed->may_be_cut && im->feed->has_ended) {
        im->is_over = true;
        return 0;
    }
    return err_set(err, ERR_ARG, "%s: %s", f->name,
                   n == 0 ? "the file is empty"
                          : "neither a PNG, a JPEG, an idx file nor a .npy file");
}

static int archive_take(struct images *im, struct err *err)
{
    struct tar t = { .feed = im->feed };
    char name[NAME_BYTES];
    int rc;

    while (!im->is_over && (rc = tar_next(&t, err)) > 0) {
        const char *slash = strrchr(t.name, '/'), *base = slash ? slash + 1 : t.name;
        struct feed f = {
            .source = tar_source, .ctx = &t, .name = name, .may_be_cut = im->feed->may_be_cut
        };
        if (base[0] == '.' || base[0] == '\0')
            continue;
        (void)snprintf(name, sizeof name, "%.100s: \"%.1000s\"", im->feed->name, t.name);
        if (file_dispatch(im, &f, t.name, err) < 0)
            return -1;
    }
    return im->is_over ? 0 : rc;
}

int images_to_frame(struct feed *f, int64_t max_bytes, const char *frame_path,
                    char hash[SHA256_HEX], struct err *err)
{
    struct images im = { .feed = f };
    const uint8_t *head = NULL;
    long n = feed_look(f, TAR_BLOCK, &head, err);
    int rc = -1;

    if (n < 0)
        return -1;
    im.out = image_out_new(frame_path, f->name, max_bytes);
    rc = tar_is(head, n) ? archive_take(&im, err) : file_dispatch(&im, f, f->name, err);
    if (rc == 0 && f->may_be_cut)
        image_out_cut(im.out);
    if (rc == 0)
        rc = image_out_end(im.out, hash, err);
    image_out_free(im.out);
    return rc;
}
