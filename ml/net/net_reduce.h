/* net_reduce.h - sums over ranks that are threads of this process (ml/ops/ops_reduce.h). A sum is made in the order of the
 * ranks, so that its bits do not depend on which thread is early. */
#ifndef ML_NET_NET_REDUCE_H
#define ML_NET_NET_REDUCE_H

#include "ml/ops/ops_reduce.h"

struct net_reduce;
/* ranks: 1..ML_REDUCE_RANKS. A rank that does not come to a sum within limit_ms of the others counts as lost. */
struct net_reduce *net_reduce_new(int ranks, int64_t limit_ms);
/* After all threads have ended. */
void net_reduce_free(struct net_reduce *all);
struct ml_reduce *net_reduce_end(struct net_reduce *all, int rank); /* borrowed */

#endif
