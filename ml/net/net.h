/* net.h - a neural network as arithmetic: a sequence of blocks, where their parameters lie, how they start, forward and
 * backward passes of a batch. It knows no rows of a table, folds or trials (net_lane.h does).
 *
 * A block reads the matrix that the block before it made. A matrix holds, for every row, h x w places of c values each; the
 * rows of a table have one place. The values of a place are padded with zeros to a multiple of 16, and the zeros stay; but
 * where a convolution comes first, it reads images as they are.
 *
 * All parameters of a network are one array of `size` floats; a `part` is one matrix in it. Weights start as standard
 * normals and are divided by sqrt(fan-in) where they are used: the parametrisation of neural tangent kernels (Jacot et al.
 * 2018), with which one learning rate suits all widths. It is among the choices that make RealMLP strong on tables
 * (Holzmueller et al., NeurIPS 2024, section 3).
 *
 * To add a kind of block: its name in net_block_kind, its functions in a file of its own (net_private.h), a line in net.c's
 * table, a gradient check in tests/ml/test_net.c. */
#ifndef ML_NET_NET_H
#define ML_NET_NET_H

#include "base/err.h"
#include "ml/cpu/layer.h"

#include <stdbool.h>
#include <stdint.h>

enum { NET_MAX_BLOCKS = 16, NET_MAX_PARTS = 64, NET_MAX_UNITS = 65536, NET_MAX_MEMBERS = 64 };

/* The numbers are stored in model files. */
enum net_block_kind {
    NET_DENSE = 1,
    /* of tables: numbers as waves (block_waves.c), and members that share layers (block_members.c) */
    NET_WAVES,
    NET_MEMBERS,
    NET_HEADS,
    /* of tables: numbers by pieces of their range (block_pieces.c), layer norm (block_norm.c), categories as learned vectors
     * and pairs of them beside the network (block_codes.c) */
    NET_PIECES,
    NET_LAYER_NORM,
    NET_EMBEDS,
    NET_CROSSES,
    /* of images: kernels of 3 x 3 and 5 x 5 (block_conv.c); pooling of 2 x 2 places, and of all of them (block_pool.c); batch
     * norm (block_batch.c) */
    NET_CONV3 = 16,
    NET_CONV5,
    NET_POOL_MAX,
    NET_POOL_MEAN,
    NET_POOL_ALL,
    NET_BATCH_NORM,
    NET_BLOCK_KINDS
};

/* What a matrix holds for one row. */
struct net_size {
    int h, w, c;
    int pad; /* c, padded */
};
int64_t net_floats(const struct net_size *s); /* of one row: h w pad */

struct net_block {
    /* What the family asks for; model files store these. */
    enum net_block_kind kind;
    int units;
    enum layer_act act;
    bool is_linear; /* no activation: the last block */
    bool drops;     /* dropout follows the activation */
    bool scales;    /* a learned factor for every value that it reads */
    bool each;      /* works on every place alike, instead of on all places as one row */
    bool mixes;     /* the numbers that it reads are mixed with their places (mlp_rows.c) */
    bool adds;      /* adds what it read to what it makes (He et al., CVPR 2016) */
    /* What follows. Places of parameters are offsets into the array of all. */
    struct net_size from, to;
    bool is_pooled; /* does the work of the pooling after it, and makes no matrix (block_conv.c) */
    float scale;    /* 1 / sqrt(fan-in) */
    int64_t at_scales, at_weights, at_bias;
    int64_t n_weights; /* of blocks that read codes (block_codes.c) */
};

/* What the optimiser treats alike. */
enum net_role {
    NET_WEIGHTS,
    NET_BIASES,
    NET_SCALES,
    NET_FREQUENCIES,
    NET_ADAPTERS,
    NET_VECTORS, /* of categories */
    NET_ROLES,
    /* no parameter: follows what the batches show, which the block writes where gradients lie */
    NET_RUNNING = NET_ROLES,
    /* weights of few of which a batch speaks; a step of their own (om_ftrl), and stored by those that are not 0 */
    NET_SPARSE,
    /* no parameter: set once, from the rows */
    NET_FIXED
};

