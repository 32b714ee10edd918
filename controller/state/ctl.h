/* ctl.h - the controller itself, private to controller/: one struct with everything that lives as long as the process, and
 * the frame of requests and turns around it.
 *
 * A request is a savepoint; a turn of the loop commits once. Memory follows the rows: a study that a request touched is
 * loaded again from its rows when that request is undone or when the turn's commit fails (ctl_touch says which). No file
 * but ctl.c begins, commits or rolls back. One thread, the loop's. */
#ifndef CONTROLLER_STATE_CTL_H
#define CONTROLLER_STATE_CTL_H

#include "base/clk.h"
#include "base/loop.h"
#include "controller/api.h"
#include "controller/conf.h"
#include "controller/state/idmap.h"
#include "proto/msg.h"
#include "store/store.h"

enum { CTL_PREVIEWS = 4 }; /* at a time */

struct study;
struct runner;
struct task;
struct lease;
struct uploads;
struct rubbish;
struct damage;

struct after_commit {
    void (*on_done)(void *arg, bool ok, const struct err *err);
    void *arg;
};

/* Counters since the start, for /metrics; names in stats.c. */
struct ctl_stats {
    int64_t requests, requests_undone, commits, commit_failures, grants, granted_trials, reports,
        events, stale, rejoined, lost, expired, quarantined, waits_served, waits_timed_out, ahead,
        completed, failed, pruned, cancelled, reloads;
};

struct ctl {
    struct store *store;  /* owned */
    struct loop *loop;    /* borrowed */
    struct clk *clk;      /* borrowed */
    struct ctl_conf conf; /* its strings are borrowed */

    struct study *
        *studies; /* every unfinished one, and a few ended ones that were asked for; owned */
    int n_studies, cap_studies;
    struct runner **runners; /* owned */
    int n_runners, cap_runners;
    struct idmap runner_at; /* by id; built anew by runner.c when runners_moved */
    bool runners_moved;
    struct task **tasks; /* open ones, by id; owned */
    int n_tasks, cap_tasks;
    struct lease *leases; /* of trials and of tasks, in no order */
    int n_leases, cap_leases;
    struct damage *damages; /* of studies that are not in memory because of it (damage.h) */
    int n_damages, cap_damages;
    struct idmap lease_at;               /* by id of the trial, or minus that of the task */
    int64_t leases_no;                   /* grows with every change of the table */
    int64_t tallied_no;                  /* the one that devices' counts are of (runner.c) */
    struct ctl_wait *waits, *waits_last; /* long polls, oldest first */
    struct ctl_wait *wait_next;          /* who is tried next; NULL = the oldest */
    int n_waits, waits_left;             /* left: to be tried since the last news */
    struct ctl_sub *subs;
    struct after_commit *after; /* of this turn */
    int n_after, cap_after;

    struct savepoint request_sp; /* of the request that runs; requests do not nest */
    int64_t turn_no, request_no, group_no, analysis_no;
    int64_t tasks_turn, tasks_request, runners_turn, runners_request; /* who changed them last */
    bool is_tasks_old,
        is_runners_old; /* could not be read again: no request runs before they are */
    int64_t suspect;    /* study whose rows made this request fail; 0 = none */
    struct err suspect_why;
    int64_t tick_failed_ms;                 /* INT64_MIN = the last tick went well */
    bool in_request, is_stopping, has_news; /* has_news: a waiting lease call may find work now */
    int64_t events_sent;                    /* journal sequence delivered to subscribers */
    int64_t turn_start_us;                  /* 0 = the turn has done nothing yet */
    int64_t
        suggest_us; /* spent in this turn by samplers: over propose.h's share, the rest waits for the next turn */
    bool is_tick_due;         /* the next tick comes at once (ctl_tick_soon) */
    bool is_deferred;         /* something waits for that */
    int64_t turn_max_us;      /* the longest turn since the start */
    int64_t turn_avg_us;      /* moving average of a turn's work without its commit */
    int64_t slow_turn_ms;     /* when the last slow turn ended */
    int64_t commit_failed_ms; /* when the last commit failed; INT64_MIN = never */
    bool commit_was_full;     /* for want of room on the disk */
    int64_t started_ms;
    struct loop_timer *
        timer; /* armed to the next deadline at the end of each turn; NULL in tests without a loop */
    int n_previews;                   /* being made beside the loop */
    int64_t preview_by[CTL_PREVIEWS]; /* who asked for each of them */
    struct brief *briefs;             /* ended studies as lists show them (brief.c) */
    int n_briefs, cap_briefs;
    struct idmap brief_at;
    struct load_job *loads; /* ended studies that are being read (load.c) */
    struct auth *auth;
    struct uploads *uploads; /* upload.c */
    struct rubbish *rubbish; /* rubbish.c */
    bool had_leases; /* at the start: there are runners who asked things of the process before */
    struct ctl_stats stats;
    bool is_damaged; /* quick_check found damage in the database: /health says so until the end */
};

/* Memory of all open tasks no longer equals their committed rows. Called before the first change of a request. */
void ctl_touch_tasks(struct ctl *ctl);   /* the same for all open tasks */
void ctl_touch_runners(struct ctl *ctl); /* and for what is stored of runners */
/* A tick comes at the next turn of the loop: something that was made beside it is there. */
void ctl_tick_soon(struct ctl *ctl);
int64_t ctl_now(const struct ctl *ctl);  /* monotonic ms */
int64_t ctl_wall(const struct ctl *ctl); /* wall ms */

#endif
