/* family.h - what everybody may know of a model family without linking a kernel: its parameters,
 * its ladder of levels, its cost and memory formulas.
 *
 * Data and pure functions that need libc only, made from family_params.def and family_tables.c. The
 * controller, the CLI, ml/fit and the families themselves include it.
 *
 * Axes of a parameter: FA_COSTLY must be set before a fit; FA_FREE is found during one fit at no
 * extra cost (the number of rounds); FA_PATH likewise along a path of solutions; FA_SHAPE decides
 * which trials may train in one launch; FA_PREP chooses how the columns are prepared (ml/prep/
 * choice.h): its name begins with "prep_", its first choice leaves it to the data, and it is
 * searched only where the table has columns that it is about. */
#ifndef ML_FAMILY_FAMILY_H
#define ML_FAMILY_FAMILY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum family_kind { FP_FLOAT, FP_INT, FP_CHOICE };
enum family_axis { FA_COSTLY, FA_FREE, FA_PATH, FA_SHAPE, FA_PREP };
enum family_task { FT_BINARY = 1, FT_MULTICLASS = 2, FT_REGRESSION = 4, FT_ANY = 7 };
/* the form of the table that a family trains on; all trials of it share one (ml/model/data.h) */
enum family_form { FF_NONE, FF_BINS, FF_DENSE, FF_IMAGES };
/* What a level of a trial spends: the family's own ladder, or a share of its rounds or of its rows.
 * A family that has no rounds, or cannot leave rows out, keeps its own ladder. */
enum family_resource { FR_AUTO, FR_ROUNDS, FR_ROWS, FR_KINDS };
enum { FAMILY_MAX_PARAMS = 40, FAMILY_MAX_COUNTS = 8 };
/* Levels of rounds and of rows are 81 and 27 equal shares (family_ladder.c). LADDER_MIN_ROWS: a
 * level of rows has at least so many of them. */
enum { LADDER_ROUNDS = 81, LADDER_ROWS = 27, LADDER_MIN_ROWS = 3000 };

struct family_param {
    const char *name; /* "learning_rate" */
    enum family_kind kind;
    enum family_axis axis;
    bool is_log;
    /* the range that is searched, and the default; for FP_CHOICE def is an index */
    double lo, hi, step, def;
    /* what a user's own space may ask for */
    double hard_lo, hard_hi;
    const char *choices; /* FP_CHOICE: "none|balanced" */
    const char *help;
};

/* What an automatic search tries of a parameter, and its default. */
struct family_range {
    double lo, hi, def;
};

/* The images of a table; all 0 where it has none. Their values count as columns too. */
struct family_image {
    int height, width, channels;
};
static inline int family_image_values(const struct family_image *m)
{
    return m->height * m->width * m->channels;
}

/* What the cost of a fit depends on. */
struct family_shape {
    /* training rows of the whole table, without test rows */
    int64_t rows;
    /* prepared inputs: numeric and categorical */
    int columns;
    /* width after one-hot encoding */
    int encoded;
    /* Each fold has forms of the table of its own: some inputs are means of the target. */
    bool by_fold;
    /* Columns that the parameters of FA_PREP are about: categories of many levels, which have means
     * of the target, and of few, which may have them; whole numbers that may be names, and
     * those of few values, and how wide both are as levels; texts and lists; numbers, and those of
     * them that miss some. */
    int many_levels, few_levels, codes, few_codes, code_width, texts, numbers, holes;
    /* 1 for binary and regression, else the number of classes */
    int outputs;
    /* folds that are fitted: k, or 1 for holdout */
    int folds;
    /* Memory only: measured size of the family's trees on this table, against the formula. 0 =
     * unknown, taken as 1. */
    double growth;
    int task; /* FT_ */
    /* Milliseconds that the fit of one fold should take at most with the defaults, so that a search
     * with a limit in time can try several whole trials; 0 = any. */
    int fold_ms;
    struct family_image image;
    enum family_resource resource;
};

