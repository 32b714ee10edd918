/* msg.h - what runners and the controller say to each other, and its JSON forms (docs/PROTOCOL.md
 * tells the story). Every message of a trial carries (trial, fence, seq). If seq is at most the
 * last one applied, the message has no effect and gets the same answer again. If it is the last one
 * plus 1, it is applied. A gap or another fence is `stale`. Decoders ignore unknown fields, because
 * a newer peer may send them, refuse wrong types, and bound every list.
 *
 *   POST /api/v1/runners              msg_hello  -> msg_welcome   POST /api/v1/runners/{id}/lease
 * msg_ask    -> msg_grant (or none)   POST /api/v1/runners/{id}/report  msg_report -> msg_answer;
 * renews every lease the session holds   blobs: POST /api/v1/uploads, PUT parts, commit; GET|HEAD
 * /api/v1/blobs/{sha256}
 * */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include "base/err.h"
#include "base/sha256.h"
#include "proto/trial.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define MSG_PROTOCOL 1
enum { MSG_MAX_DEVICES = 64, MSG_MAX_TRIALS = 256, MSG_MAX_CACHED = 64 };

struct msg_device {
    char id[32];   /* "cpu0", "gpu3": unique in the runner; each device has one worker process */
    char kind[16]; /* cpu | cuda */
    char name[64];
    int64_t memory_bytes; /* for all trials of the device together */
    int max_trials;       /* that may run at once */
    bool commands;        /* runs programs of users' too (proto/command.h) */
    bool meets;           /* can train one trial together with other devices (devices: N) */
    bool blends;          /* can make ensembles (MSG_ENSEMBLE) */
};

struct msg_hello {
    int protocol;
    char name[64];        /* host name or --name; not unique */
    char session[33];     /* random for each start of the process */
    char follows[33];     /* session of a runner that has ended for certain; "" = none is known */
    char numeric_sig[64]; /* "assay-1/cpu": a study's trials run only where it is the same */
    char labels[256];     /* "gpu=h200,rack=3" */
    int n_devices;
    struct msg_device devices[MSG_MAX_DEVICES];
};
struct msg_welcome {
    int64_t runner;   /* the runner's id; a session that is known gets its old one */
    int64_t lease_ms; /* a runner that is silent for longer loses its trials */
};

struct msg_ask {
    char session[33];
    int64_t n; /* number of the call for this session and device, from 1; a repeat gets the same
                  grant */
    char device[32];
    int max_trials;
    int64_t host_bytes, device_bytes; /* free */
    int n_cached;
    char cached[MSG_MAX_CACHED][SHA256_HEX]; /* frames on this machine's disk */
    int64_t wait_s;                          /* how long the controller may hold the call, 0..60 */
};

/* What a fit or a refit reads. A frame is the columnar file of ml/table/frame.h. */
struct msg_data {
    char frame[SHA256_HEX];      /* of the training table */
    char test_frame[SHA256_HEX]; /* "" = no test table; test_fraction may set rows apart */
    char target[256], positive[256];
    char monotone[4000]; /* JSON object {column: increasing | decreasing}; "" = none */
    /* Columns that say how rows are used, and how (ml/model/data.h); "" = none. */
    char groups[256], time_column[256], weights[256];
    double gap;
    bool groups_are_input, time_is_input;
    char task[16]; /* binary | multiclass | regression */
    char metric[32];
    double test_fraction; /* rows of `frame` set apart by a hash of (split_seed, row) */
    int folds; /* k folds; a holdout is fold 0 of k, where 1/k is nearest to the wanted fraction */
    bool holdout; /* only fold 0 is fitted, and the winner is refitted on all rows in the end */
    uint64_t split_seed;
    char resource[8];      /* what levels spend: auto | rounds | rows; "" = auto */
    int64_t rows, columns; /* for estimates and logs */
};

/* MSG_RANK: to train a trial together with the device that has the trial's own grant. MSG_ENSEMBLE:
 * to choose among models that other trials left, and to make one file of them. */
