/* metrics.c - the numbers of the service in Prometheus' text format (version 0.0.4). Times are
 * seconds, sizes bytes, and names follow Prometheus' rules, so that `promtool check metrics` accepts
 * them; configs/prometheus and configs/grafana use these names. web/api/service.c adds those of the
 * doors. */
#include "base/buf.h"
#include "base/proc.h"
#include "controller/api/service.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "store/blob.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

void service_count(const struct ctl *ctl, struct service_load *out)
{
    *out = (struct service_load){ 0 };
    for (int i = 0; i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];

        if (study_is_final(st->row.state))
            continue;
        out->live++;
        out->running += st->row.state == SS_RUNNING;
        out->trials_running += st->count[TS_RUNNING];
        out->trials_paused += st->count[TS_PAUSED];
        if (st->row.state == SS_RUNNING)
            out->trials_waiting += st->count[TS_QUEUED];
    }
}

static int head(struct buf *out, const char *name, const char *type, const char *help,
                struct err *err)
{
    return buf_addf(out, err, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* One number of ours: its name gets "assay_" in front. */
static int sample(struct buf *out, const char *name, const char *type, const char *help,
                  const char *value, struct err *err)
{
    char whole[80];

    (void)!snprintf(whole, sizeof whole, "assay_%s", name);
    return head(out, whole, type, help, err) < 0 ? -1 : buf_addf(out, err, "%s %s\n", whole, value);
}

static int metric(struct buf *out, const char *name, const char *type, const char *help,
                  int64_t value, struct err *err)
{
    char text[24];

    (void)!snprintf(text, sizeof text, "%" PRId64, value);
    return sample(out, name, type, help, text, err);
}

static int seconds(struct buf *out, const char *name, const char *type, const char *help,
                   int64_t us, struct err *err)
{
    char text[32];

    (void)!snprintf(text, sizeof text, "%.6f", (double)us / 1e6);
    return sample(out, name, type, help, text, err);
}

static int counters(const struct ctl *ctl, struct buf *out, struct err *err)
{
    const struct ctl_stats *s = &ctl->stats;
    const struct {
        const char *name, *help;
        int64_t value;
    } rows[] = {
        { "requests_total", "Requests that may write.", s->requests },
        { "requests_undone_total", "Requests that changed nothing because they failed.",
          s->requests_undone },
        { "commits_total", "Turns committed.", s->commits },
        { "commit_failures_total", "Turns whose commit failed.", s->commit_failures },
        { "grants_total", "Groups of trials leased.", s->grants },
        { "lanes_granted_total", "Trials leased.", s->granted_trials },
        { "reports_total", "Reports of runners.", s->reports },
        { "runner_events_total", "Messages in reports.", s->events },
        { "stale_messages_total", "Messages refused as stale.", s->stale },
        { "leases_rejoined_total", "Expired leases that were taken up again.", s->rejoined },
        { "leases_lost_total", "Trials and tasks requeued by the machine.", s->lost },
        { "leases_expired_total", "Leases that ran out.", s->expired },
        { "devices_quarantined_total", "Devices put in quarantine.", s->quarantined },
        { "trials_completed_total", "Trials completed.", s->completed },
        { "trials_failed_total", "Trials failed by their configuration.", s->failed },
        { "trials_pruned_total", "Trials stopped by a scheduler.", s->pruned },
        { "trials_cancelled_total", "Trials cancelled.", s->cancelled },
        { "reloads_total", "Studies loaded again from their rows after a failure.", s->reloads },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (metric(out, rows[i].name, "counter", rows[i].help, rows[i].value, err) < 0)
            return -1;
    }
    return 0;
}

static int load(struct ctl *ctl, struct buf *out, struct err *err)
{
    struct service_load l;
    int n_devices = 0, n_idle = 0;

    service_count(ctl, &l);
    runner_capacity(ctl, "", &n_devices, &n_idle);
    if (metric(out, "studies_live", "gauge", "Unfinished studies.", l.live, err) < 0 ||
        metric(out, "studies_running", "gauge", "Running studies.", l.running, err) < 0 ||
        metric(out, "studies_damaged", "gauge", "Studies whose rows are damaged.", ctl->n_damages,
               err) < 0 ||
        metric(out, "runners_alive", "gauge", "Runners heard of within a lease period.",
               runner_here(ctl), err) < 0 ||
        metric(out, "devices", "gauge", "Devices that take work.", n_devices, err) < 0 ||
        metric(out, "devices_idle", "gauge", "Devices without work.", n_idle, err) < 0 ||
        metric(out, "leases", "gauge", "Trials and tasks under lease.", ctl->n_leases, err) < 0)
        return -1;
    return head(out, "assay_trials", "gauge",
                "Trials of unfinished studies; waiting: more devices would take them at once.",
                err) < 0
               ? -1
               : buf_addf(out, err,
                          "assay_trials{state=\"running\"} %" PRId64
                          "\nassay_trials{state=\"waiting\"} %" PRId64
                          "\nassay_trials{state=\"paused\"} %" PRId64 "\n",
                          l.trials_running, l.trials_waiting, l.trials_paused);
}

/* The longest time between two looks at what has come in: all callbacks of a turn and its commit.
 * Without a loop, only the work of requests. */
static int64_t turn_max_us(const struct ctl *ctl)
{
    return ctl->loop ? MAX(ctl->turn_max_us, loop_turn_max_us(ctl->loop)) : ctl->turn_max_us;
}

static int turns(const struct ctl *ctl, struct buf *out, struct err *err)
{
    return seconds(out, "turn_seconds", "gauge", "Moving average of a turn's work.",
                   ctl->turn_avg_us, err) < 0 ||
                   seconds(out, "turn_max_seconds", "gauge",
                           "Longest turn of the loop since the start, all of it.", turn_max_us(ctl),
                           err) < 0 ||
                   seconds(out, "turn_cpu_max_seconds", "gauge",
                           "Longest turn of the loop in processor time.",
                           ctl->loop ? loop_turn_cpu_max_us(ctl->loop) : 0, err) < 0
               ? -1
               : 0;
}

static int disk(struct ctl *ctl, struct buf *out, struct err *err)
{
    struct statvfs fs = { 0 };
    int64_t blobs = 0, bytes = 0;

    if (store_blob_total(ctl->store, &blobs, &bytes, err) < 0)
        return -1;
    if (statvfs(ctl->conf.data_dir, &fs) == 0 &&
        metric(out, "disk_free_bytes", "gauge", "Free bytes of the data folder's disk.",
               (int64_t)(fs.f_bavail * fs.f_frsize), err) < 0)
        return -1;
    return metric(out, "blobs", "gauge", "Files named by rows.", blobs, err) < 0 ||
                   metric(out, "blob_bytes", "gauge", "Bytes of these files.", bytes, err) < 0 ||
                   metric(out, "database_bytes", "gauge", "Size of the database.",
                          store_db_bytes(ctl->store), err) < 0
               ? -1
               : 0;
}

/* The process, under the names that all exporters use. */
static int process(const struct ctl *ctl, struct buf *out, struct err *err)
{
    struct rusage use = { 0 };

    (void)getrusage(RUSAGE_SELF, &use);
    double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    double start = (double)(clk_wall_ms(ctl->clk) - (ctl_now(ctl) - ctl->started_ms)) / 1e3;

    if (head(out, "process_cpu_seconds_total", "counter", "Processor time of assayd.", err) < 0 ||
        buf_addf(out, err, "process_cpu_seconds_total %.3f\n", cpu) < 0 ||
        head(out, "process_resident_memory_bytes", "gauge", "Memory of assayd.", err) < 0 ||
        buf_addf(out, err, "process_resident_memory_bytes %" PRId64 "\n",
                 proc_rss_bytes(getpid())) < 0 ||
        head(out, "process_start_time_seconds", "gauge", "Start of assayd, since 1970.", err) < 0 ||
        buf_addf(out, err, "process_start_time_seconds %.3f\n", start) < 0)
        return -1;
    return head(out, "assay_build_info", "gauge", "The version, as a label.", err) < 0
               ? -1
               : buf_addf(out, err, "assay_build_info{version=\"%s\"} 1\n", ASSAY_VERSION);
}

int ctl_metrics(struct ctl *ctl, struct buf *out, struct err *err)
{
    return counters(ctl, out, err) < 0 || load(ctl, out, err) < 0 || turns(ctl, out, err) < 0 ||
                   disk(ctl, out, err) < 0 || process(ctl, out, err) < 0
               ? -1
               : 0;
}
