/* link_private.h - what meet.c (how ranks meet) and link.c (what they send each other then) share. */
#ifndef ML_RANKS_LINK_PRIVATE_H
#define ML_RANKS_LINK_PRIVATE_H

#include "ml/ranks/link.h"

#include <pthread.h>

/* RANK_LARGE: numbers of a sum that is worth a way of its own while this rank computes on. */
enum { RANK_LOOK_MS = 20, RANK_WORDS = 16, RANK_WHY = 200, RANK_LARGE = 1 << 14 };

/* What stands before the bytes of a frame. */
enum frame_kind { FRAME_PART = 1, FRAME_WHOLE, FRAME_WORD, FRAME_BYE, FRAME_LEAVE, FRAME_KINDS };
struct frame_head {
    uint32_t kind, unused;
    uint64_t number; /* of the sum, from 1; of FRAME_WORD, the word */
    uint64_t bytes;  /* that follow */
};

/* The connection to another rank. Bytes of a frame come in and go out piece by piece. */
struct peer {
    int fd; /* -1 = none */
    struct frame_head in, out;
    size_t in_at, out_at;     /* bytes of the frame that are through, head and body together */
    const char *out_body;     /* NULL = nothing is on its way out */
    bool has_part, has_whole; /* of the present sum: received */
    int sent;            /* frames of the present sum that were sent: its part, then the whole */
    bool is_gone;        /* it said that it has ended in good order */
    int told;            /* words of rank 0 that it was sent */
    char text[RANK_WHY]; /* the body of FRAME_LEAVE */
    float *part;         /* what it computed for this rank's share */
    int64_t part_cap;
};

struct sum {
    float *x;
    int64_t n;
};

struct rank_link {
    struct ml_reduce reduce; /* the first member: a link is found from it */
    struct rank_conf conf;
    char secret[72], start[72];
    int listen_fd;
    struct peer peer[ML_REDUCE_RANKS];
    /* The rest is shared with the thread and guarded by the lock. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work; /* the thread has something to do */
    int wake[2];         /* a byte in it wakes the thread when it waits for bytes */
    bool has_thread, is_ending, is_broken;
    bool is_busy; /* the thread moves bytes of sums before anybody waits for them */
    char why[RANK_WHY];
    /* Sums that were asked for and are not made yet. The first one is under way. */
    struct sum *sums;
    int n_sums, cap_sums;
    uint64_t made, asked; /* sums so far */
    /* Small sums since the last wait, which become one: `bundle` holds their numbers meanwhile. */
    struct sum *small;
    int n_small, cap_small;
    float *bundle;
    int64_t cap_bundle;
    bool is_added; /* of the sum under way: this rank's share is complete */
    int64_t words[RANK_WORDS];
    int n_words;
    bool is_over; /* rank 0 has ended in good order */
    int64_t says[RANK_WORDS];
    int n_says; /* words of rank 0 that not all others have been sent */
};

/* link.c: takes over the connections and starts the thread. */
int rank_link_start(struct rank_link *l, struct err *err);
int64_t rank_now_ms(void);

#endif
