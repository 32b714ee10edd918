/* family_tables.c - one entry per family: parameters (from family_params.def), ladder, cost and
 * memory formulas, first configurations; and the list of them.
 *
 * Formulas are whole-number arithmetic on deliberately rounded doubles and never read a clock: they
 * drive virtual time. Constants were fitted to bench_fit on one core of a 2026 server; memory is
 * what the family's bytes() reports. To add a family see README.md. */
#include "ml/family/family_tables.h"

#include "base/base.h"
#include "ml/family/family_params.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

static int64_t at_least_one(double units)
{
    return units < 1.0 ? 1 : units > 9e15 ? (int64_t)9e15 : (int64_t)units;
}

static double clamped(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Training rows of all fitted folds together, in folds: a holdout still trains on 4 of 5 rows. */
static double fold_rows(const struct family_shape *s)
{
    return s->folds > 1 ? (double)s->rows * (s->folds - 1) / s->folds : (double)s->rows * 0.8;
}

/* Of the engine: predictions of the held-out rows, once as they are and once as they were at the best point. */
static double engine_bytes(const struct family_shape *s, double fitted)
{
    double held = (double)s->rows * (s->folds > 1 ? 1.0 : 0.2);

    return held * (8.0 * s->outputs * fitted / MAX(s->folds, 1) + 12);
}

/* ---- baseline ---- */

static int64_t baseline_cost(const struct family_shape *s, const double *params, int from, int to)
{
    (void)params, (void)from, (void)to;
    return at_least_one(20.0 + 0.02 * (double)s->rows * s->outputs);
}

static int64_t baseline_bytes(const struct family_shape *s, const double *params, int level)
{
    (void)params, (void)level;
    return s->folds * (int64_t)(64 + 8 * s->outputs) + (int64_t)engine_bytes(s, s->folds);
}

static void baseline_plan(const double *params, int level, struct family_plan *out)
{
    (void)params, (void)level;
    *out = (struct family_plan){ .folds = 0, .key = 0, .check_every = 1, .patience = 1, .cap = 1 };
}

static void nothing_to_choose(double *params, int level, int64_t steps)
{
    (void)params, (void)level, (void)steps;
}

static const double *baseline_portfolio(int i)
{
    static const double none[1] = { 0 };

    return i == 0 ? none : NULL;
}

static const char *const baseline_levels[] = { "one fit" };

const struct family family_baseline = {
    .name = "baseline",
    .help = "class shares, mean or median: what every model must beat",
    .tasks = FT_ANY,
    .keeps_monotone = true,
    .levels = 1,
    .level_help = baseline_levels,
    .cost = baseline_cost,
    .host_bytes = baseline_bytes,
    .plan = baseline_plan,
    .choose = nothing_to_choose,
    .portfolio = baseline_portfolio,
};

/* ---- linear ---- */

#define LINEAR(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param linear_params[] = {
#include "ml/family/family_params.def"
};

double linear_path_c(int step)
{
    static const double c[LINEAR_PATH_POINTS] = {
        1e-4, 3.1622776601683795e-4, 1e-3, 3.1622776601683795e-3, 1e-2, 3.1622776601683795e-2,
        1e-1, 3.1622776601683795e-1, 1e0,  3.1622776601683795e0,  1e1,  3.1622776601683795e1,
        1e2,  3.1622776601683795e2,  1e3,  3.1622776601683795e3,  1e4
    };

    CHECK(step >= 1 && step <= LINEAR_PATH_POINTS);
    return c[step - 1];
}

double linear_path_alpha(int step)
{
    static const double in_decade[6] = { 1,
                                         0.68129206905796128,
                                         0.46415888336127789,
                                         0.31622776601683795,
                                         0.21544346900318837,
                                         0.14677992676220695 };
    static const double decade[5] = { 1, 1e-1, 1e-2, 1e-3, 1e-4 };

    CHECK(step >= 1 && step <= LINEAR_L1_POINTS);
    return in_decade[(step - 1) % 6] * decade[(step - 1) / 6];
}

double linear_l1_ratio(const double *params)
{
    int penalty = (int)params[LINEAR_PENALTY];

    return penalty == 2 ? params[LINEAR_L1_RATIO] : penalty != 0;
}

bool linear_is_relaxed(const double *params)
{
    return params[LINEAR_PENALTY] == 3;
}

