/* parts_screen.c - see parts_screen.h. The cost is bounded by the numbers below whatever the table.
 * All sums run in row order, so that equal rows give equal answers on every machine. */
#include "ml/prep/parts_screen.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/prep/step_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CLASSES, PARTS_OF_CLASSES: of three classes and more, each of the first few is told from the others,
 * and fewer parts are taken, because each has a mean for each class. */
enum {
    MOST_ROWS = 20000,
    LEAST_ROWS = 300,
    LEAST_LEVELS = 20,
    ROWS_A_PART = 4,
    CODES_A_PART = 2,
    CLASSES = 4,
    PARTS_OF_CLASSES = 4
};
/* What a part must explain of what is left: a share, and in standard errors. SHRINK: rows of the
 * mean towards which each mean is drawn. */
#define LEAST_OF_REST 0.01
#define LEAST_ERRORS  4.0
#define SHRINK        3.0

struct screen {
    int n, n_parts;
    int32_t *code; /* [n] place among the sampled codes */
    int n_codes;
    const char **text;              /* [n_codes] */
    int32_t *part[CODE_MOST_PARTS]; /* [n_codes] place among the values of the part */
    int n_values[CODE_MOST_PARTS];  /* 0 = the part is not looked at */
    double *rest;                   /* [n] what is left of the target */
    double *sum, *count;            /* of a part's values, then of codes: [room] */
    double *code_sum, *code_count;  /* [n_codes] */
};

/* ---- places of texts ---- */

struct piece {
    const char *text;
    size_t n;
    int at;
};

static int by_text(const void *va, const void *vb)
{
    const struct piece *a = va, *b = vb;
    int c = memcmp(a->text, b->text, MIN(a->n, b->n));

    if (c != 0)
        return c;
    return a->n < b->n ? -1 : a->n > b->n;
}

/* The values of one part: sets part[] and n_values. Codes of another form have value 0. */
static void part_take(struct screen *s, int k, const struct code_form *f, struct code_part p,
                      struct piece *room)
{
    int n = 0, values = 1;

    s->part[k] = mem_array((size_t)s->n_codes + 1, sizeof *s->part[k]);
    for (int c = 0; c < s->n_codes; c++) {
        room[n].at = c;
        n += code_part_of(f, p, s->text[c], &room[n].text, &room[n].n);
    }
    qsort(room, (size_t)n, sizeof *room, by_text);
    for (int i = 0; i < n; i++) {
        values += i == 0 || by_text(&room[i - 1], &room[i]) != 0;
        s->part[k][room[i].at] = values - 1;
    }
    /* a part with about as many values as there are codes is the code */
    bool repeats = values > 2 && values <= PARTS_MOST_LEVELS && values * ROWS_A_PART <= s->n &&
                   values * CODES_A_PART <= s->n_codes;
    s->n_values[k] = repeats ? values : 0;
}

/* ---- judging ---- */

/* Sums become means that are drawn towards 0. */
static void means_make(double *sum, const double *count, int n)
{
    for (int i = 0; i < n; i++)
        sum[i] /= count[i] + SHRINK;
}

/* Means of the rest by value of a part, over the even rows, in s->sum. */
static void part_means(struct screen *s, int k)
{
    memset(s->sum, 0, (size_t)s->n_values[k] * sizeof *s->sum);
    memset(s->count, 0, (size_t)s->n_values[k] * sizeof *s->count);
    for (int i = 0; i < s->n; i += 2) {
        int v = s->part[k][s->code[i]];
        s->sum[v] += s->rest[i];
        s->count[v]++;
    }
    means_make(s->sum, s->count, s->n_values[k]);
}

static double of_part(const struct screen *s, int k, int row)
{
    return k < 0 ? 0 : s->sum[s->part[k][s->code[row]]];
}

/* Means by code of what the part leaves of the even rows, in s->code_sum; k -1 = no part. */
static void code_means(struct screen *s, int k)
{
    memset(s->code_sum, 0, (size_t)s->n_codes * sizeof *s->code_sum);
    memset(s->code_count, 0, (size_t)s->n_codes * sizeof *s->code_count);
    for (int i = 0; i < s->n; i += 2) {
        s->code_sum[s->code[i]] += s->rest[i] - of_part(s, k, i);
        s->code_count[s->code[i]]++;
    }
    means_make(s->code_sum, s->code_count, s->n_codes);
}

/* Squared errors of the odd rows by codes and part k. */
static void errors_of(struct screen *s, int k, double *out)
{
    code_means(s, k);
    for (int i = 1; i < s->n; i += 2) {
        double left = s->rest[i] - of_part(s, k, i) - s->code_sum[s->code[i]];
        out[i / 2] = left * left;
    }
}

/* By how much the squared errors of the odd rows fall with part k; 0 = not enough. */
static double gain_of(struct screen *s, int k, const double *without, double *with)
{
    double gain = 0, square = 0, rest = 0;

    part_means(s, k);
    errors_of(s, k, with);
    for (int i = 0; i < s->n / 2; i++) {
        double d = without[i] - with[i];
        rest += without[i];
        gain += d;
        square += d * d;
    }
    return gain > LEAST_OF_REST * rest && gain > LEAST_ERRORS * sqrt(square) ? gain : 0;
}

