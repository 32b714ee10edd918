/* family_cnn.c - the row of cnn in the registry: parameters, ladder, cost and memory formulas, first configurations. Pure,
 * like family_tables.c. The ladder is that of mlp (family_net.c): levels end where the learning rate has fallen to zero. */
#include "ml/family/family_tables.h"

#include "base/base.h"
#include "ml/family/family_params.h"

#include <math.h>

#define CNN(NAME, name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help) \
    { name, kind, axis, is_log, lo, hi, step, def, hard_lo, hard_hi, choices, help },
static const struct family_param cnn_params[] = {
#include "ml/family/family_params.def"
};

enum { CNN_LEVELS = 4 };

static int64_t epochs_of(const double *params, int level)
{
    static const int share[CNN_LEVELS] = { 1, 3, 7, 15 };

    return (int64_t)ceil(params[CNN_EPOCHS] * share[level - 1] / 15.0);
}

static double padded(double width)
{
    return ceil(width / 16) * 16;
}

enum { PART = 2048, PART_PRODUCTS = 1 << 28 }; /* of ml/net/net_lane.c */

/* Of one row: multiplications, values that blocks make, floats that training keeps of them; floats that are there once, and all
 * parameters. */
struct size {
    double products, values, floats, once, parameters;
};

static void size_add(struct size *s, double places, double in, double out)
{
    s->products += places * in * padded(out);
    s->parameters += (in + 1) * padded(out);
}

/* Whether the last convolution of a block does the work of the pooling (ml/net/block_conv.c). */
static bool fuses(const double *params)
{
    int act = (int)params[CNN_ACTIVATION];
    bool adds = params[CNN_CONVS] > 1 && (int)params[CNN_RESIDUAL] == 1;

    return (int)params[CNN_POOL] == 0 && (int)params[CNN_NORM] == 0 && !adds &&
           (act <= 2 || act == 6);
}

/* A block of images of h x w places and c channels. */
static void block_add(struct size *z, const double *params, double h, double w, double c,
                      double filters)
{
    double k = (int)params[CNN_KERNEL] == 0 ? 3 : 5, full = h * w * padded(filters);
    double least = ceil(h / 2) * ceil(w / 2) * padded(filters), kept = full;

    for (int i = 0; i < (int)params[CNN_CONVS]; i++, c = filters) {
        bool is_last = i + 1 == (int)params[CNN_CONVS];
        size_add(z, h * w, k * k * c, filters);
        z->once += (h + k) * (w + k) * (c + 2 * padded(filters));
        z->values += is_last && fuses(params) ? least : full;
        z->floats += is_last && fuses(params) ? least : 2 * full;
        if (i > 0 && (int)params[CNN_RESIDUAL] == 1)
            z->floats += kept;
    }
    if ((int)params[CNN_NORM] == 1) {
        z->values += full;
        z->floats += 2 * full;
    }
    z->values += least;
    z->floats += 2.25 * least; /* with dropout and the places of the largest */
}

static struct size size_of(const struct family_shape *s, const double *params)
{
    double h = MAX(s->image.height, 1), w = MAX(s->image.width, 1), c = MAX(s->image.channels, 1);
    double filters = params[CNN_FILTERS];
    struct size z = { .values = h * w * c, .floats = h * w * c };

    for (int b = 0; b < (int)params[CNN_BLOCKS]; b++, filters *= 2) {
        block_add(&z, params, h, w, c, filters);
        c = filters;
        h = ceil(h / 2);
        w = ceil(w / 2);
    }
    size_add(&z, 1, h * w * padded(c), params[CNN_DENSE]);
    size_add(&z, 1, params[CNN_DENSE], s->outputs);
    z.values += padded(params[CNN_DENSE]) + padded(s->outputs);
    z.floats += 3 * (padded(params[CNN_DENSE]) + padded(s->outputs));
    return z;
}

static double rows_of_a_fold(const struct family_shape *s)
{
    return s->folds > 1 ? (double)s->rows * (s->folds - 1) / s->folds : (double)s->rows * 0.8;
}

/* Microseconds of `epochs` epochs of one fold: six operations for a multiplication forward and backward, 110 of them a
 * nanosecond; three nanoseconds for a value that a block makes; and for every step a pass over the parameters. Measured with
 * AVX-512 on a core that had other work too: 86 us for an image of 28 x 28 and 16 and 32 filters, of which this says 96. */
static double epochs_cost(const struct family_shape *s, const double *params, double epochs)
{
    double rows = rows_of_a_fold(s), steps = fmax(1.0, floor(rows / params[CNN_BATCH] + 0.5));
    struct size z = size_of(s, params);

    return epochs * (rows * (z.products * 6.0 / 110000.0 + z.values * 0.003) +
                     steps * (z.parameters * 0.001 + 3.0));
}

