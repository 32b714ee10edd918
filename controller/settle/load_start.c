/* load_start.c - reads large unfinished studies on the pool (load_start.h).
 *
 * The thread builds the whole study, its search included, as study_load does on the loop. It has a
 * connection of its own, and for the study's way to it a controller of its own, of which only the
 * store, the clock and the configuration are filled. Nothing else knows the study meanwhile: all
 * changes of a study go through its memory, and whoever asks for that is refused. Back on the loop
 * the study gets the real controller, the leases of its running trials, and its place in the list.
 *
 * A deterministic study runs its plan again on the loop when it is settled, so of it only the rows
 * are read here.
 *
 * The controller may be freed while a job runs; the job then frees everything itself. */
#include "controller/settle/load_start.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/settle/load.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"

#include <inttypes.h>

struct start_job {
    struct start_job *next;
    struct ctl *ctl; /* NULL = it is gone */
    int64_t id, from_ms;
    bool is_begun;
    struct ctl *own; /* stands in for the controller on the thread */
    struct study *st;
    int rc;
    struct err err;
};

static void job_free(struct start_job *j)
{
    if (j->st)
        study_free(j->st);
    mem_free(j->own);
    mem_free(j);
}

static void work(void *arg)
{
    struct start_job *j = arg;

    j->own->store = store_open_readonly(j->own->conf.data_dir, &j->err);
    j->st = study_new(j->own);
    j->rc = j->own->store ? study_build(j->st, j->id, &j->err) : -1;
    if (j->own->store)
        store_close(j->own->store);
    j->own->store = NULL;
}

static void unlink_job(struct ctl *ctl, const struct start_job *j)
{
    struct start_job **p = &ctl->starts;

    while (*p != j) {
        CHECK(*p);
        p = &(*p)->next;
    }
    *p = j->next;
}

/* Takes the study into the list, with the leases of its running trials. */
static int adopt(struct ctl *ctl, struct start_job *j, struct err *err)
{
    struct study *st = j->st;

    CHECK(!study_loaded(ctl, j->id));
    st->ctl = ctl;
    if (lease_restore(ctl, st, err) < 0)
        return -1;
    st->asked_ms = ctl_now(ctl);
    MEM_GROW(ctl->studies, ctl->n_studies, ctl->cap_studies);
    ctl->studies[ctl->n_studies++] = st;
    j->st = NULL; /* moved */
    log_info("study.read study=%" PRId64 " trials=%d ms=%" PRId64, j->id, st->n_trials,
             ctl_now(ctl) - j->from_ms);
    ctl->has_news = true;
    ctl_tick_soon(ctl); /* which settles it */
    return 0;
}

static void done(void *arg)
{
    struct start_job *j = arg;
    struct ctl *ctl = j->ctl;

    if (ctl) {
        unlink_job(ctl, j);
        study_unread(ctl, j->id, false);
        if (j->rc < 0 || (j->rc == 1 && adopt(ctl, j, &j->err) < 0))
            damage_note(ctl, j->id, &j->err, NULL);
    }
    job_free(j);
}

static void drop(void *arg)
{
    job_free(arg);
}

bool load_start_takes(struct ctl *ctl, int64_t study, int64_t many)
{
    struct start_job *j = NULL;
    int64_t last = 0;

    if (!ctl->loop || store_trial_last(ctl->store, study, &last, NULL) < 0 || last < many)
        return false;
    j = mem_zalloc(sizeof *j);
    j->ctl = ctl;
    j->id = study;
    j->own = mem_zalloc(sizeof *j->own);
    j->own->conf = ctl->conf;
    j->own->clk = ctl->clk;
    j->next = ctl->starts;
    ctl->starts = j;
    study_unread(ctl, study, true);
    return true;
}

void load_start_begin(struct ctl *ctl)
{
    struct start_job *j = ctl->starts, *next = NULL;

    for (; j; j = next) {
        next = j->next; /* without threads the job is over and freed when submit returns */
        if (j->is_begun)
            continue;
        j->is_begun = true;
        j->from_ms = ctl_now(ctl);
        loop_pool_submit_owned(ctl->loop, work, done, drop, j);
    }
}

void load_start_free_all(struct ctl *ctl)
{
    while (ctl->starts) {
        struct start_job *j = ctl->starts;

        ctl->starts = j->next;
        j->ctl = NULL;
        if (!j->is_begun)
            job_free(j); /* else the pool's job frees it */
    }
}
