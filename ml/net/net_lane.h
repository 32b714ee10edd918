/* net_lane.h - a lane of any family of networks: one network, trained on the rows outside one fold; a step of the lane is an
 * epoch. Between two calls a lane may stand inside an epoch: `whole` then holds the parameters and the state of the
 * optimiser as they were at the end of the last whole epoch, and only those are predicted with, saved or resumed.
 *
 * A family says in its `struct net_kind` which blocks its parameters mean, how they are trained, and how rows of the data
 * become the first matrix of a batch; everything else is the same for all of them:
 *
 * net_lane.c   the lane interface (ml/model/model.h): memory, predictions, the epoch that is kept
 * net_train.c  an epoch: order of the rows, batches, the step of the optimiser
 * net_rate.c   schedules of the learning rate
 * net_team.c   several ranks that share every batch
 * net_device.c net_device_train.c  the same epochs on a device, many lanes at once
 * net_note.c   what the page shows of an epoch
 * net_file.c   models and checkpoints as bytes */
#ifndef ML_NET_NET_LANE_H
#define ML_NET_NET_LANE_H

#include "ml/math/optim_math.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/net/net.h"

#include <stdbool.h>

enum { NET_TILE = 256 }; /* rows that are predicted together */
/* Copies of the parameters that the optimiser keeps: the parameters, first and second moments of the gradients. */
enum { NET_STATES = 3 };

/* Learning rate over the epochs. */
enum net_schedule { NET_CYCLES, NET_COSINE, NET_ONE_CYCLE, NET_CONSTANT, NET_STEPS };
/* Rows that go through the network at once, at most (net_lane.part); the gradients of larger batches are sums of those of
 * parts. */
enum { NET_PART = 2048 };

/* How a network is trained: a family's parameters in terms that all of them share. What is 0 is not done. */
struct net_recipe {
    double rate, decay, dropout, smoothing;
    double
        warmup;  /* share of all epochs in which the rate rises from 0 to what the schedule says */
    double clip; /* largest length of a gradient */
    double bias_rate;       /* share of the learning rate that biases have */
    double momentum, beta2; /* ml/math/optim_math.h: u and s */
    enum net_schedule schedule;
    enum optim_kind optimizer;
    int64_t batch, epochs;
    int ranks;          /* that train it together (net_team.c); up to 1: none but this one */
    int augment;        /* bits that the family's augment understands; 0 = none */
    bool starts_narrow; /* net_start_narrow */
};
/* By the parameters ranks and devices. A trial for several devices that one worker trains alone, as
 * a refit does, has as many ranks, and so the same bits. */
static inline int net_ranks(double ranks, double devices)
{
    return (int)(ranks > devices ? ranks : devices);
}
/* The learning rate of the weights, and what is left of dropout and decay, when the share u of all epochs is done. */
double net_rate_at(const struct net_recipe *r, double u);
double net_late_fall(double u);

/* Rows of data as the family reads them; in a predictor, the rows of one tile. */
struct net_source {
    const struct prep_dense *x;
    const struct prep *prep;      /* of the table */
    const struct prep_bins *bins; /* NULL where no block reads codes */
    /* images, their shape, and mean and spread of each channel */
    const struct prep_images *images;
    struct frame_image image;
    double mean[FRAME_MAX_CHANNELS], spread[FRAME_MAX_CHANNELS];
    /* what a tile of a predictor owns (net_source_fini) */
    struct prep_dense own_x;
    struct prep_bins own_bins;
    struct prep_images own_images;
};

struct net_lane;

struct net_kind {
    const struct family *family;
    void (*recipe)(const double *params, struct net_recipe *out);
    /* The rows of the data as the fold of the lane sees them, borrowed of them. */
    int (*source)(struct ml_data *d, const struct lane *lane, struct net_source *out,
                  struct err *err);
    /* The network for rows of this source. */
    int (*shape)(const struct net_source *s, int outputs, const double *params, struct net *out,
                 struct err *err);
    /* An empty network for what a row is, for a model that was read: it must be what the preparation makes. */
    int (*input)(const struct prep *prep, struct net *out, struct err *err);
    /* Rows [from, from + n) of a table to predict by `net`; net_source_fini frees them. */
    int (*tile)(const struct prep_view *v, const struct prep *prep, const struct net *net,
                int64_t from, int64_t n, struct net_source *out, struct err *err);
    /* Rows `rows` of the source, or from, from + 1 ... where it is NULL, as the first matrix of a batch. */
    void (*rows)(const struct net_source *s, const struct net *n, const int32_t *rows, int64_t from,
                 int64_t count, float *out);
    /* The whole numbers of the same rows; asked where a block reads them. NULL = there are none. */
    void (*codes)(const struct net_source *s, const struct net *n, const int32_t *rows,
                  int64_t from, int64_t count, int32_t *out);
    /* Sets the parameters that follow from the training rows (NET_FIXED). NULL = there are none. */
    void (*start)(const struct net_source *s, const struct net *n, const struct fold_rows *r,
                  float *w);
    /* Changes rows of a batch that trains, x as `rows` made it; asked where recipe.augment is not 0. NULL = never. */
    void (*augment)(const struct net_lane *l, const int32_t *rows, int64_t count, float *x);
};

