/* csv_col.c - the fields of one column, a stretch of rows at a time, into the chunk that is being
 * filled: the inner loop of the reader.
 *
 * A numeric column starts each chunk as int32 and is widened to double at the first value that
 * needs it; at the first text it becomes text for good (csv_retype.c). Each mode has one loop over
 * its most common forms, compiled for files with and without quotes and for the last column (whose
 * fields may end in a carriage return). Anything else goes through one slow path. Called by
 * csv_table.c. */
#include "base/mem.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/judge.h"
#include "ml/cells/words.h"
#include "ml/read/csv_table.h"
#include "ml/read/csv_wide.h"

#include <math.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Field i without its surrounding quotes; doubled quotes within are still doubled. */
ALWAYS_INLINE size_t field_raw(const struct csv_rows *r, int64_t i, bool quotes, bool last,
                               const char **s)
{
    uint32_t from = i ? r->ends[i - 1] + 1 : r->start, to = r->ends[i];

    if (last && to > from && r->text[to - 1] == '\r')
        to--;
    if (quotes && r->text[from] == '"')
        from++, to--;
    *s = r->text + from;
    return to - from;
}

/* Whether there is a quote among n bytes. Reads up to 8 bytes past the end. */
ALWAYS_INLINE bool has_quote(const char *s, size_t n)
{
    const uint64_t ones = 0x0101010101010101ull;

    for (size_t i = 0; i < n; i += 8) {
        uint64_t x = csv_load8(s + i) ^ ones * '"';
        /* the bytes behind the field must not count as quotes */
        x = n - i < 8 ? x | ~0ull << (n - i) * 8 : x;
        if ((x - ones) & ~x & ones * 0x80)
            return true;
    }
    return false;
}

/* Makes doubled quotes single, in the table's scratch. */
static void field_unescape(struct csv_table *t, const char **s, size_t *n)
{
    if (t->scratch_cap < *n + 16) {
        t->scratch_cap = *n * 2 + 64;
        t->scratch = mem_resize(t->scratch, t->scratch_cap);
    }
    char *to = t->scratch;
    for (const char *p = *s, *end = *s + *n; p < end; p++) {
        *to++ = *p;
        /* the scan has made sure that a second one follows */
        p += *p == '"';
    }
    *s = t->scratch;
    *n = (size_t)(to - t->scratch);
}

ALWAYS_INLINE void field_text(struct csv_table *t, const struct csv_rows *r, int64_t i,
                              bool is_last, const char **s, size_t *n)
{
    *n = field_raw(r, i, r->has_quotes, is_last, s);
    if (r->has_escapes && has_quote(*s, *n))
        field_unescape(t, s, n);
}

void csv_field(struct csv_table *t, const struct csv_rows *r, int64_t i, bool is_last,
               const char **s, size_t *n)
{
    field_text(t, r, i, is_last, s, n);
}

void csv_col_odd(struct csv_col *col, int64_t place, const char *s, size_t n)
{
    if (col->odd_bytes + n + 8 > col->odd_cap) {
        col->odd_cap = (col->odd_bytes + n + 8) * 3 / 2;
        col->odd = mem_resize(col->odd, col->odd_cap);
    }
    uint8_t *to = col->odd + col->odd_bytes;
    uint16_t row = (uint16_t)place;
    uint32_t len = (uint32_t)n;
    memcpy(to, &row, 2);
    to[2] = (uint8_t)MIN(n, 255);
    to += 3;
    if (n >= 255) {
        memcpy(to, &len, 4);
        to += 4;
    }
    memcpy(to, s, n);
    col->odd_bytes = (size_t)(to + n - col->odd);
}

/* Widens the chunk, of which `place` rows are taken, from int32 to double. Backwards, because both
 * share the memory. */
