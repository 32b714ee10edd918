/* str.c - strict parsing and checking of text. Nothing here depends on the locale: the program
 * never calls setlocale, and the grammar of a number is checked before strtod sees it. */
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How error texts quote their input: at most 60 bytes of it. */
#define QUOTED "'%.60s'"

int str_u64(const char *s, uint64_t *out, struct err *err)
{
    uint64_t v = 0;

    if (!is_digit(*s))
        return err_set(err, ERR_ARG, QUOTED " is not a whole number", s);
    for (const char *p = s; *p; p++) {
        if (!is_digit(*p))
            return err_set(err, ERR_ARG, QUOTED " is not a whole number", s);
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return err_set(err, ERR_ARG, QUOTED " is too large", s);
    }
    *out = v;
    return 0;
}

int str_i64(const char *s, int64_t min, int64_t max, int64_t *out, struct err *err)
{
    bool neg = *s == '-';
    uint64_t mag = 0, limit = neg ? (uint64_t)1 << 63 : INT64_MAX;
    int64_t v = 0;

    if (str_u64(s + neg, &mag, err) < 0)
        return err_set(err, ERR_ARG, QUOTED " is not a whole number that fits", s);
    if (mag > limit)
        return err_set(err, ERR_ARG, QUOTED " is out of range", s);
    v = neg ? (int64_t)(0 - mag) : (int64_t)mag;
    if (v < min || v > max)
        return err_set(err, ERR_ARG, "%" PRId64 " is not from %" PRId64 " to %" PRId64, v, min,
                       max);
    *out = v;
    return 0;
}

/* The length of [-] digits [. digits] [e [+-] digits] at s, 0 when there is no such number. */
static size_t number_len(const char *s)
{
    const char *p = s;
    size_t digits = 0;

    if (*p == '-')
        p++;
    for (; is_digit(*p); p++)
        digits++;
    if (*p == '.') {
        for (p++; is_digit(*p); p++)
            digits++;
    }
    if (!digits)
        return 0;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1;

        if (*q == '+' || *q == '-')
            q++;
        if (is_digit(*q)) {
            while (is_digit(*q))
                q++;
            p = q;
        }
    }
    return (size_t)(p - s);
}

int str_f64(const char *s, double *out, struct err *err)
{
    size_t n = number_len(s);
    double v = 0;

    if (!n || s[n])
        return err_set(err, ERR_ARG, QUOTED " is not a number", s);
    v = strtod(s, NULL);
    if (v - v != 0)
        return err_set(err, ERR_ARG, QUOTED " is too large", s);
    *out = v;
    return 0;
}

struct unit {
    const char *name;
    double factor;
};

/* Reads one "<number><unit>" at *s and moves *s behind it. The number has no sign and no exponent.
 * *bare: it had no unit. Returns 1, or 0 if there is no such quantity. */
static int quantity(const char **s, const struct unit *units, size_t n, bool *bare, double *out)
{
    const char *p = *s;
    size_t digits = strspn(p, "0123456789."), len = 0;
    char text[32] = { 0 };
    double v = 0;

    if (!digits || digits >= sizeof text)
        return 0;
    memcpy(text, p, digits);
    if (str_f64(text, &v, NULL) < 0)
        return 0;
    p += digits;
    len = strcspn(p, "0123456789.");
    for (size_t i = 0; i < n; i++) {
        if (strlen(units[i].name) == len && memcmp(units[i].name, p, len) == 0) {
            *out = v * units[i].factor;
            *bare = len == 0;
            *s = p + len;
            return 1;
        }
    }
    return 0;
}

/* Adds up quantities such as "1h30m". A number without a unit is only legal alone, because "1h30"
 * could mean 30 of anything. The sum is at most 2^53, up to which doubles are exact. */
static int quantities(const char *s, const struct unit *units, size_t n, int64_t *out)
{
    double sum = 0, v = 0;
    int parts = 0;
    bool bare = false, any_bare = false;

    while (*s) {
        if (!quantity(&s, units, n, &bare, &v))
            return -1;
        any_bare |= bare;
        sum += v;
        parts++;
    }
    if (!parts || (any_bare && parts > 1) || sum > 9007199254740992.0)
        return -1;
    *out = (int64_t)(sum + 0.5);
    return 0;
}

