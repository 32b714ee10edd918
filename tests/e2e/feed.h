/* feed.h - a reader of the event stream on a thread of its own. It comes back after each cut with the number of an earlier
 * event, so that what was told is told again and must be the same; everything goes to the ledger. A `resync` for an
 * event that was told means that it was lost. */
#ifndef TESTS_E2E_FEED_H
#define TESTS_E2E_FEED_H

#include "tests/e2e/ledger.h"

struct feed;

struct feed *feed_start(const char *socket_path, struct ledger *ledger);
void feed_stop(struct feed *f); /* joins and frees; NULL is legal */

#endif
