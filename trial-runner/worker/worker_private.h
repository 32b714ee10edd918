/* worker_private.h - what the files of the worker share: worker.c (messages and life), worker_fit.c
 * (trials), worker_answer.c (answers to parked trials), worker_wave.c (trials that share launches
 * on a GPU), worker_memory.c (room for trials), worker_rank.c (trials of several devices) and worker_task.c
 * (ingest, refit) and worker_ensemble.c. No other file includes it. */
#ifndef TRIAL_RUNNER_WORKER_WORKER_PRIVATE_H
#define TRIAL_RUNNER_WORKER_WORKER_PRIVATE_H

#include "base/buf.h"
#include "base/clk.h"
#include "ml/fit/fit.h"
#include "ml/ranks/link.h"
#include "proto/msg.h"
#include "trial-runner/wire.h"
#include "trial-runner/worker/dataset.h"

#include <stdbool.h>
#include <stdint.h>

/* PARKED_MAX: trials that may wait for an answer while another one is computed; each keeps its
 * memory.
 * LONG_MS: the silence announced before work that cannot be interrupted, such as opening a table.
 * SLICE_WORD_MS: the silence announced before a slice, which takes at most 500 ms. */
enum { PARKED_MAX = 3, LONG_MS = 600000, SLICE_WORD_MS = 2000, WORKER_PATH_BYTES = 4096 };

enum job_state {
    JOB_WAITING,  /* not begun */
    JOB_RUNNING,  /* being computed, or to be continued */
    JOB_ASKED,    /* RUNG or FINAL was sent; it waits for the controller's answer */
    JOB_ANSWERED, /* the answer is pause, keep or drop, and has not been carried out yet */
    JOB_DONE      /* nothing more is said about it */
};

/* A trial, or a task. */
struct job {
    struct run *run;
    const struct msg_trial
        *granted; /* the trial that it trains; NULL for a task that trains none */
    bool is_task;
    int64_t trial, fence; /* of a task: its own */
    enum job_state state;
    bool stop;     /* the supervisor has dropped it: say nothing more about it */
    bool is_alone; /* found no room beside others, so it waits until it can run alone */
    enum msg_action answer;
    int to;              /* level to reach */
    int64_t deadline_ms; /* on the monotonic clock; 0 = none */
    const struct family *family;
    double params[FAMILY_MAX_PARAMS];
    struct ml_data *data;
    struct fit_trial *fit;
    int64_t work_us; /* work so far */
    /* time that the device worked on it, alone or with others, since its last checkpoint */
    int64_t unsaved_us;
    int64_t progress_us; /* time of the last progress message */
    int64_t alone_bytes; /* memory of the process without this trial and without shared data */
    /* What plan() found when the trial was admitted (worker_memory.c): the resident size of the
     * process; what of it was in use without this trial; pages of mapped files; and what the form
     * of its table will take that must still be made. */
    int64_t resident_bytes, before_bytes, file_bytes, missing_bytes;
    int64_t planned_bytes;  /* the trial at the end of its level, by what is known now */
    int64_t admitted_bytes; /* the same by what was known when it was admitted */
    int64_t first_bytes; /* the first plan of this level that the trial itself informed; 0 = none */
    int64_t promise_bytes; /* how much the trial may take */
    int64_t stop_bytes;    /* it asks for more when it counts more than this; 0 = it never asks */
    int n_promises;        /* of this level */
    int64_t slice_bytes, slice_us; /* bytes held and work_us when the last slice began */
    int64_t told_epoch;            /* the last epoch that was told */
    bool cut;                      /* ended early with its best score so far */
    /* Of a trial that several devices train (worker_rank.c): the connections to the other ranks,
     * NULL = there are none; where rank 0 listens; when the controller is told or asked next. */
    struct worker *worker;
    struct rank_link *link;
    bool is_meeting, has_met;
    char meet[MSG_ADDRESS];
    int64_t tell_us, tell_every_us;
    /* The model file of a parked trial, whose models are closed already. A large one waits in a
     * file (artifact_path) with its hash. */
    struct buf artifact;
    char *artifact_path, artifact_sha256[SHA256_HEX];
    struct buf predictions; /* the file of what it predicted out of fold; empty = none is kept */
};