int str_duration_ms(const char *s, int64_t *out, struct err *err)
{
    static const struct unit units[] = { { "", 1000 },   { "ms", 1 },      { "s", 1000 },
                                         { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };

    if (quantities(s, units, ARRAY_LEN(units), out) < 0)
        return err_set(err, ERR_ARG, QUOTED " is not a duration like 250ms, 60s, 10m, 2h or 1d", s);
    return 0;
}

int str_bytes(const char *s, int64_t *out, struct err *err)
{
    static const struct unit units[] = {
        { "", 1 },
        { "B", 1 },
        { "kB", 1e3 },
        { "KB", 1e3 },
        { "MB", 1e6 },
        { "GB", 1e9 },
        { "TB", 1e12 },
        { "KiB", 1024 },
        { "MiB", 1048576 },
        { "GiB", 1073741824 },
        { "TiB", 1099511627776 },
    };
    int64_t v = 0;

    if (quantities(s, units, ARRAY_LEN(units), &v) < 0)
        return err_set(err, ERR_ARG, QUOTED " is not a size like 1024, 512MB or 8GiB", s);
    *out = v;
    return 0;
}

bool str_name_ok(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n >= 1 && n <= 120 && !s[n] && s[0] != '.' && s[0] != '-';
}

bool str_sha256_ok(const char *s)
{
    return strspn(s, "0123456789abcdef") == 64 && !s[64];
}

bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return k <= n && memcmp(s + n - k, suffix, k) == 0;
}

size_t str_copy(char *dst, size_t size, const char *src)
{
    size_t n = strlen(src);

    if (size) {
        size_t k = MIN(n, size - 1);

        memcpy(dst, src, k);
        dst[k] = '\0';
    }
    return n;
}