void csv_col_widen(struct csv_col *col, int64_t place)
{
    for (int64_t i = place - 1; i >= 0; i--) {
        int32_t v;
        memcpy(&v, (char *)col->stage + i * 4, sizeof(v));
        double d = v == FRAME_INT_MISSING ? (double)NAN : v;
        memcpy((char *)col->stage + i * 8, &d, sizeof(d));
    }
    col->mode = COL_DOUBLE;
}

/* "007" is a code and no number: its zeros tell it from "7" (R's readr holds the same). */
static bool is_code(const char *s, size_t n)
{
    size_t digits = 0;

    while (digits < n && s[digits] >= '0' && s[digits] <= '9')
        digits++;
    return n > 1 && digits == n && s[0] == '0';
}

/* A text among the numbers of a column. 1: it is stored as missing and remembered; the end of
 * the table decides from all such texts what they mean (csv_end.c). 0: there are too many of them. */
static int take_doubt(const struct csv_table *t, struct csv_col *col, const char *s, size_t n,
                      int64_t place, struct err *err)
{
    enum { MOST_WORDS = 64, FREE_ROWS = 16, LONGEST = 200 };
    int64_t rows = t->n_chunks * t->chunk_rows + place;
    bool is_word = !col->missing && words_are_missing(s, n);
    char text[LONGEST + 16] = "";
    uint32_t code = 0;

    if (n > LONGEST || (!is_word && !col->must_be_number && col->doubt_rows > FREE_ROWS + rows / 4))
        return 0;
    if (!col->doubts) {
        col->doubts = mem_alloc(sizeof(*col->doubts));
        csv_dict_init(col->doubts);
        col->doubts->missing = col->missing;
    }
    if (col->doubts->n_levels >= MOST_WORDS && !is_word)
        return 0;
    memcpy(text, s, n);
    if (csv_dict_add(col->doubts, text, n, &code, err) < 0)
        return -1;
    csv_dict_count(col->doubts, code);
    col->doubt_rows += !is_word;
    csv_col_odd(col, place, s, n);
    return 1;
}

/* A number as it is written in the table that the column's note is of. */
static void number_as(struct csv_col *col, const char *s, size_t n, struct csv_value *v)
{
    double d = 0;

    if (csv_is_missing(s, n) || !judge_number_as(col->note, s, n, &d)) {
        v->kind = csv_is_missing(s, n) || words_are_missing(s, n) ? CSV_MISSING : CSV_TEXT;
    } else {
        v->kind = CSV_DOUBLE;
        v->d = d;
    }
    if (v->kind != CSV_TEXT)
        return;
    csv_col_junk(col, s, n);
    v->kind = CSV_MISSING;
}

/* One field of a numeric column in any form. 1 = the column has become text, and the field is still
 * to be taken. */
static int take_odd_number(struct csv_table *t, struct csv_col *col, const struct csv_rows *r,
                           int64_t i, bool last, int64_t place, struct err *err)
{
    struct csv_value v;
    const char *s;
    size_t n;

    csv_field(t, r, i, last, &s, &n);
    if (n > CSV_MAX_FIELD)
        return err_set(err, ERR_TOOBIG, "a field of %zu bytes is over the limit of %d", n,
                       CSV_MAX_FIELD);
    csv_number(s, n, &v);
    if (v.kind == CSV_TEXT && t->has_comma)
        csv_number_comma(s, n, &v);
    if (col->missing && (v.kind == CSV_MISSING || v.kind == CSV_TEXT))
        v.kind = words_are_listed(col->missing, s, n) ? CSV_MISSING : CSV_TEXT;
    if (col->note && (v.kind == CSV_TEXT || col->is_slow))
        number_as(col, s, n, &v);
    int doubt = v.kind == CSV_TEXT ? take_doubt(t, col, s, n, place, err) : 1;
    if (doubt < 0)
        return -1;
    if (doubt == 0 || (is_code(s, n) && !col->must_be_number))
        return csv_col_retype(t, (int)(col - t->cols), place, err) < 0 ? -1 : 1;
    if (v.kind == CSV_TEXT) {
        v.kind = CSV_MISSING;
    } else if (v.kind != CSV_MISSING && !v.is_plain && !col->note) {
        csv_col_odd(col, place, s, n);
    }
    if (v.kind == CSV_DOUBLE && col->mode == COL_INT)
        csv_col_widen(col, place);
    if (col->mode == COL_INT)
        col->ints[place] = v.kind == CSV_MISSING ? FRAME_INT_MISSING : v.i;
    else
        col->doubles[place] = v.kind == CSV_MISSING ? (double)NAN : v.d;
    return 0;
}

