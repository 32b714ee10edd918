/* output.c - see output.h. */
#include "trial-runner/command/output.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* WAIT_MS: how long text may wait for more. READ_BYTES: at once, so that a program that prints
 * without end cannot keep its runner from looking at limits and messages. */
enum { WAIT_MS = 300, READ_BYTES = 64 << 10, HELD_MAX = 256 << 10 };

void output_init(struct output *o, int64_t max, const struct output_ops *ops, void *arg)
{
    memset(o, 0, sizeof *o);
    o->max = max;
    o->ops = ops;
    o->arg = arg;
    buf_init(&o->piece, (size_t)1 << 20);
}

void output_fini(struct output *o)
{
    buf_fini(&o->piece);
}

/* Up to n bytes of the piece, at the end of a line if there is one. */
static void hand_on(struct output *o, size_t n)
{
    char text[OUTPUT_PIECE + 1];
    size_t used = MIN(n, OUTPUT_PIECE);

    for (size_t i = used; used < o->piece.len && i > used / 2; i--) {
        if (o->piece.data[i - 1] == '\n') {
            used = i;
            break;
        }
    }
    while (used > 1 && used < o->piece.len && ((unsigned char)o->piece.data[used] & 0xc0) == 0x80)
        used--; /* not in the middle of a letter */
    memcpy(text, o->piece.data, used);
    text[used] = '\0';
    memmove(o->piece.data, o->piece.data + used, o->piece.len - used);
    o->piece.len -= used;
    /* utf8_clean may need more bytes than it is given where it replaces some: it then cuts. */
    utf8_clean(text, sizeof text);
    o->ops->on_piece(o->arg, text);
}

static void keep(struct output *o, const char *p, size_t n, int64_t now_ms)
{
    if (o->piece.len == 0)
        o->first_ms = now_ms;
    (void)buf_add(&o->piece, p, n, NULL);
    while (!o->is_held && o->piece.len >= OUTPUT_PIECE)
        hand_on(o, OUTPUT_PIECE);
}

static void add_tail(struct output *o, const char *p, size_t n)
{
    if (n >= OUTPUT_TAIL) {
        p += n - OUTPUT_TAIL;
        n = OUTPUT_TAIL;
    }
    if (o->tail_len + n > OUTPUT_TAIL) {
        size_t gone = o->tail_len + n - OUTPUT_TAIL;

        memmove(o->tail, o->tail + gone, o->tail_len - gone);
        o->tail_len -= gone;
    }
    memcpy(o->tail + o->tail_len, p, n);
    o->tail_len += n;
    o->tail[o->tail_len] = '\0';
}

static void end_line(struct output *o)
{
    o->line[o->line_len] = '\0';
    if (o->line_len > 0 && o->line[strspn(o->line, " \t\r")] != '\0')
        str_copy(o->last, sizeof o->last, o->line);
    if (!o->is_cut)
        o->ops->on_line(o->arg, o->line);
    o->is_cut = false;
    o->line_len = 0;
}

/* Text that is to be handed on, as far as the limit allows. */
static void take_text(struct output *o, const char *p, size_t n, int64_t now_ms)
{
    size_t kept = (size_t)MIN((int64_t)n, MAX(o->max - o->taken, 0));

    o->taken += (int64_t)kept;
    o->dropped += (int64_t)(n - kept);
    if (kept > 0)
        keep(o, p, kept, now_ms);
}

/* A line is handed on before it is looked at, so that a note about it stands behind it. */
static void take(struct output *o, char *p, size_t n, int64_t now_ms)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\0')
            p[i] = ' ';
        if (p[i] == '\n') {
            take_text(o, p + from, i + 1 - from, now_ms);
            from = i + 1;
            end_line(o);
        } else if (o->line_len < OUTPUT_LINE) {
            o->line[o->line_len++] = p[i];
        } else {
            o->is_cut = true;
        }
    }
    take_text(o, p + from, n - from, now_ms);
    add_tail(o, p, n);
}

int output_read(struct output *o, int fd, int64_t now_ms)
{
    char part[READ_BYTES];
    ssize_t n = read(fd, part, sizeof part);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0)
        return -1;
    take(o, part, (size_t)n, now_ms);
    return 1;
}

void output_note(struct output *o, int64_t now_ms, const char *fmt, ...)
{
    char text[600];
    va_list args;
    int n = 0;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof text - 3, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    keep(o, "[assay] ", 8, now_ms);
    keep(o, text, strlen(text), now_ms);
    keep(o, "\n", 1, now_ms);
}

void output_flush(struct output *o, int64_t now_ms, bool is_end)
{
    if (is_end && o->line_len > 0)
        end_line(o); /* a last line without a newline counts */
    if (is_end && o->dropped > 0) {
        size_t n = (size_t)MIN(o->dropped, (int64_t)o->tail_len);

        output_note(o, now_ms, "%lld bytes are left out here: limits.output is %lld",
                    (long long)(o->dropped - (int64_t)n), (long long)o->max);
        keep(o, o->tail + o->tail_len - n, n, now_ms);
        o->dropped = 0;
    }
    while (!o->is_held && o->piece.len > 0 && (is_end || now_ms - o->first_ms >= WAIT_MS))
        hand_on(o, o->piece.len);
}

bool output_is_full(const struct output *o)
{
    return o->is_held && o->piece.len >= HELD_MAX;
}

const char *output_tail(const struct output *o)
{
    return o->tail;
}

const char *output_last_line(const struct output *o)
{
    return o->last;
}