enum msg_kind { MSG_FIT, MSG_INGEST, MSG_REFIT, MSG_RANK, MSG_ENSEMBLE };
enum { MSG_MAX_MODELS = 64 };
/* Of MSG_ENSEMBLE: a model that may become a member, and what it predicted out of fold. */
struct msg_model {
    int64_t trial;
    char artifact[SHA256_HEX], predictions[SHA256_HEX];
};
enum { MSG_MAX_RANKS = 64, MSG_ADDRESS = 96 };
struct msg_trial {
    int64_t trial, fence;
    char *config; /* JSON object text: {"family":"boost",...}; heap */
    /* The same as a value, where the sender has it; NULL = not; borrowed. Not decoded. */
    const json_t *config_json;
    uint64_t seed;
    int from, to;                /* levels of the family's ladder; from 0 = nothing is done yet */
    char checkpoint[SHA256_HEX]; /* to start from; "" = none */
    double growth; /* family_shape.growth of the study's other trials, for the estimate of memory;
                      0 = unknown */
};
struct msg_grant {
    enum msg_kind kind;
    int64_t group; /* id for logs; 0 for a task */
    int64_t study;
    int64_t deadline_ms;                       /* from now; work ends by then. 0 = none */
    int64_t trial_time_ms, trial_memory_bytes; /* limits of one trial; 0 = none */
    /* The limit of time of a trial whose score gets better fast (fit_trial_is_steep); 0 = the same */
    int64_t trial_steep_ms;
    struct msg_data data;
    int n_trials; /* MSG_FIT: 1..MSG_MAX_TRIALS trials that may train together; MSG_RANK: 1 */
    struct msg_trial *trials; /* heap */
    /* Of a trial that several devices train: how many, which of them this is (0 has the trial,
     * the others have MSG_RANK), and what they prove to each other that they belong together by.
     * ranks 0 = one device. */
    int ranks, rank;
    char secret[65];
    bool keeps_predictions; /* FIT: a model that is kept leaves its predictions too */
    /* ENSEMBLE: the best first; heap. members: at most so many in the file. */
    int n_models, members;
    struct msg_model *models;
    /* All kinds but MSG_FIT are tasks, which have a fence of their own. */
    int64_t task, fence;
    char *config;            /* REFIT: configuration; INGEST: {"columns":{...}}; heap or NULL */
    char source[SHA256_HEX]; /* INGEST: the uploaded file */
    char source_name[128];   /* INGEST: its name, for error texts */
    int64_t max_bytes;       /* INGEST: largest size of the frame; 0 = not limited */
    /* FIT of a study with a `command`: that part of its spec as JSON, its name and its number of
     * levels; there is no data then, and one trial. heap or NULL */
    char *command;
    char study_name[128];
    int levels;
    uint64_t seed;
    /* REFIT: the number of steps (boosting rounds) that validation chose; the engine scales it to
     * the number of all rows. */
    int rounds_hint;
    char model
        [SHA256_HEX];    /* REFIT: the model of its trial, whose adjustments it keeps; "" = none */
    char free_json[256]; /* REFIT: all chosen free-axis values as JSON text */
};

/* What a runner tells of a trial or a task. RUNG and FINAL are questions: the trial waits for the
 * controller's reply before it goes on. */
enum msg_type {
    MSG_PROGRESS,    /* how far a running trial is; at most once a second; nothing is stored */
    MSG_RUNG,        /* reached the level `to`, below the top; the reply is run_to, pause or stop */
    MSG_FINAL,       /* reached the top, or was cut by time (`cut`); the reply is keep or drop, and
                       after drop the trial is completed */
    MSG_COMPLETE,    /* after keep: the model file is uploaded; the trial is completed */
    MSG_PAUSED,      /* after pause: the checkpoint is uploaded */
    MSG_CHECKPOINT,  /* a checkpoint is uploaded, `level` says how far it got; changes no state */
    MSG_PREDICTIONS, /* after keep and before COMPLETE: what the trial predicted out of fold is
                        uploaded; changes no state */
    MSG_OUTPUT,      /* a piece of what a user's program printed, in `detail`; changes no state */
    MSG_FAILED,      /* with a reason; a reason of the machine puts the trial back into the queue */
    MSG_TASK_DONE,   /* with a result as JSON (ingest: schema and frame; refit: model and scores) */
    MSG_TASK_FAILED,
    MSG_MEET,      /* the trial's ranks can be met at `address`; repeated until all have come */
    MSG_TASK_MEET, /* of a MSG_RANK: asks for that address; repeated until the reply has it */
    MSG_TYPES
};
struct msg_event {
    enum msg_type type;
    int64_t trial; /* in MSG_TASK_* the id of the task */
    int64_t fence, seq;
    int level;
    double progress;     /* MSG_PROGRESS: 0..1, the part of the way to `to` that is done */
    double value, se;    /* score by the study's metric, and its standard error; NaN = none */
    double select_value; /* score that chose along the free axes, over all folds; NaN = none */
    double test_value, test_se; /* NaN = none */
    int64_t fit_us, predict_ns_row, model_bytes, work_units, peak_bytes;
    bool cut;                  /* ended by the deadline with its best score so far */
    char blob[SHA256_HEX];     /* checkpoint or model file; "" = none */
    char address[MSG_ADDRESS]; /* MSG_MEET: HOST:PORT */
    enum trial_reason reason;
    char *detail; /* heap: text of a failure, or JSON of a result: free-axis values and curve */
    char *epochs; /* heap: JSON of how a network learned by epoch; NULL = nothing to tell */
};
struct msg_held {
    int64_t trial, fence;
};
/* The last lease call of a device whose answer has arrived. The controller puts back into the queue
 * only trials of grants up to that call that the report does not list. So a report that was sent
 * before a grant arrived takes nothing back. */