int linear_path_steps(const double *params)
{
    int n = 1;

    if (linear_l1_ratio(params) > 0) {
        while (n < LINEAR_L1_POINTS &&
               linear_path_alpha(n + 1) >= params[LINEAR_ALPHA] * (1 - 1e-9))
            n++;
        return n;
    }
    while (n < LINEAR_PATH_POINTS && linear_path_c(n + 1) <= params[LINEAR_C] * (1 + 1e-9))
        n++;
    return n;
}

/* With an L2 penalty: about 12 passes of 2 products for each of about 11 points of the path, before
 * patience ends it. With an L1 penalty: about 4 passes for each of about 16 points, and the curvature
 * of a sixth of the columns; a Gram matrix is no cheaper than these; relaxed half as much again. Of
 * several classes as an L2 path (measured: .7 to 1.9 times; relaxed .6 to 5 times). */
static int64_t linear_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double points = linear_path_steps(params), rows = fold_rows(s),
           pass = rows * (s->encoded + 8.0) * s->outputs * 0.0012;
    double again = linear_is_relaxed(params) ? 1.5 : 1;

    (void)from, (void)to;
    if (linear_l1_ratio(params) == 0 || s->outputs > 1)
        return at_least_one(100.0 + s->folds * clamped(points, 1, 12) * again * 12.0 * pass);
    double in = clamped(s->encoded / 6.0, 2, 500);
    return at_least_one(100.0 + s->folds * clamped(points, 1, 16) * again *
                                    (4.0 * pass + rows * in * in * s->outputs * 0.0001));
}

/* With an L1 penalty: the matrices of linear_l1.h, a factor of one, and Gram's. */
static int64_t l1_bytes(const struct family_shape *s)
{
    double most = fmin(fmin(s->encoded + 8.0, 1024.0), sqrt(8388608.0 / s->outputs)),
           gram = s->task == FT_REGRESSION && s->encoded <= 1024 ? s->encoded + 10.0 : 0;

    return (int64_t)(s->folds * ((2.0 * s->outputs + 1) * most * most * 8 + 512 * 8 * most +
                                 4.0 * (double)s->rows * s->outputs + 2 * gram * gram * 8));
}

static int64_t linear_bytes(const struct family_shape *s, const double *params, int level)
{
    int lanes = (s->outputs + 7) / 8 * 8;
    double wide = (s->encoded + 16.0) * lanes;

    (void)level;
    return (int64_t)(s->folds * 8.0 * wide * (LINEAR_MOST_STEPS + 22.0) +
                     engine_bytes(s, s->folds)) +
           s->folds * 9 * s->rows + (linear_l1_ratio(params) > 0 ? l1_bytes(s) : 0);
}

static void linear_plan(const double *params, int level, struct family_plan *out)
{
    (void)level;
    *out = (struct family_plan){ .folds = 0,
                                 .key = 0,
                                 .check_every = 1,
                                 .patience = linear_l1_ratio(params) > 0 ? 4 : 3,
                                 .cap = linear_path_steps(params) };
}

static void linear_choose(double *params, int level, int64_t steps)
{
    (void)level;
    if (linear_l1_ratio(params) > 0)
        params[LINEAR_ALPHA] = linear_path_alpha((int)steps);
    else
        params[LINEAR_C] = linear_path_c((int)steps);
}

/* Whether columns are so many beside the rows that most of them are more likely to say nothing than each
 * to say a little: then a relaxed L1 penalty goes first, because a search with little time may try one only
 * (Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009, section 16.2.2, "bet on
 * sparsity"). 200 rows of 2,000 columns: AUC .92 where an L2 penalty has .61. Relaxed it has 13 % less of
 * 1 - AUC than L1 on 2,000 rows of 300 counts, and 7 % on those 200 rows (12 tables each). Of several
 * classes a path of L1 takes ten times as long, and of words an L2 penalty is as good. */
static bool is_for_l1(const struct family_shape *s)
{
    return s && s->outputs == 1 && s->texts == 0 && s->encoded >= 100 &&
           s->encoded * 8LL >= s->rows;
}

static void linear_searched(int i, const struct family_shape *s, const char *metric,
                            struct family_range *io)
{
    (void)metric;
    if (i == LINEAR_PENALTY && is_for_l1(s))
        io->def = 3;
    if (i == LINEAR_PENALTY && s && s->outputs > 1)
        io->hi = 2;
}

/* Of several classes the penalties of rows 1 and 2 change places: a path of L1 takes some four times as
 * long as one of L2, and of eight such tables it was better on three, by .3 % at most. */
