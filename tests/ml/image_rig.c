/* image_rig.c - see image_rig.h. */
#include "tests/ml/image_rig.h"

#include "ml/read/read.h"
#include "tests/ml/csv_rig.h"

#include <png.h>
#include <stdio.h>
#include <unistd.h>

#include <jpeglib.h>

static void add(struct buf *out, const void *p, size_t n)
{
    if (out->max == 0)
        buf_init(out, (size_t)1 << 30);
    assert_int_equal(buf_add(out, p, n, NULL), 0);
}

void image_rig_idx(struct buf *out, const int64_t *dims, int n_dims, const uint8_t *values,
                   size_t n_values)
{
    uint8_t head[4] = { 0, 0, 8, (uint8_t)n_dims };

    add(out, head, 4);
    for (int i = 0; i < n_dims; i++) {
        uint8_t d[4] = { (uint8_t)(dims[i] >> 24), (uint8_t)(dims[i] >> 16),
                         (uint8_t)(dims[i] >> 8), (uint8_t)dims[i] };
        add(out, d, 4);
    }
    add(out, values, n_values);
}

void image_rig_npy(struct buf *out, const char *descr, const char *shape, const void *values,
                   size_t bytes)
{
    char head[256];
    int n = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                     descr, shape);
    uint8_t front[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)n, (uint8_t)(n >> 8) };

    add(out, front, sizeof front);
    add(out, head, (size_t)n);
    add(out, values, bytes);
}

void image_rig_png(struct buf *out, const uint8_t *pixels, int height, int width, int channels)
{
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)width,
                        .height = (png_uint_32)height,
                        .format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY };
    static uint8_t bytes[1 << 20];
    png_alloc_size_t n = sizeof bytes;

    assert_true(png_image_write_to_memory(&image, bytes, &n, 0, pixels, 0, NULL));
    add(out, bytes, n);
}

void image_rig_jpeg(struct buf *out, const uint8_t *pixels, int height, int width, int channels)
{
    struct jpeg_compress_struct j = { 0 };
    struct jpeg_error_mgr mgr;
    unsigned char *bytes = NULL;
    unsigned long n = 0;

    j.err = jpeg_std_error(&mgr);
    jpeg_create_compress(&j);
    jpeg_mem_dest(&j, &bytes, &n);
    j.image_width = (JDIMENSION)width;
    j.image_height = (JDIMENSION)height;
    j.input_components = channels;
    j.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, 100, TRUE);
    jpeg_start_compress(&j, TRUE);
    while (j.next_scanline < j.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)j.next_scanline * (size_t)width *
                                                          (size_t)channels);
        jpeg_write_scanlines(&j, &row, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    add(out, bytes, n);
    free(bytes);
}

void image_rig_tar(struct buf *out, const char *name, const void *bytes, size_t n)
{
    char block[512] = { 0 };
    static const char zeros[512];
    unsigned sum = 0;

    assert_true(strlen(name) <= 100);
    memcpy(block, name, strlen(name));
    (void)snprintf(block + 124, 12, "%011zo", n);
    memset(block + 148, ' ', 8);
    block[156] = '0';
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += (uint8_t)block[i];
    (void)snprintf(block + 148, 8, "%06o", sum);
    add(out, block, sizeof block);
    add(out, bytes, n);
    add(out, zeros, -n & 511);
}

void image_rig_tar_end(struct buf *out)
{
    static const char zeros[1024];

    add(out, zeros, sizeof zeros);
}

struct frame *image_rig_frame(const struct buf *file, size_t step, bool may_be_cut,
                              char hash[SHA256_HEX], struct err *err)
{
    struct text_source s = { file->data, file->len, 0, step };
    const struct csv_opts opts = { .name = "t.tar", .may_be_cut = may_be_cut };
    char path[512], name[40], own[SHA256_HEX];
    static int count;
    struct frame *f = NULL;

    (void)snprintf(name, sizeof name, "images-%ld-%d.frame", (long)getpid(), count++);
    test_path(path, sizeof path, name);
    if (table_to_frame(text_source_read, &s, &opts, path, hash ? hash : own, err) == 0)
        f = frame_open(path, err);
    else
        assert_int_equal(access(path, F_OK), -1);
    unlink(path);
    return f;
}

double image_rig_number(const struct frame *f, const char *col, int64_t row)
{
    return cell_number(f, col, row);
}

const char *image_rig_label(const struct frame *f, int64_t row)
{
    return cell_text(f, "label", row);
}
