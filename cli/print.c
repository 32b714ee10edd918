/* print.c - tables, scores, the progress line. Everything for eyes goes through here, so that --json stays clean. */
#include "cli/print.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct table {
    const char *const *heads;
    int n_cols, n_cells, cap;
    char **cells;
};

bool print_is_terminal(FILE *out)
{
    const char *term = getenv("TERM");

    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

void print_json(const json_t *v)
{
    char *text = json_dumps(v, JSON_INDENT(2) | JSON_REAL_PRECISION(10) | JSON_ENCODE_ANY);

    puts(text ? text : "null");
    free(text);
}

struct table *table_new(const char *const *heads, int n_cols)
{
    struct table *t = mem_zalloc(sizeof(*t));

    t->heads = heads;
    t->n_cols = n_cols;
    return t;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (t->n_cells == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->cells = mem_resize(t->cells, (size_t)t->cap * sizeof(*t->cells));
    }
    t->cells[t->n_cells++] = mem_strdup(text);
}

/* Columns on screen: continuation bytes of UTF-8 take no room. */
static int text_width(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static bool looks_numeric(const char *s)
{
    return (*s >= '0' && *s <= '9') || *s == '-' || *s == '+';
}

static void print_cell(const char *s, int width, bool right, bool last, FILE *out)
{
    int pad = MAX(width - text_width(s), 0);

    if (right)
        fprintf(out, "%*s%s", pad, "", s);
    else
        fprintf(out, "%s%*s", s, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", out);
}

static void column_shape(const struct table *t, int c, int rows, int *width, bool *right)
{
    *width = text_width(t->heads[c]);
    *right = rows > 0;
    for (int r = 0; r < rows; r++) {
        const char *s = t->cells[r * t->n_cols + c];
        *width = MAX(*width, text_width(s));
        *right = *right && (looks_numeric(s) || strcmp(s, "-") == 0);
    }
}

void table_print(struct table *t, FILE *out)
{
    int rows = t->n_cells / t->n_cols;
    int *width = mem_array((size_t)t->n_cols, sizeof(int));
    bool *right = mem_array((size_t)t->n_cols, sizeof(bool));
    bool bold = print_is_terminal(out) && !getenv("NO_COLOR");

    CHECK(t->n_cells % t->n_cols == 0);
    for (int c = 0; c < t->n_cols; c++)
        column_shape(t, c, rows, &width[c], &right[c]);
    if (bold)
        fputs("\033[1m", out);
    for (int c = 0; c < t->n_cols; c++)
        print_cell(t->heads[c], width[c], right[c], c == t->n_cols - 1, out);
    if (bold)
        fputs("\033[0m", out);
    for (int i = 0; i < t->n_cells; i++) {
        int c = i % t->n_cols;
        print_cell(t->cells[i], width[c], right[c], c == t->n_cols - 1, out);
        mem_free(t->cells[i]);
    }
    mem_free(t->cells);
    mem_free(width);
    mem_free(right);
    mem_free(t);
}

static void number_text(double v, char *out, size_t size)
{
    double a = fabs(v);

    if (a != 0 && (a >= 1e7 || a < 1e-4))
        snprintf(out, size, "%.4g", v);
    else if (a >= 1000)
        snprintf(out, size, "%.1f", v);
    else
        snprintf(out, size, "%.5f", v);
}

void print_score(const json_t *value, const json_t *se, char *out, size_t size)
{
    char number[40], error[40];

    if (!json_is_number(value)) {
        snprintf(out, size, "-");
        return;
    }
    number_text(json_number_value(value), number, sizeof(number));
    if (json_is_number(se)) {
        number_text(json_number_value(se), error, sizeof(error));
        snprintf(out, size, "%s ± %s", number, error);
    } else {
        snprintf(out, size, "%s", number);
    }
}

void print_ms(const json_t *ms, char *out, size_t size)
{
    if (json_is_number(ms))
        str_fmt_ms((int64_t)json_number_value(ms), out, size);
    else
        snprintf(out, size, "-");
}

void print_us(const json_t *us, char *out, size_t size)
{
    if (json_is_number(us))
        snprintf(out, size, "%.2fs", json_number_value(us) / 1e6);
    else
        snprintf(out, size, "-");
}

void print_ns(const json_t *ns, char *out, size_t size)
{
    double v = json_number_value(ns);

    if (!json_is_number(ns) || v <= 0)
        snprintf(out, size, "-");
    else if (v < 999.5)
        snprintf(out, size, "%.0f ns", v);
    else if (v < 999.5e3)
        snprintf(out, size, "%.3g us", v / 1e3);
    else
        snprintf(out, size, "%.*f ms", v < 9.95e6 ? 1 : 0, v / 1e6);
}

void print_when(const json_t *wall_ms, char *out, size_t size)
{
    time_t t = (time_t)(json_number_value(wall_ms) / 1000);
    struct tm tm;

    if (!json_is_number(wall_ms) || t == 0 || !gmtime_r(&t, &tm) ||
        strftime(out, size, "%Y-%m-%d %H:%M", &tm) == 0)
        snprintf(out, size, "-");
}

const char *print_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s && s[0] ? s : "-";
}

int64_t print_ended_trials(const json_t *study)
{
    static const char *const ends[] = { "completed", "pruned", "failed", "cancelled" };
    const json_t *trials = json_object_get(study, "trials");
    int64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        n += json_integer_value(json_object_get(trials, ends[i]));
    return n;
}

static void board_row(struct table *t, const json_t *row, bool with_id)
{
    char score[80], test[80], fit[40];
    const json_t *size = json_object_get(row, "model_bytes");
    char bytes[40] = "-";

    print_score(json_object_get(row, "score"), json_object_get(row, "se"), score, sizeof(score));
    print_score(json_object_get(row, "test_score"), json_object_get(row, "test_se"), test,
                sizeof(test));
    print_us(json_object_get(row, "fit_us"), fit, sizeof(fit));
    if (json_is_number(size) && json_number_value(size) > 0)
        str_fmt_bytes((int64_t)json_number_value(size), bytes, sizeof(bytes));
    table_cell(t, "%" JSON_INTEGER_FORMAT "%s", json_integer_value(json_object_get(row, "rank")),
               json_is_true(json_object_get(row, "front")) ? "*" : "");
    table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "number")));
    if (with_id)
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "trial")));
    table_cell(t, "%s", print_text(row, "family"));
    table_cell(t, "%s", score);
    table_cell(t, "%s", test);
    table_cell(t, "%s", fit);
    table_cell(t, "%s", bytes);
    table_cell(t, "%s%s", print_text(row, "state"),
               json_is_true(json_object_get(row, "cut")) ? " (cut)" : "");
}

