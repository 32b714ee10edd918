/* judge_numbers.c - is a column of texts a column of numbers, and which sign is the decimal one?
 *
 * Every text is read with the decimal point and with the decimal comma; the sign under which more
 * rows are numbers wins, and the point where both are equal ("1,234" alone are thousands) unless
 * the file has decimal commas elsewhere. One unit and one currency belong to a column: rows with
 * another are no numbers. Called by judge.c. */
#include "base/mem.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/form.h"
#include "ml/cells/judge_private.h"
#include "ml/cells/words.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With bounds such as "<5" among them, fewer different numbers without one are categories: "1", "2",
 * "3", "4+". Where most rows are bounds, there must be as many as MANY_FREE. */
enum { LONGEST = 96, PADDING = 16, MIN_WITH_UNIT = 8, MIN_FREE = 8, MANY_FREE = 16 };

/* The word that more than half of the rows have, if there is one. */
struct vote {
    const char *s;
    size_t n;
    int64_t lead;
};

static bool same(const char *a, size_t n, const char *b, size_t m)
{
    return n == m && (n == 0 || memcmp(a, b, n) == 0);
}

/* The same unit, "year" or "years". */
static bool same_unit(const char *a, size_t n, const char *b, size_t m)
{
    n -= n >= 3 && a[n - 1] == 's';
    m -= m >= 3 && b[m - 1] == 's';
    return same(a, n, b, m);
}

static void vote(struct vote *v, const char *s, size_t n, int64_t count)
{
    if (!s)
        return;
    if (same_unit(v->s, v->n, s, n)) {
        v->lead += count;
        return;
    }
    v->lead -= count;
    if (v->lead < 0) {
        *v = (struct vote){ s, n, -v->lead };
    }
}

struct look {
    char decimal;
    struct judge_tally tally;
    struct vote unit, currency;
    /* rows with a unit, a unit of one letter that touches the number, and so on */
    int64_t units, letters, currencies, percents, plains, odd_minus, codes;
    /* rows with bounds such as "<5", and different texts without */
    int64_t bounds, free;
    bool has_group, has_magnitudes;
    char group;
    double most_plain, most_percent;
};

static bool read_one(const char *s, size_t n, char decimal, struct form *f)
{
    char text[LONGEST + PADDING] = "";
    struct csv_value v;

    if (form_read(s, n, decimal, f))
        return true;
    /* words for the infinite */
    if (n > LONGEST || n < 3 || !memchr("+-iI", *s, 4))
        return false;
    memcpy(text, s, n);
    csv_number(text, n, &v);
    *f = (struct form){ .value = v.d, .magnitude = 1, .is_plain = true };
    return v.kind == CSV_DOUBLE;
}

static bool is_letter_unit(const struct form *f, const char *s)
{
    return f->unit && f->unit_n == 1 && (unsigned char)*f->unit < 0x80 && f->unit > s &&
           f->unit[-1] != ' ';
}

/* First pass: rows that are numbers, and what they have around them. Ends early once too many are
 * none. */
static void look_first(const struct frame_levels *l, int64_t all, struct look *k)
{
    struct form f;

    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        int64_t count = l->count[i];
        if (!read_one(s, n, k->decimal, &f)) {
            judge_tally_word(&k->tally, s, count);
            if (k->tally.other.rows * 4 > all)
                return;
            continue;
        }
        k->tally.rows += count;
        vote(&k->unit, f.unit, f.unit_n, count);
        vote(&k->currency, f.currency, f.currency_n, count);
        k->units += f.unit ? count : 0;
        k->letters += is_letter_unit(&f, s) ? count : 0;
        k->codes += f.is_code ? count : 0;
    }
}

/* Whether the column counts in thousands and millions: units are magnitudes, and not all the
 * same. */
static bool has_magnitudes(const struct frame_levels *l, const struct look *k)
{
    bool has_other = k->units < k->tally.rows;
    struct form f;

    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        if (!read_one(s, n, k->decimal, &f) || !f.unit)
            continue;
        if (f.magnitude <= 1)
            return false;
        has_other = has_other || !same_unit(f.unit, f.unit_n, k->unit.s, k->unit.n);
    }
    return has_other && k->units > 0;
}

/* Second pass: with the column's unit and currency known, the value of each text. */
static void look_again(const struct frame_levels *l, struct look *k, double *values)
{
    /* "85123A" among numbers is a code, while "12V" everywhere is a unit */
    bool no_letters = !k->has_magnitudes && k->letters * 5 < k->tally.rows * 4;
    struct form f;

    k->tally = (struct judge_tally){ .has_list = k->tally.has_list };
    k->units = k->codes = k->bounds = k->free = 0;
    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        int64_t count = l->count[i];
        bool is_number = read_one(s, n, k->decimal, &f);
        if (is_number && f.unit && !k->has_magnitudes)
            is_number = same_unit(f.unit, f.unit_n, k->unit.s, k->unit.n) &&
                        !(no_letters && is_letter_unit(&f, s));
        if (is_number && f.currency)
            is_number = same(f.currency, f.currency_n, k->currency.s, k->currency.n);
        values[i] = (double)NAN;
        if (!is_number) {
            judge_tally_word(&k->tally, s, count);
            continue;
        }
        values[i] = f.value * (k->has_magnitudes ? f.magnitude : 1);
        k->tally.rows += count;
        k->tally.distinct++;
        k->units += f.unit ? count : 0;
        k->currencies += f.currency ? count : 0;
        k->percents += f.has_percent ? count : 0;
        k->odd_minus += f.has_odd_minus ? count : 0;
        k->plains += f.is_plain ? count : 0;
        k->bounds += f.is_bound ? count : 0;
        k->free += !f.is_bound;
        k->codes += f.is_code ? count : 0;
        k->has_group = k->has_group || f.group;
        k->group = f.group ? f.group : k->group;
        double *most = f.has_percent ? &k->most_percent : &k->most_plain;
        *most = isinf(f.value) ? *most : fmax(*most, fabs(f.value));
    }
}

