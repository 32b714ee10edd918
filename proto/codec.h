/* codec.h - converts structs to JSON and back by a table of fields. Private to proto/; msg.c has
 * the tables. Decoding ignores keys that are not in the table, refuses wrong types, and bounds
 * every number, string and list. The caller has zeroed the struct or set its defaults; an optional
 * field that is absent leaves them. Encoding leaves out optional fields that are zero, empty or
 * NaN.
 *
 * The fields are checked in the order of the table; the order has no other meaning. */
#ifndef PROTO_CODEC_H
#define PROTO_CODEC_H

#include "base/err.h"
#include "base/jsonx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec_type {
    CODEC_BOOL,
    CODEC_INT,   /* int, min..max */
    CODEC_I64,   /* int64_t, min..max */
    CODEC_U64,   /* uint64_t as 16 hex digits, because many JSON programs lose digits above 2^53 */
    CODEC_F64,   /* double; NaN and infinities are left out, so they arrive as the default */
    CODEC_STR,   /* char[size] */
    CODEC_SHA,   /* char[SHA256_HEX], "" or 64 lower-case hex digits */
    CODEC_ENUM,  /* enum of the size of int, named by names[0..max] */
    CODEC_TEXT,  /* char * on the heap, at most max bytes; NULL = absent */
    CODEC_JSON,  /* char * on the heap: the text of a JSON object, which is nested in the message.
                   After decoding, its keys are sorted and it has no spaces. Where count_off is not
                   0, a const json_t * may stand there: the same as a value, for encoding */
    CODEC_OBJ,   /* a struct inside this one, described by sub */
    CODEC_ARRAY, /* an array inside the struct: at most max elements, their count at count_off */
    CODEC_LIST,  /* the same, in an array on the heap */
    CODEC_SHAS   /* char[max][SHA256_HEX] inside the struct, their count at count_off */
};

struct codec_table;
struct codec_field {
    const char *name;
    enum codec_type type;
    enum jsonx_need need;
    size_t off, size; /* size of the member; of one element in arrays and lists */
    int64_t min, max;
    const char *const *names;
    const struct codec_table *sub;
    size_t count_off;
};
struct codec_table {
    const struct codec_field *fields;
    size_t n;
    void (*init)(
        void *element); /* sets defaults of a list element that are not zero; may be NULL */
};

/* A new JSON object. In a string that is not UTF-8, every byte outside ASCII becomes '?'. */
json_t *codec_json_new(const struct codec_table *t, const void *src);
/* Fills dst. After an error dst holds what was decoded so far; the caller passes it to
 * codec_fini. */
int codec_parse(const struct codec_table *t, void *dst, const json_t *j, const char *path,
                struct err *err);
/* Frees heap members, lists and what is in them, and zeroes their pointers and counts. */
void codec_fini(const struct codec_table *t, void *dst);

/* Rows of a table. S is the struct and m its member, whose name is also the JSON key; the _AS forms
 * take another key. */
#define CODEC_AT(S, m) offsetof(struct S, m), sizeof(((struct S *)0)->m)
#define F_BOOL(S, m)                                                  \
    {                                                                 \
#m, CODEC_BOOL, JSONX_OPTIONAL, CODEC_AT(S, m), 0, 1, 0, 0, 0 \
    }
#define F_INT_AS(S, m, name, need, lo, hi)                     \
    {                                                          \
        name, CODEC_INT, need, CODEC_AT(S, m), lo, hi, 0, 0, 0 \
    }
#define F_INT(S, m, need, lo, hi) F_INT_AS(S, m, #m, need, lo, hi)
#define F_I64(S, m, need, lo, hi)                            \
    {                                                        \
#m, CODEC_I64, need, CODEC_AT(S, m), lo, hi, 0, 0, 0 \
    }
#define F_U64(S, m, need)                                  \
    {                                                      \
#m, CODEC_U64, need, CODEC_AT(S, m), 0, 0, 0, 0, 0 \
    }
#define F_F64(S, m)                                                  \
    {                                                                \
#m, CODEC_F64, JSONX_OPTIONAL, CODEC_AT(S, m), 0, 0, 0, 0, 0 \
    }
#define F_STR(S, m, need)                                  \
    {                                                      \
#m, CODEC_STR, need, CODEC_AT(S, m), 0, 0, 0, 0, 0 \
    }
#define F_SHA(S, m, need)                                  \
    {                                                      \
#m, CODEC_SHA, need, CODEC_AT(S, m), 0, 0, 0, 0, 0 \
    }
#define F_ENUM(S, m, need, table, n)                                \
    {                                                               \
#m, CODEC_ENUM, need, CODEC_AT(S, m), 0, (n)-1, table, 0, 0 \
    }
#define F_TEXT(S, m, hi)                                               \
    {                                                                  \
#m, CODEC_TEXT, JSONX_OPTIONAL, CODEC_AT(S, m), 0, hi, 0, 0, 0 \
    }
#define F_JSON(S, m, need, hi)                               \
    {                                                        \
#m, CODEC_JSON, need, CODEC_AT(S, m), 0, hi, 0, 0, 0 \
    }
#define F_JSON_KNOWN(S, m, value_m, need, hi)                                          \
    {                                                                                  \
#m, CODEC_JSON, need, CODEC_AT(S, m), 0, hi, 0, 0, offsetof(struct S, value_m) \
    }
#define F_OBJ(S, m, need, t)                               \
    {                                                      \
#m, CODEC_OBJ, need, CODEC_AT(S, m), 0, 0, 0, t, 0 \
    }
#define F_ARRAY(S, m, n_m, need, hi, t)                                                           \
    {                                                                                             \
#m, CODEC_ARRAY, need, offsetof(struct S, m), sizeof(((struct S *)0)->m[0]), 0, hi, 0, t, \
            offsetof(struct S, n_m)                                                               \
    }
#define F_LIST_AS(S, m, name, n_m, need, hi, t)                                                    \
    {                                                                                              \
        name, CODEC_LIST, need, offsetof(struct S, m), sizeof(((struct S *)0)->m[0]), 0, hi, 0, t, \
            offsetof(struct S, n_m)                                                                \
    }
#define F_LIST(S, m, n_m, need, hi, t) F_LIST_AS(S, m, #m, n_m, need, hi, t)
#define F_SHAS(S, m, n_m, hi)                                                                    \
    {                                                                                            \
#m, CODEC_SHAS, JSONX_OPTIONAL, offsetof(struct S, m), sizeof(((struct S *)0)->m[0]), 0, \
            hi, 0, 0, offsetof(struct S, n_m)                                                    \
    }

#endif
