/* cnn.c - the family `cnn`: convolutions with pooling between them, then a dense layer, on the images of a table.
 *
 * A row's channels are standardised by their mean and spread over the training rows. While it trains, an image may be
 * cropped, mirrored and moved by a few places, as its draw for this epoch says: the draw is keyed by the lane's seed, the
 * epoch and the row, so that batches and slices do not show. */
#include "ml/net/net_lane.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_params.h"
#include "ml/family/family_tables.h"

#include <math.h>
#include <string.h>

/* Bits of the parameter `augment`. */
enum { FLIPS = 1, SHIFTS = 2, CROPS = 4 };
/* Share of the sides that a crop keeps at least. */
#define LEAST_KEPT 0.75f
enum { MOST_MOVED = 2, DRAW_IMAGE = 0x696d67 /* "img": a stream of draws for nothing else */ };
/* Values so many spreads away from the mean are held there. */
#define FARTHEST 10.0f

static void cnn_recipe(const double *params, struct net_recipe *out)
{
    *out = (struct net_recipe){ .rate = params[CNN_LEARNING_RATE],
                                .decay = params[CNN_DECAY],
                                .dropout = params[CNN_DROPOUT],
                                .smoothing = params[CNN_SMOOTHING],
                                .warmup = params[CNN_WARMUP],
                                .clip = params[CNN_CLIP],
                                .schedule = (enum net_schedule)(int)params[CNN_SCHEDULE],
                                .momentum = params[CNN_MOMENTUM],
                                .beta2 = params[CNN_BETA2],
                                .optimizer = (enum optim_kind)(int)params[CNN_OPTIMIZER],
                                .batch = (int64_t)params[CNN_BATCH],
                                .epochs = (int64_t)params[CNN_EPOCHS],
                                .ranks = net_ranks(params[CNN_RANKS], params[CNN_DEVICES]),
                                .augment = (int)params[CNN_AUGMENT],
                                .bias_rate = params[CNN_BIAS_RATE],
                                .starts_narrow = (int)params[CNN_START] == 1 };
}

static int images_of(const struct prep *prep, struct net_source *out, struct err *err)
{
    if (!prep_image(prep, &out->image))
        return err_set(err, ERR_ARG, "cnn: the table has no images");
    for (int c = 0; c < out->image.channels; c++)
        prep_image_channel(prep, c, &out->mean[c], &out->spread[c]);
    return 0;
}

static int cnn_source(struct ml_data *d, const struct lane *lane, struct net_source *out,
                      struct err *err)
{
    (void)lane;
    if (images_of(d->prep, out, err) < 0)
        return -1;
    out->images = ml_data_images(d, err);
    return out->images ? 0 : -1;
}

static int cnn_tile(const struct prep_view *v, const struct prep *prep, const struct net *net,
                    int64_t from, int64_t n, struct net_source *out, struct err *err)
{
    (void)net;
    if (images_of(prep, out, err) < 0 || prep_images_make(v, from, n, &out->own_images, err) < 0)
        return -1;
    out->images = &out->own_images;
    return 0;
}

/* ---- the network ---- */

static int block_add(struct net *n, const double *p, int filters, struct err *err)
{
    struct net_block conv = { .kind = (int)p[CNN_KERNEL] == 0 ? NET_CONV3 : NET_CONV5,
                              .units = filters,
                              .act = (enum layer_act)(int)p[CNN_ACTIVATION] };
    bool norms = (int)p[CNN_NORM] == 1;
    struct net_block norm = { .kind = NET_BATCH_NORM, .units = filters, .act = conv.act };
    struct net_block pool = { .kind = (int)p[CNN_POOL] == 0 ? NET_POOL_MAX : NET_POOL_MEAN,
                              .units = filters,
                              .drops = true };

    for (int i = 0; i < (int)p[CNN_CONVS]; i++) {
        conv.adds = i > 0 && (int)p[CNN_RESIDUAL] == 1;
        conv.is_linear = norms && i + 1 == (int)p[CNN_CONVS];
        if (net_add(n, &conv, err) < 0)
            return -1;
    }
    if (norms && net_add(n, &norm, err) < 0)
        return -1;
    return net_add(n, &pool, err);
}

