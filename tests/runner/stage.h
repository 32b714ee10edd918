/* stage.h - a supervisor on stage: the real agent with real or scripted workers, before a scripted controller (mock.h),
 * all on one loop. A test program that uses it is also its own worker: its main must see to --worker. */
#ifndef TESTS_RUNNER_STAGE_H
#define TESTS_RUNNER_STAGE_H

#include "tests/runner/mock.h"
#include "trial-runner/agent/agent.h"

struct stage {
    struct clk clk;
    struct loop *loop;
    struct mock *mock;
    struct mock_rules rules;
    struct runner_conf conf;
    struct http *http;
    struct cache *cache;
    struct agent *agent;
    struct msg_device devices[2];
    int n_devices;
    char socket[200], dir[200];
    bool (*until)(struct stage *g);
    bool in_time, stop_told, drain_told;
    int64_t stop_trial;
    enum msg_action final_action, rung_action;
    int run_to;               /* what run_to answers */
    int tear_every, requests; /* every nth request goes unanswered */
    bool no_uploads;
    int64_t checkpoint_ms; /* 0 = the default */
    int64_t device_bytes, drain_ms;
    int seen_before;
};

int stage_setup(
    void **state); /* a controller, no runner yet; fields may be set before stage_start */
int stage_teardown(void **state);
void stage_start(struct stage *g);
void stage_stop(struct stage *g); /* the runner only */
void stage_run_until(struct stage *g,
                     bool (*is_so)(struct stage *g)); /* fails the test after a minute */
void stage_run_for(struct stage *g, int64_t ms);

#endif
