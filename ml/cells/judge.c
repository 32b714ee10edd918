/* judge.c - see judge.h: the order of the judgements, the words beside the values, and the notes. */
#include "ml/cells/judge.h"

#include "base/mem.h"
#include "base/str.h"
#include "ml/cells/form.h"
#include "ml/cells/judge_private.h"
#include "ml/cells/words.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <string.h>

/* A column of fewer different numbers is as good as categories, and is one when other words are
 * among them: "0", "1", "2", "3+". */
enum { MIN_NUMBERS = 16, FEW_NUMBERS = 10, MANY_NUMBERS = 100, WORD_SHOWN = 40 };

void judge_top_add(struct judge_top *t, const char *text, int64_t count)
{
    int i = t->n;

    t->rows += count;
    t->distinct++;
    if (i == JUDGE_TOP && t->word[i - 1].count >= count)
        return;
    i -= i == JUDGE_TOP;
    for (; i > 0 && t->word[i - 1].count < count; i--)
        t->word[i] = t->word[i - 1];
    t->word[i].text = text;
    t->word[i].count = count;
    t->n += t->n < JUDGE_TOP;
}

void judge_tally_word(struct judge_tally *t, const char *text, int64_t count)
{
    size_t n = strlen(text);

    if (!t->has_list && words_are_missing(text, n)) {
        judge_top_add(&t->missing, text, count);
        t->letter_rows += words_are_signs(text, n) ? 0 : count;
        return;
    }
    judge_top_add(&t->other, text, count);
    t->digit_rows += strpbrk(text, "0123456789") ? count : 0;
}

bool judge_tally_wins(const struct judge_tally *t)
{
    int64_t other = t->other.rows, all = t->rows + other;
    bool is_rare = other * 20 <= all && t->digit_rows * 500 <= all;
    /* one or two words such as "varies", again and again among many different numbers */
    bool is_mark = t->other.distinct <= 2 && other * 5 <= all && t->digit_rows == 0 &&
                   t->distinct >= MANY_NUMBERS;

    if (t->rows == 0)
        return false;
    if (other > 0 && (t->distinct < MIN_NUMBERS || !(is_rare || is_mark)))
        return false;
    /* "none" beside a handful of numbers may be a level like them */
    return t->distinct >= FEW_NUMBERS ||
           (t->letter_rows * 20 <= t->rows && t->missing.rows <= 2 * t->rows);
}

/* ---- notes ---- */

static int note_top(struct buf *b, const char *key, const struct judge_top *t)
{
    int rc = buf_addf(b, NULL, ",\"%s\":{", key);

    for (int i = 0; i < t->n && rc == 0; i++) {
        char word[WORD_SHOWN + 4] = "";
        size_t n = strlen(t->word[i].text);
        if (n > WORD_SHOWN) {
            /* cut between characters */
            for (n = WORD_SHOWN; n > 0 && (t->word[i].text[n] & 0xc0) == 0x80;)
                n--;
        }
        memcpy(word, t->word[i].text, n);
        rc = i > 0 ? buf_adds(b, ",", NULL) : 0;
        rc = rc == 0 ? json_text_str(b, word, NULL) : rc;
        rc = rc == 0 ? buf_addf(b, NULL, ":%lld", (long long)t->word[i].count) : rc;
    }
    return rc == 0 ? buf_adds(b, "}", NULL) : rc;
}

int judge_note_words(struct buf *b, const struct judge_tally *t, const char *other)
{
    int rc = t->missing.n > 0 ? note_top(b, "missing", &t->missing) : 0;

    return rc == 0 && t->other.n > 0 ? note_top(b, other, &t->other) : rc;
}

int judge_note_set(struct judged *out, struct buf *b, int rc, struct err *err)
{
    if (rc == 0)
        str_copy(out->note, sizeof(out->note), b->data);
    buf_fini(b);
    return rc == 0 ? 0 : err_set(err, ERR_NOMEM, "no memory for the note of a column");
}

/* The list in a note is the last of its members, so that it needs no reader of JSON: texts in
 * quotes, in which a backslash stands before a quote or a backslash. */
#define LIST_KEY "\"missing_only\":["

bool judge_note_missing(char note[FRAME_MAX_NOTE + 1], const char *const *list)
{
    size_t n = strlen(note);
    struct buf b;

    buf_init(&b, FRAME_MAX_NOTE);
    int rc = n > 2 ? buf_add(&b, note, n - 1, NULL) : buf_adds(&b, "{", NULL);
    rc = rc == 0 ? buf_adds(&b, n > 2 ? "," LIST_KEY : LIST_KEY, NULL) : rc;
    for (size_t i = 0; list[i] && rc == 0; i++) {
        rc = i > 0 ? buf_adds(&b, ",", NULL) : 0;
        rc = rc == 0 ? json_text_str(&b, list[i], NULL) : rc;
    }
    rc = rc == 0 ? buf_adds(&b, "]}", NULL) : rc;
    if (rc == 0)
        str_copy(note, FRAME_MAX_NOTE + 1, b.data);
    buf_fini(&b);
    return rc == 0;
}

