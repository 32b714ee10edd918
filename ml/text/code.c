/* code.c - see code.h. Bytes of letters beyond ASCII count as letters, so that no letter is cut. */
#include "ml/text/code.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

/* FORMS: different forms that are counted. LEAST_PART: codes of one run are cut where they have so
 * many signs. LONG: a run of so many signs is looked at by its first signs, too. */
enum { FORMS = 16, LOOK = 2000, LONG = 3, MOST_SIGNS = 4 };

enum kind { NONE, LETTERS, DIGITS };

static enum kind kind_of(char c)
{
    unsigned char u = (unsigned char)c;

    if (u >= '0' && u <= '9')
        return DIGITS;
    return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80 ? LETTERS : NONE;
}

struct run {
    uint8_t kind, at, n;
};

/* The runs of a text: their number, or -1 = it is no code. */
static int runs_of(const char *text, struct run out[CODE_MOST_RUNS])
{
    size_t n = strnlen(text, CODE_MOST_BYTES + 1);
    int runs = 0;

    if (n > CODE_MOST_BYTES)
        return -1;
    for (size_t i = 0; i < n; i++) {
        enum kind k = kind_of(text[i]);
        if (k == NONE)
            continue;
        if (i > 0 && kind_of(text[i - 1]) == k) {
            out[runs - 1].n++;
            continue;
        }
        if (runs == CODE_MOST_RUNS)
            return -1;
        out[runs++] = (struct run){ (uint8_t)k, (uint8_t)i, 1 };
    }
    return runs > 0 ? runs : -1;
}

static bool is_of(const struct code_form *f, const struct run *runs, int n)
{
    bool same = n == f->n_runs;

    for (int i = 0; i < n && same; i++)
        same = (runs[i].kind == DIGITS) == f->is_digits[i];
    return same;
}

static struct code_form form_of(const struct run *runs, int n)
{
    struct code_form f = { .n_runs = (uint8_t)n };

    for (int i = 0; i < n; i++)
        f.is_digits[i] = runs[i].kind == DIGITS;
    return f;
}

/* Of one form: how many rows, and the fewest signs of each run. */
struct tally {
    struct code_form form;
    int64_t rows;
    uint8_t least[CODE_MOST_RUNS];
};

static void tally_add(struct tally *list, int *n, const struct run *runs, int n_runs, int64_t rows)
{
    int at = 0;

    while (at < *n && !is_of(&list[at].form, runs, n_runs))
        at++;
    if (at == FORMS)
        return;
    if (at == *n) {
        list[(*n)++] = (struct tally){ .form = form_of(runs, n_runs) };
        memset(list[at].least, UINT8_MAX, sizeof list[at].least);
    }
    list[at].rows += rows;
    for (int i = 0; i < n_runs; i++)
        list[at].least[i] = MIN(list[at].least[i], runs[i].n);
}

static void put(struct code_part *parts, int *n, int first, int last, int signs)
{
    if (*n < CODE_MOST_PARTS)
        parts[(*n)++] = (struct code_part){ (uint8_t)first, (uint8_t)last, (uint8_t)signs };
}

/* Each run, each beginning and each end of several runs, and the first signs of long runs. */
static int parts_of(const struct tally *t, struct code_part parts[CODE_MOST_PARTS])
{
    int runs = t->form.n_runs, n = 0;

    for (int k = 0; k < runs && runs > 1; k++)
        put(parts, &n, k, k, 0);
    for (int k = 1; k < runs - 1; k++) {
        put(parts, &n, 0, k, 0);
        put(parts, &n, k, runs - 1, 0);
    }
    for (int k = 0; k < runs; k++) {
        for (int signs = 1; signs <= MOST_SIGNS && t->least[k] >= LONG && signs < t->least[k];
             signs++)
            put(parts, &n, k, k, signs);
    }
    return n;
}

/* ---- places ---- */

/* Bytes of a text of ASCII without spaces, at most CODE_MOST_PLACES; 0 = another. */
static int places_of(const char *text)
{
    int n = 0;

    for (; text[n]; n++) {
        if (n == CODE_MOST_PLACES || text[n] <= ' ' || text[n] > '~')
            return 0;
    }
    return n;
}

