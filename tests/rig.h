/* rig.h - a controller without a network for tests: a temporary data folder, a manual clock, and fake runners that speak
 * proto/msg.h to the api directly. Every call is a request in a turn of its own, as one HTTP request would be. Fake scores
 * are a function of (configuration, level) only, so a study's result may depend on nothing else. */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "tests/unit.h"

#include "base/clk.h"
#include "controller/serve/turn.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/ctl.h"
#include "controller/state/study.h"
#include "proto/msg.h"

#include <jansson.h>

struct rig {
    char dir[300];
    struct ctl_conf conf;
    struct clk clk;
    struct ctl *ctl;
    bool committed;  /* of the last call */
    bool has_images; /* of tables that are added from now on */
};

enum { RIG_LEASE_MS = 1000 };

void rig_open(struct rig *r);
void rig_stop(struct rig *r); /* checks that the journal rebuilds the state, frees the controller */
void rig_close(struct rig *r);   /* rig_stop where it was not called, and removes the folder */
void rig_restart(struct rig *r); /* as after kill -9: what was not committed is gone */
void rig_turn(struct rig *r);    /* the end of a turn; rig_counts_check */
void rig_pass(struct rig *r, int64_t ms); /* time passes, the timer fires */

/* What the controller counts as runners and leases come and go, is what a walk over them finds. */
void rig_counts_check(struct ctl *ctl);

/* One request in a turn of its own: 0 only after its commit, or -1 with rig_err. */
#define RIG_CALL(r, call) (rig_begin(r) < 0 ? -1 : rig_end(r, (call)))
int rig_begin(struct rig *r);
int rig_end(struct rig *r, int rc);
extern struct err rig_err; /* of the last call */
/* A fault that stays (fault_arm_from) is ended by the second failure of a call in a row, as a disk that is well again:
 * rig_healed says that one was. */
extern bool rig_healed;
void rig_heal(void);

json_t *rig_json(const char *text); /* ' stands for " */
const char *rig_blob(struct rig *r, const char *tag,
                     char out[SHA256_HEX]); /* a blob's row, named by a tag */
/* The bytes of a blob whose row there is, right or wrong. */
void rig_file(struct rig *r, const char *sha256, const void *bytes, size_t n);
/* The same with a file that begins as a model does. */
const char *rig_model(struct rig *r, const char *tag, char out[SHA256_HEX]);
/* A table with columns x1..x5, c, y (binary, 1000 rows), ready after a fake ingest. */
void rig_dataset(struct rig *r, const char *name);
int64_t rig_study(struct rig *r, const char *spec); /* ' stands for "; its id */
struct study *rig_get(struct rig *r, int64_t study);
char *rig_board(
    struct rig *r,
    int64_t study); /* leaderboard and result as text without times, for comparing; free() */
int64_t rig_count(struct rig *r, int64_t study, enum trial_state s);
/* What its searchers would decide next, as one number (tests/search/probe.h). They are used up by it: study_reload. */
uint64_t rig_probe(struct rig *r, int64_t study);

/* ---- fake runners ---- */

struct fake_trial {
    int64_t trial, fence, seq;
    int from, to, max;
    char config[1024];
    enum msg_type next; /* what it sends next: RUNG, FINAL, COMPLETE, PAUSED */
};
struct fake {
    struct rig *rig;
    int64_t id;
    char session[33], device[16];
    int64_t n;
    int64_t asked; /* the last call whose answer arrived */
    struct fake_trial trials[MSG_MAX_TRIALS];
    int n_trials, max_trials;
    double (*score)(const char *config, int level);
    bool blends;          /* its trials leave predictions, and it takes ensembles */
    bool refit_is_better; /* a refit of the best model is likely to be worth more than these */
    struct making {       /* the task of an ensemble that it holds; task 0 = none */
        int64_t task, fence;
        int n_models;
        int64_t first; /* the id of the first trial of these */
    } making;
};

void fake_open(struct fake *f, struct rig *r, const char *session, int max_trials);
/* The same with another device than a core; kind: "cpu" or "cuda". */
void fake_open_kind(struct fake *f, struct rig *r, const char *session, int max_trials,
                    const char *kind);
/* A core that makes ensembles, too: fake_ask takes the task, fake_blend ends it. */
void fake_open_blending(struct fake *f, struct rig *r, const char *session, int max_trials);
/* The ensemble has this score, and is better than the best single model or not. The answer, and the
 * name of its file. */
enum msg_action fake_blend(struct fake *f, double score, bool is_better, char blob[SHA256_HEX]);
/* One lease call; takes the trials. Returns how many came; tasks are worked off at once (then 0 trials come). */
int fake_ask(struct fake *f);
json_t *fake_ask_of(struct fake *f,
                    const json_t *ask); /* a lease call as given; the grant, owned */
json_t *fake_ask_raw(struct fake *f, int64_t n, int max_trials); /* the grant as it came, owned */
/* Sends what trial i has to say and does what is answered; a trial that is over leaves the list. */
enum msg_action fake_step(struct fake *f, int i);
void fake_event(const struct fake *f, int i, struct msg_event *e); /* what trial i would send now */
/* A report with these events, listing all trials held; the answer (msg_answer_fini by the caller). */
int fake_report(struct fake *f, const struct msg_event *events, int n, struct msg_answer *out);
void fake_drop(struct fake *f, int i); /* forgets the trial without a word */
double fake_score(const char *config, int level);
double fake_same_score(const char *config, int level); /* 0.5: nothing ever gets better */
/* Trials run one after another until the study has n; reload: it is read again from its rows at each step. */
void rig_run_until(struct rig *r, int64_t study, double (*score)(const char *, int), int n,
                   bool reload);
/* Opens r with a dataset "d" and this study, and runs n trials with fake_same_score. */
struct study *rig_study_of(struct rig *r, const char *spec, int n);
/* The family's place in study.families, which has it. */
int rig_family(const struct study *st, const char *family);

/* Runners ask and answer in random order with random delays until the study ended. restart_every: a controller killed about
 * every so many steps, 0 = never; die_every: likewise a runner. */
void rig_run(struct rig *r, int64_t study, int runners, uint64_t seed, int restart_every,
             int die_every);

#endif
