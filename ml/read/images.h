/* images.h - images from a stream: an idx or .npy file, one PNG or JPEG, or a tar archive of such
 * files.
 *
 * In an archive either every file is a picture (PNG, JPEG), and the folder that it lies in is its
 * class; or there is one array of images (N x height x width, with or without channels) and at most
 * one array of N labels. Files whose names begin with a dot are passed over. All images of a table
 * have one shape. The frame has the column "label", where there are labels, and the columns of the
 * images (ml/table/frame.h). Whole numbers from 0 to 255 stay bytes; labels that are whole numbers
 * are classes, others are numbers to predict. */
#ifndef ML_READ_IMAGES_H
#define ML_READ_IMAGES_H

#include "base/sha256.h"
#include "ml/read/feed.h"

/* Does a file that begins so hold images? head: the first n <= FEED_AHEAD bytes, as many as there
 * are. */
bool images_are(const uint8_t *head, long n);
int images_to_frame(struct feed *f, int64_t max_bytes, const char *frame_path,
                    char hash[SHA256_HEX], struct err *err);

#endif
