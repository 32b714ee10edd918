/* progress.c - draws the progress line (see progress.h).
 *
 * On a terminal the cursor rests at the beginning of the line. Then "clear from here" also
 * clears the rows into which a terminal folds the line when its window becomes narrower. Called
 * by follow.c. */
#include "cli/progress.h"
#include "cli/print.h"

#include "base/base.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DRAW_MS = 80, LINE_FIRST_MS = 5000, LINE_MOST_MS = 60000, BAR_LONG = 24, BAR_SHORT = 10 };

/* The forms of the line, from the fullest to the shortest. Each leaves out more than the one
 * above it; the first that fits is used. */
static const struct form {
    int bar;
    bool family, metric, words, gain;
} forms[] = {
    { BAR_LONG, true, true, true, true }, { BAR_SHORT, true, true, true, true },
    { 0, true, true, true, true },        { 0, false, true, true, true },
    { 0, false, false, true, true },      { 0, false, false, false, true },
    { 0, false, false, false, false },
};

static void add(char *out, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void add(char *out, size_t size, const char *fmt, ...)
{
    size_t n = strlen(out);
    va_list ap;

    va_start(ap, fmt);
    (void)!vsnprintf(out + n, size - n, fmt, ap);
    va_end(ap);
}

static void add_bar(const struct progress_facts *f, int length, char *out, size_t size)
{
    double share = f->share < 0 ? 0 : f->share > 1 ? 1 : f->share;
    bool utf8 = print_is_utf8();

    for (int i = 0; i < length; i++) {
        bool full = i < share * length;
        add(out, size, "%s", utf8 ? (full ? "█" : "·") : full ? "#" : ".");
    }
    if (length > 0)
        add(out, size, " ");
}

/* Whole seconds: "12s", "1m12s". */
static void age_text(int64_t ms, char *out, size_t size)
{
    if (ms < 60000)
        (void)!snprintf(out, size, "%" PRId64 "s", ms / 1000);
    else
        str_fmt_ms(ms, out, size);
}

static void add_best(const struct progress_facts *f, const struct form *form, char *out,
                     size_t size)
{
    char ago[40];

    if (!f->score)
        return;
    add(out, size, ", best %s%s%s", form->metric ? f->metric : "", form->metric ? " " : "",
        f->score);
    if (form->family)
        add(out, size, " (%s)", f->family);
    age_text(f->gain_ms, ago, sizeof(ago));
    if (form->gain && f->gain_ms >= 0)
        add(out, size, " %s ago", ago);
}

static void compose(const struct progress_facts *f, const struct form *form, bool is_terminal,
                    char *out, size_t size)
{
    char time[40];

    out[0] = '\0';
    add_bar(f, form->bar, out, size);
    if (!is_terminal || strcmp(f->state, "running") != 0)
        add(out, size, "%s: ", f->state);
    if (form->words)
        add(out, size, "%" PRId64 " done, %" PRId64 " running, %" PRId64 " started", f->done,
            f->running, f->started);
    else
        add(out, size, "%" PRId64 "/%" PRId64 " done", f->done, f->started);
    add_best(f, form, out, size);
    if (f->left_ms >= 0) {
        age_text(f->left_ms, time, sizeof(time));
        add(out, size, ", %s left", time);
    }
    if (f->silent_ms > 0) {
        age_text(f->silent_ms, time, sizeof(time));
        add(out, size, ", no answer for %s", time);
    }
    if (f->why && f->running == 0)
        add(out, size, "; %s", f->why);
}

/* Cuts the text after this many columns, but never within a character. */
static void cut(char *text, int columns)
{
    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80)
            continue;
        if (columns-- == 0) {
            *text = '\0';
            return;
        }
    }
}

void progress_text(const struct progress_facts *f, int columns, char *out, size_t size)
{
    static const struct form whole = { 0, true, true, true, true };

    if (columns <= 0) {
        compose(f, &whole, false, out, size);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        compose(f, &forms[i], true, out, size);
        if (print_width(out) < columns)
            return;
    }
    cut(out, columns - 1);
}

void progress_init(struct progress *p)
{
    *p = (struct progress){ .is_terminal = print_is_terminal(stderr),
                            .begun_ms = INT64_MIN,
                            .last_ms = INT64_MIN };
}

/* Whether to draw now. To a file, lines come less often the longer the search takes. */
static bool is_due(struct progress *p, int64_t now_ms)
{
    int64_t pause = DRAW_MS;

    if (p->last_ms == INT64_MIN) {
        p->begun_ms = now_ms;
        return true;
    }
    if (!p->is_terminal)
        pause = MIN(MAX((now_ms - p->begun_ms) / 10, LINE_FIRST_MS), LINE_MOST_MS);
    return now_ms - p->last_ms >= pause;
}

void progress_draw(struct progress *p, const struct progress_facts *f, int64_t now_ms)
{
    char text[700];

    if (!is_due(p, now_ms))
        return;
    p->last_ms = now_ms;
    progress_text(f, p->is_terminal ? print_columns(stderr) : 0, text, sizeof(text));
    fprintf(stderr, p->is_terminal ? "\r\033[J%s\r" : "%s\n", text);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->is_terminal && p->last_ms != INT64_MIN) {
        fputs("\r\033[J", stderr);
        fflush(stderr);
    }
    p->last_ms = INT64_MIN;
}
