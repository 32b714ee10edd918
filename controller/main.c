/* main.c - the program assayd: reads its options, creates the loop, the controller and the web
 * server, and ends in order.
 *
 * It ends at SIGTERM, at SIGINT, or when the pipe of its parent closes (--parent-fd). Then no new
 * connections are accepted, waiting lease calls are answered, what was done is committed, and after
 * a short time for the last answers everything is closed. SIGUSR1 raises the log level by one;
 * after debug it begins again at warn. SIGHUP reads the configuration again and takes over the
 * options that may change while the process runs. With -n the configuration is only checked. */
#include "base/clk.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "controller/pool/conf.h"
#include "controller/pool/pool.h"
#include "controller/predictor/predictor.h"
#include "controller/serve/auth.h"
#include "controller/serve/housekeep.h"
#include "controller/serve/turn.h"
#include "controller/settle/load_start.h"
#include "controller/state/ctl.h"
#include "store/backup.h"
#include "web/server.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int controller_main(int argc, char **argv);
int controller_restore(int argc, char **argv);

enum {
    LOG_MS = 250,       /* how often is asked whether the log has grown */
    LINGER_MS = 200,    /* between the end and the closing of connections, for the last answers */
    PARTING_MS = 20,    /* the same when the parent has ended, which has all its answers */
    POOL_THREADS = 3,   /* two may do long work, such as importance, while one makes suggestions */
    SOCKET_BYTES = 100, /* longest path of a Unix socket; the system allows 107 bytes */
    EXIT_OK_ = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3
};

struct daemon {
    struct ctl_conf conf;
    const char *conf_path; /* NULL = none */
    int argc;
    char **argv; /* flags only */
    bool check_only;
    struct clk clk;
    struct loop *loop;
    struct ctl *ctl;
    struct web *web;
    struct pools *pools; /* NULL = none are configured */
    struct loop_watch *parent;
    struct loop_timer *collect, *checkpoint, *log, *linger, *watchdog;
};

/* ---- options ---- */

static void usage(FILE *out)
{
    fprintf(out, "usage: assayd [options]\n\n"
                 "The controller: studies, runners, the REST API and the page.\n\n"
                 "  --config FILE           options as lines `name: value`\n"
                 "  -n                      check the configuration and end\n"
                 "  --help                  this text\n");
    conf_help(out, ctl_opts, ctl_n_opts);
    fprintf(out, "\nExample: assayd --data-dir /var/lib/assay --listen 127.0.0.1:7878\n");
}

/* Takes -n, --help and --config out of the arguments; the others are options of the table: 1 = help
 * was asked for, 0, -1. */
static int args_split(struct daemon *d, int argc, char **argv, struct err *err)
{
    d->argv = mem_array((size_t)argc + 1, sizeof *d->argv);
    d->argv[d->argc++] = argv[0];
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h"))
            return 1;
        if (str_eq(argv[i], "-n"))
            d->check_only = true;
        else if (str_eq(argv[i], "--config") && i + 1 < argc)
            d->conf_path = argv[++i];
        else if (str_starts(argv[i], "--config="))
            d->conf_path = argv[i] + strlen("--config=");
        else if (str_eq(argv[i], "--config"))
            return err_at(err, "config", "--config needs a value");
        else if (argv[i][0] != '-' && d->argc == 1)
            continue; /* `assay serve`: the command's own name */
        else
            d->argv[d->argc++] = argv[i];
    }
    return 0;
}

/* Reads the options in this order, a later one over an earlier one: defaults, file, environment,
 * flags. */
static int conf_read(const struct daemon *d, struct ctl_conf *conf, struct err *err)
{
    int at = 1;

    *conf = (struct ctl_conf){ 0 };
    if (conf_defaults(conf, ctl_opts, ctl_n_opts, err) < 0 ||
        (d->conf_path && conf_file(conf, ctl_opts, ctl_n_opts, d->conf_path, err) < 0) ||
        conf_env(conf, ctl_opts, ctl_n_opts, err) < 0 ||
        conf_args(conf, ctl_opts, ctl_n_opts, d->argc, d->argv, &at, err) < 0)
        return -1;
    if (at < d->argc)
        return err_set(err, ERR_ARG, "\"%.60s\" is no option; see assayd --help", d->argv[at]);
    if (log_level_parse(conf->log_level) < 0)
        return err_at(err, "log_level", "\"%.20s\" is not error, warn, info or debug",
                      conf->log_level);
    if (conf->no_tcp || (conf->listen && !conf->listen[0])) {
        mem_free(conf->listen);
        conf->listen = NULL;
    }
    if (!conf->tls_cert != !conf->tls_key)
        return err_at(err, conf->tls_cert ? "tls_key" : "tls_cert",
                      "is missing: a certificate and its private key belong together");
    conf->tls = conf->tls || conf->tls_cert;
    return http_conf_check(
        &(struct http_conf){ .listen = conf->listen, .insecure = conf->insecure || conf->tls },
        err);
}

