/* worker_rank.c - trials that several devices train together (the parameter `devices`). Each device
 * is a rank: rank 0 has the trial and reports it like any other; the others have a task each
 * (MSG_RANK), open the same trial from the same checkpoint, and train to the levels that rank 0
 * says. The controller passes rank 0's address on, and then the ranks talk to each other
 * (ml/ranks/link.h).
 *
 * Every rank scores the folds for itself and so comes to the same decisions; only rank 0 saves,
 * asks, ships and looks at limits. If a rank is lost, all others end with the reason rank_lost,
 * which costs the trial this attempt and blames no other device. */
#include "trial-runner/worker/worker_private.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* MEET_MS: within which all ranks must have come; each may have to download and open the table
 * first. SUM_MS: a rank that computes so long for one step is lost; its supervisor, the lease and
 * the connection usually say so long before. TELL_FIRST_US, TELL_MOST_US: between two messages about the
 * meeting, twice as long each time.
 * CAUSE_MS: before rank_lost is reported; a supervisor whose worker died is faster, so that the
 * controller learns the cause first. */
enum {
    MEET_MS = 600000,
    SUM_MS = 600000,
    TELL_FIRST_US = 10000,
    TELL_MOST_US = 500000,
    BEAT_EVERY_US = 200000,
    CAUSE_MS = 2000
};

/* ---- what goes on while a rank waits ---- */

static bool is_met(const struct job *j)
{
    return j->has_met;
}

/* Tells the controller where rank 0 is, or asks it. */
static void tell_meeting(struct worker *w, struct job *j)
{
    struct msg_event ev;
    int64_t now = worker_now_us(w);

    if (now < j->tell_us || (j->is_task && j->meet[0]))
        return;
    j->tell_every_us = MIN(MAX(2 * j->tell_every_us, TELL_FIRST_US), TELL_MOST_US);
    j->tell_us = now + j->tell_every_us;
    msg_event_init(&ev);
    ev.type = j->is_task ? MSG_TASK_MEET : MSG_MEET;
    if (!j->is_task)
        str_copy(ev.address, sizeof ev.address, j->meet);
    worker_event(w, j, &ev, NULL);
}

static bool gives_up(void *job)
{
    struct job *j = job;
    struct worker *w = j->worker;

    if (wire_has_input(&w->wire))
        worker_poll(w, 0);
    if (worker_now_us(w) - w->beat_us >= BEAT_EVERY_US)
        worker_beat(w, SLICE_WORD_MS);
    if (!is_met(j))
        tell_meeting(w, j);
    /* a runner that leaves lets rank 0 come to the end of a step, to save what there is */
    return j->stop || (w->draining && (j->is_task || !is_met(j)));
}

/* ---- opening ---- */

int worker_rank_join(struct worker *w, struct job *j, struct err *err)
{
    const struct msg_grant *g = &j->run->grant;
    struct rank_conf conf = { .rank = g->rank,
                              .ranks = g->ranks,
                              .secret = g->secret,
                              .trial = j->granted->trial,
                              .fence = j->granted->fence,
                              .start = j->granted->checkpoint,
                              .meet_ms = MEET_MS,
                              .sum_ms = SUM_MS,
                              .gives_up = gives_up,
                              .arg = j };

    if (!g->ranks)
        return 0;
    if (family_devices(j->family, j->params) != g->ranks)
        return err_set(err, ERR_ARG, "its configuration is not one for %d devices", g->ranks);
    j->worker = w;
    if (!j->link)
        j->link = rank_link_new(&conf);
    fit_trial_joins(j->fit, rank_link_reduce(j->link));
    return 0;
}

