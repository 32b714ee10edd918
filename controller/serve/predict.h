/* predict.h - the predictor: a process that loads models and predicts rows, so that the controller
 * links no model code and never waits for it. It is started at the first request, answers one at a
 * time, and is killed when it takes longer than PREDICT_LIMIT_MS. */
#ifndef CONTROLLER_SERVE_PREDICT_H
#define CONTROLLER_SERVE_PREDICT_H

#include "controller/state/ctl.h"

enum { PREDICT_LIMIT_MS = 30000, PREDICT_WAITING = 64 };

/* head: a request of proto/predict.h, which is taken. by: any number that stands for the client,
 * which may have half of all waiting requests. If the call returns 0, on_done is called once in a
 * later turn. */
int predict_ask(struct ctl *ctl, int64_t by, json_t *head_steal, const void *body, size_t n,
                void (*on_done)(void *arg, const struct ctl_predicted *out, const struct err *err),
                void *arg, struct err *err);
/* Ends the process. Whoever waits is told that the controller stops. */
void predict_free(struct ctl *ctl);

#endif
