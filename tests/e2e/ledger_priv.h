/* ledger_priv.h - the ledger's inside, shared by ledger.c (writing down) and ledger_check.c (checking). */
#ifndef TESTS_E2E_LEDGER_PRIV_H
#define TESTS_E2E_LEDGER_PRIV_H

#include "tests/e2e/ledger.h"

#include <pthread.h>

struct id_list {
    int64_t *ids;
    int n;
};
struct blob_seen {
    char sha256[SHA256_HEX], what[40];
};
struct trial_end {
    int64_t trial;
    char state[16];
    bool has_score;
    double score;
};
struct ledger {
    pthread_mutex_t lock;
    char wrong[600];
    struct id_list studies, datasets;
    struct blob_seen *blobs;
    int n_blobs;
    struct trial_end *ends;
    int n_ends;
    uint64_t *events; /* by seq: hash of what was told, 0 = not seen */
    int64_t cap_events, last_event;
    int n_events;
};

uint64_t ledger_event_hash(const char *event, int64_t study, int64_t trial, const char *data);
char *ledger_data_text(const json_t *data); /* mem_free */

#endif
