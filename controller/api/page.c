/* page.c - what the web page asks about one study: everything for its first view in one answer,
 * what changed since then, the facts of all trials as columns, and the rows of some trials. Nothing
 * here changes a study.
 *
 * Answers are written as JSON text directly, because they are long, and a tree of JSON values would
 * cost several times as much. A trial's row has the same shape in all answers. Rows are read from
 * the store; columns come from memory alone.
 *
 * Each answer carries `seq`, a number of the journal up to which it is complete; the page asks for
 * changes after it. What is shown may be newer than `seq`, so a change may be told twice, but none
 * is missed. */
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/rungs.h"
#include "controller/settle/load.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"
#include "controller/view/analysis.h"
#include "controller/view/show.h"
#include "store/journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 1000,      /* rows of trials in one answer */
    NUMBERS_MAX = 300,    /* trials that are asked for by their numbers */
    COLUMNS_MAX = 10000,  /* trials of one page of columns, */
    CONFIGS_MAX = 2000,   /* and of one with configurations, which are read from rows */
    JOURNAL_BATCH = 4000, /* lines of the journal that one question about changes looks at */
    TOO_FAR = 10000       /* lines behind: the page is told to begin anew, which is cheaper */
};
/* Bits of the column "flags". The page knows them by these numbers. */
enum { FLAG_RANKED = 1, FLAG_ARTIFACT = 2, FLAG_CUT = 4 };

/* ---- text ---- */

/* Writes a number with so many digits; NaN and infinities become null. */
static int add_real(struct buf *out, double v, int digits, struct err *err)
{
    return isfinite(v) ? buf_addf(out, err, "%.*g", digits, v) : buf_adds(out, "null", err);
}

static int add_real_key(struct buf *out, const char *key, double v, struct err *err)
{
    return buf_addf(out, err, ",\"%s\":", key) < 0 ? -1 : add_real(out, v, 17, err);
}

/* Takes the value over. */
static int add_json(struct buf *out, const char *key, json_t *v, struct err *err)
{
    char *text = jsonx_dump(v);
    int rc = buf_addf(out, err, "\"%s\":", key) < 0 ? -1 : buf_adds(out, text, err);

    json_decref(v);
    mem_free(text);
    return rc;
}

/* A stored configuration is JSON already and is copied. It is parsed only to make sure that a
 * damaged one does not break the whole answer. */
static int add_config(struct buf *out, const char *text, struct err *err)
{
    json_t *v = jsonx_load(text, strlen(text), "config", NULL);
    int rc = buf_adds(out, v ? text : "null", err);

    json_decref(v);
    return rc;
}

/* 0 stands for an unknown fact. */
static int add_fact(struct buf *out, const char *key, int64_t v, struct err *err)
{
    return v ? buf_addf(out, err, ",\"%s\":%" PRId64, key, v)
             : buf_addf(out, err, ",\"%s\":null", key);
}

/* ---- one row ---- */

/* Whether the trial is on the leaderboard. */
static bool is_ranked(const struct trial_mem *t)
{
    return t->state == TS_COMPLETED && !isnan(t->score);
}

/* The values beside the score that a user's program told of a completed trial. */
static int add_values(struct buf *out, const struct study *st, const struct trial_mem *t,
                      struct err *err)
{
    int rc = 0;

    for (int i = 1; st->spec.is_own && i < st->spec.n_objectives && rc == 0; i++)
        rc = add_real_key(out, analysis_fact_name[st->spec.objectives[i]], t->values[i - 1], err);
    return rc;
}

/* One trial as an object. is_front = the marks of show_front_new; NULL = the study has one
 * objective. */
