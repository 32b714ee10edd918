/* body.c - see body.h. The chunked coding is that of RFC 9112, section 7.1. Chunk extensions and
 * trailer fields are read and ignored; how long they may be is limited, so that nobody can send
 * them for ever. */
#include "web/http/body.h"

#include "base/base.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

/* LINE_MAX_: bytes of a line with a chunk's size or of a trailer field. TRAILERS_MAX: bytes of all
 * trailer fields. SIZE_DIGITS: 8 hexadecimal digits are 4 GiB, more than any body may have. */
enum { LINE_MAX_ = 256, TRAILERS_MAX = 4096, SIZE_DIGITS = 8 };

int body_init(struct body *b, const struct head *head, int64_t max)
{
    *b = (struct body){ .left = head->length, .total = head->length, .max = max };
    if (head->is_chunked)
        b->state = BODY_SIZE;
    else if (head->length == 0)
        b->state = BODY_WHOLE;
    return head->length > max ? 413 : 0;
}

/* Moves what has arrived of the body, or of the present chunk, to `out`; NULL throws it away. */
static void move(struct body *b, struct evbuffer *in, struct evbuffer *out)
{
    size_t n = evbuffer_get_length(in);

    n = MIN(n, (size_t)b->left);
    if (out)
        CHECK(evbuffer_remove_buffer(in, out, n) == (int)n);
    else
        CHECK(evbuffer_drain(in, n) == 0);
    b->left -= (int64_t)n;
}

/* Takes one line without its CR LF. Returns 1; 0 when it has not arrived completely; 400 when it is
 * too long or does not end with CR LF. */
static int line_take(struct evbuffer *in, char line[LINE_MAX_], size_t *n)
{
    struct evbuffer_ptr end = evbuffer_search(in, "\n", 1, NULL);

    if (end.pos < 0)
        return evbuffer_get_length(in) < LINE_MAX_ ? 0 : 400;
    if (end.pos == 0 || end.pos >= LINE_MAX_)
        return 400;
    CHECK(evbuffer_remove(in, line, (size_t)end.pos + 1) == (int)end.pos + 1);
    if (line[end.pos - 1] != '\r')
        return 400;
    *n = (size_t)end.pos - 1;
    line[*n] = '\0';
    return 1;
}

/* The line in front of a chunk: its size in hexadecimal digits, then perhaps extensions. A size of
 * 0 ends the chunks. Returns 1; 0 when the line has not arrived completely; else the status to
 * refuse with. The next two functions return the same. */
static int size_take(struct body *b, struct evbuffer *in)
{
    char line[LINE_MAX_ + 1];
    size_t n = 0, digits = 0;
    int rc = line_take(in, line, &n);

    if (rc != 1)
        return rc;
    digits = strspn(line, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > SIZE_DIGITS || strlen(line) != n || !strchr("; \t", line[digits]))
        return 400;
    b->left = strtoll(line, NULL, 16);
    b->total += b->left;
    if (b->total > b->max)
        return 413;
    b->state = b->left ? BODY_DATA : BODY_TRAILER;
    return 1;
}

/* The CR LF behind the bytes of a chunk. */
static int data_end_take(struct body *b, struct evbuffer *in)
{
    char end[2];

    if (evbuffer_get_length(in) < 2)
        return 0;
    evbuffer_remove(in, end, 2);
    if (memcmp(end, "\r\n", 2) != 0)
        return 400;
    b->state = BODY_SIZE;
    return 1;
}

/* One field behind the last chunk, which is ignored; an empty line ends the body. */
static int trailer_take(struct body *b, struct evbuffer *in)
{
    char line[LINE_MAX_ + 1];
    size_t n = 0;
    int rc = line_take(in, line, &n);

    if (rc != 1)
        return rc;
    b->trailers += (int64_t)n;
    if (b->trailers > TRAILERS_MAX)
        return 431;
    if (n == 0)
        b->state = BODY_WHOLE;
    return 1;
}

int body_take(struct body *b, struct evbuffer *in, struct evbuffer *out)
{
    int rc = 1;

    while (rc == 1 && b->state != BODY_WHOLE) {
        switch (b->state) {
        case BODY_FIXED:
        case BODY_DATA:
            move(b, in, out);
            if (b->left > 0)
                return 0;
            b->state = b->state == BODY_FIXED ? BODY_WHOLE : BODY_DATA_END;
            break;
        case BODY_SIZE:
            rc = size_take(b, in);
            break;
        case BODY_DATA_END:
            rc = data_end_take(b, in);
            break;
        default:
            rc = trailer_take(b, in);
            break;
        }
    }
    return rc;
}
