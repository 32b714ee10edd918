/* conf.c - the option table of assay-runner. One row serves parsing, range, --help and the docs. A
 * value is taken from the first of flag, environment, file, default (base/conf.h). */
#include "trial-runner/agent/conf.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct runner_conf, field)
const struct conf_opt runner_opts[] = {
    { "controller", CONF_STR, AT(controller), "unix:assay-data/sock", 0, 0,
      "where the controller listens: unix:PATH or http(s)://HOST:PORT; also ASSAY_URL" },
    { "server", CONF_STR, AT(controller), NULL, 0, 0,
      "the same as --controller, by the name that other commands use" },
    { "token", CONF_STR, AT(token), NULL, 0, 0,
      "token for a TCP controller; better set ASSAY_TOKEN, which other users cannot see" },
    { "token_file", CONF_PATH, AT(token_file), NULL, 0, 0,
      "file that holds the token for a TCP controller" },
    { "tls_pin", CONF_STR, AT(tls_pin), NULL, 0, 0,
      "hash of the controller's key, which the controller prints at its start" },
    { "tls_ca", CONF_PATH, AT(tls_ca), NULL, 0, 0,
      "file of the authority that vouches for the controller, PEM (default: this machine's)" },
    { "insecure", CONF_BOOL, AT(insecure), "false", 0, 0,
      "send the token in clear text to a controller on another machine" },
    { "name", CONF_STR, AT(name), NULL, 0, 0,
      "name shown on the runners page (default: the host's)" },
    { "labels", CONF_STR, AT(labels), "", 0, 0, "key=value,... shown beside the runner's name" },
    { "cache_dir", CONF_PATH, AT(cache_dir), NULL, 0, 0,
      "folder for downloaded tables and scratch files (default: ~/.cache/assay/runner)" },
    { "cache_limit", CONF_BYTES, AT(cache_limit_bytes), "20GiB", 1 << 20, INT64_MAX,
      "size of the downloaded tables; above it the least recently used ones are removed" },
    { "blob_dir", CONF_PATH, AT(blob_dir), NULL, 0, 0,
      "blobs folder of a controller on this machine: its tables are used without downloading" },
    { "rank_address", CONF_STR, AT(rank_address), NULL, 0, 0,
      "host name or address at which other runners reach this machine, for trials with `devices` "
      "above 1 (default: the address that this machine has towards the controller)" },
    { "devices", CONF_STR, AT(devices), "auto", 0, 0,
      "auto (CPUs and GPUs) | cpu | cpu:N (N worker processes) | cuda" },
    { "memory", CONF_BYTES, AT(memory_bytes), "0", 0, INT64_MAX,
      "host memory for all workers together; 0 = three quarters of the machine's" },
    { "parent_fd", CONF_I64, AT(parent_fd), "-1", -1, 1 << 20,
      "descriptor whose closing ends the runner at once (set by assay fit and assay run)" },
    { "lease_wait", CONF_DURATION_MS, AT(lease_wait_ms), "30s", 0, 60000,
      "how long one request for work may wait at the controller" },
    { "slice", CONF_DURATION_MS, AT(slice_ms), "500ms", 1, 500,
      "longest time that a worker computes before it looks at limits and messages" },
    { "slice_grace", CONF_DURATION_MS, AT(slice_grace_ms), "10s", 10, 3600000,
      "how long a worker may be silent beyond the time it announced before it is killed" },
    { "checkpoint", CONF_DURATION_MS, AT(checkpoint_ms), "30s", 10, 3600000,
      "work between two checkpoints of a trial, which is the most that a crash costs it" },
    { "drain", CONF_DURATION_MS, AT(drain_ms), "20s", 0, 3600000,
      "time after SIGTERM to save the work and hand it back" },
    { "backoff_max", CONF_DURATION_MS, AT(backoff_max_ms), "5s", 10, 600000,
      "longest pause between two tries to reach the controller" },
    { "idle_exit", CONF_DURATION_MS, AT(idle_exit_ms), "0", 0, 86400000,
      "end after so long without work, as jobs of a cluster should; 0 = wait for ever" },
    { "away_exit", CONF_DURATION_MS, AT(away_exit_ms), "0", 0, 864000000,
      "end when the controller has not answered for so long; 0 = try for ever" },
    { "allow_command", CONF_BOOL, AT(allow_command), "false", 0, 0,
      "run programs of users too: whoever may submit a study then runs code on this machine" },
    { "command_uids", CONF_STR, AT(command_uids), NULL, 0, 0,
      "FIRST-LAST: user ids that nobody else has, one for each device, as which a runner of root "
      "runs users' programs; self: as the runner's own user, even root" },
    { "command_dir", CONF_PATH, AT(command_dir), "/var/lib/assay-command", 0, 0,
      "with --command-uids: folder for the private folders of trials" },
    { "log_level", CONF_STR, AT(log_level), "info", 0, 0, "error | warn | info | debug" },
    { "dev", CONF_BOOL, AT(dev), "false", 0, 0, "allow fault points (ASSAY_FAULT)" },
    { "dev_delay_ms", CONF_I64, AT(dev_delay_ms), "0", 0, 60000,
      "tests: delay each message by a random time up to this" },
    { "dev_delay_seed", CONF_I64, AT(dev_delay_seed), "1", 0, INT64_MAX,
      "tests: seed of those delays" },
};
const size_t runner_opts_n = ARRAY_LEN(runner_opts);

