/* action.h - a decision as data. decide/ reads a study and answers with a list of actions; serve/settle.c carries them out in
 * their order and asks again. Between two calls the study therefore has all actions of the first one behind it.
 *
 * An action says what shall be, never how: which rows and journal lines that takes is known to serve/ and state/. Functions of
 * decide/ change nothing but the memory of the searchers (sampler, scheduler, script, plan, stop rules), which a reload
 * rebuilds when a request is undone. */
#ifndef CONTROLLER_DECIDE_ACTION_H
#define CONTROLLER_DECIDE_ACTION_H

#include "controller/state/study.h"

enum action_kind {
    ACT_SAY, /* a line in the study's journal that a replay needs: event, data */
    ACT_CREATE, /* a new trial with the next number: config, source, retry_of; runs to `to`, 0 = nobody knows yet */
    ACT_RUN_TO,   /* trial `number` shall run on to level `to` */
    ACT_END,      /* trial `number` ends without a result: event, reason */
    ACT_PROBE,    /* trial `number` decides the validation (probe.h) */
    ACT_VALIDATE, /* the validation is decided: is_kfold, why = what decided it */
    ACT_FINISH,   /* the search is over: why; is_cut = running trials are cancelled now */
    ACT_RESCUE, /* paused trial `number` completes with what it has; may wait for a runner until until_ms */
    ACT_REFIT,    /* the configuration of trial `number` is fitted once more on all rows */
    ACT_NO_REFIT, /* the refit takes too long: it is given up */
    ACT_CLOSE     /* the study ends: trial `number` ships, 0 = there is no model */
};

struct action {
    enum action_kind kind;
    int64_t number;
    int to;
    struct config config;
    enum trial_source source;
    int64_t retry_of;
    int64_t vstart,
        vcost; /* CREATE and RUN_TO of a deterministic study: virtual time, or -1 to leave it */
    enum trial_event event;
    enum trial_reason reason;
    const char *why, *say; /* static text */
    char data[80];         /* SAY: JSON */
    bool is_kfold, is_cut;
    int64_t fit_us, until_ms;
};

/* At most so many actions come at once: a scheduler retires 64 trials at a time, an end cancels all that is open. */
struct actions {
    struct action *list; /* owned */
    int n, cap;
};

struct action *action_add(struct actions *a, enum action_kind kind, int64_t number);
void actions_fini(struct actions *a);

#endif
