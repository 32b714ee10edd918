/* family.h - what everybody may know of a model family without linking a kernel: its parameters, its ladder of
 * levels, its cost and memory formulas. libc-only data, made from ml/family/family_params.def; the controller includes it. */
#ifndef ML_FAMILY_FAMILY_H
#define ML_FAMILY_FAMILY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum family_kind { FP_FLOAT, FP_INT, FP_CHOICE };
enum family_axis { FA_COSTLY, FA_FREE, FA_PATH, FA_SHAPE };
enum family_task { FT_BINARY = 1, FT_MULTICLASS = 2, FT_REGRESSION = 4, FT_ANY = 7 };
enum family_form {
    FF_NONE,
    FF_BINS,
    FF_DENSE
}; /* of the table, which all its trials share (data.h) */
/* What a level of a trial spends: the family's own ladder; or, in shares of the whole, its rounds or its rows. A family that has
 * no rounds, or cannot leave rows out, keeps its own. */
enum family_resource { FR_AUTO, FR_ROUNDS, FR_ROWS, FR_KINDS };
enum { FAMILY_MAX_PARAMS = 32, FAMILY_MAX_COUNTS = 8 };
enum { LADDER_ROUNDS = 81, LADDER_ROWS = 27, LADDER_MIN_ROWS = 3000 };

struct family_param {
    const char *name; /* "learning_rate" */
    enum family_kind kind;
    enum family_axis axis;
    bool is_log;
    double lo, hi, step, def; /* search range and default; FP_CHOICE: def = index */
    double hard_lo, hard_hi;  /* what a user's own space may ask for */
    const char *choices;      /* FP_CHOICE: "none|balanced" */
    const char *help;
};

struct family_shape { /* what the cost of a fit depends on */
    int64_t rows;     /* training rows of the whole table, test rows excluded */
    int columns;      /* prepared: numeric + categorical inputs */
    int encoded;      /* width after one-hot */
    int outputs;      /* 1 for binary and regression, else classes */
    int folds;        /* fitted: k, or 1 for holdout */
    double
        growth; /* memory only: what trees of the family's fits take here against the formula; 0 = unknown, 1 */
    int task; /* FT_ */
    enum family_resource resource;
};

/* How the engine trains a level of the ladder (fit.h). Steps are the family's free axis: rounds, points of a path. A grid
 * (n_counts > 0) has two axes: a model of c units (trees), pruned in one of per_count ways, the smallest first and the last
 * one whole, is step (c - 1) * per_count + 1 + way. All ways of each count are scored; there is no patience, and the largest
 * count there is speaks: more units are never worse but by chance. */
struct family_plan {
    int folds;  /* 1 = fold 0 only, 0 = all */
    double key; /* levels of equal key continue each other's lanes; another key starts anew */
    double
        share; /* of the training rows, nested: those of a smaller share are in a larger; 0 = all */
    int64_t check_every;   /* steps between two points of the curve; the last step is always one */
    int64_t patience;      /* steps without a better point before it stops */
    int64_t cap;           /* steps at most */
    bool scales_with_rows; /* more rows want more steps (refit on all rows) */
    int n_counts, per_count;
    int64_t count[FAMILY_MAX_COUNTS]; /* ascending */
};

struct family {
    const char *name; /* "boost" */
    const char *help;
    int tasks;           /* FT_ mask */
    bool keeps_monotone; /* honours constraints on columns (data.h) */
    enum family_form form;
    bool has_device; /* has a form for GPUs (ops.h) */
    bool by_name; /* tried only where a space names it: automatic searches leave it out */
    bool
        is_lead; /* usually the strongest: where all families are searched, time is planned by it */
    const struct family_param *params;
    int n_params;
    int levels;      /* R of its own ladder, >= 1 */
    int rounds;      /* the parameter that caps its steps, for FR_ROUNDS; 0 = none */
    bool takes_rows; /* trains on a share of the rows, for FR_ROWS */
    int adds_folds; /* the level that is the one below it on all folds, 0 = none: with one fold they are the same */
    const char *const *level_help; /* what each level means */
    /* Integer cost units of running from level `from` to `to` (pure; one unit is about a microsecond of one 2026 core).
     * Drives virtual time, so it must never depend on a clock. */
    int64_t (*cost)(const struct family_shape *s, const double *params, int from, int to);
    /* Held by one trial trained to `level`, with the folds which that level fits (s->folds = all); shared data excluded. */
    int64_t (*host_bytes)(const struct family_shape *s, const double *params, int level);
    void (*plan)(const double *params, int level, struct family_plan *out);
    /* Writes what the fit chose along its free axes, and what the level ran with in place of the wish, into params. */
    void (*choose)(double *params, int level, int64_t steps);
    /* What an automatic search tries of parameter i where task (FT_) and metric say more than its own lo..hi; NULL = never. */
    void (*searched)(int i, int task, const char *metric, double *lo, double *hi);
    int (*choice_tasks)(int i, int choice); /* tasks (FT_ mask) that a choice suits; NULL = all */
    /* Configurations tried first, one double per parameter, in order; NULL-terminated list of rows of n_params. */
    const double *(*portfolio)(int i); /* NULL past the end; row 0 = the defaults */
};

/* The ladder of a study (family_ladder.c): by s->resource, the family's own functions or what follows from them. Levels are
 * 1..family_levels. Of a share of rows at least LADDER_MIN_ROWS are taken; all but the top level fit fold 0 only. */
extern const char *const family_resource_name[FR_KINDS]; /* "auto", "rounds", "rows" */
int family_resource_find(const char *name);              /* "" = FR_AUTO; -1 = unknown */
enum family_resource family_resource_of(const struct family *f, const struct family_shape *s);
int family_levels(const struct family *f, const struct family_shape *s);
int family_own_level(const struct family *f, const struct family_shape *s,
                     int level); /* on f's own ladder */
void family_level_plan(const struct family *f, const struct family_shape *s, const double *params,
                       int level, struct family_plan *out);
int64_t family_level_cost(const struct family *f, const struct family_shape *s,
                          const double *params, int from, int to); /* as family.cost; >= 1 */
int64_t family_level_bytes(const struct family *f, const struct family_shape *s,
                           const double *params, int level); /* as family.host_bytes */
void family_level_help(const struct family *f, const struct family_shape *s, int level, char *out,
                       size_t size);

const struct family *family_find(const char *name); /* NULL = unknown */
const struct family *family_at(int i);              /* NULL past the end; order of the registry */
int family_param_find(const struct family *f, const char *name);
/* What was meant by a name that is none of ours, also as other libraries call it (lightgbm, n_estimators); NULL = no idea.
 * family_near.c. */
const char *family_near(const char *name);
const char *family_param_near(const struct family *f, const char *name);
int family_params_check(const struct family *f, const double *params,
                        struct err *err); /* err->where = parameter */
void family_defaults(const struct family *f, double *params);
int family_choice_count(const struct family_param *p);
int family_choice_find(const struct family_param *p, const char *name); /* -1 */
void family_choice_name(const struct family_param *p, int i, char *out, size_t size);
/* Two configurations of one shape key can train in one launch: family name + its FA_SHAPE values, as text. */
void family_shape_key(const struct family *f, const double *params, char *out, size_t size);

#endif
