/* fleet_priv.h - the fleet's inside: fleet.c has the runners and what they say, fleet_made.c what their
 * trials reach, fleet_http.c how a call reaches the service. */
#ifndef TESTS_E2E_FLEET_PRIV_H
#define TESTS_E2E_FLEET_PRIV_H

#include "base/rng.h"
#include "proto/msg.h"
#include "tests/e2e/fleet.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>

enum { FLEET_CONFIG = 1200, FLEET_GROUP = 8 };
/* The calls of a runner, and the steps of an upload. */
enum fleet_call { CALL_HELLO, CALL_LEASE, CALL_REPORT, CALL_BEGIN, CALL_PART, CALL_COMMIT };

struct fleet_trial {
    int64_t trial, fence, seq;
    int from, to, max;
    double score; /* at its top */
    enum msg_type next;
    char config[FLEET_CONFIG];
    char blob[SHA256_HEX]; /* what `next` names, once it is uploaded */
};
struct peer {
    struct fleet *fleet;
    const char *door;
    struct bufferevent *bev;
    struct event *timer;
    int index, life; /* life: the session's number */
    char session[33];
    int64_t runner, n; /* n: of the last lease call whose answer arrived */
    enum fleet_call call;
    bool is_waiting; /* for an answer */
    struct fleet_trial trials[FLEET_GROUP];
    int n_trials, n_events;   /* n_events: trials that the report under way speaks of */
    int64_t task, task_fence; /* a refit; 0 = none */
    char task_blob[SHA256_HEX], upload[80], *bytes;
    size_t n_bytes;
    int tries; /* of a call, one after another */
};
/* What the service has told the runners of a trial, together. */
struct fleet_known {
    int64_t fence;
    char session[33]; /* that was granted it under this fence */
    int saved;        /* the level of the last checkpoint that was acknowledged */
};
struct fleet {
    struct fleet_conf conf;
    struct fleet_known *known; /* by the trial's id */
    int64_t n_known;
    struct ledger *ledger;
    struct event_base *base;
    pthread_t thread;
    pthread_mutex_t lock; /* of counts and reports */
    struct fleet_counts counts;
    struct fleet_report *reports;
    int64_t cap_reports;
    struct rng rng;
    struct peer *peers;
    atomic_bool stop;
    atomic_int vanish;
    struct event *tick;
};

/* Sends a call; its answer comes to fleet_on_answer, unless the connection ends before: then fleet_on_lost is called. `type` is
 * that of the body. */
void fleet_send(struct peer *p, enum fleet_call call, const char *method, const char *path,
                const void *body, size_t n, const char *type);
void fleet_hang_up(struct peer *p);

/* In fleet.c. j: the answer's JSON, or an empty object; borrowed. */
void fleet_on_answer(struct peer *p, int status, const json_t *j);
void fleet_on_lost(struct peer *p);

/* In fleet_made.c. */
uint64_t fleet_draw(const char *config, uint64_t key);
double fleet_value(const char *config, int level);
bool fleet_diverges(const struct peer *p, const struct fleet_trial *t);
void fleet_checkpoint(const struct fleet_trial *t, int level, char out[SHA256_HEX]);
/* Puts the file that the trial names next into p->bytes; t NULL: the model of a refit. */
void fleet_file(struct peer *p, const struct fleet_trial *t);

#endif