struct msg_asked {
    char device[32];
    int64_t n;
};
struct msg_report {
    char session[33];
    char device[32]; /* "" = the whole runner; such a report may only renew leases */
    int n_events, n_held, n_tasks;
    struct msg_event *events; /* heap */
    struct msg_held *held;    /* heap: every trial that this session still holds, on any device */
    struct msg_held *tasks;   /* heap: the tasks that it holds, with their fences */
    int n_asked;
    struct msg_asked *asked; /* heap: at most one for each device */
};

enum msg_action {
    MSG_OK,     /* noted; nothing is asked of the runner */
    MSG_RUN_TO, /* go on to level `to` */
    MSG_PAUSE,  /* save a checkpoint and let go of the trial */
    MSG_STOP,   /* the trial is over; drop it */
    MSG_KEEP,   /* upload the model file */
    MSG_DROP,   /* the model file is not wanted; the trial is completed */
    MSG_STALE,  /* another session has the trial now; drop it */
    MSG_ACTIONS
};
struct msg_reply {
    int64_t trial, fence, seq; /* of the event that is answered; for tasks too */
    enum msg_action action;
    int to;                    /* MSG_RUN_TO */
    int64_t deadline_ms;       /* from now, as in the grant; 0 = unchanged */
    char address[MSG_ADDRESS]; /* MSG_TASK_MEET: where rank 0 listens; "" = it is not known yet */
};
struct msg_answer {
    int n_replies;
    struct msg_reply *replies; /* heap; one per event, in order */
    int n_stop;
    struct msg_held *stop; /* heap: trials to drop at once (cancelled, stale) */
    int n_stop_tasks;
    struct msg_held *stop_tasks;
    int64_t lease_ms;
    bool drain; /* finish or save what runs, and ask for no more work */
};

extern const char *const msg_type_name[MSG_TYPES];
extern const char *const msg_action_name[MSG_ACTIONS];

json_t *msg_hello_json_new(const struct msg_hello *m);
int msg_hello_parse(struct msg_hello *m, const json_t *j, struct err *err);
json_t *msg_welcome_json_new(const struct msg_welcome *m);
int msg_welcome_parse(struct msg_welcome *m, const json_t *j, struct err *err);
json_t *msg_ask_json_new(const struct msg_ask *m);
int msg_ask_parse(struct msg_ask *m, const json_t *j, struct err *err);
json_t *msg_grant_json_new(const struct msg_grant *m); /* m NULL gives {"grant":null} */
/* 1 = a grant, 0 = no work, -1 = error. */
int msg_grant_parse(struct msg_grant *m, const json_t *j, struct err *err);
void msg_grant_fini(struct msg_grant *m);
json_t *msg_report_json_new(const struct msg_report *m);
int msg_report_parse(struct msg_report *m, const json_t *j, struct err *err);
void msg_report_fini(struct msg_report *m);
json_t *msg_answer_json_new(const struct msg_answer *m);
int msg_answer_parse(struct msg_answer *m, const json_t *j, struct err *err);
void msg_answer_fini(struct msg_answer *m);
/* Such a message changes no row: it has no number (seq 0), and a newer one takes its place. */
bool msg_is_passing(enum msg_type t);
/* Whether the message is about a task. */
bool msg_is_of_task(enum msg_type t);
void msg_event_init(struct msg_event *e); /* zeroes it and sets the scores to NaN */

#endif
