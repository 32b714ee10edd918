/* family_forest.c - the rows of forest and extra_trees in the list of families: parameters, the
 * grid of free axes, cost and memory formulas, first configurations. Pure, like family_tables.c;
 * constants are fitted to bench_fit (docs/MEASUREMENTS.md). */
#include "ml/family/family_tables.h"

#include "base/base.h"
#include "ml/family/family_params.h"
#include "ml/math/fmath.h"

#include <math.h>

#define FOREST(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param forest_params[] = {
#include "ml/family/family_params.def"
};

/* ---- the grid ---- */

/* A limit on the number of leaves fixes the order of splits for one depth and split size only:
 * these are then not tried. */
int forest_axes(const double *params, struct forest_axis *out)
{
    static const int depths[] = { 6, 10, 14, 20, FOREST_WHOLE_DEPTH }, splits[] = { 60, 20, 6, 2 };
    bool is_one = params[FOREST_MAX_LEAVES] > 0;
    int depth = (int)params[FOREST_DEPTH], split = (int)params[FOREST_MIN_SPLIT], n = 0;

    depth = depth == 0 && is_one ? FOREST_WHOLE_DEPTH : depth;
    split = split == 0 && is_one ? 2 : split;
    for (int i = 0; i < (depth ? 1 : (int)ARRAY_LEN(depths)); i++) {
        for (int j = 0; j < (split ? 1 : (int)ARRAY_LEN(splits)); j++)
            out[n++] = (struct forest_axis){ depth ? depth : depths[i], split ? split : splits[j] };
    }
    CHECK(n <= FOREST_MAX_AXES);
    return n;
}

/* Powers of the square root of two, up to the number of trees; level 1 goes to a quarter of it. */
static int forest_counts(const double *params, int level, int64_t *out)
{
    static const double shares[FAMILY_MAX_COUNTS] = { 0.08838834764831845, 0.125,
                                                      0.1767766952966369,  0.25,
                                                      0.3535533905932738,  0.5,
                                                      0.7071067811865476,  1.0 };
    int n = 0;

    for (int i = 0; i < (level == 1 ? 4 : FAMILY_MAX_COUNTS); i++) {
        int64_t count = MAX(1, (int64_t)(params[FOREST_TREES] * shares[i]));
        if (n == 0 || count > out[n - 1])
            out[n++] = count;
    }
    return n;
}

static void forest_plan(const double *params, int level, struct family_plan *out)
{
    struct forest_axis axes[FOREST_MAX_AXES];

    *out = (struct family_plan){ .folds = level == 1 ? 1 : 0, .check_every = 1, .patience = 1 };
    out->per_count = forest_axes(params, axes);
    out->n_counts = forest_counts(params, level, out->count);
    out->cap = out->count[out->n_counts - 1] * out->per_count;
}

static void forest_choose(double *params, int level, int64_t steps)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    int n = forest_axes(params, axes), at = (int)((steps - 1) % n);
    int64_t trees = (steps - 1) / n + 1;

    (void)level;
    params[FOREST_TREES] = (double)trees;
    params[FOREST_DEPTH] = axes[at].depth;
    params[FOREST_MIN_SPLIT] = axes[at].min_split;
}

int forest_visits(const double *params, int columns, bool is_regression)
{
    static const double shares[] = { 0, 0, 1.0 / 3.0, 0.5, 0.75, 1.0 };
    int choice = (int)params[FOREST_MAX_FEATURES];
    double share = choice == 0 && is_regression ? 1.0 : shares[choice];
    int n = (int)(share > 0 ? share * columns : sqrt((double)columns));

    return MAX(1, MIN(n, columns));
}

/* ---- formulas ---- */

static double folds_of(const struct family_shape *s)
{
    return s->folds > 1 ? s->folds : 1;
}

static double train_rows(const struct family_shape *s)
{
    return (double)s->rows * (s->folds > 1 ? 1.0 - 1.0 / s->folds : 0.8);
}

/* Trees of all folds together, up to this level. */
static double trees_until(const struct family_shape *s, const double *params, int level)
{
    struct family_plan plan;

    if (level < 1)
        return 0;
    forest_plan(params, level, &plan);
    int64_t trees = plan.cap / plan.per_count;
    return (plan.folds ? 1 : folds_of(s)) * (double)trees;
}