/* How the engine trains a level of the ladder (ml/fit/fit.h). Steps are the family's free axis:
 * rounds, points of a path.
 *
 * A grid (n_counts > 0) has two axes: a model of c units (trees), pruned in one of per_count ways,
 * the smallest first and the unpruned one last, is step (c - 1) * per_count + 1 + way. All ways of
 * each count are scored. There is no patience: the largest count that is complete is used, because
 * more units are worse by chance only. */
struct family_plan {
    /* 1 = fold 0 only, 0 = all */
    int folds;
    /* levels of equal key continue each other's lanes; another key starts anew */
    double key;
    /* Share of the training rows; 0 = all. Shares are nested: the rows of a smaller one are in
     * every larger one. */
    double share;
    /* steps between two check points; the last step is always one */
    int64_t check_every;
    /* steps without a better point before training stops */
    int64_t patience;
    /* Training ends at step halt_at if the best point so far is at step halt_best or before; 0 = it does
     * not. */
    int64_t halt_at, halt_best;
    /* largest number of steps */
    int64_t cap;
    /* more rows want more steps (refit on all rows) */
    bool scales_with_rows;
    int n_counts, per_count;
    int64_t count[FAMILY_MAX_COUNTS]; /* ascending */
};

/* What a GPU is worth to a family, in the order in which GPUs choose and cores leave trials. */
enum family_device {
    FAMILY_CORE,   /* it has no form for devices (ml/ops/ops.h): there it trains on one core */
    FAMILY_EITHER, /* a GPU does what a few cores do */
    FAMILY_GPU,    /* a GPU does what tens of cores do, if the table is large */
    FAMILY_DEVICES
};

struct family {
    const char *name; /* "boost" */
    const char *help;
    int tasks; /* FT_ mask */
    /* keeps predictions monotone in the columns that the spec names (ml/model/data.h) */
    bool keeps_monotone;
    enum family_form form;
    enum family_device device;
    /* tried only where a space names it: automatic searches leave it out */
    bool by_name;
    /* only for tables of images */
    bool needs_images;
    /* usually the strongest family: where all are searched, time is planned by it */
    bool is_lead;
    /* A level below the top is a part of a fit, such as a few epochs. Its score can be compared with
     * those of the same family only; other families' lower levels are whole fits. */
    bool has_partial_levels;
    /* So many rows of the portfolio run whole at once where the time allows, the default among them: a
     * search should have them beside each other. 0 = the scheduler decides about all but the default. */
    int whole_rows;
    /* The parameter of two choices by which two of its models differ most, so that an ensemble wants one
     * of each (controller/decide/variety.h); 0 = none. */
    int differs_by;
    const struct family_param *params;
    int n_params;
    /* levels of its own ladder, at least 1 */
    int levels;
    /* the parameter that bounds its steps, for FR_ROUNDS; 0 = none */
    int rounds;
    /* can train on a share of the rows, for FR_ROWS */
    bool takes_rows;
    /* the level that repeats the one below it on all folds; 0 = none. With one fold the two are the
     * same. */
    int adds_folds;
    const char *const *level_help; /* what each level means */
    /* Cost of going from level `from` to `to`, in whole units of about a microsecond of a core of
     * 2026. Drives the virtual time of deterministic studies, so it must never depend on a
     * clock. */
    int64_t (*cost)(const struct family_shape *s, const double *params, int from, int to);
    /* Memory of one trial trained to `level`, with the folds that the level fits (s->folds = all);
     * shared data excluded. */
    int64_t (*host_bytes)(const struct family_shape *s, const double *params, int level);
    void (*plan)(const double *params, int level, struct family_plan *out);
    /* Writes what the fit chose along its free axes, and what the level really ran with, into
     * params. */
    void (*choose)(double *params, int level, int64_t steps);
    /* Changes the range of parameter i where the table or the metric suggests another one than its
     * own lo, hi and def. s: NULL while no table is known. NULL = never. */
    void (*searched)(int i, const struct family_shape *s, const char *metric,
                     struct family_range *io);
    /* Makes a row of the portfolio one that suits the table, where ranges do not say enough; called by
     * family_suit after these. NULL = nothing. */
    void (*suit)(const struct family_shape *s, double *params);
    /* The choices of parameter *other, as bits, with which parameter i has an effect; 0 = always. The
     * other one comes first. NULL = all have an effect always. */
    uint64_t (*only_with)(int i, int *other);
    int (*choice_tasks)(int i, int choice); /* tasks (FT_ mask) that a choice suits; NULL = all */
    /* Configurations tried first, one double per parameter, in order. */
    const double *(*portfolio)(int i); /* NULL past the end; row 0 = the defaults */
};

