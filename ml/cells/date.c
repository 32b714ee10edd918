/* date.c - see date.h. A text is cut into numbers, names and signs from left to right; nothing may
 * be left over. */
#include "ml/cells/date.h"

#include "base/base.h"
#include "ml/cells/words.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 48, DAY_SECONDS = 86400 };

struct cursor {
    const char *s, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool take(struct cursor *c, char what)
{
    if (c->s == c->end || *c->s != what)
        return false;
    c->s++;
    return true;
}

/* Up to `most` digits; returns how many there were. */
static int take_number(struct cursor *c, int most, int *out)
{
    int n = 0;

    for (*out = 0; n < most && c->s < c->end && is_digit(*c->s); n++)
        *out = *out * 10 + (*c->s++ - '0');
    return n;
}

static bool skip_spaces(struct cursor *c)
{
    const char *from = c->s;

    while (c->s < c->end && *c->s == ' ')
        c->s++;
    return c->s > from;
}

/* One of `names` by at least its first three letters, at the cursor; -1 = none. The word ends with
 * its letters and may have a point. */
static int take_name(struct cursor *c, const char *const *names, int n)
{
    size_t len = 0;

    while (c->s + len < c->end && is_letter(c->s[len]))
        len++;
    for (int i = 0; i < n && len >= 3; i++) {
        size_t k = 0;
        while (k < len && names[i][k] && (c->s[k] | 0x20) == names[i][k])
            k++;
        if (k < len)
            continue;
        c->s += len;
        take(c, '.');
        return i;
    }
    return -1;
}

static int take_month(struct cursor *c)
{
    static const char *const names[] = { "january",   "february", "march",    "april",
                                         "may",       "june",     "july",     "august",
                                         "september", "october",  "november", "december" };

    return take_name(c, names, ARRAY_LEN(names)) + 1;
}

static void skip_weekday(struct cursor *c)
{
    static const char *const names[] = { "monday", "tuesday",  "wednesday", "thursday",
                                         "friday", "saturday", "sunday" };

    if (take_name(c, names, ARRAY_LEN(names)) >= 0) {
        take(c, ',');
        skip_spaces(c);
    }
}

static bool is_leap(int y)
{
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

bool date_is_day(int year, int month, int day)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && is_leap(year));
}

/* Days are counted from 1 March of the year 0, so that leap days end a year. */
double date_seconds(int year, int month, int day)
{
    int64_t y = year - (month <= 2), m = (month + 9) % 12;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;

    return (double)((days - 719468) * DAY_SECONDS);
}

double date_whole(double number)
{
    if (!(number >= 10101 && number <= 99991231) || number != floor(number))
        return (double)NAN;
    int v = (int)number, y = v / 10000, m = v / 100 % 100, d = v % 100;
    return date_is_day(y, m, d) ? date_seconds(y, m, d) : (double)NAN;
}

static int full_year(int y, int digits)
{
    return digits > 2 ? y : y < 69 ? 2000 + y : 1900 + y;
}

/* "1 March 2024" and "01-Mar-24" after the day was taken, or "March 1, 2024" with day 0. */
static bool take_named(struct cursor *c, int day, struct date *out, int *y, int *m, int *d)
{
    int digits;

    *m = take_month(c);
    if (*m == 0)
        return false;
    *d = day;
    if (day == 0) {
        int n;
        (void)(take(c, '-') || skip_spaces(c));
        n = take_number(c, 4, d);
        if (n == 4) { /* "March 2024" */
            *y = *d;
            *d = 1;
            out->has_month_name = out->has_date = true;
            return true;
        }
        if (n == 0 || n > 2)
            return false;
    }
    (void)(take(c, '-') || take(c, '/') || take(c, ',') || take(c, '.'));
    skip_spaces(c);
    digits = take_number(c, 4, y);
    if (digits != 2 && digits != 4)
        return false;
    *y = full_year(*y, digits);
    out->is_short = digits == 2;
    out->has_month_name = out->has_date = true;
    return true;
}

/* The Monday of week 1 is that of the week with 4 January (ISO 8601). 1970-01-01 was a Thursday. */
static double week_seconds(int year, int week, int day)
{
    int64_t fourth = (int64_t)(date_seconds(year, 1, 4) / DAY_SECONDS);
    int64_t monday = fourth - ((fourth + 3) % 7 + 7) % 7;

    return (double)((monday + 7 * (week - 1) + day - 1) * DAY_SECONDS);
}

