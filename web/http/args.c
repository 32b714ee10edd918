/* args.c - see args.h. Every loop is bounded by the end of the text and every copy by the size of
 * its target. Each parser lists what it accepts and refuses everything else. */
#include "web/http/args.h"

#include "base/str.h"
#include "base/utf8.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- path and query ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int args_decode(struct arena *a, const char *s, size_t n, bool plus, const char **out,
                struct err *err)
{
    char *to = arena_alloc(a, n + 1);
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c == '%') {
            int hi = i + 2 < n ? hex_digit(s[i + 1]) : -1;
            int lo = i + 2 < n ? hex_digit(s[i + 2]) : -1;

            if (hi < 0 || lo < 0)
                return err_set(err, ERR_ARG, "the address holds a broken %%-escape");
            c = (unsigned char)(hi * 16 + lo);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return err_set(err, ERR_ARG, "the address holds a control byte");
        to[len++] = (char)c;
    }
    to[len] = '\0';
    if (!utf8_ok(to, len))
        return err_set(err, ERR_ARG, "the address is not UTF-8");
    *out = to;
    return 0;
}

/* Adds one segment of the path. "." and ".." are refused as well as an encoded '/', so that no path
 * can leave the folder that it seems to be in. */
static int segment_add(struct arena *a, const char *s, size_t n, struct args_path *out,
                       struct err *err)
{
    const char *seg = NULL;

    if (n == 0 || out->n == ARGS_SEGMENTS_MAX)
        return err_set(err, ERR_NOTFOUND, "there is nothing at this address");
    if (args_decode(a, s, n, false, &seg, err) < 0)
        return -1;
    if (strchr(seg, '/') || strcmp(seg, ".") == 0 || strcmp(seg, "..") == 0)
        return err_set(err, ERR_NOTFOUND, "there is nothing at this address");
    out->segments[out->n++] = seg;
    return 0;
}

int args_path_parse(struct arena *a, const char *s, size_t n, struct args_path *out,
                    struct err *err)
{
    size_t from = 1;

    out->n = 0;
    if (n == 0 || s[0] != '/')
        return err_set(err, ERR_ARG, "the address does not start with '/'");
    if (n > ARGS_TEXT_MAX)
        return err_set(err, ERR_ARG, "the path is longer than %d bytes", ARGS_TEXT_MAX);
    if (n == 1)
        return 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && s[i] != '/')
            continue;
        if (segment_add(a, s + from, i - from, out, err) < 0)
            return -1;
        from = i + 1;
    }
    return 0;
}

/* Adds one pair of the query, "key=value" of n bytes. */
static int pair_add(struct arena *a, const char *s, size_t n, struct args_query *out,
                    struct err *err)
{
    const char *eq = memchr(s, '=', n);
    struct args_pair p = { 0 };

    if (!eq || eq == s)
        return err_set(err, ERR_ARG, "the query must be key=value pairs joined by '&'");
    if (out->n == ARGS_QUERY_MAX)
        return err_set(err, ERR_ARG, "the query has more than %d pairs", ARGS_QUERY_MAX);
    if (args_decode(a, s, (size_t)(eq - s), true, &p.key, err) < 0 ||
        args_decode(a, eq + 1, n - (size_t)(eq - s) - 1, true, &p.value, err) < 0)
        return -1;
    if (args_query_get(out, p.key))
        return err_at(err, p.key, "given twice");
    out->pairs[out->n++] = p;
    return 0;
}

int args_query_parse(struct arena *a, const char *s, struct args_query *out, struct err *err)
{
    out->n = 0;
    while (s && *s) {
        size_t n = strcspn(s, "&");

        if (pair_add(a, s, n, out, err) < 0)
            return -1;
        s += n + (s[n] == '&' && s[n + 1] != '\0');
        if (*s == '&')
            return err_set(err, ERR_ARG, "the query must be key=value pairs joined by '&'");
    }
    return 0;
}

