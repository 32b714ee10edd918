/* user.h - a client that never rests, on a thread of its own: it uploads files, makes datasets, submits studies, reads
 * leaderboards and trials, downloads models, all at random by a seed, and writes what it was told into the ledger. A
 * controller that does not answer is its daily bread: it tries again. */
#ifndef TESTS_E2E_USER_H
#define TESTS_E2E_USER_H

#include "tests/e2e/ledger.h"
#include "tests/e2e/service.h"

struct user;

/* dataset: name of a ready dataset with the target `class`. The service is borrowed (its folder and socket). */
struct user *user_start(const struct service *s, struct ledger *ledger, const char *dataset,
                        uint64_t seed);
void user_submit_no_more(struct user *u);
int user_studies_ended(struct user *u);
void user_stop(struct user *u); /* joins and frees; NULL is legal */

#endif