/* A grant as it came from the supervisor. */

/* A grant as it came down the pipe. */
struct run {
    struct run *next;
    int64_t id;
    struct msg_grant grant;
    json_t *msg; /* the `run` message, for the paths in it */
    struct job *jobs;
    int n_jobs;
    bool ended; /* `end` has been sent */
};

struct worker {
    struct wire wire;
    struct clk clk;
    char scratch[WORKER_PATH_BYTES], device[32];
    char rank_address[MSG_ADDRESS]; /* at which other runners reach this machine; "" = unknown */
    int64_t slice_ms, checkpoint_ms, memory_bytes;
    int64_t lean_bytes; /* resident bytes that do not belong to the heap (worker_memory.c) */
    struct datasets *datasets;
    struct ml_compute compute; /* the device of a GPU's worker, opened by its first job */
    struct run *runs;
    struct job *now; /* the job that is being computed */
    bool draining;
    bool interrupt;    /* a message came, for which the present slice should end */
    int64_t polled_us; /* when the socket was last looked at */
    int64_t beat_us;   /* when the last `beat` was sent */
    int64_t asked_us;  /* when the trial's memory was last looked at */
    int64_t files;     /* files written so far; makes their names unique */
    int64_t idle_us;   /* since when nothing is computed */
    bool said_soon;    /* `soon` was sent since the last run came */
    bool was_short;    /* the last trial took less time than a message takes to the controller */
    int64_t ship_us;   /* the longest that a trial of study `ship_study` took to score and write */
    int64_t ship_study;
    /* The best score of a trial of study `ship_study` that was trained to its end here, and its standard
     * error; NaN = none. */
    double best, best_se;
};

/* worker.c */
int64_t worker_now_us(const struct worker *w);
/* Handles all messages that are there, waiting up to wait_ms for the first one (-1 = for ever).
 * Ends the process if the supervisor is gone. */
void worker_poll(struct worker *w, int64_t wait_ms);
void worker_send(struct worker *w, json_t *msg_steal);
/* Sends an event about the job, and frees what *ev owns. file: to be uploaded first, or NULL. */
void worker_event(struct worker *w, const struct job *j, struct msg_event *ev, const char *file);
void worker_fail(struct worker *w, struct job *j, enum trial_reason reason, const char *text);
void worker_beat(struct worker *w, int64_t within_ms); /* "kill me if I am silent for longer" */
void worker_begin(struct worker *w, struct job *j);    /* worker_say_begin, and makes it w->now */
/* Sends `lane`, so that the supervisor charges the worker's death to this job from now on. */
void worker_say_begin(struct worker *w, struct job *j);
void worker_soon(struct worker *w); /* sends `soon`, once for each run */
/* A new path in the scratch folder, with the process id in its name. */
void worker_path(struct worker *w, const struct job *j, const char *kind,
                 char out[WORKER_PATH_BYTES]);
/* The path at `key` of the run's message; NULL = none. */
const char *worker_input(const struct job *j, const char *key);
/* Opens the job's table as j->data. */
/* Opens the table of the job: j->data. */
int worker_table(struct worker *w, struct job *j, struct err *err);
/* The clock that the engine asks during a slice. It looks at the socket and sends `beat` on the
 * way, and returns INT64_MAX if the slice should end now. */
int64_t worker_stop_clock(void *worker);

/* Opens the device of a GPU's worker, before the first job reads its table. */
int worker_open_device(struct worker *w, struct err *err);

/* worker_fit.c */
void worker_fit(struct worker *w, struct job *j); /* until it asks, ends or is interrupted */
void worker_fit_close(struct worker *w, struct job *j);
int worker_fit_open(struct worker *w, struct job *j, struct err *err);
void worker_fit_fail(struct worker *w, struct job *j, const struct err *err);
/* The trial has reached its level, or was cut: sends its result as a question, and parks it. */
void worker_fit_ask(struct worker *w, struct job *j);
/* Saves a checkpoint and sends it as an event of this type. */
int worker_fit_save(struct worker *w, struct job *j, enum msg_type type);
/* When a trial with a deadline must end, in microseconds of the monotonic clock. The controller keeps
 * a second for the model at the end; where models of this study took longer here, as with some hundred
 * classes on a machine that is loaded, a trial that has worked for longer than that ends earlier by it,
 * because its model would arrive too late and be lost. */
