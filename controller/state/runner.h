/* runner.h - runners in memory: who is there, with which devices, what each device was last given, and how often it failed.
 * A runner is one process start (one session); its row keeps name, devices and state. */
#ifndef CONTROLLER_STATE_RUNNER_H
#define CONTROLLER_STATE_RUNNER_H

#include "controller/state/ctl.h"
#include "store/runner.h"

enum { RUNNER_FAILS_MAX = 3 }; /* different trials in a row */

struct device {
    struct msg_device is;
    /* Kept by quarantine.c: when this quarantine ends (monotonic), and how long the last one was (0 = there was none
     * since the device last worked). */
    bool is_quarantined, is_on_probation;
    int64_t quarantined_until, quarantine_ms;
    int fails;
    int64_t failed[RUNNER_FAILS_MAX];  /* trials of the present streak */
    int64_t last_n;                    /* last lease call answered; 0 = none */
    json_t *last_grant;                /* its answer, for a repeat; NULL = none was given */
    int64_t grant_turn, grant_request; /* who made it */
    int n_leases;                      /* as of the last tally */
};

struct runner {
    struct runner_row row;
    struct device *devices;
    int n_devices;
    int64_t heard_ms; /* monotonic; lease calls and reports */
    int n_leases;     /* as of the last tally */
    int n_waits;      /* lease calls that wait */
};

int runner_load_all(struct ctl *ctl, struct err *err);
/* Stored facts only; liveness stays. On failure the runners in memory stay as they are. */
int runner_reload(struct ctl *ctl, struct err *err);
void runner_free_all(struct ctl *ctl);
int runner_tick(struct ctl *ctl, struct err *err); /* forgets who has been gone for long */
/* Grants made in this turn (or request) never reached anybody: a repeat of the call is a new one. */
void runner_forget_grants(struct ctl *ctl, bool by_turn);

struct runner *runner_find(struct ctl *ctl, int64_t id); /* NULL */
/* By id, session and token: ERR_NOTFOUND (register again), ERR_STALE (another session) or ERR_DENIED (another token than
 * said hello). Marks it as heard. */
struct runner *runner_of(struct ctl *ctl, int64_t token, int64_t id, const char *session,
                         struct err *err);
struct device *runner_device(struct runner *r, const char *id);
/* It was heard of within a lease period, or waits for work: it takes some soon. */
bool runner_is_here(const struct ctl *ctl, const struct runner *r);
bool runner_is_enabled(const struct runner *r);
int64_t runner_silent_ms(const struct ctl *ctl, const struct runner *r); /* since it was heard */
/* Trials that the enabled devices of runners which are there hold in all (a killed one is not, after a lease); sig NULL = any. idle: devices without a lease. */
int runner_capacity(struct ctl *ctl, const char *sig, int *n_devices, int *n_idle);

void runner_tally(struct ctl *ctl); /* n_leases of runners and devices are true now */
int runner_put(struct ctl *ctl, struct runner *r, struct err *err); /* writes its row */

#endif