enum net_loss { NET_LOSS_CLASSES, NET_LOSS_SQUARE, NET_LOSS_QUANTILE };

/* What predicting needs beside the parameters. */
struct net_head {
    const struct net_kind *kind;
    struct net net;
    enum ml_task task;
    double mean, spread; /* of a number: prediction = mean + spread * score, */
    double lo, hi;       /* held within what training rows had */
};

/* Where the newest parameters of a lane are. */
enum net_away {
    NET_HERE,         /* on the host */
    NET_MOMENTS_AWAY, /* the parameters on the host as well, the moments on the device */
    NET_AWAY          /* on the device: now, and whole where the lane has it */
};

struct net_group;
struct net_team;
struct ml_reduce;
struct net_lane {
    struct net_head head;
    struct net_recipe recipe;
    struct fold_rows r;
    struct net_source source;
    enum net_loss loss;
    float quantile;
    int32_t *label;   /* [n_train] classes, or NULL */
    float *target;    /* [n_train] standardised numbers, or NULL */
    float *weight;    /* [n_train] what a training row counts; NULL = all count 1 */
    int32_t *order;   /* [n_train] places of training rows, in the order of this epoch */
    float *now;       /* [NET_STATES][size] */
    float *whole;     /* [NET_STATES][size]: the same at the end of an epoch, see above */
    float *best;      /* [size]: parameters after best_step epochs; allocated when first kept */
    float *grad;      /* [size] */
    float *part_grad; /* [size] of a part of a batch, where batches have more than NET_PART rows */
    int64_t best_step;
    int64_t order_epoch; /* whose order `order` is; -1 = none */
    int64_t part;        /* rows that go through the network at once; follows from its shape */
    int64_t batches;     /* of an epoch */
    int64_t at;          /* the next batch; 0 = the lane stands between two epochs */
    int64_t
        part_at; /* parts of that batch that are already in grad; part_loss: what they add to its loss */
    double part_loss;
    struct net_work work;
    int32_t *batch_label;
    float *batch_target;
    double loss_sum, norm_sum, rate; /* net_note.c: of the epoch under way */
    bool has_whole;                  /* `whole` was written */
    uint64_t seed, order_seed;       /* of the trial and the fold; of the split and the fold */
    struct net_team *team;           /* NULL = one rank trains it */
    struct ml_reduce *reduce;        /* the end of this rank; NULL as above */
    bool team_stops;                 /* a rank wants to stop after the batch that was made last */
    struct net_group *group;         /* net_device.h; NULL = the lane was never on a device */
    int slot;                        /* of the group; -1 = none */
    enum net_away away;
    bool is_refused; /* the device has no memory for it */
    int64_t bytes;
};

/* net_lane.c: the functions of model_ops; a family's open and predictor_load pass its kind. */
int net_lane_open(const struct net_kind *kind, struct ml_data *d, struct lane *lane,
                  struct err *err);
/* One rank of it, or a lane that has no others: recipe.ranks is not looked at. */
int net_lane_open_rank(const struct net_kind *kind, struct ml_data *d, struct lane *lane,
                       struct err *err);
void net_lane_close(struct lane *lane);
int64_t net_lane_bytes(const struct lane *lane);
int net_lane_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                     const struct ml_stop *stop, struct err *err);
bool net_lane_fuses(const struct ml_data *d, const struct lane *lane);
int net_lane_keep(struct lane *lane, struct err *err);
int net_lane_predict_held(struct ml_data *d, const struct lane *lane, float *out, struct err *err);
int net_lane_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps, float *out,
                             struct err *err);
/* Scores of `pad` floats a row become probabilities or numbers of the target. */
void net_scores_out(const struct net_head *h, const float *z, int64_t pad, int64_t rows,
                    float *out);
void net_source_fini(struct net_source *s);
/* Predictions of rows [0, count) of `rows`, or of the first `count` rows of the source where it is NULL. */
int net_predict(const struct net_head *h, const float *w, const struct net_source *s,
                const int32_t *rows, int64_t count, float *out, struct err *err);

