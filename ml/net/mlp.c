/* mlp.c - the family `mlp`: hidden layers of one width on the dense form of a table. With x the inputs of a row, clipped
 * (layer_clip), and s a learned scale per input, the first layer reads s * x; see block_dense.c for what a layer is. The scales
 * are among the choices that make RealMLP strong on tables (Holzmueller et al., NeurIPS 2024, section 3). Numbers may be
 * embedded by waves or by pieces of their range (block_waves.c, block_pieces.c), categories as learned vectors, and pairs of
 * categories may speak beside the network (block_codes.c); hidden layers may be normalised (block_norm.c) and add what they
 * read (block_dense.c), and several members may share them (block_members.c). What a row becomes: mlp_rows.c. */
#include "ml/net/mlp_rows.h"

#include "ml/family/family_params.h"
#include "ml/family/family_tables.h"

/* Weights of crosses, and their buckets, which are fewer where there are many outputs. */
enum { MOST_CROSS_WEIGHTS = 1 << 19, FEWEST_BUCKETS = 1 << 12 };

static void mlp_recipe(const double *params, struct net_recipe *out)
{
    *out = (struct net_recipe){ .rate = params[MLP_LEARNING_RATE],
                                .decay = params[MLP_DECAY],
                                .dropout = params[MLP_DROPOUT],
                                .smoothing = params[MLP_SMOOTHING],
                                .warmup = params[MLP_WARMUP],
                                .clip = params[MLP_CLIP],
                                .schedule = (enum net_schedule)(int)params[MLP_SCHEDULE],
                                .momentum = params[MLP_MOMENTUM],
                                .beta2 = params[MLP_BETA2],
                                .optimizer = (enum optim_kind)(int)params[MLP_OPTIMIZER],
                                .batch = (int64_t)params[MLP_BATCH],
                                .epochs = (int64_t)params[MLP_EPOCHS],
                                .bias_rate = params[MLP_BIAS_RATE],
                                .starts_narrow = (int)params[MLP_START] == 1,
                                .ranks = net_ranks(params[MLP_RANKS],
                                                   family_devices(&family_mlp, params)) };
}

static int mlp_source(struct ml_data *d, const struct lane *lane, struct net_source *out,
                      struct err *err)
{
    bool reads_codes = (int)lane->params[MLP_CATEGORIES] == 1 || (int)lane->params[MLP_WIDE] == 1;

    out->x = ml_data_dense(d, lane->fold, err);
    out->prep = d->prep;
    if (out->x && reads_codes)
        out->bins = ml_data_bins(d, lane->fold, MLP_BINS, err);
    return out->x && (out->bins || !reads_codes) ? 0 : -1;
}

static int mlp_tile(const struct prep_view *v, const struct prep *prep, const struct net *net,
                    int64_t from, int64_t n, struct net_source *out, struct err *err)
{
    out->prep = prep;
    out->x = &out->own_x;
    if (net->codes.are_used) {
        out->bins = &out->own_bins;
        if (prep_bins_make(v, from, n, &out->own_bins, err) < 0)
            return -1;
    }
    if (prep_dense_make(v, from, n, &out->own_x, err) == 0)
        return 0;
    prep_bins_fini(&out->own_bins);
    return -1;
}

static int mlp_input(const struct prep *prep, struct net *out, struct err *err)
{
    (void)err;
    net_begin(out, 1, 1, prep_width(prep));
    mlp_codes_of(prep, &out->codes);
    return 0;
}

/* Numbers, then categories, then members: what comes before the hidden layers. */
static int inputs_add(const struct net_source *s, const double *params, struct net *out,
                      struct err *err)
{
    static const enum net_block_kind kind_of[] = { 0, NET_WAVES, NET_PIECES };
    struct net_block numbers = { .kind = kind_of[(int)params[MLP_EMBEDDING]],
                                 .units = mlp_numbers(s->prep),
                                 .is_linear = true,
                                 .mixes = (int)params[MLP_EMBEDDING] == 1 &&
                                          (int)params[MLP_NUMBERS] == 1 };
    struct net_block embeds = { .kind = NET_EMBEDS, .units = out->codes.embeds, .is_linear = true };
    struct net_block members = { .kind = NET_MEMBERS,
                                 .units = (int)params[MLP_MEMBERS],
                                 .is_linear = true };

    if (numbers.kind && numbers.units > 0 && net_add(out, &numbers, err) < 0)
        return -1;
    if ((int)params[MLP_CATEGORIES] == 1 && embeds.units > 0 && net_add(out, &embeds, err) < 0)
        return -1;
    return members.units > 1 ? net_add(out, &members, err) : 0;
}

/* As many buckets as give half a million weights at most. */
static int crosses_add(int outputs, struct net *out, struct err *err)
{
    struct net_block b = { .kind = NET_CROSSES, .units = NET_BUCKETS, .is_linear = true };

    if (out->codes.crosses == 0)
        return 0;
    while ((int64_t)b.units * outputs > MOST_CROSS_WEIGHTS && b.units > FEWEST_BUCKETS)
        b.units /= 2;
    return net_add(out, &b, err);
}

static int mlp_shape(const struct net_source *s, int outputs, const double *params, struct net *out,
                     struct err *err)
{
    struct net_block hidden = { .kind = NET_DENSE,
                                .units = (int)params[MLP_WIDTH],
                                .act = (enum layer_act)(int)params[MLP_ACTIVATION],
                                .drops = true,
                                .scales = true,
                                .each = (int)params[MLP_MEMBERS] > 1 };
    struct net_block norm = { .kind = NET_LAYER_NORM, .units = hidden.units, .is_linear = true };
    struct net_block last = { .kind = hidden.each ? NET_HEADS : NET_DENSE,
                              .units = outputs,
                              .is_linear = true };
    bool norms = (int)params[MLP_NORM] == 1;

    if (mlp_input(s->prep, out, err) < 0 || inputs_add(s, params, out, err) < 0)
        return -1;
    for (int i = 0; i < (int)params[MLP_LAYERS]; i++, hidden.scales = false) {
        hidden.adds = i > 0 && (int)params[MLP_RESIDUAL] == 1;
        if (net_add(out, &hidden, err) < 0 || (norms && net_add(out, &norm, err) < 0))
            return -1;
    }
    if (net_add(out, &last, err) < 0)
        return -1;
    return (int)params[MLP_WIDE] == 1 ? crosses_add(outputs, out, err) : 0;
}

static const struct net_kind mlp = {
    .family = &family_mlp,
    .recipe = mlp_recipe,
    .source = mlp_source,
    .shape = mlp_shape,
    .input = mlp_input,
    .tile = mlp_tile,
    .rows = mlp_rows,
    .codes = mlp_codes,
    .start = mlp_start,
};

static int mlp_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    return net_lane_open(&mlp, d, lane, err);
}

static struct predictor *mlp_predictor_load(const struct prep *prep, int n_outputs,
                                            enum ml_task task, struct view *in, struct err *err)
{
    return net_predictor_load(&mlp, prep, n_outputs, task, in, err);
}

const struct model_ops model_mlp = {
    NET_MODEL_OPS,
    .family = &family_mlp,
    .open = mlp_open,
    .fuses = net_lane_fuses,
    .predictor_load = mlp_predictor_load,
};
