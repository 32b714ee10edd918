/* conf.h - the options of assay-runner: one table for file, environment, flags and --help. main.c
 * fills the struct once at start, and everything else only reads it. A worker process gets what it
 * needs in its `config` message (process.c). */
#ifndef TRIAL_RUNNER_AGENT_CONF_H
#define TRIAL_RUNNER_AGENT_CONF_H

#include "base/conf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct runner_conf {
    char *controller; /* unix:PATH or http(s)://host:port */
    char *token, *token_file;
    char *tls_pin, *tls_ca; /* how the controller is known (proto/peer.h); NULL = not given */
    bool insecure;
    char *name;
    char *labels;
    char *rank_address; /* of this machine, for other runners; NULL = found by agent/address.h */
    char *cache_dir;
    int64_t cache_limit_bytes;
    char *blob_dir;       /* of a controller on this machine, to use its files without a copy */
    char *devices;        /* auto | cpu | cpu:N | cuda */
    int64_t memory_bytes; /* of all devices together; 0 = three quarters of the machine */
    int64_t parent_fd;    /* -1 = none */
    int64_t lease_wait_ms;
    int64_t slice_ms, slice_grace_ms, checkpoint_ms;
    int64_t drain_ms, backoff_max_ms;
    int64_t idle_exit_ms, away_exit_ms; /* 0 = it never ends by itself */
    bool allow_command;
    char *command_uids;                   /* "FIRST-LAST" or NULL */
    int64_t command_uid, command_uid_end; /* the same as numbers; 0 = programs run as we do */
    char *command_dir;
    char *log_level;
    bool dev;
    int64_t dev_delay_ms, dev_delay_seed;
};

extern const struct conf_opt runner_opts[];
extern const size_t runner_opts_n;

/* Reads defaults, --config FILE, environment and flags, and checks what the table cannot express.
 * The caller calls runner_conf_fini also after an error. *help: --help was given. */
int runner_conf_load(struct runner_conf *c, int argc, char **argv, bool *help, struct err *err);
void runner_conf_fini(struct runner_conf *c);

#endif