static int cnn_shape(const struct net_source *s, int outputs, const double *params, struct net *out,
                     struct err *err)
{
    struct net_block dense = { .kind = NET_DENSE,
                               .units = (int)params[CNN_DENSE],
                               .act = (enum layer_act)(int)params[CNN_ACTIVATION],
                               .drops = true };
    struct net_block last = { .kind = NET_DENSE, .units = outputs, .is_linear = true };
    int filters = (int)params[CNN_FILTERS], rc = 0;

    net_begin(out, s->image.height, s->image.width, s->image.channels);
    for (int i = 0; i < (int)params[CNN_BLOCKS] && rc == 0; i++, filters *= 2)
        rc = block_add(out, params, filters, err);
    if (rc < 0 || net_add(out, &dense, err) < 0 || net_add(out, &last, err) < 0)
        return err_wrap(err, "cnn");
    return 0;
}

static int cnn_input(const struct prep *prep, struct net *out, struct err *err)
{
    struct frame_image m;

    if (!prep_image(prep, &m))
        return err_set(err, ERR_ARG, "cnn: the model's table has no images");
    net_begin(out, m.height, m.width, m.channels);
    return 0;
}

/* ---- rows ---- */

static float held(double x, double mean, double spread)
{
    float z = (float)((x - mean) / spread);

    return z != z ? 0.0f : z > FARTHEST ? FARTHEST : z < -FARTHEST ? -FARTHEST : z;
}

/* A value of 256 can be looked up. */
static void bytes_row(const uint8_t *from, int values, int channels, int pad,
                      float byte[FRAME_MAX_CHANNELS][256], float *out)
{
    for (int at = 0; at < values; at += channels, out += pad) {
        for (int c = 0; c < channels; c++)
            out[c] = byte[c][from[at + c]];
        memset(out + channels, 0, (size_t)(pad - channels) * sizeof *out);
    }
}

static void floats_row(const struct net_source *s, const float *from, int values, int channels,
                       int pad, float *out)
{
    for (int at = 0; at < values; at += channels, out += pad) {
        for (int c = 0; c < channels; c++)
            out[c] = held((double)from[at + c], s->mean[c], s->spread[c]);
        memset(out + channels, 0, (size_t)(pad - channels) * sizeof *out);
    }
}

static void cnn_rows(const struct net_source *s, const struct net *n, const int32_t *rows,
                     int64_t from, int64_t count, float *out)
{
    const struct prep_images *m = s->images;
    int channels = n->in.c, pad = n->in.pad;
    float byte[FRAME_MAX_CHANNELS][256];

    for (int c = 0; c < channels && m->bytes; c++) {
        for (int v = 0; v < 256; v++)
            byte[c][v] = held(v, s->mean[c], s->spread[c]);
    }
    for (int64_t i = 0; i < count; i++, out += net_floats(&n->in)) {
        int64_t at = (rows ? rows[i] : from + i) * m->values;
        if (m->bytes)
            bytes_row(m->bytes + at, m->values, channels, pad, byte, out);
        else
            floats_row(s, m->floats + at, m->values, channels, pad, out);
    }
}

/* ---- augmentation ---- */

/* The part of an image that a crop keeps: its first place, and how far apart its places are. */
struct part {
    float x, y, step;
};

/* Two places between which `at` lies, and how far it is from the first; places outside are those of the edge. */
struct between {
    int first, second;
    float share;
};

static struct between between_of(float at, int side)
{
    int i = (int)floorf(at);

    return (struct between){ MIN(MAX(i, 0), side - 1), MIN(MAX(i + 1, 0), side - 1),
                             at - (float)i };
}

