/* check.c - what must hold of a study between requests. A breach is a bug of this program, never a
 * user's error, so it ends the process: rows in the database were committed by requests that kept
 * these rules, and a restart builds memory anew.
 *
 * The lists of a study are short, so they are walked each time; the board may be long and is walked
 * to its 1,000th place, and only with --dev. Leases may be many: without --dev more than 256 of them
 * are only counted, and walked after each 1,024th request. Called by settle/settle.c after each
 * settled study. */
#include "controller/state/check.h"

#include "controller/state/lease.h"

#include <math.h>

enum { CHECKED_ROWS = 1000, FEW_LEASES = 256, LEASES_EVERY = 1024 };

static void lists_check(const struct study *st)
{
    int64_t total = 0;

    for (int s = TS_QUEUED; s < TS_STATES; s++) {
        CHECK(st->count[s] >= 0);
        total += st->count[s];
    }
    CHECK(total == st->n_trials && st->count[TS_NONE] == 0);
    CHECK(st->n_queue == st->count[TS_QUEUED] && st->n_paused == st->count[TS_PAUSED]);
    CHECK(st->n_board <= st->count[TS_COMPLETED] && st->n_kept <= st->n_board);
    CHECK(!study_is_final(st->row.state) || !study_has_open_trials(st));
    CHECK(!study_is_final(st->row.state) || st->clock_from < 0);
    CHECK(st->probe >= 0 && st->probe <= st->n_trials);
    CHECK(st->n_rescue >= 0 && st->n_rescue <= STUDY_MAX_RESCUE);
    for (int i = 0; i < st->n_rescue; i++)
        CHECK(st->rescue[i] >= 1 && st->rescue[i] <= st->n_trials);
    CHECK(st->n_happened == 0);                 /* decisions have taken all of it into account */
    CHECK(!st->search || st->problem.is_ready); /* nothing is searched before the data is known */
    for (int i = 0; i < st->n_queue; i++) {
        CHECK(st->trials[st->queue[i] - 1].state == TS_QUEUED);
        CHECK(i == 0 || st->queue[i - 1] < st->queue[i]);
    }
    for (int i = 0; i < st->n_kept; i++)
        CHECK(st->trials[st->kept[i] - 1].has_artifact);
    for (int i = 0; st->ctl->conf.dev && i < MIN(st->n_board, CHECKED_ROWS); i++) {
        const struct trial_mem *t = &st->trials[st->board[i] - 1];

        CHECK(t->state == TS_COMPLETED && !isnan(t->score));
        CHECK(i == 0 ||
              study_gain(st, st->trials[st->board[i - 1] - 1].score) >= study_gain(st, t->score));
    }
}

/* Every running trial is under exactly one lease, every lease is of a running trial. */
static void leases_check(const struct ctl *ctl, const struct study *st)
{
    int64_t n = 0;

    CHECK(lease_count_study(ctl, st->row.id) == st->count[TS_RUNNING]);
    if (ctl->n_leases > FEW_LEASES && !ctl->conf.dev && ctl->request_no % LEASES_EVERY)
        return;
    for (int i = 0; i < ctl->n_leases; i++) {
        const struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id)
            continue;
        CHECK(l->number >= 1 && l->number <= st->n_trials);
        CHECK(st->trials[l->number - 1].id == l->id);
        CHECK(st->trials[l->number - 1].state == TS_RUNNING);
        CHECK(l->from < l->to && l->fence >= 1 && l->runner > 0);
        n++;
    }
    CHECK(n == st->count[TS_RUNNING]);
}

void study_check(const struct study *st)
{
    lists_check(st);
    leases_check(st->ctl, st);
}
