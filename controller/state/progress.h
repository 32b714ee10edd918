/* progress.h - what a study's `result` column holds until the study has ended, and what memory holds
 * of it. One object, whose keys are there as soon as they are known:
 *
 *   refit_task, ensemble_task    tasks that were asked for after the search (decide/finish.h)
 *   artifact                     what ships in place of the best trial's model; "" = nothing does
 *   test_score, test_se          of a refit
 *   ensemble                     what became of the ensemble; users see it in the result
 *   spare                        its file, where a refit was preferred: it ships if that does not come
 *   early                        of the ensemble that was made while the search went on
 *                                (decide/ensemble.h): {task, tried_ms, took_ms, artifact, ensemble,
 *                                best}
 *
 * When the study ends, settle/ship.c writes the result that users see in its place. While `early`
 * has an artifact or there is a spare, the study's column `artifact` names it, so that its file is kept
 * and can be downloaded. */
#ifndef CONTROLLER_STATE_PROGRESS_H
#define CONTROLLER_STATE_PROGRESS_H

#include "controller/state/study.h"

/* The object; empty where there is none or it cannot be read. The reference is new. */
json_t *progress_load(const struct study *st);
/* Writes it, and takes the reference over. */
int progress_save(struct study *st, json_t *o, struct err *err);
/* The study ends without a model: it has neither progress nor artifact. The caller writes the row. */
void progress_forget(struct study *st);

/* Fills study.refit and study.early from the row, when a study comes into memory. */
int progress_fill(struct study *st, struct err *err);

/* What memory holds of an early ensemble: its object as in the result, and the score of the trial that
 * stood for the study then; either may be NULL. */
void progress_early_note(struct study *st, const json_t *ensemble, const json_t *best);
/* Whether the ensemble that was made while the search went on is at least as good as the trial that
 * stands for the study: it was better than the best single model then by nested scores, and the best
 * score of a trial has not grown by more since. The two scores themselves do not compare: a trial's is
 * that of the best of many, an ensemble's is nested. */
bool progress_early_ships(const struct study *st);
/* What became of the ensemble: of an ended study the one that was looked for last, before that the
 * early one where it ships; NULL = there is none. The reference is new. */
json_t *progress_ensemble(const struct study *st);

#endif
