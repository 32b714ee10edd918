/* msg.h - what runners and the controller say to each other, and its JSON forms (docs/PROTOCOL.md tells the story). Every
 * message of a trial carries (trial, fence, seq). If seq is at most the last one applied, the message has no effect and gets
 * the same answer again. If it is the last one plus 1, it is applied. A gap or another fence is `stale`. Decoders ignore
 * unknown fields, because a newer peer may send them, refuse wrong types, and bound every list.
 *
 *   POST /api/v1/runners              msg_hello  -> msg_welcome
 *   POST /api/v1/runners/{id}/lease   msg_ask    -> msg_grant (or none)
 *   POST /api/v1/runners/{id}/report  msg_report -> msg_answer; renews every lease the session holds
 *   blobs: POST /api/v1/uploads, PUT parts, commit; GET|HEAD /api/v1/blobs/{sha256}
 */
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
    char id[32];   /* "cpu0", "gpu3": unique in the runner; one worker process each */
    char kind[16]; /* cpu | cuda */
    char name[64];
    int64_t memory_bytes; /* what trials may use in all */
    int max_trials;       /* trials at once */
};

struct msg_hello {
    int protocol;
    char name[64];        /* host name or --name; not unique */
    char session[33];     /* random per process start */
    char numeric_sig[64]; /* "assay-1/cpu": trials stay on one signature */
    char labels[256];     /* "gpu=h200,rack=3" */
    int n_devices;
    struct msg_device devices[MSG_MAX_DEVICES];
};
struct msg_welcome {
    int64_t runner;   /* id; a known session gets its old one */
    int64_t lease_ms; /* a runner that is silent for longer loses its trials */
};

struct msg_ask {
    char session[33];
    int64_t n; /* call number per session and device, from 1; a repeat gets the same grant */
    char device[32];
    int max_trials;
    int64_t host_bytes, device_bytes; /* free */
    int n_cached;
    char cached[MSG_MAX_CACHED][SHA256_HEX]; /* frames on this machine's disk */
    int64_t wait_s;                          /* long poll, 0..60 */
};

/* What a fit or a refit reads. A frame is the columnar file of ml/table/frame.h. */
struct msg_data {
    char frame[SHA256_HEX];      /* of the training table */
    char test_frame[SHA256_HEX]; /* "" = none or by fraction */
    char target[256], positive[256];
    char monotone[4000]; /* JSON object {column: increasing | decreasing}; "" = none */
    char task[16];       /* binary | multiclass | regression */
    char metric[32];
    double test_fraction; /* rows of `frame` set apart by a hash of (split_seed, row) */
    int folds;            /* k; a holdout is fold 0 of k folds, with 1/k nearest to the fraction */
    bool holdout;         /* only fold 0 is fitted; refit at the end */
    uint64_t split_seed;
    char resource[8];      /* what levels spend: auto | rounds | rows; "" = auto */
    int64_t rows, columns; /* for estimates and logs */
};

enum msg_kind { MSG_FIT, MSG_INGEST, MSG_REFIT };
struct msg_trial {
    int64_t trial, fence;
    char *config; /* JSON object text: {"family":"boost",...}; heap */
    uint64_t seed;
    int from, to;                /* levels of the family's ladder: 0 = nothing done yet */
    char checkpoint[SHA256_HEX]; /* "" = none */
    double growth;               /* family_shape.growth, for the estimate of memory; 0 = unknown */
};
struct msg_grant {
    enum msg_kind kind;
    int64_t group; /* id for logs; 0 for a task */
    int64_t study;
    int64_t deadline_ms;                       /* from now: no slice may end after it; 0 = none */
    int64_t trial_time_ms, trial_memory_bytes; /* per trial; 0 = none */
    struct msg_data data;
    int n_trials;             /* MSG_FIT: 1..MSG_MAX_TRIALS trials of one group key */
    struct msg_trial *trials; /* heap */
    /* MSG_INGEST and MSG_REFIT are a task with a fence of its own */
    int64_t task, fence;
    char *config;            /* REFIT: configuration; INGEST: {"columns":{...}}; heap or NULL */
    char source[SHA256_HEX]; /* INGEST: the uploaded file */
    char source_name[128];   /* INGEST: for error texts */
    int64_t max_bytes;       /* INGEST: most bytes of the frame; 0 = not said */
    uint64_t seed;
    int rounds_hint; /* REFIT: steps (boosting rounds) that validation chose; the engine scales them to all rows */
    char free_json[256]; /* REFIT: all chosen free-axis values as JSON text */
};

