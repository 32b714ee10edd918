/* image_out.h - private to the image readers: images, and what they show, become the columns of a
 * frame. Images come in row by row and leave in chunks of columns, so that memory is bounded;
 * labels may come before, after or beside their images. */
#ifndef ML_READ_IMAGE_OUT_H
#define ML_READ_IMAGE_OUT_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/table/frame_file.h"

#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_MAX_VALUES = 100000 };
#define IMAGE_LABEL "label"

struct image_out;
struct image_out *image_out_new(const char *path, const char *name, int64_t max_bytes);
void image_out_free(struct image_out *o); /* aborts the file unless it was ended */

/* Fixes the shape at the first call; a later call must repeat it. what: the file with the images,
 * for errors. floats: the values are float, else bytes. */
int image_out_shape(struct image_out *o, const struct frame_image *shape, bool floats,
                    const char *what, struct err *err);
int image_out_bytes(struct image_out *o, const uint8_t *pixels, struct err *err);
int image_out_floats(struct image_out *o, const double *values, struct err *err);
/* The label of the next row that has none yet: a text, or a number. */
int image_out_text(struct image_out *o, const char *text, struct err *err);
int image_out_number(struct image_out *o, double v, struct err *err);
int64_t image_out_rows(const struct image_out *o);
int64_t image_out_labels(const struct image_out *o);
/* Labels beyond the images are dropped: of a stream that was cut. */
void image_out_cut(struct image_out *o);
/* Writes the label column, if there is one, before the images, and ends the file. */
int image_out_end(struct image_out *o, char hash[SHA256_HEX], struct err *err);

#endif
