/* ops_net.h - training many small networks at once on a device: what ml/net/ asks of a backend
 * (ml/ops/ops.h).
 *
 * The contract is equality: parameters, moments and losses are those of ml/net/ on the CPU bit for
 * bit, whatever the slot, the number of lanes in the group, and the other lanes. So every element
 * of a product is one chain of fused multiply-adds in ascending order, as in ml/cpu/gemm.h, and
 * every sum over rows is in ascending order.
 *
 * A group has slots for lanes. The networks of a group have the same number of layers; widths,
 * batches, activations, losses and rates may differ from slot to slot. All lanes make a step in the
 * same launches. A lane that leaves its slot is replaced by lane_put. One thread per context.
 * C++-clean. */
#ifndef ML_OPS_OPS_NET_H
#define ML_OPS_OPS_NET_H

#include "base/err.h"

#include <stdint.h>

struct ml_ctx;
struct ml_reduce;
/* the first matrix of all rows on the device, shared by all trials on the data */
struct ml_net_table;
struct ml_net_group;

/* LAYERS: five hidden ones and the last. SLOTS: a dimension of a launch, and as many lanes as keep
 * a device busy. */
enum { ML_NET_LAYERS = 6, ML_NET_SLOTS = 1024 };

/* Classes: softmax, or logistic where there is one output. */
enum ml_net_loss { ML_NET_CLASSES, ML_NET_SQUARE, ML_NET_QUANTILE };
/* The parts of the parameters that have a learning rate and a decay of their own. */
enum ml_net_role { ML_NET_WEIGHTS, ML_NET_BIASES, ML_NET_SCALES, ML_NET_ROLES };

/* A dense layer: z = scale W^T h + b. Weights are [in][pad], biases [pad]; in_pad and pad are
 * multiples of 16, and what lies past `out` is zero. */
struct ml_net_layer {
    int32_t in, in_pad, out, pad;
    /* where they begin among the parameters, multiples of 16 */
    int64_t weights, bias;
    float scale;
    /* enum layer_act, and whether dropout follows; of hidden layers */
    int32_t act, drops;
    int32_t unused;
};

/* What a lane keeps while it is in its slot. */
struct ml_net_lane {
    /* parameters; with has_scales the first layer[0].in_pad are the learned scales of the inputs */
    int64_t size;
    /* for the draws of dropout */
    uint64_t seed;
    int32_t n_layers, has_scales;
    int32_t loss;      /* enum ml_net_loss */
    int32_t optimizer; /* enum optim_kind */
    float quantile, smoothing;
    double clip; /* largest length of a gradient; 0 = any */
    struct ml_net_layer layer[ML_NET_LAYERS];
};

/* The gradient of a large batch is the sum of those of its parts, each a step of its own; the last
 * part is followed by the optimiser. ONLY: all rows that this rank has of a batch (team_steps). */
enum ml_net_part {
    ML_NET_WHOLE,
    ML_NET_FIRST_PART,
    ML_NET_MIDDLE_PART,
    ML_NET_LAST_PART,
    ML_NET_ONLY_PART
};

/* One step of one lane. */
struct ml_net_step {
    /* where the batch begins in the feed */
    int64_t from;
    /* of dropout in the first hidden layer; layer l draws from stream + l */
    uint64_t stream;
    /* of the batch or part; 0 = the lane sits this step out */
    int32_t rows;
    /* enum ml_net_part; for parts: rows of the batch before it, and the share of all its rows that
     * it has */
    int32_t part, rows_before;
    float share;
    int32_t feed;
    /* all rows of the batch, of all ranks; for team_steps */
    int32_t batch_rows, unused;
    /* the share of units left out */
    float drop;
    float beta1, beta2, eps, fix_m, fix_v; /* nm_adam */
    float rate[ML_NET_ROLES], decay[ML_NET_ROLES];
};

