/* load_beside.c - reads ended studies on the pool (load_beside.h).
 *
 * Reading a study of 100,000 trials takes about two seconds, in which the loop could answer nobody.
 * Its head (row, spec, data, space) is therefore read on the loop, and then a thread of the pool
 * owns the study alone and reads its trials through a connection of its own. The trials of an ended
 * study do not change meanwhile. Its row may (somebody archives it), so the row is read again when
 * the study is taken into the controller's list.
 *
 * The controller may be freed while a job runs. A job therefore owns everything that it uses, and
 * load_free_all tells it by job.ctl = NULL that nobody wants the result. */
#include "controller/settle/load_beside.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/settle/load.h"
#include "controller/settle/load_beside.h"
#include "controller/state/study.h"

#include <inttypes.h>

/* Somebody who is called when the study has been read, or could not be. */
struct waiter {
    struct waiter *next;
    void (*on_ready)(void *arg);
    void *arg;
};

struct load_job {
    struct load_job *next;
    struct ctl *ctl; /* NULL = the controller is gone */
    int64_t id, by;  /* of the study; who asked for it first (any number) */
    struct study *st;
    char *dir;
    struct waiter *waiters;
    int rc;
    struct err err;
};

void load_trim(struct ctl *ctl)
{
    int n = 0;
    int64_t trials = 0;

    for (int i = 0; i < ctl->n_studies; i++) {
        bool is_ended = study_is_final(ctl->studies[i]->row.state);

        n += is_ended;
        trials += is_ended ? ctl->studies[i]->n_trials : 0;
    }
    while (n > LOAD_KEPT || (n > 1 && trials > LOAD_KEPT_TRIALS)) {
        struct study *oldest = NULL;

        for (int i = 0; i < ctl->n_studies; i++) {
            struct study *st = ctl->studies[i];
            if (study_is_final(st->row.state) && (!oldest || st->asked_ms < oldest->asked_ms))
                oldest = st;
        }
        CHECK(oldest);
        n--;
        trials -= oldest->n_trials;
        study_drop(ctl, oldest);
    }
}

/* ---- on the pool ---- */

static void work(void *arg)
{
    struct load_job *j = arg;
    struct store *store = store_open_readonly(j->dir, &j->err);

    j->rc = store ? study_fill_trials(j->st, store, &j->err) : -1;
    if (store)
        store_close(store);
}

/* ---- back on the loop ---- */

static void unlink_job(struct ctl *ctl, const struct load_job *j)
{
    struct load_job **p = &ctl->loads;

    while (*p != j) {
        CHECK(*p);
        p = &(*p)->next;
    }
    *p = j->next;
}

static void waiters_call(struct load_job *j)
{
    while (j->waiters) {
        struct waiter *w = j->waiters;

        j->waiters = w->next;
        w->on_ready(w->arg);
        mem_free(w);
    }
}

/* The controller is gone, and those who waited are gone with it. */
static void drop(void *arg)
{
    struct load_job *j = arg;

    study_free(j->st);
    mem_free(j->dir);
    mem_free(j);
}

static void done(void *arg)
{
    struct load_job *j = arg;

    if (j->ctl) {
        unlink_job(j->ctl, j);
        if (j->rc < 0)
            log_error("study.load study=%" PRId64 " err=\"%s\"", j->id, j->err.text);
        if (j->rc < 0 || study_loaded(j->ctl, j->id) || study_adopt(j->ctl, j->st, NULL) < 0)
            /* those who wait will read it on the loop, and be told what is wrong */
            study_free(j->st);
        waiters_call(j);
        load_trim(j->ctl);
        mem_free(j->dir);
        mem_free(j);
    } else {
        drop(j);
    }
}

/* ---- asking ---- */

static void waiter_add(struct load_job *j, void (*on_ready)(void *arg), void *arg)
{
    struct waiter *w = mem_zalloc(sizeof *w), **p = &j->waiters;

    w->on_ready = on_ready;
    w->arg = arg;
    while (*p)
        p = &(*p)->next;
    *p = w;
}

/* The job that reads this study, or NULL. *n = how many jobs there are, *own = how many of them are
 * for `by`. */
static struct load_job *job_find(const struct ctl *ctl, int64_t id, int64_t by, int *n, int *own)
{
    struct load_job *found = NULL;

    *n = *own = 0;
    for (struct load_job *j = ctl->loads; j; j = j->next) {
        ++*n;
        *own += j->by == by;
        if (j->id == id)
            found = j;
    }
    return found;
}

int ctl_study_await(struct ctl *ctl, int64_t by, const char *ref, void (*on_ready)(void *arg),
                    void *arg, struct err *err)
{
    struct load_job *j = NULL;
    int64_t id = 0;
    bool is_final = false;
    int n = 0, own = 0, rc = study_find(ctl, ref, &id, &is_final, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || !is_final || study_loaded(ctl, id) || !ctl->loop)
        return 1;
    j = job_find(ctl, id, by, &n, &own);
    if (!j && (n >= LOAD_WAITING || own >= LOAD_WAITING / 2))
        return err_set(err, ERR_BUSY,
                       "several ended studies are being read: try again in a second");
    if (j) {
        waiter_add(j, on_ready, arg);
        return 0;
    }
    struct study *st = study_head_load(ctl, id, err);
    if (!st)
        return 1; /* it is damaged: the call that follows loads it and says so */
    j = mem_zalloc(sizeof *j);
    j->ctl = ctl;
    j->id = id;
    j->by = by;
    j->st = st;
    j->dir = mem_strdup(ctl->conf.data_dir);
    j->next = ctl->loads;
    ctl->loads = j;
    waiter_add(j, on_ready, arg);
    loop_pool_submit_owned(ctl->loop, work, done, drop, j);
    return 0;
}

int ctl_study_id(struct ctl *ctl, const char *ref, int64_t *id, struct err *err)
{
    bool is_final = false;
    int rc = study_find(ctl, ref, id, &is_final, err);

    return rc == 0 ? err_set(err, ERR_NOTFOUND, "no study \"%.80s\"", ref) : MIN(rc, 0);
}

void load_free_all(struct ctl *ctl)
{
    while (ctl->loads) {
        struct load_job *j = ctl->loads;

        ctl->loads = j->next;
        j->ctl = NULL;
        while (j->waiters) {
            struct waiter *w = j->waiters;

            j->waiters = w->next;
            mem_free(w);
        }
    }
}
