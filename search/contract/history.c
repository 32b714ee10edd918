/* history.c - the trials of a study and their values, sorted at all times, so that a suggestion
 * need not sort anything. Each level has its trials in order of value, and pending and failed
 * trials have lists of their own. A report costs a binary search and one memmove. A trial takes
 * about 130 bytes in addition to the active values of its point. */
#include "search/contract/history.h"

#include "base/bisect.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void history_init(struct history *h, const struct space *space)
{
    memset(h, 0, sizeof *h);
    h->space = space;
    packed_points_init(&h->points, space);
}

void history_fini(struct history *h)
{
    for (int i = 0; i < h->n; i++)
        mem_free(h->rows[i].reports);
    for (int i = 0; i < h->n_rankings; i++)
        mem_free(h->rankings[i].entries);
    mem_free(h->rows);
    mem_free(h->more);
    packed_points_fini(&h->points);
    mem_free(h->order.rows);
    mem_free(h->silent.rows);
    mem_free(h->failed.rows);
    mem_free(h->rankings);
    history_init(h, h->space);
}

/* ---- lists of rows in order of trials ---- */

/* The place of a trial in a list, or the place where it belongs. */
static int list_place(const struct history *h, const struct history_list *l, int64_t trial)
{
    int at;

    /* A trial that is added is nearly always the newest. */
    if (l->n > 0 && h->rows[l->rows[l->n - 1]].trial < trial)
        return l->n;
    BISECT(at, l->n, h->rows[l->rows[at]].trial < trial);
    return at;
}

static bool list_holds(const struct history *h, const struct history_list *l, int at, int64_t trial)
{
    return at < l->n && h->rows[l->rows[at]].trial == trial;
}

static void list_add(const struct history *h, struct history_list *l, int row)
{
    int at = list_place(h, l, h->rows[row].trial);

    MEM_GROW(l->rows, l->n, l->cap);
    memmove(l->rows + at + 1, l->rows + at, (size_t)(l->n - at) * sizeof *l->rows);
    l->rows[at] = row;
    l->n++;
}

static void list_remove(const struct history *h, struct history_list *l, int row)
{
    int at = list_place(h, l, h->rows[row].trial);

    if (!list_holds(h, l, at, h->rows[row].trial))
        return;
    l->n--;
    memmove(l->rows + at, l->rows + at + 1, (size_t)(l->n - at) * sizeof *l->rows);
}

/* ---- rankings: one level's trials, best first ---- */

/* A value that is not a number ranks last. */
static double rank_value(double value)
{
    return isnan(value) ? -INFINITY : value;
}

static bool stands_before(const struct history_entry *a, const struct history_entry *b)
{
    double x = rank_value(a->value), y = rank_value(b->value);

    return x != y ? x > y : a->trial < b->trial;
}

/* The place of an entry in a ranking, or the place where it belongs. */
static int entry_place(const struct history_ranking *b, const struct history_entry *e)
{
    int at;

    BISECT(at, b->n, stands_before(&b->entries[at], e));
    return at;
}

/* The place of a level among the rankings, or the place where it belongs. */
static int ranking_place(const struct history *h, int below)
{
    int at;

    BISECT(at, h->n_rankings, h->rankings[at].below < below);
    return at;
}

const struct history_ranking *history_ranking(const struct history *h, int below)
{
    int at = ranking_place(h, below);

    return at < h->n_rankings && h->rankings[at].below == below ? &h->rankings[at] : NULL;
}

/* The ranking of a level; a new one is added. */
static struct history_ranking *ranking_open(struct history *h, int below)
{
    int at = ranking_place(h, below);

    if (at < h->n_rankings && h->rankings[at].below == below)
        return &h->rankings[at];
    MEM_GROW(h->rankings, h->n_rankings, h->cap_rankings);
    memmove(h->rankings + at + 1, h->rankings + at,
            (size_t)(h->n_rankings - at) * sizeof *h->rankings);
    h->rankings[at] = (struct history_ranking){ .below = below };
    h->n_rankings++;
    return &h->rankings[at];
}

static void ranking_append(struct history_ranking *b, const struct history_entry *e)
{
    MEM_GROW(b->entries, b->n, b->cap);
    b->entries[b->n++] = *e;
}

static void ranking_add(struct history *h, int below, const struct history_entry *e)
{
    struct history_ranking *b = ranking_open(h, below);
    int at = entry_place(b, e);

    ranking_append(b, e);
    memmove(b->entries + at + 1, b->entries + at, (size_t)(b->n - 1 - at) * sizeof *b->entries);
    b->entries[at] = *e;
}

static void ranking_remove(struct history *h, int below, const struct history_entry *e)
{
    struct history_ranking *b = ranking_open(h, below);
    int at = entry_place(b, e);

    CHECK(b->entries && at < b->n && b->entries[at].trial == e->trial);
    b->n--;
    memmove(b->entries + at, b->entries + at + 1, (size_t)(b->n - at) * sizeof *b->entries);
}

/* ---- trials ---- */

int history_find(const struct history *h, int64_t trial)
{
    int at = list_place(h, &h->order, trial);

    return list_holds(h, &h->order, at, trial) ? h->order.rows[at] : -1;
}

