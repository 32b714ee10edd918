/* csv_end.c - what a column is, decided once all its values are there (ml/cells/judge.h).
 *
 * A column of numbers with words among them stays one, or becomes text after all. A column of
 * texts that turns out to be numbers or dates is packed anew: its chunks of codes are read back,
 * and each code gives way to the value of its text. The old chunks stay in the file as holes.
 * Called by csv_table.c. */
#include "base/mem.h"
#include "ml/cells/judge.h"
#include "ml/read/csv_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int name_it(const struct csv_col *col, const struct err *why, struct err *err)
{
    return err_set(err, why->code, "column \"%.100s\" %.300s", col->name, why->text);
}

/* The values of a chunk's codes. */
static void codes_to_values(const void *codes, enum frame_chunk type, int64_t n,
                            const double *values, double *out)
{
    const uint8_t *u8 = codes;
    const uint16_t *u16 = codes;
    const uint32_t *u32 = codes;

    for (int64_t i = 0; i < n; i++) {
        uint32_t code = type == FC_U8    ? u8[i] == UINT8_MAX ? FRAME_CODE_MISSING : u8[i]
                           : type == FC_U16 ? u16[i] == UINT16_MAX ? FRAME_CODE_MISSING : u16[i]
                                            : u32[i];
        out[i] = code == FRAME_CODE_MISSING ? (double)NAN : values[code];
    }
}

/* Reads a packed chunk of numbers into the column's stage. */
static int chunk_numbers(struct csv_table *t, struct csv_col *col, int64_t chunk, struct err *err)
{
    enum frame_chunk type = (enum frame_chunk)(col->entries[chunk] & 7);
    int64_t n = csv_chunk_rows(t, chunk);

    if (frame_out_read(t->out, col->entries[chunk], t->pack, n * frame_chunk_width(type), err) < 0)
        return -1;
    frame_unpack_numbers(t->pack, type, n, col->stage);
    return 0;
}

/* Packs the column anew. values: of the codes of a column of texts, or NULL for a column of
 * numbers, each of which gives way to turn() of it. */
static int convert(struct csv_table *t, struct csv_col *col, const double *values,
                   double (*turn)(double), struct err *err)
{
    double *v = col->stage;

    frame_stats_fini(&col->stats);
    frame_stats_init(&col->stats);
    for (int64_t i = 0; i < t->n_chunks; i++) {
        enum frame_chunk type = (enum frame_chunk)(col->entries[i] & 7);
        int64_t n = csv_chunk_rows(t, i);
        if (values) {
            if (frame_out_read(t->out, col->entries[i], t->pack, n * frame_chunk_width(type), err) <
                0)
                return -1;
            codes_to_values(t->pack, type, n, values, v);
        } else {
            if (chunk_numbers(t, col, i, err) < 0)
                return -1;
            for (int64_t k = 0; k < n; k++)
                v[k] = turn(v[k]);
        }
        frame_stats_numbers(&col->stats, v, n);
        int64_t bytes = frame_pack_numbers(v, n, t->pack, &type);
        if (frame_out_chunk(t->out, type, t->pack, bytes, &col->entries[i], err) < 0)
            return -1;
    }
    return 0;
}

/* The column's own words for missing belong to its note; the note of an earlier table has them. */
static int end_note(struct csv_table *t, const struct csv_col *col, struct judged *what,
                    struct err *err)
{
    if (col->missing && !col->note && !judge_note_missing(what->note, col->missing))
        return err_set(err, ERR_TOOBIG,
                       "column \"%.100s\": its words for missing are over %d bytes", col->name,
                       FRAME_MAX_NOTE);
    frame_out_kind(t->out, what->kind, what->note);
    return 0;
}

static int add_numbers(struct csv_table *t, struct csv_col *col, struct judged *what,
                       struct err *err)
{
    col->stats.not_numbers += what->not_numbers;
    if (end_note(t, col, what, err) < 0)
        return -1;
    return frame_out_col(t->out, col->name, FRAME_NUMERIC, &col->stats, col->entries, t->n_chunks,
                         NULL, err);
}

