/* action.h - a decision as data. decide/ reads a study and answers with a list of actions.
 * settle/settle.c carries all of them out, in their order, and then asks again. A decision may
 * therefore rely on everything that it answered before having been done.
 *
 * An action says what shall be done and not how: which rows and which lines of the journal it takes
 * is known to settle/ and state/. Functions of decide/ change nothing but the memory of the search
 * (search.h), which a reload builds again when a request is undone. That is why a test of a
 * decision needs no database. */
#ifndef CONTROLLER_DECIDE_ACTION_H
#define CONTROLLER_DECIDE_ACTION_H

#include "controller/state/study.h"

enum action_kind {
    /* Write a line that a replay needs into the study's journal: say, data. */
    ACT_SAY,
    /* Create a trial with the next number: config, source, retry_of. It runs to level `to`; 0 = the
     * plan will say later. */
    ACT_CREATE,
    /* Let trial `number` run on to level `to`. */
    ACT_RUN_TO,
    /* End trial `number` without a result: event, reason. */
    ACT_END,
    /* Let trial `number` decide the validation (probe.h). */
    ACT_PROBE,
    /* The validation is decided: is_kfold; why = what decided it; fit_us = how long the probe
     * fitted. */
    ACT_VALIDATE,
    /* The search is over: why; is_cut = cancel running trials now. */
    ACT_FINISH,
    /* Complete the paused trial `number` with what it has; it may wait for a runner until
     * until_ms. */
    ACT_RESCUE,
    /* Train the configuration of trial `number` once more on all rows. */
    ACT_REFIT,
    /* Make an ensemble of the best models: at the end, or while the search goes on. */
    ACT_ENSEMBLE,
    ACT_EARLY_ENSEMBLE,
    /* The search is over, and the ensemble that was made while it went on ships. */
    ACT_TAKE_EARLY,
    /* Give the refit or the ensemble up, because it takes too long. */
    ACT_NO_REFIT,
    /* End the study: trial `number` ships; 0 = there is no model. */
    ACT_CLOSE
};

struct action {
    enum action_kind kind;
    int64_t number;
    int to;
    struct config config;
    enum trial_source source;
    int64_t retry_of;
    /* RUN_TO of a deterministic study: virtual times; -1 = they stay as they are */
    int64_t vstart, vcost;
    enum trial_event event;
    enum trial_reason reason;
    const char *why, *say; /* static text */
    char data[256];        /* SAY: JSON */
    bool is_kfold, is_cut;
    int64_t fit_us, until_ms;
};

/* At most so many actions come at once: a scheduler retires 64 trials at a time, an end cancels all
 * that is open. */
struct actions {
    struct action *list; /* owned */
    int n, cap;
};

struct action *action_add(struct actions *a, enum action_kind kind, int64_t number);
void actions_fini(struct actions *a);

#endif
