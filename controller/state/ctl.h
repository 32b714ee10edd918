/* ctl.h - the controller itself, private to controller/: one struct with everything that lives as
 * long as the process.
 *
 * A request is a savepoint in the database, and a turn of the loop commits once (serve/turn.c is
 * the only file that begins, commits or rolls back). Memory follows the rows: what a request
 * touched is read again when that request is undone, and what a turn touched is read again when its
 * commit fails. Therefore each change is announced first, by ctl_touch (study.h), ctl_touch_tasks
 * or ctl_touch_runners. Everything happens on the loop's thread. */
#ifndef CONTROLLER_STATE_CTL_H
#define CONTROLLER_STATE_CTL_H

#include "base/clk.h"
#include "base/loop.h"
#include "controller/api.h"
#include "controller/conf.h"
#include "controller/state/idmap.h"
#include "proto/msg.h"
#include "store/store.h"

/* Previews that may be computed at the same time (api/preview.c). */
enum { CTL_PREVIEWS = 4 };

struct study;
struct runner;
struct task;
struct lease;
struct lease_count;
struct fleet_class;
struct uploads;
struct rubbish;
struct damage;
struct predictor;
struct pools;
struct serve;

/* Counters since the start of the process; GET /metrics shows them (api/service.c). */
struct ctl_stats {
    int64_t requests, requests_undone, commits, commit_failures, grants, granted_trials, reports,
        events, stale, rejoined, lost, expired, quarantined, waits_served, waits_timed_out, ahead,
        completed, failed, pruned, cancelled, reloads;
};

struct ctl {
    struct store *store;  /* owned */
    struct loop *loop;    /* borrowed; NULL in tests without a loop: everything happens in place */
    struct clk *clk;      /* borrowed */
    struct ctl_conf conf; /* its strings are borrowed */

    /* ---- what is, as the rows say ---- */

    struct study **studies; /* all unfinished ones, and some ended ones somebody asked for; owned */
    int n_studies, cap_studies;
    struct runner **runners; /* owned */
    int n_runners, cap_runners;
    /* From a runner's id, and from a hash of its session, to its place; made anew when
     * runners_moved is set. */
    struct idmap runner_at, session_at;
    bool runners_moved;
    /* What all devices that take work can do, by numeric class; runner.c keeps it, so that a grant
     * need not walk over all runners. From here_due on, a runner may have ceased to be here. */
    struct fleet_class *classes; /* owned */
    int n_classes, cap_classes, n_here;
    int64_t here_due;
    int64_t runners_swept_ms; /* when runner_tick last looked for runners that have gone */
    int64_t quarantine_due;   /* no quarantine ends before */
    struct task **tasks;      /* the open ones, by id; owned */
    int n_tasks, cap_tasks;
    struct lease *leases; /* of trials and of tasks, in no order (lease.h); owned */
    int n_leases, cap_leases;
    struct idmap
        lease_at; /* from the id of a trial, or minus the id of a task, to its lease's place */
    struct lease_count *lease_counts; /* of studies that have any (lease.c); owned */
    int n_lease_counts, cap_lease_counts;
    struct idmap lease_count_at; /* from a study's id */
    int64_t leases_due;          /* no lease expires before */
    struct damage *damages;      /* studies whose rows cannot be read (damage.h); owned */
    int n_damages, cap_damages;
    bool is_damaged; /* the check at the start found damaged pages: /health says so until the end */

    /* ---- requests and turns ---- */

    struct savepoint request_sp; /* of the request that runs; requests do not nest */
    bool in_request;
    int64_t turn_no, request_no;   /* of the present turn and the present or last request */
    int64_t group_no, analysis_no; /* the last numbers given to a grant and to an analysis */
    int64_t tasks_turn, tasks_request, runners_turn, runners_request; /* that last changed them */
    /* Tasks or runners could not be read again after something was undone: until that works, every
     * request is refused, because memory does not say what the rows say. */
    bool is_tasks_old, is_runners_old;
    int64_t suspect; /* the study whose rows made this request fail (damage_suspect); 0 = none */
    struct err suspect_why;
    bool is_stopping;
    bool has_news;            /* something changed by which a waiting lease call may get work */
    bool is_tick_due;         /* the next tick comes at once (ctl_tick_soon) */
    bool is_deferred;         /* a decision was put off to the next turn (propose_must_wait) */
    int64_t suggest_us;       /* used by samplers in this turn; propose.h has the limit */
    int64_t events_sent;      /* the last line of the journal that went out to subscribers */
    struct loop_timer *timer; /* set to the next deadline at the end of each turn; NULL = no loop */
    struct serve *serve;      /* who waits (serve/serve.h); owned */

    /* ---- how well it goes (ctl_admits) ---- */

    int64_t started_ms;
    int64_t turn_start_us;    /* 0 = the turn has done nothing yet */
    int64_t turn_max_us;      /* the longest turn since the start */
    int64_t turn_avg_us;      /* moving average of a turn's work, without its commit */
    int64_t slow_turn_ms;     /* when the last slow turn ended */
    int64_t tick_failed_ms;   /* when the last tick failed; INT64_MIN = it went well */
    int64_t commit_failed_ms; /* when the last commit failed; INT64_MIN = never */
    bool commit_was_full;     /* that commit failed because the disk was full */
    struct ctl_stats stats;

    /* ---- owned by one file each ---- */

    int n_previews;                   /* being computed beside the loop (api/preview.c) */
    int64_t preview_by[CTL_PREVIEWS]; /* the token that asked for each of them */
    struct brief *briefs;             /* ended studies as lists show them (view/brief.c) */
    int n_briefs, cap_briefs;
    struct idmap brief_at;
    int64_t *unread; /* ids of large studies that are being read after the start (study.h); owned */
    int n_unread, cap_unread;
    struct start_job *starts;    /* how they are read (settle/load_start.c) */
    struct load_job *loads;      /* ended studies that are being read (settle/load_beside.c) */
    struct auth *auth;           /* links, tickets, who watches a token (serve/session.c) */
    struct uploads *uploads;     /* files/upload.c */
    struct rubbish *rubbish;     /* files/rubbish.c */
    struct predictor *predictor; /* serve/predict.c; NULL before the first request */
    struct pools *pools;         /* pool/pool.c; NULL = none are configured */
    bool is_folding;             /* the log is moved into the database (serve/housekeep.c) */
    bool is_backing_up;          /* files are being copied: none is deleted (api/service.c) */
    bool had_leases; /* at the start: runners may still name blobs that the last process promised */
};

/* Say that all open tasks, or what is stored of runners, may differ from the committed rows from
 * now on. Called before the first change of a request. */
void ctl_touch_tasks(struct ctl *ctl);
void ctl_touch_runners(struct ctl *ctl);
/* Asks for a tick at the next turn of the loop, because something that was made beside it is
 * ready. */
void ctl_tick_soon(struct ctl *ctl);
int64_t ctl_now(const struct ctl *ctl);  /* milliseconds of the monotonic clock */
int64_t ctl_wall(const struct ctl *ctl); /* milliseconds since 1970 */

#endif