static void linear_suit(const struct family_shape *s, double *params)
{
    bool is_l1 = params[LINEAR_PENALTY] == 1, is_robust = params[LINEAR_PREP_SCALE] == 1;

    if (s->outputs > 1 && (is_l1 || is_robust)) {
        params[LINEAR_PENALTY] = is_robust;
        params[LINEAR_PREP_SCALE] = is_l1 && s->numbers > 0;
    }
}

static const double *linear_portfolio(int i)
{
    /* Row 1: sparse counts, 300 columns, AUC .957 where row 0 has .925. Row 2: concrete, RMSE 8.54
     * where standardised columns gave 10.45; of twelve tables nine were better. Where a trial takes
     * long, columns are many, and then which of them count matters more than their scale. */
    static const double first[][LINEAR_PARAMS] = {
        { [LINEAR_C] = 1e4, [LINEAR_L1_RATIO] = 0.5, [LINEAR_ALPHA] = 1e-4 },
        { [LINEAR_C] = 1e4, [LINEAR_PENALTY] = 1, [LINEAR_L1_RATIO] = 0.5, [LINEAR_ALPHA] = 1e-4 },
        { [LINEAR_C] = 1e4,
          [LINEAR_L1_RATIO] = 0.5,
          [LINEAR_ALPHA] = 1e-4,
          [LINEAR_PREP_SCALE] = 1 },
    };

    return i >= 0 && i < (int)ARRAY_LEN(first) ? first[i] : NULL;
}

static uint64_t linear_only_with(int i, int *other)
{
    *other = LINEAR_PENALTY;
    return i == LINEAR_C ? 1 : i == LINEAR_L1_RATIO ? 4 : i == LINEAR_ALPHA ? 14 : 0;
}

static const char *const linear_levels[] = { "the whole penalty path on all folds" };

const struct family family_linear = {
    .name = "linear",
    .help = "logistic, softmax or least-squares regression with an L2 or L1 penalty, or both",
    .form = FF_DENSE,
    .tasks = FT_ANY,
    .params = linear_params,
    .n_params = LINEAR_PARAMS,
    .levels = 1,
    .takes_rows = true,
    .level_help = linear_levels,
    .cost = linear_cost,
    .host_bytes = linear_bytes,
    .plan = linear_plan,
    .choose = linear_choose,
    .searched = linear_searched,
    .suit = linear_suit,
    .only_with = linear_only_with,
    .portfolio = linear_portfolio,
};

/* ---- boost ---- */

#define BOOST(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param boost_params[] = {
#include "ml/family/family_params.def"
};

double boost_rate_at(const double *params, int level)
{
    double rate = params[BOOST_LEARNING_RATE];

    return level < 3 && rate < 0.1 ? 0.1 : rate;
}

static void boost_plan(const double *params, int level, struct family_plan *out)
{
    double rate = boost_rate_at(params, level);

    *out = (struct family_plan){
        .folds = level == 1 ? 1 : 0,
        .key = rate,
        .check_every = (int64_t)clamped(floor(0.5 / rate + 0.5), 1, 50),
        .patience = (int64_t)clamped(floor(3.0 / rate + 0.5), 20, 300),
        .cap = (int64_t)params[BOOST_ROUNDS],
        .scales_with_rows = true,
    };
}

static void boost_choose(double *params, int level, int64_t steps)
{
    params[BOOST_ROUNDS] = (double)steps;
    params[BOOST_LEARNING_RATE] = boost_rate_at(params, level);
}

static double boost_leaves(const double *params)
{
    double full = (double)(1 << (int)clamped(params[BOOST_DEPTH], 1, 12));

    return params[BOOST_GROW] > 0 ? full : fmin(params[BOOST_LEAVES], full);
}

/* A leaf-wise tree cannot have more leaves than its rows allow. */
static double boost_leaves_at(const double *params, double rows)
{
    return clamped(boost_leaves(params), 2, fmax(2.0, rows / fmax(params[BOOST_MIN_LEAF], 1)));
}

/* Rounds until patience ends the fit, for trees of 31 leaves: 20 / rate, with several classes 45 /
 * rate, the middle of the tables that the defaults were tuned on. A table may need a third or three
 * times as many; only the fit can know. */
