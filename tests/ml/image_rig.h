/* image_rig.h - files of images made in memory, and read into frames, for the tests of reading and of networks on images. */
#ifndef TESTS_ML_IMAGE_RIG_H
#define TESTS_ML_IMAGE_RIG_H

#include "tests/unit.h"

#include "base/buf.h"
#include "ml/table/frame.h"

#include <stdbool.h>

/* An idx file of bytes: dims[n_dims] numbers from `values`, of which there may be fewer than the head claims. */
void image_rig_idx(struct buf *out, const int64_t *dims, int n_dims, const uint8_t *values,
                   size_t n_values);
/* A .npy file. descr and shape as NumPy writes them: "<f4", "(2, 3, 4)". */
void image_rig_npy(struct buf *out, const char *descr, const char *shape, const void *values,
                   size_t bytes);
/* Pixels as a PNG or a JPEG of 1 or 3 channels. */
void image_rig_png(struct buf *out, const uint8_t *pixels, int height, int width, int channels);
void image_rig_jpeg(struct buf *out, const uint8_t *pixels, int height, int width, int channels);
/* Adds a file to an archive; image_rig_tar_end closes it. */
void image_rig_tar(struct buf *out, const char *name, const void *bytes, size_t n);
void image_rig_tar_end(struct buf *out);

/* The table of a file called "t.tar", read `step` bytes at a time (0 = all). NULL with err. */
struct frame *image_rig_frame(const struct buf *file, size_t step, bool may_be_cut,
                              char hash[SHA256_HEX], struct err *err);
/* One value of a column by name. */
double image_rig_number(const struct frame *f, const char *col, int64_t row);
const char *image_rig_label(const struct frame *f, int64_t row);

#endif