/* A step of the optimiser: batch `batch` of the epoch in which the lane stands. */
struct net_step {
    int64_t from, rows; /* places of the order */
    int64_t number;     /* from 1 */
    float dropout;
    struct layer_adam adam[NET_ROLES];
};
/* net_train.c */
void net_step_plan(const struct net_lane *l, const struct lane *lane, int64_t batch,
                   struct net_step *out);
/* Sees that `order` is that of the epoch in which the lane stands. */
void net_order(struct net_lane *l, const struct lane *lane);
/* Fails a lane whose loss, or whose weights at the end of an epoch, are not finite. */
void net_fail_loss(const struct net_lane *l, struct lane *lane);
void net_fail_weights(const struct net_lane *l, struct lane *lane);
/* More than NET_PART rows go through the network in parts of nearly equal size: their number, and the first row of one. */
int64_t net_parts(int64_t rows);
int64_t net_part_begin(int64_t rows, int64_t part);
/* Trains up to the end of epoch `target`; false = stopped before. A loss that is not finite fails the lane. */
bool net_train(struct net_lane *l, struct lane *lane, int64_t target, const struct ml_stop *stop);
/* The parameters after `steps` epochs: the last whole epoch, the one before it, or the one that was kept. */
const float *net_weights_at(const struct net_lane *l, const struct lane *lane, int64_t steps);

/* net_team.c: a lane that several ranks train, each on its share of every batch (ml/ops/ops_reduce.h). Makes the open lane the
 * first of `ranks` >= 2 ranks; on failure it is as it was. */
int net_team_open(struct ml_data *d, struct lane *lane, int ranks, struct err *err);
void net_team_close(struct net_lane *l); /* does nothing where there is none */
int64_t net_team_bytes(const struct net_lane *l);
/* As net_train; a stop takes effect one batch later. */
bool net_team_train(struct net_lane *l, struct lane *lane, int64_t target,
                    const struct ml_stop *stop);

/* net_device.c: lanes of networks that train together on a device (ml/ops/ops_net.h). A lane on the device is what it would be
 * on the CPU, bit for bit, and moves between the two at any batch. While the device has newer parameters than the host the
 * lane is `away`; whoever needs them on the host fetches them. */
/* Whether the device has a form for everything that the lane's network and recipe ask for. */
bool net_device_suits(const struct ml_data *d, const struct net_lane *l);
/* Trains the lanes by up to `steps` epochs each. 1 = done or stopped, 0 = the CPU has to do it, -1 = error. */
int net_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                       const struct ml_stop *stop, struct err *err);
/* Brings what the device has of the lane to the host: the state of the optimiser as well, or the parameters alone. */
int net_device_fetch(struct net_lane *l, bool with_optimiser, struct err *err);
/* Predictions of the held rows by the lane as it stands after the epochs done: 1 = in out, 0 = the CPU has to do it. */
int net_device_score(const struct net_lane *l, float *out, struct err *err);
/* The lane gives its slot back; what the device has of it is lost unless it was fetched. */
void net_device_leave(struct net_lane *l);
/* Host memory of one lane's share of its group. */
int64_t net_device_bytes(const struct net_lane *l);

/* net_note.c: what the page shows of an epoch, into lane->log. For each step of it, norm: the length of the gradient, NaN where
 * it is not known; then at its end. */
void net_note_step(struct net_lane *l, const struct net_step *s, double loss, double norm);
void net_note_epoch(const struct net_lane *l, struct lane *lane);

/* net_file.c. A model: the blocks and the parameters. A checkpoint adds the optimiser and what was kept. */
int net_lane_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err);
int net_lane_save_training(const struct lane *lane, struct buf *out, struct err *err);
int net_lane_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err);
struct predictor *net_predictor_load(const struct net_kind *kind, const struct prep *prep,
                                     int n_outputs, enum ml_task task, struct view *in,
                                     struct err *err);
void net_predictor_free(struct predictor *p);
int net_predictor_predict(const struct predictor *p, const struct prep_view *v, int64_t from,
                          int64_t n, float *out, struct err *err);

/* What a family of networks does not decide, in its struct model_ops; it adds family, open and predictor_load. */
#define NET_MODEL_OPS                                                                        \
    .has_epochs = true, .close = net_lane_close, .advance = net_lane_advance,                \
    .keep = net_lane_keep, .predict_held = net_lane_predict_held,                            \
    .predict_held_at = net_lane_predict_held_at, .save = net_lane_save,                      \
    .save_training = net_lane_save_training, .load = net_lane_load, .bytes = net_lane_bytes, \
    .predictor_free = net_predictor_free, .predict = net_predictor_predict

#endif