void str_hex(const uint8_t *bytes, size_t n, char *out)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int str_unhex(const char *s, uint8_t *out, size_t n, struct err *err)
{
    if (strlen(s) != 2 * n)
        return err_set(err, ERR_ARG, "%zu hex digits are needed, not %zu", 2 * n, strlen(s));
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(s[2 * i]), lo = hex_digit(s[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return err_set(err, ERR_ARG, QUOTED " is not hexadecimal", s);
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return 0;
}

enum { NEAR_MAX = 64 };

/* The number of insertions, deletions, replacements and swaps of two neighbours that turn a into b.
 * Both have at most NEAR_MAX bytes. Only the last three rows of the table are kept. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t d[3][NEAR_MAX + 1] = { { 0 } };

    CHECK(na <= NEAR_MAX && nb <= NEAR_MAX);
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = d[i % 3], *up = d[(i + 2) % 3], *upup = d[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = MIN(up[j] + 1, row[j - 1] + 1);

            best = MIN(best, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, upup[j - 2] + 1);
            row[j] = best;
        }
    }
    return d[na % 3][nb];
}

/* Copies in lower case and without separators: "Learning-Rate" becomes "learningrate". */
static size_t plain(const char *s, char out[NEAR_MAX + 1])
{
    size_t n = 0;

    for (; *s && n < NEAR_MAX; s++) {
        if (*s != '_' && *s != '-' && *s != ' ' && *s != '.')
            out[n++] = (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
    }
    out[n] = '\0';
    return n;
}

/* The name with the fewest changes of letters, if it is close enough. */
static const char *nearest_letters(const char *s, const char *const *names, size_t n)
{
    char a[NEAR_MAX + 1], b[NEAR_MAX + 1];
    const char *best = NULL;
    size_t len = plain(s, a), near = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = plain(names[i], b), d = 0;

        d = distance(a, len, b, k);
        if (d == 0 && len > 0)
            return names[i];
        /* In words of one or two letters, one equal letter says nothing: lr is not l1. */
        if (len == k && k < 3)
            continue;
        /* Close is one change, plus one for every four letters. */
        if (d <= 1 + MIN(len, k) / 4 && d < MAX(len, k) && (!best || d < near)) {
            best = names[i];
            near = d;
        }
    }
    return best;
}

/* Is one of the words of `s`, which are separated by _ or -, equal to the first n bytes of `part`?
 * A plural s at the end of either word does not count. */
static bool has_part(const char *s, const char *part, size_t n)
{
    n -= n > 3 && part[n - 1] == 's';
    while (*s) {
        size_t k = strcspn(s, "_-"), bare = k - (k > 3 && s[k - 1] == 's');

        if (bare == n && memcmp(s, part, n) == 0)
            return true;
        s += k + (s[k] != '\0');
    }
    return false;
}

/* Is every word of `s` also in `whole`, and does at least one have three letters or more? */
static bool parts_within(const char *s, const char *whole)
{
    bool is_word = false;

    while (*s) {
        size_t k = strcspn(s, "_-");

        if (k == 0 || !has_part(whole, s, k))
            return false;
        is_word = is_word || k >= 3;
        s += k + (s[k] != '\0');
    }
    return is_word;
}

/* The shortest name that contains the words of `s`, or whose words `s` contains. */
static const char *nearest_parts(const char *s, const char *const *names, size_t n)
{
    const char *best = NULL;

    for (size_t i = 0; i < n; i++) {
        bool is_near = parts_within(s, names[i]) || parts_within(names[i], s);

        if (is_near && (!best || strlen(names[i]) < strlen(best)))
            best = names[i];
    }
    return best;
}

/* What an alias with the letters of `s` means: one of the names, or a hint for people. */
static const char *nearest_alias(const char *s, const char *const *names, size_t n,
                                 const struct str_alias *aliases, size_t n_aliases)
{
    char a[NEAR_MAX + 1], b[NEAR_MAX + 1];

    plain(s, a);
    for (size_t i = 0; i < n_aliases; i++) {
        plain(aliases[i].word, b);
        if (strcmp(a, b) != 0)
            continue;
        if (strchr(aliases[i].means, ' '))
            return aliases[i].means;
        for (size_t k = 0; k < n; k++) {
            if (strcmp(names[k], aliases[i].means) == 0)
                return names[k];
        }
    }
    return NULL;
}

const char *str_nearest_or(const char *s, const char *const *names, size_t n,
                           const struct str_alias *aliases, size_t n_aliases)
{
    const char *near = NULL;

    if (strlen(s) > NEAR_MAX)
        return NULL;
    near = nearest_alias(s, names, n, aliases, n_aliases);
    if (!near)
        near = nearest_letters(s, names, n);
    return near ? near : nearest_parts(s, names, n);
}

const char *str_nearest(const char *s, const char *const *names, size_t n)
{
    return str_nearest_or(s, names, n, NULL, 0);
}

void str_list(const char *const *names, size_t n, char *out, size_t size)
{
    size_t len = 0;

    CHECK(size > sizeof ", ...");
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t need = strlen(names[i]) + (i ? 2 : 0);

        if (len + need + sizeof ", ..." > size) {
            str_copy(out + len, size - len, ", ...");
            return;
        }
        len += str_copy(out + len, size - len, i ? ", " : "");
        len += str_copy(out + len, size - len, names[i]);
    }
}

void str_fmt_bytes(int64_t n, char *out, size_t size)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double v = (double)n;
    size_t i = 0;

    for (; (v >= 1024 || v <= -1024) && i + 1 < ARRAY_LEN(names); i++)
        v /= 1024;
    snprintf(out, size, "%.*f %s", i ? 1 : 0, v, names[i]);
}

void str_fmt_ms(int64_t ms, char *out, size_t size)
{
    const char *sign = ms < 0 ? "-" : "";
    uint64_t t = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms, s = t / 1000;

    if (t < 1000)
        snprintf(out, size, "%s%" PRIu64 "ms", sign, t);
    else if (t < 60000)
        snprintf(out, size, "%s%" PRIu64 ".%" PRIu64 "s", sign, s, t % 1000 / 100);
    else if (s < 3600)
        snprintf(out, size, "%s%" PRIu64 "m%02" PRIu64 "s", sign, s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, size, "%s%" PRIu64 "h%02" PRIu64 "m", sign, s / 3600, s / 60 % 60);
    else
        snprintf(out, size, "%s%" PRIu64 "d%02" PRIu64 "h", sign, s / 86400, s / 3600 % 24);
}
