/* why.c - one sentence on why a study waits. It begins in lower case and has no full stop, because
 * it is shown behind the study's name. Nothing is decided here; the sentences follow the same facts
 * as dispatch (serve/dispatch.c) does. */
#include "controller/view/why.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/gang.h"
#include "controller/decide/rescue.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- why nobody takes work ---- */

struct absent {
    /* Runners of another numeric class; runners that were not heard of; and so on. */
    int other, lost, draining, quarantined;
    int64_t silent_ms;          /* how long ago the last of the lost ones was heard of */
    const struct runner *first; /* among those in quarantine, the one that leaves it first */
};

static void absent_count(struct ctl *ctl, const char *sig, struct absent *a)
{
    for (int i = 0; i < ctl->n_runners; i++) {
        const struct runner *r = ctl->runners[i];

        if (r->n_devices == 0)
            continue; /* stands for the users' programs that ask (api/ask.c) */
        if (sig[0] && !str_eq(sig, r->row.numeric_sig)) {
            a->other++;
        } else if (!runner_is_here(ctl, r)) {
            a->silent_ms =
                a->lost++ ? MIN(a->silent_ms, runner_silent_ms(ctl, r)) : runner_silent_ms(ctl, r);
        } else if (str_eq(r->row.state, "draining")) {
            a->draining++;
        } else {
            if (!a->quarantined++ || quarantine_ends(r) < quarantine_ends(a->first))
                a->first = r;
        }
    }
}

/* A list such as ": 2 are draining, 1 was not heard of for 40 s", made part by part. */
struct parts {
    char text[400];
    size_t len;
};

static void part_add(struct parts *p, int n, const char *one, const char *more, const char *detail)
{
    int len = 0;

    if (n == 0)
        return;
    len = snprintf(p->text + p->len, sizeof p->text - p->len, "%s%d %s%s", p->len ? ", " : ": ", n,
                   n == 1 ? one : more, detail);
    CHECK(len > 0 && p->len + (size_t)len < sizeof p->text);
    p->len += (size_t)len;
}

/* "" = there is a runner that takes this study's work. */
static void runner_why(struct ctl *ctl, const char *sig, char *out, size_t size)
{
    struct absent a = { 0 };
    struct parts p = { "", 0 };
    char text[200] = "", reason[200] = "", silent[40];
    int n_devices = 0, n_idle = 0;

    out[0] = '\0';
    runner_capacity(ctl, sig, &n_devices, &n_idle);
    if (n_devices > 0)
        return;
    absent_count(ctl, sig, &a);
    if (a.first && a.first->row.reason) {
        quarantine_reason(ctl, a.first, text, sizeof text);
        (void)snprintf(reason, sizeof reason, " (%.180s)", text);
    }
    (void)snprintf(silent, sizeof silent, " for %" PRId64 " s", a.silent_ms / 1000);
    part_add(&p, a.quarantined, "is quarantined", "are quarantined", reason);
    part_add(&p, a.draining, "is draining", "are draining", "");
    part_add(&p, a.lost, "was not heard of", "were not heard of", silent);
    part_add(&p, a.other, "is of another class", "are of another class", "");
    if (a.other > 0)
        (void)snprintf(out, size, "no runner of numeric class %.60s takes work%s", sig, p.text);
    else if (p.len > 0)
        (void)snprintf(out, size, "no runner takes work%s", p.text);
    else
        str_copy(out, size, "no runner is connected");
}

/* ---- trials of several devices ---- */

/* The most devices of one kind that could train this trial together. One GPU that needs nobody
 * else need not be able to meet others. */
static int fleet_most(const struct study *st, const struct trial_mem *t, const char **kind)
{
    struct ctl *ctl = st->ctl;
    const char *sig = st->row.numeric_sig ? st->row.numeric_sig : "";
    struct gang_device *fleet = NULL;
    int n = 0, cap = 0, most = 0;

    for (int i = 0; i < ctl->n_runners; i++) {
        const struct runner *r = ctl->runners[i];
        if (!runner_is_here(ctl, r) || !runner_is_enabled(r) ||
            (sig[0] && !str_eq(sig, r->row.numeric_sig)))
            continue;
        for (int k = 0; k < r->n_devices; k++) {
            if ((t->devices > 1 && !r->devices[k].is.meets) || r->devices[k].is_quarantined ||
                (t->on_gpus && !str_eq(r->devices[k].is.kind, "cuda")))
                continue;
            MEM_GROW(fleet, n, cap);
            fleet[n++] = (struct gang_device){ r->row.id, r->devices[k].is.kind, false };
        }
    }
    most = gang_most(fleet, n, kind);
    mem_free(fleet);
    return most;
}