static double boost_rounds(const struct family_shape *s, const double *params, double rate)
{
    double learning = (s->outputs > 1 ? 45.0 : 20.0) / rate;
    double rounds =
        learning * sqrt(31.0 / fmax(4.0, boost_leaves(params))) + clamped(3.0 / rate, 20, 300);

    return fmin(params[BOOST_ROUNDS], rounds);
}

/* Microseconds of one tree: 1.8 updates a nanosecond in histograms, 2.5 bins a nanosecond in scans
 * (a column seldom has all of its bins), 6 ns per row for the rest. */
static double boost_tree_cost(const struct family_shape *s, const double *params)
{
    double rows = fold_rows(s), leaves = boost_leaves_at(params, rows);
    double cols = fmax(1.0, s->columns * fmax(params[BOOST_COL_SAMPLE], 0.05)),
           bins = 63 << (int)params[BOOST_BINS];
    /* Multiclass trees leave out rows with small gradients. */
    double thinned = s->outputs > 1 ? 0.6 : 1.0;
    double updates = rows * params[BOOST_ROW_SAMPLE] * cols *
                     (1.0 + 0.4 * fm_log_d(leaves) * 1.4426950408889634);

    return (updates * 0.00055 + rows * 0.006 + leaves * 2 * cols * fmin(bins, rows) * 0.0004) *
               thinned +
           leaves + 5.0;
}

/* Going straight to the top skips the levels in between; a level with the same key only adds what
 * is new. */
static int64_t boost_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double units = 0, key = -1;

    for (int level = from == 0 && to == 3 ? 3 : from + 1; level <= to; level++) {
        struct family_plan plan, before;
        boost_plan(params, level, &plan);
        double folds = plan.folds ? fmin(plan.folds, s->folds) : s->folds;
        if (level > 1 && !(from == 0 && to == 3)) {
            boost_plan(params, level - 1, &before);
            key = before.key;
        }
        if (plan.key == key)
            folds = level == 2 ? s->folds - 1 : 0;
        units +=
            folds * boost_rounds(s, params, plan.key) * s->outputs * boost_tree_cost(s, params);
    }
    return at_least_one(units);
}

/* Scores and targets of each lane, trees, what the lanes share (boost_round.c), and the engine's
 * out-of-fold predictions. */
static int64_t boost_bytes(const struct family_shape *s, const double *params, int level)
{
    double rows = (double)s->rows, k = s->outputs, leaves = boost_leaves(params);
    double fitted = level == 1 ? 1 : s->folds;
    double rounds = boost_rounds(s, params, boost_rate_at(params, level));
    if (s->growth > 0)
        rounds = fmin(params[BOOST_ROUNDS], rounds * s->growth);
    double grown = boost_leaves_at(params, fold_rows(s));
    if (grown < boost_leaves(params))
        /* the rows end such trees before min_leaf does */
        grown *= 0.6;
    double tree = 152.0 + 2 * 16 * grown; /* boost_tree.c */
    double lanes = fitted * (rows * (4 * k + 12) + rounds * k * tree);
    double slot = s->columns * 264.0 * 8, slots = fmin(floor(BOOST_POOL_BYTES / slot), leaves + 1);

    slots = rows < BOOST_POOL_ROWS ? 0 : fmin(slots, floor(rows / BOOST_POOL_ROWS) + 2);
    double pool = slots < 3 ? 0 : slots * slot;
    double work = rows * (4 * k + 20 + (params[BOOST_ROW_SAMPLE] < 1 ? 4 : 0)) + pool + 135168.0;
    return (int64_t)(lanes + work + engine_bytes(s, fitted) + leaves * 300 + s->columns * 10.0);
}

/* For the mean absolute error `auto` is that loss, and two more losses are worth trying. For
 * metrics that weigh classes alike, class weights are worth trying. */
static void boost_searched(int i, const struct family_shape *s, const char *metric,
                           struct family_range *io)
{
    (void)s;
    if (i == BOOST_OBJECTIVE && strcmp(metric, "mae") == 0)
        io->hi = 2;
    if (i == BOOST_CLASS_WEIGHT &&
        (strcmp(metric, "balanced_accuracy") == 0 || strcmp(metric, "balanced_logloss") == 0 ||
         strcmp(metric, "f1") == 0 || strcmp(metric, "mcc") == 0))
        io->hi = 1;
}

static int boost_choice_tasks(int i, int choice)
{
    if (i == BOOST_CLASS_WEIGHT && choice > 0)
        return FT_BINARY | FT_MULTICLASS;
    if (i != BOOST_OBJECTIVE || choice == 0)
        return FT_ANY;
    return choice < 6 ? FT_REGRESSION : choice == 6 ? FT_BINARY : FT_MULTICLASS;
}

