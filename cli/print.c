/* print.c - everything that is printed for people: tables, scores, times, and text of others
 * made safe. JSON for programs goes through print_json only. */
#include "cli/print.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS_DEFAULT = 80, SAFE_BUFFERS = 16, CELL_LEAST = 6 };

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

bool print_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *v = getenv(names[i]);
        if (v && v[0])
            return strstr(v, "UTF-8") || strstr(v, "utf8") || strstr(v, "UTF8") ||
                   strstr(v, "utf-8");
    }
    return true;
}

int print_columns(FILE *out)
{
    struct winsize w = { 0 };
    const char *text = getenv("COLUMNS");
    int64_t n = 0;

    if (ioctl(fileno(out), TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return text && str_i64(text, 1, 10000, &n, NULL) == 0 ? (int)n : COLUMNS_DEFAULT;
}

/* ---- text that others wrote ---- */

/* The code point at *s, with its number of bytes in *n; -1 where no valid UTF-8 begins. */
static int32_t code_point(const unsigned char *s, size_t *n)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    int32_t c = s[0] < 0x80 ? s[0] : s[0] & (0xff >> (len + 1));

    *n = 1;
    if (!utf8_ok((const char *)s, strnlen((const char *)s, len)))
        return -1;
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (s[i] & 0x3f);
    *n = len;
    return c;
}

/* Characters that steer a terminal (C0, DEL, C1), line ends of Unicode, and marks that change
 * the direction of writing. */
static bool is_control(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static const char *first_unsafe(const char *text)
{
    size_t n = 0;

    for (; *text; text += n) {
        if (is_control(code_point((const unsigned char *)text, &n)))
            break;
    }
    return text;
}

static size_t escape(const char *at, size_t *n, char *out, size_t size)
{
    int32_t c = code_point((const unsigned char *)at, n);
    int len = 0;

    if (!is_control(c))
        len = snprintf(out, size, "%.*s", (int)*n, at);
    else if (c == '\n' || c == '\r' || c == '\t')
        len = snprintf(out, size, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (c < 0x80)
        len = snprintf(out, size, "\\x%02x", (unsigned char)*at);
    else
        len = snprintf(out, size, "\\u%04x", (unsigned)c);
    return (size_t)len;
}

const char *print_safe(const char *text)
{
    static char *buffers[SAFE_BUFFERS];
    static unsigned turn;
    char **out = &buffers[turn % SAFE_BUFFERS];
    size_t len = 0, n = 0;

    if (!*first_unsafe(text))
        return text;
    turn++;
    mem_free(*out);
    size_t size = 6 * strlen(text) + 1;
    *out = mem_alloc(size);
    for (; *text; text += n)
        len += escape(text, &n, *out + len, size - len);
    return *out;
}

/* JSON may write such a character as \u009b, which means the same. */
void print_json(const json_t *v)
{
    char *text = json_dumps(v, JSON_INDENT(2) | JSON_REAL_PRECISION(10) | JSON_ENCODE_ANY);
    size_t n = 0;

    for (const char *s = text ? text : "null"; *s; s += n) {
        int32_t c = code_point((const unsigned char *)s, &n);
        if (c >= 0x7f && is_control(c))
            printf("\\u%04x", (unsigned)c);
        else
            (void)!fwrite(s, 1, n, stdout);
    }
    putchar('\n');
    free(text);
}

struct table *table_new(const char *const *heads, int n_cols)
{
    struct table *t = mem_zalloc(sizeof(*t));

    CHECK(n_cols > 0);
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
    MEM_GROW(t->cells, t->n_cells, t->cap);
    t->cells[t->n_cells++] = mem_strdup(print_safe(text));
}

/* Counts characters: continuation bytes of UTF-8 take no column. */
int print_width(const char *s)
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

/* Prints the first width - 1 columns of the text, and a sign that there is more. */
static void print_cut(const char *s, int width, bool last, FILE *out)
{
    const char *end = s;

    for (int n = 0; *end; end++) {
        n += ((unsigned char)*end & 0xc0) != 0x80;
        if (n == width)
            break;
    }
    fprintf(out, "%.*s…%s", (int)(end - s), s, last ? "\n" : "  ");
}

static void print_cell(const char *s, int width, bool right, bool last, FILE *out)
{
    int pad = width - print_width(s);

    if (pad < 0) {
        print_cut(s, width, last, out);
        return;
    }
    if (right)
        fprintf(out, "%*s%s", pad, "", s);
    else
        fprintf(out, "%s%*s", s, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", out);
}

static void column_shape(const struct table *t, int c, int rows, int *width, bool *right)
{
    *width = print_width(t->heads[c]);
    *right = rows > 0;
    for (int r = 0; r < rows; r++) {
        const char *s = t->cells[r * t->n_cols + c];
        *width = MAX(*width, print_width(s));
        *right = *right && (looks_numeric(s) || strcmp(s, "-") == 0);
    }
}

/* Narrows the columns of text, always the widest one, until the table fits the terminal. Numbers
 * are never cut. */
static void narrow(int *width, const bool *right, int n, int columns)
{
    for (;;) {
        int total = 2 * (n - 1), widest = -1;
        for (int c = 0; c < n; c++) {
            total += width[c];
            if (!right[c] && width[c] > CELL_LEAST && (widest < 0 || width[c] > width[widest]))
                widest = c;
        }
        if (total <= columns || widest < 0)
            return;
        width[widest]--;
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
    if (print_is_terminal(out))
        narrow(width, right, t->n_cols, print_columns(out));
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

/* A standard error is itself known to about two digits, so 490.01522 is printed as 490 and
 * 0.0046213 as 0.0046. */
static void error_text(double v, char *out, size_t size)
{
    double a = fabs(v);
    int decimals = a > 0 && isfinite(a) ? 1 - (int)floor(log10(a)) : 5;
    double unit = decimals < 0 ? pow(10, -decimals) : 1;

    if (a != 0 && (a >= 1e7 || a < 1e-7))
        (void)!snprintf(out, size, "%.1e", v);
    else
        (void)!snprintf(out, size, "%.*f", MAX(MIN(decimals, 8), 0),
                        decimals < 0 ? round(v / unit) * unit : v);
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
        error_text(json_number_value(se), error, sizeof(error));
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

static void when(const json_t *wall_ms, bool seconds, char *out, size_t size)
{
    time_t t = (time_t)(json_number_value(wall_ms) / 1000);
    struct tm tm;

    if (!json_is_number(wall_ms) || t == 0 || !gmtime_r(&t, &tm) ||
        (seconds ? strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &tm)
                 : strftime(out, size, "%Y-%m-%d %H:%M UTC", &tm)) == 0)
        (void)!snprintf(out, size, "-");
}

void print_when(const json_t *wall_ms, char *out, size_t size)
{
    when(wall_ms, false, out, size);
}

void print_instant(const json_t *wall_ms, char *out, size_t size)
{
    when(wall_ms, true, out, size);
}

const char *print_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s && s[0] ? print_safe(s) : "-";
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

void print_more(const json_t *answer)
{
    if (json_is_integer(json_object_get(answer, "next")))
        printf("… there are more; a larger --limit shows them\n");
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

/* A trial's id differs from its number where the database has seen other studies. Then both are
 * shown. */
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

/* What ships in the place of the best trial, or why nothing does. */
static void print_ensemble(const json_t *e, const char *metric, FILE *out)
{
    const json_t *member = NULL;
    char score[60], single[60], bytes[40];
    bool is_pool = strcmp(print_text(e, "rule"), "pool") == 0;
    size_t i = 0;

    if (!e)
        return;
    str_fmt_bytes(json_integer_value(json_object_get(e, "bytes")), bytes, sizeof(bytes));
    print_score(json_object_get(e, "score"), json_object_get(e, "se"), score, sizeof(score));
    print_score(json_object_get(e, "single"), json_object_get(e, "single_se"), single,
                sizeof(single));
    if (!json_is_true(json_object_get(e, "ships"))) {
        fprintf(out, "no ensemble: %s %s, the best single model %s, chosen in the same way\n",
                metric, score, single);
        return;
    }
    fprintf(out,
            "ensemble: %s %s; the best single model, chosen in the same way, %s\n"
            "%s, %s in all:",
            metric, score, single, is_pool ? "log-linear pool of members" : "members", bytes);
    json_array_foreach(json_object_get(e, "members"), i, member)
        fprintf(out, "%s trial %" JSON_INTEGER_FORMAT " (%s) %.0f %%", i ? "," : "",
                json_integer_value(json_object_get(member, "number")), print_text(member, "family"),
                100 * json_number_value(json_object_get(member, "weight")));
    fputc('\n', out);
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
    int n_cut = 0;
    struct table *t =
        with_id ? table_new(with, ARRAY_LEN(with)) : table_new(heads, ARRAY_LEN(heads));

    for (size_t i = 0; i < shown; i++) {
        const json_t *row = json_array_get(rows, i);
        board_row(t, row, with_id);
        n_cut += json_is_true(json_object_get(row, "cut"));
    }
    table_print(t, out);
    int64_t total = json_integer_value(json_object_get(board, "total"));
    if ((int64_t)shown < total)
        fprintf(out, "… and %" PRId64 " more\n", total - (int64_t)shown);
    if (n_cut > 0)
        fprintf(out, "(cut) = ended by a limit of time, with its best so far\n");
    print_ensemble(json_object_get(board, "ensemble"), print_text(board, "metric"), out);
    if (json_object_get(json_array_get(rows, 0), "front"))
        fprintf(out, "* on the front: no trial beats it in all objectives (assay pareto)\n");
}

void print_not_read(const char *file, const char *column, const char *kind, int64_t n)
{
    bool is_date = kind && strcmp(kind, "date") == 0;

    fprintf(stderr, "%s: %" PRId64 " cell%s of column \"%.200s\" %s %s%s and read%s as missing\n",
            print_safe(file), n, n == 1 ? "" : "s", print_safe(column ? column : ""),
            n == 1 ? "is" : "are", is_date ? "no date" : "no number", n == 1 ? "" : "s",
            n == 1 ? "s" : "");
}
