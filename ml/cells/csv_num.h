/* csv_num.h - private to the CSV reader: text to number, exactly.
 *
 * The quick forms are inline, because they are the inner loop. What they decline goes to
 * csv_number, which takes every form:
 *
 *   [spaces] [+-] digits [. digits] [e [+-] digits] [spaces]
 *   inf or infinity with a sign; any case
 *
 * The value is the double nearest to the text (ties to even). A finite text that overflows is no
 * number. */
#ifndef ML_CELLS_CSV_NUM_H
#define ML_CELLS_CSV_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CSV_TENS = 23 };
/* 10^i, exact */
extern const double csv_tens[CSV_TENS];

enum csv_kind { CSV_INT, CSV_DOUBLE, CSV_MISSING, CSV_TEXT };

struct csv_value {
    enum csv_kind kind;
    /* %.15g of the value gives the text back */
    bool is_plain;
    /* for CSV_INT: above INT32_MIN */
    int32_t i;
    /* for CSV_INT and CSV_DOUBLE */
    double d;
};

/* s needs 16 readable bytes past its end. Never fails: what is no number is CSV_MISSING or
 * CSV_TEXT. */
void csv_number(const char *s, size_t n, struct csv_value *out);
/* The same with a decimal comma: one comma with digits after it, and no point. Never sets
 * is_plain. */
void csv_number_comma(const char *s, size_t n, struct csv_value *out);
/* empty, blank or a usual word: NA N/A NaN null ? */
bool csv_is_missing(const char *s, size_t n);

static inline uint64_t csv_load8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

/* 0x80 at each byte of x = text ^ "00000000" that is no digit. */
static inline uint64_t csv_not_digits(uint64_t x)
{
    return ((x + 0x7676767676767676ull) | x) & 0x8080808080808080ull;
}

/* The number of eight digit values, of which the most significant comes first in memory. */
static inline uint32_t csv_eight_digits(uint64_t x)
{
    x = x * 10 + (x >> 8);
    return (uint32_t)(((x & 0x000000ff000000ffull) * 0x000f424000000064ull +
                       (x >> 16 & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
                      32);
}

/* 1 to 8 digits without a needless leading zero: true, and the value. Needs 8 readable bytes. */
static inline bool csv_quick_int(const char *s, size_t n, int32_t *out)
{
    uint64_t w = csv_load8(s);

    if (n - 1 >= 8)
        return false;
    uint64_t x = (w ^ 0x3030303030303030ull) << (64 - 8 * n);
    *out = (int32_t)csv_eight_digits(x);
    return !csv_not_digits(x) && ((w & 0xff) != '0' || n == 1);
}

/* 9 or 10 digits that fit an int32, without a leading zero. Needs 8 readable bytes. */
static inline bool csv_quick_long(const char *s, size_t n, int32_t *out)
{
    if (n != 9 && n != 10)
        return false;
    uint64_t x = csv_load8(s + n - 8) ^ 0x3030303030303030ull;
    uint64_t high = (csv_load8(s) ^ 0x3030303030303030ull) << (64 - 8 * (n - 8));
    uint64_t v = (uint64_t)csv_eight_digits(high) * 100000000 + csv_eight_digits(x);
    *out = (int32_t)v;
    return !(csv_not_digits(x) | csv_not_digits(high)) && *s != '0' && v <= INT32_MAX;
}

/* [-]digits.digits with 1..7 before and 1..8 after the point. Needs 16 readable bytes. */
static inline bool csv_quick_decimal(const char *s, size_t n, double *out, bool *is_plain)
{
    bool is_negative = *s == '-';

    s += is_negative, n -= is_negative;
    uint64_t x = csv_load8(s) ^ 0x3030303030303030ull, not_digits = csv_not_digits(x);
    size_t whole = not_digits ? (size_t)__builtin_ctzll(not_digits) / 8 : 8, part = n - whole - 1;
    if (whole - 1 >= 7 || part - 1 >= 8 || whole >= n || s[whole] != '.')
        return false;
    uint64_t y = (csv_load8(s + whole + 1) ^ 0x3030303030303030ull) << (64 - 8 * part);
    if (csv_not_digits(y))
        return false;
    uint64_t ten = (uint64_t)csv_tens[part],
             w = csv_eight_digits(x << (64 - 8 * whole)) * ten + csv_eight_digits(y);
    double v = (double)w / csv_tens[part];
    *out = is_negative ? -v : v;
    *is_plain = s[n - 1] != '0' && (*s != '0' || (whole == 1 && w * 10000 >= ten));
    return true;
}

#endif
