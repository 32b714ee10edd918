/* fake.h - a controller for the runner's tests: registers, grants what the test queued, keeps blobs in memory, answers
 * reports by the test's rule, and checks on the way what every runner owes: consecutive numbers, repeats that are equal,
 * blobs acknowledged before they are named. */
#ifndef TESTS_RUNNER_FAKE_H
#define TESTS_RUNNER_FAKE_H

#include "proto/msg.h"
#include "tests/runner/server.h"

struct fake;

enum { FAKE_EVENTS_MAX = 512 };
struct fake_event { /* one a message, repeats not counted */
    enum msg_type type;
    int64_t trial, fence, seq;
    int level;
    double value;
    bool cut;
    enum trial_reason reason;
    char blob[SHA256_HEX], detail[400];
};

struct fake_rules {
    int64_t lease_ms;
    int64_t empty_ms; /* how long an ask without work waits */
    /* Before anything else, for every request: true = *a is the answer (or the way to have none). */
    bool (*on_request)(void *arg, const struct server_request *r, struct server_answer *a);
    /* The reply to a new message; NULL: final drops, rungs run to 3, the rest ok. */
    struct msg_reply (*on_event)(void *arg, const struct fake_event *ev);
    /* May add stops and drain to an answer. */
    void (*on_answer)(void *arg, const struct msg_report *r, struct msg_answer *m);
    void *arg;
};

struct fake *fake_new(struct loop *loop, const char *socket, const struct fake_rules *rules);
void fake_free(struct fake *f);
struct server *fake_server(struct fake *f);
void fake_forget_runners(struct fake *f); /* as a controller with a new database */
void fake_grant(struct fake *f,
                const struct msg_grant *g); /* copied; handed to whoever asks first */
int fake_asks_waiting_grants(const struct fake *f);
void fake_blob(struct fake *f, const void *p, size_t n, char sha256[SHA256_HEX]);
bool fake_has_blob(const struct fake *f, const char *sha256, const char **bytes, size_t *n);
int fake_blob_gets(const struct fake *f);

int fake_n_events(const struct fake *f);
const struct fake_event *fake_event(const struct fake *f, int i);
const struct fake_event *fake_find(const struct fake *f, enum msg_type type,
                                   int64_t trial); /* the last such; NULL */
int fake_count(const struct fake *f, enum msg_type type);
int fake_repeats(const struct fake *f); /* messages that came again */
int fake_hellos(const struct fake *f);
const struct msg_hello *fake_hello(const struct fake *f);
int fake_n_held(const struct fake *f);                  /* in the last report */
bool fake_is_held(const struct fake *f, int64_t trial); /* in the last report */

#endif