static int add_row(struct buf *out, const struct study *st, const struct trial_row *row,
                   const bool *is_front, struct err *err)
{
    const struct trial_mem *t = &st->trials[row->number - 1];
    bool ranked = is_ranked(t);

    if (buf_addf(out, err,
                 "{\"trial\":%" PRId64 ",\"number\":%" PRId64
                 ",\"family\":\"%s\",\"state\":\"%s\",\"reason\":\"%s\",\"source\":\"%s\""
                 ",\"level\":%d,\"max_level\":%d,\"artifact\":%s,\"cut\":%s",
                 row->id, row->number, row->family, trial_state_name[row->state],
                 trial_reason_name[row->reason], trial_source_name[t->source], row->level,
                 row->max_level, row->artifact[0] ? "true" : "false",
                 t->is_cut ? "true" : "false") < 0 ||
        add_fact(out, "rank", ranked ? board_rank(st, row->number) : 0, err) < 0 ||
        add_real_key(out, "score", ranked ? row->score : NAN, err) < 0 ||
        add_real_key(out, "reported", row->score, err) < 0 ||
        add_real_key(out, "se", row->score_se, err) < 0 ||
        add_real_key(out, "test_score", row->test_score, err) < 0 ||
        add_real_key(out, "test_se", row->test_se, err) < 0 ||
        add_fact(out, "fit_us", t->fit_us, err) < 0 ||
        add_fact(out, "predict_ns_row", t->predict_ns, err) < 0 ||
        add_fact(out, "model_bytes", t->model_bytes, err) < 0 ||
        add_fact(out, "started_at", row->started_at, err) < 0 ||
        add_fact(out, "ended_at", row->ended_at, err) < 0 || add_values(out, st, t, err) < 0 ||
        (is_front &&
         buf_addf(out, err, ",\"front\":%s", is_front[row->number - 1] ? "true" : "false") < 0) ||
        buf_adds(out, ",", err) < 0 || add_json(out, "detail", show_text(row->detail), err) < 0 ||
        buf_adds(out, ",\"config\":", err) < 0 || add_config(out, row->config, err) < 0)
        return -1;
    return buf_adds(out, "}", err);
}

/* The array of rows in an answer, while it is written. */
struct rows {
    struct study *st;
    struct buf *out;
    bool *is_front; /* owned; NULL with one objective */
    int n, limit;
};

static int rows_begin(struct rows *rows, struct study *st, int limit, struct buf *out,
                      struct err *err)
{
    *rows = (struct rows){ st, out, NULL, 0, limit };
    if (buf_adds(out, "\"rows\":[", err) < 0)
        return -1;
    rows->is_front = show_front_new(st);
    return 0;
}

static int rows_add(struct rows *rows, int64_t number, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(rows->st, number, &row, err);

    if (rc == 0 && rows->n++ > 0)
        rc = buf_adds(rows->out, ",", err);
    if (rc == 0)
        rc = add_row(rows->out, rows->st, &row, rows->is_front, err);
    trial_row_fini(&row);
    return rc;
}

static int rows_end(struct rows *rows, struct err *err)
{
    mem_free(rows->is_front);
    rows->is_front = NULL;
    return buf_adds(rows->out, "]}", err);
}

/* ---- the first view ---- */

/* The leaderboard, then the newest trials that are not on it. */
static int add_first_rows(struct rows *rows, struct err *err)
{
    struct study *st = rows->st;

    for (int i = 0; i < st->n_board && rows->n < rows->limit; i++) {
        if (rows_add(rows, st->board[i], err) < 0)
            return -1;
    }
    for (int64_t k = st->n_trials; k >= 1 && rows->n < rows->limit; k--) {
        if (!is_ranked(&st->trials[k - 1]) && rows_add(rows, k, err) < 0)
            return -1;
    }
    return 0;
}

/* The beginning of an answer: seq and the study. */
static int add_head(struct buf *out, struct study *st, int64_t seq, bool whole, struct err *err)
{
    json_t *study = show_study(st, whole, err);

    if (!study)
        return -1;
    if (!whole && !study_is_final(st->row.state))
        json_object_set_new(study, "brackets", rungs_json(st));
    return buf_addf(out, err, "{\"seq\":%" PRId64 ",", seq) < 0 ||
                   add_json(out, "study", study, err) < 0
               ? -1
               : buf_adds(out, ",", err);
}

int ctl_study_page(struct ctl *ctl, const char *ref, int limit, struct buf *out, struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    struct rows rows = { 0 };

    if (!st || add_head(out, st, ctl->events_sent, true, err) < 0 ||
        rows_begin(&rows, st, MIN(limit, ROWS_MAX), out, err) < 0)
        return -1;
    int rc = add_first_rows(&rows, err);
    return rows_end(&rows, err) < 0 ? -1 : rc;
}

/* ---- changes ---- */

/* Trials that lines of the journal are about. */
struct changed {
    int64_t *trials; /* ids, each once; owned */
    int n, limit;
    int64_t seq; /* the last line that counts in this answer */
    int64_t to;  /* lines beyond this one are not committed yet */
    int seen;    /* lines that were looked at */
    bool more;   /* there are more lines for a further answer */
};

/* Notes the trial of one line of the journal. Newer lines are mostly about the same few trials, so
 * the list is searched from its end. */
