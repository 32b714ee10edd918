/* swarm.h - thousands of simulated runners on one thread, for benchmarks. Each has one device and one TCP connection and speaks
 * the real protocol: it says hello, asks for work by long poll, renews its leases every third of their period while its trials
 * run, reports their ends, and sends a call again, after the pauses of a real runner, until it is answered. Its trials take no
 * processor time and their scores are made up, so that what is measured is the controller.
 *
 * A real runner has a second connection for the renewals that it sends while a call waits for work; this one renews only while
 * its trials run. tests/e2e/fleet.h has runners whose results may be compared; these are faster and say less. */
#ifndef TESTS_SWARM_H
#define TESTS_SWARM_H

#include "base/sha256.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum swarm_call { SWARM_HELLO, SWARM_LEASE, SWARM_REPORT, SWARM_RENEW, SWARM_CALLS };
extern const char *const swarm_call_names[SWARM_CALLS];

struct swarm_conf {
    int runners, group; /* group: trials that a runner takes at once */
    double
        rate; /* trials take so long that all runners together end so many a second; 0 = they take no time */
    double start_s;       /* they say hello one after another in so many seconds */
    const char *sessions; /* how their sessions' names begin; another word makes them new runners */
    int port;
    const char *token;
    char model[SHA256_HEX]; /* the file that trials leave which are kept; the controller has it */
    int64_t most;           /* the loop breaks after so many trials */
};

struct swarm_times { /* of answered calls, since swarm_forget */
    int64_t *us;
    int n, cap;
};

struct swarm_peer;

struct swarm {
    struct swarm_conf conf;
    struct event_base *base; /* owned; the owner of the swarm may add events */
    struct swarm_peer *peers;
    struct swarm_times times[SWARM_CALLS];
    int64_t n_done, n_grants; /* ends of trials that were acknowledged; grants */
    int64_t n_lost,
        n_busy; /* since swarm_forget: connections that ended, calls that were answered 503 */
    int64_t n_refused;    /* calls that were refused for another reason, which is a fault */
    int64_t n_stale;      /* since swarm_forget: trials that another runner has now */
    int64_t n_twice;      /* trials whose end was acknowledged a second time, which is a fault */
    int n_answered;       /* runners that have had an answer since swarm_forget */
    unsigned char *ended; /* by the trial's id: its end was acknowledged */
    int64_t cap_ended;
};

/* What a simulated runner of one core says first; its name is its session's. */
json_t *swarm_hello_json_new(const char *session, int max_trials);
/* The texts of conf are borrowed. */
void swarm_start(struct swarm *s, const struct swarm_conf *conf);
/* Forgets what was counted and timed, but not which trials have ended. */
void swarm_forget(struct swarm *s);
/* Runs the loop for so many seconds, or until somebody breaks it. */
void swarm_run(struct swarm *s, double seconds);
void swarm_free(struct swarm *s);

int64_t swarm_now_us(void);
/* Sorts; the value below which so many per cent lie; 0 without any. */
double swarm_ms(struct swarm_times *t, double percent);
void swarm_time_add(struct swarm_times *t, int64_t us);

#endif
