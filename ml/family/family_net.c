/* family_net.c - the row of mlp in the registry: parameters, ladder, cost and memory formulas,
 * first configurations. Pure, like family_tables.c.
 *
 * The ladder follows the schedule of the learning rate. It falls to zero at 1/15, 3/15, 7/15 and
 * 15/15 of the epochs (ml/net/net_train.c), so the network is settled at the end of each level and
 * its score there can be trusted; going on is part of the same schedule, and nothing is trained
 * twice. The lower levels train fold 0 only. The top level trains all folds anew, fold 0 as well,
 * because the best epoch of all folds together may be one that fold 0 has passed. It ends with the third
 * cycle, at 7/15, if the best epoch is still in the first third: the network knows the training rows by
 * heart by then, and a cycle that is twice as long only makes that worse. */
#include "ml/family/family_tables.h"

#include "base/base.h"
#include "ml/family/family_params.h"

#include <math.h>
#include <string.h>

#define MLP(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param mlp_params[] = {
#include "ml/family/family_params.def"
};

enum {
    MLP_LEVELS = 4,
    /* floats of the vectors of categories for each column of the dense form, about */
    VECTOR = 20,
    PART = 2048, /* NET_PART of ml/net/net_lane.h */
    WIDE = 256,  /* columns after encoding, above which a table is wide */
    LEAST_EPOCHS = 12,
    OVER_FOLD = 2,
    MOST_PIECED = 64, /* numbers that are embedded by pieces, in a search: 17 values each */
};

static int64_t epochs_of(const double *params, int level)
{
    static const int share[MLP_LEVELS] = { 1, 3, 7, 15 };

    return (int64_t)ceil(params[MLP_EPOCHS] * share[level - 1] / 15.0);
}

/* A network of these parameters, padded as ml/net/net.c pads it. */
struct mlp_size {
    double inputs;  /* values of a row that the first layer reads */
    double numbers; /* that become waves: at most so many */
    double sparse;  /* weights of crosses */
    double members;
    double units;   /* of all hidden layers of a member */
    double weights; /* that a row of a member is multiplied by */
    double all;     /* parameters */
};

static struct mlp_size size_of(const struct family_shape *s, const double *params)
{
    double width = ceil(params[MLP_WIDTH] / 16) * 16, last = ceil(s->outputs / 16.0) * 16;
    struct mlp_size z = { .members = params[MLP_MEMBERS] };

    z.numbers = (int)params[MLP_EMBEDDING] == 1 ? fmin(s->columns, s->encoded) : 0;
    z.inputs = s->encoded + 3.0 * z.numbers;
    if ((int)params[MLP_EMBEDDING] == 2)
        z.inputs += 16.0 * fmin(s->columns, s->encoded);
    if ((int)params[MLP_WIDE] == 1)
        z.sparse = fmin(65536.0 * s->outputs, 524288);
    z.units = params[MLP_LAYERS] * width;
    double hidden = z.inputs * width + (params[MLP_LAYERS] - 1) * params[MLP_WIDTH] * width;
    z.weights = hidden + params[MLP_WIDTH] * last;
    z.all = hidden + z.units + z.members * (params[MLP_WIDTH] + 1) * last + z.inputs + 16 +
            (z.members > 1 ? z.members * (z.inputs + 16) : 0) + z.numbers * 83;
    if ((int)params[MLP_CATEGORIES] == 1)
        z.all += VECTOR * s->encoded;
    return z;
}

static double rows_of_a_fold(const struct family_shape *s)
{
    return s->folds > 1 ? (double)s->rows * (s->folds - 1) / s->folds : (double)s->rows * 0.8;
}

/* Microseconds of `epochs` epochs of one fold, from 13 shapes of 1 to 16 members, 32 to 512 wide, 8 to
 * 100 inputs, measured on a busy core: six operations for a weight and a row, 80 of them a
 * nanosecond; 3.5 nanoseconds for an activation, its derivative and dropout; 45 for a number's
 * waves; and for every step a pass over the parameters. */
