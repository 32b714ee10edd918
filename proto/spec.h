/* spec.h - the search spec, which is what a user submits (docs/SPEC.md lists the keys).
 * Parsing is strict: an unknown key, a wrong type or a value out of range is an error with the path
 * of the key. Everything except dataset and target has a default. The database stores the
 * normalised JSON that spec_json_new makes. Parsing that JSON gives the same spec again:
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
/* A quantity to search for: the score by the metric, one that a trial costs, or a further value that
 * a user's program tells of a trial (OBJ_VALUE_2 is the second value of the spec's objectives). */
enum spec_objective {
    OBJ_SCORE,
    OBJ_FIT_TIME,
    OBJ_PREDICT_TIME,
    OBJ_MODEL_BYTES,
    OBJ_VALUE_2,
    OBJ_VALUE_3,
    OBJ_VALUE_4,
    OBJ_KINDS
};
enum { SPEC_MAX_OBJECTIVES = 4, SPEC_ENSEMBLE = 5, SPEC_MAX_ENSEMBLE = 50 };

struct spec {
    char name[128]; /* [A-Za-z0-9._-]; default: made from the dataset's name */
    /* Its trials are run by a program of the user's (spec_own.c): `space` is an object, and
     * dataset, target and all that speaks of a table are empty. The next four belong to it. */
    bool is_own;
    bool larger_is_better; /* `goal: maximize` */
    int levels;            /* how often a trial may report: 1..levels; 1 = only its result */
    json_t *constraints;   /* list of inequalities between its parameters, or NULL; owned */
    int64_t lost_after_ms; /* a client that is silent for so long has lost its trial */
    /* What runners run for each trial (proto/command.h), or NULL: clients ask and tell. Owned. */
    json_t *command;
    char dataset[128]; /* the name of a registered dataset, or its sha256 */
    char target[256];
    json_t *columns;    /* {name: numeric|categorical|ignore|...} or NULL; owned */
    json_t *monotone;   /* {column: increasing|decreasing} or NULL; owned */
    char positive[256]; /* the class that auc and f1 are about; "" = the rarer one */
    /* Columns that say how rows are used; "" = none. groups and time_column never together. */
    char groups[256], time_column[256], weights[256];
    double time_gap; /* in the units of the time column; seconds for dates */
    /* whether the column is an input too; defaults: false, true */
    bool groups_are_input, time_is_input;
    enum spec_task task;
    char metric[32];  /* "" = by the task: auc, logloss or rmse */
    int n_objectives; /* 0 = the score alone, else 2..SPEC_MAX_OBJECTIVES, one of them the score */
    enum spec_objective objectives[SPEC_MAX_OBJECTIVES];
    /* Of an own study with several objectives: their names, and which way they are better. */
    char objective_metric[SPEC_MAX_OBJECTIVES][32];
    bool objective_larger[SPEC_MAX_OBJECTIVES];
    /* The key that named the metric, for error texts: "metric" or "objectives[0]". */
    char metric_where[24];
    enum spec_validation validation;
    int folds;                   /* kfold: 2..20, default 5 */
    double holdout_fraction;     /* default 0.2 */
    enum spec_resource resource; /* what a level of a trial spends */
    char test_dataset[128];      /* "" = none */
    double test_fraction;        /* 0 = none; never together with test_dataset */
    int64_t budget_time_ms;      /* 0 = none */
    int64_t budget_trials;       /* 0 = none; a spec with neither limit gets 10 minutes */
    int64_t trial_time_ms;       /* 0 = none */
    int64_t trial_memory_bytes;  /* 0 = none */
    bool has_stop_score;
    double stop_score;
    /* 0 = never, -1 = not given, so that the controller may stop early on a small table. */
    int64_t stop_no_gain_trials;
    int priority;
    char sampler[32]; /* "auto" */
    /* {name: number} of `sampler: {kind: ..., ...}`, or NULL; owned. The controller checks the
     * names. */
    json_t *sampler_options;
    char scheduler[32];        /* "auto" */
    json_t *scheduler_options; /* as sampler_options */
    uint64_t seed;             /* at most 2^53, so that every JSON program keeps it */
    /* auto = on if no limit and no objective is in seconds; on together with one of those is an
     * error. */
    enum spec_tri deterministic;
    int parallel;  /* 0 = auto */
    json_t *space; /* list of {family, parameters}, or NULL = auto, or of an own study an object of
                   parameters; owned. The controller checks it */
    int ensemble;  /* members of the ensemble that ships, at most; 0 = none is made */
    char warm_start[128]; /* id or name of an earlier study, "" = none */
    json_t *enqueue;      /* list of configurations to try first, or NULL; owned */
};

void spec_init(struct spec *s); /* sets the defaults */
void spec_fini(struct spec *s);
/* Initialises s. After an error there is nothing to free. */
int spec_parse(struct spec *s, const json_t *json, struct err *err);
json_t *spec_json_new(const struct spec *s);
bool spec_is_deterministic(const struct spec *s); /* with auto decided */
extern const char *const spec_resource_name[];    /* by enum spec_resource: "auto", "rounds" ... */
/* What may be said about a column (docs/SPEC.md, "Columns"). */
enum { SPEC_COLUMN_TYPES = 13 };
extern const char *const spec_column_types[SPEC_COLUMN_TYPES];
#define SPEC_COLUMN_WORDS                                                                \
    "numeric, categorical, label, ignore, date, date_dmy, date_mdy, date_ymd, epoch_s, " \
    "epoch_ms, yyyymmdd, text or list"
/* What is said about a column: a word for its type, or {"type": word, "missing": [texts]}, of which
 * either may be left out. where: path for errors, such as "columns". */
struct column_said {
    /* NULL = the type is found as ever */
    const char *type;
    /* NULL-terminated; NULL = the usual words; column_said_fini frees the array, the texts are the
     * JSON's */
    const char **missing;
};
int column_said(const char *where, const char *name, const json_t *value, struct column_said *out,
                struct err *err);
void column_said_fini(struct column_said *c);
extern const char *const spec_task_name[]; /* by enum spec_task: "auto", "binary" ... */
extern const char *const spec_objective_name[OBJ_KINDS]; /* "score", "fit_time" ... */

#endif
