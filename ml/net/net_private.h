/* net_private.h - the functions of a kind of block; net.c calls them in turn. Each kind has a file block_<kind>.c.
 *
 * All of them may read the network, the parameters and the matrices of the pass, and must follow the rules of ml/net/: sums
 * over rows in ascending order, the same bits with every set of instructions, padding stays zero, and without dropout a
 * row's result depends on that row alone. */
#ifndef ML_NET_NET_PRIVATE_H
#define ML_NET_NET_PRIVATE_H

#include "base/rng.h"
#include "ml/net/net.h"

/* One pass of `rows` rows. */
struct net_pass {
    const struct net *net;
    const float *w; /* all parameters */
    struct net_work *work;
    int64_t rows;
    const struct net_drop *drop; /* NULL or p = 0: no dropout */
};

struct net_block_ops {
    /* Checks what was asked for, with `from` given; fills in the rest and adds the parts (net_part_add). */
    int (*shape)(struct net *n, struct net_block *b, struct err *err);
    /* floats of work->spare for `rows` rows */
    int64_t (*spare)(const struct net_block *b, int64_t rows, bool trains);
    /* Parameters of a block that is not the last one. */
    void (*start)(const struct net_block *b, struct rng *rng, float *w);
    void (*forward)(const struct net_pass *p, int i);
    /* work->out[i] holds dL/dout. Writes the gradient of the block's parameters to grad; and, unless `below` is NULL, dL/din
     * to below, which is the matrix that the block read. */
    void (*backward)(const struct net_pass *p, int i, float *grad, float *below);
};

extern const struct net_block_ops net_dense, net_waves, net_members, net_heads, net_conv, net_pool,
    net_norm, net_pieces, net_layer_norm, net_embeds, net_crosses;

/* Of pooling, block i: which place of each window was the largest. */
uint8_t *net_pool_which(const struct net_pass *p, int i);
int net_padded(int width);
/* Adds a part and returns where it lies. */
int64_t net_part_add(struct net *n, int rows, int cols, enum net_role role);
/* The matrix that block i reads. */
float *net_input(const struct net_pass *p, int i);
/* Dropout of the matrix that block i made, with the draws of this pass; true when there was any. */
bool net_drop_out(const struct net_pass *p, int i);
/* Whether this pass drops in block i: then work->keep[i] holds the factors. */
bool net_drops(const struct net_pass *p, int i);

#endif
