/* spec.h - the search spec: what a user submits (docs/SPEC.md lists the keys). Parsed strictly from JSON:
 * an unknown key, a wrong type or a value out of range is one error with the path of the key. Everything but
 * dataset and target has a default. The spec as stored is the normalised JSON of spec_json_new, and
 * parse(json(spec)) = spec. */
#ifndef PROTO_SPEC_H
#define PROTO_SPEC_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum spec_task { TASK_AUTO, TASK_BINARY, TASK_MULTICLASS, TASK_REGRESSION };
enum spec_validation { VAL_AUTO, VAL_KFOLD, VAL_HOLDOUT };
enum spec_resource { RES_AUTO, RES_ROUNDS, RES_ROWS };
enum spec_tri { TRI_AUTO, TRI_ON, TRI_OFF };
/* The score by the metric, or what a trial costs. */
enum spec_objective { OBJ_SCORE, OBJ_FIT_TIME, OBJ_PREDICT_TIME, OBJ_MODEL_BYTES, OBJ_KINDS };
enum { SPEC_MAX_OBJECTIVES = 4 };

struct spec {
    char name[128];    /* [A-Za-z0-9._-]; default: made from the dataset's name */
    char dataset[128]; /* registered name or sha256 hash */
    char target[256];
    json_t *columns;    /* {name: numeric|categorical|ignore|...} or NULL; owned */
    json_t *monotone;   /* {column: increasing|decreasing} or NULL; owned */
    char positive[256]; /* class that auc and f1 speak of; "" = the rarer */
    enum spec_task task;
    char metric[32];  /* "" = auto: auc | logloss | rmse by task */
    int n_objectives; /* 0 = the score alone, else 2..SPEC_MAX_OBJECTIVES, one of them the score */
    enum spec_objective objectives[SPEC_MAX_OBJECTIVES];
    char
        metric_where[24]; /* the key that named the metric, for errors: "metric", "objectives[0]" */
    enum spec_validation validation;
    int folds;                   /* kfold: 2..20, default 5 */
    double holdout_fraction;     /* default 0.2 */
    enum spec_resource resource; /* what a level of a trial spends */
    char test_dataset[128];      /* "" = none */
    double test_fraction;        /* 0 = none; at most one of the two */
    int64_t budget_time_ms;      /* 0 = none */
    int64_t budget_trials;       /* 0 = none; a spec that sets neither gets time 10m */
    int64_t trial_time_ms;       /* 0 = none */
    int64_t trial_memory_bytes;  /* 0 = none */
    bool has_stop_score;
    double stop_score;
    int64_t
        stop_no_gain_trials; /* 0 = never, -1 = not said: the controller's rule for small tables */
    int priority;
    char sampler[32]; /* "auto" */
    json_t *
        sampler_options; /* {name: number} of `sampler: {kind: ..., ...}`, or NULL; owned, names checked by the controller */
    char scheduler[32];        /* "auto" */
    json_t *scheduler_options; /* likewise */
    uint64_t seed;             /* <= 2^53 so that JSON keeps it */
    enum spec_tri
        deterministic; /* auto = on when nothing is in seconds, neither a limit nor an objective; on + seconds is an error */
    int parallel;      /* 0 = auto */
    json_t
        *space; /* list of {family, parameters} or NULL = auto; owned, checked by the controller */
    char warm_start[128]; /* id or name of an earlier study, "" = none */
    json_t *enqueue;      /* list of configurations to try first, or NULL; owned */
};

void spec_init(struct spec *s); /* defaults */
void spec_fini(struct spec *s);
int spec_parse(struct spec *s, const json_t *json,
               struct err *err); /* s is initialised here; on error nothing to free */
json_t *spec_json_new(const struct spec *s);
bool spec_is_deterministic(const struct spec *s); /* auto resolved */
extern const char *const spec_resource_name[]; /* by enum spec_resource: "auto", "rounds", "rows" */
extern const char *const spec_task_name[];     /* by enum spec_task: "auto", "binary", ... */
extern const char *const spec_objective_name[OBJ_KINDS]; /* "score", "fit_time", ... */

#endif