static const char *const boost_levels[] = {
    "learning rate at least 0.1, early stopping on fold 0",
    "the same on all folds",
    "the learning rate itself on all folds",
};

/* clang-format off */
static const double boost_first[][BOOST_PARAMS] = {
/*    rate  rounds leaves depth leaf  rows  cols level  l1    l2   bins grow random smooth onehot loss alpha weight hessian */
    { 0.15,  4000,  63,   16,  10,  0.9,  0.8, 1.0, 1e-4, 1.0,   2,   0,   0,   30,   16,    0,  0.9,   0,   1e-3 },
    /* Half of the cells missing, 3,000 rows: AUC .755 where row 0 has .726, in half the time; a quarter
     * of the labels flipped: .722 and .696. Row 0 learns noise by heart. */
    { 0.08,  4000,   6,   16,   5,  0.8,  0.75, 1.0, 1e-4, 0.1,  2,   0,   0,   30,   16,    0,  0.9,   0,   1e-3 },
    /* Levels as means alone: flights had AUC .711 where levels and means gave .665. Beside row 2, from
     * which it differs in nothing else; equal to it without such columns. */
    { 0.08,  4000,   6,   16,   5,  0.8,  0.75, 1.0, 1e-4, 0.1,  2,   0,   0,   30,   16,    0,  0.9,   0,   1e-3,
      [BOOST_PREP_LEVELS] = 1 },
    { 0.05,  4000,  16,   16,  10,  0.8,  0.6, 1.0, 1e-4, 1.0,   2,   0,   0,   10,    4,    0,  0.9,   0,   1e-3 },
    { 0.03,  4000,   7,   16,  20,  0.7,  0.9, 1.0, 1e-4, 2.0,   2,   0,   1,   30,   16,    0,  0.9,   0,   1e-3,
      [BOOST_PREP_LEVELS] = 1 },
    { 0.1,   4000, 127,   16,  10,  1.0,  0.8, 1.0, 1e-4, 1.0,   2,   0,   0,   10,    4,    0,  0.9,   0,   1e-3 },
    /* Numbers as they are: births by the day had RMSE 208, without inputs made of them 200, prices of computers
     * 148 and 143; adult AUC .9320 and .9294. */
    { 0.1,   4000,  31,   16,  20,  1.0,  1.0, 1.0, 1e-4, 1.0,   2,   0,   0,   10,    4,    0,  0.9,   0,   1e-3,
      [BOOST_PREP_CODES] = 2 },
    { 0.05,  4000,  64,   16,   5,  0.9,  0.5, 1.0, 0.9,  1.9,   2,   0,   1,   10,    4,    0,  0.9,   0,   1e-3 },
    { 0.05,  4000, 128,   16,   3,  1.0,  0.9, 1.0, 1e-4, 1.0,   2,   0,   0,   10,    4,    0,  0.9,   0,   1e-3 },
    { 0.08,  4000,  31,    5,  10,  0.9,  0.7, 1.0, 1e-4, 1.0,   2,   0,   0,   10,    4,    0,  0.9,   0,   1e-3 },
};
/* clang-format on */

static const double *boost_portfolio(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(boost_first) ? boost_first[i] : NULL;
}

const struct family family_boost = {
    .name = "boost",
    .help = "gradient boosting over histograms",
    .form = FF_BINS,
    .tasks = FT_ANY,
    .keeps_monotone = true,
    .device = FAMILY_GPU,
    .is_lead = true,
    .params = boost_params,
    .n_params = BOOST_PARAMS,
    .levels = 3,
    .rounds = BOOST_ROUNDS,
    .differs_by = BOOST_RANDOM,
    .takes_rows = true,
    .adds_folds = 2,
    .level_help = boost_levels,
    .cost = boost_cost,
    .host_bytes = boost_bytes,
    .plan = boost_plan,
    .choose = boost_choose,
    .searched = boost_searched,
    .choice_tasks = boost_choice_tasks,
    .portfolio = boost_portfolio,
};

const struct family *family_at(int i)
{
    static const struct family *const all[] = {
#define FAMILY(x) &family_##x,
#include "ml/family/family_list.def"
#undef FAMILY
    };

    return i >= 0 && i < (int)ARRAY_LEN(all) ? all[i] : NULL;
}
