/* replay.c - turns lines of the journal back into calls of the searchers (replay.h). The head of
 * decide/live.c says which lines those are, and why a replay gives the same searchers.
 *
 * A line about the end of a trial does not hold the trial's state and score: these are taken from
 * its row. That is right although the row is newer than the line, because a trial ends only once
 * and does not change afterwards. */
#include "controller/settle/replay.h"

#include "base/bisect.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "controller/decide/live.h"
#include "controller/decide/propose.h"
#include "controller/state/trial.h"
#include "store/journal.h"

#include <math.h>
#include <string.h>

enum {
    REPLAY_BATCH = 1000, /* lines that are read with one statement */
    JOURNAL_HEAD = 64    /* a warm start is among the first lines of a study */
};

struct replay {
    struct study *st;
    struct err *err;
    int64_t last;
    int n;
};

/* The number of the trial with this id; ids ascend with numbers. 0 = it is no trial of this
 * study. */
static int64_t number_of(const struct study *st, int64_t trial)
{
    int at;

    BISECT(at, st->n_trials, st->trials[at].id < trial);
    return at < st->n_trials && st->trials[at].id == trial ? at + 1 : 0;
}

static int replay_report(struct study *st, int64_t number, const json_t *data, struct err *err)
{
    const json_t *v = json_object_get(data, "value");
    struct happening h = { .kind = TRIAL_REPORTED,
                           .number = number,
                           .level = (int)json_integer_value(json_object_get(data, "level")),
                           .score = json_is_number(v) ? json_number_value(v) : NAN };

    return live_hear_one(st, &h, err);
}

static int replay_call(struct study *st, const char *event, const json_t *data, struct err *err)
{
    if (str_eq(event, "search.resume"))
        return live_resume_again(st, json_is_true(json_object_get(data, "idle")), err);
    if (str_eq(event, "search.suggest"))
        return propose_begun(st, json_integer_value(json_object_get(data, "number")), err);
    if (str_eq(event, "search.hold"))
        live_hold_again(st, (uint64_t)json_integer_value(json_object_get(data, "families")));
    if (str_eq(event, "search.retire"))
        return live_retire_again(st, json_is_true(json_object_get(data, "closing")), err);
    return 0;
}

static int replay_trial(struct study *st, int64_t number, const char *event, const json_t *data,
                        struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    enum trial_event ev;

    if (str_eq(event, "trial.create"))
        return live_recreate(st, number, err);
    if (str_eq(event, "report"))
        return replay_report(st, number, data, err);
    if (!str_starts(event, "trial.") || trial_event_parse(event + 6, &ev, NULL) < 0)
        return 0;
    if (ev != TE_COMPLETE && ev != TE_PRUNE && ev != TE_FAIL && ev != TE_CANCEL)
        return 0;
    struct happening h = { .kind = TRIAL_ENDED,
                           .number = number,
                           .state = (enum trial_state)t->state,
                           .reason = (enum trial_reason)t->reason,
                           .level = t->level,
                           .score = t->score };
    return live_hear_one(st, &h, err);
}

static int on_journal(void *arg, const struct journal_row *row)
{
    struct replay *r = arg;
    int64_t number = row->trial ? number_of(r->st, row->trial) : 0;
    bool needs_data = str_eq(row->event, "report") || str_starts(row->event, "search.");
    json_t *data = NULL;
    int rc = 0;

    if (needs_data && row->data)
        data = jsonx_load(row->data, strlen(row->data), "journal", NULL);

    CHECK(row->seq > r->last);
    r->n++;
    r->last = row->seq;
    if (number > 0)
        rc = replay_trial(r->st, number, row->event, data, r->err);
    else if (!row->trial)
        rc = replay_call(r->st, row->event, data, r->err);
    json_decref(data);
    return rc < 0 ? -1 : 0;
}

int replay_study(struct study *st, struct err *err)
{
    struct replay r = { .st = st, .err = err };

    CHECK(!st->is_deterministic && st->search && st->search->sampler && st->search->scheduler);
    do {
        r.n = 0;
        if (store_journal_each(st->ctl->store, st->row.id, r.last, REPLAY_BATCH, on_journal, &r,
                               err) < 0)
            return -1;
    } while (r.n == REPLAY_BATCH);
    return 0;
}

static int on_warm(void *arg, const struct journal_row *row)
{
    json_t **out = arg;

    if (!str_eq(row->event, "search.warm") || !row->data)
        return 0;
    *out = jsonx_load(row->data, strlen(row->data), "journal", NULL);
    return 1;
}

int replay_warm(struct study *st, struct err *err)
{
    int rc = 0;

    CHECK(!st->search->warm);
    if (st->spec.warm_start[0])
        rc = store_journal_each(st->ctl->store, st->row.id, 0, JOURNAL_HEAD, on_warm,
                                &st->search->warm, err);
    return rc < 0 ? -1 : 0;
}
