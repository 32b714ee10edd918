/* history.h - what every sampler that learns keeps of its study: each trial's point, state, and values by level. Pure
 * data, no opinion: who is good and what is modelled is the sampler's.
 *
 * Levels are counted from the top of the trial's own ladder: `below` 0 is the full resource, 1 the level under it, so
 * that families with ladders of different length meet at the top (max_resource - resource).
 *
 * Merging: for each trial and level the first value stays, save that the value a trial ended with replaces a report; the
 * first end stays. So observations may come in any order, and one that came before changes nothing.
 *
 * Rows are numbered as they came and never move; what is iterated in order goes by `order`. */
#ifndef SEARCH_CONTRACT_HISTORY_H
#define SEARCH_CONTRACT_HISTORY_H

#include "search/contract/sampler.h"
#include "search/space/packed_points.h"

enum { HISTORY_MORE = SEARCH_MAX_OBJECTIVES - 1 };

struct history_report {
    double value;
    int below;
    bool is_final;
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
struct history_board {
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
    struct history_board *boards; /* by `below`, the top first; levels without a value have none */
    int n_boards, cap_boards;
};

void history_init(struct history *h, const struct space *space);
void history_fini(struct history *h);
/* A trial that runs from now on, its point already checked. Its row, or -1 when the trial is there already (it stays as it
 * is). */
int history_add(struct history *h, int64_t trial, const double *point);
int history_find(const struct history *h, int64_t trial); /* its row or -1 */
/* True when it changed anything. */
bool history_observe(struct history *h, const struct observation *o);

/* Writes the row's space->n values, or their places in the unit cube (space_to_unit). */
void history_point(const struct history *h, int row, double *point);
void history_unit(const struct history *h, int row, double *unit);
/* The further objectives at its highest level, HISTORY_MORE of them. */
const double *history_more(const struct history *h, int row);
const struct history_report *history_at(const struct history *h, int row, int below); /* or NULL */
const struct history_board *history_board(const struct history *h, int below);        /* or NULL */

#endif
