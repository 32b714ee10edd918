/* output.h - what a program prints: its lines are looked at for reports, and its text is handed on in
 * pieces while it runs, up to a limit. Beyond the limit the text is thrown away, except for its last
 * part, which is handed on at the end, because that is where errors stand. */
#ifndef TRIAL_RUNNER_COMMAND_OUTPUT_H
#define TRIAL_RUNNER_COMMAND_OUTPUT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { OUTPUT_PIECE = 16 << 10, OUTPUT_LINE = 8 << 10, OUTPUT_TAIL = 16 << 10 };

struct output_ops {
    void (*on_line)(void *arg, const char *line);  /* without its newline; not the overlong ones */
    void (*on_piece)(void *arg, const char *text); /* valid UTF-8 of at most OUTPUT_PIECE bytes */
};
struct output {
    const struct output_ops *ops;
    void *arg;
    int64_t max, taken, dropped; /* bytes */
    int64_t first_ms;            /* when the oldest byte of `piece` came */
    struct buf piece;
    char line[OUTPUT_LINE + 1], tail[OUTPUT_TAIL + 1], last[400];
    size_t line_len, tail_len;
    bool is_cut;  /* the present line is longer than `line` */
    bool is_held; /* no piece is handed on for the time being */
};

void output_init(struct output *o, int64_t max, const struct output_ops *ops, void *arg);
void output_fini(struct output *o);
/* Reads what there is, at most a part of it. 1 = there was something, 0 = nothing now, -1 = the end:
 * no process has the other end open any more. */
int output_read(struct output *o, int fd, int64_t now_ms);
void output_note(struct output *o, int64_t now_ms, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool output_is_full(const struct output *o); /* too much waits: read no more of it for now */
/* Hands on what waits for long enough; at the end everything, and the tail. */
void output_flush(struct output *o, int64_t now_ms, bool is_end);
/* The last lines, for patterns and for error texts; "" = nothing was printed. */
const char *output_tail(const struct output *o);
const char *output_last_line(const struct output *o);

#endif
