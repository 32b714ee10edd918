/* logical.c - see logical.h. A decimal is the double nearest to it, as if its digits had been read
 * from text. Called by parquet_values.c and arrow_batch.c. */
#include "ml/read/columnar/logical.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXACT_TENS = 22, DAY_S = 86400, JULIAN_1970 = 2440588, MAX_DECIMAL_BYTES = 32 };

#define EXACT_INT (INT64_C(1) << 53)

/* 10^0 to 10^22 are exact as doubles. */
static const double tens[EXACT_TENS + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

enum cells_kind logical_kind(const struct logical *l)
{
    switch (l->as) {
    case AS_BOOL:
    case AS_TEXT:
    case AS_UUID:
    case AS_REFUSED:
        return CELLS_TEXTS;
    case AS_DAYS:
    case AS_TIME:
    case AS_STAMP:
    case AS_INT96:
        return CELLS_DATES;
    default:
        return CELLS_NUMBERS;
    }
}

/* digits * 10^-scale, digits with an optional sign. */
static double decimal_text(const char *digits, int scale)
{
    char text[MAX_DECIMAL_BYTES * 3 + 16];
    double v = 0;

    (void)snprintf(text, sizeof(text), "%se%d", digits, -scale);
    return str_f64(text, &v, NULL) < 0 ? (double)NAN : v;
}

static double decimal_int(int64_t v, int scale)
{
    char digits[24];

    if (v > -EXACT_INT && v < EXACT_INT && scale >= 0 && scale <= EXACT_TENS)
        return (double)v / tens[scale];
    (void)snprintf(digits, sizeof(digits), "%lld", (long long)v);
    return decimal_text(digits, scale);
}

/* Where all units do not fit into a double, whole seconds and the part of one are turned into
 * doubles by themselves. */
static double seconds(int64_t v, int scale)
{
    if (v > -EXACT_INT && v < EXACT_INT)
        return (double)v / tens[scale];
    int64_t unit = (int64_t)tens[scale], whole = v / unit, part = v % unit;

    if (part < 0)
        whole--, part += unit;
    return part ? (double)whole + (double)part / (double)unit : (double)whole;
}

void logical_ints(const struct logical *l, const int64_t *v, int64_t n, double *out)
{
    switch (l->as) {
    case AS_UINT32:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)(uint32_t)v[i];
        break;
    case AS_UINT64:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)(uint64_t)v[i];
        break;
    case AS_DECIMAL:
        for (int64_t i = 0; i < n; i++)
            out[i] = decimal_int(v[i], l->scale);
        break;
    case AS_DAYS:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)v[i] * DAY_S;
        break;
    case AS_TIME:
    case AS_STAMP:
    case AS_DURATION:
        for (int64_t i = 0; i < n; i++)
            out[i] = seconds(v[i], l->scale);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)v[i];
    }
}

/* ---- bytes ---- */

/* Divides the magnitude by 10^9 and returns the rest. Most significant byte first. */
static uint32_t divide(uint8_t *m, size_t n)
{
    uint64_t rest = 0;

    for (size_t i = 0; i < n; i++) {
        rest = rest << 8 | m[i];
        m[i] = (uint8_t)(rest / 1000000000);
        rest %= 1000000000;
    }
    return (uint32_t)rest;
}

static bool is_zero(const uint8_t *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (m[i])
            return false;
    }
    return true;
}

/* A number of two's complement, most significant byte first, of more than 64 bits. */
static double decimal_wide(uint8_t *m, size_t n, int scale)
{
    uint32_t groups[MAX_DECIMAL_BYTES / 3];
    char digits[MAX_DECIMAL_BYTES * 3];
    bool is_negative = m[0] & 128;
    size_t n_groups = 0;
    int len = 0;

    for (size_t i = n, carry = 1; is_negative && i-- > 0;) {
        carry += (uint8_t)~m[i];
        m[i] = (uint8_t)carry;
        carry >>= 8;
    }
    do {
        groups[n_groups++] = divide(m, n);
    } while (!is_zero(m, n));
    len = snprintf(digits, sizeof(digits), "%s%u", is_negative ? "-" : "", groups[--n_groups]);
    while (n_groups > 0)
        len += snprintf(digits + len, sizeof(digits) - (size_t)len, "%09u", groups[--n_groups]);
    return decimal_text(digits, scale);
}

static double decimal_bytes(const uint8_t *p, size_t n, bool is_little, int scale)
{
    uint8_t m[MAX_DECIMAL_BYTES];
    uint64_t v;

    if (n == 0)
        return (double)NAN;
    /* Leading bytes that only repeat the sign. */
    while (n > 1 && is_little && (p[n - 1] == 0 || p[n - 1] == 255) &&
           (p[n - 1] & 128) == (p[n - 2] & 128))
        n--;
    while (n > 1 && !is_little && (p[0] == 0 || p[0] == 255) && (p[0] & 128) == (p[1] & 128))
        n--, p++;
    if (n > MAX_DECIMAL_BYTES)
        return (double)NAN;
    for (size_t i = 0; i < n; i++)
        m[i] = is_little ? p[n - 1 - i] : p[i];
    if (n > 8)
        return decimal_wide(m, n, scale);
    v = m[0] & 128 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | m[i];
    return decimal_int((int64_t)v, scale);
}

double logical_half(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double part = h & 1023, v;

    if (exponent == 31)
        v = part != 0 ? (double)NAN : (double)INFINITY;
    else
        v = exponent ? ldexp(1024 + part, exponent - 25) : ldexp(part, -24);
    return h & 0x8000 ? -v : v;
}

static double int96(const uint8_t *p)
{
    int64_t nanos;
    uint32_t day;

    memcpy(&nanos, p, 8);
    memcpy(&day, p + 8, 4);
    return (double)((int64_t)day - JULIAN_1970) * DAY_S + seconds(nanos, 9);
}

double logical_bytes(const struct logical *l, const uint8_t *p, size_t n)
{
    uint16_t half;

    switch (l->as) {
    case AS_BIG_DECIMAL:
    case AS_LITTLE_DECIMAL:
        return decimal_bytes(p, n, l->as == AS_LITTLE_DECIMAL, l->scale);
    case AS_HALF:
        if (n != sizeof(half))
            return (double)NAN;
        memcpy(&half, p, sizeof(half));
        return logical_half(half);
    case AS_INT96:
        return n == 12 ? int96(p) : (double)NAN;
    default:
        return (double)NAN;
    }
}

void logical_uuid(const uint8_t *p, char out[LOGICAL_UUID_CHARS])
{
    char hex[33];

    str_hex(p, 16, hex);
    for (int i = 0, at = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = hex[i];
    }
}
