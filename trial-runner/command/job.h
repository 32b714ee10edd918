/* job.h - one trial whose program runs here, from its grant to the last message about it. It does
 * what a worker's trial does (trial-runner/wire.h): it asks at the level that it may run to, goes on,
 * pauses or is dropped, and hands over checkpoints; but its levels and values are what the program
 * reports, and its checkpoint is the program's folder. command.c owns the one job and calls job_turn
 * whenever something may have happened. */
#ifndef TRIAL_RUNNER_COMMAND_JOB_H
#define TRIAL_RUNNER_COMMAND_JOB_H

#include "proto/command.h"
#include "trial-runner/command/folder.h"
#include "trial-runner/command/host.h"
#include "trial-runner/command/inbox.h"
#include "trial-runner/command/output.h"
#include "trial-runner/command/program.h"
#include "trial-runner/command/report.h"

enum job_state {
    JOB_RUNS,
    JOB_ENDS, /* it was told to end, or has ended while its children live */
    JOB_DEAD, /* no process is left; questions may be */
    JOB_OVER  /* the last message is sent */
};
enum job_end {
    END_NONE,
    END_EXIT,  /* of its own accord */
    END_PAUSE, /* the rest: because we want it */
    END_DROP,
    END_DRAIN,
    END_CUT, /* its time is over; its last value counts */
    END_FAIL
};

struct job {
    struct host *host;
    int64_t run, trial, fence;
    struct msg_grant grant; /* owned */
    struct command command;
    json_t *params;
    int from, to, levels, reached;
    double *values;           /* by level, 1..levels; NaN = not reported */
    double more[REPORT_MORE]; /* of further objectives, with the last of them */
    int n_more;
    int64_t deadline_ms; /* monotonic; 0 = none */

    enum job_state state;
    enum job_end end;
    enum trial_reason reason; /* of END_FAIL */
    char why[700];
    bool is_asked;
    int64_t term_ms, kill_ms; /* when it was told to end, and when it is killed */
    int tries[COMMAND_MAX_RETRY], attempt;

    struct folder folder;
    struct program program;
    struct output output;
    struct inbox inbox;
    int n_odd;                             /* lines that looked like reports and were none */
    int64_t began_ms, spent_ms, before_ms; /* running time: since, up to then here, on others */
    int64_t watched_ms, disk_ms, packed_ms, told_ms, peak_bytes;
    uint64_t packed_stamp;
    char packed[SHA256_HEX];
};

/* msg: the supervisor's run message. NULL if it could not begin: that was reported. */
struct job *job_new(struct host *h, const json_t *msg);
void job_free(struct job *j);                          /* kills what is left */
int job_poll(const struct job *j, struct pollfd *fds); /* at most INBOX_CALLS + 2 */
void job_turn(struct job *j);
void job_answer(struct job *j, const char *action, int to, int64_t deadline_ms);
void job_stop(struct job *j);
void job_drain(struct job *j);

/* ---- between job.c, job_end.c and job_start.c ---- */

int job_start(struct job *j, struct err *err); /* starts the program, also again */
void job_quit(struct job *j, enum job_end end, enum trial_reason reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void job_fail(struct job *j, enum trial_reason reason, const char *text); /* reports it; OVER */
void job_finish(struct job *j);     /* all processes are gone: what its end means */
void job_ask(struct job *j);        /* asks the controller if there is something to ask */
void job_checkpoint(struct job *j); /* hands over a checkpoint if there is a new one */
double job_value_at(const struct job *j, int level); /* the first one from this level on; NaN */
int64_t job_spent_ms(const struct job *j);           /* since the checkpoint it began with */
json_t *job_state_json(const struct job *j);         /* kept with the checkpoint */
void job_state_load(struct job *j, const json_t *state);

#endif
