/* pool_private.h - what pool.c and show.c share. */
#ifndef CONTROLLER_POOL_POOL_PRIVATE_H
#define CONTROLLER_POOL_POOL_PRIVATE_H

#include "controller/pool/command.h"
#include "controller/pool/conf.h"
#include "controller/pool/demand.h"
#include "controller/pool/plan.h"
#include "controller/pool/pool.h"
#include "controller/pool/slurm.h"

/* A pause that doubles with each failure in a row. */
struct patience {
    int fails;
    int64_t until_ms; /* monotonic; nothing is tried before */
    char why[200];    /* what failed last; "" = nothing */
};

struct pool_job {
    struct slurm_job is;
    bool had_runner;    /* its runner has come, since it last began */
    bool is_cancelled;  /* by us */
    int64_t runner;     /* the id of that runner; 0 = none is here now */
    int64_t started_ms; /* when it was first seen running; 0 = it is not */
};

struct pool {
    struct patience patience; /* with submissions, and with jobs whose runner never came */
    int wanted;               /* devices that this pool may bring, by the last look */
    int64_t unwanted_ms;      /* since when more jobs are pending than trials call for; 0 = not */
    int64_t submitted;        /* jobs since the start of the process */
};

struct pools {
    struct ctl *ctl;
    char *path, word[SLURM_WORD_MAX];
    struct pools_conf conf;
    struct pool pool[POOLS_MAX]; /* at the place of its configuration */
    struct pool_job *jobs;       /* as last listed, of all pools and of such as are no more */
    int n_jobs;
    struct patience patience; /* with Slurm */
    int64_t listed_ms;        /* monotonic, when the list was asked for; INT64_MIN = never */
    struct demand demand;     /* by the last look */
    struct loop_timer *timer;

    /* A round: list, then these steps one after another. */
    bool is_round;
    int64_t asked_ms;
    struct command *command;
    struct step *steps;
    int n_steps, cap_steps, at_step;
};

/* What plan_pool is given for the pool at this place. */
void pools_count(const struct pools *p, int at, struct plan_in *in);

#endif
