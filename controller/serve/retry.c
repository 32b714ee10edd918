/* retry.c - attempts of trials that fail by the machine; see retry.h for the rules. A study keeps a
 * short list of such trials, since only a few can be in this state before the study pauses. */
#include "controller/serve/retry.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/runner.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    RETRIES_MAX = 16,      /* trials of one study; the one that is due first makes room */
    FIRST_PAUSE_MS = 1000, /* before the third attempt; then 2 s and 4 s */
    PAUSE_MAX_MS = 60000,  /* of a study that cannot be paused, because it is ending */
    SENTENCE = 700
};

static struct retry *find(const struct study *st, int64_t number)
{
    for (int i = 0; i < st->n_retries; i++) {
        if (st->retries[i].number == number)
            return &st->retries[i];
    }
    return NULL;
}

/* A new entry. If the list is full, it takes the place of the entry that is due first. */
static struct retry *add(struct study *st, int64_t number)
{
    struct retry *r = NULL;

    if (!st->retries)
        st->retries = mem_array(RETRIES_MAX, sizeof *st->retries);
    if (st->n_retries < RETRIES_MAX) {
        r = &st->retries[st->n_retries++];
    } else {
        r = &st->retries[0];
        for (int i = 1; i < st->n_retries; i++) {
            if (st->retries[i].next_ms < r->next_ms)
                r = &st->retries[i];
        }
    }
    *r = (struct retry){ .number = number };
    return r;
}

/* Pauses the study, with a sentence that tells a user what to do. */
static int pause(struct study *st, int64_t number, const struct lease *l, const char *what,
                 struct err *err)
{
    const struct runner *r = runner_find(st->ctl, l->runner);
    char text[SENTENCE];

    (void)snprintf(text, sizeof text,
                   "trial %" PRId64
                   " failed %d times in a row by the machine, last on runner %.60s, "
                   "device %.30s: %.300s; repair or drain that runner, then resume the study",
                   number, RETRY_ATTEMPTS, r ? r->row.name : "(unknown)",
                   l->device[0] ? l->device : "(unknown)", what);
    log_error("trial.hopeless study=%" PRId64 " name=%s trial=%" PRId64 " err=\"%s\"", st->row.id,
              st->row.name, number, what);
    retry_forget(st);
    ctl_touch(st->ctl, st);
    study_clock_stop(st);
    return study_move(st, SE_PAUSE, text, NULL, err) < 0 ? -1 : 0;
}

int retry_failed(struct study *st, int64_t number, const struct lease *l, const char *detail,
                 struct err *err)
{
    const char *what = detail && detail[0] ? detail : "no details are known";
    struct retry *r = find(st, number);
    int64_t ms = 0;

    if (!r)
        r = add(st, number);
    CHECK(st->n_retries <= RETRIES_MAX && r->fails >= 0);
    r->fails++;
    if (r->fails >= RETRY_ATTEMPTS && study_may(st, SE_PAUSE, NULL) == 0)
        return pause(st, number, l, what, err);
    if (r->fails >= 2) { /* the second attempt comes at once */
        ms = MIN((int64_t)FIRST_PAUSE_MS << MIN(r->fails - 2, 16), (int64_t)PAUSE_MAX_MS);
        r->next_ms = ctl_now(st->ctl) + ms;
    }
    log_warn("trial.retry study=%" PRId64 " trial=%" PRId64 " attempt=%d in_ms=%" PRId64
             " err=\"%s\"",
             st->row.id, number, r->fails + 1, ms, what);
    return 0;
}

void retry_worked(struct study *st, int64_t number)
{
    struct retry *r = find(st, number);

    if (r)
        *r = st->retries[--st->n_retries];
}

void retry_forget(struct study *st)
{
    st->n_retries = 0;
}

bool retry_waits(const struct study *st, int64_t number)
{
    const struct retry *r = find(st, number);

    return r && r->next_ms > ctl_now(st->ctl);
}

int retry_n_waiting(const struct study *st)
{
    int n = 0;

    for (int i = 0; i < st->n_retries; i++)
        n += st->retries[i].next_ms > ctl_now(st->ctl);
    return n;
}

void retry_tick(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];

        for (int k = 0; k < st->n_retries; k++) {
            if (st->retries[k].next_ms && st->retries[k].next_ms <= ctl_now(ctl)) {
                st->retries[k].next_ms = 0;
                ctl->has_news = true; /* waiting lease calls may get this trial */
            }
        }
    }
}

int64_t retry_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];

        for (int k = 0; k < st->n_retries; k++) {
            if (st->retries[k].next_ms)
                due = MIN(due, st->retries[k].next_ms);
        }
    }
    return due;
}