ALWAYS_INLINE bool signed_int(const char *s, size_t n, int32_t *out)
{
    if (csv_quick_int(s, n, out))
        return true;
    if (*s != '-' || !csv_quick_int(s + 1, n - 1, out) || *out == 0)
        return false;
    *out = -*out;
    return true;
}

/* Takes rows from k on as long as the quick form fits. Returns the first row that it does not
 * fit. */
ALWAYS_INLINE int64_t loop_ints(struct csv_col *col, const struct csv_rows *r, int64_t at,
                                int64_t step, int64_t k, int64_t n, int64_t place, bool quotes,
                                bool last)
{
    const char *s;
    int32_t v;

    for (; k < n; k++) {
        size_t len = field_raw(r, at + k * step, quotes, last, &s);
        if (signed_int(s, len, &v) || csv_quick_long(s, len, &v))
            col->ints[place + k] = v;
        else if (len == 0)
            col->ints[place + k] = FRAME_INT_MISSING;
        else
            break;
    }
    return k;
}

ALWAYS_INLINE int64_t loop_doubles(struct csv_col *col, const struct csv_rows *r, int64_t at,
                                   int64_t step, int64_t k, int64_t n, int64_t place, bool quotes,
                                   bool last)
{
    const char *s;
    double v = 0;
    int32_t whole;
    bool is_plain = false;

    for (; k < n; k++) {
        size_t len = field_raw(r, at + k * step, quotes, last, &s);
        if (csv_quick_decimal(s, len, &v, &is_plain)) {
            col->doubles[place + k] = v;
            if (!is_plain && !col->note)
                csv_col_odd(col, place + k, s, len);
        } else if (signed_int(s, len, &whole)) {
            col->doubles[place + k] = whole;
        } else if (len == 0) {
            col->doubles[place + k] = (double)NAN;
        } else {
            break;
        }
    }
    return k;
}

#define PICK(LOOP, TO)                                                          \
    (r->has_quotes ? (last ? LOOP(col, r, at, step, k, TO, place, true, true)   \
                           : LOOP(col, r, at, step, k, TO, place, true, false)) \
                   : (last ? LOOP(col, r, at, step, k, TO, place, false, true)  \
                           : LOOP(col, r, at, step, k, TO, place, false, false)))

static int64_t some_ints(struct csv_col *col, const struct csv_rows *r, int64_t at, int64_t step,
                         int64_t k, int64_t n, int64_t place, bool last)
{
    return PICK(loop_ints, n);
}

static int64_t some_doubles(struct csv_col *col, const struct csv_rows *r, int64_t at, int64_t step,
                            int64_t k, int64_t n, int64_t place, bool last)
{
    return PICK(loop_doubles, n);
}

/* Takes rows from k on as long as a quick form fits: groups of rows while all of a group are of the
 * most usual form, else some rows one by one, and the more of them the less the groups fit. */
