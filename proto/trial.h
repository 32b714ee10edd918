/* trial.h - the states of trials and studies, the events between them, and one transition table for
 * each. A trial is QUEUED, RUNNING under a lease or PAUSED at a rung, and then in exactly one of
 * four final states (docs/MAP.md). There is no I/O and no clock, so a replay of the journal uses
 * the same code. */
#ifndef PROTO_TRIAL_H
#define PROTO_TRIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum trial_state {
    TS_NONE,
    TS_QUEUED,
    TS_RUNNING,
    TS_PAUSED,
    TS_COMPLETED,
    TS_PRUNED,
    TS_FAILED,
    TS_CANCELLED,
    TS_STATES
};
enum trial_event {
    TE_CREATE,
    TE_LEASE,
    TE_REJOIN,
    TE_PAUSE,
    TE_PROMOTE,
    TE_COMPLETE,
    TE_PRUNE,
    TE_FAIL,
    TE_CANCEL,
    TE_LOST,
    TE_EVENTS
};

/* queued -> running <-> paused -> finishing -> completed | stopped | failed. SS_QUEUED waits for
 * its dataset or its first lease. */
enum study_state {
    SS_NONE,
    SS_QUEUED,
    SS_RUNNING,
    SS_PAUSED,
    SS_FINISHING,
    SS_COMPLETED,
    SS_STOPPED,
    SS_FAILED,
    SS_STATES
};
enum study_event {
    SE_CREATE,
    SE_START,
    SE_PAUSE,
    SE_RESUME,
    SE_FINISH,
    SE_COMPLETE,
    SE_STOP,
    SE_FAIL,
    SE_EVENTS
};

/* Why a trial ended or went back to the queue; stored as text. A reason of the configuration makes
 * the trial fail. A reason of the machine puts it back into the queue, at no cost to the trial. */
enum trial_reason {
    TR_NONE,
    TR_DIVERGED,      /* configuration: the loss or score is not finite */
    TR_MEMORY,        /* configuration: needed more memory than it may have */
    TR_TIME,          /* configuration: no result within trial_time */
    TR_CRASHED_ALONE, /* configuration: its worker died twice at one level while it ran alone */
    TR_INVALID,       /* configuration: the family refuses it on this data */
    TR_WORKER_DIED,   /* machine: the worker process died */
    TR_RUNNER_LOST,   /* machine: the lease expired */
    TR_DEVICE,        /* machine: a device, a disk or the runner failed */
    TR_DRAINED,       /* machine: the runner leaves */
    TR_BUDGET,        /* cancelled: the study's budget ended first */
    TR_USER,          /* cancelled by a user */
    TR_STOPPED,       /* pruned: the scheduler stopped it */
    TR_DATA,          /* machine: the table's file cannot be read; no runner is to blame */
    TR_RANK_LOST, /* machine: another device that trained it was lost; this one is not to blame */
    TR_REASONS
};

extern const char *const trial_state_name[TS_STATES];
extern const char *const trial_event_name[TE_EVENTS];
extern const char *const study_state_name[SS_STATES];
extern const char *const study_event_name[SE_EVENTS];
extern const char *const trial_reason_name[TR_REASONS];

int trial_state_parse(const char *name, enum trial_state *out, struct err *err);
int trial_event_parse(const char *name, enum trial_event *out, struct err *err);
int study_state_parse(const char *name, enum study_state *out, struct err *err);
int study_event_parse(const char *name, enum study_event *out, struct err *err);
int trial_reason_parse(const char *name, enum trial_reason *out, struct err *err);
bool trial_reason_is_machine(enum trial_reason r);
bool trial_is_final(enum trial_state s);
bool study_is_final(enum study_state s);

/* Moves *state to the next state. On an event that the state does not allow, returns -1 with
 * ERR_CONFLICT ("trial 7 is completed: cannot lease") and leaves *state as it is. */
int trial_next(enum trial_state *state, enum trial_event ev, int64_t trial, struct err *err);
int study_next(enum study_state *state, enum study_event ev, int64_t study, struct err *err);

#endif
