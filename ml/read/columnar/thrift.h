/* thrift.h - reads Thrift's compact protocol, in which Parquet keeps its metadata.
 *
 * A reader never leaves its bytes. After the first thing that makes no sense `bad` is set, every
 * read gives 0 and every list and struct is at its end, so callers check `bad` once at the end. */
#ifndef ML_READ_COLUMNAR_THRIFT_H
#define ML_READ_COLUMNAR_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
    THRIFT_STOP,
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_I8,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT
};

struct thrift {
    const uint8_t *p, *end;
    bool bad;
};

/* One field of a struct. `id` starts at 0 and is kept between the calls. */
struct thrift_field {
    int id;
    enum thrift_type type;
};

/* The next field, whose value the caller must read or skip; false = the struct has ended. */
bool thrift_next(struct thrift *t, struct thrift_field *f);
/* The value of a field of any integer type. A field of another type is passed over and gives 0. */
int64_t thrift_int(struct thrift *t, const struct thrift_field *f);
bool thrift_bool(const struct thrift_field *f);
/* Borrowed bytes of a binary field. */
const uint8_t *thrift_binary(struct thrift *t, const struct thrift_field *f, size_t *n);
/* The number of elements of a list; each must be read or skipped. 0 for a field of another type. */
size_t thrift_list(struct thrift *t, const struct thrift_field *f, enum thrift_type *element);
void thrift_skip(struct thrift *t, enum thrift_type type);

#endif
