/* searchers.h - every sampler and scheduler by symbol, for the two registries only; everybody else asks them by name. */
#ifndef SEARCH_SEARCHERS_H
#define SEARCH_SEARCHERS_H

#include "search/sampler.h"
#include "search/scheduler.h"

extern const struct sampler_ops search_bohb;                 /* bohb.c */
extern const struct sampler_ops search_grid;                 /* grid.c */
extern const struct sampler_ops search_halton;               /* quasi.c */
extern const struct sampler_ops search_random;               /* random.c */
extern const struct sampler_ops search_tpe;                  /* tpe.c */
extern const struct sampler_ops search_sobol;                /* quasi.c */
extern const struct sampler_ops search_duo;                  /* duo.c */
extern const struct sampler_ops search_gp;                   /* gp.c */
extern const struct sampler_ops search_local;                /* local.c */
extern const struct sampler_ops search_testhash_sampler;     /* testhash.c */
extern const struct scheduler_ops search_asha;               /* asha.c */
extern const struct scheduler_ops search_hyperband;          /* hyperband.c */
extern const struct scheduler_ops search_sha;                /* sha.c */
extern const struct scheduler_ops search_median;             /* median.c */
extern const struct scheduler_ops search_patience;           /* patience.c */
extern const struct scheduler_ops search_none;               /* none.c */
extern const struct scheduler_ops search_testhash_scheduler; /* testhash_sched.c */

#endif