/* "12%" beside "0.12": per cent are hundredths there. */
static void scale_percents(const struct frame_levels *l, const struct look *k, double *values)
{
    struct form f;

    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        if (!isnan(values[i]) && read_one(s, n, k->decimal, &f) && f.has_percent)
            values[i] /= 100;
    }
}

static int note_word(struct buf *b, const char *key, const char *s, size_t n)
{
    char word[LONGEST + 1] = "";

    memcpy(word, s, n);
    int rc = buf_addf(b, NULL, ",\"%s\":", key);
    return rc == 0 ? json_text_str(b, word, NULL) : rc;
}

static int note_make(const struct look *k, bool is_scaled, struct judged *out, struct err *err)
{
    char group[2] = { k->group, '\0' };
    struct buf b;

    buf_init(&b, FRAME_MAX_NOTE);
    int rc = buf_adds(&b, "{\"read\":\"number\"", NULL);
    if (rc == 0 && k->decimal == ',')
        rc = buf_adds(&b, ",\"decimal\":\",\"", NULL);
    if (rc == 0 && k->has_group)
        rc = note_word(&b, "thousands", group, 1);
    if (rc == 0 && k->currencies > 0)
        rc = note_word(&b, "currency", k->currency.s, k->currency.n);
    if (rc == 0 && k->percents > 0)
        rc = buf_adds(&b, is_scaled ? ",\"percent\":\"hundredths\"" : ",\"percent\":\"as written\"",
                      NULL);
    if (rc == 0 && k->has_magnitudes)
        rc = buf_adds(&b, ",\"magnitudes\":true", NULL);
    else if (rc == 0 && k->units > 0)
        rc = note_word(&b, "unit", k->unit.s, k->unit.n);
    if (rc == 0 && k->bounds > 0)
        rc = buf_addf(&b, NULL, ",\"bounds\":%lld", (long long)k->bounds);
    if (rc == 0 && k->odd_minus > 0)
        rc = buf_addf(&b, NULL, ",\"odd_negatives\":%lld", (long long)k->odd_minus);
    rc = rc == 0 ? judge_note_words(&b, &k->tally, "not_numbers") : rc;
    rc = rc == 0 ? buf_adds(&b, "}", NULL) : rc;
    return judge_note_set(out, &b, rc, err);
}

static bool look_wins(const struct look *k)
{
    const struct judge_tally *t = &k->tally;
    /* few texts with a unit, such as "1B" and "2B", are categories */
    bool few = t->distinct < MIN_WITH_UNIT && !(t->distinct >= 3 && t->distinct == t->rows);
    bool is_bounded =
        k->bounds > 0 && (k->free < MIN_FREE || (k->bounds * 2 > t->rows && k->free < MANY_FREE));

    return judge_tally_wins(t) && k->codes == 0 && !is_bounded &&
           !(k->units > 0 && !k->has_magnitudes && few);
}

static int fail_none(const struct look *k, struct err *err)
{
    const struct judge_top *t = k->tally.other.n > 0 ? &k->tally.other : &k->tally.missing;

    return err_set(err, ERR_ARG, "is to hold numbers, and no cell of it is one: \"%.60s\"",
                   t->n > 0 ? t->word[0].text : "");
}

int judge_numbers(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                  struct err *err)
{
    struct look point = { .decimal = '.', .tally.has_list = o->has_list },
                comma = { .decimal = ',', .tally.has_list = o->has_list }, *k = &point;
    bool must = o->want == JUDGE_NUMBERS;
    int64_t all = 0;

    for (int64_t i = 0; i < l->n; i++)
        all += l->count[i];
    look_first(l, all, &point);
    look_first(l, all, &comma);
    if (comma.tally.rows > point.tally.rows ||
        (o->has_comma && comma.tally.rows == point.tally.rows))
        k = &comma;
    if (!must && (k->tally.rows * 2 < all - k->tally.missing.rows || k->codes > 0))
        return 0;
    k->has_magnitudes = has_magnitudes(l, k);
    double *values = mem_try_alloc((size_t)l->n * sizeof(*values));
    if (!values)
        return err_set(err, ERR_NOMEM, "no memory for %lld different texts", (long long)l->n);
    look_again(l, k, values);
    bool is_scaled = k->percents > 0 && k->plains > 0 && k->most_plain <= 1 && k->most_percent > 1;
    if (is_scaled)
        scale_percents(l, k, values);
    if (must ? k->tally.rows == 0 : !look_wins(k)) {
        mem_try_free(values);
        return must ? fail_none(k, err) : 0;
    }
    if (note_make(k, is_scaled, out, err) < 0) {
        mem_try_free(values);
        return -1;
    }
    out->type = FRAME_NUMERIC;
    out->values = values;
    out->not_numbers = k->tally.other.rows;
    return 1;
}

bool judge_number_as(const char *note, const char *s, size_t n, double *out)
{
    struct form f;

    if (strstr(note, "\"measure\":"))
        return judge_measure_as(note, s, n, out);
    if (!read_one(s, n, strstr(note, "\"decimal\":\",\"") ? ',' : '.', &f))
        return false;
    *out = f.value;
    if (strstr(note, "\"magnitudes\":true"))
        *out *= f.magnitude;
    if (f.has_percent && strstr(note, "\"percent\":\"hundredths\""))
        *out /= 100;
    return true;
}
