/* form.c - see form.h. The digits are copied without their decoration and read by csv_number, so
 * that values are exact. */
#include "ml/cells/form.h"

#include "base/base.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/cursor.h"
#include "ml/cells/words.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 96, DIGITS = 128, UNIT_BYTES = 16 };

/* How far "<5" is from 5, as a share of it: more than what a float can tell apart. */
#define BESIDE 1e-6

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (unsigned char)c >= 0x80;
}

/* A minus or plus sign, also the typographic ones. */
static bool take_sign(struct cursor *c, bool *is_negative)
{
    if (c->n > 0 && (*c->s == '-' || *c->s == '+')) {
        *is_negative = *c->s == '-';
        cursor_skip(c, 1);
        return true;
    }
    if (c->n >= 3 &&
        (memcmp(c->s, "\xe2\x88\x92", 3) == 0 || memcmp(c->s, "\xe2\x80\x93", 3) == 0)) {
        *is_negative = true;
        cursor_skip(c, 3);
        return true;
    }
    return false;
}

/* "<", ">", "<=", ">=" and their typographic forms. *side: -1 or 1 where the number itself is
 * excluded, else 0. */
static void take_bound(struct cursor *c, struct form *out, int *side)
{
    if (c->n >= 3 &&
        (memcmp(c->s, "\xe2\x89\xa4", 3) == 0 || memcmp(c->s, "\xe2\x89\xa5", 3) == 0)) {
        cursor_skip(c, 3);
    } else if (c->n > 0 && (*c->s == '<' || *c->s == '>')) {
        *side = *c->s == '<' ? -1 : 1;
        cursor_skip(c, 1);
        if (c->n > 0 && *c->s == '=') {
            *side = 0;
            cursor_skip(c, 1);
        }
    } else {
        return;
    }
    out->is_bound = true;
    cursor_skip_spaces(c);
}

static bool take_currency(struct cursor *c, struct form *out)
{
    static const char *const signs[] = {
        "US$",
        "R$",
        "A$",
        "C$",
        "HK$",
        "NZ$",
        "$",
        "\xe2\x82\xac",
        "\xc2\xa3",
        "\xc2\xa5",
        "\xe2\x82\xb9",
        "\xe2\x82\xbd",
        "\xe2\x82\xa9",
        "\xe2\x82\xba",
        "\xe2\x82\xaa",
        "\xe2\x82\xab",
        "\xe0\xb8\xbf",
        "\xc2\xa2",
        "USD",
        "EUR",
        "GBP",
        "CHF",
        "JPY",
        "CNY",
        "INR",
        "AUD",
        "CAD",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "HUF",
        "BRL",
        "MXN",
        "RUB",
        "TRY",
        "ZAR",
        "KRW",
        "Rs.",
        "Rs",
        "kr.",
        "kr",
        "z\xc5\x82",
        "K\xc4\x8d",
    };
    static const char first[] = "URACHN$EGJISDPBMTZKkz\xe2\xc2\xe0";

    /* most texts begin with none of the first bytes, and are not compared with each sign */
    if (c->n == 0 || !memchr(first, *c->s, sizeof(first) - 1))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        size_t k = *c->s == *signs[i] ? strlen(signs[i]) : 0;
        if (k == 0 || c->n < k || memcmp(c->s, signs[i], k) != 0)
            continue;
        /* "krone" is no "kr" */
        if (is_letter(signs[i][k - 1]) && (unsigned char)signs[i][k - 1] < 0x80 && c->n > k &&
            is_letter(c->s[k]))
            continue;
        out->currency = c->s;
        out->currency_n = k;
        cursor_skip(c, k);
        return true;
    }
    return false;
}

/* The bytes of a sign between groups of digits at the cursor, 0 = none; *kind: as in form.h. */
static size_t group_sign(const struct cursor *c, char decimal, char *kind)
{
    size_t k;

    if (c->n == 0)
        return 0;
    if ((*c->s == ',' || *c->s == '.') && *c->s != decimal) {
        *kind = *c->s;
        return 1;
    }
    if (*c->s == '\'' || *c->s == '_') {
        *kind = *c->s;
        return 1;
    }
    if (c->n >= 3 && memcmp(c->s, "\xe2\x80\x99", 3) == 0) {
        *kind = '\'';
        return 3;
    }
    k = words_space(c->s, c->n);
    if (k > 0 && *c->s != '\n' && *c->s != '\r')
        *kind = ' ';
    return *c->s == '\n' || *c->s == '\r' ? 0 : k;
}

static size_t digits_at(const struct cursor *c, size_t from)
{
    size_t k = from;

    while (k < c->n && cursor_is_digit(c->s[k]))
        k++;
    return k - from;
}

/* Digits before the decimal sign, in groups or not. False: the groups are not groups of three (or,
 * with commas, of two and three at the end, as in India). */
static bool take_whole(struct cursor *c, char decimal, char *to, size_t *len, struct form *out)
{
    size_t k = digits_at(c, 0), first = k;
    bool has_twos = false, has_zero = k > 0 && *c->s == '0';

    memcpy(to + *len, c->s, k);
    *len += k;
    cursor_skip(c, k);
    for (;;) {
        char kind = 0;
        size_t sign = group_sign(c, decimal, &kind), part = sign ? digits_at(c, sign) : 0;
        if (sign == 0 || part == 0)
            break;
        if (first == 0 || first > 3 || has_zero || (out->group && out->group != kind))
            return false;
        if (part != 3 && !(part == 2 && kind == ','))
            return false;
        has_twos = has_twos || part == 2;
        cursor_skip(c, sign);
        memcpy(to + *len, c->s, part);
        *len += part;
        cursor_skip(c, part);
        out->group = kind;
        if (part == 2 && (c->n == 0 || *c->s != ','))
            return false;
        first = part;
    }
    return !has_twos || first == 3;
}