/* Leaves of a tree for each row that the tree is drawn from. A regression tree ends at single rows,
 * of which 1 - 1/e are drawn. How soon leaves of classes are pure only the labels know: on the
 * tables measured 0.02 to 0.15 for random forests and 0.05 to 0.35 for extra trees. Large tables
 * are near the upper end, which is taken. Limits of the configuration then act as they did on these
 * tables. */
static double leaves_share(const struct family_shape *s, const double *params, bool is_bootstrap)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    const struct forest_axis *loosest = &axes[forest_axes(params, axes) - 1];
    bool is_number = s->task == FT_REGRESSION;
    double drawn = params[FOREST_MAX_SAMPLES], pure = is_bootstrap ? 0.14 : 0.32;
    double by_leaf = 0.75 / fmax(params[FOREST_MIN_LEAF], 1), by_split = 1.42 / loosest->min_split;

    if (params[FOREST_MIN_LEAF] <= 1)
        by_leaf = 1;
    if (loosest->min_split <= 2)
        by_split = 1;
    if (is_number)
        return fmin(is_bootstrap ? 1.0 - fm_exp_d(-drawn) : drawn, drawn * fmin(by_leaf, by_split));
    return drawn /
           (1.0 / pure + (by_leaf < 1 ? 1.0 / by_leaf : 0) + (by_split < 1 ? 1.0 / by_split : 0));
}

static double leaves_of(const struct family_shape *s, const double *params, bool is_bootstrap)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    int depth = axes[forest_axes(params, axes) - 1].depth;
    double leaves = fmax(1.0, train_rows(s) * leaves_share(s, params, is_bootstrap));

    if (depth < 40)
        leaves = 1.0 / (1.0 / leaves + 1.0 / ldexp(0.65, depth));
    if (params[FOREST_MAX_LEAVES] > 0)
        leaves = fmin(leaves, params[FOREST_MAX_LEAVES]);
    return fmax(1.0, leaves);
}

/* Bytes of a node in the form of forest_bytes.c: the mean of inner nodes and leaves. */
static double node_bytes(const struct family_shape *s, const double *params)
{
    double k = s->outputs,
           shares = (1.3 + 0.06 * k) * fm_exp_d(0.3 * fm_log_d(params[FOREST_MIN_LEAF]));

    return k > 1 ? 3.2 + 5.0 * fmin(k, shares) : s->task == FT_REGRESSION ? 9.1 : 8.2;
}

static int64_t whole(double units)
{
    return units < 1.0 ? 1 : units > 9e15 ? (int64_t)9e15 : (int64_t)units;
}

static bool is_narrow(const struct family_shape *s)
{
    return s->task != FT_REGRESSION && s->columns <= FOREST_NARROW;
}

static double cost(const struct family_shape *s, const double *params, double trees,
                   bool is_bootstrap, double per_update)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    bool is_number = s->task == FT_REGRESSION;
    double drawn = train_rows(s) * params[FOREST_MAX_SAMPLES] * (is_bootstrap ? 0.632 : 1.0),
           depth = 1.4426950408889634 * fm_log_d(2.0 + leaves_of(s, params, is_bootstrap)),
           held = train_rows(s) / (s->folds > 1 ? s->folds - 1.0 : 4.0),
           visits = forest_visits(params, s->columns, is_number),
           grid = held * (depth * 0.002 + forest_axes(params, axes) * 0.001 * s->outputs);

    double level = (visits * per_update + 0.004) * (is_number ? 1.9 : is_narrow(s) ? 0.75 : 1.0);
    return trees * (drawn * (depth * level + 0.01) + grid + 5.0);
}

static int64_t forest_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double trees = trees_until(s, params, to) - trees_until(s, params, from);

    return whole(cost(s, params, trees, params[FOREST_BOOTSTRAP] > 0, 0.0035));
}

static int64_t extra_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double trees = trees_until(s, params, to) - trees_until(s, params, from);

    return whole(cost(s, params, trees, false, 0.0030));
}

/* Trees as bytes, the sums of the held-out rows at every pruning, what the lanes share, and the
 * engine's own arrays. */