int64_t worker_fit_cut_us(const struct worker *w, const struct job *j);
/* Whether a path of penalties, which has a limit of its own beside the other families, would still be clearly
 * behind the best trial of its study at that limit. reach: fit_trial_reach until then. On covertype a linear
 * model had a quarter of the time for a loss of .64 where boosting has .19. */
bool worker_fit_gives_up(const struct worker *w, const struct job *j, double reach);
enum trial_reason worker_fit_reason(const struct err *err); /* whose fault the error is */
void worker_fit_mind(struct worker *w, struct job *j); /* after a slice: progress, checkpoint */

/* worker_rank.c: trials that several devices train. All but the last do nothing for other trials. */
/* The trial was opened: makes its end of the connections, and the trial one of ranks. */
int worker_rank_join(struct worker *w, struct job *j, struct err *err);
int worker_rank_meet(struct worker *w, struct job *j, struct err *err); /* once; waits */
/* Rank 0 is about to train to j->to. */
int worker_rank_go(struct job *j, struct err *err);
/* Parts from the other ranks, in good order (NULL) or for this reason. Before models are closed. */
void worker_rank_end(struct job *j, const char *why);
/* The same after an error, and whether another rank is the cause of it. */
bool worker_rank_lost(struct worker *w, struct job *j, const struct err *why);
/* A task MSG_RANK from its beginning to its end. */
void worker_rank(struct worker *w, struct job *j);

/* worker_answer.c */
void worker_serve(struct worker *w); /* carries out the answers to parked jobs */

/* worker_wave.c: computes one slice of the job, and of the jobs of its run that can share its
 * launches. Returns as fit_trial_advance does. */
int worker_wave(struct worker *w, struct job *j, const struct ml_stop *stop, struct err *err);

/* worker_memory.c: makes room before a trial begins or goes on to another level. Returns 1 if there
 * is as much room as can be made, 0 if there is none yet, so that another trial must go on first,
 * and -1 if not even what its rows and columns take fits; err says so. */
int worker_memory_admit(struct worker *w, struct job *j, struct err *err);
/* The same without waiting, for a trial that would be trained beside others: is there room? */
bool worker_memory_joins(struct worker *w, struct job *j);
/* Between slices: is the process about to be full, with nothing to give up except this trial? */
bool worker_memory_is_full(struct worker *w, struct job *j);
/* The length of the next slice: at most us, and so short that its trials, if they grow twice as
 * fast as until now, leave half of the room. */
int64_t worker_memory_slice_us(const struct worker *w, struct job *j, int64_t us);
/* Between slices: if the trial has used up its promise, promises it more, and waits for others. */
void worker_memory_revise(struct worker *w, struct job *j);
bool worker_memory_asks(
    const struct job *j); /* has the trial used up its promise? Ends the slice */
void worker_memory_ships(struct worker *w, struct job *j); /* before its model file is made */
/* Closes the trial's models, and corrects what the other trials count as having been there. */
void worker_memory_close(struct worker *w, struct job *j);
/* For tests: takes far more memory than promised, at once. */
void worker_memory_hoard(const struct worker *w) NO_RETURN;
/* At the end of a level, for the debug log: what was planned, promised and really taken. */
void worker_memory_log(const struct worker *w, const struct job *j, const struct fit_result *r);

/* worker_task.c */
void worker_ingest(struct worker *w, struct job *j);
void worker_refit(struct worker *w, struct job *j);
/* True if the task was stopped, or the worker drains. A drained task is reported as failed. */
bool worker_is_stopped(struct worker *w, struct job *j);

/* worker_ensemble.c */
void worker_ensemble(struct worker *w, struct job *j);

#endif
