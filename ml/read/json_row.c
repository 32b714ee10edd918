/* json_row.c - see json_row.h. Called by jsonl.c. */
#include "ml/read/json_row.h"

#include <stdint.h>
#include <string.h>

/* Brackets within brackets of a nested value. */
enum { MAX_DEPTH = 512 };

static enum json_end bad(struct json_row *r, const char *what)
{
    r->what = what;
    return JSON_BAD;
}

bool json_row_space(struct json_row *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'))
        r->p++;
    return r->p < r->end;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Behind a backslash. */
static enum json_end escape_pass(struct json_row *r)
{
    if (r->p == r->end)
        return JSON_MORE;
    if (*r->p != 'u') {
        if (!strchr("\"\\/bfnrt", *r->p) || *r->p == 0)
            return bad(r, "an unknown escape in a string");
        r->p++;
        return JSON_OK;
    }
    if (r->end - r->p < 5)
        return JSON_MORE;
    for (int i = 1; i < 5; i++) {
        if (hex_value(r->p[i]) < 0)
            return bad(r, "a \\u without four hexadecimal digits");
    }
    r->p += 5;
    return JSON_OK;
}

/* At the opening quote. */
static enum json_end string_pass(struct json_row *r, struct json_piece *out)
{
    const char *from = ++r->p;

    out->has_escapes = false;
    for (; r->p < r->end && *r->p != '"';) {
        if ((unsigned char)*r->p < ' ')
            return bad(r, "a string is not closed on its line");
        if (*r->p++ != '\\')
            continue;
        out->has_escapes = true;
        enum json_end rc = escape_pass(r);
        if (rc != JSON_OK)
            return rc;
    }
    if (r->p == r->end)
        return JSON_MORE;
    out->kind = JSON_TEXT;
    out->p = from;
    out->n = (size_t)(r->p++ - from);
    return JSON_OK;
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
}

static bool is_number(const char *s, size_t n)
{
    const char *end = s + n;

    s += s < end && *s == '-';
    if (s == end || *s < '0' || *s > '9')
        return false;
    for (; s < end; s++) {
        if (!strchr("0123456789+-.eE", *s))
            return false;
    }
    return true;
}

static bool is_word(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

/* A number, true, false or null; NaN and Infinity, which Python writes. */
static enum json_end plain_pass(struct json_row *r, struct json_piece *out)
{
    const char *from = r->p;

    while (r->p < r->end && is_plain(*r->p))
        r->p++;
    if (r->p == r->end)
        return JSON_MORE;
    size_t n = (size_t)(r->p - from);
    *out = (struct json_piece){ .p = from, .n = n, .kind = JSON_PLAIN };
    if (is_word(from, n, "null") || is_word(from, n, "NaN"))
        out->kind = JSON_NULL;
    else if (!is_word(from, n, "true") && !is_word(from, n, "false") &&
             !is_word(from, n, "Infinity") && !is_word(from, n, "-Infinity") &&
             !is_number(from, n)) {
        r->p = from;
        return bad(r, "a value that is no JSON");
    }
    return JSON_OK;
}

/* An array or object, of which only brackets and strings are looked at. */
static enum json_end nested_pass(struct json_row *r, struct json_piece *out)
{
    const char *from = r->p;
    char open[MAX_DEPTH];
    int depth = 0;

    do {
        struct json_piece string;
        if (r->p == r->end)
            return JSON_MORE;
        char c = *r->p;
        if (c == '"') {
            enum json_end rc = string_pass(r, &string);
            if (rc != JSON_OK)
                return rc;
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return bad(r, "a value that is nested too deeply");
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            if (open[depth - 1] != (c == '}' ? '{' : '['))
                return bad(r, "brackets that do not match");
            depth--;
        } else if ((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r') {
            return bad(r, "a control character");
        }
        r->p++;
    } while (depth > 0);
    *out = (struct json_piece){ .p = from, .n = (size_t)(r->p - from), .kind = JSON_PLAIN };
    return JSON_OK;
}

enum json_end json_row_open(struct json_row *r)
{
    if (r->p == r->end)
        return JSON_MORE;
    if (*r->p != '{')
        return bad(r, "a row that is no object");
    r->p++;
    return JSON_OK;
}

enum json_end json_row_next(struct json_row *r, bool is_first, struct json_piece *key,
                            struct json_piece *value, bool *is_last)
{
    enum json_end rc;

    *is_last = false;
    if (!json_row_space(r))
        return JSON_MORE;
    if (*r->p == '}') {
        r->p++;
        *is_last = true;
        return JSON_OK;
    }
    if (!is_first && *r->p != ',')
        return bad(r, "a comma or a brace is missing");
    r->p += !is_first;
    if (!json_row_space(r))
        return JSON_MORE;
    if (*r->p != '"')
        return bad(r, "a key without quotes");
    r->open = r->p;
    rc = string_pass(r, key);
    if (rc != JSON_OK)
        return rc;
    r->open = NULL;
    if (!json_row_space(r))
        return JSON_MORE;
    if (*r->p != ':')
        return bad(r, "a colon is missing");
    r->p++;
    if (!json_row_space(r))
        return JSON_MORE;
    r->open = r->p;
    rc = *r->p == '"'                   ? string_pass(r, value)
         : *r->p == '{' || *r->p == '[' ? nested_pass(r, value)
                                        : plain_pass(r, value);
    r->open = rc == JSON_OK ? NULL : r->open;
    return rc;
}

/* ---- escapes ---- */

static size_t utf8_put(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static uint32_t hex4(const char *p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)hex_value(p[i]);
    return v;
}

/* At the u of an escape; returns the bytes of the escape behind the backslash. */
static size_t unicode_put(const char *p, const char *end, char *out, size_t *made)
{
    uint32_t c = hex4(p + 1), low = 0;
    bool is_high = c >= 0xd800 && c < 0xdc00;

    if (is_high && end - p >= 11 && p[5] == '\\' && p[6] == 'u')
        low = hex4(p + 7);
    if (is_high && low >= 0xdc00 && low < 0xe000) {
        *made += utf8_put(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), out);
        return 11;
    }
    *made += utf8_put(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, out);
    return 5;
}

size_t json_unescape(const struct json_piece *piece, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *end = piece->p + piece->n;
    size_t made = 0;

    for (const char *p = piece->p; p < end;) {
        if (*p != '\\') {
            out[made++] = *p++;
            continue;
        }
        p++;
        if (*p == 'u') {
            p += unicode_put(p, end, out + made, &made);
        } else {
            out[made++] = to[strchr(from, *p) - from];
            p++;
        }
    }
    return made;
}