static int choose(struct screen *s, const struct code_part *parts, struct code_part out[PARTS_MOST])
{
    double *without = mem_array((size_t)s->n + 1, sizeof *without),
           *with = mem_array((size_t)s->n + 1, sizeof *with);
    int found = 0;

    for (; found < PARTS_MOST; found++) {
        double most = 0;
        int best = -1;
        errors_of(s, -1, without);
        for (int k = 0; k < s->n_parts; k++) {
            double gain = s->n_values[k] ? gain_of(s, k, without, with) : 0;
            best = gain > most ? k : best;
            most = fmax(most, gain);
        }
        if (best < 0)
            break;
        out[found] = parts[best];
        part_means(s, best);
        for (int i = 0; i < s->n; i++)
            s->rest[i] -= of_part(s, best, i);
        s->n_values[best] = 0;
    }
    mem_free(without);
    mem_free(with);
    return found;
}

/* ---- the sample ---- */

/* Sampled rows, their codes and targets about their mean. A row without a code is left out. class -1 =
 * the target is a number, or there are two. */
static void rows_take(struct screen *s, const struct prep_spec *spec, int col, int class)
{
    const struct frame *f = spec->frame;
    int64_t step = 1 + f->rows / MOST_ROWS;
    int32_t *place = mem_array((size_t)f->cols[col].n_levels + 1, sizeof *place);
    double top = 0, mean = 0;

    s->n = s->n_codes = 0;
    for (int64_t row = 0; row < f->rows; row += step) {
        int32_t code = -1;
        if (!spec->use || spec->use[row])
            frame_codes(f, col, row, 1, &code);
        if (code < 0)
            continue;
        if (!place[code]) {
            s->text[s->n_codes++] = f->cols[col].levels[code];
            place[code] = s->n_codes;
        }
        s->code[s->n] = place[code] - 1;
        s->rest[s->n] = class < 0 ? spec->target->y[row] : spec->target->y[row] == class;
        top = fmax(top, fabs(s->rest[s->n++]));
    }
    mem_free(place);
    for (int i = 0; i < s->n; i++) {
        s->rest[i] /= top > 0 ? top : 1;
        mean += s->rest[i] / s->n;
    }
    for (int i = 0; i < s->n; i++)
        s->rest[i] -= mean;
}

static int screen_run(struct screen *s, const struct code_form *form, const struct code_part *parts,
                      struct code_part out[PARTS_MOST])
{
    struct piece *room = mem_array((size_t)s->n_codes + 1, sizeof *room);

    for (int k = 0; k < s->n_parts; k++)
        part_take(s, k, form, parts[k], room);
    mem_free(room);
    int found = choose(s, parts, out);
    for (int k = 0; k < s->n_parts; k++)
        mem_free(s->part[k]);
    return found;
}

static bool is_among(const struct code_part *list, int n, struct code_part p)
{
    bool found = false;

    for (int i = 0; i < n && !found; i++)
        found = list[i].first == p.first && list[i].last == p.last && list[i].signs == p.signs;
    return found;
}

/* The parts that tell one class from the others, for each class in turn. */
static int classes_run(struct screen *s, const struct prep_spec *spec, int col,
                       const struct code_form *form, const struct code_part *parts,
                       struct code_part out[PARTS_MOST])
{
    int found = 0;

    for (int c = 0; c < MIN(spec->target->n_classes, CLASSES); c++) {
        struct code_part of_class[PARTS_MOST];
        rows_take(s, spec, col, c);
        int n = s->n >= LEAST_ROWS ? screen_run(s, form, parts, of_class) : 0;
        for (int i = 0; i < n && found < PARTS_OF_CLASSES; i++) {
            if (!is_among(out, found, of_class[i]))
                out[found++] = of_class[i];
        }
    }
    return found;
}

static int screen_codes(struct screen *s, const struct prep_spec *spec, int col,
                        const struct code_form *form, const struct code_part *parts,
                        struct code_part out[PARTS_MOST])
{
    size_t most = (size_t)MIN(spec->frame->rows, (int64_t)MOST_ROWS) + 1;
    double *numbers = mem_array(3 * most + 2 * PARTS_MOST_LEVELS, sizeof *numbers);
    int found = 0;

    s->code = mem_array(most, sizeof *s->code);
    s->text = mem_array(most, sizeof *s->text);
    s->rest = numbers;
    s->code_sum = s->rest + most;
    s->code_count = s->code_sum + most;
    s->sum = s->code_count + most;
    s->count = s->sum + PARTS_MOST_LEVELS;
    if (spec->target->n_classes) {
        found = classes_run(s, spec, col, form, parts, out);
    } else {
        rows_take(s, spec, col, -1);
        found = s->n >= LEAST_ROWS ? screen_run(s, form, parts, out) : 0;
    }
    mem_free(s->code);
    mem_free(s->text);
    mem_free(numbers);
    return found;
}

int parts_screen(const struct prep_spec *spec, int col, struct code_form *form,
                 struct code_part out[PARTS_MOST])
{
    const struct frame_col *c = &spec->frame->cols[col];
    struct code_part parts[CODE_MOST_PARTS];
    struct screen s = { .n = 0 };
    int64_t *rows = NULL;

    if (c->n_levels < LEAST_LEVELS)
        return 0;
    rows = step_level_rows(spec, col, NULL);
    if (!rows)
        return 0; /* no memory: do without */
    s.n_parts = code_form_find(c->levels, c->n_levels, rows, form, parts);
    mem_try_free(rows);
    return s.n_parts ? screen_codes(&s, spec, col, form, parts, out) : 0;
}