static int64_t take_quick(struct csv_col *col, const struct csv_rows *r, int64_t at, int64_t step,
                          int64_t k, int64_t n, int64_t place, bool last)
{
    enum { FEW = 8, MANY = 1024 };
    bool is_int = col->mode == COL_INT;

    for (int64_t some = FEW; k < n; some = MIN(some * 2, MANY)) {
        struct csv_run run = { r, at + k * step, step, n - k, last };
        int64_t taken =
            is_int ? csv_wide_ints(col, &run, place + k) : csv_wide_doubles(col, &run, place + k);
        k += taken;
        some = taken > 0 ? FEW : some;
        int64_t to = MIN(n, k + some);
        k = is_int ? some_ints(col, r, at, step, k, to, place, last)
                   : some_doubles(col, r, at, step, k, to, place, last);
        if (k < to)
            break;
    }
    return k;
}

/* The code of a text as the file has it, by the dictionary. is_kept: it will be found sooner next
 * time. */
static int text_code(struct csv_table *t, struct csv_col *col, const struct csv_rows *r,
                     const char *raw, size_t n_raw, bool is_kept, uint32_t *code, struct err *err)
{
    const char *s = raw;
    size_t n = n_raw;

    if (r->has_escapes && has_quote(s, n))
        field_unescape(t, &s, &n);
    if (csv_dict_add(col->dict, s, n, code, err) < 0)
        return -1;
    /* A text has one spelling within quotes and outside of them, so what the file has will do. */
    if (is_kept && *code != FRAME_CODE_MISSING)
        csv_seen_keep_text(&col->seen, raw, n_raw, *code);
    return 0;
}

ALWAYS_INLINE int64_t loop_texts(struct csv_table *t, struct csv_col *col, const struct csv_rows *r,
                                 int64_t at, int64_t step, int64_t k, int64_t n, bool quotes,
                                 bool last, struct err *err)
{
    enum { LEAST_CHUNK = 2048 };
    bool is_kept = t->chunk_rows >= LEAST_CHUNK;
    uint32_t *codes = col->codes + t->filled;
    struct csv_dict *dict = col->dict;
    const char *s;

    for (; k < n; k++) {
        uint32_t code = 0;
        size_t len = field_raw(r, at + k * step, quotes, last, &s);
        if (!csv_seen_find(&col->seen, s, len, &code) &&
            text_code(t, col, r, s, len, is_kept, &code, err) < 0)
            break;
        codes[k] = code;
        if (code == FRAME_CODE_MISSING)
            col->stats.missing++;
        else
            csv_dict_count(dict, code);
    }
    return k;
}

/* Texts. Returns the first row that is not taken, which is n unless err is set. */
static int64_t take_texts(struct csv_table *t, struct csv_col *col, const struct csv_rows *r,
                          int64_t at, int64_t step, int64_t k, int64_t n, bool last,
                          struct err *err)
{
    if (!r->has_quotes)
        return last ? loop_texts(t, col, r, at, step, k, n, false, true, err)
                    : loop_texts(t, col, r, at, step, k, n, false, false, err);
    return last ? loop_texts(t, col, r, at, step, k, n, true, true, err)
                : loop_texts(t, col, r, at, step, k, n, true, false, err);
}

int csv_col_take(struct csv_table *t, int c, const struct csv_rows *r, int64_t first, int64_t n,
                 int64_t *bad_field, struct err *err)
{
    struct csv_col *col = &t->cols[c];
    bool last = c == t->n_cols - 1 && !r->is_single;
    int64_t step = r->is_single ? 1 : t->n_cols, at = r->is_single ? first : first * step + c;
    int64_t k = 0;
    int rc = 0;

    while (k < n && rc >= 0 && col->mode != COL_IGNORED) {
        if (col->mode == COL_TEXT) {
            k = take_texts(t, col, r, at, step, k, n, last, err);
            rc = k < n ? -1 : 0;
            continue;
        }
        if (!col->is_slow)
            k = take_quick(col, r, at, step, k, n, t->filled, last);
        if (k == n)
            break;
        rc = take_odd_number(t, col, r, at + k * step, last, t->filled + k, err);
        k += rc == 0;
    }
    *bad_field = at + k * step;
    return rc < 0 ? -1 : 0;
}
