/* figures.c - see figures.h. */
#include "ml/text/figures.h"

#include "base/base.h"
#include "base/utf8.h"
#include "ml/cells/date.h"

#include <string.h>

enum { DATE_BYTES = 10, DAY_SECONDS = 86400, MOST_EXPONENT = 30 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes beyond ASCII are letters, too. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static size_t digits_at(const char *s)
{
    size_t n = 0;

    while (is_digit(s[n]))
        n++;
    return n;
}

static double whole_at(const char *s, size_t n)
{
    double v = 0;

    for (size_t i = 0; i < n; i++)
        v = v * 10 + (s[i] - '0');
    return v;
}

/* 2024-03-01: its bytes and its days since 1970; 0 = it is none. */
static size_t day_at(const char *s, double *out)
{
    if (digits_at(s) != 4 || s[4] != '-' || digits_at(s + 5) != 2 || s[7] != '-' ||
        digits_at(s + 8) != 2)
        return 0;
    int year = (int)whole_at(s, 4), month = (int)whole_at(s + 5, 2), day = (int)whole_at(s + 8, 2);
    if (month < 1 || month > 12 || !date_is_day(year, month, day))
        return 0;
    *out = date_seconds(year, month, day) / DAY_SECONDS;
    return DATE_BYTES;
}

/* ",234" behind one to three digits, once or more: how many bytes. */
static size_t thousands_at(const char *s, size_t before)
{
    size_t n = 0;

    if (before > 3)
        return 0;
    while (s[n] == ',' && digits_at(s + n + 1) == 3)
        n += 4;
    return n;
}

/* "e-7" and "e+7", and "e7" behind decimals: its bytes and the power; 0 = there is none. */
static size_t exponent_at(const char *s, bool has_decimals, int *power)
{
    bool has_sign = (s[0] == 'e' || s[0] == 'E') && (s[1] == '-' || s[1] == '+');
    size_t n = 1 + has_sign, digits;

    if ((s[0] != 'e' && s[0] != 'E') || (!has_sign && !has_decimals))
        return 0;
    digits = digits_at(s + n);
    if (digits < 1 || digits > 2 || is_letter(s[n + digits]))
        return 0;
    *power = (int)whole_at(s + n, digits) * (has_sign && s[1] == '-' ? -1 : 1);
    return *power >= -MOST_EXPONENT && *power <= MOST_EXPONENT ? n + digits : 0;
}

static double scaled(double v, int power)
{
    double tens = 1;

    for (int i = 0; i < (power < 0 ? -power : power); i++)
        tens *= 10;
    return power < 0 ? v / tens : v * tens;
}

/* The number that begins here: its bytes. is_chained: a point and a digit stand before it. */
static size_t number_at(const char *s, bool is_chained, struct figures *out, double *value)
{
    size_t whole = digits_at(s), at = whole, decimals = 0;
    int power = 0;
    double v = whole_at(s, whole);

    for (size_t end = at + thousands_at(s + at, whole); at < end; at += 4)
        v = v * 1000 + whole_at(s + at + 1, 3);
    if (!is_chained && s[at] == '.')
        decimals = digits_at(s + at + 1);
    if (decimals > 0 && s[at + 1 + decimals] == '.' && is_digit(s[at + 2 + decimals]))
        decimals = 0; /* of a version or an address */
    if (decimals > 0) {
        for (size_t i = 0; i < decimals; i++)
            v = v * 10 + (s[at + 1 + i] - '0');
        at += 1 + decimals;
        out->is_quantity = true;
    }
    at += exponent_at(s + at, decimals > 0, &power);
    *value = scaled(v, power - (int)decimals);
    return at;
}

static bool begins_number(const char *text, size_t at)
{
    return is_digit(text[at]) ||
           (text[at] == '.' && is_digit(text[at + 1]) &&
            (at == 0 || (!is_digit(text[at - 1]) && !is_letter(text[at - 1]))));
}

static void word_put(struct figures *f, size_t *n, char c)
{
    if (*n < FIGURES_WORDS - 1)
        f->words[(*n)++] = c;
}

/* Takes the sign before a number out of the words. */
static bool sign_take(const char *text, size_t at, struct figures *f, size_t *n)
{
    if (at == 0 || text[at - 1] != '-' ||
        (at > 1 && (is_digit(text[at - 2]) || is_letter(text[at - 2]) || text[at - 2] == ')')))
        return false;
    *n -= *n > 0 && f->words[*n - 1] == '-';
    return true;
}

void figures_read(const char *text, struct figures *out)
{
    size_t size = strnlen(text, FIGURES_BYTES + 1), n = 0;

    *out = (struct figures){ .n = 0 };
    for (size_t at = 0; at < size && size <= FIGURES_BYTES;) {
        double value = 0;
        if (!begins_number(text, at)) {
            if (text[at] != ' ' && text[at] != '\t')
                word_put(out, &n, text[at]);
            at++;
            continue;
        }
        if (out->n == FIGURES_MOST) {
            *out = (struct figures){ .n = 0 };
            return;
        }
        bool is_minus = sign_take(text, at, out, &n),
             is_chained = at > 1 && text[at - 1] == '.' && is_digit(text[at - 2]);
        size_t day = day_at(text + at, &value);
        at += day ? day : number_at(text + at, is_chained, out, &value);
        out->is_quantity = out->is_quantity || day > 0;
        out->value[out->n++] = is_minus ? -value : value;
        word_put(out, &n, '#');
    }
    if (n == FIGURES_WORDS - 1)
        utf8_clean(out->words, FIGURES_WORDS);
}