static int64_t bytes(const struct family_shape *s, const double *params, int level,
                     bool is_bootstrap)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    double fitted = level == 1 ? 1 : folds_of(s), k = s->outputs, train = train_rows(s);
    double all = s->folds > 1 ? (double)s->rows : (double)s->rows * 0.2, columns = s->columns;
    double held = all * fitted / folds_of(s), growth = s->growth > 0 ? s->growth : 1;
    double n_axes = forest_axes(params, axes), leaves = leaves_of(s, params, is_bootstrap);
    double trees =
        trees_until(s, params, level) * (40.0 + 2.0 * leaves * growth * node_bytes(s, params));
    double lines = 64.0 * ceil(columns / 64.0), near = fmin(train * lines, 408e3);
    /* Rows in lines: numbers and words twice, and copies of near lines. Columns: three times. */
    double row = is_narrow(s) ? 3 * (columns + 2) : 24, copies = is_narrow(s) ? 0 : near;
    double work =
        train * (14.0 + row + (k > 2 ? 4 : 0)) + copies + 256.0 * 8 * k + 8 * columns + 150e3;

    return whole(trees + fitted * 1000 + held * (n_axes * k * 4 + 4) + work + held * 8 * k +
                 all * 12);
}

static int64_t forest_bytes(const struct family_shape *s, const double *params, int level)
{
    return bytes(s, params, level, params[FOREST_BOOTSTRAP] > 0);
}

static int64_t extra_bytes(const struct family_shape *s, const double *params, int level)
{
    /* The places of bins for random cuts, for columns that have as many values. */
    double places = s->rows > 255 ? 1024.0 * s->columns : 0;

    return bytes(s, params, level, false) + whole(places);
}

/* ---- first configurations ---- */

static const char *const levels[] = { "a quarter of the trees on fold 0",
                                      "all trees on all folds" };

/* clang-format off */
static const double forest_first[][FOREST_PARAMS] = {
/*   trees depth split impurity leaves features leaf samples criterion */
    { 300,  0,    0,    0,       0,     0,       1,   1,      0, [FOREST_BOOTSTRAP] = 1 },
    { 300,  0,    0,    0,       0,     0,       1,   1,      0, [FOREST_PREP_LEVELS] = 1, [FOREST_BOOTSTRAP] = 1 },
    { 300,  0,    0,    0,       0,     4,       1,   1,      1, [FOREST_BOOTSTRAP] = 1 },
    { 300,  0,    0,    0,       0,     0,       1,   1,      1, [FOREST_BOOTSTRAP] = 1 },
};
static const double extra_first[][FOREST_PARAMS] = {
    { 300,  0,    0,    0,       0,     0,       1,   1,      0 },
    { 300,  0,    0,    0,       0,     4,       1,   1,      0 },
    { 300,  0,    0,    0,       0,     5,       4,   1,      0 },
};
/* clang-format on */

static const double *forest_portfolio(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(forest_first) ? forest_first[i] : NULL;
}

static const double *extra_portfolio(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(extra_first) ? extra_first[i] : NULL;
}

const struct family family_forest = {
    .name = "forest",
    .help = "random forest: trees on rows drawn with replacement, best cut of some columns",
    .tasks = FT_ANY,
    .device = FAMILY_EITHER,
    .form = FF_BINS,
    .params = forest_params,
    .n_params = FOREST_PARAMS,
    .levels = 2,
    .takes_rows = true,
    .level_help = levels,
    .cost = forest_cost,
    .host_bytes = forest_bytes,
    .plan = forest_plan,
    .choose = forest_choose,
    .portfolio = forest_portfolio,
};

const struct family family_extra_trees = {
    .name = "extra_trees",
    .help = "extremely randomised trees: all rows, one random cut of some columns",
    .tasks = FT_ANY,
    .device = FAMILY_EITHER,
    .form = FF_BINS,
    .params = forest_params,
    .n_params = EXTRA_PARAMS,
    .levels = 2,
    .takes_rows = true,
    .level_help = levels,
    .cost = extra_cost,
    .host_bytes = extra_bytes,
    .plan = forest_plan,
    .choose = forest_choose,
    .portfolio = extra_portfolio,
};
