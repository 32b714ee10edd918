/* link.h - the connections between ranks that are processes, on one machine or several: how they
 * meet, the sums over all of them (ml/ops/ops_reduce.h), and the words that rank 0 says to the
 * others.
 *
 * Every rank listens on a TCP port of its own. Rank 0's address is told to the others by somebody
 * else (the controller); they dial it, prove that they know the secret of this attempt, and learn
 * the addresses of all others from it. In the end each two ranks have one connection. A stranger
 * who dials is turned away and does no harm. From then on a thread makes large sums, so that those
 * of upper layers are made while lower layers are computed.
 *
 * A sum is made in two rounds: each rank adds up its own share of the places, in the order of the
 * ranks, and sends it to all. So a rank sends and receives about twice the numbers, however many
 * ranks there are, and the bits are those of the sums between threads (ml/net/net_reduce.c).
 *
 * Numbers travel as this machine has them; ranks of another byte order are refused. The secret
 * protects against strangers who dial. What travels is neither encrypted nor signed, so the ranks'
 * network must be trusted. */
#ifndef ML_RANKS_LINK_H
#define ML_RANKS_LINK_H

#include "ml/ops/ops_reduce.h"

#include <stdbool.h>
#include <stddef.h>

/* RANK_VERSION: of the bytes on the connections; only equal ones meet. */
enum { RANK_VERSION = 1, RANK_ADDRESS = 96 };

struct rank_conf {
    int rank, ranks;    /* 2..ML_REDUCE_RANKS */
    const char *secret; /* of this attempt; the same on all ranks; copied */
    /* What is trained: equal on all ranks, or they refuse each other. start: what the training
     * goes on from, such as the hash of a checkpoint; "" = from the beginning; copied. */
    int64_t trial, fence;
    const char *start;
    int64_t meet_ms; /* the ranks must have met within this time */
    int64_t sum_ms;  /* a sum may wait so long for another rank */
    /* Asked about every 20 ms while a call waits: true = give up. May be NULL. */
    bool (*gives_up)(void *arg);
    void *arg;
};

struct rank_link;
struct rank_link *rank_link_new(const struct rank_conf *conf);
/* Tells the others that this rank ends: in good order (why NULL), or for this reason. Frees l, which
 * may be NULL. */
void rank_link_close(struct rank_link *l, const char *why);
/* Listens at this host (a name or an address of this machine) on a free port; writes HOST:PORT. */
int rank_link_listen(struct rank_link *l, const char *host, char address[RANK_ADDRESS],
                     struct err *err);
/* Meets all other ranks. first: rank 0's address; NULL at rank 0. ERR_DEVICE, or ERR_TIMEOUT when
 * gives_up said so. */
int rank_link_meet(struct rank_link *l, const char *first, struct err *err);
/* The sums; valid from rank_link_new on, usable after rank_link_meet. */
struct ml_reduce *rank_link_reduce(struct rank_link *l);
/* Rank 0 says a number to all others; they hear it. hear returns 1 with it, 0 if rank 0 has ended
 * in good order, -1. */
int rank_link_tell(struct rank_link *l, int64_t word, struct err *err);
int rank_link_hear(struct rank_link *l, int64_t *word, struct err *err);
/* Whether a sum or a word failed because of another rank; whether rank 0 has ended in good order. */
bool rank_link_is_lost(struct rank_link *l);
bool rank_link_is_over(struct rank_link *l);

#endif