static char *path_new(const char *folder, const char *file)
{
    size_t n = strlen(folder) + strlen(file) + 2;
    char *path = mem_alloc(n);

    (void)snprintf(path, n, "%s/%s", folder, file);
    return path;
}

/* Where TLS is asked for and no certificate is given, there is one of our own in the data folder.
 * It is made at the first start, and whenever its file is missing, then for the same key. */
static int conf_tls(struct ctl_conf *conf, struct err *err)
{
    if (!conf->tls || !conf->listen || conf->tls_cert)
        return 0;
    conf->tls_cert = path_new(conf->data_dir, "tls-cert.pem");
    conf->tls_key = path_new(conf->data_dir, "tls-key.pem");
    if (access(conf->tls_cert, F_OK) == 0)
        return 0;
    log_info("tls.making cert=%s", conf->tls_cert);
    return http_cert_make(conf->tls_cert, conf->tls_key, conf->host_names, err);
}

/* Paths of options are absolute, and the path of a Unix socket has a short limit. If it is too long
 * and lies below the current folder, it is made relative to that. */
static void socket_shorten(struct ctl_conf *conf)
{
    char cwd[PATH_MAX];
    size_t n = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;

    if (strlen(conf->socket) > SOCKET_BYTES && n > 0 && strncmp(conf->socket, cwd, n) == 0 &&
        conf->socket[n] == '/')
        memmove(conf->socket, conf->socket + n + 1, strlen(conf->socket + n + 1) + 1);
}

static int conf_socket(struct ctl_conf *conf, struct err *err)
{
    if (!conf->socket)
        conf->socket = path_new(conf->data_dir, "sock");
    socket_shorten(conf);
    if (strlen(conf->socket) > SOCKET_BYTES)
        return err_at(err, "socket", "%.60s... is too long for a Unix socket: give --socket",
                      conf->socket);
    return 0;
}

/* A wrong file of pools is told before anything starts, as any other wrong option is. */
static int conf_pools(const struct ctl_conf *conf, struct err *err)
{
    struct pools_conf pools;
    int rc = 0;

    if (!conf->pools || !conf->pools[0])
        return 0;
    rc = pools_conf_load(&pools, conf->pools, err);
    pools_conf_fini(&pools);
    return rc;
}

/* ---- signals, end ---- */

static void on_linger_end(void *arg)
{
    struct daemon *d = arg;

    loop_stop(d->loop);
}

/* Begins the end; the loop runs on for LINGER_MS, so that the last answers are sent. */
static void stop(struct daemon *d, const char *why)
{
    if (d->linger)
        return;
    log_info("assayd.stopping why=\"%s\"", why);
    notify_send("STOPPING=1\nSTATUS=stopping");
    web_close_doors(d->web);
    ctl_stop(d->ctl);
    ctl_turn_end(d->ctl);
    for (int i = 0; i < 2; i++) { /* the first deletes rows, the second deletes their files */
        housekeep_collect(d->ctl);
        ctl_turn_end(d->ctl);
    }
    d->linger = loop_timer_new(d->loop, LINGER_MS, 0, on_linger_end, d); /* answers get out */
}

static void on_stop_signal(int signo, void *arg)
{
    stop(arg, signo == SIGINT ? "SIGINT" : "SIGTERM");
}

static void on_parent(int fd, void *arg)
{
    struct daemon *d = arg;
    char byte;

    if (read(fd, &byte, 1) > 0)
        return;
    loop_watch_free(d->parent);
    d->parent = NULL;
    stop(d, "the parent ended");
    /* The parent was the only client, and it is gone: nobody waits for answers. */
    loop_timer_free(d->linger);
    d->linger = loop_timer_new(d->loop, PARTING_MS, 0, on_linger_end, d);
}

/* info becomes debug, and debug becomes warn. */
static void on_usr1(int signo, void *arg)
{
    int level = log_level_get() + 1;

    (void)signo, (void)arg;
    log_level_set(level > LOG_DEBUG ? LOG_WARN : (enum log_level)level);
    log_warn("log.level level=%d", (int)log_level_get());
}

/* Only these options may change while the process runs. If the new configuration is wrong, the
 * present one stays. */
