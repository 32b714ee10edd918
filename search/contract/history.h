/* history.h - what every sampler that learns keeps of its study: each trial's point, its state, and
 * its values by level. Pure data: which trials are good and which level is modelled is for the
 * sampler to decide.
 *
 * Levels are counted from the top of the trial's own ladder: `below` 0 is the top, 1 the level
 * under it. So trials of families with ladders of different length are compared from the top
 * downwards.
 *
 * Merging. For each trial and level the first value is kept, except that the value with which a
 * trial ended replaces a report. The first end is kept. So observations may come in any order, and
 * a repeated one changes nothing.
 *
 * Rows are numbered as they came and never move. What must be visited in the order of trials goes
 * by `order`. */
#ifndef SEARCH_CONTRACT_HISTORY_H
#define SEARCH_CONTRACT_HISTORY_H

#include "search/contract/sampler.h"
#include "search/space/packed_points.h"

enum { HISTORY_MORE = SEARCH_MAX_OBJECTIVES - 1 };

struct history_report { /* 16 bytes, because every trial has one */
    double value;
    float error; /* observation.error; 0 = not known */
    int below : 24;
    bool is_final : 1;
};
struct history_row {
    int64_t trial;
    double cost;                    /* the largest reported */
    struct history_report *reports; /* by `below`, highest level first */
    int n_reports;                  /* there is room for the next power of two */
    int max_level;                  /* 0 = not known yet */
    enum obs_state state;           /* RUNNING until its end came */
};
/* The trials with a value at one level, best first; equal values by trial, NaN as -infinity. */
struct history_entry {
    double value;
    int64_t trial;
    int row;
};
struct history_ranking {
    int below, n, cap;
    struct history_entry *entries;
};
struct history_list {
    int *rows, n, cap; /* in order of trials */
};
struct history {
    const struct space *space; /* borrowed */
    int n, cap;
    struct history_row *rows;
    struct packed_points points; /* of the rows */
    double *more;                /* HISTORY_MORE a row at its highest level; NULL = all 0 */
    struct history_list order;   /* every row */
    struct history_list silent;  /* running without any report: the pending ones */
    struct history_list failed;
    struct history_ranking
        *rankings; /* by `below`, the top first; levels without a value have none */
    int n_rankings, cap_rankings;
};

void history_init(struct history *h, const struct space *space);
void history_fini(struct history *h);
/* Adds a trial that runs from now on; its point is already checked. Returns its row, or -1 if the
 * trial is there already, which then stays as it is. */
int history_add(struct history *h, int64_t trial, const double *point);
int history_find(const struct history *h, int64_t trial); /* its row, or -1 */
/* True if the observation changed anything. */
bool history_observe(struct history *h, const struct observation *o);

/* Writes the row's space->n values, or their places in the unit cube (space_to_unit). */
void history_point(const struct history *h, int row, double *point);
void history_unit(const struct history *h, int row, double *unit);
/* The further objectives at its highest level, HISTORY_MORE of them. */
const double *history_more(const struct history *h, int row);
const struct history_report *history_at(const struct history *h, int row, int below); /* or NULL */
const struct history_ranking *history_ranking(const struct history *h, int below);    /* or NULL */

#endif
