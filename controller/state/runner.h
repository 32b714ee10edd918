/* runner.h - runners in memory: which are known, which devices they have, and what each device was
 * last given. A runner here is one life of a runner's process, that is, one session: a process that
 * starts again is another runner.
 *
 * The row keeps a runner's name, numeric class, labels, devices (with their quarantines) and the
 * state that a user or quarantine.h wants: "enabled", "draining", "quarantined", or "gone". Whether
 * it is there is not stored: that follows from when it was last heard of, on the monotonic clock.
 * Used by serve/ (granting, reports, long polls), decide/ (how many devices there are) and api/. */
#ifndef CONTROLLER_STATE_RUNNER_H
#define CONTROLLER_STATE_RUNNER_H

#include "controller/state/ctl.h"
#include "store/runner.h"

/* A device that failed by the machine with so many different trials in a row is put into
 * quarantine. */
enum { RUNNER_FAILS_MAX = 3 };

struct device {
    struct msg_device is; /* as the runner described it */

    /* Changed by quarantine.c alone, and stored in the runner's row, except for `fails` and
     * `failed`. */
    bool is_quarantined, is_on_probation;
    int64_t quarantined_until; /* monotonic ms */
    int64_t quarantine_ms;     /* length of the last quarantine; 0 = none since it last worked */
    int fails;                 /* trials in `failed` */
    int64_t failed[RUNNER_FAILS_MAX]; /* the trials that failed here since one last ended well */

    /* The last lease call of this device and its answer. A runner that did not get the answer
     * repeats the call with the same number and gets the same grant, which is kept until a report
     * says that it has arrived: ten thousand of them would take 150 MB. */
    int64_t last_n;     /* number of that call; 0 = there was none */
    json_t *last_grant; /* its grant; NULL = it got no work, or has this grant; owned */
    int64_t grant_turn, grant_request; /* the turn and the request that made the grant */

    int n_leases; /* runner_leased */
};

/* What devices that take work can do together. */
struct fleet_share {
    int devices, idle;       /* idle: hold no lease */
    int trials;              /* that they take at once */
    int all_gpus, idle_gpus; /* among `devices` and `idle` */
    int cpus, gpus;          /* among them, those that take users' programs */
};

struct runner {
    struct runner_row row;
    struct device *devices; /* owned */
    int n_devices;
    int64_t heard_ms;       /* monotonic ms of its last lease call or report */
    int n_leases;           /* runner_leased */
    int n_waits;            /* its lease calls that wait for work; changed by runner_waits alone */
    struct ctl_wait *waits; /* the newest of these calls (serve/wait.c) */

    /* What this runner adds to its class at present (runner_count). */
    bool was_here;
    int class_at; /* its place among the classes of numeric signatures; -1 = it adds nothing */
    struct fleet_share share;
};

/* Reads all runners from their rows, except those that are gone, in the place of those in
 * memory. The caller then counts their leases (lease_tally); so it does after runner_reload. */
int runner_load_all(struct ctl *ctl, struct err *err);
/* The same after something was undone: what is only in memory stays (when each was heard of, its
 * waiting calls, the last grants). On failure nothing changes. */
int runner_reload(struct ctl *ctl, struct err *err);
void runner_free_all(struct ctl *ctl);
void runner_fini(struct ctl *ctl); /* the same, and the lists and indexes themselves */
/* Forgets runners that were silent for long and hold nothing. It looks once a second. */
int runner_tick(struct ctl *ctl, struct err *err);
/* Forgets the grants made in this turn, or only those of this request, because what made them was
 * undone: the runner never got them, and its repeated call is a new one. */
void runner_forget_grants(struct ctl *ctl, bool by_turn);

struct runner *runner_find(struct ctl *ctl, int64_t id); /* NULL = none */
/* The runner that speaks, which thereby has been heard of. NULL with ERR_NOTFOUND (not known: it
 * must register again), ERR_STALE (that runner has another session), or ERR_DENIED (it registered
 * with another token). */
struct runner *runner_of(struct ctl *ctl, int64_t token, int64_t id, const char *session,
                         struct err *err);
/* The runner of a session that registers: the one in memory, else the one in its row, else a new
 * one, whose row runner_hello writes. NULL with ERR_DENIED if that session registered with another
 * token. */
struct runner *runner_of_session(struct ctl *ctl, int64_t token, const char *session,
                                 struct err *err);
/* The runner of that session if it is in memory and registered with this token; NULL = there is none. */
struct runner *runner_known(struct ctl *ctl, int64_t token, const char *session);
/* Takes over what a runner says of itself when it registers, and writes its row. Devices that it
 * had before keep their quarantine and their last grant. */
int runner_hello(struct ctl *ctl, struct runner *r, int64_t token, const struct msg_hello *m,
                 struct err *err);
/* Forgets a runner that has ended and holds no lease: its row says "gone". */
int runner_forget(struct ctl *ctl, struct runner *r, struct err *err);
struct device *runner_device(struct runner *r, const char *id); /* NULL = it has no such device */

/* To be called whenever a change of the runner may change what it adds to runner_capacity, unless
 * runner_put follows, which does it. */
void runner_count(struct ctl *ctl, struct runner *r);
void runner_heard(struct ctl *ctl, struct runner *r); /* now */
/* A lease of this device came (by 1) or went (-1). Without effect if it is not known. */
void runner_leased(struct ctl *ctl, int64_t id, const char *device, int by);
void runner_leases_forget(struct ctl *ctl, struct runner *r); /* NULL = of all */
/* A lease call of the runner begins to wait (by 1), or ends (-1). */
void runner_waits(struct ctl *ctl, struct runner *r, int by);
int runner_here(struct ctl *ctl); /* how many are here */

/* Whether it will take work soon: it was heard of within a lease period, or one of its calls
 * waits. */
bool runner_is_here(const struct ctl *ctl, const struct runner *r);
bool runner_is_enabled(const struct runner *r);
int64_t runner_silent_ms(const struct ctl *ctl, const struct runner *r); /* since it was heard of */
/* How many trials all devices together take at once: devices outside quarantine, of enabled runners
 * that are here, of this numeric class (sig NULL or "" = of any). *n_devices counts these devices,
 * and *n_idle those among them that hold no lease. */
int runner_capacity(struct ctl *ctl, const char *sig, int *n_devices, int *n_idle);
/* How many GPUs are among those devices, and how many of them hold no lease. */
int runner_gpus(struct ctl *ctl, const char *sig, int *n_idle);
/* Whether this device runs trials with that command (the part of a spec, proto/command.h): the
 * runner allows programs of users, and the device is a GPU if and only if the command wants one. */
bool device_takes(const struct device *d, const json_t *command);
bool runner_takes(const struct runner *r, const json_t *command);
/* As runner_capacity, of devices that take the command; each takes one trial. */
int runner_capacity_command(struct ctl *ctl, const json_t *command);
/* Whether a runner, or any of all that are known, makes ensembles: runners of older versions do not. */
bool runner_blends(const struct runner *r);
bool runner_any_blends(const struct ctl *ctl);

int runner_put(struct ctl *ctl, struct runner *r, struct err *err); /* writes its row */

#endif
