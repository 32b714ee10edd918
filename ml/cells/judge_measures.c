/* judge_measures.c - is a column of texts a column of durations, lengths, sizes of files and so on,
 * whose unit changes from row to row? A column with one unit is one of numbers (judge_numbers.c).
 * Called by judge.c. */
#include "base/mem.h"
#include "ml/cells/judge_private.h"
#include "ml/cells/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fewer different amounts, such as "500 ml" and "1 l", are as good as categories. Columns with very
 * many different texts are usually something else: SAMPLE of them tell. */
enum { MIN_AMOUNTS = 8, SAMPLE = 256 };

static const char *const names[MEASURE_KINDS] = {
    [MEASURE_TIME] = "time",           [MEASURE_LENGTH] = "length",
    [MEASURE_MASS] = "mass",           [MEASURE_VOLUME] = "volume",
    [MEASURE_DATA] = "data",           [MEASURE_DATA_RATE] = "data_rate",
    [MEASURE_FREQUENCY] = "frequency",
};

struct look {
    struct judge_tally tally;
    bool has_compound, has_units; /* of more than one unit */
};

/* Whether half of some texts, which stand evenly among all, are amounts of that kind. */
static bool is_likely(const struct frame_levels *l, const struct judge_opts *o, enum measure kind)
{
    int64_t n_seen = l->n < SAMPLE ? l->n : SAMPLE, n_amounts = 0;

    for (int64_t i = 0; i < n_seen; i++) {
        size_t n;
        const char *s = judge_text(l, i * l->n / n_seen, &n);
        struct measured m;
        n_amounts += measure_read(s, n, o->has_comma ? ',' : '.', kind, &m);
    }
    return n_amounts * 2 >= n_seen;
}

/* Ends early once too many rows are no amounts. values: NULL = not wanted. */
static void look_at(const struct frame_levels *l, const struct judge_opts *o, enum measure kind,
                    int64_t all, struct look *k, double *values)
{
    double unit = 0;

    *k = (struct look){ .tally.has_list = o->has_list };
    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        struct measured m;
        bool is_amount = measure_read(s, n, o->has_comma ? ',' : '.', kind, &m);
        if (values)
            values[i] = is_amount ? m.value : (double)NAN;
        if (!is_amount) {
            judge_tally_word(&k->tally, s, l->count[i]);
            if (k->tally.other.rows * 4 > all)
                return;
            continue;
        }
        k->tally.rows += l->count[i];
        k->tally.distinct++;
        k->has_compound = k->has_compound || m.is_compound;
        k->has_units = k->has_units || (unit > 0 && m.unit > 0 && m.unit != unit);
        unit = m.unit > 0 ? m.unit : unit;
    }
}

static bool look_wins(const struct look *k)
{
    return (k->has_compound || k->has_units) && k->tally.distinct >= MIN_AMOUNTS &&
           judge_tally_wins(&k->tally);
}

static int note_make(const struct look *k, enum measure kind, bool has_comma, struct judged *out,
                     struct err *err)
{
    struct buf b;

    buf_init(&b, FRAME_MAX_NOTE);
    int rc = buf_addf(&b, NULL, "{\"read\":\"number\",\"measure\":\"%s\",\"unit\":\"%s\"%s",
                      names[kind], measure_unit(kind), has_comma ? ",\"decimal\":\",\"" : "");
    rc = rc == 0 ? judge_note_words(&b, &k->tally, "not_numbers") : rc;
    rc = rc == 0 ? buf_adds(&b, "}", NULL) : rc;
    return judge_note_set(out, &b, rc, err);
}

int judge_measures(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                   struct err *err)
{
    int64_t all = 0, most = 0;
    int best = -1;
    struct look k;

    for (int64_t i = 0; i < l->n; i++)
        all += l->count[i];
    for (int kind = 0; kind < MEASURE_KINDS; kind++) {
        if (!is_likely(l, o, (enum measure)kind))
            continue;
        look_at(l, o, (enum measure)kind, all, &k, NULL);
        if (look_wins(&k) && k.tally.rows > most) {
            most = k.tally.rows;
            best = kind;
        }
    }
    if (best < 0)
        return 0;
    double *values = mem_try_alloc((size_t)l->n * sizeof(*values));
    if (!values)
        return err_set(err, ERR_NOMEM, "no memory for %lld different texts", (long long)l->n);
    look_at(l, o, (enum measure)best, all, &k, values);
    if (note_make(&k, (enum measure)best, o->has_comma, out, err) < 0) {
        mem_try_free(values);
        return -1;
    }
    out->type = FRAME_NUMERIC;
    out->values = values;
    out->not_numbers = k.tally.other.rows;
    return 1;
}

bool judge_measure_as(const char *note, const char *s, size_t n, double *out)
{
    char want[32];
    struct measured m;

    for (int kind = 0; kind < MEASURE_KINDS; kind++) {
        (void)snprintf(want, sizeof(want), "\"measure\":\"%s\"", names[kind]);
        if (!strstr(note, want))
            continue;
        if (!measure_read(s, n, strstr(note, "\"decimal\":\",\"") ? ',' : '.', (enum measure)kind,
                          &m))
            return false;
        *out = m.value;
        return true;
    }
    return false;
}