static double epochs_cost(const struct family_shape *s, const double *params, double epochs)
{
    struct mlp_size z = size_of(s, params);
    double rows = rows_of_a_fold(s);
    double steps = fmax(1.0, floor(rows / params[MLP_BATCH] + 0.5));
    double row = z.members * (z.weights * 6.0 / 80000.0 + z.units * 0.0035) + z.numbers * 0.045;

    return epochs * (rows * row + steps * ((z.all + z.sparse) * 0.001 + 3.0));
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

/* Of a lane: parameters, two moments, the same at the last whole epoch, the gradient, the best
 * epoch; the matrices of a batch or of a part of it; four numbers a row. All of it once for every
 * rank. */
static int64_t mlp_bytes(const struct family_shape *s, const double *params, int level)
{
    struct mlp_size z = size_of(s, params);
    double folds = level < MLP_LEVELS ? 1 : s->folds, p = z.all + z.sparse;
    double rows = (double)s->rows, batch = fmin(rows, params[MLP_BATCH] * 1.5 + 1);
    double gradients = batch > PART ? 2 : 1;

    batch = fmin(batch, PART);
    double width = ceil(params[MLP_WIDTH] / 16) * 16, last = ceil(s->outputs / 16.0) * 16;
    double of_unit = 3 + ((int)params[MLP_NORM] == 1) + ((int)params[MLP_RESIDUAL] == 1);
    double member = (z.members > 1 ? z.inputs + 16 : 0) + z.units * of_unit + last + 2;
    double matrices =
        batch * (s->encoded + z.inputs + 32 + z.members * member) + (z.inputs + 2 * width) * width;
    double held = rows * (s->folds > 1 ? 1.0 : 0.2);

    return (int64_t)(folds * params[MLP_RANKS] * 4 * ((7 + gradients) * p + matrices + 4 * rows) +
                     held * (8.0 * s->outputs * folds / MAX(s->folds, 1) + 12));
}

static void mlp_plan(const double *params, int level, struct family_plan *out)
{
    int64_t epochs = epochs_of(params, level);
    bool can_halt = level == MLP_LEVELS && (int)params[MLP_SCHEDULE] == 0;

    *out = (struct family_plan){ .folds = level < MLP_LEVELS ? 1 : 0,
                                 .key = level < MLP_LEVELS ? 0 : 1,
                                 .check_every = 1,
                                 .patience = params[MLP_PATIENCE] > 0
                                                 ? MIN(epochs, (int64_t)params[MLP_PATIENCE])
                                                 : epochs,
                                 .halt_at = can_halt ? epochs_of(params, MLP_LEVELS - 1) : 0,
                                 .halt_best = epochs / 3,
                                 .cap = epochs };
}

/* The best epoch is no parameter: the schedule belongs to the number of epochs that was asked
 * for. */
static void mlp_choose(double *params, int level, int64_t steps)
{
    (void)params, (void)level, (void)steps;
}

/* clang-format off */
#define REST [MLP_NUMBERS] = 1, [MLP_RANKS] = 1, [MLP_DEVICES] = 1, [MLP_MOMENTUM] = 0.9, [MLP_BETA2] = 0.95, \
             [MLP_BIAS_RATE] = 0.1
static const double mlp_first[][MLP_PARAMS] = {
/*  layers width act embed members rate   decay dropout smooth batch epochs schedule */
    { 3,   64,   5,  1,    8,      0.05,  0.05, 0.15,   0.0,   64,   64,    0, REST },
    { 3,   64,   5,  2,    8,      0.05,  0.02, 0.15,   0.0,   64,   64,    0, REST },
    { 2,   64,   3,  1,    16,     0.05,  0.02, 0.3,    0.0,   64,   64,    0, REST },
    { 3,   128,  5,  1,    4,      0.03,  0.01, 0.05,   0.0,   64,   64,    0, REST },
    { 3,   128,  2,  0,    4,      0.02,  0.05, 0.3,    0.05,  64,   64,    0, REST },
};
/* clang-format on */

static double batch_for(const struct family_shape *s)
{
    return s->rows < 20000 ? 64 : s->rows < 80000 ? 128 : 256;
}

/* What a search begins with. Eight narrow members are the best of few rows, where there is time for many
 * epochs. Where there is time for few, because rows are many or the time is short, fewer and wider ones
 * reach further in the same time: log loss of letter .186 with eight members, .102 with two, RMSE of
 * diamonds 673 and 551. With several classes four are best even then (docs/DECISIONS.md, Networks on
 * tables). */
struct net_start {
    double width, members, rate, decay, dropout;
};
static const struct net_start net_many = { 64, 8, 0.05, 0.05, 0.15 },
                              net_some = { 96, 4, 0.04, 0.03, 0.1 },
                              net_few = { 128, 2, 0.04, 0.03, 0.1 };

static double epoch_ms_of(const struct family_shape *s, const struct net_start *net, int param,
                          double value)
{
    double params[MLP_PARAMS];

    memcpy(params, mlp_first[0], sizeof params);
    params[MLP_WIDTH] = net->width;
    params[MLP_MEMBERS] = net->members;
    params[MLP_BATCH] = batch_for(s);
    params[param] = value;
    return epochs_cost(s, params, 1) / 1000;
}

static double epochs_by_rows(const struct family_shape *s)
{
    return floor(64 * sqrt(8000.0 / (double)MAX(s->rows, 1)) + 0.5);
}

static const struct net_start *start_for(const struct family_shape *s)
{
    enum { FEW = 24 };
    double epochs = epochs_by_rows(s);

    if (s->encoded > WIDE)
        return &net_many; /* mlp_searched knows better */
    if (s->fold_ms > 0)
        epochs = fmin(epochs, s->fold_ms / epoch_ms_of(s, &net_many, MLP_BATCH, batch_for(s)));
    if (epochs < FEW)
        return &net_few;
    return s->outputs > 1 ? &net_some : &net_many;
}

/* Milliseconds of an epoch of one fold of the default network, with one parameter changed. */
static double epoch_ms(const struct family_shape *s, int param, double value)
{
    return epoch_ms_of(s, start_for(s), param, value);
}

/* Large tables need fewer epochs, because each has more steps. So do short searches: the schedule of
 * the learning rate then ends at the epoch at which the trial is judged, while a longer one would be
 * cut before its rate has fallen. */
static double epochs_for(const struct family_shape *s)
{
    double by_rows = epochs_by_rows(s);
    double most = fmin(s->encoded > WIDE ? 15 : 64, by_rows);

    if (s->encoded > WIDE)
        return fmax(LEAST_EPOCHS, most);
    /* Up to twice as many pay on small tables (docs/measurements/2026-11-24.md), where they leave
     * time for some ten trials. */
    double more = fmin(128, by_rows);
    if (s->fold_ms > 0) {
        double fit = s->fold_ms / epoch_ms(s, MLP_BATCH, batch_for(s));
        most = fmin(most, floor(fit));
        more = fmin(more, floor(fit / 2));
    }
    return fmax(LEAST_EPOCHS, fmax(most, more));
}

/* Whether a network with this value may be searched: always without a limit in time, and with one if a
 * fold of it takes at most twice the time that one is to take. A dearer one would take most of the
 * search, and be cut before it is as good as it could be. */
static bool is_in_time(const struct family_shape *s, int param, double value)
{
    return s->fold_ms == 0 ||
           epochs_for(s) * epoch_ms(s, param, value) <= (double)OVER_FOLD * s->fold_ms;
}

static bool has_pieces(const struct family_shape *s)
{
    return s->columns <= MOST_PIECED && is_in_time(s, MLP_EMBEDDING, 2);
}

static double widest(const struct family_shape *s, double hi, double def)
{
    while (hi / 2 >= def && !is_in_time(s, MLP_WIDTH, hi))
        hi /= 2;
    return hi;
}

static void start_searched(int i, const struct net_start *net, struct family_range *io)
{
    switch (i) {
    case MLP_WIDTH:
        io->def = net->width;
        break;
    case MLP_MEMBERS:
        io->def = net->members;
        break;
    case MLP_LEARNING_RATE:
        io->def = net->rate;
        break;
    case MLP_DECAY:
        io->def = net->decay;
        break;
    case MLP_DROPOUT:
        io->def = net->dropout;
        break;
    default:
        break;
    }
}

/* Tables of very many columns, as images are, get one wide network that reads the columns as they
 * are: waves would make four inputs of each, and members share only what comes after the inputs. */
static void mlp_searched(int i, const struct family_shape *s, const char *metric,
                         struct family_range *io)
{
    bool is_wide = s && s->encoded > WIDE;

    (void)metric;
    if (s && i == MLP_EPOCHS)
        io->lo = io->hi = io->def = epochs_for(s);
    if (s && i == MLP_BATCH)
        io->def = batch_for(s);
    if (s && !is_wide)
        start_searched(i, start_for(s), io);
    if (s && !is_wide && i == MLP_EMBEDDING && !has_pieces(s))
        io->hi = 1;
    if (s && !is_wide && i == MLP_WIDTH)
        io->hi = widest(s, io->hi, io->def);
    if (!is_wide)
        return;
    if (i == MLP_EMBEDDING)
        io->hi = io->def = 0;
    else if (i == MLP_MEMBERS)
        io->hi = io->def = 1;
    else if (i == MLP_LAYERS)
        io->def = 2;
    else if (i == MLP_WIDTH)
        *io = (struct family_range){ 64, 512, 256 };
    else if (i == MLP_DROPOUT)
        io->def = 0.2;
}

/* Rows of the portfolio with the network that a search begins with take the table's. */
static void mlp_suit(const struct family_shape *s, double *params)
{
    const struct net_start *net = start_for(s);

    if (params[MLP_BATCH] == mlp_first[0][MLP_BATCH])
        params[MLP_BATCH] = batch_for(s);
    if (s->encoded > WIDE || params[MLP_WIDTH] != net_many.width ||
        params[MLP_MEMBERS] != net_many.members || params[MLP_LAYERS] != mlp_first[0][MLP_LAYERS])
        return;
    params[MLP_WIDTH] = net->width;
    params[MLP_MEMBERS] = net->members;
    params[MLP_LEARNING_RATE] = net->rate;
    params[MLP_DROPOUT] = net->dropout;
}

static uint64_t mlp_only_with(int i, int *other)
{
    *other = MLP_OPTIMIZER;
    return i == MLP_MOMENTUM ? FAMILY_WITH_MOMENTUM : i == MLP_BETA2 ? FAMILY_WITH_BETA2 : 0;
}

static int mlp_choice_tasks(int i, int choice)
{
    (void)i, (void)choice;
    return FT_ANY;
}

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
    .device = FAMILY_EITHER,
    .tasks = FT_ANY,
    .params = mlp_params,
    .n_params = MLP_PARAMS,
    .levels = MLP_LEVELS,
    .takes_rows = true,
    .has_partial_levels = true,
    .whole_rows = 2,
    .level_help = mlp_levels,
    .cost = mlp_cost,
    .host_bytes = mlp_bytes,
    .plan = mlp_plan,
    .choose = mlp_choose,
    .searched = mlp_searched,
    .suit = mlp_suit,
    .only_with = mlp_only_with,
    .choice_tasks = mlp_choice_tasks,
    .portfolio = mlp_portfolio,
};
