/* service.c - the verbs about the service itself: health, metrics in Prometheus' text format,
 * configuration, backup, and the answers that are kept under clients' idempotency keys. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "store/blob.h"

#include <inttypes.h>
#include <stdio.h>

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.1.0"
#endif

/* live = loaded studies that have not ended. */
static void count_studies(const struct ctl *ctl, int *live, int *running)
{
    *live = *running = 0;
    for (int i = 0; i < ctl->n_studies; i++) {
        *live += !study_is_final(ctl->studies[i]->row.state);
        *running += ctl->studies[i]->row.state == SS_RUNNING;
    }
}

static int count_runners(const struct ctl *ctl)
{
    int n = 0;

    for (int i = 0; i < ctl->n_runners; i++)
        n += runner_is_here(ctl, ctl->runners[i]);
    return n;
}

int ctl_health(struct ctl *ctl, json_t **out, struct err *err)
{
    int live = 0, running = 0, n_devices = 0, n_idle = 0;

    (void)err;
    count_studies(ctl, &live, &running);
    runner_capacity(ctl, "", &n_devices, &n_idle);
    *out = json_pack("{s:s, s:s?, s:s, s:i, s:{s:i, s:i, s:i}, s:i, s:i, s:i, s:I}", "status",
                     ctl->is_stopping   ? "stopping"
                     : ctl->is_damaged  ? "damaged"
                     : !ctl_admits(ctl) ? "busy"
                                        : "ok",
                     "finding",
                     ctl->is_damaged ? "the database has damaged pages: stop assayd and restore a "
                                       "backup; assayd's log names what was found"
                                     : NULL,
                     "version", ASSAY_VERSION, "protocol", MSG_PROTOCOL, "studies", "live", live,
                     "running", running, "damaged", ctl->n_damages, "runners", count_runners(ctl),
                     "devices", n_devices, "lanes", ctl->n_leases, "uptime_ms",
                     (json_int_t)(ctl_now(ctl) - ctl->started_ms));
    return 0;
}

/* ---- metrics ---- */

static int metric(struct buf *out, const char *name, const char *type, const char *help,
                  int64_t value, struct err *err)
{
    return buf_addf(out, err, "# HELP assay_%s %s\n# TYPE assay_%s %s\nassay_%s %" PRId64 "\n",
                    name, help, name, type, name, value);
}

static int counters(struct ctl *ctl, struct buf *out, struct err *err)
{
    const struct ctl_stats *s = &ctl->stats;
    const struct {
        const char *name, *help;
        int64_t value;
    } rows[] = {
        { "requests_total", "requests that may write", s->requests },
        { "requests_undone_total", "requests that changed nothing because they failed",
          s->requests_undone },
        { "commits_total", "turns committed", s->commits },
        { "commit_failures_total", "turns whose commit failed", s->commit_failures },
        { "grants_total", "groups of trials leased", s->grants },
        { "lanes_granted_total", "trials leased", s->granted_trials },
        { "reports_total", "reports of runners", s->reports },
        { "runner_events_total", "messages in reports", s->events },
        { "stale_messages_total", "messages refused as stale", s->stale },
        { "leases_rejoined_total", "expired leases that were taken up again", s->rejoined },
        { "leases_lost_total", "trials and tasks requeued by the machine", s->lost },
        { "leases_expired_total", "leases that ran out", s->expired },
        { "devices_quarantined_total", "devices put in quarantine", s->quarantined },
        { "trials_completed_total", "trials completed", s->completed },
        { "trials_failed_total", "trials failed by their configuration", s->failed },
        { "trials_pruned_total", "trials stopped by a scheduler", s->pruned },
        { "trials_cancelled_total", "trials cancelled", s->cancelled },
        { "reloads_total", "studies loaded again from their rows after a failure", s->reloads },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (metric(out, rows[i].name, "counter", rows[i].help, rows[i].value, err) < 0)
            return -1;
    }
    return 0;
}

/* The longest time between two looks at what has come in: all callbacks of a turn and its commit.
 * Without a loop, only the work of requests. */
static int64_t turn_max_us(const struct ctl *ctl)
{
    return ctl->loop ? MAX(ctl->turn_max_us, loop_turn_max_us(ctl->loop)) : ctl->turn_max_us;
}

int ctl_metrics(struct ctl *ctl, struct buf *out, struct err *err)
{
    int live = 0, running = 0, n_devices = 0, n_idle = 0;
    int64_t blobs = 0, bytes = 0;

    count_studies(ctl, &live, &running);
    runner_capacity(ctl, "", &n_devices, &n_idle);
    if (store_blob_total(ctl->store, &blobs, &bytes, err) < 0)
        return -1;
    if (counters(ctl, out, err) < 0 ||
        metric(out, "studies_live", "gauge", "unfinished studies", live, err) < 0 ||
        metric(out, "studies_running", "gauge", "running studies", running, err) < 0 ||
        metric(out, "runners_alive", "gauge", "runners heard of within a lease period",
               count_runners(ctl), err) < 0 ||
        metric(out, "devices", "gauge", "devices that take work", n_devices, err) < 0 ||
        metric(out, "devices_idle", "gauge", "of these without work", n_idle, err) < 0 ||
        metric(out, "leases", "gauge", "trials and tasks under lease", ctl->n_leases, err) < 0 ||
        metric(out, "turn_us", "gauge", "moving average of a turn's work", ctl->turn_avg_us, err) <
            0 ||
        metric(out, "turn_max_us", "gauge", "longest turn of the loop since the start, all of it",
               turn_max_us(ctl), err) < 0 ||
        metric(out, "turn_cpu_max_us", "gauge", "longest turn of the loop in processor time",
               ctl->loop ? loop_turn_cpu_max_us(ctl->loop) : 0, err) < 0 ||
        metric(out, "blobs", "gauge", "blobs named by rows", blobs, err) < 0 ||
        metric(out, "blob_bytes", "gauge", "their bytes", bytes, err) < 0 ||
        metric(out, "database_bytes", "gauge", "size of the database", store_db_bytes(ctl->store),
               err) < 0)
        return -1;
    return 0;
}

int ctl_config(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)err;
    *out = conf_json_new(&ctl->conf, ctl_opts, ctl_n_opts);
    return 0;
}

int ctl_backup(struct ctl *ctl, const char *path, json_t **out, struct err *err)
{
    if (!path || path[0] != '/')
        return err_at(err, "path", "must be an absolute path of a file that does not exist");
    /* A backup holds what is committed. What this turn has written is not in it. */
    if (store_backup(ctl->store, path, err) < 0)
        return -1;
    *out = json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)store_db_bytes(ctl->store));
    return 0;
}

int ctl_once_get(struct ctl *ctl, const char *key, struct buf *out, struct err *err)
{
    return store_idem_get(ctl->store, key, out, err);
}

int ctl_once_put(struct ctl *ctl, const char *key, const char *answer, struct err *err)
{
    return store_idem_put(ctl->store, key, answer, err);
}
