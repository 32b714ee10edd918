/* ask.h - what ask.c and tell.c share: the two halves of ask and tell. */
#ifndef CONTROLLER_API_ASK_H
#define CONTROLLER_API_ASK_H

#include "controller/state/study.h"

#include <jansson.h>

enum { ASK_MOST = 256 }; /* trials in one answer, results in one call */

/* How many trials a client wants. */
struct asked {
    const char *client;        /* borrowed from the body */
    int64_t count;             /* so many it runs now */
    int64_t ahead;             /* and so many more it would keep for later: see add_new in ask.c */
    int64_t holding[ASK_MOST]; /* of these it has the answer: they are not given to it again */
    int n_holding;
    int64_t wait_ms; /* so long the call may wait for a trial (ctl_study_hold) */
};

/* Reads `client`, `count` (the least one unless it is given), `ahead`, `holding` and `wait_ms`. */
int ask_parse(struct asked *a, const json_t *body, int64_t least_count, struct err *err);
int ask_client(const json_t *body, const char **client, struct err *err);
/* The study, if its trials are asked for by programs; else NULL and an error. */
struct study *ask_study(struct ctl *ctl, const char *ref, struct err *err);
/* The answer to a client that asks for trials of the study. */
int ask_answer(struct study *st, const struct asked *a, json_t **out, struct err *err);

#endif