/* Trials are asked for by their id, which is not their number where the database has seen other studies. */
static bool ids_differ(const json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (json_integer_value(json_object_get(row, "trial")) !=
            json_integer_value(json_object_get(row, "number")))
            return true;
    }
    return false;
}

void print_leaderboard(const json_t *board, int limit, FILE *out)
{
    static const char *const heads[] = { "rank", "trial", "family", "score",
                                         "test", "fit",   "model",  "state" };
    static const char *const with[] = { "rank", "trial", "id",    "family", "score",
                                        "test", "fit",   "model", "state" };
    const json_t *rows = json_object_get(board, "rows");
    size_t n = json_array_size(rows), shown = limit > 0 && (size_t)limit < n ? (size_t)limit : n;
    bool with_id = ids_differ(rows);
    struct table *t =
        with_id ? table_new(with, ARRAY_LEN(with)) : table_new(heads, ARRAY_LEN(heads));

    for (size_t i = 0; i < shown; i++)
        board_row(t, json_array_get(rows, i), with_id);
    table_print(t, out);
    if (shown < n)
        fprintf(out, "… and %zu more\n", n - shown);
    if (json_object_get(json_array_get(rows, 0), "front"))
        fprintf(out, "* on the front: no trial beats it in all objectives (assay pareto)\n");
}

void print_not_numbers(const char *file, const char *column, int64_t n)
{
    fprintf(stderr, "%s: %" PRId64 " cell%s of column \"%.200s\" %s\n", file, n, n == 1 ? "" : "s",
            column ? column : "",
            n == 1 ? "is no number and reads as missing" : "are no numbers and read as missing");
}

void progress_init(struct progress *p)
{
    p->is_terminal = print_is_terminal(stderr);
    p->last_ms = INT64_MIN / 2;
    p->width = 0;
}

void progress_draw(struct progress *p, double share, int64_t now_ms, const char *fmt, ...)
{
    enum { BAR = 24 };
    char text[400], bar[BAR * 3 + 1];
    size_t n = 0;
    va_list ap;

    if (now_ms - p->last_ms < (p->is_terminal ? 80 : 5000))
        return;
    p->last_ms = now_ms;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!p->is_terminal) {
        fprintf(stderr, "%s\n", text);
        return;
    }
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int i = 0; i < BAR; i++)
        n += (size_t)snprintf(bar + n, sizeof(bar) - n, "%s", i < share * BAR ? "█" : "·");
    fprintf(stderr, "\r\033[K%s %s", bar, text);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->is_terminal) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