static void on_hup(int signo, void *arg)
{
    struct daemon *d = arg;
    struct ctl_conf now;
    struct err err = { 0 };

    (void)signo;
    notify_send("RELOADING=1");
    if (conf_read(d, &now, &err) < 0) {
        log_error("conf.reload where=%s err=\"%s\"", err.where, err.text);
    } else {
        log_level_set((enum log_level)log_level_parse(now.log_level));
        d->ctl->conf.lease_ms = now.lease_ms;
        d->ctl->here_due = INT64_MIN; /* which runners are here follows from it */
        d->ctl->conf.max_wait_ms = now.max_wait_ms;
        d->ctl->conf.blob_age_ms = now.blob_age_ms;
        d->ctl->conf.max_trials = now.max_trials;
        if (d->pools && pools_reload(d->pools, &err) < 0)
            log_error("pools.reload err=\"%s\"", err.text);
        log_info("conf.reloaded note=\"other options change at the next start\"");
    }
    notify_send("READY=1");
    conf_fini(&now, ctl_opts, ctl_n_opts);
}

static int signals(struct daemon *d, struct err *err)
{
    if (loop_signal(d->loop, SIGTERM, on_stop_signal, d, err) < 0 ||
        loop_signal(d->loop, SIGINT, on_stop_signal, d, err) < 0 ||
        loop_signal(d->loop, SIGUSR1, on_usr1, d, err) < 0 ||
        loop_signal(d->loop, SIGHUP, on_hup, d, err) < 0)
        return -1;
    if (d->conf.parent_fd >= 0)
        d->parent = loop_watch_new(d->loop, (int)d->conf.parent_fd, on_parent, d);
    return 0;
}

static void on_collect(void *arg)
{
    housekeep_collect(((struct daemon *)arg)->ctl);
    auth_collect(((struct daemon *)arg)->ctl);
}

static void on_checkpoint(void *arg)
{
    housekeep_checkpoint(((struct daemon *)arg)->ctl);
}

static void on_log(void *arg)
{
    housekeep_log(((struct daemon *)arg)->ctl);
}

/* The loop still turns. */
static void on_watchdog(void *arg)
{
    (void)arg;
    notify_send("WATCHDOG=1");
}

/* ---- start ---- */

static void started(struct daemon *d)
{
    const char *address = http_server_address(web_http(d->web));
    int64_t watchdog_ms = notify_watchdog_ms();
    char lines[200];

    (void)snprintf(lines, sizeof lines, "READY=1\nSTATUS=answering at %s",
                   address[0] ? address : "the Unix socket only");
    notify_send(lines);
    if (watchdog_ms > 0)
        d->watchdog = loop_timer_new(d->loop, watchdog_ms, watchdog_ms, on_watchdog, d);
    log_info("assayd.started data_dir=%s socket=%s address=%s", d->conf.data_dir, d->conf.socket,
             address);
}

/* With a TCP listener: makes the administrator's token at the first start, and prints a link to the
 * page at every start. */
static int open_door(struct daemon *d, struct err *err)
{
    const char *address = http_server_address(web_http(d->web)),
               *beyond = http_server_beyond(web_http(d->web));
    char code[33];

    if (!address[0])
        return 0;
    if (ctl_request_begin(d->ctl, err) < 0)
        return -1;
    int rc = auth_first_token(d->ctl, err);
    if (ctl_request_end(d->ctl, rc == 0, rc == 0 ? err : NULL) < 0)
        rc = -1;
    if (rc < 0 || ctl_turn_finish(d->ctl, err) < 0 ||
        ctl_link_new(d->ctl, NULL, NULL, code, err) < 0)
        return -1;
    printf("assayd: %s  page: %s/open?code=%s  token: %s/admin-token\n", address, address, code,
           d->conf.data_dir);
    if (http_server_pin(web_http(d->web))[0])
        printf("assayd: key of the certificate: %s  (for --tls-pin of commands and runners, or "
               "--tls-ca %s)\n",
               http_server_pin(web_http(d->web)), d->conf.tls_cert);
    if (beyond[0])
        printf("assayd: listening on %s without TLS: tokens and data cross the network readable by "
               "others\n",
               beyond);
    fflush(stdout);
    return 0;
}

/* Opens everything, in the order in which the parts need each other; finish closes it in the
 * reverse order. */
