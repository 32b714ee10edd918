/* rubbish.c - which files may be deleted (rubbish.h). A timer looks every `collect_ms`:
 *
 * - an upload goes when its trial or task has ended, or when nothing was added to it for an hour
 *   (upload.c);
 * - a blob that no row has named yet goes when the trial or task that uploaded it has ended; one
 *   that a user uploaded goes after `blob_age_ms`;
 * - a blob that rows named once and do not name any more goes at once, but not within ten minutes
 *   after somebody asked for it;
 * - a file without a row goes after ten minutes. Such a file is left if the process ended after the
 *   file was written and before its row was committed.
 *
 * Runners say for which trial or task an upload is (docs/PROTOCOL.md). That is why the files of a
 * trial that was lost or stopped can be deleted together with it. */
#include "controller/files/rubbish.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/lease.h"
#include "controller/state/task.h"
#include "store/trial.h"

#include <inttypes.h>
#include <string.h>

enum {
    /* The longest time between asking whether a blob is here and naming it. */
    ASKED_MS = 600000,
    /* The longest time between the writing of a file and the commit of its row. */
    STRAY_MS = 600000,
    /* After a restart nobody remembers who asked for a blob, so nothing that rows once named goes
     * so soon. */
    START_MS = 30000,
    /* All folders are looked at twice within so many looks: what was not met in them is named or
     * gone. */
    LOOKS_KEPT = 2 * BLOB_FOLDERS / BLOB_FOLDERS_AT_ONCE,
    /* Idempotency keys are kept for a day, and old ones are looked for every ten minutes. */
    IDEM_EVERY_MS = 600000,
    IDEM_AGE_MS = 24 * 3600 * 1000
};

/* A note about a blob that was uploaded or asked for, or about a file without a row (a stray). */
struct said {
    char sha256[SHA256_HEX];
    int64_t at_ms; /* monotonic ms of the upload, the question, or the first look at the stray */
    bool is_stray;
    int looks;               /* looks since it was last met */
    struct file_mark mark;   /* of a stray: another mark means that it was written again */
    struct ctl_upload_by by; /* who uploaded it; empty = only its age counts */
};

struct rubbish {
    struct said *list; /* owned */
    int n, cap;
    int64_t idem_ms; /* monotonic ms of the last look at idempotency keys */
};

static struct rubbish *rubbish_of(struct ctl *ctl)
{
    if (!ctl->rubbish)
        ctl->rubbish = mem_zalloc(sizeof *ctl->rubbish);
    return ctl->rubbish;
}

static struct said *find(struct rubbish *r, const char *sha256, bool is_stray)
{
    for (int i = 0; i < r->n; i++) {
        if (r->list[i].is_stray == is_stray && memcmp(r->list[i].sha256, sha256, 64) == 0)
            return &r->list[i];
    }
    return NULL;
}

static struct said *find_or_add(struct ctl *ctl, const char *sha256, bool is_stray, bool *is_new)
{
    struct rubbish *r = rubbish_of(ctl);
    struct said *s = find(r, sha256, is_stray);

    *is_new = !s;
    if (s)
        return s;
    MEM_GROW(r->list, r->n, r->cap);
    s = &r->list[r->n++];
    *s = (struct said){ .at_ms = ctl_now(ctl), .is_stray = is_stray };
    str_copy(s->sha256, sizeof s->sha256, sha256);
    return s;
}

static bool has_owner(const struct ctl_upload_by *by)
{
    return by->trial > 0 || by->task > 0;
}

void rubbish_said(struct ctl *ctl, const char *sha256, const struct ctl_upload_by *by)
{
    bool is_new = false;
    struct said *s = find_or_add(ctl, sha256, false, &is_new);

    s->at_ms = ctl_now(ctl);
    s->looks = 0;
    /* If two trials uploaded it, or a trial did and somebody else asked for it, no single end
     * decides: then its age counts. */
    s->by = is_new && by ? *by : (struct ctl_upload_by){ 0 };
}