/* All of the text is a quarter, 2024Q1 or Q1 2024, or a week of ISO 8601, 2024-W09 or 2024-W09-5. */
static bool take_part_of_year(struct cursor c, struct date *out)
{
    int y = 0, part = 0, day = 1;
    bool is_first = take(&c, 'Q') || take(&c, 'q'), is_week = false;

    if (is_first && (take_number(&c, 1, &part) != 1 || c.s == c.end || is_digit(*c.s)))
        return false;
    if (is_first)
        (void)(take(&c, '-') || take(&c, '/') || skip_spaces(&c));
    if (take_number(&c, 4, &y) != 4 || y < 1)
        return false;
    if (!is_first) {
        (void)(take(&c, '-') || skip_spaces(&c));
        is_week = take(&c, 'W');
        if (!is_week && !take(&c, 'Q') && !take(&c, 'q'))
            return false;
        if (take_number(&c, is_week ? 2 : 1, &part) != 1 + is_week)
            return false;
        if (is_week && take(&c, '-') && take_number(&c, 1, &day) != 1)
            return false;
    }
    if (c.s != c.end || part < 1 || part > (is_week ? 53 : 4) || day < 1 || day > 7)
        return false;
    out->has_date = true;
    out->seconds = is_week ? week_seconds(y, part, day) : date_seconds(y, part * 3 - 2, 1);
    return true;
}

/* Eight digits and no more: year, month and day. */
static bool take_whole(struct cursor *c, struct date *out, int *y, int *m, int *d)
{
    size_t n = 0;

    while (c->s + n < c->end && is_digit(c->s[n]))
        n++;
    if (n != 8)
        return false;
    take_number(c, 4, y);
    take_number(c, 2, m);
    take_number(c, 2, d);
    out->has_date = out->is_whole = true;
    return true;
}

/* Three numbers with the same sign between them, or two where the first is a year. */
static bool take_numbers(struct cursor *c, enum date_order order, struct date *out, int *y, int *m,
                         int *d)
{
    int v[3] = { 0 }, digits[3] = { 0 }, n = 1;

    if (take_whole(c, out, y, m, d))
        return true;
    digits[0] = take_number(c, 4, &v[0]);
    if (digits[0] == 0 || digits[0] == 3 || c->s == c->end)
        return false;
    char sign = *c->s;
    if (sign == ' ' || is_letter(sign) ||
        (sign == '-' && c->s + 1 < c->end && is_letter(c->s[1]))) {
        if (digits[0] > 2 || v[0] == 0)
            return false;
        if (!take(c, '-'))
            skip_spaces(c);
        return take_named(c, v[0], out, y, m, d);
    }
    if (sign != '-' && sign != '/' && sign != '.')
        return false;
    while (n < 3 && take(c, sign)) {
        digits[n] = take_number(c, n == 2 ? 4 : 2, &v[n]);
        if (digits[n++] == 0)
            return false;
    }
    out->has_date = true;
    out->sign = sign;
    if (digits[0] == 4) {
        *y = v[0], *m = v[1], *d = n == 3 ? v[2] : 1;
        return (n == 3 && digits[2] <= 2) || (n == 2 && sign == '-' && digits[1] == 2);
    }
    if (n != 3 || (digits[2] != 2 && digits[2] != 4))
        return false;
    out->is_short = digits[2] == 2;
    out->needs_order = true;
    out->first = v[0], out->second = v[1];
    if (order == DATE_YMD) {
        *y = full_year(v[0], 2), *m = v[1], *d = v[2];
        return digits[0] == 2 && digits[2] == 2;
    }
    *y = full_year(v[2], digits[2]);
    *m = order == DATE_DMY ? v[1] : v[0];
    *d = order == DATE_DMY ? v[0] : v[1];
    return true;
}

static bool take_half(struct cursor *c, int *hour)
{
    const char *p = c->s;

    while (p < c->end && *p == ' ')
        p++;
    if (c->end - p < 2)
        return true;
    char half = (char)(*p | 0x20);
    if (half != 'a' && half != 'p')
        return true;
    p++;
    p += *p == '.';
    if (p == c->end || (*p | 0x20) != 'm')
        return true;
    p++;
    p += p < c->end && *p == '.';
    if (*hour < 1 || *hour > 12)
        return false;
    *hour = *hour % 12 + (half == 'p' ? 12 : 0);
    c->s = p;
    return true;
}

