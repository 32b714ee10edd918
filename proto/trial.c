/* trial.c - names and transitions of trials and studies: four tables and the functions that read
 * them.
 *
 * What is not in the tables cannot happen. The controller, its recovery and `assay debug replay`
 * all use trial_next and study_next, so the journal is replayed by the same code. A zero entry
 * (TS_NONE, SS_NONE) means "not allowed". TS_NONE as the present state means "not created yet". */
#include "proto/trial.h"

#include "base/str.h"

#include <inttypes.h>
#include <string.h>

const char *const trial_state_name[TS_STATES] = {
    [TS_NONE] = "none",     [TS_QUEUED] = "queued",       [TS_RUNNING] = "running",
    [TS_PAUSED] = "paused", [TS_COMPLETED] = "completed", [TS_PRUNED] = "pruned",
    [TS_FAILED] = "failed", [TS_CANCELLED] = "cancelled",
};
const char *const trial_event_name[TE_EVENTS] = {
    [TE_CREATE] = "create", [TE_LEASE] = "lease",     [TE_REJOIN] = "rejoin",
    [TE_PAUSE] = "pause",   [TE_PROMOTE] = "promote", [TE_COMPLETE] = "complete",
    [TE_PRUNE] = "prune",   [TE_FAIL] = "fail",       [TE_CANCEL] = "cancel",
    [TE_LOST] = "lost",
};
const char *const study_state_name[SS_STATES] = {
    [SS_NONE] = "none",       [SS_QUEUED] = "queued",       [SS_RUNNING] = "running",
    [SS_PAUSED] = "paused",   [SS_FINISHING] = "finishing", [SS_COMPLETED] = "completed",
    [SS_STOPPED] = "stopped", [SS_FAILED] = "failed",
};
const char *const study_event_name[SE_EVENTS] = {
    [SE_CREATE] = "create", [SE_START] = "start",   [SE_PAUSE] = "pause",
    [SE_RESUME] = "resume", [SE_FINISH] = "finish", [SE_COMPLETE] = "complete",
    [SE_STOP] = "stop",     [SE_FAIL] = "fail",
};
const char *const trial_reason_name[TR_REASONS] = {
    [TR_NONE] = "none",
    [TR_DIVERGED] = "diverged",
    [TR_MEMORY] = "memory",
    [TR_TIME] = "time",
    [TR_CRASHED_ALONE] = "crashed_alone",
    [TR_INVALID] = "invalid",
    [TR_WORKER_DIED] = "worker_died",
    [TR_RUNNER_LOST] = "runner_lost",
    [TR_DEVICE] = "device",
    [TR_DRAINED] = "drained",
    [TR_BUDGET] = "budget",
    [TR_USER] = "user",
    [TR_STOPPED] = "stopped",
    [TR_DATA] = "data",
    [TR_RANK_LOST] = "rank_lost",
};

/* clang-format off */
static const enum trial_state trial_table[TS_STATES][TE_EVENTS] = {
    [TS_NONE]    = { [TE_CREATE] = TS_QUEUED },
    [TS_QUEUED]  = { [TE_LEASE] = TS_RUNNING, [TE_REJOIN] = TS_RUNNING, [TE_PRUNE] = TS_PRUNED,
                     [TE_CANCEL] = TS_CANCELLED },
    [TS_RUNNING] = { [TE_PAUSE] = TS_PAUSED, [TE_COMPLETE] = TS_COMPLETED, [TE_PRUNE] = TS_PRUNED,
                     [TE_FAIL] = TS_FAILED, [TE_CANCEL] = TS_CANCELLED, [TE_LOST] = TS_QUEUED },
    [TS_PAUSED]  = { [TE_PROMOTE] = TS_QUEUED, [TE_COMPLETE] = TS_COMPLETED, [TE_PRUNE] = TS_PRUNED,
                     [TE_CANCEL] = TS_CANCELLED },
};
/* STOP ends a study at once. If a user stops a study and its model is still wanted, that is FINISH,
 * and STOP later. */