char **judge_missing_of(const char *note)
{
    const char *p = strstr(note, LIST_KEY);
    uint32_t n = 0, cap = 0;
    char **list = NULL;

    if (!p)
        return NULL;
    list = mem_zalloc(sizeof(*list));
    for (p += strlen(LIST_KEY); *p == '"'; p += *p == ',') {
        char *word = mem_zalloc(strlen(p) + 1), *to = word;
        for (p++; *p && *p != '"'; p++) {
            p += *p == '\\' && p[1];
            *to++ = *p;
        }
        p += *p == '"';
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : 8;
            list = mem_resize(list, cap * sizeof(*list));
        }
        list[n++] = word;
        list[n] = NULL;
    }
    return list;
}

/* ---- the order of the judgements ---- */

/* Numbers; where they are declared, amounts in several units before numbers with many other words. */
static int judge_amounts(const struct frame_levels *l, const struct judge_opts *o,
                         struct judged *out, struct err *err)
{
    struct judge_opts open = *o;
    int rc = 0;

    if (o->want != JUDGE_NUMBERS)
        return judge_numbers(l, o, out, err);
    open.want = JUDGE_ANY;
    rc = judge_numbers(l, &open, out, err);
    rc = rc == 0 ? judge_measures(l, &open, out, err) : rc;
    return rc == 0 ? judge_numbers(l, o, out, err) : rc;
}

int judge_texts(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                struct err *err)
{
    bool is_open = o->want == JUDGE_ANY;
    int rc = 0;

    *out = (struct judged){ .type = FRAME_CATEGORICAL };
    if (l->n == 0)
        return 0;
    if (is_open || o->want == JUDGE_NUMBERS)
        rc = judge_amounts(l, o, out, err);
    if (rc == 0 && (is_open || o->want == JUDGE_DATES))
        rc = judge_dates(l, o, out, err);
    if (rc == 0 && is_open)
        rc = judge_measures(l, o, out, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (o->want == JUDGE_TEXT)
        out->kind = FRAME_TEXT;
    else if (is_open || o->want == JUDGE_LIST)
        (void)(judge_list(l, o->want == JUDGE_LIST, out) || (is_open && judge_long_text(l, out)));
    return 0;
}

enum judge_doubt judge_words(const struct frame_levels *words, int64_t rows, int64_t distinct,
                             const struct judge_opts *opts, struct judged *out, struct err *err)
{
    struct judge_tally t = { .rows = rows, .distinct = distinct, .has_list = opts->has_list };
    struct form form;
    struct buf b;

    *out = (struct judged){ .type = FRAME_NUMERIC };
    for (int64_t i = 0; i < words->n; i++) {
        size_t n;
        const char *s = judge_text(words, i, &n);
        if (form_read(s, n, '.', &form) || form_read(s, n, ',', &form))
            return JUDGE_NEEDS_ALL;
        judge_tally_word(&t, s, words->count[i]);
    }
    if (opts->want != JUDGE_NUMBERS && !judge_tally_wins(&t))
        return JUDGE_IS_TEXT;
    out->not_numbers = t.other.rows;
    buf_init(&b, FRAME_MAX_NOTE);
    int rc = buf_adds(&b, "{\"read\":\"number\"", NULL);
    rc = rc == 0 ? judge_note_words(&b, &t, "not_numbers") : rc;
    rc = rc == 0 ? buf_adds(&b, "}", NULL) : rc;
    return judge_note_set(out, &b, rc, err) < 0 ? JUDGE_FAILED : JUDGE_IS_NUMERIC;
}

enum date_order judge_epoch(const char *name, double min, double max)
{
    static const char *const hints[] = { "time", "date", "epoch", "unix", "_ts", "_at" };
    /* 1990-01-01 and 2100-01-01 */
    const double from = 631152000, to = 4102444800;
    char lower[64] = "";
    bool is_hinted = false;

    for (size_t i = 0; name[i] && i + 1 < sizeof(lower); i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]);
    is_hinted = strcmp(lower, "ts") == 0;
    for (size_t i = 0; i < ARRAY_LEN(hints) && !is_hinted; i++) {
        const char *at = strstr(lower, hints[i]);
        /* "_ts" and "_at" only at the end */
        is_hinted = at && (hints[i][0] != '_' || at[strlen(hints[i])] == '\0');
    }
    if (!is_hinted)
        return DATE_BY_VALUES;
    if (min >= from && max <= to)
        return DATE_EPOCH_S;
    return min >= from * 1000 && max <= to * 1000 ? DATE_EPOCH_MS : DATE_BY_VALUES;
}

/* Days from 1900 to 2100. Of whole numbers in this range one in 27 is a day of the calendar, so
 * that a few different ones leave no doubt. */
enum { FIRST_DAY = 19000101, LAST_DAY = 21001231, LEAST_DAYS = 4 };

bool judge_may_be_whole_days(double min, double max, int64_t distinct)
{
    return min >= FIRST_DAY && max <= LAST_DAY && distinct >= LEAST_DAYS;
}

bool judge_is_whole_day(double number)
{
    return number >= FIRST_DAY && number <= LAST_DAY && !isnan(date_whole(number));
}
