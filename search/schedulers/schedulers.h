/* schedulers.h - the schedulers of this room, by symbol: for the list in search/searchers.c. */
#ifndef SEARCH_SCHEDULERS_SCHEDULERS_H
#define SEARCH_SCHEDULERS_SCHEDULERS_H

#include "search/contract/scheduler.h"

extern const struct scheduler_ops search_none;               /* none.c */
extern const struct scheduler_ops search_asha;               /* asha.c */
extern const struct scheduler_ops search_hyperband;          /* hyperband.c */
extern const struct scheduler_ops search_sha;                /* sha.c */
extern const struct scheduler_ops search_median;             /* median.c */
extern const struct scheduler_ops search_patience;           /* patience.c */
extern const struct scheduler_ops search_testhash_scheduler; /* testhash_sched.c */

#endif