/* Z, UTC, GMT, +01:00, -0530 or +02, in seconds to be taken off. */
static bool take_zone(struct cursor *c, struct date *out, double *offset)
{
    int h = 0, m = 0;

    *offset = 0;
    skip_spaces(c);
    if (c->s == c->end)
        return true;
    out->has_zone = true;
    if (take(c, 'Z') || take(c, 'z'))
        return c->s == c->end;
    if (c->end - c->s >= 3 && (memcmp(c->s, "UTC", 3) == 0 || memcmp(c->s, "GMT", 3) == 0)) {
        c->s += 3;
        if (c->s == c->end)
            return true;
    }
    if (*c->s != '+' && *c->s != '-')
        return false;
    bool is_west = *c->s++ == '-';
    if (take_number(c, 2, &h) != 2)
        return false;
    take(c, ':');
    if (c->s < c->end && take_number(c, 2, &m) != 2)
        return false;
    *offset = (h * 60 + m) * 60;
    *offset = is_west ? -*offset : *offset;
    return c->s == c->end && h <= 14 && m < 60;
}

/* Between hour, minute and second; after a date without signs there may be none. */
static bool take_colon(struct cursor *c, const struct date *d)
{
    return take(c, ':') || (d->is_whole && c->s < c->end && is_digit(*c->s));
}

/* HH:MM[:SS[.fraction]] [AM|PM] [zone] to the end of the text. */
static bool take_time(struct cursor *c, struct date *out, double *seconds)
{
    int h = 0, m = 0, s = 0, digit = 0;
    double part = 0, scale = 1, offset = 0;

    if (take_number(c, 2, &h) == 0 || !take_colon(c, out) || take_number(c, 2, &m) != 2)
        return false;
    if (c->s < c->end && take_colon(c, out)) {
        if (take_number(c, 2, &s) != 2)
            return false;
        if (c->s + 1 < c->end && (*c->s == '.' || *c->s == ',') && is_digit(c->s[1])) {
            for (c->s++; take_number(c, 1, &digit) == 1;) {
                /* digits past these do not change a double */
                part = scale < 1e12 ? part * 10 + digit : part;
                scale = scale < 1e12 ? scale * 10 : scale;
            }
        }
    }
    if (!take_half(c, &h) || !take_zone(c, out, &offset) || m > 59 || s > 60 || h > 24 ||
        (h == 24 && (m > 0 || s > 0)))
        return false;
    out->has_time = true;
    *seconds += (h * 60 + m) * 60 + s + part / scale - offset;
    return true;
}

bool date_read(const char *s, size_t n, enum date_order order, struct date *out)
{
    int y = 1970, m = 1, d = 1;

    *out = (struct date){ 0 };
    words_trim(&s, &n);
    if (n < 4 || n > LONGEST)
        return false;
    struct cursor c = { s, s + n };
    /* Only a digit or the name of a weekday or month begins a date. */
    if (!is_digit(*s) && !is_letter(*s))
        return false;
    if (take_part_of_year(c, out))
        return true;
    if (is_letter(*s))
        skip_weekday(&c);
    if (c.s == c.end)
        return false;
    bool is_time = c.end - c.s >= 4 && (c.s[1] == ':' || c.s[2] == ':');
    if (is_time)
        return take_time(&c, out, &out->seconds);
    if (!(is_letter(*c.s) ? take_named(&c, 0, out, &y, &m, &d)
                          : take_numbers(&c, order, out, &y, &m, &d)) ||
        !date_is_day(y, m, d))
        return false;
    out->seconds = date_seconds(y, m, d);
    if (c.s == c.end)
        return true;
    if (*c.s != 'T' && *c.s != 't' && *c.s != ' ' && *c.s != ',' && *c.s != 'Z')
        return false;
    if (*c.s == 'Z') {
        out->has_zone = true;
        return c.s + 1 == c.end;
    }
    c.s++;
    skip_spaces(&c);
    return take_time(&c, out, &out->seconds);
}