/* Why the first queued trial that needs several devices waits; "" if there is none. */
static void gang_why(const struct study *st, char *out, size_t size)
{
    const char *kind = "";

    for (int i = 0; i < st->n_queue; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        if ((t->devices < 2 && !t->on_gpus) || t->run_to < 1)
            continue;
        int most = fleet_most(st, t, &kind);
        if (most < t->devices && t->on_gpus)
            (void)snprintf(out, size,
                           "trial %d needs %d %s, but the runners that are connected have %d",
                           st->queue[i], t->devices, t->devices > 1 ? "GPUs" : "GPU", most);
        else if (most < t->devices)
            (void)snprintf(out, size,
                           "trial %d needs %d devices of one kind, but the runners that are "
                           "connected have %d%s%s",
                           st->queue[i], t->devices, most, most ? " of kind " : "", kind);
        else
            (void)snprintf(out, size, "trial %d waits until %d devices of kind %s are free",
                           st->queue[i], t->devices, kind);
        return;
    }
}

/* ---- the study ---- */

static void finishing_why(const struct study *st, char *out, size_t size)
{
    int64_t n = st->count[TS_RUNNING];

    if (st->refit)
        str_copy(out, size, "its best configuration is fitted on all rows");
    else if (n > 0)
        (void)snprintf(out, size, "%" PRId64 " %s to the end of its time", n,
                       n == 1 ? "trial runs" : "trials run");
    else if (rescue_waits(st))
        str_copy(out, size, "the best paused trials wait for a device to save their models");
}

/* Why no runner runs the program of this study. */
static void command_why(const struct study *st, char *out, size_t size)
{
    bool wants_gpu = json_integer_value(json_object_get(st->spec.command, "gpus")) > 0;
    int n_any = 0;

    runner_why(st->ctl, "", out, size);
    if (out[0])
        return;
    if (runner_capacity_command(st->ctl, st->spec.command) > 0) {
        str_copy(out, size, "its turn comes when a device asks for work");
        return;
    }
    for (int i = 0; i < st->ctl->n_runners; i++) {
        for (int k = 0; k < st->ctl->runners[i]->n_devices; k++)
            n_any += st->ctl->runners[i]->devices[k].is.commands;
    }
    str_copy(out, size,
             n_any == 0  ? "no runner takes command trials: start one with --allow-command"
             : wants_gpu ? "no runner with a GPU takes command trials now"
                         : "no runner with a free CPU takes command trials now");
}

static void waiting_why(const struct study *st, char *out, size_t size)
{
    const char *sig = st->row.numeric_sig ? st->row.numeric_sig : "";

    out[0] = '\0';
    if (st->row.state == SS_FINISHING)
        finishing_why(st, out, size);
    if ((st->row.state != SS_QUEUED && st->row.state != SS_RUNNING) || st->count[TS_RUNNING] > 0)
        return;
    if (st->spec.command) {
        command_why(st, out, size);
        return;
    }
    if (st->spec.is_own) {
        str_copy(out, size, "no program of yours has asked for its trials");
        return;
    }
    runner_why(st->ctl, sig, out, size);
    if (!out[0])
        gang_why(st, out, size);
    if (!out[0])
        str_copy(out, size,
                 st->problem.is_ready ? "its turn comes when a device asks for work"
                                      : "its dataset is being read");
}

static void table_why(const struct study *st, char *out, size_t size)
{
    if (study_waits_for_table(st) && st->is_table_remade)
        str_copy(out, size, "its table's file was damaged and is made again from its source");
    else if (study_waits_for_table(st))
        (void)snprintf(out, size,
                       "a runner could not read its table; attempt %d of %d comes in %" PRId64 " s",
                       st->table_fails + 1, TABLE_ATTEMPTS,
                       (st->table_next_ms - ctl_now(st->ctl) + 999) / 1000);
}

static void retry_why(const struct study *st, char *out, size_t size)
{
    int64_t now = ctl_now(st->ctl);
    const struct retry *next = NULL;

    for (int i = 0; i < st->n_retries && st->count[TS_RUNNING] == 0; i++) {
        const struct retry *r = &st->retries[i];

        if (r->next_ms > now && (!next || r->next_ms < next->next_ms))
            next = r;
    }
    if (next)
        (void)snprintf(out, size,
                       "trial %" PRId64
                       " failed %d times in a row by the machine; attempt %d of %d "
                       "comes in %" PRId64 " s",
                       next->number, next->fails, next->fails + 1, RETRY_ATTEMPTS,
                       (next->next_ms - now + 999) / 1000);
}

void study_why(const struct study *st, char *out, size_t size)
{
    waiting_why(st, out, size);
    /* If one of these has a sentence, it is more exact and takes the place of the first. */
    retry_why(st, out, size);
    table_why(st, out, size);
}