/* Each place, and each beginning, of codes of one length, which nine of ten rows have. */
static void put_places(const int64_t *rows_of, int64_t all, struct code_part *parts, int *n)
{
    for (int length = 2; length <= CODE_MOST_PLACES; length++) {
        if (rows_of[length] * 10 < all * 9)
            continue;
        for (int at = 0; at < length; at++)
            put(parts, n, at, length, CODE_PLACE);
        for (int signs = 2; signs <= MOST_SIGNS && signs < length; signs++)
            put(parts, n, signs, length, CODE_BEGIN);
    }
}

int code_form_find(const char *const *levels, int n_levels, const int64_t *rows,
                   struct code_form *out, struct code_part parts[CODE_MOST_PARTS])
{
    struct tally list[FORMS];
    int n = 0, best = 0, step = n_levels / LOOK + 1, found = 0;
    int64_t all = 0, of_length[CODE_MOST_PLACES + 1] = { 0 };

    for (int l = 0; l < n_levels; l += step) {
        struct run runs[CODE_MOST_RUNS];
        int n_runs = rows[l] > 0 ? runs_of(levels[l], runs) : 0;
        all += rows[l];
        of_length[places_of(levels[l])] += rows[l];
        if (n_runs > 0)
            tally_add(list, &n, runs, n_runs, rows[l]);
    }
    for (int i = 1; i < n; i++)
        best = list[i].rows > list[best].rows ? i : best;
    *out = (struct code_form){ .n_runs = 0 };
    if (all == 0)
        return 0;
    if (n > 0 && list[best].rows * 10 >= all * 9) {
        *out = list[best].form;
        found = parts_of(&list[best], parts);
    }
    put_places(of_length, all, parts, &found);
    return found;
}

/* Bytes of the first signs: a sign beyond ASCII has several. */
static size_t signs_bytes(const char *text, size_t n, int signs)
{
    size_t at = 0;

    for (; at < n && signs > 0; signs--) {
        at++;
        while (at < n && ((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    return signs > 0 ? 0 : at;
}

bool code_part_of(const struct code_form *f, struct code_part p, const char *text,
                  const char **begin, size_t *n)
{
    struct run runs[CODE_MOST_RUNS];

    if (p.signs >= CODE_BEGIN) {
        *begin = p.signs == CODE_PLACE ? text + p.first : text;
        *n = p.signs == CODE_PLACE ? 1 : p.first;
        return places_of(text) == p.last;
    }
    if (!is_of(f, runs, runs_of(text, runs)))
        return false;
    *begin = text + runs[p.first].at;
    *n = (size_t)(runs[p.last].at + runs[p.last].n - runs[p.first].at);
    if (p.signs)
        *n = signs_bytes(*begin, *n, p.signs);
    return *n > 0;
}

void code_part_name(struct code_part p, char out[CODE_NAME])
{
    if (p.signs == CODE_PLACE)
        snprintf(out, CODE_NAME, "sign %d", p.first + 1);
    else if (p.signs == CODE_BEGIN)
        snprintf(out, CODE_NAME, "first %d signs", p.first);
    else if (p.signs == 1)
        snprintf(out, CODE_NAME, "first sign of part %d", p.first + 1);
    else if (p.signs)
        snprintf(out, CODE_NAME, "first %d signs of part %d", p.signs, p.first + 1);
    else if (p.first == p.last)
        snprintf(out, CODE_NAME, "part %d", p.first + 1);
    else
        snprintf(out, CODE_NAME, "parts %d to %d", p.first + 1, p.last + 1);
}

bool code_part_ok(const struct code_form *f, struct code_part p)
{
    bool ok = f->n_runs >= 1 && f->n_runs <= CODE_MOST_RUNS && p.first <= p.last &&
              p.last < f->n_runs && p.signs <= MOST_SIGNS && (p.signs == 0 || p.first == p.last);

    if (p.signs >= CODE_BEGIN)
        ok = f->n_runs <= CODE_MOST_RUNS && p.first < p.last && p.last <= CODE_MOST_PLACES;

    for (int i = 0; i < f->n_runs && ok; i++)
        ok = f->is_digits[i] <= 1;
    return ok;
}
