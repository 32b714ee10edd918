/* figures_screen.c - see figures_screen.h. The cost is bounded by the numbers below whatever the
 * table. All sums run in the order of the values and rows, so that equal rows give equal answers on
 * every machine. */
#include "ml/prep/figures_screen.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/prep/step_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* LOOK: levels whose form is looked at. BLOCKS: of neighbouring values; FEW: with fewer values each
 * is a block, and rows are the units. */
enum {
    MOST_ROWS = 20000,
    LEAST_ROWS = 200,
    LEAST_LEVELS = 20,
    LOOK = 2000,
    MOST_TALLIES = 64,
    BLOCKS = 16,
    FEW = 24,
    MOST_CLASSES = 16
};
/* What a number must show, in standard errors. BETTER: a combination must explain so much more than
 * each number alone. */
#define LEAST_ERRORS 5.0
#define BETTER       1.1

/* ---- the form ---- */

struct tally {
    char words[FIGURES_WORDS];
    int64_t rows;
};

struct forms {
    int64_t rows, with[FIGURES_MOST + 1], quantities;
    struct tally words[MOST_TALLIES];
    int n_words;
};

static void words_add(struct forms *f, const char *words, int64_t rows)
{
    int at = 0;

    while (at < f->n_words && strcmp(f->words[at].words, words) != 0)
        at++;
    if (at == MOST_TALLIES)
        return;
    if (at == f->n_words)
        memcpy(f->words[f->n_words++].words, words, FIGURES_WORDS);
    f->words[at].rows += rows;
}

static void forms_take(const struct frame_col *c, const int64_t *rows, int n, struct forms *f)
{
    int step = c->n_levels / LOOK + 1;

    for (int l = 0; l < c->n_levels; l += step) {
        struct figures t;
        if (rows[l] == 0)
            continue;
        figures_read(c->levels[l], &t);
        if (n == 0) {
            f->rows += rows[l];
            f->with[t.n] += rows[l];
            f->quantities += t.is_quantity ? rows[l] : 0;
        } else if (t.n == n) {
            words_add(f, t.words, rows[l]);
        }
    }
}

static int by_rows(const void *va, const void *vb)
{
    const struct tally *a = va, *b = vb;

    if (a->rows != b->rows)
        return a->rows > b->rows ? -1 : 1;
    return strcmp(a->words, b->words);
}

/* The frequent words but the first, where they are those of most rows. */
static void words_choose(struct forms *f, struct figures_form *out)
{
    int64_t least = MAX(f->rows / 200, (int64_t)5), covered = 0;
    int n = 0;

    qsort(f->words, (size_t)f->n_words, sizeof *f->words, by_rows);
    while (n < f->n_words && n <= FIGURES_MOST_WORDS && f->words[n].rows >= least)
        covered += f->words[n++].rows;
    out->n_words = 0;
    out->is_whole = covered * 10 >= f->rows * 9;
    if (!out->is_whole)
        return;
    for (int i = 1; i < n; i++)
        memcpy(out->words[out->n_words++], f->words[i].words, FIGURES_WORDS);
}

/* false = the texts have no numbers in common. */
static bool form_find(const struct frame_col *c, const int64_t *rows, struct figures_form *out,
                      bool *are_quantities)
{
    struct forms f = { .rows = 0 };
    int best = 0;

    forms_take(c, rows, 0, &f);
    for (int n = 1; n <= FIGURES_MOST; n++)
        best = best == 0 || f.with[n] > f.with[best] ? n : best;
    if (f.with[best] == 0 || f.with[best] * 10 < f.rows * 9)
        return false;
    out->n = (uint8_t)best;
    *are_quantities = f.quantities * 2 > f.rows;
    forms_take(c, rows, best, &f);
    words_choose(&f, out);
    /* one whole number among letters may as well be a code */
    out->is_whole = out->is_whole && (best > 1 || *are_quantities);
    return true;
}

/* ---- the evidence ---- */

