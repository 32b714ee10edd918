/* head.h - the head of an HTTP/1.x request: its first line and header fields, and what they say about the
 * body and the connection. A pure parser without sockets (tests/fuzz/fuzz_head.c). It is strict where
 * two readers could understand the same bytes differently: lines end with CR LF, a name is followed by its
 * colon at once, no field is folded, a field that may stand once stands once, and a body has exactly one
 * length. */
#ifndef WEB_HTTP_HEAD_H
#define WEB_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAD_FIELDS_MAX = 64, HEAD_METHOD_MAX = 24 };

struct head_field {
    const char *name, *value; /* the value without the white space around it */
};

struct head {
    const char *method, *target;
    int minor;      /* of HTTP/1.minor; 1 for all later ones */
    int64_t length; /* of the body; 0 = none; meaningless when chunked */
    bool is_chunked;
    bool is_kept;        /* the connection may go on after the answer */
    bool wants_continue; /* the client waits for "100 Continue" before it sends the body */
    int n_fields;
    struct head_field fields[HEAD_FIELDS_MAX];
};

/* Where the head ends: the number of its bytes with the empty line; 0 = not yet; -1 = a line ends without CR.
 * *seen is how far an earlier call came, 0 at first. */
int64_t head_end(const char *text, size_t n, size_t *seen);
/* text: a whole head, which is changed and which `out` then points into. Returns 0, or the status to refuse
 * it with and *why, a sentence without quotes. */
int head_parse(char *text, size_t n, struct head *out, const char **why);
const char *head_find(const struct head *h, const char *name); /* NULL = absent */

#endif
