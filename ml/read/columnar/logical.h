/* logical.h - what stored values mean: the logical types that Parquet and Arrow share, turned into
 * numbers or texts. */
#ifndef ML_READ_COLUMNAR_LOGICAL_H
#define ML_READ_COLUMNAR_LOGICAL_H

#include "ml/read/columnar/cells.h"

#include <stddef.h>

enum logical_as {
    AS_REFUSED,
    /* of whole numbers */
    AS_BOOL,
    AS_INT,
    AS_UINT32,
    AS_UINT64,
    AS_DECIMAL,
    /* days since 1970 */
    AS_DAYS,
    /* in 1 / 10^scale seconds: since midnight, since 1970, and without a beginning */
    AS_TIME,
    AS_STAMP,
    AS_DURATION,
    /* of floating point */
    AS_REAL,
    /* of bytes */
    AS_TEXT,
    /* big-endian and little-endian */
    AS_BIG_DECIMAL,
    AS_LITTLE_DECIMAL,
    AS_HALF,
    AS_UUID,
    /* nanoseconds of the day (8 bytes) and Julian day (4 bytes) */
    AS_INT96
};

struct logical {
    enum logical_as as;
    /* of decimals and times: the value is to be divided by 10^scale */
    int scale;
};

enum { LOGICAL_MAX_SCALE = 76, LOGICAL_UUID_CHARS = 36 };

enum cells_kind logical_kind(const struct logical *l);
/* Turns n whole numbers into the numbers they mean. AS_BOOL is the caller's. */
void logical_ints(const struct logical *l, const int64_t *v, int64_t n, double *out);
/* Turns the bytes of a value into a number: decimals, AS_HALF, AS_INT96. */
double logical_bytes(const struct logical *l, const uint8_t *p, size_t n);
void logical_uuid(const uint8_t *p, char out[LOGICAL_UUID_CHARS]);
double logical_half(uint16_t h);

#endif
