/* measure.c - see measure.h. A text is a row of numbers, each with a unit that is smaller than the
 * one before. */
#include "ml/cells/measure.h"

#include "base/base.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/cursor.h"
#include "ml/cells/form.h"
#include "ml/cells/words.h"

#include <string.h>

enum { LONGEST = 48, PADDING = 16, WORD = 16, MINUTE = 60, HOUR = 3600, DAY = 86400 };

#define YEAR  (365.2425 * DAY)
#define MONTH (YEAR / 12)

/* In lower case; a text may also have an "s" more, so that "inche" stands for "inches". */
struct unit {
    const char *name;
    double factor;
};

static const struct unit time_units[] = {
    { "s", 1 },
    { "sec", 1 },
    { "second", 1 },
    { "m", MINUTE },
    { "min", MINUTE },
    { "minute", MINUTE },
    { "h", HOUR },
    { "hr", HOUR },
    { "hour", HOUR },
    { "d", DAY },
    { "day", DAY },
    { "w", 7.0 * DAY },
    { "wk", 7 * DAY },
    { "week", 7 * DAY },
    { "mo", MONTH },
    { "mth", MONTH },
    { "month", MONTH },
    { "y", YEAR },
    { "yr", YEAR },
    { "year", YEAR },
    { "ms", 1e-3 },
    { "msec", 1e-3 },
    { "millisecond", 1e-3 },
    { "us", 1e-6 },
    { "\xc2\xb5s", 1e-6 },
    { "\xce\xbcs", 1e-6 },
    { "ns", 1e-9 },
    { NULL, 0 },
};
static const struct unit length_units[] = {
    { "mm", 1e-3 },       { "cm", 1e-2 },    { "dm", .1 },
    { "m", 1 },           { "metre", 1 },    { "meter", 1 },
    { "km", 1e3 },        { "um", 1e-6 },    { "\xc2\xb5m", 1e-6 },
    { "nm", 1e-9 },       { "in", .0254 },   { "inch", .0254 },
    { "inche", .0254 },   { "\"", .0254 },   { "\xe2\x80\xb3", .0254 },
    { "''", .0254 },      { "ft", .3048 },   { "foot", .3048 },
    { "feet", .3048 },    { "'", .3048 },    { "\xe2\x80\xb2", .3048 },
    { "yd", .9144 },      { "yard", .9144 }, { "mi", 1609.344 },
    { "mile", 1609.344 }, { NULL, 0 },
};
static const struct unit mass_units[] = {
    { "ug", 1e-9 },
    { "mcg", 1e-9 },
    { "\xc2\xb5g", 1e-9 },
    { "mg", 1e-6 },
    { "g", 1e-3 },
    { "gr", 1e-3 },
    { "gram", 1e-3 },
    { "kg", 1 },
    { "kilo", 1 },
    { "kilogram", 1 },
    { "t", 1e3 },
    { "ton", 1e3 },
    { "tonne", 1e3 },
    { "oz", .028349523125 },
    { "ounce", .028349523125 },
    { "lb", .45359237 },
    { "pound", .45359237 },
    { NULL, 0 },
};
static const struct unit volume_units[] = {
    { "ml", 1e-3 }, { "cl", 1e-2 }, { "dl", .1 },  { "l", 1 },
    { "litre", 1 }, { "liter", 1 }, { "hl", 100 }, { NULL, 0 },
};
static const struct unit data_units[] = {
    { "b", 1 },
    { "byte", 1 },
    { "k", 1e3 },
    { "kb", 1e3 },
    { "m", 1e6 },
    { "mb", 1e6 },
    { "g", 1e9 },
    { "gb", 1e9 },
    { "t", 1e12 },
    { "tb", 1e12 },
    { "pb", 1e15 },
    { "kib", 1024 },
    { "mib", 1048576.0 },
    { "gib", 1073741824.0 },
    { "tib", 1099511627776.0 },
    { NULL, 0 },
};
static const struct unit data_rate_units[] = {
    { "bps", 1 },      { "kbps", 1e3 },   { "mbps", 1e6 },   { "gbps", 1e9 }, { "bit/s", 1 },
    { "kbit/s", 1e3 }, { "mbit/s", 1e6 }, { "gbit/s", 1e9 }, { NULL, 0 },
};
static const struct unit frequency_units[] = {
    { "hz", 1 }, { "khz", 1e3 }, { "mhz", 1e6 }, { "ghz", 1e9 }, { NULL, 0 },
};

static const struct {
    const struct unit *units;
    const char *base;
} kinds[MEASURE_KINDS] = {
    [MEASURE_TIME] = { time_units, "s" },
    [MEASURE_LENGTH] = { length_units, "m" },
    [MEASURE_MASS] = { mass_units, "kg" },
    [MEASURE_VOLUME] = { volume_units, "l" },
    [MEASURE_DATA] = { data_units, "B" },
    [MEASURE_DATA_RATE] = { data_rate_units, "bit/s" },
    [MEASURE_FREQUENCY] = { frequency_units, "Hz" },
};

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The factor of a unit's name; 0 = there is no such unit of this kind. */
static double factor_of(enum measure kind, const char *s, size_t n)
{
    char name[WORD + 1] = "";

    if (n == 0 || n > WORD)
        return 0;
    for (size_t i = 0; i < n; i++)
        name[i] = lower(s[i]);
    for (int plural = 0; plural < 2; plural++) {
        for (const struct unit *u = kinds[kind].units; u->name; u++) {
            if (strcmp(u->name, name) == 0)
                return u->factor;
        }
        if (n < 3 || name[n - 1] != 's')
            return 0;
        name[n - 1] = '\0';
    }
    return 0;
}