static int64_t cnn_cost(const struct family_shape *s, const double *params, int from, int to)
{
    double units = 100;

    if (to == CNN_LEVELS)
        units += s->folds * epochs_cost(s, params, params[CNN_EPOCHS]);
    int top = to == CNN_LEVELS && from == 0 ? 0 : to < CNN_LEVELS ? to : CNN_LEVELS - 1;
    if (top > from)
        units += epochs_cost(
            s, params, (double)(epochs_of(params, top) - (from ? epochs_of(params, from) : 0)));
    return units > 9e15 ? (int64_t)9e15 : (int64_t)units;
}

/* Of a lane: parameters, two moments, the same at the last whole epoch, the gradient, that of a part, the best epoch, the
 * weights that lead back; the matrices of a batch or of a part of it; what a pass needs once; four numbers a row. Then the
 * matrices of rows that are predicted together. */
static int64_t cnn_bytes(const struct family_shape *s, const double *params, int level)
{
    double folds = level < CNN_LEVELS ? 1 : s->folds;
    double rows = (double)s->rows, batch = fmin(rows, params[CNN_BATCH] * 1.5 + 1);
    struct size z = size_of(s, params);
    double held = rows * (s->folds > 1 ? 1.0 : 0.2);
    double part = fmin(PART, fmax(1, floor(PART_PRODUCTS / fmax(z.products, 1))));

    return (int64_t)(folds * params[CNN_RANKS] * 4 *
                         (11 * z.parameters + fmin(batch, part) * z.floats + z.once + 4 * rows) +
                     4 * (fmin(256 * z.floats, 8388608) + z.once) +
                     held * (8.0 * s->outputs * folds / MAX(s->folds, 1) + 12));
}

static void cnn_plan(const double *params, int level, struct family_plan *out)
{
    int64_t epochs = epochs_of(params, level);

    *out = (struct family_plan){ .folds = level < CNN_LEVELS ? 1 : 0,
                                 .key = level < CNN_LEVELS ? 0 : 1,
                                 .check_every = 1,
                                 .patience = epochs,
                                 .cap = epochs };
}

/* The best epoch is no parameter: the schedule belongs to the number of epochs that was asked for. */
static void cnn_choose(double *params, int level, int64_t steps)
{
    (void)params, (void)level, (void)steps;
}

static uint64_t cnn_only_with(int i, int *other)
{
    *other = CNN_OPTIMIZER;
    return i == CNN_MOMENTUM ? FAMILY_WITH_MOMENTUM : i == CNN_BETA2 ? FAMILY_WITH_BETA2 : 0;
}

static int cnn_choice_tasks(int i, int choice)
{
    (void)i, (void)choice;
    return FT_ANY;
}

/* clang-format off */
#define REST [CNN_RANKS] = 1, [CNN_DEVICES] = 1, [CNN_MOMENTUM] = 0.9, [CNN_BETA2] = 0.95, [CNN_BIAS_RATE] = 0.1
static const double cnn_first[][CNN_PARAMS] = {
/*  blocks convs filters kernel pool dense act rate  decay dropout smooth batch epochs schedule augment; norm, residual: 0 */
    { 2,   1,    32,     0,     0,   128,  0,  0.06, 0.01, 0.2,    0.05,  64,   15,    1,       0, REST },
    { 2,   1,    16,     0,     0,   128,  0,  0.08, 0.01, 0.15,   0.05,  64,   15,    1,       1, REST },
    { 3,   1,    32,     0,     0,   128,  3,  0.06, 0.02, 0.2,    0.05,  64,   15,    0,       1, REST },
    { 2,   2,    32,     0,     0,   256,  0,  0.06, 0.02, 0.3,    0.05,  64,   15,    0,       3, REST },
};
/* clang-format on */

static const double *cnn_portfolio(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(cnn_first) ? cnn_first[i] : NULL;
}

static const char *const cnn_levels[] = {
    "the first of four cycles of the learning rate, on fold 0",
    "two cycles on fold 0",
    "three cycles on fold 0",
    "all epochs on all folds",
};

const struct family family_cnn = {
    .name = "cnn",
    .help = "convolutional network, for tables of images",
    .form = FF_IMAGES,
    .tasks = FT_ANY,
    .needs_images = true,
    .params = cnn_params,
    .n_params = CNN_PARAMS,
    .levels = CNN_LEVELS,
    .takes_rows = true,
    .has_partial_levels = true,
    .level_help = cnn_levels,
    .cost = cnn_cost,
    .host_bytes = cnn_bytes,
    .plan = cnn_plan,
    .choose = cnn_choose,
    .only_with = cnn_only_with,
    .choice_tasks = cnn_choice_tasks,
    .portfolio = cnn_portfolio,
};