static int on_change(void *arg, const struct journal_row *row)
{
    struct changed *c = arg;

    if (row->seq > c->to)
        return 1;
    c->seen++;
    for (int i = c->n - 1; row->trial && i >= 0; i--) {
        if (c->trials[i] == row->trial) {
            c->seq = row->seq;
            return 0;
        }
    }
    if (row->trial && c->n == c->limit) {
        c->more = true;
        return 1;
    }
    if (row->trial)
        c->trials[c->n++] = row->trial;
    c->seq = row->seq;
    return 0;
}

/* The rows of the trials that changed, as they are now. */
static int add_changed(struct rows *rows, const struct changed *c, struct err *err)
{
    struct study *st = rows->st;
    int rc = 0;

    for (int i = 0; i < c->n && rc == 0; i++) {
        struct trial_row row = { 0 };

        rc = store_trial_get(st->ctl->store, c->trials[i], &row, err);
        if (rc == 1 && row.study == st->row.id && row.number >= 1 && row.number <= st->n_trials) {
            rc = rows->n++ > 0 ? buf_adds(rows->out, ",", err) : 0;
            if (rc == 0)
                rc = add_row(rows->out, st, &row, rows->is_front, err);
        }
        rc = MIN(rc, 0);
        trial_row_fini(&row);
    }
    return rc;
}

/* Finds the trials that changed after the line `after`. *is_reset = the page is too far behind, or
 * knows a line that this database does not have (a backup was restored), and must begin anew. */
static int find_changed(struct study *st, int64_t after, struct changed *c, bool *is_reset,
                        struct err *err)
{
    struct store *store = st->ctl->store;
    int64_t n = 0;

    CHECK(c->n == 0 && c->limit <= ROWS_MAX);
    c->to = st->ctl->events_sent;
    c->seq = after;
    *is_reset = after > c->to;
    if (!*is_reset && c->to - after > TOO_FAR) {
        if (store_journal_count(store, st->row.id, after, TOO_FAR, &n, err) < 0)
            return -1;
        *is_reset = n == TOO_FAR;
    }
    if (*is_reset)
        return 0;
    if (store_journal_each(store, st->row.id, after, JOURNAL_BATCH, on_change, c, err) < 0)
        return -1;
    if (c->seen == JOURNAL_BATCH)
        c->more = true;
    if (!c->more)
        c->seq = c->to;
    return 0;
}

/* The trials whose models are kept. The page needs them with each answer, because the journal has
 * no line when a model is no longer kept. */
static int add_kept(struct buf *out, const struct study *st, struct err *err)
{
    if (buf_adds(out, "\"kept\":[", err) < 0)
        return -1;
    for (int i = 0; i < st->n_kept; i++) {
        if (buf_addf(out, err, i ? ",%d" : "%d", st->kept[i]) < 0)
            return -1;
    }
    return buf_adds(out, "],", err);
}

int ctl_study_changes(struct ctl *ctl, const char *ref, int64_t after, int limit, struct buf *out,
                      struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    struct changed c = { .limit = MIN(limit, ROWS_MAX) };
    struct rows rows = { 0 };
    bool is_reset = false;
    int rc = -1;

    if (!st)
        return -1;
    c.trials = mem_array((size_t)c.limit, sizeof *c.trials);
    if (find_changed(st, after, &c, &is_reset, err) < 0 ||
        add_head(out, st, is_reset ? ctl->events_sent : c.seq, false, err) < 0 ||
        buf_addf(out, err, "\"more\":%s,\"reset\":%s,", c.more ? "true" : "false",
                 is_reset ? "true" : "false") < 0 ||
        add_kept(out, st, err) < 0 || rows_begin(&rows, st, c.limit, out, err) < 0)
        goto out;
    rc = add_changed(&rows, &c, err);
    if (rows_end(&rows, err) < 0)
        rc = -1;
out:
    mem_free(c.trials);
    return rc;
}

/* ---- columns ---- */

/* Writes the decimal digits by hand, because a page of columns has a hundred thousand numbers. */
static int add_int(struct buf *out, int64_t v, struct err *err)
{
    char text[24], *p = text + sizeof text;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        *--p = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        *--p = '-';
    return buf_add(out, p, (size_t)(text + sizeof text - p), err);
}

enum column {
    C_TRIAL,
    C_STATE,
    C_REASON,
    C_FAMILY,
    C_LEVEL,
    C_MAX_LEVEL,
    C_FIT,
    C_PREDICT,
    C_BYTES,
    C_ENDED,
    C_FLAGS,
    C_KINDS
};
static const char *const column_name[C_KINDS] = {
    "trial",  "state",          "reason",      "family",   "level", "max_level",
    "fit_us", "predict_ns_row", "model_bytes", "ended_at", "flags",
};