/* Users' programs run as somebody else if they can: with the runner's own rights they could read its
 * token, and root's rights are never given away. */
static int command_check(struct runner_conf *c, struct err *err)
{
    const char *dash = c->command_uids ? strchr(c->command_uids, '-') : NULL;
    char first[24] = "";

    if (!c->allow_command)
        return c->command_uids ? err_at(err, "command_uids", "belongs to --allow-command") : 0;
    if (!c->command_uids && geteuid() == 0)
        return err_at(
            err, "allow_command",
            "this runner is root, and users' programs must not be: add --command-uids "
            "FIRST-LAST (ids that nobody else has, such as 210000-210063), or start it as "
            "another user");
    if (!c->command_uids || str_eq(c->command_uids, "self"))
        return 0;
    if (geteuid() != 0)
        return err_at(err, "command_uids",
                      "only root can run programs as other users; without it they run as the user "
                      "of this runner");
    if (dash && (size_t)(dash - c->command_uids) < sizeof first)
        (void)snprintf(first, sizeof first, "%.*s", (int)(dash - c->command_uids), c->command_uids);
    if (str_i64(first, 1000, INT32_MAX - 1, &c->command_uid, NULL) < 0 ||
        str_i64(dash + 1, c->command_uid, INT32_MAX - 1, &c->command_uid_end, NULL) < 0)
        return err_at(err, "command_uids",
                      "'%.40s' is neither self nor FIRST-LAST, two numbers from 1000 on",
                      c->command_uids);
    return 0;
}

static int check(struct runner_conf *c, struct err *err)
{
    if (command_check(c, err) < 0)
        return -1;
    if (log_level_parse(c->log_level) < 0)
        return err_at(err, "log_level", "'%.40s' is not error, warn, info or debug", c->log_level);
    if (str_starts(c->controller, "unix:")
            ? c->controller[5] == '\0'
            : !str_starts(c->controller, "http://") && !str_starts(c->controller, "https://"))
        return err_at(err, "controller", "'%.100s' is neither unix:PATH nor an http address",
                      c->controller);
    if (c->name && (!str_name_ok(c->name) || strlen(c->name) > 63))
        return err_at(err, "name", "'%.80s': 1 to 63 letters, digits, '.', '_' or '-'", c->name);
    if (strlen(c->labels) > 255 || !utf8_ok(c->labels, strlen(c->labels)))
        return err_at(err, "labels", "at most 255 bytes of UTF-8");
    if (c->dev_delay_ms > 0 && !c->dev)
        return err_at(err, "dev_delay_ms", "only with --dev");
    return 0;
}

/* Looks for --config and --help first, because the file must be read before environment and flags
 * overwrite its values. */
static int scan(int argc, char **argv, const char **file, bool *help, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h"))
            *help = true;
        else if (str_starts(argv[i], "--config="))
            *file = argv[i] + strlen("--config=");
        else if (str_eq(argv[i], "--config") && i + 1 == argc)
            return err_set(err, ERR_ARG, "--config needs a file");
        else if (str_eq(argv[i], "--config"))
            *file = argv[++i];
    }
    return 0;
}

static int load_args(struct runner_conf *c, int argc, char **argv, struct err *err)
{
    char **left = mem_array((size_t)argc + 1, sizeof *left);
    int n = 0, at = 1, rc = 0;

    for (int i = 0; i < argc; i++) {
        if (i > 0 && str_eq(argv[i], "--config"))
            i++;
        else if (i == 0 || !str_starts(argv[i], "--config="))
            left[n++] = argv[i];
    }
    rc = conf_args(c, runner_opts, runner_opts_n, n, left, &at, err);
    if (rc == 0 && at < n)
        rc = err_set(err, ERR_ARG, "unexpected argument '%.80s'", left[at]);
    mem_free(left);
    return rc;
}

/* ASSAY_URL is the variable of the command line. The runner's own ASSAY_CONTROLLER overrides it. */
static int url_env(struct runner_conf *c, struct err *err)
{
    const char *url = getenv("ASSAY_URL");

    return url && url[0] ? conf_set(c, &runner_opts[0], url, "ASSAY_URL", err) : 0;
}

int runner_conf_load(struct runner_conf *c, int argc, char **argv, bool *help, struct err *err)
{
    const char *file = NULL;

    *c = (struct runner_conf){ 0 };
    *help = false;
    if (scan(argc, argv, &file, help, err) < 0 ||
        conf_defaults(c, runner_opts, runner_opts_n, err) < 0)
        return -1;
    if (*help)
        return 0;
    if (file && conf_file(c, runner_opts, runner_opts_n, file, err) < 0)
        return -1;
    if (url_env(c, err) < 0 || conf_env(c, runner_opts, runner_opts_n, err) < 0 ||
        load_args(c, argc, argv, err) < 0)
        return -1;
    return check(c, err);
}

void runner_conf_fini(struct runner_conf *c)
{
    conf_fini(c, runner_opts, runner_opts_n);
}
