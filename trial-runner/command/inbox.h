/* inbox.h - the address at which one program may report over HTTP while it runs: 127.0.0.1 and a port
 * of its own, with a token of its own. Both end with the program.
 *
 *   POST /report   {"level": 3, "score": 0.91} -> {"verdict": "continue|pause|stop", "level", "run_to"}
 *   GET  /params   the trial's parameters
 *
 * The answer to a report waits for the controller's verdict. */
#ifndef TRIAL_RUNNER_COMMAND_INBOX_H
#define TRIAL_RUNNER_COMMAND_INBOX_H

#include "base/err.h"
#include "trial-runner/command/report.h"

#include <poll.h>
#include <stdint.h>

enum { INBOX_CALLS = 8, INBOX_BYTES = 16 << 10 };

struct inbox_call {
    int fd; /* -1 = free */
    size_t len;
    int64_t until_ms; /* it must be complete by then; while it waits for a verdict: 0 */
    int level;        /* it waits for the verdict on this level; 0 = it is still being read */
    char text[INBOX_BYTES + 1];
};
struct inbox {
    int fd;
    char url[64], token[33];
    const json_t *params; /* borrowed */
    const char *metric;
    struct inbox_call calls[INBOX_CALLS];
    /* Takes a report; the level at which it counts, or -1 with the error that the program gets. */
    int (*on_report)(void *arg, const struct report *r, struct err *err);
    void *arg;
};

int inbox_open(struct inbox *d, struct err *err);
void inbox_close(struct inbox *d);
int inbox_poll(const struct inbox *d,
               struct pollfd *out); /* how many it filled: INBOX_CALLS + 1 at most */
void inbox_turn(struct inbox *d, int64_t now_ms);
/* Answers the calls that wait for a verdict on a level up to this one. */
void inbox_verdict(struct inbox *d, int level, const char *verdict, int run_to);

#endif