int worker_rank_meet(struct worker *w, struct job *j, struct err *err)
{
    char own[RANK_ADDRESS] = "";

    if (!j->link || is_met(j))
        return 0;
    if (!w->rank_address[0])
        return err_set(err, ERR_DEVICE,
                       "this runner does not know its own address: set --rank-address");
    if (rank_link_listen(j->link, w->rank_address, own, err) < 0)
        return -1;
    if (!j->is_task)
        str_copy(j->meet, sizeof j->meet, own);
    int64_t from_us = worker_now_us(w);
    while (!j->meet[0]) {
        if (gives_up(j))
            return err_set(err, ERR_TIMEOUT, "the trial was stopped before its ranks had met");
        if (worker_now_us(w) - from_us > (int64_t)MEET_MS * 1000)
            return err_set(err, ERR_DEVICE, "rank 0 did not say where it listens");
        worker_poll(w, TELL_FIRST_US / 1000);
    }
    j->is_meeting = true;
    if (rank_link_meet(j->link, j->is_task ? j->meet : NULL, err) < 0)
        return -1;
    j->is_meeting = false;
    j->has_met = true;
    log_info("ranks.met trial=%" PRId64 " rank=%d ranks=%d wait_us=%" PRId64, j->granted->trial,
             j->run->grant.rank, j->run->grant.ranks, worker_now_us(w) - from_us);
    return 0;
}

int worker_rank_go(struct job *j, struct err *err)
{
    return j->link ? rank_link_tell(j->link, j->to, err) : 0;
}

/* ---- the end ---- */

void worker_rank_end(struct job *j, const char *why)
{
    rank_link_close(j->link, why);
    j->link = NULL;
}

bool worker_rank_lost(struct worker *w, struct job *j, const struct err *why)
{
    bool is_lost = j->is_meeting || (is_met(j) && rank_link_is_lost(j->link));

    worker_rank_end(j, why->text);
    for (int64_t until = worker_now_us(w) + (int64_t)CAUSE_MS * 1000;
         is_lost && !j->stop && !w->draining && worker_now_us(w) < until;) {
        worker_beat(w, LONG_MS);
        worker_poll(w, 50);
    }
    return is_lost;
}

/* ---- the ranks above 0 ---- */

/* Trains to the levels that rank 0 says, until it ends. 0, or -1. */
static int follow(struct worker *w, struct job *j, struct err *err)
{
    struct ml_stop stop = { .now_us = worker_stop_clock, .ctx = w, .deadline_us = INT64_MAX };
    int64_t to = 0;
    int rc = 0;

    while ((rc = rank_link_hear(j->link, &to, err)) == 1) {
        if (to < 1 || to > fit_trial_levels(j->fit))
            return err_set(err, ERR_DEVICE, "rank 0 said level %" PRId64, to);
        j->to = (int)to;
        worker_beat(w, LONG_MS);
        do {
            int64_t before = worker_now_us(w);
            rc = fit_trial_advance(j->fit, j->to, &stop, err);
            j->work_us += worker_now_us(w) - before;
            w->interrupt = false;
            (void)gives_up(j);
        } while (rc == 0 && !j->stop && !w->draining && !rank_link_is_over(j->link));
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
    }
    if (w->draining && !j->stop)
        return err_set(err, ERR_BUSY, "its runner is shutting down");
    return MIN(rc, 0);
}

/* How it ended: rank 0 has all it needs, or the task failed and with it the attempt. */
static void conclude(struct worker *w, struct job *j, int rc, const struct err *err)
{
    struct msg_event ev;

    if (rc < 0 && w->draining && !j->stop) {
        worker_rank_end(j, "its runner is shutting down");
        worker_fail(w, j, TR_DRAINED, "the runner is shutting down");
    } else if (rc < 0 && !j->stop && !(j->link && rank_link_is_over(j->link))) {
        worker_fit_fail(w, j, err);
        return;
    } else if (!j->stop) {
        msg_event_init(&ev);
        ev.type = MSG_TASK_DONE;
        ev.fit_us = j->work_us;
        worker_event(w, j, &ev, NULL);
    }
    worker_fit_close(w, j);
}

void worker_rank(struct worker *w, struct job *j)
{
    struct err err = { 0 };
    int rc = 0;

    if (j->stop) {
        worker_fit_close(w, j);
        return;
    }
    worker_begin(w, j);
    rc = worker_fit_open(w, j, &err);
    if (rc == 0) {
        int room = worker_memory_admit(w, j, &err);
        if (room == 0) { /* another trial must go on first */
            worker_fit_close(w, j);
            j->state = JOB_WAITING;
            return;
        }
        rc = MIN(room, 0);
    }
    if (rc == 0)
        rc = worker_rank_meet(w, j, &err);
    if (rc == 0)
        rc = follow(w, j, &err);
    conclude(w, j, rc, &err);
}
