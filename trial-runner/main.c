/* main.c - assay-runner. It reads the options, builds the event loop and the supervisor (agent/),
 * and is also the entry of the runner's own children:   --worker   the worker of one device;
 * ASSAY_WORKER_FD names its end of the socket pair   --command  runs users' programs on one
 * device, as --worker   --probe    looks for GPUs and prints them
 * (gpu.c) SIGTERM or SIGINT drains the runner: it saves and hands back its work, then ends. A
 * second signal ends it at once, and so does the closing of --parent-fd, by which `assay fit` and
 * `assay run` take their runner with them. */
#include "trial-runner/runner.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "trial-runner/agent/address.h"
#include "trial-runner/agent/agent.h"
#include "trial-runner/agent/conf.h"
#include "trial-runner/command/command.h"
#include "trial-runner/gpu.h"
#include "trial-runner/worker/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct runner {
    struct runner_conf conf;
    struct clk clk;
    struct loop *loop;
    struct http *http;
    struct cache *cache;
    struct agent *agent;
    struct loop_watch *parent;
    struct loop_timer *watchdog;
    int n_devices;
    struct msg_device devices[MSG_MAX_DEVICES];
    char name[64], *token;
    bool was_told; /* a first signal has come */
};

static int help(void)
{
    printf(
        "usage: assay-runner [--server ADDRESS] [option]...\n\n"
        "Offers this machine's devices to an Assay controller and runs the trials it is given.\n\n"
        "  --config FILE           options as \"name: value\" lines\n");
    conf_help(stdout, runner_opts, runner_opts_n);
    printf(
        "\nexample: assay-runner --server https://assay.example:7878 --token-file ~/.assay-token\n");
    return 0;
}

/* ---- ends ---- */

static void on_signal(int signo, void *arg)
{
    struct runner *r = arg;

    log_info("runner.signal signo=%d", signo);
    notify_send("STOPPING=1\nSTATUS=handing back its work");
    if (r->was_told)
        loop_stop(r->loop);
    r->was_told = true;
    agent_drain(r->agent);
}

static void on_parent(int fd, void *arg)
{
    struct runner *r = arg;
    char part[64];
    ssize_t n = read(fd, part, sizeof part);

    if (n > 0)
        return;
    log_info("runner.parent_gone");
    loop_stop(r->loop);
}

/* ---- start ---- */

static int read_token(struct runner *r, struct err *err)
{
    struct buf text;
    int rc = 0;

    if (!r->conf.token_file) {
        r->token = r->conf.token && r->conf.token[0] ? mem_strdup(r->conf.token) : NULL;
        return 0;
    }
    rc = io_read_file(r->conf.token_file, 4096, &text, err);
    if (rc == 0) {
        r->token = mem_strdup(text.data ? text.data : "");
        r->token[strcspn(r->token, " \t\r\n")] = '\0';
        if (!r->token[0])
            rc = err_set(err, ERR_ARG, "the file is empty");
    }
    buf_fini(&text);
    return rc < 0 ? err_wrap(err, "token file %s", r->conf.token_file) : 0;
}

static int open_cache(struct runner *r, struct err *err)
{
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CACHE_HOME");
    char dir[4000];
    int n = 0;

    if (r->conf.cache_dir)
        n = snprintf(dir, sizeof dir, "%s", r->conf.cache_dir);
    else if (xdg && xdg[0] == '/')
        n = snprintf(dir, sizeof dir, "%s/assay/runner", xdg);
    else
        n = snprintf(dir, sizeof dir, "%s/.cache/assay/runner", home && home[0] ? home : "/tmp");
    if (n < 0 || (size_t)n >= sizeof dir)
        return err_at(err, "cache_dir", "the path is too long");
    r->cache = cache_open(dir, r->conf.blob_dir, r->conf.cache_limit_bytes, err);
    return r->cache ? 0 : -1;
}

static void pick_name(struct runner *r)
{
    char host[sizeof r->name] = "";

    if (gethostname(host, sizeof host - 1) < 0 || !str_name_ok(host))
        str_copy(host, sizeof host, "runner");
    str_copy(r->name, sizeof r->name, r->conf.name ? r->conf.name : host);
}

