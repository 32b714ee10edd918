/* fleet.h - many simulated runners on one thread, which speak the real protocol over Unix sockets: they ask, report, upload
 * checkpoints and models, and send a call again until its answer has arrived. Nothing is trained: what a trial reaches is a
 * function of its configuration and its level only, so that a study's result may depend on nothing else. Whatever an answer
 * acknowledges goes to the ledger. Any of them can be made to vanish, as a machine that loses power does. */
#ifndef TESTS_E2E_FLEET_H
#define TESTS_E2E_FLEET_H

#include "tests/e2e/ledger.h"

#include <stdint.h>

struct fleet;

enum { FLEET_DOORS = 8 };
struct fleet_conf {
    int runners, group;             /* group: trials that a runner takes at once */
    const char *doors[FLEET_DOORS]; /* sockets that they dial, in turn; the list ends at NULL */
    int work_ms;                    /* a report follows its grant after up to this time */
    int silent_ms; /* in one of 200 reports a runner is silent for so long before it; 0 = never */
    int fail_percent;  /* of the configurations diverge at their last level */
    uint64_t seed;     /* of times; results do not depend on it */
    const char *label; /* of their names, which are unique in a service */
};
struct fleet_counts {
    int64_t trials;  /* ends that were acknowledged */
    int64_t reports; /* values at levels that were acknowledged */
    int64_t resumed; /* trials that began from a checkpoint of another runner */
    int64_t full;    /* calls that were refused because the disk was full */
    int64_t stale, lost, again, vanished;
};
/* A value that the service said it has: trial by its id. level 0: the trial has ended. */
struct fleet_report {
    int64_t trial;
    int level;
    double value;
};

/* The conf is copied, the ledger borrowed. */
struct fleet *fleet_start(const struct fleet_conf *conf, struct ledger *ledger);
struct fleet_counts fleet_counts(struct fleet *f); /* from any thread */
/* So many runners lose all that they hold, and come back as new ones. */
void fleet_vanish(struct fleet *f, int n);
/* Ends the thread; what was acknowledged stays readable until fleet_free. */
void fleet_stop(struct fleet *f);
/* The last that were acknowledged, from any thread; returns how many. */
int fleet_newest(struct fleet *f, struct fleet_report *out, int max);
const struct fleet_report *fleet_reports(const struct fleet *f, int64_t *n);
void fleet_free(struct fleet *f); /* NULL is legal */

#endif
