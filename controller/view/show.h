/* show.h - studies and trials as JSON. The shapes are those that controller/api.h describes. Every
 * answer that shows a study or a trial is made here, so that lists, single answers and the page
 * agree. Nothing here changes a study. */
#ifndef CONTROLLER_VIEW_SHOW_H
#define CONTROLLER_VIEW_SHOW_H

#include "controller/state/study.h"

/* The state that is shown for a study whose rows cannot be read. It is in no row. */
#define SHOW_DAMAGED "damaged"

/* A study; whole = with its spec, its data and its brackets. NULL if its best trial cannot be
 * read. */
json_t *show_study(struct study *st, bool whole, struct err *err);
/* What can be said of a study that is not in memory because of `why` (state/damage.h). */
json_t *show_damaged(struct ctl *ctl, int64_t id, const struct err *why);
/* The same of one that is still being read after the start (settle/load_start.h). */
json_t *show_unread(struct ctl *ctl, int64_t id);
json_t *show_trial(const struct trial_row *row);
json_t *show_board_row(const struct trial_row *row, int64_t rank); /* rank from 1 */
/* For each trial, by number - 1: whether no other trial beats it in all objectives of the study.
 * NULL if the study has one objective. The caller frees it (mem_free). */
bool *show_front_new(struct study *st);
json_t *show_id(const char *sha256); /* a JSON null for "" */
/* A stored text as a JSON string; NULL and "" become a JSON null. Bytes that are no UTF-8 become
 * '?': a text that was cut in the middle of a letter, or damaged, must not make the whole answer
 * impossible. */
json_t *show_text(const char *s);

#endif
