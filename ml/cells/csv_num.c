/* csv_num.c - every form of a number, correctly rounded.
 *
 * Up to 19 digits are gathered in a 64-bit whole number w, so that the value is w * 10^e. Then, in
 * the order of their cost: with |e| small and w below 2^53 one exact product or quotient of doubles
 * (Clinger, How to read floating point numbers accurately, 1990); with |e| <= 27, where 5^|e| fits
 * 64 bits, a 128-bit product, or quotient with its remainder, which is exact and is rounded by
 * hand; else, or with more digits, strtod of the C library in the C locale, which rounds correctly.
 * Called by the columns of the CSV reader; no state but the locale handle. */
#include "ml/cells/csv_num.h"

#include "base/mem.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_DIGITS = 19, EXACT_POWER = 27 };

const double csv_tens[CSV_TENS] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* ---- 128-bit arithmetic ---- */

__extension__ typedef unsigned __int128 u128;

/* (hi:lo, plus a little more if sticky) * 2^e, rounded to nearest, ties to even. The exponents of
 * the callers are far from the limits of a double, so no subnormal results arise. */
static double round_wide(u128 v, int e, bool sticky)
{
    uint64_t hi = (uint64_t)(v >> 64);
    int lead = hi ? __builtin_clzll(hi) : 64 + __builtin_clzll((uint64_t)v);
    /* the top bit is set now: 53 bits to keep, 75 to round */
    v <<= lead;
    uint64_t kept = (uint64_t)(v >> 75);
    u128 rest = v & (((u128)1 << 75) - 1), half = (u128)1 << 74;
    bool up = rest > half || (rest == half && (sticky || (kept & 1)));

    kept += up;
    return ldexp((double)kept, e + 75 - lead);
}