const char *args_query_get(const struct args_query *q, const char *key)
{
    for (int i = 0; i < q->n; i++) {
        if (strcmp(q->pairs[i].key, key) == 0)
            return q->pairs[i].value;
    }
    return NULL;
}

/* ---- headers ---- */

/* Reads up to 18 decimal digits (they fit an int64). Returns how many; 0 when there are none or
 * more. */
static size_t digits(const char *s, int64_t *out)
{
    size_t n = strspn(s, "0123456789");

    *out = 0;
    if (n > 18)
        return 0;
    for (size_t i = 0; i < n; i++)
        *out = *out * 10 + (s[i] - '0');
    return n;
}

int args_range(const char *header, int64_t size, int64_t *from, int64_t *len)
{
    int64_t first = 0, last = 0;
    size_t n = 0, m = 0;

    if (!header || strncasecmp(header, "bytes=", 6) != 0)
        return 0;
    header += 6;
    n = digits(header, &first);
    if (header[n] != '-')
        return 0;
    m = digits(header + n + 1, &last);
    if (header[n + 1 + m] != '\0' || (n == 0 && m == 0))
        return 0;
    if (n == 0) { /* the last `last` bytes */
        if (last == 0 || size == 0)
            return -1;
        *len = MIN(last, size);
        *from = size - *len;
        return 1;
    }
    if (m > 0 && last < first)
        return 0;
    if (first >= size)
        return -1;
    *from = first;
    *len = (m > 0 ? MIN(last, size - 1) : size - 1) - first + 1;
    return 1;
}

int args_cookie(const char *header, const char *name, char *out, size_t size)
{
    size_t name_len = strlen(name);

    while (header && *header) {
        size_t n = 0;

        header += strspn(header, " \t;");
        n = strcspn(header, ";");
        if (n > name_len && strncmp(header, name, name_len) == 0 && header[name_len] == '=') {
            size_t value_len = n - name_len - 1;

            if (value_len == 0 || value_len >= size)
                return 0;
            memcpy(out, header + name_len + 1, value_len);
            out[value_len] = '\0';
            return 1;
        }
        header += n;
    }
    return 0;
}

int args_bearer(const char *header, char *out, size_t size)
{
    size_t n = 0;

    if (!header)
        return 0;
    if (strncasecmp(header, "Bearer ", 7) != 0)
        return -1;
    header += 7 + strspn(header + 7, " ");
    n = strspn(header, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=");
    if (n == 0 || header[n] != '\0' || n >= size)
        return -1;
    memcpy(out, header, n + 1);
    return 1;
}

static int port_parse(const char *s, int *out)
{
    int64_t v = 0;

    if (str_i64(s, 0, 65535, &v, NULL) < 0)
        return -1;
    *out = (int)v;
    return 0;
}

static bool ip_literal(const char *s, bool v6)
{
    unsigned char bin[sizeof(struct in6_addr)];

    return inet_pton(v6 ? AF_INET6 : AF_INET, s, bin) == 1;
}

int args_host_parse(const char *header, struct args_host *out)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
    bool v6 = header && header[0] == '[';
    const char *name = v6 ? header + 1 : header, *rest = NULL;
    size_t n = 0;

    memset(out, 0, sizeof *out);
    if (!header)
        return -1;
    n = v6 ? strspn(name, "0123456789abcdefABCDEF:.") : strspn(name, ok);
    if (n == 0 || n >= sizeof out->name || (v6 && name[n] != ']'))
        return -1;
    for (size_t i = 0; i < n; i++)
        out->name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    out->is_ip = ip_literal(out->name, v6);
    if (v6 && !out->is_ip)
        return -1;
    rest = name + n + (v6 ? 1 : 0);
    if (*rest == '\0')
        return 0;
    return *rest == ':' ? port_parse(rest + 1, &out->port) : -1;
}

