/* judge_dates.c - is a column of texts a column of dates or times, and in which order do day and
 * month stand? All rows decide: the order under which most are dates; where both fit all rows, the
 * order in which the file's dates rise more often, or in smaller steps; else the sign between the numbers (a slash is
 * American, a point or a dash European). Called by judge.c. */
#include "base/mem.h"
#include "ml/cells/judge_private.h"
#include "ml/cells/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_RATIO = 500 };

static const char *const order_words[] = { "",        "dmy",      "mdy",     "ymd",
                                           "epoch_s", "epoch_ms", "yyyymmdd" };

struct look {
    struct judge_tally tally;
    /* rows whose day and month `order` told apart, with a time, a zone, a year of two digits,
     * without a date, with another sign than a point or a slash */
    int64_t ordered, times, zones, shorts, no_dates, slashes;
    /* steps from one text to the next in the file's order that rise, less those that fall */
    int64_t rises;
    /* the widest step */
    double widest;
};

/* Ends early once too many rows are no dates. */
static void look_at(const struct frame_levels *l, bool has_list, enum date_order order, int64_t all,
                    struct look *k, double *values)
{
    double before = (double)NAN;
    struct date d;

    *k = (struct look){ .tally.has_list = has_list };
    for (int64_t i = 0; i < l->n; i++) {
        size_t n;
        const char *s = judge_text(l, i, &n);
        int64_t count = l->count[i];
        if (!date_read(s, n, order, &d)) {
            if (values)
                values[i] = (double)NAN;
            judge_tally_word(&k->tally, s, count);
            if (all > 0 && k->tally.other.rows * 4 > all)
                return;
            continue;
        }
        if (values)
            values[i] = d.seconds;
        k->tally.rows += count;
        k->tally.distinct++;
        k->ordered += d.needs_order ? count : 0;
        k->slashes += d.needs_order && d.sign == '/' ? count : 0;
        k->times += d.has_time ? count : 0;
        k->zones += d.has_zone ? count : 0;
        k->shorts += d.is_short ? count : 0;
        k->no_dates += d.has_date ? 0 : count;
        k->rises += d.seconds > before ? 1 : d.seconds < before ? -1 : 0;
        k->widest = isnan(before) ? 0 : fmax(k->widest, fabs(d.seconds - before));
        before = d.seconds;
    }
}

static enum date_order order_choose(const struct frame_levels *l, const struct judge_opts *o,
                                    int64_t all, const char **by)
{
    struct look k[3];
    int best = 0;

    *by = "";
    look_at(l, o->has_list, DATE_DMY, all, &k[0], NULL);
    if (k[0].ordered == 0 && k[0].tally.other.rows == 0)
        return DATE_DMY;
    for (int i = 1; i < 3; i++)
        look_at(l, o->has_list, (enum date_order)(DATE_DMY + i), all, &k[i], NULL);
    if (k[0].ordered == 0 && k[1].ordered == 0 && k[2].ordered == 0)
        return DATE_DMY;
    *by = "values";
    for (int i = 1; i < 3; i++)
        best = k[i].tally.rows > k[best].tally.rows ? i : best;
    /* years of two digits in front only when nothing else fits */
    if (best == 2 || k[0].tally.rows != k[1].tally.rows)
        return (enum date_order)(DATE_DMY + best);
    *by = "sequence";
    int64_t lead = k[0].rises - k[1].rises;
    if (lead * 10 > l->n || lead * 10 < -l->n)
        return lead > 0 ? DATE_DMY : DATE_MDY;
    /* the first of each month, say: both rise, and one of them leaps from year to year */
    if (k[0].rises == l->n - 1 && k[1].rises == l->n - 1 && k[0].widest != k[1].widest)
        return k[0].widest < k[1].widest ? DATE_DMY : DATE_MDY;
    *by = "default";
    return k[0].slashes * 2 > k[0].ordered ? DATE_MDY : DATE_DMY;
}

static int note_make(const struct look *k, enum date_order order, const char *by,
                     struct judged *out, struct err *err)
{
    struct buf b;

    buf_init(&b, FRAME_MAX_NOTE);
    int rc = buf_addf(&b, NULL, "{\"read\":\"%s\"", k->no_dates == k->tally.rows ? "time" : "date");
    if (rc == 0 && k->ordered > 0)
        rc = buf_addf(&b, NULL, ",\"order\":\"%s\",\"by\":\"%s\"", order_words[order], by);
    if (rc == 0 && k->times > 0 && k->no_dates < k->tally.rows)
        rc = buf_addf(&b, NULL, ",\"times\":%lld", (long long)k->times);
    if (rc == 0 && k->zones > 0)
        rc = buf_addf(&b, NULL, ",\"zones\":%lld", (long long)k->zones);
    if (rc == 0 && k->shorts > 0)
        rc = buf_adds(&b, ",\"years\":\"1969 to 2068\"", NULL);
    rc = rc == 0 ? judge_note_words(&b, &k->tally, "not_dates") : rc;
    rc = rc == 0 ? buf_adds(&b, "}", NULL) : rc;
    return judge_note_set(out, &b, rc, err);
}

static bool look_wins(const struct look *k)
{
    const struct judge_tally *t = &k->tally;
    int64_t all = t->rows + t->other.rows;

    /* Dates with years of two digits, and times, look like many other things. */
    if ((k->shorts > 0 || k->no_dates > 0) && t->other.rows * SHORT_RATIO > all)
        return false;
    return t->rows > 0 && t->other.rows * 20 <= all;
}

int judge_dates(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                struct err *err)
{
    bool must = o->want == JUDGE_DATES;
    enum date_order order = o->order;
    const char *by = "declared";
    int64_t all = 0;
    struct look k;

    for (int64_t i = 0; i < l->n; i++)
        all += l->count[i];
    if (order == DATE_BY_VALUES)
        order = order_choose(l, o, must ? 0 : all, &by);
    look_at(l, o->has_list, order, must ? 0 : all, &k, NULL);
    if (must ? k.tally.rows == 0 : !look_wins(&k))
        return must ? err_set(err, ERR_ARG, "is to hold dates, and no cell of it is one: \"%.60s\"",
                              l->text + l->text_at[0])
                    : 0;
    double *values = mem_try_alloc((size_t)l->n * sizeof(*values));
    if (!values)
        return err_set(err, ERR_NOMEM, "no memory for %lld different texts", (long long)l->n);
    look_at(l, o->has_list, order, 0, &k, values);
    if (note_make(&k, order, by, out, err) < 0) {
        mem_try_free(values);
        return -1;
    }
    out->type = FRAME_NUMERIC;
    out->kind = FRAME_DATE;
    out->values = values;
    out->not_numbers = k.tally.other.rows;
    return 1;
}

enum date_order judge_order_of(const char *note)
{
    char want[32];

    for (int i = DATE_DMY; i <= DATE_WHOLE; i++) {
        (void)snprintf(want, sizeof(want), "\"order\":\"%s\"", order_words[i]);
        if (strstr(note, want))
            return (enum date_order)i;
    }
    return DATE_BY_VALUES;
}
