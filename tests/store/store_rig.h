/* store_rig.h - what the tests of store/ share: a store in a folder of its own with a clock, and small rows made in one
 * line. Every test has its own rig; nothing is shared between tests. */
#ifndef TESTS_STORE_STORE_RIG_H
#define TESTS_STORE_STORE_RIG_H

#include "store/blob.h"
#include "store/journal.h"
#include "store/runner.h"
#include "store/store.h"
#include "store/study.h"
#include "store/token.h"
#include "store/trial.h"

struct store_rig {
    char dir[200]; /* made by mkdtemp; the data folder is dir/data */
    char data[220];
    struct clk clk; /* the system's: advance it to make things old */
    struct store *store;
};
struct store_rig *store_rig_new(void);
void store_rig_free(struct store_rig *r);
void store_rig_restart(struct store_rig *r); /* close without commit, open again */

/* Each is one call into store/ that must succeed; ids are returned. */
int64_t store_rig_study(struct store_rig *r, const char *name);
int64_t store_rig_trial(struct store_rig *r, int64_t study, int64_t number);
int64_t store_rig_runner(struct store_rig *r, const char *session);
void store_rig_commit(struct store_rig *r);
/* The trial's state steps by ev, through proto/trial.h's table. */
int store_rig_step(struct store *s, int64_t trial, enum trial_event ev, struct err *err);
int store_rig_study_step(struct store *s, int64_t study, enum study_event ev, struct err *err);
int64_t store_rig_count(struct store_rig *r, const char *sql); /* first column of the one row */
/* Blob of n bytes made from seed: file and, when kind is not NULL, row. */
void store_rig_blob(struct store_rig *r, unsigned seed, size_t n, const char *kind,
                    char sha256[SHA256_HEX]);
/* A judge that lets everything go that nothing names. */
extern const struct blob_judge store_rig_all;
/* Collects until every folder was seen, each call in a turn of its own; bytes of the files that went. */
int64_t store_rig_collect(struct store_rig *r, const struct blob_judge *judge);
/* Digest and replay: the journal must rebuild what the rows say. */
void store_rig_check_replay(struct store_rig *r);

#endif
