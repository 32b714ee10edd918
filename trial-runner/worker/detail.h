/* detail.h - what a trial tells of itself as JSON: its result, and how its networks learned. */
#ifndef TRIAL_RUNNER_WORKER_DETAIL_H
#define TRIAL_RUNNER_WORKER_DETAIL_H

#include "ml/fit/fit.h"

/* Points of a message that comes every second, and of one that ends something. */
enum { DETAIL_EPOCHS_SOON = 64, DETAIL_EPOCHS = FIT_EPOCHS };

/* msg_event.detail of a result; the caller frees it. prepared: the table as the trial wants it, of
 * which the pipeline is told. warned: NULL, or a problem and the columns that
 * it was opened by, whose warnings (ml/fit/warnings.h) are told too. */
char *detail_result_new(const struct family *f, const struct fit_result *r,
                        const struct ml_data *prepared, struct ml_data *warned,
                        const struct ml_rows_spec *by);
/* msg_event.epochs: at most `most` points; *last: the last epoch that ended. NULL: the family has
 * no epochs, or none has ended. The caller frees it. */
char *detail_epochs_new(const struct fit_trial *t, int most, int64_t *last);

#endif