static double of_ms(double ms)
{
    return ms * 1e-3;
}

/* Dates as numbers: seconds or milliseconds since 1970, or days as 20240301. */
static int end_number_dates(struct csv_table *t, struct csv_col *col, enum date_order order,
                            struct judged *what, struct err *err)
{
    bool is_whole = order == DATE_WHOLE;
    int64_t missing = col->stats.missing;

    what->kind = FRAME_DATE;
    (void)snprintf(what->note, sizeof(what->note),
                   "{\"read\":\"date\",\"order\":\"%s\",\"by\":\"%s\"}",
                   is_whole                ? "yyyymmdd"
                   : order == DATE_EPOCH_S ? "epoch_s"
                                           : "epoch_ms",
                   col->is_declared ? "declared"
                   : is_whole       ? "values"
                                    : "name and range");
    if (order != DATE_EPOCH_S && convert(t, col, NULL, is_whole ? date_whole : of_ms, err) < 0)
        return -1;
    /* what was declared a day and is none */
    if (order != DATE_EPOCH_S)
        what->not_numbers = MAX(col->stats.missing - missing, what->not_numbers);
    return add_numbers(t, col, what, err);
}

/* Whether every number of the column is a day written as 20240301. -1 = error. */
static int are_whole_days(struct csv_table *t, struct csv_col *col, struct err *err)
{
    if (!judge_may_be_whole_days(col->stats.min, col->stats.max, col->stats.distinct))
        return 0;
    for (int64_t i = 0; i < t->n_chunks; i++) {
        if (chunk_numbers(t, col, i, err) < 0)
            return -1;
        const double *v = col->stage;
        for (int64_t k = 0, n = csv_chunk_rows(t, i); k < n; k++) {
            if (!isnan(v[k]) && !judge_is_whole_day(v[k]))
                return 0;
        }
    }
    return 1;
}

/* How a column of numbers holds dates; DATE_BY_VALUES = it holds none. -1 = error. */
static int number_order(struct csv_table *t, struct csv_col *col, struct err *err)
{
    if (col->is_declared || col->stats.distinct == 0)
        return (int)col->order;
    int rc = are_whole_days(t, col, err);
    return rc < 0   ? -1
           : rc > 0 ? (int)DATE_WHOLE
                    : (int)judge_epoch(col->name, col->stats.min, col->stats.max);
}

/* A column of numbers. 1 = it has become text. */
static int end_numbers(struct csv_table *t, int c, struct err *err)
{
    struct csv_col *col = &t->cols[c];
    struct frame_levels words = { 0 };
    struct judged what = { .type = FRAME_NUMERIC };
    const struct judge_opts opts = { .want = col->must_be_number ? JUDGE_NUMBERS : JUDGE_ANY,
                                     .has_list = col->missing != NULL };
    int64_t n = t->rows - col->stats.missing;

    if (col->junk && col->stats.distinct == 0)
        return err_set(err, ERR_ARG,
                       "column \"%.100s\" is to hold numbers, and no cell of it is one: \"%s\"",
                       col->name, col->junk);
    if (col->doubts) {
        if (csv_dict_levels(col->doubts, &words, err) < 0)
            return -1;
        enum judge_doubt doubt = judge_words(&words, n, col->stats.distinct, &opts, &what, err);
        if (doubt == JUDGE_FAILED)
            return -1;
        /* a declared column without any number: judge_texts says so */
        if (doubt != JUDGE_IS_NUMERIC || (n == 0 && what.not_numbers > 0))
            return csv_col_retype(t, c, 0, err) < 0 ? -1 : 1;
    }
    int order = number_order(t, col, err);
    if (order < 0)
        return -1;
    if (order >= (int)DATE_EPOCH_S && (col->is_declared || what.not_numbers == 0))
        return end_number_dates(t, col, (enum date_order)order, &what, err);
    if (col->note)
        (void)snprintf(what.note, sizeof(what.note), "%s", col->note);
    /* few values may be classes, which keep their names */
    if (!col->is_declared && !what.note[0] && col->stats.distinct <= FRAME_SPELT_VALUES &&
        csv_spelt(t, col, what.note, FRAME_SPELT_BYTES, err) < 0)
        return -1;
    return add_numbers(t, col, &what, err);
}

