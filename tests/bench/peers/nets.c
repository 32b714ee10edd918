/* nets.c - Assay's side of nets.py and cnn.py: trains a group of networks on a table of make_data.c, through the lanes of the
 * product (ml/net/net_lane.h). The family `mlp` has one width for all hidden layers, and `cnn` doubles the filters from block
 * to block, so this program brings a kind of network of its own; everything else is what a trial does.
 *   nets DIR GROUP EPOCHS BATCH RATE WIDTH[,WIDTH ...]    one JSON line; SEED=1 in the environment
 * A width such as c16 is a convolution of 3 x 3 with 16 filters and pooling after it: the columns of the table are then the
 * pixels of square images. The task is multiclass with convolutions and binary without.
 * Predictions of the test rows by the first network go to DIR/ours.p. */
#include "base/base.h"
#include "base/mem.h"
#include "ml/family/family_tables.h"
#include "ml/model/data.h"
#include "ml/net/net_lane.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char program[] = "nets";
#include "tests/bench/peers/program.h"

static struct {
    int width[NET_MAX_BLOCKS], n;
    bool convolves[NET_MAX_BLOCKS];
    struct net_recipe recipe;
} asked;

static void recipe(const double *params, struct net_recipe *out)
{
    (void)params;
    *out = asked.recipe;
}

static int source(struct ml_data *d, const struct lane *lane, struct net_source *out,
                  struct err *err)
{
    (void)lane;
    out->x = ml_data_dense(d, FOLD_ALL, err);
    return out->x ? 0 : -1;
}

static int shape(const struct net_source *s, int outputs, const double *params, struct net *out,
                 struct err *err)
{
    struct net_block last = { .kind = NET_DENSE, .units = outputs, .is_linear = true };

    struct net_block pool = { .kind = NET_POOL_MAX, .units = 1 };
    int side = asked.convolves[0] ? (int)lround(sqrt((double)s->x->cols)) : 1;

    (void)params;
    net_begin(out, side, side, s->x->cols / (side * side));
    for (int i = 0; i < asked.n; i++) {
        struct net_block hidden = { .kind = asked.convolves[i] ? NET_CONV3 : NET_DENSE,
                                    .units = asked.width[i],
                                    .act = LAYER_RELU };
        if (net_add(out, &hidden, err) < 0 || (asked.convolves[i] && net_add(out, &pool, err) < 0))
            return -1;
    }
    return net_add(out, &last, err);
}

static void rows(const struct net_source *s, const struct net *n, const int32_t *row, int64_t from,
                 int64_t count, float *out)
{
    int64_t pad = n->in.pad, all = net_floats(&n->in);

    for (int64_t i = 0; i < count; i++, out += all) {
        const float *x = s->x->x + (row ? row[i] : from + i) * s->x->stride;
        if (pad == all || pad == 1) {
            memcpy(out, x, (size_t)all * sizeof *out);
            continue;
        }
        memset(out, 0, (size_t)all * sizeof *out);
        for (int64_t at = 0; at < all / pad; at++)
            out[at * pad] = x[at];
    }
}

static const struct net_kind kind = {
    .family = &family_mlp, .recipe = recipe, .source = source, .shape = shape, .rows = rows
};

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void predictions_write(const struct lane *lane, const struct ml_data *d, const char *dir)
{
    const struct net_lane *l = lane->state;
    struct err err = { 0 };
    struct frame *f = frame_open(path_of(dir, "test.frame"), &err);
    struct prep_view *v = f ? prep_view_new(d->prep, f, &err) : NULL;
    struct prep_dense x = { 0 };
    struct net_source s = { .x = &x };
    FILE *to = fopen(path_of(dir, "ours.p"), "wb");

    if (!v || !to || prep_dense_make(v, 0, f->rows, &x, &err) < 0)
        die("test.frame", &err);
    size_t n = (size_t)f->rows * (size_t)d->n_outputs;
    float *out = mem_array(n, sizeof *out);
    if (net_predict(&l->head, l->now, &s, NULL, f->rows, out, &err) < 0 ||
        fwrite(out, sizeof *out, n, to) != n || fclose(to) != 0)
        die("ours.p", &err);
    mem_free(out);
}

static void widths_read(char *text)
{
    for (char *w = strtok_r(text, ",", &text); w; w = strtok_r(NULL, ",", &text)) {
        if (asked.n == NET_MAX_BLOCKS - 1)
            die("too many widths", NULL);
        asked.convolves[asked.n] = *w == 'c';
        asked.width[asked.n++] = (int)strtol(w + (*w == 'c'), NULL, 10);
    }
}

int main(int argc, char **argv)
{
    struct err err = { 0 };

    if (argc != 7)
        die("usage: nets DIR GROUP EPOCHS BATCH RATE WIDTH[,WIDTH ...]", NULL);
    int group = (int)strtol(argv[2], NULL, 10);
    asked.recipe = (struct net_recipe){ .epochs = strtoll(argv[3], NULL, 10),
                                        .batch = strtoll(argv[4], NULL, 10),
                                        .rate = strtod(argv[5], NULL),
                                        .momentum = 0.9,
                                        .beta2 = 0.95,
                                        .bias_rate = 0.3,
                                        .schedule = NET_COSINE,
                                        .starts_narrow = true }; /* as the peer's */
    widths_read(argv[6]);
    enum ml_task task = asked.convolves[0] ? ML_MULTICLASS : ML_BINARY;
    struct frame *f = frame_open(path_of(argv[1], "train.frame"), &err);
    if (!f)
        die(argv[1], &err);
    const char *seed = getenv("SEED");
    uint64_t number = seed ? strtoull(seed, NULL, 10) : 1;
    /* The order of the rows follows from it, too: with one order for all seeds, what that order does to the accuracy would
     * look like a difference between the two sides. */
    struct ml_data_spec spec = { .frame = f,
                                 .target = "(target)",
                                 .positive = task == ML_BINARY ? "1" : NULL,
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 2,
                                 .split_seed = number };
    struct ml_data *d = ml_data_open(&spec, &err);
    struct lane *lanes = mem_zalloc((size_t)group * sizeof *lanes);
    if (!d || !ml_data_dense(d, FOLD_ALL, &err))
        die("opening", &err);
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < group; i++) {
        lanes[i] = (struct lane){ .fold = FOLD_ALL, .seed = number + 1000 * (uint64_t)i };
        if (net_lane_open(&kind, d, &lanes[i], &err) < 0)
            die("opening", &err);
    }
    for (int i = 0; i < group; i++) { /* on the CPU, trials are trained one after another */
        if (net_lane_advance(d, &lanes[i], 1, asked.recipe.epochs, NULL, &err) < 0 ||
            lanes[i].failed || lanes[i].steps_done != asked.recipe.epochs)
            die("training", lanes[i].failed ? &lanes[i].why : &err);
    }
    wall = now(CLOCK_MONOTONIC) - wall;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    predictions_write(&lanes[0], d, argv[1]);
    printf("{\"cpu\": %.4f, \"wall\": %.4f}\n", cpu, wall);
    return 0;
}
