/* array.h - private to the image readers: arrays of numbers in files, in the idx form of the MNIST
 * data sets (LeCun's page "THE MNIST DATABASE") and in NumPy's .npy form (numpy.lib.format). Only
 * the head is read here; the numbers follow in the stream. */
#ifndef ML_READ_ARRAY_H
#define ML_READ_ARRAY_H

#include "ml/read/feed.h"

enum { ARRAY_MAX_DIMS = 4 };
enum array_kind { ARRAY_INT, ARRAY_UINT, ARRAY_FLOAT };

struct array {
    enum array_kind kind;
    int width; /* bytes of a number: 1, 2, 4 or 8 */
    bool big_endian;
    int n_dims;
    int64_t dims[ARRAY_MAX_DIMS];
};

/* Does a file that begins so hold an array? */
bool array_is(const uint8_t *head, long n);
int array_head(struct feed *f, struct array *a, struct err *err);
/* The numbers of n elements as doubles; whole numbers of 64 bits beyond 2^53 are rounded. */
void array_numbers(const struct array *a, const uint8_t *bytes, int64_t n, double *out);

#endif