/* The ladder of a study (family_ladder.c). s->resource decides: the family's own functions, or what
 * follows from them. Levels count from 1 to family_levels. A share of rows has at least
 * LADDER_MIN_ROWS; all levels but the last fit fold 0 only. */
extern const char *const family_resource_name[FR_KINDS]; /* "auto", "rounds", "rows" */
int family_resource_find(const char *name);              /* "" = FR_AUTO; -1 = unknown */
enum family_resource family_resource_of(const struct family *f, const struct family_shape *s);
int family_levels(const struct family *f, const struct family_shape *s);
/* the same level on f's own ladder */
int family_own_level(const struct family *f, const struct family_shape *s, int level);
void family_level_plan(const struct family *f, const struct family_shape *s, const double *params,
                       int level, struct family_plan *out);
/* as family.cost; at least 1 */
int64_t family_level_cost(const struct family *f, const struct family_shape *s,
                          const double *params, int from, int to);
/* Whether what a trial keeps of this level, fitted on some folds, costs more than it saves: the next
 * level, which repeats all of this level's work, costs many times as much. Example: the first level of
 * a forest has a quarter of the trees on one of five folds; its checkpoint is megabytes, and only one
 * trial in nine was ever promoted. So its checkpoint holds nothing, and it is trained again. */
bool family_level_is_redone(const struct family *f, const struct family_shape *s,
                            const double *params, int level);
/* as family.host_bytes */
int64_t family_level_bytes(const struct family *f, const struct family_shape *s,
                           const double *params, int level);
void family_level_help(const struct family *f, const struct family_shape *s, int level, char *out,
                       size_t size);

const struct family *family_find(const char *name); /* NULL = unknown */
/* in the order of the list; NULL past the end */
const struct family *family_at(int i);
int family_param_find(const struct family *f, const char *name);
/* family_near.c: the name that was probably meant by one that is none of ours, also as other
 * libraries spell it (lightgbm, n_estimators). NULL = no idea. */
const char *family_near(const char *name);
const char *family_param_near(const struct family *f, const char *name);
/* err->where names the parameter. */
int family_params_check(const struct family *f, const double *params, struct err *err);
/* How many devices train one trial together: the parameter `devices`, or 1. */
int family_devices(const struct family *f, const double *params);
/* How many of them must be GPUs: all, or 0. */
int family_gpus(const struct family *f, const double *params);
void family_defaults(const struct family *f, double *params);
/* Parameter i with the range and the default that suit a table and a metric: see family.searched. */
struct family_param family_param_for(const struct family *f, int i, const struct family_shape *s,
                                     const char *metric);
/* Moves each value of a configuration that the table or the metric narrowed into its new range, and
 * calls family.suit. What they say nothing about stays as it is. */
void family_suit(const struct family *f, const struct family_shape *s, const char *metric,
                 double *params);
int family_choice_count(const struct family_param *p);
/* -1 = none */
int family_choice_find(const struct family_param *p, const char *name);
void family_choice_name(const struct family_param *p, int i, char *out, size_t size);
/* Two configurations with the same shape key can train in one launch: the family's name, its
 * FA_SHAPE values, and those of its FA_PREP values that are not left to the data, as text. */
void family_shape_key(const struct family *f, const double *params, char *out, size_t size);

#endif