/* The fraction and the exponent. */
static void take_rest(struct cursor *c, char decimal, char *to, size_t *len)
{
    size_t k;

    if (c->n > 0 && *c->s == decimal) {
        k = digits_at(c, 1);
        to[(*len)++] = '.';
        memcpy(to + *len, c->s + 1, k);
        *len += k;
        cursor_skip(c, k + 1);
    }
    if (c->n < 2 || (*c->s | 0x20) != 'e')
        return;
    size_t sign = c->s[1] == '-' || c->s[1] == '+';
    k = digits_at(c, 1 + sign);
    if (k == 0 || k > 4)
        return;
    memcpy(to + *len, c->s, 1 + sign + k);
    *len += 1 + sign + k;
    cursor_skip(c, 1 + sign + k);
}

static double magnitude_of(const struct form *f)
{
    static const struct {
        const char *word;
        double factor;
    } words[] = { { "k", 1e3 },       { "K", 1e3 },       { "M", 1e6 },   { "MM", 1e6 },
                  { "B", 1e9 },       { "bn", 1e9 },      { "Bn", 1e9 },  { "mn", 1e6 },
                  { "million", 1e6 }, { "billion", 1e9 }, { "Mio", 1e6 }, { "Mio.", 1e6 },
                  { "Mrd", 1e9 },     { "Mrd.", 1e9 } };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (f->unit_n == strlen(words[i].word) && memcmp(f->unit, words[i].word, f->unit_n) == 0)
            return words[i].factor;
    }
    return f->currency && f->unit_n == 1 && *f->unit == 'm' ? 1e6 : 1;
}

/* A unit such as kg, km/h, m2 or "sq ft": begins with a letter and has at most one space. */
static bool take_unit(struct cursor *c, struct form *out)
{
    size_t k = 0, spaces = 0;

    if (c->n == 0 || !is_letter(*c->s))
        return false;
    for (; k < c->n && k < UNIT_BYTES; k++) {
        char ch = c->s[k];
        bool is_space = ch == ' ' && k + 1 < c->n && is_letter(c->s[k + 1]);
        if (is_space && spaces++ > 0)
            return false;
        if (!is_space && !is_letter(ch) && ch != '/' && ch != '.' &&
            !(k > 0 && cursor_is_digit(ch)))
            break;
    }
    if (k == 0 || k == UNIT_BYTES)
        return false;
    out->unit = c->s;
    out->unit_n = k;
    cursor_skip(c, k);
    return true;
}

/* What may follow the digits, in any order, each once. */
static bool take_tail(struct cursor *c, struct form *out, bool *is_negative)
{
    for (;;) {
        cursor_skip_spaces(c);
        if (c->n == 0)
            return true;
        if (*c->s == '%' && !out->has_percent) {
            out->has_percent = true;
            cursor_skip(c, 1);
        } else if (*c->s == '-' && c->n == 1 && !*is_negative) {
            *is_negative = out->has_odd_minus = true;
            cursor_skip(c, 1);
        } else if (*c->s == '+' && !out->is_bound && !out->unit) {
            out->is_bound = true;
            cursor_skip(c, 1);
        } else if (!(!out->currency && take_currency(c, out)) &&
                   !(!out->unit && take_unit(c, out))) {
            return false;
        }
    }
}

bool form_read(const char *s, size_t n, char decimal, struct form *out)
{
    char text[DIGITS + 16] = "";
    bool is_negative = false, has_paren = false, has_sign;
    struct csv_value v;
    size_t len = 0;
    int side = 0;

    *out = (struct form){ .magnitude = 1 };
    words_trim(&s, &n);
    if (n == 0 || n > LONGEST)
        return false;
    if (n > 2 && s[0] == '(' && s[n - 1] == ')') {
        s++, n -= 2;
        has_paren = true;
        words_trim(&s, &n);
    }
    struct cursor c = { s, n };
    take_bound(&c, out, &side);
    has_sign = take_sign(&c, &is_negative);
    if (take_currency(&c, out))
        cursor_skip_spaces(&c);
    has_sign = has_sign || take_sign(&c, &is_negative);
    if (has_sign)
        cursor_skip_spaces(&c);
    bool has_zero = c.n > 1 && *c.s == '0' && cursor_is_digit(c.s[1]);
    if (!take_whole(&c, decimal, text, &len, out))
        return false;
    size_t whole = len;
    take_rest(&c, decimal, text, &len);
    if (len == 0 || (len == 1 && *text == '.') || !take_tail(&c, out, &is_negative) ||
        (has_paren && (has_sign || is_negative)))
        return false;
    csv_number(text, len, &v);
    if (v.kind != CSV_INT && v.kind != CSV_DOUBLE)
        return false;
    out->is_code = has_zero && whole == len && !has_sign;
    out->has_odd_minus = out->has_odd_minus || has_paren;
    out->value = is_negative || has_paren ? -v.d : v.d;
    out->value += side * BESIDE * (out->value == 0 ? 1 : fabs(out->value));
    out->magnitude = magnitude_of(out);
    out->is_plain = !out->group && !out->has_percent && !out->has_odd_minus && !out->currency &&
                    !out->unit && !out->is_bound && decimal == '.';
    return true;
}
