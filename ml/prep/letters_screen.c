/* letters_screen.c - see letters_screen.h. The cost is bounded by the numbers below whatever the
 * table. All sums run in row order. */
#include "ml/prep/letters_screen.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/prep/prep_private.h"
#include "ml/text/shape.h"
#include "ml/text/words.h"

#include <math.h>
#include <string.h>

/* REPEATS: a level is there so many times at most, in the mean. */
enum {
    MOST_ROWS = 8000,
    LEAST_ROWS = 300,
    LEAST_LEVELS = 200,
    MOST_REPEATS = 10,
    BUCKETS = 2048,
    MOST_CLASSES = 4
};
/* SHRINK: rows of the mean towards which the mean of an n-gram is drawn. */
#define LEAST_ERRORS 5.0
#define SHRINK       20.0

struct sample {
    int n;
    const char **text; /* [n] */
    bool *is_judge;    /* [n] of the half of the words that judges */
    double *y;         /* [n] about the mean */
    double sum[BUCKETS], count[BUCKETS];
};

/* The letter n-grams of the first word of a text that has some, as buckets. */
static int buckets_of(const char *text, uint32_t out[WORDS_MOST_GRAMS])
{
    size_t n = strlen(text), at = 0;
    uint32_t sign[WORDS_MOST_SIGNS], hash;
    int found = 0, signs;

    while (found == 0 && (signs = words_word(0, text, n, &at, sign, &hash)) > 0)
        found = words_grams(0, sign, signs, out);
    for (int i = 0; i < found; i++)
        out[i] %= BUCKETS;
    return found;
}

static double correlation_errors(const double *a, const double *b, int n)
{
    double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;

    for (int i = 0; i < n; i++) {
        ma += a[i] / n;
        mb += b[i] / n;
    }
    for (int i = 0; i < n; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) * sqrt(n) : 0;
}

static bool letters_tell(struct sample *s, double *x, double *y)
{
    uint32_t bucket[WORDS_MOST_GRAMS];
    int judged = 0;

    memset(s->sum, 0, sizeof s->sum);
    memset(s->count, 0, sizeof s->count);
    for (int i = 0; i < s->n; i++) {
        int n = s->is_judge[i] ? 0 : buckets_of(s->text[i], bucket);
        for (int k = 0; k < n; k++) {
            s->sum[bucket[k]] += s->y[i];
            s->count[bucket[k]]++;
        }
    }
    for (int i = 0; i < s->n; i++) {
        int n = s->is_judge[i] ? buckets_of(s->text[i], bucket) : 0;
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += s->sum[bucket[k]] / (s->count[bucket[k]] + SHRINK) / n;
        if (n > 0) {
            x[judged] = sum;
            y[judged++] = s->y[i];
        }
    }
    return judged > 1 && correlation_errors(x, y, judged) > LEAST_ERRORS;
}

static bool shape_tells(const struct sample *s, double *x)
{
    static const enum shape_part parts[] = { SHAPE_CHARS, SHAPE_UPPER, SHAPE_DIGIT_COUNT,
                                             SHAPE_MARK_COUNT };

    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (int i = 0; i < s->n; i++) {
            float shape[SHAPE_PARTS];
            shape_of(s->text[i], strlen(s->text[i]), shape);
            x[i] = (double)shape[parts[p]];
        }
        if (fabs(correlation_errors(x, s->y, s->n)) > LEAST_ERRORS)
            return true;
    }
    return false;
}

/* Sampled rows; class -1 = the target is no class. A level is in one half with all its rows. */
static void rows_take(struct sample *s, const struct prep_spec *spec, int col, int class)
{
    const struct frame *f = spec->frame;
    int64_t step = 1 + f->rows / MOST_ROWS;
    double mean = 0;

    s->n = 0;
    for (int64_t row = 0; row < f->rows; row += step) {
        int32_t code = -1;
        if (!spec->use || spec->use[row])
            frame_codes(f, col, row, 1, &code);
        if (code < 0)
            continue;
        double y = spec->target->y[row];
        s->text[s->n] = f->cols[col].levels[code];
        s->is_judge[s->n] = ((uint32_t)code * 2654435761U) >> 31;
        s->y[s->n++] = class < 0 ? y : y == class;
    }
    for (int i = 0; i < s->n; i++)
        mean += s->y[i] / s->n;
    for (int i = 0; i < s->n; i++)
        s->y[i] -= mean;
}

bool letters_screen(const struct prep_spec *spec, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];
    size_t most = (size_t)MIN(spec->frame->rows, (int64_t)MOST_ROWS) + 1;
    bool found = false;

    if (!spec->target || c->type != FRAME_CATEGORICAL || c->kind != FRAME_PLAIN ||
        c->n_levels < LEAST_LEVELS || (int64_t)c->n_levels * MOST_REPEATS < spec->frame->rows)
        return false;
    struct sample *s = mem_alloc(sizeof *s);
    double *numbers = mem_array(3 * most, sizeof *numbers);
    s->text = mem_array(most, sizeof *s->text);
    s->is_judge = mem_array(most, sizeof *s->is_judge);
    s->y = numbers;
    int classes = spec->target->n_classes ? MIN(spec->target->n_classes, MOST_CLASSES) : 1;
    for (int k = 0; k < classes && !found; k++) {
        rows_take(s, spec, col, spec->target->n_classes ? k : -1);
        found = s->n >= LEAST_ROWS && (shape_tells(s, numbers + most) ||
                                       letters_tell(s, numbers + most, numbers + 2 * most));
    }
    mem_free(s->text);
    mem_free(s->is_judge);
    mem_free(numbers);
    mem_free(s);
    return found;
}
