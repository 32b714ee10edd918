/* service.c - the verbs about the service itself: health, configuration, backup, and the answers
 * that are kept under clients' idempotency keys. metrics.c has the numbers. */
#include "controller/api/service.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "store/backup.h"
#include "store/blob.h"

#include <inttypes.h>
#include <stdio.h>

int ctl_health(struct ctl *ctl, json_t **out, struct err *err)
{
    int n_devices = 0, n_idle = 0;
    struct service_load load;

    (void)err;
    service_count(ctl, &load);
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
                     "version", ASSAY_VERSION, "protocol", MSG_PROTOCOL, "studies", "live",
                     load.live, "running", load.running, "damaged", ctl->n_damages, "runners",
                     runner_here(ctl), "devices", n_devices, "lanes", ctl->n_leases, "uptime_ms",
                     (json_int_t)(ctl_now(ctl) - ctl->started_ms));
    return 0;
}

int ctl_config(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)err;
    *out = conf_json_new(&ctl->conf, ctl_opts, ctl_n_opts);
    return 0;
}

/* ---- backup ---- */

struct backup_job {
    struct ctl *ctl;
    char *path;
    struct store_backup made;
    struct err err;
    int rc;
    void (*on_done)(void *arg, json_t *out_new, const struct err *err);
    void *arg;
};

static void backup_work(void *arg)
{
    struct backup_job *j = arg;

    j->rc = store_backup_folder(j->ctl->store, j->ctl->conf.data_dir, j->path, &j->made, &j->err);
}

static void backup_done(void *arg)
{
    struct backup_job *j = arg;
    json_t *out = NULL;

    j->ctl->is_backing_up = false;
    if (j->rc == 0) {
        log_info("backup.made path=\"%s\" db_bytes=%" PRId64 " blobs=%" PRId64 " missing=%" PRId64,
                 j->path, j->made.db_bytes, j->made.blobs, j->made.missing);
        out = json_pack("{s:s, s:I, s:I, s:I, s:I}", "path", j->path, "db_bytes",
                        (json_int_t)j->made.db_bytes, "blobs", (json_int_t)j->made.blobs, "bytes",
                        (json_int_t)j->made.bytes, "missing", (json_int_t)j->made.missing);
    } else {
        log_error("backup.failed path=\"%s\" err=\"%s\"", j->path, j->err.text);
    }
    j->on_done(j->arg, out, j->rc == 0 ? NULL : &j->err);
    mem_free(j->path);
    mem_free(j);
}

int ctl_backup(struct ctl *ctl, const char *path,
               void (*on_done)(void *arg, json_t *out_new, const struct err *err), void *arg,
               struct err *err)
{
    struct backup_job *j = NULL;

    if (!path || path[0] != '/')
        return err_at(err, "path", "must be an absolute path of a folder that does not exist");
    if (ctl->is_backing_up)
        return err_set(err, ERR_BUSY, "another backup is being made");
    /* A backup holds what is committed. What this turn has written is not in it. */
    j = mem_zalloc(sizeof *j);
    *j =
        (struct backup_job){ .ctl = ctl, .path = mem_strdup(path), .on_done = on_done, .arg = arg };
    ctl->is_backing_up = true;
    if (ctl->loop) {
        loop_pool_submit(ctl->loop, backup_work, backup_done, j);
    } else {
        backup_work(j);
        backup_done(j);
    }
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