/* w * 10^e, correctly rounded, for w > 0 and |e| <= 27. */
static double scale_exact(uint64_t w, int e)
{
    uint64_t five = 1;

    for (int i = e < 0 ? -e : e; i > 0; i--)
        five *= 5;
    if (e >= 0)
        return round_wide((u128)w * five, e, false);
    /* A 128-bit dividend with its top bit set leaves a quotient of at least 64 bits. */
    int lead = __builtin_clzll(w);
    u128 dividend = (u128)(w << lead) << 64, quotient = dividend / five;
    return round_wide(quotient, e - lead - 64, dividend % five != 0);
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double by_library(const char *s, size_t n)
{
    char small[128], *text = n < sizeof(small) ? small : mem_alloc(n + 1);

    pthread_once(&c_locale_once, c_locale_make);
    memcpy(text, s, n);
    text[n] = '\0';
    double v = c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
    if (text != small)
        mem_free(text);
    return v;
}

/* ---- scanning ---- */

struct decimal {
    uint64_t w;
    /* significant digits in w; with more than MOST_DIGITS w is not the whole number */
    int digits;
    int64_t point; /* value = w * 10^point */
    bool is_plain;
};

/* Adds the digits at p to d. Returns the first byte that is no digit. */
static const char *take_digits(const char *p, const char *end, struct decimal *d)
{
    while (p < end) {
        uint64_t x = csv_load8(p) ^ 0x3030303030303030ull, not_digits = csv_not_digits(x);
        size_t n = not_digits ? (size_t)__builtin_ctzll(not_digits) / 8 : 8;
        n = n < (size_t)(end - p) ? n : (size_t)(end - p);
        if (n == 0)
            return p;
        if (d->digits + (int)n > MOST_DIGITS ||
            d->digits == 0) { /* one by one: leading zeros, or too many */
            unsigned digit = (unsigned)(*p - '0');
            if (d->digits < MOST_DIGITS)
                d->w = d->w * 10 + digit;
            d->digits += d->digits < MOST_DIGITS + 1 && (d->digits > 0 || digit > 0);
            p++;
            continue;
        }
        static const uint64_t shift[] = { 1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000 };
        d->w = d->w * shift[n] + csv_eight_digits(x << (64 - 8 * n));
        d->digits += (int)n;
        p += n;
    }
    return p;
}

/* e[+-]digits at p. NULL when it is malformed. */
static const char *take_exponent(const char *p, const char *end, int64_t *point)
{
    bool is_negative = false;
    int64_t e = 0;

    p++;
    if (p < end && (*p == '+' || *p == '-'))
        is_negative = *p++ == '-';
    if (p == end || *p < '0' || *p > '9')
        return NULL;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        e = e < 1000000 ? e * 10 + (*p - '0') : e;
    *point += is_negative ? -e : e;
    return p;
}

/* An unsigned decimal that takes all of p to end. */
static bool take_decimal(const char *p, const char *end, struct decimal *d)
{
    const char *first = p, *rest = take_digits(p, end, d);
    int64_t whole = rest - first, fraction = 0;

    d->is_plain = whole > 0 && (whole == 1 || *first != '0');
    if (rest < end && *rest == '.') {
        const char *from = rest + 1;
        int before = d->digits;
        rest = take_digits(from, end, d);
        fraction = rest - from;
        /* %.15g writes 0.0001 but 1e-05, so at most three zeros may follow "0." */
        int64_t zeros = before == 0 ? fraction - d->digits : 0;
        d->is_plain = d->is_plain && fraction > 0 && rest[-1] != '0' && zeros <= 3;
    }
    if (whole + fraction == 0)
        return false;
    d->point = -fraction;
    d->is_plain = d->is_plain && d->digits <= 15;
    if (rest < end && (*rest == 'e' || *rest == 'E')) {
        d->is_plain = false;
        rest = take_exponent(rest, end, &d->point);
    }
    return rest == end;
}

static double decimal_value(const struct decimal *d, const char *s, size_t n)
{
    if (d->digits <= MOST_DIGITS) {
        if (d->w == 0)
            return 0;
        if (d->w <= 1ull << 53 && d->point >= -22 && d->point <= 22)
            return d->point < 0 ? (double)d->w / csv_tens[-d->point]
                                : (double)d->w * csv_tens[d->point];
        if (d->point >= -EXACT_POWER && d->point <= EXACT_POWER)
            return scale_exact(d->w, (int)d->point);
    }
    return by_library(s, n);
}

static bool same_word(const char *s, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (word[i] == '\0' || (s[i] | 0x20) != word[i])
            return false;
    }
    return word[n] == '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

bool csv_is_missing(const char *s, size_t n)
{
    while (n > 0 && is_space(s[0]))
        s++, n--;
    while (n > 0 && is_space(s[n - 1]))
        n--;
    if (n == 0 || (n == 1 && *s == '?'))
        return true;
    return same_word(s, n, "na") || same_word(s, n, "nan") || same_word(s, n, "null") ||
           (n == 3 && s[1] == '/' && (s[0] | 0x20) == 'n' && (s[2] | 0x20) == 'a');
}

void csv_number(const char *s, size_t n, struct csv_value *out)
{
    struct decimal d = { 0 };
    const char *p = s, *end = s + n;

    *out = (struct csv_value){ .kind = CSV_TEXT };
    if (csv_is_missing(s, n)) {
        out->kind = CSV_MISSING;
        return;
    }
    while (is_space(*p))
        p++;
    while (is_space(end[-1]))
        end--;
    bool has_spaces = p != s || end != s + n, has_plus = *p == '+', is_negative = *p == '-';
    p += has_plus || is_negative;
    if (same_word(p, (size_t)(end - p), "inf") || same_word(p, (size_t)(end - p), "infinity")) {
        out->kind = CSV_DOUBLE;
        out->d = is_negative ? -(double)INFINITY : (double)INFINITY;
        return;
    }
    if (!take_decimal(p, end, &d))
        return;
    double v = decimal_value(&d, p, (size_t)(end - p));
    if (isinf(v))
        return;
    out->d = is_negative ? -v : v;
    out->is_plain = d.is_plain && !has_spaces && !has_plus && !(is_negative && v == 0);
    out->kind = v <= 2147483647.0 && v == (double)(int32_t)v ? CSV_INT : CSV_DOUBLE;
    if (out->kind == CSV_INT)
        out->i = (int32_t)out->d;
}

void csv_number_comma(const char *s, size_t n, struct csv_value *out)
{
    enum { LONGEST = 64 };
    char text[LONGEST + 16] = "";
    const char *comma = memchr(s, ',', n);

    *out = (struct csv_value){ .kind = CSV_TEXT };
    if (!comma || n > LONGEST || memchr(s, '.', n) || comma + 1 == s + n || comma[1] < '0' ||
        comma[1] > '9')
        return;
    memcpy(text, s, n);
    text[comma - s] = '.';
    /* a second comma makes it a text */
    csv_number(text, n, out);
    out->is_plain = false;
}