void rubbish_free(struct ctl *ctl)
{
    if (ctl->rubbish)
        mem_free(ctl->rubbish->list);
    mem_free(ctl->rubbish);
    ctl->rubbish = NULL;
}

/* ---- who may still name a file ---- */

/* A trial whose lease ran out keeps its fence until it is granted again. Until then its runner may
 * take it back and name the file (rejoin in serve/report.c). If the row cannot be read, the file
 * stays. */
static bool trial_may_rejoin(struct ctl *ctl, int64_t trial, int64_t fence)
{
    struct trial_row row = { 0 };
    struct err err = { 0 };
    int rc = store_trial_get(ctl->store, trial, &row, &err);
    bool may = rc < 0 || (rc == 1 && row.fence == fence && row.state == TS_QUEUED &&
                          row.reason == TR_RUNNER_LOST);

    trial_row_fini(&row);
    return may;
}

bool rubbish_owner_lives(struct ctl *ctl, const struct ctl_upload_by *by)
{
    bool is_task = by->task > 0;
    int64_t id = is_task ? by->task : by->trial;
    const struct lease *l = lease_find(ctl, is_task, id);

    if (l)
        return l->fence == by->fence;
    if (!is_task)
        return trial_may_rejoin(ctl, id, by->fence);
    const struct task *t = task_find(ctl, id);
    return t && t->row.fence == by->fence;
}

/* store_blob_collect asks this for each blob that no row names. */
static bool row_may_go(void *arg, const char *sha256, bool was_named)
{
    struct ctl *ctl = arg;
    struct said *s = find(rubbish_of(ctl), sha256, false);
    bool is_new = false;

    if (s)
        s->looks = 0;
    if (s && has_owner(&s->by) && !was_named)
        return !rubbish_owner_lives(ctl, &s->by);
    if (was_named && (!s || has_owner(&s->by)))
        return !ctl->had_leases || ctl_now(ctl) - ctl->started_ms >= START_MS;
    s = find_or_add(ctl, sha256, false, &is_new);
    return ctl_now(ctl) - s->at_ms >= MIN(ctl->conf.blob_age_ms, was_named ? ASKED_MS : INT64_MAX);
}

/* store_blob_collect asks this for each file that has no row. */
static bool file_may_go(void *arg, const char *name, const struct file_mark *mark)
{
    struct ctl *ctl = arg;
    bool is_new = false;
    struct said *s = NULL;

    if (!str_sha256_ok(name))
        return false; /* no name of a blob: somebody else put it there */
    s = find_or_add(ctl, name, true, &is_new);
    s->looks = 0;
    if (is_new || !file_mark_same(&s->mark, mark)) {
        s->mark = *mark;
        s->at_ms = ctl_now(ctl);
    }
    return ctl_now(ctl) - s->at_ms >= MIN(STRAY_MS, ctl->conf.blob_age_ms);
}

void rubbish_forget_old(struct ctl *ctl)
{
    struct rubbish *r = rubbish_of(ctl);

    for (int i = r->n - 1; i >= 0; i--) {
        struct said *s = &r->list[i];

        if (++s->looks > LOOKS_KEPT && ctl_now(ctl) - s->at_ms >= ASKED_MS)
            *s = r->list[--r->n];
    }
}

/* ---- a look ---- */

int rubbish_collect(struct ctl *ctl, struct err *err)
{
    const struct blob_judge judge = { row_may_go, file_may_go, ctl };
    struct rubbish *r = rubbish_of(ctl);
    int64_t bytes = 0, now = ctl_now(ctl);

    if (store_blob_collect(ctl->store, ctl->conf.data_dir, &judge, &bytes, err) < 0)
        return -1;
    if (bytes > 0)
        log_info("blob.collect bytes=%" PRId64, bytes);
    if (r->idem_ms && now - r->idem_ms < IDEM_EVERY_MS)
        return 0;
    r->idem_ms = now;
    return store_idem_expire(ctl->store, ctl_wall(ctl) - IDEM_AGE_MS, err);
}
