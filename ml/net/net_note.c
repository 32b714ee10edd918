/* net_note.c - what the page shows of an epoch (ml/model/epoch_log.h): mean loss, learning rate, length of the gradient.
 * Training uses nothing of it. A checkpoint holds the notes, so they are the same on every machine. */
#include "ml/net/net_lane.h"

void net_note_step(struct net_lane *l, const struct net_step *s, double loss, double norm)
{
    if (s->from == 0) /* the first of the epoch */
        l->loss_sum = l->norm_sum = 0;
    l->loss_sum += loss * (double)s->rows;
    l->norm_sum += norm;
    l->rate = (double)s->adam[NET_WEIGHTS].rate;
}

void net_note_epoch(const struct net_lane *l, struct lane *lane)
{
    struct epoch_note e = { .loss = (float)(l->loss_sum / (double)l->r.n_train),
                            .rate = (float)l->rate,
                            .norm = (float)(l->norm_sum / (double)l->batches),
                            .rows = (int32_t)l->r.n_train };

    epoch_log_put(lane->log, lane->steps_done, &e);
}
