/* head.c - see head.h. The text is cut into strings in place: NULs are written over colons and line
 * ends, and the fields point into it. */
#include "web/http/head.h"

#include "base/base.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

/* Fields that must be unique: with two of them, two readers could see two different requests. */
static const char *const single[] = { "Host",          "Content-Length", "Transfer-Encoding",
                                      "Authorization", "Content-Type",   "Expect",
                                      "Origin",        "Range" };

/* A "token" of RFC 9110: what field names and methods are made of. */
static bool is_token_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_len(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && is_token_char((unsigned char)s[i]))
        i++;
    return i;
}

int64_t head_end(const char *text, size_t n, size_t *seen)
{
    for (size_t i = *seen; i < n; i++) {
        if (text[i] != '\n')
            continue;
        if (i == 0 || text[i - 1] != '\r')
            return -1;
        if (i >= 3 && text[i - 2] == '\n') {
            *seen = i + 1;
            return (int64_t)i + 1;
        }
    }
    *seen = n;
    return 0;
}

/* "METHOD TARGET HTTP/1.x": single spaces, no control characters, a version of two digits. Returns
 * 0 or the status to refuse with, and *why; so do the parsers below. */
static int first_line_parse(char *line, size_t n, struct head *out, const char **why)
{
    size_t method = token_len(line, n);
    char *target = line + method + 1, *version = NULL;

    *why = "the first line of a request must be METHOD ADDRESS HTTP/1.1";
    if (method == 0 || method > HEAD_METHOD_MAX || method >= n || line[method] != ' ')
        return 400;
    line[method] = '\0';
    version = memchr(target, ' ', n - method - 1);
    if (!version || version == target)
        return 400;
    *version++ = '\0';
    for (const char *p = target; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return 400;
    }
    if (strlen(target) != (size_t)(version - 1 - target) || line + n - version != 8 ||
        memcmp(version, "HTTP/", 5) != 0 || version[6] != '.' || version[5] < '0' ||
        version[5] > '9' || version[7] < '0' || version[7] > '9')
        return 400;
    *why = "this server speaks only HTTP/1.1 and HTTP/1.0";
    if (version[5] != '1')
        return 505;
    out->method = line;
    out->target = target;
    out->minor = version[7] > '0';
    return 0;
}

static bool has_controls(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
            return true;
    }
    return false;
}

/* "Name: value". The value is stored without the white space around it. */
static int field_parse(char *line, size_t n, struct head *out, const char **why)
{
    size_t name = token_len(line, n), from = name + 1;

    *why = "a header field must be NAME: VALUE on one line, with the colon right behind the name";
    if (name == 0 || name >= n || line[name] != ':')
        return 400;
    *why = "a header field holds a control character";
    if (has_controls(line + from, n - from))
        return 400;
    *why = "the request has too many header fields";
    if (out->n_fields == HEAD_FIELDS_MAX)
        return 431;
    line[name] = '\0';
    while (from < n && (line[from] == ' ' || line[from] == '\t'))
        from++;
    while (n > from && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    line[n] = '\0'; /* at most the byte where the line's CR stood */
    *why = "a header field that is allowed only once is given twice";
    for (size_t i = 0; i < ARRAY_LEN(single); i++) {
        if (strcasecmp(line, single[i]) == 0 && head_find(out, line))
            return 400;
    }
    out->fields[out->n_fields++] = (struct head_field){ line, line + from };
    return 0;
}

/* True when the comma-separated list holds the word. */
static bool list_holds(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (*list) {
        size_t n = 0;

        list += strspn(list, " \t,");
        n = strcspn(list, " \t,");
        if (n == len && strncasecmp(list, word, n) == 0)
            return true;
        list += n;
    }
    return false;
}

/* Whether there is a body, and how its end is found (RFC 9112, section 6). */
static int body_read(struct head *out, const char **why)
{
    const char *length = head_find(out, "Content-Length");
    const char *coding = head_find(out, "Transfer-Encoding");

    if (coding) {
        *why = "a request may have a Content-Length or a Transfer-Encoding, but not both, and with "
               "HTTP/1.0 only the first";
        if (length || out->minor == 0)
            return 400;
        *why = "the only Transfer-Encoding that is supported is chunked";
        if (strcasecmp(coding, "chunked") != 0)
            return 501;
        out->is_chunked = true;
    } else if (length) {
        *why = "Content-Length must be a whole number";
        if (length[strspn(length, "0123456789")] || !*length)
            return 400;
        *why = "the body is over the limit";
        if (str_i64(length, 0, INT64_MAX, &out->length, NULL) < 0)
            return 413;
    }
    return 0;
}

/* What the fields say about the body, the connection and "100 Continue". HTTP/1.1 keeps connections
 * open unless a field says "close"; HTTP/1.0 closes them unless one says "keep-alive". */
static int meaning_read(struct head *out, const char **why)
{
    const char *expect = head_find(out, "Expect");
    bool says_close = false, says_stay = out->minor > 0;
    int rc = body_read(out, why);

    if (rc)
        return rc;
    for (int i = 0; i < out->n_fields; i++) {
        if (strcasecmp(out->fields[i].name, "Connection") != 0)
            continue;
        says_close |= list_holds(out->fields[i].value, "close");
        says_stay |= list_holds(out->fields[i].value, "keep-alive");
    }
    out->is_kept = says_stay && !says_close;
    *why = "the only Expect that is supported is 100-continue";
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return 417;
    out->wants_continue = expect && out->minor > 0;
    return 0;
}

int head_parse(char *text, size_t n, struct head *out, const char **why)
{
    bool is_first = true;

    memset(out, 0, sizeof *out);
    while (n >= 2) {
        char *end = memchr(text, '\n', n);
        size_t len = end ? (size_t)(end - text) : 0;
        int rc = 0;

        *why = "every line of a request must end with CR LF";
        if (!end || len == 0 || text[len - 1] != '\r')
            return 400;
        if (len == 1)
            break; /* the empty line */
        rc = is_first ? first_line_parse(text, len - 1, out, why)
                      : field_parse(text, len - 1, out, why);
        if (rc)
            return rc;
        is_first = false;
        text += len + 1;
        n -= len + 1;
    }
    *why = "the request is empty";
    return is_first ? 400 : meaning_read(out, why);
}

const char *head_find(const struct head *h, const char *name)
{
    for (int i = 0; i < h->n_fields; i++) {
        if (strcasecmp(h->fields[i].name, name) == 0)
            return h->fields[i].value;
    }
    return NULL;
}
