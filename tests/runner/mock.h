/* mock.h - a controller for the runner's tests: registers, grants what the test queued, keeps blobs in memory, answers
 * reports by the test's rule, and checks on the way what every runner owes: consecutive numbers, repeats that are equal,
 * blobs acknowledged before they are named. */
#ifndef TESTS_RUNNER_MOCK_H
#define TESTS_RUNNER_MOCK_H

#include "proto/msg.h"
#include "tests/runner/server.h"

struct mock;

enum { MOCK_EVENTS_MAX = 512 };
struct mock_event { /* one a message, repeats not counted */
    enum msg_type type;
    int64_t trial, fence, seq;
    int level;
    double value;
    bool cut;
    enum trial_reason reason;
    char blob[SHA256_HEX], detail[6000];
};

struct mock_rules {
    int64_t lease_ms;
    int64_t empty_ms; /* how long an ask without work waits */
    /* Before anything else, for every request: true = *a is the answer (or the way to have none). */
    bool (*on_request)(void *arg, const struct server_request *r, struct server_answer *a);
    /* The reply to a new message; NULL: final drops, rungs run to 3, the rest ok. */
    struct msg_reply (*on_event)(void *arg, const struct mock_event *ev);
    /* May add stops and drain to an answer. */
    void (*on_answer)(void *arg, const struct msg_report *r, struct msg_answer *m);
    void *arg;
};

struct mock *mock_new(struct loop *loop, const char *socket, const struct mock_rules *rules);
void mock_free(struct mock *f);
struct server *mock_server(struct mock *f);
void mock_forget_runners(struct mock *f); /* as a controller with a new database */
void mock_grant(struct mock *f,
                const struct msg_grant *g); /* copied; handed to whoever asks first */
int mock_asks_waiting_grants(const struct mock *f);
void mock_blob(struct mock *f, const void *p, size_t n, char sha256[SHA256_HEX]);
bool mock_has_blob(const struct mock *f, const char *sha256, const char **bytes, size_t *n);
int mock_blob_gets(const struct mock *f);
int mock_drops(const struct mock *f); /* uploads that their maker deleted */

int mock_n_events(const struct mock *f);
const struct mock_event *mock_event(const struct mock *f, int i);
const struct mock_event *mock_find(const struct mock *f, enum msg_type type,
                                   int64_t trial); /* the last such; NULL */
int mock_count(const struct mock *f, enum msg_type type);
int mock_repeats(const struct mock *f); /* messages that came again */
int mock_hellos(const struct mock *f);
const struct msg_hello *mock_hello(const struct mock *f);
int mock_n_held(const struct mock *f);                  /* in the last report */
bool mock_is_held(const struct mock *f, int64_t trial); /* in the last report */

#endif