/* The part takes the place of the whole image: each place is a mixture of the four places of `from` around it. */
static void crop(const struct net_size *s, const float *from, const struct part *part, float *to)
{
    for (int y = 0; y < s->h; y++) {
        struct between v = between_of(part->y + ((float)y + 0.5f) * part->step - 0.5f, s->h);
        const float *above = from + (int64_t)v.first * s->w * s->pad,
                    *below = from + (int64_t)v.second * s->w * s->pad;
        for (int x = 0; x < s->w; x++, to += s->pad) {
            struct between u = between_of(part->x + ((float)x + 0.5f) * part->step - 0.5f, s->w);
            for (int c = 0; c < s->c; c++) {
                int64_t left = (int64_t)u.first * s->pad + c,
                        right = (int64_t)u.second * s->pad + c;
                float high = above[left] + u.share * (above[right] - above[left]),
                      low = below[left] + u.share * (below[right] - below[left]);
                to[c] = high + v.share * (low - high);
            }
        }
    }
}

/* Which part is kept, from two draws: its size, and where it lies in each direction. */
static struct part part_drawn(const struct net_size *s, uint32_t size, uint32_t place)
{
    float kept = LEAST_KEPT + (1 - LEAST_KEPT) * (float)(size >> 8) * 0x1p-24f, left = 1 - kept;

    return (struct part){ .x = left * (float)s->w * (float)(place >> 16) * 0x1p-16f,
                          .y = left * (float)s->h * (float)(place & 0xffff) * 0x1p-16f,
                          .step = kept };
}

/* The image of a place that is moved in from outside is the mean: 0. */
static void move(const struct net_size *s, const float *from, int dx, int dy, bool mirrors,
                 float *to)
{
    memset(to, 0, (size_t)net_floats(s) * sizeof *to);
    for (int y = MAX(dy, 0); y < MIN(s->h, s->h + dy); y++) {
        const float *line = from + (int64_t)(y - dy) * s->w * s->pad;
        float *out = to + (int64_t)y * s->w * s->pad;
        for (int x = MAX(dx, 0); x < MIN(s->w, s->w + dx); x++) {
            int u = mirrors ? s->w - 1 - (x - dx) : x - dx;
            for (int c = 0; c < s->c; c++)
                out[x * s->pad + c] = line[u * s->pad + c];
        }
    }
}

static int moved_by(uint32_t drawn, int side)
{
    int most = MIN(MOST_MOVED, side / 8);

    return (int)(drawn % (uint32_t)(2 * most + 1)) - most;
}

static void cnn_augment(const struct net_lane *l, const int32_t *rows, int64_t count, float *x)
{
    const struct net_size *s = &l->head.net.in;
    int64_t floats = net_floats(s);
    bool flips = l->recipe.augment & FLIPS, shifts = l->recipe.augment & SHIFTS,
         crops = l->recipe.augment & CROPS;
    float *copy = mem_array((size_t)floats, sizeof *copy);

    for (int64_t i = 0; i < count; i++, x += floats) {
        uint32_t u[4];
        rng_at(l->seed, DRAW_IMAGE, (uint32_t)l->order_epoch, (uint64_t)rows[i], u);
        int dx = shifts ? moved_by(u[0], s->w) : 0, dy = shifts ? moved_by(u[1], s->h) : 0;
        bool mirrors = flips && (u[2] & 1);
        if (crops) {
            struct part part = part_drawn(s, u[2], u[3]);
            memcpy(copy, x, (size_t)floats * sizeof *copy);
            crop(s, copy, &part, x);
        }
        if (!mirrors && dx == 0 && dy == 0)
            continue;
        memcpy(copy, x, (size_t)floats * sizeof *copy);
        move(s, copy, dx, dy, mirrors, x);
    }
    mem_free(copy);
}

static const struct net_kind cnn = {
    .family = &family_cnn,
    .recipe = cnn_recipe,
    .source = cnn_source,
    .shape = cnn_shape,
    .input = cnn_input,
    .tile = cnn_tile,
    .rows = cnn_rows,
    .augment = cnn_augment,
};

static int cnn_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    return net_lane_open(&cnn, d, lane, err);
}

static struct predictor *cnn_predictor_load(const struct prep *prep, int n_outputs,
                                            enum ml_task task, struct view *in, struct err *err)
{
    return net_predictor_load(&cnn, prep, n_outputs, task, in, err);
}

const struct model_ops model_cnn = {
    NET_MODEL_OPS,
    .family = &family_cnn,
    .open = cnn_open,
    .predictor_load = cnn_predictor_load,
};