enum msg_type {
    MSG_PROGRESS, /* at most once a second; state of a running trial, nothing stored durably */
    MSG_RUNG,     /* reached level < its `to` of the ladder: answer run_to | pause | stop */
    MSG_FINAL, /* reached the top (or cut by time: `cut`): answer keep | drop; drop = it is completed now */
    MSG_COMPLETE,   /* after keep: the artifact is uploaded; ends the trial */
    MSG_PAUSED,     /* after pause: the checkpoint is uploaded */
    MSG_CHECKPOINT, /* uploaded, level as far as it got; changes no state */
    MSG_FAILED,     /* with reason; machine reasons requeue */
    MSG_TASK_DONE,  /* a task: result JSON (ingest: schema and frame; refit: artifact and scores) */
    MSG_TASK_FAILED,
    MSG_TYPES
};
struct msg_event {
    enum msg_type type;
    int64_t trial; /* or task id for MSG_TASK_* */
    int64_t fence, seq;
    int level;
    double progress;            /* 0..1 within the run to `to`; MSG_PROGRESS */
    double value, se;           /* score by the study's metric and its standard error; NaN = none */
    double select_value;        /* pooled selection value along free axes; NaN = none */
    double test_value, test_se; /* NaN = none */
    int64_t fit_us, predict_ns_row, model_bytes, work_units, peak_bytes;
    bool cut;              /* ended by the deadline, best so far */
    char blob[SHA256_HEX]; /* checkpoint or artifact; "" = none */
    enum trial_reason reason;
    char *detail; /* heap: text of a failure; JSON of a result: free-axis values, curve */
};
struct msg_held {
    int64_t trial, fence;
};
/* The last lease call of a device whose answer has arrived. Only trials of grants up to that call are requeued if the report
 * does not list them. So a report that crosses a grant on the way takes nothing back. */
struct msg_asked {
    char device[32];
    int64_t n;
};
struct msg_report {
    char session[33];
    char device[32]; /* "" = the whole runner (renewal only) */
    int n_events, n_held, n_tasks;
    struct msg_event *events; /* heap */
    struct msg_held *held;    /* heap: every trial this session still holds, all devices */
    struct msg_held *tasks;   /* heap: (task, fence) held */
    int n_asked;
    struct msg_asked *asked; /* heap: at most one a device */
};

enum msg_action {
    MSG_OK,
    MSG_RUN_TO,
    MSG_PAUSE,
    MSG_STOP,
    MSG_KEEP,
    MSG_DROP,
    MSG_STALE,
    MSG_ACTIONS
};
struct msg_reply {
    int64_t trial, fence, seq; /* as in the event answered; task events likewise */
    enum msg_action action;
    int to;              /* MSG_RUN_TO */
    int64_t deadline_ms; /* from now, as in the grant; 0 = none */
};
struct msg_answer {
    int n_replies;
    struct msg_reply *replies; /* heap; one per event, in order */
    int n_stop;
    struct msg_held *stop; /* heap: trials to drop at once (cancelled, stale) */
    int n_stop_tasks;
    struct msg_held *stop_tasks;
    int64_t lease_ms;
    bool drain; /* finish or checkpoint what runs, ask for no more */
};

extern const char *const msg_type_name[MSG_TYPES];
extern const char *const msg_action_name[MSG_ACTIONS];

json_t *msg_hello_json_new(const struct msg_hello *m);
int msg_hello_parse(struct msg_hello *m, const json_t *j, struct err *err);
json_t *msg_welcome_json_new(const struct msg_welcome *m);
int msg_welcome_parse(struct msg_welcome *m, const json_t *j, struct err *err);
json_t *msg_ask_json_new(const struct msg_ask *m);
int msg_ask_parse(struct msg_ask *m, const json_t *j, struct err *err);
json_t *msg_grant_json_new(const struct msg_grant *m); /* NULL m = {"grant":null} */
int msg_grant_parse(struct msg_grant *m, const json_t *j,
                    struct err *err); /* 1 grant, 0 none, -1 error */
void msg_grant_fini(struct msg_grant *m);
json_t *msg_report_json_new(const struct msg_report *m);
int msg_report_parse(struct msg_report *m, const json_t *j, struct err *err);
void msg_report_fini(struct msg_report *m);
json_t *msg_answer_json_new(const struct msg_answer *m);
int msg_answer_parse(struct msg_answer *m, const json_t *j, struct err *err);
void msg_answer_fini(struct msg_answer *m);
void msg_event_init(struct msg_event *e); /* NaNs and empties */

#endif
