/* conf.h - the options of assayd. The table in conf.c says of each its name, type, default and
 * range, and a sentence of help; the configuration file, the environment, the flags, --help and GET
 * /config all follow from that table. What each option means is said there. main.c fills the
 * struct, and SIGHUP may change a few options of a running controller. */
#ifndef CONTROLLER_CONF_H
#define CONTROLLER_CONF_H

#include "base/conf.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl_conf {
    char *data_dir;
    char *socket;     /* NULL = <data_dir>/sock */
    char *listen;     /* NULL or "" = no TCP listener */
    char *host_names; /* further names that the Host header of a request may hold */
    char *log_level;
    bool no_tcp, insecure;
    bool tls;                 /* TCP is encrypted; also true where tls_cert is given */
    char *tls_cert, *tls_key; /* NULL = tls-cert.pem, tls-key.pem of the data folder */
    bool no_sync;
    bool begin_empty; /* --new */
    bool dev;
    int64_t parent_fd; /* the process ends when this pipe closes; -1 = there is none */
    int64_t lease_ms;
    int64_t quarantine_ms; /* how long the first quarantine of a device lasts */
    int64_t max_wait_ms;
    int64_t collect_ms;    /* how often files that nothing names are deleted */
    int64_t checkpoint_ms; /* how often the write-ahead log is moved into the database */
    int64_t blob_age_ms;
    int64_t max_trials; /* of one study */
    int64_t max_connections, max_inflight;
    int64_t disk_quota, token_quota; /* bytes of files; 0 = there is no quota */
    int64_t predict_memory;          /* bytes of the process that predicts */
    char *pools; /* file of pools, whose runners a cluster's scheduler starts; NULL = none */
};

extern const struct conf_opt ctl_opts[];
extern const size_t ctl_n_opts;

#endif
