/* conf.h - the file that describes pools (assayd's option `pools`): YAML, strict, one list. Each
 * pool says how a job that is a runner is submitted, how many there may be, and how the runner
 * reaches this controller. docs/INSTALL.md has the keys for operators. Read at the start of assayd
 * and at SIGHUP, by pool.c. */
#ifndef CONTROLLER_POOL_CONF_H
#define CONTROLLER_POOL_CONF_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { POOLS_MAX = 64, POOL_JOBS_MAX = 1000, POOL_NAME_MAX = 32 };

struct pool_conf {
    const char *name;
    /* What a job asks Slurm for; NULL or 0 = not said, so that Slurm's own default holds. */
    const char *partition, *gpu_type, *log;
    int gpus, cpus;
    int64_t memory_bytes;
    int64_t time_ms;       /* limit of a job */
    int64_t drain_ms;      /* before that limit the runner is told to hand back its work */
    const json_t *options; /* further options of sbatch, texts; NULL = none */

    int min, max;    /* jobs at any time */
    int64_t idle_ms; /* a runner without work ends after so long */
    int64_t away_ms; /* and without a controller after so long */

    /* How the runner is started. */
    const char *program, *controller, *token_file, *tls_pin, *tls_ca, *labels;
    bool commands;        /* it runs programs of users, too */
    const json_t *runner; /* further options of assay-runner, texts; NULL = none */
};

struct pools_conf {
    struct pool_conf pools[POOLS_MAX];
    int n;
    int64_t poll_ms; /* how often Slurm is asked for its jobs when nothing else calls for it */
    json_t *doc;     /* owns all texts */
};

/* Reads the file into *out. The caller calls pools_conf_fini, also after an error. */
int pools_conf_load(struct pools_conf *out, const char *path, struct err *err);
/* The same from text; `what` names it in errors. */
int pools_conf_parse(struct pools_conf *out, const char *text, size_t n, const char *what,
                     struct err *err);
void pools_conf_fini(struct pools_conf *c);
int pool_devices(const struct pool_conf *c); /* of one job's runner */

#endif
