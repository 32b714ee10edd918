/* service.c - the verbs about the service itself: health, configuration, backup, and the answers
 * that are kept under clients' idempotency keys. metrics.c has the numbers. */
#include "controller/api/service.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
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
                     service_runners(ctl), "devices", n_devices, "lanes", ctl->n_leases,
                     "uptime_ms", (json_int_t)(ctl_now(ctl) - ctl->started_ms));
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
