/* worker_private.h - shared by the worker's files: worker.c (messages, life), worker_fit.c (trials), worker_wave.c (trials in
 * the launches of one), worker_memory.c (room for trials), worker_task.c (ingest, refit). Nobody else includes it. */
#ifndef TRIAL_RUNNER_WORKER_WORKER_PRIVATE_H
#define TRIAL_RUNNER_WORKER_WORKER_PRIVATE_H

#include "base/buf.h"
#include "base/clk.h"
#include "ml/fit/fit.h"
#include "proto/msg.h"
#include "trial-runner/wire.h"
#include "trial-runner/worker/dataset.h"

#include <stdbool.h>
#include <stdint.h>

enum { PARKED_MAX = 3, LONG_MS = 600000, SLICE_WORD_MS = 2000, WORKER_PATH_BYTES = 4096 };

enum job_state {
    JOB_WAITING,  /* not begun */
    JOB_RUNNING,  /* being computed, or to go on being so */
    JOB_ASKED,    /* RUNG or FINAL has been said */
    JOB_ANSWERED, /* and answered by pause, keep or drop */
    JOB_DONE      /* nothing more to say of it */
};

/* A trial, or a task. */
struct job {
    struct run *run;
    const struct msg_trial *granted; /* NULL for a task */
    int64_t trial, fence;
    enum job_state state;
    bool stop;     /* dropped by the supervisor: not a word more */
    bool is_alone; /* found no room beside others: waits for its turn */
    enum msg_action answer;
    int to;              /* level to reach */
    int64_t deadline_ms; /* 0 = none; on the monotonic clock */
    const struct family *family;
    double params[FAMILY_MAX_PARAMS];
    struct ml_data *data;
    struct fit_trial *fit;
    int64_t work_us, saved_us,
        progress_us; /* work so far; at the last checkpoint; time of the last progress message */
    int64_t alone_bytes; /* memory of the process without this trial and without shared data */
    /* worker_memory.c: what the process held, of this in use without the trial and pages of files, its table's form to come */
    int64_t resident_bytes, before_bytes, file_bytes, missing_bytes;
    int64_t planned_bytes,
        admitted_bytes; /* the trial at its level's end, by what is known now; as it was admitted */
    int64_t first_bytes; /* the first plan of this level that knew trees of its own; 0 = none did */
    int64_t promise_bytes,
        stop_bytes; /* what it may take, held: it asks again above stop_bytes; 0 = it never does */
    int n_promises; /* of this level */
    int64_t slice_bytes, slice_us; /* what was held, and its work_us, as the last slice began */
    bool cut;
    struct buf
        artifact; /* of a parked one: all that is left of its models; a large one is a file, under its hash */
    char *artifact_path, artifact_sha256[SHA256_HEX];
};

/* A grant as it came down the pipe. */
struct run {
    struct run *next;
    int64_t id;
    struct msg_grant grant;
    json_t *msg; /* for its paths */
    struct job *jobs;
    int n_jobs;
    bool ended; /* `end` has been said */
};

struct worker {
    struct wire wire;
    struct clk clk;
    char scratch[WORKER_PATH_BYTES], device[32];
    int64_t slice_ms, checkpoint_ms, memory_bytes;
    int64_t lean_bytes; /* of the process, beside its heap (worker_memory.c) */
    struct datasets *datasets;
    struct ml_compute compute; /* of a GPU's worker, from its first job on */
    struct run *runs;
    struct job *now; /* being computed */
    bool draining;
    bool interrupt; /* something came that the slice under way should end for */
    int64_t polled_us, beat_us, asked_us, files;
    int64_t idle_us;           /* since when nothing is computed */
    bool said_soon, was_short; /* the last trial took less than a message's way */
};

/* worker.c */
int64_t worker_now_us(const struct worker *w);
void worker_poll(
    struct worker *w,
    int64_t wait_ms); /* takes all messages there are; exits when the supervisor is gone */
void worker_send(struct worker *w, json_t *msg_steal);
void worker_event(struct worker *w, const struct job *j, struct msg_event *ev,
                  const char *file); /* ev is consumed */
void worker_fail(struct worker *w, struct job *j, enum trial_reason reason, const char *text);
void worker_beat(struct worker *w, int64_t within_ms);
void worker_begin(struct worker *w, struct job *j); /* says `lane` and makes it the present one */
void worker_say_begin(struct worker *w,
                      struct job *j); /* what is said of a job before it is computed */
void worker_soon(struct worker *w);
void worker_path(struct worker *w, const struct job *j, const char *kind,
                 char out[WORKER_PATH_BYTES]);
const char *worker_input(const struct job *j,
                         const char *key); /* a path of the run's message; NULL = none */
/* Opens the table of the job: j->data. */
int worker_table(struct worker *w, struct job *j, struct err *err);
/* The engine's clock: looks at the pipe and gives signs of life on the way, and runs out when the job is to be interrupted. */
int64_t worker_stop_clock(void *worker);

/* Before a job reads its table: a GPU's worker opens its device. */
int worker_open_device(struct worker *w, struct err *err);

/* worker_fit.c */
void worker_fit(struct worker *w, struct job *j); /* until it asks, ends or is interrupted */
void worker_serve(struct worker *w);              /* what parked jobs were answered */
void worker_fit_close(struct worker *w, struct job *j);
int worker_fit_open(struct worker *w, struct job *j, struct err *err);
void worker_fit_fail(struct worker *w, struct job *j, const struct err *err);
void worker_fit_ask(struct worker *w, struct job *j);  /* at a level, or cut: says so and parks */
void worker_fit_mind(struct worker *w, struct job *j); /* after a slice: progress, checkpoint */

/* worker_wave.c: a slice of the job, and of those of its run that can come along. As fit_trial_advance. */
int worker_wave(struct worker *w, struct job *j, const struct ml_stop *stop, struct err *err);

/* worker_memory.c: before a trial begins, or goes on to another level, room is made for what it will take: 1 there is as much
 * as can be made, 0 not now (an other trial must go on first), -1 not even what its rows take fits: err says so. */
int worker_memory_admit(struct worker *w, struct job *j, struct err *err);
/* The same without waiting, for one that would be trained beside others. */
bool worker_memory_joins(struct worker *w, struct job *j);
/* Between slices: true when the process is about to be full and nothing can be given up but this trial. */
bool worker_memory_is_full(struct worker *w, struct job *j);
/* At most us, and no longer than its trials, growing twice as fast as until now, leave half of the room. */
int64_t worker_memory_slice_us(const struct worker *w, struct job *j, int64_t us);
/* Between slices: where it is due, the trial asks for more, and waits for what others give up. */
void worker_memory_revise(struct worker *w, struct job *j);
bool worker_memory_asks(const struct job *j);              /* it is due: the slice ends */
void worker_memory_ships(struct worker *w, struct job *j); /* before the trial's last act */
/* Its models go, and with them what was there before the others began. */
void worker_memory_close(struct worker *w, struct job *j);
void worker_memory_hoard(
    const struct worker *w) NO_RETURN; /* tests: far more than promised, at once */
void worker_memory_log(const struct worker *w, const struct job *j,
                       const struct fit_result *r); /* at a level: planned, promised and true */

/* worker_task.c */
void worker_ingest(struct worker *w, struct job *j);
void worker_refit(struct worker *w, struct job *j);

#endif
