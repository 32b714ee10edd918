/* fuzz_head.c - the head and the body of a request, as they come from the network in pieces. What is accepted
 * must keep its promises, and it must not matter where the pieces end.
 * covers: web/http/head.c web/http/body.c */
#include "base/base.h"
#include "base/mem.h"
#include "web/http/body.h"
#include "web/http/head.h"

#include <event2/buffer.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_LIMIT = 5000 };

static void head_check(const struct head *h)
{
    CHECK(h->method[0] && strlen(h->method) <= HEAD_METHOD_MAX && !strchr(h->method, ' '));
    CHECK(h->target[0] && !strpbrk(h->target, " \t\r\n"));
    CHECK(h->n_fields >= 0 && h->n_fields <= HEAD_FIELDS_MAX);
    CHECK(h->length >= 0 && !(h->is_chunked && h->length > 0));
    for (int i = 0; i < h->n_fields; i++) {
        const char *name = h->fields[i].name, *value = h->fields[i].value;

        CHECK(name[0] && !strpbrk(name, " \t:\r\n") && !strpbrk(value, "\r\n"));
        CHECK(value[0] != ' ' && value[0] != '\t');
        CHECK(head_find(h, name));
    }
}

/* Feeds the body in pieces of `step` bytes; returns the result and what came out. */
static int body_read(const struct head *h, const uint8_t *data, size_t n, size_t step,
                     struct evbuffer *out)
{
    struct evbuffer *in = evbuffer_new();
    struct body b;
    int rc = body_init(&b, h, BODY_LIMIT);

    for (size_t at = 0; at < n && rc == 0; at += step) {
        evbuffer_add(in, data + at, MIN(step, n - at));
        rc = body_take(&b, in, out);
    }
    CHECK(evbuffer_get_length(out) <= BODY_LIMIT);
    evbuffer_free(in);
    return rc;
}

static void body_check(const struct head *h, const uint8_t *data, size_t n, size_t step)
{
    struct evbuffer *all = evbuffer_new(), *pieces = evbuffer_new();
    int rc = body_read(h, data, n, n ? n : 1, all);

    CHECK(body_read(h, data, n, step, pieces) == rc);
    if (rc == 1) {
        size_t len = evbuffer_get_length(all);

        CHECK(len == evbuffer_get_length(pieces));
        CHECK(len == 0 || memcmp(evbuffer_pullup(all, -1), evbuffer_pullup(pieces, -1), len) == 0);
        CHECK(h->is_chunked || (int64_t)len == h->length);
    }
    evbuffer_free(all);
    evbuffer_free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct head h;
    const char *why = NULL;
    char *text = NULL;
    size_t seen = 0, seen_in_steps = 0, step = 0;
    int64_t n = 0, in_steps = 0;

    if (size < 2)
        return 0;
    step = data[0] % 16 + 1;
    text = mem_alloc(size);
    memcpy(text, data + 1, size - 1);
    text[--size] = '\0';
    n = head_end(text, size, &seen);
    for (size_t at = 0; at < size && in_steps == 0; at += step)
        in_steps = head_end(text, MIN(at + step, size), &seen_in_steps);
    CHECK(n == in_steps);
    if (n > 0) {
        int rc = 0;

        char *copy = mem_alloc((size_t)n + 1);
        memcpy(copy, text, (size_t)n);
        copy[n] = '\0';
        rc = head_parse(copy, (size_t)n, &h, &why);
        CHECK(rc == 0 || (rc >= 400 && rc <= 505 && why && !strpbrk(why, "\"\\")));
        if (rc == 0) {
            head_check(&h);
            body_check(&h, (const uint8_t *)text + n, size - (size_t)n, step);
        }
        mem_free(copy);
    }
    mem_free(text);
    return 0;
}