/* The largest of everything that a group will hold. */
struct ml_net_in {
    struct ml_net_table *table;
    int slots, layers;
    /* orders of rows held at once, and rows of each */
    int feeds;
    int64_t feed_rows;
    /* rows of a batch */
    int64_t batch;
    /* parameters of a network */
    int64_t size;
    /* pad[0]: of the inputs; pad[l + 1]: of layer l */
    int32_t pad[ML_NET_LAYERS + 1];
    /* queued in one call of `steps` */
    int steps;
    /* whether batches have parts; whether lengths of gradients are wanted, a lane clips, or its
     * optimiser is LARS or LAMB */
    int has_parts, has_norms;
    /* other ranks train the same network; there is one slot */
    int is_team;
    /* outputs of a network, and rows scored in one call of `score`; 0 = it is not called */
    int outputs;
    int64_t score_rows;
};

/* Of a step: the mean loss of its rows; and the length of the gradient before it is clipped, where
 * the group has norms and the step ends a batch. */
struct ml_net_told {
    double loss, length;
};

/* What became of the steps of a lane. */
struct ml_net_end {
    /* steps that were made: all, or those before the loss was not finite */
    int32_t done;
    /* the loss was not finite in step `done` of this call: the parameters are those before it */
    int32_t diverged;
};

/* Which parameters: as they are now, or as they were at the last `keep`. */
enum ml_net_when { ML_NET_NOW, ML_NET_KEPT };

struct ml_net_ops {
    /* x: [rows][stride] on the host, copied. stride is a multiple of 16. */
    int (*table_new)(struct ml_ctx *c, const float *x, int64_t rows, int64_t stride,
                     struct ml_net_table **out, struct err *err);
    void (*table_free)(struct ml_net_table *t);
    /* Borrows the table. ERR_NOMEM where the device has too little memory. */
    int (*open)(struct ml_ctx *c, const struct ml_net_in *in, struct ml_net_group **out,
                struct err *err);
    void (*close)(struct ml_net_group *g);
    /* Bytes on the device of a group of that kind; table excluded. */
    int64_t (*bytes)(const struct ml_net_in *in);
    /* Fills a slot. state: parameters and both moments, [3][lane->size]; kept: the same at the
     * last `keep`, or NULL. */
    int (*lane_put)(struct ml_net_group *g, int slot, const struct ml_net_lane *lane,
                    const float *state, const float *kept, struct err *err);
    /* Copies of a slot to the host: 1 = the parameters, [size]; 3 = and both moments, [3][size]. */
    int (*lane_get)(struct ml_net_group *g, int slot, enum ml_net_when when, int copies,
                    float *state, struct err *err);
    /* An order of rows: row i of an epoch is rows[i] of the table, with target y[i] (int32_t class,
     * or float number). */
    int (*feed_put)(struct ml_net_group *g, int feed, const int32_t *rows, const void *y, int64_t n,
                    struct err *err);
    /* Copies the state of the slots with a nonzero mark aside. marks: [slots] */
    int (*keep)(struct ml_net_group *g, const uint8_t *marks, struct err *err);
    /* n steps of all lanes: steps[n][slots]. On return ends[slots], and told[n][slots] of the steps
     * made. */
    int (*steps)(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                 struct ml_net_end *ends, struct ml_net_told *told, struct err *err);
    /* As `steps` for the only lane of a group with is_team, of which other ranks make the same
     * steps on their rows of each batch: every batch ends with a LAST or an ONLY part, and has a
     * sum of the gradient of each layer, from the last to the first, and one of the loss, which
     * is told of that part. -1 also when a rank is lost. */
    int (*team_steps)(struct ml_net_group *g, struct ml_reduce *r, const struct ml_net_step *steps,
                      int n, struct ml_net_end *ends, struct ml_net_told *told, struct err *err);
    /* finite[slot]: whether all parameters in use are finite numbers. */
    int (*finite)(struct ml_net_group *g, uint8_t *finite, struct err *err);
    /* Scores of n rows of a feed by the networks of the slots with a nonzero mark:
     * out[slots][n][outputs], before any softmax. The other slots' are not written. */
    int (*score)(struct ml_net_group *g, const uint8_t *marks, enum ml_net_when when, int feed,
                 int64_t n, float *out, struct err *err);
};

#endif
