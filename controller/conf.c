/* conf.c - the table of assayd's options (conf.h). A new option is one field in conf.h and one row
 * here; everything else (the file, the environment, the flags, --help, GET /config) follows from
 * the row. Help texts are shown behind the option's name, so they begin in lower case and have no
 * full stop. */
#include "controller/conf.h"

#define AT(field) offsetof(struct ctl_conf, field)

/* clang-format off */
const struct conf_opt ctl_opts[] = {
    /* name          type              field             default           min   max        help */
    { "data_dir",    CONF_PATH,        AT(data_dir),     "assay-data",     0,    0,         "folder of the database and its files; created with mode 0700" },
    { "socket",      CONF_PATH,        AT(socket),       NULL,             0,    0,         "Unix socket for local programs (default: sock in the data folder)" },
    { "listen",      CONF_STR,         AT(listen),       "127.0.0.1:7878", 0,    0,         "TCP address; port 0 = any free; empty = none" },
    { "tls",         CONF_BOOL,        AT(tls),          "false",          0,    0,         "encrypt TCP; without tls_cert, with a certificate that is made in the data folder at the first start" },
    { "tls_cert",    CONF_PATH,        AT(tls_cert),     NULL,             0,    0,         "certificate chain (PEM) for TCP; a renewed file is taken over without a restart" },
    { "tls_key",     CONF_PATH,        AT(tls_key),      NULL,             0,    0,         "private key (PEM) of that certificate" },
    { "insecure",    CONF_BOOL,        AT(insecure),     "false",          0,    0,         "allow listen addresses that other machines can reach, although nothing is encrypted" },
    { "no_tcp",      CONF_BOOL,        AT(no_tcp),       "false",          0,    0,         "no TCP listener" },
    { "host_names",  CONF_STR,         AT(host_names),   NULL,             0,    0,         "further names that the Host header may hold, separated by commas" },
    { "parent_fd",   CONF_I64,         AT(parent_fd),    "-1",             -1,   1 << 20,   "end when this inherited pipe closes (used by programs that start assayd)" },
    { "lease_ms",    CONF_I64,         AT(lease_ms),     "30000",          200,  600000,    "how long a runner may be silent before its trials are queued again" },
    { "quarantine_ms", CONF_DURATION_MS, AT(quarantine_ms), "60s",         100,  3600000,   "how long a device that failed 3 different trials in a row gets no work; doubled each time that it fails again, up to 60 times as long" },
    { "max_wait_ms", CONF_I64,         AT(max_wait_ms),  "60000",          0,    600000,    "longest long poll of a lease call" },
    { "collect_ms",  CONF_DURATION_MS, AT(collect_ms),   "10s",            100,  86400000,  "how often files that nothing names any more are deleted" },
    { "checkpoint_ms", CONF_DURATION_MS, AT(checkpoint_ms), "60s",         1000, 86400000,  "how often the write-ahead log is folded into the database" },
    { "blob_age_ms", CONF_DURATION_MS, AT(blob_age_ms),  "1h",             0,    864000000, "how long an uploaded file is kept before something names it" },
    { "max_trials",  CONF_I64,         AT(max_trials),   "1000000",        1,    10000000,  "most trials of one study" },
    { "max_connections", CONF_I64,     AT(max_connections), "32768",       8,    1 << 20,   "connections with a token at each door (Unix socket, TCP), as far as the limit of open files allows; a request over it is answered 503" },
    { "max_inflight", CONF_BYTES,      AT(max_inflight), "64MiB",          1 << 20, INT64_C(1) << 40, "bytes of unfinished request bodies at each door; over it the largest is answered 503" },
    { "disk_quota", CONF_BYTES,        AT(disk_quota),   "0",              0,    INT64_C(1) << 60, "bytes that all files may take; 0 = the disk, less a twentieth (at most 1 GiB) for the database" },
    { "token_quota", CONF_BYTES,       AT(token_quota),  "64GiB",          0,    INT64_C(1) << 60, "bytes that the tables of one token may take; 0 = no limit" },
    { "predict_memory", CONF_BYTES,    AT(predict_memory), "1GiB",         1 << 26, INT64_C(1) << 44, "memory of the process that predicts over REST; half of it holds models" },
    { "pools",         CONF_PATH,      AT(pools),        NULL,             0,    0,         "file of pools, whose runners Slurm starts when trials wait" },
    { "new",           CONF_BOOL,      AT(begin_empty),  "false",          0,    0,         "start with an empty database in a data folder whose own is missing" },
    { "no_sync",     CONF_BOOL,        AT(no_sync),      "false",          0,    0,         "never wait for the disk; only for a folder that may be lost with the machine's power" },
    { "log_level",   CONF_STR,         AT(log_level),    "info",           0,    0,         "error, warn, info or debug; SIGUSR1 raises it by one" },
    { "dev",         CONF_BOOL,        AT(dev),          "false",          0,    0,         "debug commands, test searchers and fault points" },
};
/* clang-format on */
const size_t ctl_n_opts = ARRAY_LEN(ctl_opts);
