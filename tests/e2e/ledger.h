/* ledger.h - what a service has acknowledged to a client, and whether it still holds. Everything that an answer or an event
 * has told is written down here; afterwards the data folder (and, while it runs, the service) must still have it. Many
 * threads may write; the first contradiction is kept as text and is never forgotten. */
#ifndef TESTS_E2E_LEDGER_H
#define TESTS_E2E_LEDGER_H

#include "base/sha256.h"
#include "cli/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;

struct ledger *ledger_new(void);
void ledger_free(struct ledger *l);
/* The first contradiction, or NULL. The text stays until ledger_free. */
const char *ledger_wrong(struct ledger *l);
void ledger_fail(struct ledger *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

void ledger_study(struct ledger *l, int64_t id);
void ledger_dataset(struct ledger *l, int64_t id);
void ledger_blob(struct ledger *l, const char *sha256, const char *what);
/* A trial as an answer showed it: an end or an artifact that was told must stay so. */
void ledger_trial(struct ledger *l, const json_t *trial);
/* One event of the stream: {seq, study, trial, event, data}. The same seq must always carry the same event. */
void ledger_event(struct ledger *l, int64_t seq, const char *event, const json_t *row);
int64_t ledger_last_event(struct ledger *l);

struct ledger_counts {
    int studies, datasets, blobs, events, ends;
};
struct ledger_counts ledger_counts(struct ledger *l);

/* While the service runs, over `c`: every study, dataset, and the newest `blobs` blobs are there. Contradictions go to the
 * ledger; an unreachable service is none. */
void ledger_check_live(struct ledger *l, struct client *c, int blobs);
/* The stopped service's data folder: every acknowledged thing; every trial of an ended study at one end, and every trial with
 * exactly one end in the journal (none when it is not ended); the journal rebuilds the state; blobs that a row names
 * hash to their name; all_ended: every study has ended, with a model when it completed. */
void ledger_check_folder(struct ledger *l, const char *data_dir, bool all_ended);

#endif