static int start_agent(struct runner *r, struct err *err)
{
    struct http_conf hc = { .controller = r->conf.controller,
                            .token = r->token,
                            .tls_pin = r->conf.tls_pin,
                            .tls_ca = r->conf.tls_ca,
                            .is_clear = r->conf.insecure,
                            .delay_ms = r->conf.dev_delay_ms,
                            .delay_seed = (uint64_t)r->conf.dev_delay_seed };
    struct agent_conf ac = {
        .loop = r->loop, .conf = &r->conf, .name = r->name, .has_token = r->token != NULL
    };

    if (!r->conf.rank_address)
        r->conf.rank_address = address_towards(r->conf.controller);
    r->n_devices = gpu_devices(r->conf.devices, r->conf.memory_bytes, r->devices, err);
    if (r->n_devices < 0)
        return -1;
    for (int i = 0; i < r->n_devices; i++)
        r->devices[i].commands = r->conf.allow_command;
    if (r->conf.command_uid && r->conf.command_uid_end - r->conf.command_uid + 1 < r->n_devices)
        return err_at(err, "command_uids", "has fewer ids than this runner has devices (%d)",
                      r->n_devices);
    /* No program with our rights may look into this process, which holds the token. */
    if (r->conf.allow_command)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    r->http = http_new(r->loop, &hc, err);
    if (!r->http)
        return -1;
    ac.http = r->http;
    ac.cache = r->cache;
    ac.devices = r->devices;
    ac.n_devices = r->n_devices;
    ac.seed = (uint64_t)getpid() + (uint64_t)clk_wall_ms(&r->clk);
    r->agent = agent_new(&ac, err);
    return r->agent ? 0 : -1;
}

/* The loop still turns. */
static void on_watchdog(void *arg)
{
    (void)arg;
    notify_send("WATCHDOG=1");
}

static void started(struct runner *r)
{
    int64_t watchdog_ms = notify_watchdog_ms();
    char lines[200];

    (void)!snprintf(lines, sizeof lines, "READY=1\nSTATUS=%d devices for %.120s", r->n_devices,
                    r->conf.controller);
    notify_send(lines);
    if (watchdog_ms > 0)
        r->watchdog = loop_timer_new(r->loop, watchdog_ms, watchdog_ms, on_watchdog, r);
    log_info("runner.start name=%s devices=%d controller=%s", r->name, r->n_devices,
             r->conf.controller);
}

static int run(struct runner *r, struct err *err)
{
    clk_init_system(&r->clk);
    log_level_set((enum log_level)log_level_parse(r->conf.log_level));
    if (r->conf.dev)
        fault_arm_env();
    pick_name(r);
    r->loop = loop_new(&r->clk, err);
    if (!r->loop || read_token(r, err) < 0 || open_cache(r, err) < 0 || start_agent(r, err) < 0)
        return -1;
    if (loop_signal(r->loop, SIGTERM, on_signal, r, err) < 0 ||
        loop_signal(r->loop, SIGINT, on_signal, r, err) < 0)
        return -1;
    if (r->conf.parent_fd >= 0)
        r->parent = loop_watch_new(r->loop, (int)r->conf.parent_fd, on_parent, r);
    started(r);
    if (loop_run(r->loop, err) < 0)
        return -1;
    return agent_refusal(r->agent, err);
}

static void stop(struct runner *r)
{
    loop_watch_free(r->parent);
    loop_timer_free(r->watchdog);
    agent_free(r->agent);
    http_free(r->http);
    cache_close(r->cache);
    loop_free(r->loop);
    mem_free(r->token);
    runner_conf_fini(&r->conf);
}

static int supervise(int argc, char **argv)
{
    struct runner *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };
    bool wants_help = false;
    int rc = 0;

    if (runner_conf_load(&r->conf, argc, argv, &wants_help, &err) < 0) {
        fprintf(stderr, "assay-runner: %s\n", err.text);
        rc = 2;
    } else if (wants_help) {
        rc = help();
    } else if (run(r, &err) < 0) {
        fprintf(stderr, "assay-runner: %s\n", err.text);
        rc = 1;
    }
    stop(r);
    mem_free(r);
    return rc;
}

int runner_main(int argc, char **argv)
{
    const char *fd = getenv("ASSAY_WORKER_FD");
    int64_t number = -1;

    umask(077); /* no other user may read models and tables */
    log_init("assay-runner", LOG_INFO);
    if (argc > 1 && str_eq(argv[1], "--probe"))
        return gpu_probe_main();
    if (argc > 1 && str_eq(argv[1], "--worker")) {
        if (!fd || str_i64(fd, 3, 1 << 20, &number, NULL) < 0) {
            fprintf(stderr, "assay-runner: only a runner starts --worker, for itself\n");
            return 2;
        }
        return worker_main((int)number);
    }
    if (argc > 1 && str_eq(argv[1], "--command")) {
        if (!fd || str_i64(fd, 3, 1 << 20, &number, NULL) < 0) {
            fprintf(stderr, "assay-runner: only a runner starts --command, for itself\n");
            return 2;
        }
        return command_main((int)number);
    }
    notify_init();
    return supervise(argc, argv);
}
