/* json_row.h - private to the reader of JSON lines: cuts one object into its keys and values. */
#ifndef ML_READ_JSON_ROW_H
#define ML_READ_JSON_ROW_H

#include <stdbool.h>
#include <stddef.h>

enum json_end {
    JSON_OK,
    /* the text ends within the object: more of it is needed */
    JSON_MORE,
    /* `what` and `at` say what is wrong */
    JSON_BAD
};

enum json_kind { JSON_TEXT, JSON_PLAIN, JSON_NULL };

/* A piece of the text. Of a string without its quotes; it has escapes if it says so. */
struct json_piece {
    const char *p;
    size_t n;
    enum json_kind kind;
    bool has_escapes;
};

struct json_row {
    const char *p, *end;
    const char *what;
    /* JSON_MORE: where the key or value began that the text ends within; NULL = within none */
    const char *open;
};

/* Goes through an object: after json_row_open each json_row_next gives a key and a value, until it
 * sets *is_last, without giving any. JSON_BAD: row->p is the place. */
enum json_end json_row_open(struct json_row *row);
enum json_end json_row_next(struct json_row *row, bool is_first, struct json_piece *key,
                            struct json_piece *value, bool *is_last);
/* Passes over spaces and line ends. False = the text ends. */
bool json_row_space(struct json_row *row);
/* Resolves the escapes of a string into `out`, which has room for piece->n bytes. Returns the
 * length. Half of a pair of surrogates becomes U+FFFD. */
size_t json_unescape(const struct json_piece *piece, char *out);

#endif
