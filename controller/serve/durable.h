/* durable.h - waits for the disk beside the loop. A commit writes to the database's log without
 * waiting (store_sync_apart); a thread then syncs the log, while the loop goes on with the requests
 * of the next turn. Answers, events and the next commit wait for it. Used by turn.c alone. */
#ifndef CONTROLLER_SERVE_DURABLE_H
#define CONTROLLER_SERVE_DURABLE_H

#include "base/loop.h"
#include "store/store.h"

#include <stdbool.h>

struct durable;

/* on_done is called on the loop's thread when what was committed is durable. NULL when the thread
 * cannot be started: then the store waits for the disk in each commit, as it does without a loop. */
struct durable *durable_new(struct store *store, struct loop *loop, void (*on_done)(void *arg),
                            void *arg);
/* Begins to sync. Not while it is busy. */
void durable_begin(struct durable *d);
bool durable_is_busy(const struct durable *d); /* on_done is still to come */
/* Waits for the sync that is under way, and calls on_done before it returns. */
void durable_wait(struct durable *d);
void durable_free(struct durable *d); /* NULL is legal; not while it is busy */

#endif