void history_point(const struct history *h, int row, double *point)
{
    packed_points_get(&h->points, (size_t)row, point);
}

void history_unit(const struct history *h, int row, double *unit)
{
    history_point(h, row, unit);
    space_to_unit(h->space, unit, unit);
}

const double *history_more(const struct history *h, int row)
{
    static const double none[HISTORY_MORE];

    return h->more ? h->more + (size_t)row * HISTORY_MORE : none;
}

/* Room is made for all rows when the first one has more than zeros: most studies have one
 * objective. */
static void history_more_set(struct history *h, int row, const double *more)
{
    bool has_more = false;

    for (int i = 0; i < HISTORY_MORE; i++)
        has_more = has_more || more[i] != 0;
    if (!h->more && !has_more)
        return;
    if (!h->more)
        h->more = mem_array((size_t)h->cap * HISTORY_MORE, sizeof *h->more);
    memcpy(h->more + (size_t)row * HISTORY_MORE, more, HISTORY_MORE * sizeof *more);
}

static void rows_grow(struct history *h)
{
    h->cap = (int)mem_more((size_t)h->cap);
    h->rows = mem_resize(h->rows, (size_t)h->cap * sizeof *h->rows);
    if (h->more)
        h->more = mem_resize(h->more, (size_t)h->cap * HISTORY_MORE * sizeof *h->more);
}

int history_add(struct history *h, int64_t trial, const double *point)
{
    int row = h->n;

    if (history_find(h, trial) >= 0)
        return -1;
    if (h->n == h->cap)
        rows_grow(h);
    h->rows[row] = (struct history_row){ .trial = trial, .state = OBS_RUNNING };
    if (h->more)
        memset(h->more + (size_t)row * HISTORY_MORE, 0, HISTORY_MORE * sizeof *h->more);
    packed_points_add(&h->points, point);
    h->n++;
    list_add(h, &h->order, row);
    list_add(h, &h->silent, row);
    return row;
}

/* ---- observations ---- */

/* The place of a level among the trial's reports, or the place where it belongs. There are few, so
 * they are searched in order. */
static int report_place(const struct history_row *r, int below)
{
    int i = 0;

    while (i < r->n_reports && r->reports[i].below < below)
        i++;
    return i;
}

const struct history_report *history_at(const struct history *h, int row, int below)
{
    CHECK(row >= 0 && row < h->n);
    const struct history_row *r = &h->rows[row];
    int i = report_place(r, below);

    return i < r->n_reports && r->reports[i].below == below ? &r->reports[i] : NULL;
}

static void report_add(struct history_row *r, int at, const struct history_report *report)
{
    bool is_full = (r->n_reports & (r->n_reports - 1)) == 0; /* at 0, 1, 2, 4, 8 ... */

    if (is_full)
        r->reports = mem_resize(r->reports, (size_t)MAX(2 * r->n_reports, 1) * sizeof *r->reports);
    memmove(r->reports + at + 1, r->reports + at, (size_t)(r->n_reports - at) * sizeof *r->reports);
    r->reports[at] = *report;
    r->n_reports++;
}

static float known_error(double error)
{
    return error > 0 && error < 1e30 ? (float)error : 0;
}

/* Keeps the value at its level, and the further objectives at the highest level. True if anything
 * changed. */
static bool keep_value(struct history *h, int row, const struct observation *o, int below)
{
    struct history_row *r = &h->rows[row];
    struct history_report report = { o->value, known_error(o->error), below,
                                     o->state != OBS_RUNNING };
    struct history_entry entry = { o->value, r->trial, row };
    int at = report_place(r, below);

    if (at < r->n_reports && r->reports[at].below == below) {
        if (!report.is_final || r->reports[at].is_final)
            return false;
        struct history_entry old = { r->reports[at].value, r->trial, row };
        ranking_remove(h, below, &old);
        r->reports[at] = report;
    } else {
        report_add(r, at, &report);
    }
    ranking_add(h, below, &entry);
    if (at == 0)
        history_more_set(h, row, o->more);
    return true;
}

bool history_observe(struct history *h, const struct observation *o)
{
    int row = history_find(h, o->trial);
    bool has_value = o->state != OBS_FAILED && o->state != OBS_CANCELLED, is_end = false;

    if (row < 0)
        return false;
    struct history_row *r = &h->rows[row];
    if (o->state != OBS_RUNNING) {
        if (r->state != OBS_RUNNING) /* the first end stays */
            return false;
        is_end = true;
        r->state = o->state;
        list_remove(h, &h->silent, row);
        if (o->state == OBS_FAILED)
            list_add(h, &h->failed, row);
    }
    bool is_costlier = o->cost > r->cost;
    if (is_costlier)
        r->cost = o->cost;
    if (r->max_level == 0)
        r->max_level = MAX(o->max_level, MAX(o->level, 1));
    if (!has_value || o->level < 0)
        return is_end || is_costlier;
    bool is_kept = keep_value(h, row, o, MAX(r->max_level - o->level, 0));
    if (is_kept)
        list_remove(h, &h->silent, row);
    return is_kept || is_end || is_costlier;
}
