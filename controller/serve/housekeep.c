/* housekeep.c - the work of housekeep.h. Whatever waits for the disk for long runs on the loop's
 * pool, through a connection of its own, so that requests do not wait; its result is a line in the
 * log. Only the deletion of files is done on the loop, in small parts, because it has to agree with
 * rows and with memory. */
#include "controller/serve/housekeep.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/files/rubbish.h"
#include "controller/files/upload.h"

/* A job on the pool about the database in this folder. */
struct wal_job {
    struct ctl *ctl; /* used on the loop's thread only */
    char *dir;
    struct err err;
    int rc;
};

static void wal_work(void *arg)
{
    struct wal_job *j = arg;

    j->rc = store_wal_checkpoint(j->dir, &j->err);
}

static void wal_done(void *arg)
{
    struct wal_job *j = arg;

    j->ctl->is_folding = false;
    if (j->rc < 0)
        log_warn("wal.checkpoint err=\"%s\"", j->err.text);
    mem_free(j->dir);
    mem_free(j);
}

static void check_work(void *arg)
{
    struct wal_job *j = arg;

    j->rc = store_quick_check(j->dir, &j->err);
}

static void check_done(void *arg)
{
    struct wal_job *j = arg;

    j->ctl->is_damaged = j->rc < 0;
    if (j->rc < 0)
        log_error("store.damaged err=\"%s\" note=\"restore a backup\"", j->err.text);
    else
        log_info(
            "store.checked note=\"the database is whole, although the last process did not end in "
            "order\"");
    mem_free(j->dir);
    mem_free(j);
}

void housekeep_check_database(struct ctl *ctl)
{
    struct wal_job *j = NULL;

    if (!store_ended_badly(ctl->store))
        return;
    j = mem_zalloc(sizeof *j);
    j->ctl = ctl;
    j->dir = mem_strdup(ctl->conf.data_dir);
    loop_pool_submit(ctl->loop, check_work, check_done, j);
}

void housekeep_checkpoint(struct ctl *ctl)
{
    struct wal_job *j = NULL;

    if (ctl->is_folding)
        return;
    ctl->is_folding = true;
    j = mem_zalloc(sizeof *j);
    j->ctl = ctl;
    j->dir = mem_strdup(ctl->conf.data_dir);
    loop_pool_submit(ctl->loop, wal_work, wal_done, j);
}

void housekeep_log(struct ctl *ctl)
{
    if (!ctl->is_folding && store_log_grown(ctl->store))
        housekeep_checkpoint(ctl);
}

void housekeep_collect(struct ctl *ctl)
{
    struct err err = { 0 };
    int rc = 0;

    if (ctl->is_backing_up)
        return;
    uploads_sweep(ctl);
    if (ctl_request_begin(ctl, &err) < 0) {
        log_warn("blob.collect err=\"%s\"", err.text);
        return;
    }
    rc = rubbish_collect(ctl, &err);
    if (ctl_request_end(ctl, rc == 0, rc == 0 ? &err : NULL) < 0 || rc < 0)
        log_warn("blob.collect err=\"%s\"", err.text);
    rubbish_forget_old(ctl);
}