/* Digits with at most one decimal sign at the cursor. */
static bool take_number(struct cursor *c, char decimal, double *out)
{
    char text[LONGEST + PADDING] = "";
    bool has_sign = false;
    struct csv_value v;
    size_t k = 0;

    for (; k < c->n && (cursor_is_digit(c->s[k]) || (c->s[k] == decimal && !has_sign)); k++) {
        has_sign = has_sign || c->s[k] == decimal;
        text[k] = c->s[k];
        if (text[k] == decimal)
            text[k] = '.';
    }
    if (k == 0 || !cursor_is_digit(*c->s))
        return false;
    csv_number(text, k, &v);
    *out = v.d;
    cursor_skip(c, k);
    return v.kind == CSV_INT || v.kind == CSV_DOUBLE;
}

/* The letters or signs up to the next digit or space. */
static double take_unit(struct cursor *c, enum measure kind)
{
    size_t k = 0;

    while (k < c->n && !cursor_is_digit(c->s[k]) && words_space(c->s + k, c->n - k) == 0 &&
           c->s[k] != ',' && c->s[k] != '.')
        k++;
    double factor = factor_of(kind, c->s, k);
    cursor_skip(c, k);
    if (c->n > 0 && *c->s == '.') /* "5 min." */
        cursor_skip(c, 1);
    return factor;
}

/* H:MM:SS with any number of hours, to the end of the text. */
static bool take_clock(struct cursor c, double *seconds)
{
    double part[3];

    for (int i = 0; i < 3; i++) {
        if (i > 0 && (c.n < 3 || *c.s != ':' || !cursor_is_digit(c.s[2])))
            return false;
        cursor_skip(&c, i > 0);
        if (!take_number(&c, '.', &part[i]) || (i > 0 && part[i] >= 60))
            return false;
    }
    *seconds = (part[0] * 60 + part[1]) * 60 + part[2];
    return c.n == 0;
}

/* ISO 8601: P1Y2M3DT4H5M6S, P2W. */
static bool read_iso(struct cursor c, struct measured *out)
{
    static const struct unit before[] = { { "Y", YEAR },
                                          { "M", MONTH },
                                          { "W", 7 * DAY },
                                          { "D", DAY } },
                             after[] = { { "H", HOUR }, { "M", MINUTE }, { "S", 1 } };
    bool is_after = false, has_any = false;
    double v;

    for (cursor_skip(&c, 1); c.n > 0; has_any = true) {
        const struct unit *units = before;
        size_t n = ARRAY_LEN(before), i = 0;
        if (*c.s == 'T' && !is_after) {
            is_after = true;
            cursor_skip(&c, 1);
        }
        if (is_after)
            units = after, n = ARRAY_LEN(after);
        if (!take_number(&c, '.', &v) || c.n == 0)
            return false;
        while (i < n && *units[i].name != *c.s)
            i++;
        if (i == n)
            return false;
        out->value += v * units[i].factor;
        out->unit = MAX(out->unit, units[i].factor);
        out->is_compound = true;
        cursor_skip(&c, 1);
    }
    return has_any;
}

static void skip_between(struct cursor *c)
{
    cursor_skip_spaces(c);
    if (c->n > 0 && *c->s == ',')
        cursor_skip(c, 1);
    cursor_skip_spaces(c);
    if (c->n > 4 && memcmp(c->s, "and ", 4) == 0)
        cursor_skip(c, 4);
    cursor_skip_spaces(c);
}

static bool read_parts(struct cursor c, char decimal, enum measure kind, struct measured *out)
{
    double least = 0, v, clock;

    for (int parts = 0; c.n > 0; parts++) {
        if (kind == MEASURE_TIME && (least == 0 || least > HOUR) && take_clock(c, &clock)) {
            out->value += clock;
            out->unit = MAX(out->unit, HOUR);
            out->is_compound = true;
            return true;
        }
        if (!take_number(&c, decimal, &v))
            return false;
        cursor_skip_spaces(&c);
        if (c.n == 0)
            return parts == 0 && v == 0;
        double factor = take_unit(&c, kind);
        if (factor == 0 || (least > 0 && factor >= least))
            return false;
        out->value += v * factor;
        out->unit = MAX(out->unit, factor);
        out->is_compound = parts > 0;
        least = factor;
        skip_between(&c);
    }
    return true;
}

bool measure_read(const char *s, size_t n, char decimal, enum measure kind, struct measured *out)
{
    bool is_negative = false;
    struct form f;

    *out = (struct measured){ 0 };
    words_trim(&s, &n);
    if (n == 0 || n > LONGEST)
        return false;
    /* one part: with groups of thousands, and so on */
    if (form_read(s, n, decimal, &f) && f.unit && !f.currency && !f.has_percent) {
        out->unit = factor_of(kind, f.unit, f.unit_n);
        out->value = f.value * out->unit;
        if (out->unit > 0)
            return true;
    }
    if (*s == '-' || *s == '+') {
        is_negative = *s == '-';
        s++, n--;
    }
    *out = (struct measured){ 0 };
    struct cursor c = { s, n };
    if (!(kind == MEASURE_TIME && n > 1 && *s == 'P' ? read_iso(c, out)
                                                     : n > 0 && read_parts(c, decimal, kind, out)))
        return false;
    out->value = is_negative ? -out->value : out->value;
    return true;
}

const char *measure_unit(enum measure kind)
{
    return kinds[kind].base;
}
