/* damage.c - keeps the list of damaged studies (damage.h). A study is in the list if the controller
 * failed to read it since it started, and has neither read it nor found it deleted since then. */
#include "controller/state/damage.h"

#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>

enum {
    FIRST_PAUSE_MS = 250,
    LONGEST_PAUSE_MS = 600000,
    LASTING_TRIES = 4 /* about 2 s after the first attempt (250 + 500 + 1,000 ms) */
};

bool damage_is_passing(const struct err *err)
{
    switch (err->code) {
    case ERR_IO:
    case ERR_NOMEM:
    case ERR_BUSY:
    case ERR_FULL:
    case ERR_TIMEOUT:
        return true;
    default:
        return false;
    }
}

struct damage *damage_of(const struct ctl *ctl, int64_t study)
{
    for (int i = 0; i < ctl->n_damages; i++) {
        if (ctl->damages[i].study == study)
            return &ctl->damages[i];
    }
    return NULL;
}

void damage_forget(struct ctl *ctl, int64_t study)
{
    struct damage *d = damage_of(ctl, study);

    if (d)
        *d = ctl->damages[--ctl->n_damages];
}

static int64_t pause_ms(int tries)
{
    int64_t ms = FIRST_PAUSE_MS;

    CHECK(tries >= 1);
    for (int i = 1; i < tries && ms < LONGEST_PAUSE_MS; i++)
        ms *= 2;
    return MIN(ms, LONGEST_PAUSE_MS);
}

void damage_note(struct ctl *ctl, int64_t study, const struct err *why,
                 const struct study_kept *kept)
{
    struct damage *d = damage_of(ctl, study);

    CHECK(why->code != ERR_NONE); /* the id is what a row says: a damaged row may say 0 */
    if (!d) {
        MEM_GROW(ctl->damages, ctl->n_damages, ctl->cap_damages);
        d = &ctl->damages[ctl->n_damages++];
        *d = (struct damage){ .study = study };
    }
    d->why = *why;
    d->tries++;
    d->due_ms = damage_is_passing(why) ? ctl_now(ctl) + pause_ms(d->tries) : INT64_MAX;
    if (kept)
        d->kept = *kept;
    log_error("study.damaged study=%" PRId64 " tries=%d err=\"%s\"", study, d->tries, why->text);
}

int damage_check(struct ctl *ctl, int64_t study, struct err *err)
{
    struct damage *d = damage_of(ctl, study);
    struct study_row row = { 0 };

    if (!d)
        return 0;
    if (store_study_get(ctl->store, study, &row, NULL) == 0) {
        damage_forget(ctl, study); /* the study was deleted since then, or was never committed */
        return 0;
    }
    study_row_fini(&row);
    if (!damage_is_passing(&d->why))
        return err_set(err, ERR_CONFLICT,
                       "study %" PRId64
                       " is damaged (%s): its rows can be exported, and it can be deleted",
                       study, d->why.text);
    if (ctl_now(ctl) >= d->due_ms)
        return 0;
    return err_set(err, ERR_BUSY, "study %" PRId64 " cannot be read now: %s", study, d->why.text);
}

bool damage_is_lasting(const struct ctl *ctl, int64_t study)
{
    const struct damage *d = damage_of(ctl, study);

    return d && (!damage_is_passing(&d->why) || d->tries >= LASTING_TRIES);
}

int damage_suspect(struct ctl *ctl, int64_t study, const struct err *err)
{
    if (ctl->in_request && !ctl->suspect && err && !damage_is_passing(err)) {
        ctl->suspect = study;
        ctl->suspect_why = *err;
    }
    return -1;
}

int64_t damage_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_damages; i++)
        due = MIN(due, ctl->damages[i].due_ms);
    return due;
}