static int64_t column_of(const struct trial_mem *t, enum column c)
{
    switch (c) {
    case C_TRIAL:
        return t->id;
    case C_STATE:
        return t->state;
    case C_REASON:
        return t->reason;
    case C_FAMILY:
        return MAX(t->family, 0);
    case C_LEVEL:
        return t->level;
    case C_MAX_LEVEL:
        return t->max_level;
    case C_FIT:
        return t->fit_us;
    case C_PREDICT:
        return t->predict_ns;
    case C_BYTES:
        return t->model_bytes;
    case C_ENDED:
        return t->ended_at;
    default:
        return (is_ranked(t) ? FLAG_RANKED : 0) | (t->has_artifact ? FLAG_ARTIFACT : 0) |
               (t->is_cut ? FLAG_CUT : 0);
    }
}

static int add_column(struct buf *out, const struct study *st, enum column c, int64_t from,
                      int64_t to, struct err *err)
{
    if (buf_addf(out, err, ",\"%s\":[", column_name[c]) < 0)
        return -1;
    for (int64_t k = from; k <= to; k++) {
        if ((k > from && buf_add(out, ",", 1, err) < 0) ||
            add_int(out, column_of(&st->trials[k - 1], c), err) < 0)
            return -1;
    }
    return buf_adds(out, "]", err);
}

static int add_scores(struct buf *out, const struct study *st, int64_t from, int64_t to,
                      struct err *err)
{
    if (buf_adds(out, ",\"score\":[", err) < 0)
        return -1;
    for (int64_t k = from; k <= to; k++) {
        if ((k > from && buf_add(out, ",", 1, err) < 0) ||
            add_real(out, st->trials[k - 1].score, 10, err) < 0)
            return -1;
    }
    return buf_adds(out, "]", err);
}

/* The columns that only rows hold: configurations and test scores. */
static int add_configs(struct buf *out, struct study *st, int64_t from, int64_t to, struct err *err)
{
    struct buf tests;
    int rc = buf_adds(out, ",\"config\":[", err);

    buf_init(&tests, SIZE_MAX);
    if (rc == 0)
        rc = buf_adds(&tests, "],\"test_score\":[", err);
    for (int64_t k = from; rc == 0 && k <= to; k++) {
        struct trial_row row = { 0 };

        if (k > from && (buf_add(out, ",", 1, err) < 0 || buf_add(&tests, ",", 1, err) < 0))
            rc = -1;
        if (rc == 0)
            rc = trial_load(st, k, &row, err);
        if (rc == 0 &&
            (add_config(out, row.config, err) < 0 || add_real(&tests, row.test_score, 10, err) < 0))
            rc = -1;
        trial_row_fini(&row);
    }
    if (rc == 0 && (buf_add(out, tests.data, tests.len, err) < 0 || buf_adds(out, "]", err) < 0))
        rc = -1;
    buf_fini(&tests);
    return rc;
}

/* Writes ,"key":["a","b"]. A NULL among the names becomes "". */
static int add_names(struct buf *out, const char *key, const char *const *names, int n,
                     struct err *err)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(names[i] ? names[i] : ""));
    return buf_adds(out, ",", err) < 0 ? (json_decref(list), -1) : add_json(out, key, list, err);
}

/* The words that the numbers in the columns "family", "state" and "reason" stand for. */
static int add_legend(struct buf *out, const struct study *st, struct err *err)
{
    const char *families[STUDY_MAX_FAMILIES + 1];

    for (int i = 0; i < st->n_families; i++)
        families[i] = st->families[i]->name;
    return add_names(out, "families", families, st->n_families, err) < 0 ||
                   add_names(out, "states", trial_state_name, TS_STATES, err) < 0
               ? -1
               : add_names(out, "reasons", trial_reason_name, TR_REASONS, err);
}

/* What a user's program told beside the score: one array for each further objective. */
static int add_told(struct buf *out, const struct study *st, int64_t from, int64_t to,
                    struct err *err)
{
    for (int i = 1; st->spec.is_own && i < st->spec.n_objectives; i++) {
        if (buf_addf(out, err, ",\"%s\":[", analysis_fact_name[st->spec.objectives[i]]) < 0)
            return -1;
        for (int64_t k = from; k <= to; k++) {
            if ((k > from && buf_add(out, ",", 1, err) < 0) ||
                add_real(out, st->trials[k - 1].values[i - 1], 10, err) < 0)
                return -1;
        }
        if (buf_adds(out, "]", err) < 0)
            return -1;
    }
    return 0;
}

