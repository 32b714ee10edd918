/* flat.h - reads flatbuffers, in which Arrow keeps its metadata, from bytes that nobody has checked.
 *
 * Every place is held against the bytes before it is read. After the first that lies outside `bad`
 * is set, and values are their defaults; callers check `bad` at the end. Fields are numbered as in
 * Arrow's Schema.fbs and Message.fbs. */
#ifndef ML_READ_COLUMNAR_FLAT_H
#define ML_READ_COLUMNAR_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flat {
    const uint8_t *p;
    size_t n;
    bool bad;
};

/* A table: where its fields are. at 0 = there is none, and all its fields have their defaults. */
struct flat_table {
    struct flat *f;
    size_t at, fields, fields_bytes;
};

/* Elements one after another: of structs and numbers; or offsets of tables. */
struct flat_vector {
    struct flat *f;
    size_t at, n;
};

struct flat_table flat_root(struct flat *f);
int64_t flat_i64(const struct flat_table *t, int field, int64_t otherwise);
int64_t flat_i32(const struct flat_table *t, int field, int64_t otherwise);
int64_t flat_i16(const struct flat_table *t, int field, int64_t otherwise);
int64_t flat_u8(const struct flat_table *t, int field, int64_t otherwise);
struct flat_table flat_table(const struct flat_table *t, int field);
/* Borrowed text, not terminated; NULL = there is none. */
const char *flat_text(const struct flat_table *t, int field, size_t *n);
/* element: bytes of one element. */
struct flat_vector flat_vector(const struct flat_table *t, int field, size_t element);
/* Table i of a vector of tables; 64-bit number i of a vector of numbers. */
struct flat_table flat_table_at(const struct flat_vector *v, size_t i);
int64_t flat_i64_at(const struct flat_vector *v, size_t i);

#endif