static const enum study_state study_table[SS_STATES][SE_EVENTS] = {
    [SS_NONE]      = { [SE_CREATE] = SS_QUEUED },
    [SS_QUEUED]    = { [SE_START] = SS_RUNNING, [SE_PAUSE] = SS_PAUSED, [SE_STOP] = SS_STOPPED,
                       [SE_FAIL] = SS_FAILED },
    [SS_RUNNING]   = { [SE_PAUSE] = SS_PAUSED, [SE_FINISH] = SS_FINISHING, [SE_STOP] = SS_STOPPED,
                       [SE_FAIL] = SS_FAILED },
    [SS_PAUSED]    = { [SE_RESUME] = SS_RUNNING, [SE_FINISH] = SS_FINISHING, [SE_STOP] = SS_STOPPED,
                       [SE_FAIL] = SS_FAILED },
    [SS_FINISHING] = { [SE_COMPLETE] = SS_COMPLETED, [SE_STOP] = SS_STOPPED, [SE_FAIL] = SS_FAILED },
};
/* clang-format on */

/* The index of `name` in names[from..n), or -1; the error suggests the nearest name. */
static int name_find(const char *name, const char *const *names, int from, int n, const char *what,
                     struct err *err)
{
    if (name) {
        for (int i = from; i < n; i++) {
            if (strcmp(name, names[i]) == 0)
                return i;
        }
    }
    const char *near = name ? str_nearest(name, names + from, (size_t)(n - from)) : NULL;
    char list[300];

    if (near)
        return err_set(err, ERR_ARG, "\"%.40s\" is no %s; did you mean %s?", name, what, near);
    str_list(names + from, (size_t)(n - from), list, sizeof list);
    return err_set(err, ERR_ARG, "\"%.40s\" is no %s; there are %s", name ? name : "", what, list);
}

int trial_state_parse(const char *name, enum trial_state *out, struct err *err)
{
    int i = name_find(name, trial_state_name, TS_NONE + 1, TS_STATES, "trial state", err);
    if (i < 0)
        return -1;
    *out = (enum trial_state)i;
    return 0;
}

int trial_event_parse(const char *name, enum trial_event *out, struct err *err)
{
    int i = name_find(name, trial_event_name, 0, TE_EVENTS, "trial event", err);
    if (i < 0)
        return -1;
    *out = (enum trial_event)i;
    return 0;
}

int study_state_parse(const char *name, enum study_state *out, struct err *err)
{
    int i = name_find(name, study_state_name, SS_NONE + 1, SS_STATES, "study state", err);
    if (i < 0)
        return -1;
    *out = (enum study_state)i;
    return 0;
}

int study_event_parse(const char *name, enum study_event *out, struct err *err)
{
    int i = name_find(name, study_event_name, 0, SE_EVENTS, "study event", err);
    if (i < 0)
        return -1;
    *out = (enum study_event)i;
    return 0;
}

int trial_reason_parse(const char *name, enum trial_reason *out, struct err *err)
{
    int i = name_find(name, trial_reason_name, 0, TR_REASONS, "reason", err);
    if (i < 0)
        return -1;
    *out = (enum trial_reason)i;
    return 0;
}

bool trial_reason_is_machine(enum trial_reason r)
{
    return r == TR_WORKER_DIED || r == TR_RUNNER_LOST || r == TR_DEVICE || r == TR_DRAINED ||
           r == TR_DATA || r == TR_RANK_LOST;
}

bool trial_is_final(enum trial_state s)
{
    return s == TS_COMPLETED || s == TS_PRUNED || s == TS_FAILED || s == TS_CANCELLED;
}

bool study_is_final(enum study_state s)
{
    return s == SS_COMPLETED || s == SS_STOPPED || s == SS_FAILED;
}

int trial_next(enum trial_state *state, enum trial_event ev, int64_t trial, struct err *err)
{
    CHECK(*state >= TS_NONE && *state < TS_STATES && ev >= 0 && ev < TE_EVENTS);
    enum trial_state to = trial_table[*state][ev];

    if (to == TS_NONE)
        return err_set(err, ERR_CONFLICT, "trial %" PRId64 " is %s: cannot %s", trial,
                       trial_state_name[*state], trial_event_name[ev]);
    *state = to;
    return 0;
}

int study_next(enum study_state *state, enum study_event ev, int64_t study, struct err *err)
{
    CHECK(*state >= SS_NONE && *state < SS_STATES && ev >= 0 && ev < SE_EVENTS);
    enum study_state to = study_table[*state][ev];

    if (to == SS_NONE)
        return err_set(err, ERR_CONFLICT, "study %" PRId64 " is %s: cannot %s", study,
                       study_state_name[*state], study_event_name[ev]);
    *state = to;
    return 0;
}
