/* wire.c - the frames of the socket pair between supervisor and worker, and the worker's end, which
 * blocks. The supervisor's end is in agent/process.c, on its event loop. The length is text, so
 * that a recorded conversation can be read without tools. */
#include "trial-runner/wire.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int wire_put(struct buf *out, const json_t *j, struct err *err)
{
    char *text = jsonx_dump(j);
    size_t n = strlen(text);
    int rc = 0;

    if (n > WIRE_MAX)
        rc = err_set(err, ERR_TOOBIG, "a message of %zu bytes is longer than %d", n, WIRE_MAX);
    else
        rc = buf_addf(out, err, "%08zx %s\n", n, text);
    mem_free(text);
    return rc;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_head(const char *p, size_t n, size_t *len, struct err *err)
{
    uint64_t v = 0;

    for (size_t i = 0; i < MIN(n, 8); i++) {
        if (hex_digit(p[i]) < 0)
            return err_set(err, ERR_ARG, "broken pipe frame: no length");
        v = v * 16 + (uint64_t)hex_digit(p[i]);
    }
    if (n < WIRE_HEAD)
        return 0;
    if (p[8] != ' ' || v < 2 || v > WIRE_MAX)
        return err_set(err, ERR_ARG, "broken pipe frame: length %llu is not 2 to %d",
                       (unsigned long long)v, WIRE_MAX);
    *len = (size_t)v;
    return 1;
}

int wire_get(const char *data, size_t n, size_t *used, json_t **j, struct err *err)
{
    size_t len = 0;
    int rc = parse_head(data, n, &len, err);

    if (rc <= 0 || n < WIRE_HEAD + len + 1)
        return rc < 0 ? -1 : 0;
    if (data[WIRE_HEAD + len] != '\n')
        return err_set(err, ERR_ARG, "broken pipe frame: no newline after %zu bytes", len);
    *j = jsonx_load(data + WIRE_HEAD, len, "pipe frame", err);
    if (!*j)
        return -1;
    if (!json_is_object(*j)) {
        json_decref(*j);
        *j = NULL;
        return err_set(err, ERR_ARG, "broken pipe frame: not an object");
    }
    *used = WIRE_HEAD + len + 1;
    return 1;
}

/* ---- the worker's end ---- */

void wire_init(struct wire *w, int fd)
{
    *w = (struct wire){ .fd = fd };
    buf_init(&w->in, WIRE_MAX * 2 + 1024);
    buf_init(&w->out, WIRE_MAX + 64);
}

void wire_fini(struct wire *w)
{
    buf_fini(&w->in);
    buf_fini(&w->out);
}

int wire_send(struct wire *w, json_t *j_steal, struct err *err)
{
    size_t at = 0;
    int rc = 0;

    buf_clear(&w->out);
    rc = FAULT("wire.send") ? err_set(err, ERR_IO, "pipe: injected")
                            : wire_put(&w->out, j_steal, err);
    json_decref(j_steal);
    while (rc == 0 && at < w->out.len) {
        ssize_t n = write(w->fd, w->out.data + at, w->out.len - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR)
            rc = err_errno(err, "write to the supervisor");
    }
    return rc;
}

static int poll_in(int fd, int64_t wait_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int rc = 0;

    do
        rc = poll(&p, 1, wait_ms < 0 ? -1 : (int)MIN(wait_ms, 3600000));
    while (rc < 0 && errno == EINTR && wait_ms < 0);
    return rc;
}

bool wire_has_input(struct wire *w)
{
    return w->at < w->in.len || poll_in(w->fd, 0) > 0;
}

/* Takes one frame out of the bytes that have been read: 1, 0 if there is no whole one, -1. */
static int take(struct wire *w, json_t **j, struct err *err)
{
    CHECK(w->at <= w->in.len);
    size_t used = 0;
    int rc = w->at < w->in.len ? wire_get(w->in.data + w->at, w->in.len - w->at, &used, j, err) : 0;

    if (rc == 1)
        w->at += used;
    if (w->at == w->in.len) {
        buf_clear(&w->in);
        w->at = 0;
    }
    return rc;
}

static void compact(struct wire *w)
{
    if (w->at == 0)
        return;
    memmove(w->in.data, w->in.data + w->at, w->in.len - w->at);
    w->in.len -= w->at;
    w->at = 0;
}

int wire_recv(struct wire *w, int64_t wait_ms, json_t **j, struct err *err)
{
    char part[65536];

    for (;;) {
        int rc = take(w, j, err);
        ssize_t n = 0;

        if (rc != 0)
            return rc;
        if (poll_in(w->fd, wait_ms) <= 0)
            return 0;
        n = read(w->fd, part, sizeof part);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return n == 0 ? err_set(err, ERR_IO, "the supervisor is gone")
                          : err_errno(err, "read from the supervisor");
        compact(w);
        if (buf_add(&w->in, part, (size_t)n, err) < 0)
            return -1;
    }
}
