/* history_private.h - private to history.c and history_state.c: the two ends of loading. */
#ifndef SEARCH_CONTRACT_HISTORY_PRIVATE_H
#define SEARCH_CONTRACT_HISTORY_PRIVATE_H

#include "search/contract/history.h"

/* Puts a report at a place of the row; order and boards are the caller's. */
void history_report_add(struct history_row *r, int at, const struct history_report *report);
/* The further objectives of a row, HISTORY_MORE of them. */
void history_more_set(struct history *h, int row, const double *more);
/* Fills lists and boards from rows that were added and given their states and reports directly. */
void history_index(struct history *h);

#endif
