/* check.h - the invariants of a study in memory. */
#ifndef CONTROLLER_STATE_CHECK_H
#define CONTROLLER_STATE_CHECK_H

#include "controller/state/lease.h"
#include "controller/state/study.h"

/* CHECKs that counts, lists, board and leases of the study agree with its trials. */
void study_check(const struct study *st);

#endif