struct sample {
    int n, n_numbers, n_classes;
    double (*value)[FIGURES_MOST]; /* [n] */
    double *y;                     /* [n] */
    struct pick *pick;             /* [n] room to sort in */
    double *sorted, *unit;         /* [n] targets of the sorted rows; their means by value */
};

struct pick {
    double value;
    int row;
};

/* How far the blocks of values differ. z: in standard errors; share: of the variance of rows. */
struct judged {
    double z, share;
};

static int by_value(const void *va, const void *vb)
{
    const struct pick *a = va, *b = vb;

    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static double target_of(const struct sample *s, int row, int class)
{
    return s->n_classes ? s->y[row] == class : s->y[row];
}

/* The targets of n sorted rows, and their means over the rows of each value; returns the number of
 * values. ends: where the rows of each of the first FEW values end. */
static int units_make(struct sample *s, int n, int class, int ends[FEW])
{
    int units = 0, begin = 0;
    double sum = 0;

    for (int i = 0; i < n; i++) {
        s->sorted[i] = target_of(s, s->pick[i].row, class);
        sum += s->sorted[i];
        if (i + 1 < n && s->pick[i].value == s->pick[i + 1].value)
            continue;
        s->unit[units] = sum / (i + 1 - begin);
        if (units < FEW)
            ends[units] = i + 1;
        units++;
        begin = i + 1;
        sum = 0;
    }
    return units;
}

/* Sums of squares about the mean, over all classes. */
struct squares {
    double between, all;
    int blocks, n;
};

/* Block k of the values ends before ends[k]; ends NULL = all blocks are as large. */
static void squares_add(const double *y, int n, const int *ends, int blocks, struct squares *q)
{
    double mean = 0;
    int from = 0;

    q->n = n;
    q->blocks = blocks;
    for (int i = 0; i < n; i++)
        mean += y[i] / n;
    for (int k = 0; k < blocks; k++) {
        int to = ends ? ends[k] : (int)((int64_t)n * (k + 1) / blocks), begin = from;
        double sum = 0;
        for (; from < to; from++) {
            sum += y[from] - mean;
            q->all += (y[from] - mean) * (y[from] - mean);
        }
        q->between += to > begin ? sum * sum / (to - begin) : 0;
    }
}

/* The variance within blocks; false = it cannot be told. */
static bool within_of(const struct squares *q, double *out)
{
    if (q->blocks < 2 || q->n <= q->blocks || q->all <= 0)
        return false;
    *out = fmax(q->all - q->between, 0) / (q->n - q->blocks);
    return true;
}

static struct judged judged_of(const struct squares *units, const struct squares *rows)
{
    struct judged j = { 0, 0 };
    double within = 0;

    if (within_of(units, &within)) {
        double f = units->between / (units->blocks - 1) / within,
               error = sqrt(2.0 / (units->blocks - 1) + 2.0 / (units->n - units->blocks));
        j.z = within > 0 ? (f - 1) / error : INFINITY;
    }
    if (within_of(rows, &within))
        j.share = 1 - within * (rows->n - 1) / rows->all;
    return j;
}

/* number: one of them, or n_numbers + enum figures_op. */
static struct judged judge(struct sample *s, int number)
{
    struct squares units = { .blocks = 0 }, rows = { .blocks = 0 };
    int n = 0, classes = s->n_classes ? MIN(s->n_classes, MOST_CLASSES) : 1, ends[FEW];

    for (int i = 0; i < s->n; i++) {
        double v = number < s->n_numbers ? s->value[i][number]
                                         : figures_combine((enum figures_op)(number - s->n_numbers),
                                                           s->value[i], s->n_numbers);
        if (isfinite(v))
            s->pick[n++] = (struct pick){ v, i };
    }
    qsort(s->pick, (size_t)n, sizeof *s->pick, by_value);
    for (int c = 0; c < classes; c++) {
        int values = units_make(s, n, c, ends);
        if (values < FEW)
            squares_add(s->sorted, n, ends, values, &units);
        else
            squares_add(s->unit, values, NULL, BLOCKS, &units);
        squares_add(s->sorted, n, NULL, BLOCKS, &rows);
    }
    return judged_of(&units, &rows);
}

static bool evidence_find(struct sample *s, bool are_quantities, struct figures_form *out)
{
    bool matters = are_quantities;
    double most = 0;

    for (int k = 0; k < s->n_numbers; k++) {
        struct judged j = judge(s, k);
        matters = matters || j.z > LEAST_ERRORS;
        most = fmax(most, j.share);
    }
    double least = BETTER * most;
    out->op = FIGURES_OPS;
    for (int op = 0; op < FIGURES_OPS; op++) {
        if (!figures_op_suits((enum figures_op)op, s->n_numbers))
            continue;
        struct judged j = judge(s, s->n_numbers + op);
        if (j.z > LEAST_ERRORS && j.share > least) {
            out->op = (uint8_t)op;
            least = j.share;
        }
    }
    return matters || out->op < FIGURES_OPS;
}

static void rows_take(struct sample *s, const struct prep_spec *spec, int col)
{
    const struct frame *f = spec->frame;
    int64_t step = 1 + f->rows / MOST_ROWS;

    for (int64_t row = 0; row < f->rows; row += step) {
        struct figures t = { .n = 0 };
        int32_t code = -1;
        if (!spec->use || spec->use[row])
            frame_codes(f, col, row, 1, &code);
        if (code >= 0)
            figures_read(f->cols[col].levels[code], &t);
        if (t.n != s->n_numbers)
            continue;
        memcpy(s->value[s->n], t.value, sizeof t.value);
        s->y[s->n++] = spec->target->y[row];
    }
}

static bool evidence(const struct prep_spec *spec, int col, bool are_quantities,
                     struct figures_form *out)
{
    size_t most = (size_t)MIN(spec->frame->rows, (int64_t)MOST_ROWS) + 1;
    double *numbers = mem_array(3 * most, sizeof *numbers);
    struct sample s = { .n_numbers = out->n,
                        .n_classes = spec->target->n_classes,
                        .value = mem_array(most, sizeof *s.value),
                        .pick = mem_array(most, sizeof *s.pick),
                        .y = numbers,
                        .sorted = numbers + most,
                        .unit = numbers + 2 * most };

    rows_take(&s, spec, col);
    bool found = s.n >= LEAST_ROWS && evidence_find(&s, are_quantities, out);
    mem_free(s.value);
    mem_free(s.pick);
    mem_free(numbers);
    return found;
}

bool figures_screen(const struct prep_spec *spec, int col, struct figures_form *out)
{
    const struct frame_col *c = &spec->frame->cols[col];
    bool are_quantities = false, found;
    int64_t *rows = NULL;

    *out = (struct figures_form){ .n = 0 };
    if (!spec->target || c->n_levels < LEAST_LEVELS)
        return false;
    rows = step_level_rows(spec, col, NULL);
    if (!rows)
        return false; /* no memory: do without */
    found = form_find(c, rows, out, &are_quantities);
    mem_try_free(rows);
    return found && evidence(spec, col, are_quantities, out);
}

bool figures_op_suits(enum figures_op op, int n)
{
    return n == 2 || (n > 2 && (op == FIGURES_SUM || op == FIGURES_PRODUCT));
}

double figures_combine(enum figures_op op, const double *value, int n)
{
    double sum = 0, product = 1, v = 0;

    for (int i = 0; i < n; i++) {
        sum += value[i];
        product *= value[i];
    }
    if (op == FIGURES_DIFFERENCE)
        v = value[1] - value[0];
    else if (op == FIGURES_QUOTIENT)
        v = value[0] / value[1];
    else
        v = op == FIGURES_SUM ? sum : product;
    return isfinite(v) ? v : (double)NAN;
}
