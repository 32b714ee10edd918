/* damage.h - studies that are not in memory because their rows cannot be read or make no sense. One such study stops nothing
 * else: it is listed as damaged with the reason, its rows can be exported as they are, and it can be deleted. Its trials are
 * stale to the runners that hold them; its rows stay untouched, so that a repaired file or another version may go on.
 *
 * Two kinds. What the database could not read now (a disk error, no memory) is read again, after a pause that doubles; what
 * was read and makes no sense is not looked at again before a restart. */
#ifndef CONTROLLER_STATE_DAMAGE_H
#define CONTROLLER_STATE_DAMAGE_H

#include "controller/state/ctl.h"
#include "store/study.h"

/* Facts of a study in memory that its rows do not hold; they outlive a time outside memory. */
struct study_kept {
    int64_t used_ms, keep_ms, trial_us;
    bool was_running; /* its clock ran */
};

struct damage {
    int64_t study;
    struct err why;
    int tries; /* failed ones */
    int64_t due_ms;
    struct study_kept kept;
};

/* Reading this again may go better. */
bool damage_is_passing(const struct err *err);

void damage_note(struct ctl *ctl, int64_t study, const struct err *why,
                 const struct study_kept *kept); /* kept: NULL = nothing */
void damage_forget(struct ctl *ctl, int64_t study);
struct damage *damage_of(const struct ctl *ctl,
                         int64_t study); /* NULL = none; valid until the next note */
/* Asked before a study is loaded: 0, or -1 (it is damaged, or its next try is not due). */
int damage_check(struct ctl *ctl, int64_t study, struct err *err);
/* True when its trials must not wait for it any longer. */
bool damage_is_lasting(const struct ctl *ctl, int64_t study);

/* This study's rows made the present request fail. When the request is undone the study leaves memory, so that whatever
 * serves all studies goes on without it. Returns -1. Errors that may pass by themselves convict nobody. */
int damage_suspect(struct ctl *ctl, int64_t study, const struct err *err);
int64_t damage_due(const struct ctl *ctl);

#endif