int ctl_study_columns(struct ctl *ctl, const char *ref, int64_t after, int limit, bool with_config,
                      struct buf *out, struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);

    if (!st)
        return -1;
    if (with_config && limit > CONFIGS_MAX)
        return err_at(err, "limit", "with config=true at most %d", CONFIGS_MAX);
    int64_t from = after + 1, to = MIN(after + MIN(limit, COLUMNS_MAX), st->n_trials);
    if (buf_addf(out, err,
                 "{\"seq\":%" PRId64 ",\"from\":%" PRId64 ",\"count\":%" PRId64 ",\"total\":%d",
                 ctl->events_sent, from, MAX(to - after, 0), st->n_trials) < 0 ||
        add_fact(out, "next", to < st->n_trials ? to : 0, err) < 0 || add_legend(out, st, err) < 0)
        return -1;
    for (int c = 0; c < C_KINDS; c++) {
        if (add_column(out, st, (enum column)c, from, to, err) < 0)
            return -1;
    }
    if (add_scores(out, st, from, to, err) < 0 || add_told(out, st, from, to, err) < 0 ||
        (with_config && add_configs(out, st, from, to, err) < 0))
        return -1;
    return buf_adds(out, "}", err);
}

/* ---- rows of some trials ---- */

/* Exactly these trials, in the order in which their numbers are given: "5,17". */
static int add_numbered(struct rows *rows, const char *numbers, struct err *err)
{
    const char *p = numbers;

    for (int n = 0; *p; n++) {
        size_t len = strcspn(p, ",");
        char text[24];
        int64_t number = 0;

        if (n == NUMBERS_MAX)
            return err_at(err, "numbers", "at most %d numbers at a time", NUMBERS_MAX);
        str_copy(text, MIN(sizeof text, len + 1), p);
        if (str_i64(text, 1, INT32_MAX, &number, NULL) < 0)
            return err_at(err, "numbers", "must be numbers of trials with commas between them");
        if (number > rows->st->n_trials)
            return err_set(err, ERR_NOTFOUND, "study %s has no trial %" PRId64, rows->st->row.name,
                           number);
        if (rows_add(rows, number, err) < 0)
            return -1;
        p += len + (p[len] == ',');
    }
    return 0;
}

/* The newest trials first, from those with a number below `after`. */
static int add_newest(struct rows *rows, enum trial_state only, int64_t after, int64_t *next,
                      struct err *err)
{
    const struct study *st = rows->st;

    for (int64_t k = after ? MIN(after - 1, st->n_trials) : st->n_trials; k >= 1; k--) {
        if (only && st->trials[k - 1].state != only)
            continue;
        if (rows->n == rows->limit) {
            *next = k + 1;
            return 0;
        }
        if (rows_add(rows, k, err) < 0)
            return -1;
    }
    return 0;
}

/* Trials by rank, after the rank `after`. */
static int add_ranked(struct rows *rows, int64_t after, int64_t *next, struct err *err)
{
    const struct study *st = rows->st;
    int64_t k = after;

    for (; k < st->n_board && rows->n < rows->limit; k++) {
        if (rows_add(rows, st->board[k], err) < 0)
            return -1;
    }
    *next = k < st->n_board ? k : 0;
    return 0;
}

int ctl_study_rows(struct ctl *ctl, const char *ref, const struct ctl_rows *want, struct buf *out,
                   struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    bool by_rank = str_eq(want->sort, "rank");
    enum trial_state only = TS_NONE;
    struct rows rows = { 0 };
    int64_t next = 0;
    int rc = 0;

    if (!st || (want->state && want->state[0] && trial_state_parse(want->state, &only, err) < 0))
        return -1;
    if (want->sort && !by_rank && !str_eq(want->sort, "-number"))
        return err_at(err, "sort", "must be rank or -number");
    if (by_rank && only && only != TS_COMPLETED)
        return err_at(err, "state", "only completed trials have a rank");
    if (buf_addf(out, err, "{\"seq\":%" PRId64 ",", ctl->events_sent) < 0 ||
        rows_begin(&rows, st, MIN(want->limit, ROWS_MAX), out, err) < 0)
        return -1;
    if (want->numbers)
        rc = add_numbered(&rows, want->numbers, err);
    else if (by_rank)
        rc = add_ranked(&rows, want->after, &next, err);
    else
        rc = add_newest(&rows, only, want->after, &next, err);
    if (rc == 0)
        rc = buf_adds(out, "]", err) < 0 || add_fact(out, "next", next, err) < 0 ? -1 : 0;
    mem_free(rows.is_front);
    return rc < 0 ? -1 : buf_adds(out, "}", err);
}
