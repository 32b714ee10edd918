/* damage.h - the list of damaged studies: those that are not in memory because their rows could not
 * be read, or make no sense. A damaged study stops nothing else. It is shown with the state
 * "damaged" and the reason, its rows can be exported as they are, and it can be deleted. Messages
 * about its trials are refused as stale. Its rows are not touched, so that a repaired database or
 * another version of the controller can go on with it.
 *
 * There are two kinds. If the database could not be read (a disk error, no memory), the damage may
 * pass: the study is read again after a pause, which doubles each time. If the rows were read and
 * make no sense, they are not read again before the controller restarts. Used by settle/load.c,
 * which loads studies, and by all who must go on without one. */
#ifndef CONTROLLER_STATE_DAMAGE_H
#define CONTROLLER_STATE_DAMAGE_H

#include "controller/state/ctl.h"
#include "store/study.h"

/* Facts of a study in memory that its rows do not hold. The list keeps them until the study can be
 * read again, so that its budget is not longer than it should be. */
struct study_kept {
    int64_t used_ms, keep_ms, trial_us; /* see struct study */
    bool was_running;                   /* the clock of its budget ran */
};

struct damage {
    int64_t study;
    struct err why;
    int tries;      /* attempts to read it that failed */
    int64_t due_ms; /* monotonic ms of the next attempt; INT64_MAX = there is none */
    struct study_kept kept;
};

/* Whether reading the same rows again may succeed. */
bool damage_is_passing(const struct err *err);

/* Puts a study into the list, or counts one more failed attempt. kept NULL = what is there
 * stays. */
void damage_note(struct ctl *ctl, int64_t study, const struct err *why,
                 const struct study_kept *kept);
void damage_forget(struct ctl *ctl, int64_t study); /* takes it off the list, if it is there */
/* NULL = it is not damaged. Valid until the list changes. */
struct damage *damage_of(const struct ctl *ctl, int64_t study);
/* Asked before a study is loaded: 0 = try it, or -1 because it is damaged, or because its next
 * attempt is not due. */
int damage_check(struct ctl *ctl, int64_t study, struct err *err);
/* Whether its runners and trials should no longer wait for it to become readable. */
bool damage_is_lasting(const struct ctl *ctl, int64_t study);

/* Says that rows of this study made the present request fail, and returns -1. When the request
 * is undone (ctl_request_end), the study leaves memory and is listed, so that requests which
 * serve all studies, such as a tick, succeed without it. An error that may pass by itself
 * accuses no study. */
int damage_suspect(struct ctl *ctl, int64_t study, const struct err *err);
int64_t damage_due(const struct ctl *ctl); /* monotonic ms of the first attempt that is due */

#endif
