/* head.h - the head of an HTTP/1.x request: its first line and header fields, and what they say
 * about the body and the connection. A pure parser without sockets, fuzzed by
 * tests/fuzz/fuzz_head.c.
 *
 * It refuses everything that two readers could understand differently, because a proxy in front of
 * this server may be the other reader: lines end with CR LF, a field's name is followed by its
 * colon at once, no field is continued on the next line, a field that must be unique stands once,
 * and a body has exactly one length. (Differences of this kind are what "request smuggling"
 * exploits; RFC 9112, section 11.2.) */
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
    int minor;      /* 0 for HTTP/1.0, 1 for HTTP/1.1 and later */
    int64_t length; /* of the body in bytes; 0 = no body; not used when chunked */
    bool is_chunked;
    bool is_kept;        /* the connection stays open after the answer */
    bool wants_continue; /* the client waits for "100 Continue" before it sends the body */
    int n_fields;
    struct head_field fields[HEAD_FIELDS_MAX];
};

/* Where the head ends: the number of its bytes with the empty line; 0 = not yet; -1 = a line ends
 * without CR. *seen is how far an earlier call came, 0 at first. */
int64_t head_end(const char *text, size_t n, size_t *seen);
/* text: a whole head, which is changed and which `out` then points into. Returns 0, or the status
 * to refuse it with and *why, a sentence without quotes. */
int head_parse(char *text, size_t n, struct head *out, const char **why);
const char *head_find(const struct head *h, const char *name); /* NULL = absent */

#endif
