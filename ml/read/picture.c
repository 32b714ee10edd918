/* picture.c - see picture.h. Both libraries read what a stranger wrote; their errors become ours,
 * and sizes are checked before a picture is unpacked. Called by images.c. */
#include "ml/read/picture.h"

#include "base/base.h"
#include "base/mem.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* these two need stdio.h before them */
#include <jpeglib.h>

#include <jerror.h>

static const uint8_t png_magic[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };

static bool png_is(const uint8_t *p, long n)
{
    return n >= (long)sizeof png_magic && memcmp(p, png_magic, sizeof png_magic) == 0;
}

static bool jpeg_is(const uint8_t *p, long n)
{
    return n >= 3 && p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff;
}

bool picture_is(const uint8_t *head, long n)
{
    return png_is(head, n) || jpeg_is(head, n);
}

/* Sets the shape and takes the memory. */
static int shape_take(struct picture *p, int64_t height, int64_t width, int own, int wanted,
                      int64_t most, struct err *err)
{
    if (wanted == 1 && own == 3)
        return err_set(err, ERR_ARG, "it is coloured, and the pictures before it are gray");
    *p = (struct picture){ .channels = wanted ? wanted : own };
    if (height < 1 || width < 1 || height > most || width > most / height / p->channels)
        return err_set(err, ERR_TOOBIG,
                       "%lld x %lld pixels are over the limit of %lld numbers an image: make the "
                       "pictures smaller",
                       (long long)height, (long long)width, (long long)most);
    p->height = (int)height;
    p->width = (int)width;
    p->pixels = mem_try_zalloc((size_t)(height * width * p->channels));
    return p->pixels ? 0 : err_set(err, ERR_NOMEM, "no memory for a picture");
}

static int png_decode(const uint8_t *bytes, size_t n, int channels, int64_t most,
                      struct picture *out, struct err *err)
{
    png_image image = { .version = PNG_IMAGE_VERSION };
    const png_color black = { 0, 0, 0 };
    int rc = -1;

    if (!png_image_begin_read_from_memory(&image, bytes, n))
        return err_set(err, ERR_ARG, "this PNG is damaged: %.60s", image.message);
    int own = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    if (shape_take(out, image.height, image.width, own, channels, most, err) == 0) {
        image.format = out->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
        if (png_image_finish_read(&image, &black, out->pixels, 0, NULL))
            rc = 0;
        else
            err_set(err, ERR_ARG, "this PNG is damaged: %.60s", image.message);
    }
    png_image_free(&image);
    return rc;
}

struct jpeg_ctx {
    struct jpeg_error_mgr mgr;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
};

static void jpeg_fail(j_common_ptr j)
{
    struct jpeg_ctx *c = (struct jpeg_ctx *)(void *)j->err;

    c->mgr.format_message(j, c->text);
    longjmp(c->out, 1);
}

/* Most warnings are harmless; an early end of the data is not. */
static void jpeg_message(j_common_ptr j, int level)
{
    if (level < 0 && (j->err->msg_code == JWRN_JPEG_EOF || j->err->msg_code == JWRN_HIT_MARKER))
        jpeg_fail(j);
}

static int jpeg_pixels(struct jpeg_decompress_struct *j, int channels, int64_t most,
                       struct picture *out, struct err *err)
{
    int own = j->num_components == 1 ? 1 : 3;

    if (j->num_components != 1 && j->num_components != 3)
        return err_set(err, ERR_ARG, "this JPEG has %d colour channels: save it as RGB",
                       j->num_components);
    if (shape_take(out, j->image_height, j->image_width, own, channels, most, err) < 0)
        return -1;
    j->out_color_space = out->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    j->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        JSAMPROW row =
            out->pixels + (size_t)j->output_scanline * (size_t)out->width * (size_t)out->channels;
        jpeg_read_scanlines(j, &row, 1);
    }
    jpeg_finish_decompress(j);
    return 0;
}

static int jpeg_decode(const uint8_t *bytes, size_t n, int channels, int64_t most,
                       struct picture *out, struct err *err)
{
    struct jpeg_decompress_struct j = { 0 };
    struct jpeg_ctx c;
    volatile int rc = -1;

    j.err = jpeg_std_error(&c.mgr);
    c.mgr.error_exit = jpeg_fail;
    c.mgr.emit_message = jpeg_message;
    if (setjmp(c.out)) {
        err_set(err, ERR_ARG, "this JPEG is damaged: %.80s", c.text);
        rc = -1;
    } else {
        jpeg_create_decompress(&j);
        jpeg_mem_src(&j, bytes, (unsigned long)n);
        jpeg_read_header(&j, TRUE);
        rc = jpeg_pixels(&j, channels, most, out, err);
    }
    jpeg_destroy_decompress(&j);
    return rc;
}

int picture_decode(const uint8_t *bytes, size_t n, int channels, int64_t most_values,
                   struct picture *out, struct err *err)
{
    int rc = -1;

    *out = (struct picture){ 0 };
    if (png_is(bytes, (long)n))
        rc = png_decode(bytes, n, channels, most_values, out, err);
    else if (jpeg_is(bytes, (long)n))
        rc = jpeg_decode(bytes, n, channels, most_values, out, err);
    else
        err_set(err, ERR_ARG, "it is neither a PNG nor a JPEG");
    if (rc < 0) {
        mem_try_free(out->pixels);
        *out = (struct picture){ 0 };
    }
    return rc;
}