static bool may_be_judged(const struct csv_col *col)
{
    return !col->is_declared || col->must_be_number || (col->kind != FRAME_PLAIN && !col->note) ||
           col->kind == FRAME_DATE;
}

static int end_texts(struct csv_table *t, struct csv_col *col, struct err *err)
{
    static const enum judge_want wants[] = { JUDGE_ANY, JUDGE_DATES, JUDGE_TEXT, JUDGE_LIST };
    struct judge_opts opts = { .want = col->must_be_number ? JUDGE_NUMBERS : wants[col->kind],
                               .order = col->order,
                               .has_comma = t->has_comma,
                               .has_list = col->missing != NULL };
    struct judged what = { .type = FRAME_CATEGORICAL, .kind = col->kind };
    struct frame_levels levels = { 0 };
    struct err why = { 0 };
    int rc = 0;

    csv_seen_fini(&col->seen);
    if (csv_dict_levels(col->dict, &levels, err) < 0)
        return -1;
    if (col->note)
        (void)snprintf(what.note, sizeof(what.note), "%s", col->note);
    if (may_be_judged(col) && judge_texts(&levels, &opts, &what, &why) < 0)
        return name_it(col, &why, err);
    if (levels.n == 0 && col->kind == FRAME_DATE)
        what.type = FRAME_NUMERIC;
    if (what.type == FRAME_NUMERIC) {
        rc = convert(t, col, what.values ? what.values : (const double[]){ 0 }, NULL, err);
        rc = rc == 0 ? add_numbers(t, col, &what, err) : rc;
    } else {
        rc = end_note(t, col, &what, err);
        rc = rc < 0 ? -1
                    : frame_out_col(t->out, col->name, FRAME_CATEGORICAL, &col->stats, col->entries,
                                    t->n_chunks, &levels, err);
    }
    mem_try_free(what.values);
    csv_dict_fini(col->dict);
    return rc;
}

/* Dates whose type the file declares: nothing is to be decided. */
static int end_dates(struct csv_table *t, struct csv_col *col, struct err *err)
{
    struct judged what = { .type = FRAME_NUMERIC, .kind = FRAME_DATE };

    (void)snprintf(what.note, sizeof(what.note), "{\"read\":\"date\",\"by\":\"the file\"}");
    return add_numbers(t, col, &what, err);
}

/* Counts the distinct values of a column whose set was dropped (frame_stats_defer). */
static int count_distinct(struct csv_table *t, struct csv_col *col, struct err *err)
{
    for (int64_t i = 0; i < t->n_chunks; i++) {
        if (chunk_numbers(t, col, i, err) < 0)
            return -1;
        frame_stats_distinct(&col->stats, col->stage, csv_chunk_rows(t, i));
    }
    return 0;
}

static int col_end(struct csv_table *t, int c, struct err *err)
{
    struct csv_col *col = &t->cols[c];
    int rc;

    if (col->mode == COL_IGNORED)
        return frame_out_col(t->out, col->name, FRAME_IGNORED, &col->stats, NULL, 0, NULL, err);
    if (col->mode != COL_TEXT && col->stats.is_late && count_distinct(t, col, err) < 0)
        return -1;
    if (col->is_date && col->mode != COL_TEXT)
        return end_dates(t, col, err);
    if (col->mode != COL_TEXT) {
        rc = end_numbers(t, c, err);
        if (rc <= 0)
            return rc;
    }
    return end_texts(t, col, err);
}

int csv_col_end(struct csv_table *t, int c, struct err *err)
{
    int rc = col_end(t, c, err);

    frame_stats_fini(&t->cols[c].stats);
    return rc;
}