bool args_host_ok(const char *header, const char *names)
{
    struct args_host h;
    size_t len = 0;

    if (args_host_parse(header, &h) < 0)
        return false;
    if (h.is_ip || strcmp(h.name, "localhost") == 0)
        return true;
    len = strlen(h.name);
    while (names && *names) {
        size_t n = strcspn(names, ",");

        if (n == len && strncasecmp(names, h.name, n) == 0)
            return true;
        names += n + (names[n] == ',');
    }
    return false;
}

bool args_origin_ok(const char *origin, const char *host)
{
    struct args_host a, b;

    if (!origin)
        return true;
    if (str_starts(origin, "http://"))
        origin += 7;
    else if (str_starts(origin, "https://"))
        origin += 8;
    else
        return false;
    return args_host_parse(origin, &a) == 0 && args_host_parse(host, &b) == 0 &&
           strcmp(a.name, b.name) == 0 && a.port == b.port;
}

bool args_gzip_ok(const char *accept_encoding)
{
    while (accept_encoding && *accept_encoding) {
        size_t n = 0;

        accept_encoding += strspn(accept_encoding, " ,");
        n = strcspn(accept_encoding, ",");
        if (n >= 4 && strncasecmp(accept_encoding, "gzip", 4) == 0 &&
            (n == 4 || accept_encoding[4] == ' ' || accept_encoding[4] == ';')) {
            const char *q = memchr(accept_encoding, '=', n);

            return !(q && q[1] == '0' &&
                     strcspn(q, "123456789") >= (size_t)(accept_encoding + n - q));
        }
        accept_encoding += n;
    }
    return false;
}

bool args_etag_ok(const char *if_none_match, const char *etag)
{
    size_t len = strlen(etag);

    while (if_none_match && *if_none_match) {
        size_t n = 0;

        if_none_match += strspn(if_none_match, " ,");
        n = strcspn(if_none_match, " ,");
        if (n == 1 && *if_none_match == '*')
            return true;
        if (n > 2 && strncmp(if_none_match, "W/", 2) == 0)
            if_none_match += 2, n -= 2;
        if (n == len && memcmp(if_none_match, etag, n) == 0)
            return true;
        if_none_match += n;
    }
    return false;
}

void args_disposition(const char *file_name, char *out, size_t size)
{
    char plain[100] = "", coded[320] = "";
    size_t p = 0, c = 0;

    for (const char *s = file_name; *s && p + 1 < sizeof plain && c + 4 < sizeof coded; s++) {
        unsigned char ch = (unsigned char)*s;
        bool safe = (ch >= '0' && ch <= '9') || ((ch | 32) >= 'a' && (ch | 32) <= 'z') ||
                    ch == '.' || ch == '-' || ch == '_';

        plain[p++] = safe ? (char)ch : '_';
        c += (size_t)snprintf(coded + c, sizeof coded - c, safe ? "%c" : "%%%02X", ch);
    }
    plain[p] = '\0';
    if (strcmp(plain, coded) == 0)
        (void)!snprintf(out, size, "attachment; filename=\"%s\"", plain);
    else
        (void)!snprintf(out, size, "attachment; filename=\"%s\"; filename*=UTF-8''%s", plain,
                        coded);
}

int args_listen_parse(const char *text, struct sockaddr_storage *out, socklen_t *len,
                      struct err *err)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    struct args_host h;

    memset(out, 0, sizeof *out);
    if (args_host_parse(text, &h) < 0 || !strchr(text, ':'))
        return err_set(err, ERR_ARG,
                       "\"%s\" is not an address to listen on; write one such as 127.0.0.1:7878",
                       text);
    if (strcmp(h.name, "localhost") == 0)
        str_copy(h.name, sizeof h.name, "127.0.0.1");
    if (text[0] == '[' && inet_pton(AF_INET6, h.name, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)h.port);
        *len = sizeof *v6;
        return 0;
    }
    if (inet_pton(AF_INET, h.name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)h.port);
        *len = sizeof *v4;
        return 0;
    }
    return err_set(err, ERR_ARG, "\"%s\": listening needs a literal address such as 127.0.0.1",
                   text);
}
