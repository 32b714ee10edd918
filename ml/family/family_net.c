/* family_net.c - the row of mlp in the registry: parameters, ladder, cost and memory formulas, first configurations. Pure,
 * like family_tables.c.
 *
 * The ladder follows the schedule of the learning rate. It falls to zero at 1/15, 3/15, 7/15 and 15/15 of the epochs
 * (ml/net/mlp_train.c), so the network is settled at the end of each level and its score there can be trusted; going on is
 * part of the same schedule, and nothing is trained twice. The lower levels train fold 0 only. The top level trains all
 * folds anew, fold 0 as well, because the best epoch of all folds together may be one that fold 0 has passed. */
#include "ml/family/family_tables.h"

#include "base/base.h"
#include "ml/family/family_params.h"

#include <math.h>

#define MLP(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param mlp_params[] = {
#include "ml/family/family_params.def"
};

enum { MLP_LEVELS = 4 };

static int64_t epochs_of(const double *params, int level)
{
    static const int share[MLP_LEVELS] = { 1, 3, 7, 15 };

    return (int64_t)ceil(params[MLP_EPOCHS] * share[level - 1] / 15.0);
}

/* Parameters, padded as ml/net/net.c pads them. */
static double parameters(const struct family_shape *s, const double *params)
{
    double width = ceil(params[MLP_WIDTH] / 16) * 16, last = ceil(s->outputs / 16.0) * 16;

    return (s->encoded + 1.0) * width + (params[MLP_LAYERS] - 1) * (params[MLP_WIDTH] + 1) * width +
           (params[MLP_WIDTH] + 1) * last + s->encoded + 16;
}

static double rows_of_a_fold(const struct family_shape *s)
{
    return s->folds > 1 ? (double)s->rows * (s->folds - 1) / s->folds : (double)s->rows * 0.8;
}

/* Microseconds of `epochs` epochs of one fold: six operations for a parameter and a row, 40 of them a nanosecond; a
 * nanosecond and a half for an activation and its derivative; and for every step a pass over the parameters. */
static double epochs_cost(const struct family_shape *s, const double *params, double epochs)
{
    double rows = rows_of_a_fold(s), p = parameters(s, params);
    double steps = fmax(1.0, floor(rows / params[MLP_BATCH] + 0.5));

    return epochs * (rows * (p * 6.0 / 40000.0 + params[MLP_LAYERS] * params[MLP_WIDTH] * 0.0015) +
                     steps * (p * 0.001 + 3.0));
}

static int64_t mlp_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double units = 100;

    if (to == MLP_LEVELS)
        units += s->folds * epochs_cost(s, params, params[MLP_EPOCHS]);
    int top = to == MLP_LEVELS && from == 0 ? 0 : to < MLP_LEVELS ? to : MLP_LEVELS - 1;
    if (top > from)
        units += epochs_cost(
            s, params, (double)(epochs_of(params, top) - (from ? epochs_of(params, from) : 0)));
    return units > 9e15 ? (int64_t)9e15 : (int64_t)units;
}

/* Of a lane: parameters, two moments, the same at the last whole epoch, the gradient, the best epoch; the matrices of a
 * batch; four numbers a row. */
static int64_t mlp_bytes(const struct family_shape *s, const double *params, int level)
{
    double folds = level < MLP_LEVELS ? 1 : s->folds, p = parameters(s, params);
    double rows = (double)s->rows, batch = fmin(rows, params[MLP_BATCH] * 1.5 + 1);
    double width = ceil(params[MLP_WIDTH] / 16) * 16, last = ceil(s->outputs / 16.0) * 16;
    double matrices = batch * (s->encoded + 16.0 + params[MLP_LAYERS] * width * 3 + last + 2) +
                      (s->encoded + 2 * width) * width;
    double held = rows * (s->folds > 1 ? 1.0 : 0.2);

    return (int64_t)(folds * 4 * (8 * p + matrices + 4 * rows) +
                     held * (8.0 * s->outputs * folds / MAX(s->folds, 1) + 12));
}

static void mlp_plan(const double *params, int level, struct family_plan *out)
{
    int64_t epochs = epochs_of(params, level);

    *out = (struct family_plan){ .folds = level < MLP_LEVELS ? 1 : 0,
                                 .key = level < MLP_LEVELS ? 0 : 1,
                                 .check_every = 1,
                                 .patience = epochs,
                                 .cap = epochs };
}

/* The best epoch is no parameter: the schedule belongs to the number of epochs that was asked for. */
static void mlp_choose(double *params, int level, int64_t steps)
{
    (void)params, (void)level, (void)steps;
}

static int mlp_choice_tasks(int i, int choice)
{
    (void)i, (void)choice;
    return FT_ANY;
}

/* clang-format off */
static const double mlp_first[][MLP_PARAMS] = {
/*  layers width act  rate   decay dropout smooth batch epochs schedule */
    { 3,   128,  3,   0.02,  0.01,  0.15,  0.05,  256,  256,   0 },
    { 2,   256,  5,   0.02,  0.02,  0.3,   0.1,   256,  256,   0 },
    { 3,   256,  4,   0.01,  0.001, 0.0,   0.0,   256,  256,   0 },
    { 1,   256,  3,   0.03,  0.05,  0.1,   0.05,  256,  256,   0 },
};
/* clang-format on */

static const double *mlp_portfolio(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(mlp_first) ? mlp_first[i] : NULL;
}

static const char *const mlp_levels[] = {
    "the first of four cycles of the learning rate, on fold 0",
    "two cycles on fold 0",
    "three cycles on fold 0",
    "all epochs on all folds",
};

const struct family family_mlp = {
    .name = "mlp",
    .help = "multilayer perceptron: a neural network of one to five hidden layers",
    .form = FF_DENSE,
    .tasks = FT_ANY,
    .by_name = true,
    .params = mlp_params,
    .n_params = MLP_PARAMS,
    .levels = MLP_LEVELS,
    .takes_rows = true,
    .level_help = mlp_levels,
    .cost = mlp_cost,
    .host_bytes = mlp_bytes,
    .plan = mlp_plan,
    .choose = mlp_choose,
    .choice_tasks = mlp_choice_tasks,
    .portfolio = mlp_portfolio,
};
