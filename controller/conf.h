/* conf.h - the options of assayd: one table drives file, environment, flags, --help and /config. */
#ifndef CONTROLLER_CONF_H
#define CONTROLLER_CONF_H

#include "base/conf.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl_conf {
    char *data_dir;
    char *socket;     /* NULL = <data_dir>/sock */
    char *listen;     /* NULL or "" = no TCP */
    char *host_names; /* further names the Host header may hold */
    char *log_level;
    bool no_tcp, insecure;
    bool no_sync;
    bool begin_empty; /* --new */
    bool dev;
    int64_t parent_fd; /* -1 = none: the process ends when this pipe closes */
    int64_t lease_ms;
    int64_t quarantine_ms; /* the first one of a device */
    int64_t max_wait_ms;
    int64_t collect_ms, checkpoint_ms; /* how often orphans are collected, the WAL is folded in */
    int64_t blob_age_ms;
    int64_t max_trials; /* of one study */
    int64_t max_connections, max_inflight;
    int64_t disk_quota, token_quota; /* bytes of files; 0 = as much as the disk has */
};

extern const struct conf_opt ctl_opts[];
extern const size_t ctl_n_opts;

#endif