static int start(struct daemon *d, struct err *err)
{
    struct web_conf web = { .http = { .socket_path = d->conf.socket,
                                      .listen = d->conf.listen,
                                      .insecure = d->conf.insecure,
                                      .max_connections = d->conf.max_connections,
                                      .max_inflight_bytes = d->conf.max_inflight },
                            .host_names = d->conf.host_names,
                            .dev = d->conf.dev };

    if (d->conf.no_sync)
        io = &io_unsynced;
    d->loop = loop_new(&d->clk, err);
    if (!d->loop || io_private_dir(d->conf.data_dir, err) < 0 || conf_tls(&d->conf, err) < 0)
        return -1;
    web.http.tls_cert = d->conf.tls_cert;
    web.http.tls_key = d->conf.tls_key;
    d->ctl = ctl_new(&d->conf, &d->clk, d->loop, err);
    if (!d->ctl)
        return -1;
    loop_pool_start(d->loop, POOL_THREADS);
    load_start_begin(d->ctl);
    d->web = web_new(d->ctl, d->loop, &web, err);
    if (!d->web || signals(d, err) < 0 || open_door(d, err) < 0)
        return -1;
    if (d->conf.pools && d->conf.pools[0]) {
        d->pools = pools_new(d->ctl, d->conf.pools, err);
        if (!d->pools)
            return -1;
    }
    housekeep_check_database(d->ctl);
    d->collect = loop_timer_new(d->loop, d->conf.collect_ms, d->conf.collect_ms, on_collect, d);
    d->checkpoint =
        loop_timer_new(d->loop, d->conf.checkpoint_ms, d->conf.checkpoint_ms, on_checkpoint, d);
    d->log = loop_timer_new(d->loop, LOG_MS, LOG_MS, on_log, d);
    started(d);
    return 0;
}

static void finish(struct daemon *d)
{
    loop_watch_free(d->parent);
    loop_timer_free(d->collect);
    loop_timer_free(d->checkpoint);
    loop_timer_free(d->log);
    loop_timer_free(d->linger);
    loop_timer_free(d->watchdog);
    web_free(d->web);
    pools_free(d->pools);
    if (d->ctl)
        (void)ctl_turn_finish(d->ctl, NULL);
    ctl_free(d->ctl);
    loop_free(d->loop);
}

static int run(struct daemon *d)
{
    struct err err = { 0 };
    int rc = start(d, &err);

    if (rc == 0)
        rc = loop_run(d->loop, &err);
    if (rc < 0) {
        log_error("assayd.failed err=\"%s\"", err.text);
        fprintf(stderr, "assayd: %s\n", err.text);
    } else {
        log_info("assayd.stopped");
    }
    finish(d);
    return rc < 0 ? EXIT_FAILED : EXIT_OK_;
}

/* The controller's own child: --predictor FD SCRATCH BYTES (serve/predict.c). */
static int predictor(int argc, char **argv)
{
    struct predictor_conf c = { 0 };
    int64_t fd = 0;

    umask(077);
    log_init("assayd-predictor", LOG_INFO);
    if (argc != 5 || str_i64(argv[2], 3, 1 << 20, &fd, NULL) < 0 ||
        str_i64(argv[4], 1, INT64_MAX, &c.memory_bytes, NULL) < 0) {
        fprintf(stderr, "assayd: only assayd starts --predictor, for itself\n");
        return EXIT_USAGE;
    }
    c.fd = (int)fd;
    c.scratch = argv[3];
    return predictor_main(&c);
}

/* `assay restore BACKUP DIR`. */
int controller_restore(int argc, char **argv)
{
    struct store_backup made;
    struct err err = { 0 };
    char size[32];

    if (argc != 3 || argv[1][0] == '-' || argv[2][0] == '-') {
        fprintf(stderr, "usage: assay restore BACKUP DIR ('assay backup' makes a backup)\n");
        return EXIT_USAGE;
    }
    umask(077);
    if (store_restore(argv[1], argv[2], &made, &err) < 0) {
        fprintf(stderr, "assay: %s\n", err.text);
        return err.code == ERR_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    str_fmt_bytes(made.bytes + made.db_bytes, size, sizeof size);
    printf("restored the database and %lld files (%s); start it with: assay serve --data-dir %s\n",
           (long long)made.blobs, size, argv[2]);
    return EXIT_OK_;
}

int controller_main(int argc, char **argv)
{
    struct daemon d = { 0 };
    struct err err = { 0 };

    if (argc > 1 && str_eq(argv[1], "--predictor"))
        return predictor(argc, argv);
    int rc = args_split(&d, argc, argv, &err);

    umask(077); /* only this user may read the files, whatever the mode of the data folder is */
    notify_init();
    log_init("assayd", LOG_INFO);
    clk_init_system(&d.clk);
    if (rc == 1) {
        usage(stdout);
        rc = EXIT_OK_;
        goto out;
    }
    if (rc < 0 || conf_read(&d, &d.conf, &err) < 0 || conf_socket(&d.conf, &err) < 0 ||
        conf_pools(&d.conf, &err) < 0) {
        fprintf(stderr, "assayd: %s\n", err.text);
        rc = EXIT_USAGE;
        goto out;
    }
    log_level_set((enum log_level)log_level_parse(d.conf.log_level));
    if (d.conf.dev)
        fault_arm_env();
    if (d.check_only)
        printf("the configuration is valid\n");
    rc = d.check_only ? EXIT_OK_ : run(&d);
out:
    conf_fini(&d.conf, ctl_opts, ctl_n_opts);
    mem_free(d.argv);
    return rc;
}