/* A matrix of parameters: `rows` rows of `pad` floats, of which the first `cols` are real. */
struct net_part {
    int64_t at;
    int rows, cols, pad;
    enum net_role role;
    int block;
};

/* Beside its values a row may have whole numbers: first one for each of `embeds` categories, below levels[i], then one for
 * each of `crosses` sets of categories, from 0 to NET_BUCKETS - 1. The last `dropped` values of the row say what the embedded
 * categories say as well. */
enum { NET_MAX_EMBEDS = 64, NET_MAX_CROSSES = 256, NET_BUCKETS = 65536 };
struct net_codes {
    int embeds, crosses, dropped;
    int levels[NET_MAX_EMBEDS];
    bool are_used; /* a block reads them */
};

struct net {
    struct net_size in;
    struct net_codes codes;
    int n; /* blocks */
    struct net_block block[NET_MAX_BLOCKS];
    int n_parts;
    struct net_part part[NET_MAX_PARTS];
    int64_t size; /* floats of all parts */
};

/* An empty network that reads h x w places of c values. */
void net_begin(struct net *n, int h, int w, int c);
/* Adds a block, of which `asked` holds what a family asks for. The numbers may come from a file: an error says that they
 * make no network. */
int net_add(struct net *n, const struct net_block *asked, struct err *err);
int net_code_width(const struct net *n); /* whole numbers of a row that the blocks read */
/* Real parameters, without the padding. */
int64_t net_parameters(const struct net *n);
/* The outputs of the last block, and for how many members it has them: 1 but for ensembles (block_members.c). */
int net_outputs(const struct net *n);
int net_members_of(const struct net *n);
/* The first parameters: weights standard normal, scales 1, biases standard normal (they spread the bends of the activations
 * over the range of the inputs). The last block is 0, and the one before crosses, so that training starts from the mean. */
void net_start(const struct net *n, uint64_t seed, float *w);
/* A smaller start of dense layers, heads and convolutions, the last one too: weights, divided by sqrt(fan-in) where they are
 * used, and biases are uniform in +-1/sqrt(fan-in), as linear layers start in PyTorch. Weights of inputs that say nothing
 * keep about what they start with, as noise, so a network that nothing else holds back is better with less of it. */
void net_start_narrow(const struct net *n, uint64_t seed, float *w);

/* The matrices of one batch of at most `rows` rows. */
struct net_work {
    int64_t rows, bytes;
    bool trains;                  /* has what net_backward needs */
    float *x;                     /* what the first block reads; filled by the caller */
    int32_t *codes;               /* [rows][net_code_width]; filled by the caller */
    float *z[NET_MAX_BLOCKS];     /* before the activation; where it trains, then its slope */
    float *out[NET_MAX_BLOCKS];   /* what the block makes; z itself where the block is linear */
    float *keep[NET_MAX_BLOCKS];  /* dropout: 0 or 1 / (1 - p) */
    float *spare[NET_MAX_BLOCKS]; /* what the kind of block asks for */
};
/* trains: also what only net_backward needs. */
int net_work_init(struct net_work *k, const struct net *n, int64_t rows, bool trains,
                  struct err *err);
void net_work_fini(struct net_work *k);
/* What the last block made: scores on the way forward, the derivatives of the loss before the way back. */
float *net_scores(const struct net *n, const struct net_work *k);

struct net_drop {
    float p; /* 0 = none */
    uint64_t
        seed; /* of the lane; the numbers depend on it, the step, the block and the row's place only */
    int64_t step;
    int64_t from; /* rows of the batch before the first of this pass */
};
/* The stream of the draws for block 0; block i draws from the one i further on. */
uint64_t net_drop_stream(int64_t step);

/* From work->x, `rows` rows, to the scores. drop NULL: for prediction. */
void net_forward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                 const struct net_drop *drop);
/* After net_forward, with the scores replaced by the derivative of the loss: the gradient of every parameter into grad
 * [size]. Overwrites what the blocks made. drop: as in the forward pass. */
void net_backward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                  const struct net_drop *drop, float *grad);
/* One block of it; blocks go from the last to the first. */
void net_backward_block(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                        const struct net_drop *drop, int block, float *grad);
/* Where the parameters of a block begin among all, and how many they are. */
int64_t net_block_floats(const struct net *n, int block, int64_t *at);

#endif
