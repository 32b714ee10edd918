/* imagepack.h - images that lie in several files or in a folder become one file, a tar archive, as
 * the service takes it (ml/read/images.h).
 *
 * A folder: the pictures of each folder within are a class of that name, and are packed in turn,
 * one of each class, so that the first part of the archive has all classes. An array of images (idx
 * or .npy, packed with gzip or not): its labels are looked for beside it, in the file whose name
 * has "labels" for "images" (and "idx1" for "idx3"), or "y" for a leading "x". Equal files give
 * equal bytes. */
#ifndef CLI_IMAGEPACK_H
#define CLI_IMAGEPACK_H

#include "base/err.h"
#include "cli/tempdir.h"

#include <stdbool.h>
#include <stdint.h>

struct image_pack {
    struct tempdir temp;
    char path
        [300]; /* what to read instead: the archive, or the file itself where it is no such input */
};

/* Is it a folder, or an array of images? Then the table's target is the column "label". */
bool image_pack_is(const char *file);
bool image_pack_folder(const char *file);
/* The name of the file with the labels of an array of images. False = there is none; out is
 * then the name that was looked for. */
bool image_pack_labels(const char *file, char *out, size_t size);
/* most_bytes: the archive may be cut after so many; 0 = whole. */
int image_pack_open(struct image_pack *p, const char *file, int64_t most_bytes, struct err *err);
void image_pack_close(struct image_pack *p);

#endif
