/* quarantine.c - quarantine and probation of devices. The rules stand in quarantine.h. The facts
 * are fields of struct device (runner.h), and runner.c stores them. Users see a runner's quarantine
 * in its state and its reason, which are set here whenever a device changes. */
#include "controller/state/quarantine.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>

static void set_text(char **text, const char *to)
{
    mem_free(*text);
    *text = to ? mem_strdup(to) : NULL;
}

/* The reason names the first device in quarantine, or else the first one on probation. If a user
 * drains the runner, the user's reason stays. */
static void reason_set(struct ctl *ctl, struct runner *r)
{
    const struct device *bad = NULL;
    char text[160];

    if (str_eq(r->row.state, "draining"))
        return;
    for (int i = 0; i < r->n_devices; i++) {
        const struct device *d = &r->devices[i];

        if (d->is_quarantined && (!bad || !bad->is_quarantined))
            bad = d;
        else if (d->is_on_probation && !bad)
            bad = d;
    }
    if (!bad)
        text[0] = '\0';
    else if (!bad->is_quarantined)
        (void)snprintf(text, sizeof text, "device %s is on probation: it gets one trial at a time",
                       bad->is.id);
    else
        (void)snprintf(text, sizeof text, "device %s failed %d different trials in a row%s",
                       bad->is.id, QUARANTINE_FAILS,
                       bad->quarantine_ms > ctl->conf.quarantine_ms
                           ? ", and again when it was tried after a pause"
                           : "");
    set_text(&r->row.reason, text[0] ? text : NULL);
}

/* A runner is quarantined while all its devices are. A runner that a user drains keeps that
 * state. */
static void state_set(struct ctl *ctl, struct runner *r)
{
    bool all = r->n_devices > 0;

    for (int i = 0; i < r->n_devices; i++)
        all = all && r->devices[i].is_quarantined;
    if (all && runner_is_enabled(r))
        set_text(&r->row.state, "quarantined");
    else if (!all && str_eq(r->row.state, "quarantined"))
        set_text(&r->row.state, "enabled");
    reason_set(ctl, r);
}

/* Puts the device into quarantine, for twice as long as the last time: 1, or -1. */
static int begin(struct ctl *ctl, struct runner *r, struct device *d, struct err *err)
{
    int64_t first = MAX(ctl->conf.quarantine_ms, 1), longest = first * QUARANTINE_GROWTH;

    CHECK(!d->is_quarantined);
    d->quarantine_ms = d->quarantine_ms ? MIN(MAX(d->quarantine_ms * 2, first), longest) : first;
    d->quarantined_until = ctl_now(ctl) + d->quarantine_ms;
    d->is_quarantined = true;
    d->is_on_probation = false;
    d->fails = 0;
    ctl->quarantine_due = MIN(ctl->quarantine_due, d->quarantined_until);
    ctl->stats.quarantined++;
    state_set(ctl, r);
    log_warn("runner.quarantined runner=%" PRId64 " name=%s device=%s for_ms=%" PRId64, r->row.id,
             r->row.name, d->is.id, d->quarantine_ms);
    return runner_put(ctl, r, err) < 0 ? -1 : 1;
}

int quarantine_failed(struct ctl *ctl, int64_t runner, const char *device, int64_t trial,
                      struct err *err)
{
    struct runner *r = runner_find(ctl, runner);
    struct device *d = r ? runner_device(r, device) : NULL;

    if (!d || d->is_quarantined)
        return 0;
    if (d->is_on_probation)
        return begin(ctl, r, d, err);
    CHECK(d->fails >= 0 && d->fails < QUARANTINE_FAILS);
    for (int i = 0; i < d->fails; i++) {
        if (d->failed[i] == trial)
            return 0; /* the same trial again may be the trial's own fault (see retry.h) */
    }
    d->failed[d->fails++] = trial;
    return d->fails >= QUARANTINE_FAILS ? begin(ctl, r, d, err) : 0;
}

/* A device in quarantine may still end work that it got before. That does not end its
 * quarantine. */
int quarantine_worked(struct ctl *ctl, int64_t runner, const char *device, struct err *err)
{
    struct runner *r = runner_find(ctl, runner);
    struct device *d = r ? runner_device(r, device) : NULL;

    if (!d || d->is_quarantined)
        return 0;
    d->fails = 0;
    if (!d->is_on_probation)
        return 0;
    d->is_on_probation = false;
    d->quarantine_ms = 0;
    state_set(ctl, r);
    log_info("runner.trusted runner=%" PRId64 " name=%s device=%s", r->row.id, r->row.name,
             d->is.id);
    ctl->has_news = true; /* it may get more than one trial at a time again */
    return runner_put(ctl, r, err);
}

void quarantine_lift(struct runner *r)
{
    for (int i = 0; i < r->n_devices; i++) {
        struct device *d = &r->devices[i];

        d->is_quarantined = d->is_on_probation = false;
        d->quarantine_ms = d->quarantined_until = 0;
        d->fails = 0;
    }
}

bool quarantine_allows(const struct device *d)
{
    if (!d->is_on_probation)
        return !d->is_quarantined;
    return d->n_leases == 0;
}

int quarantine_lanes(const struct device *d, int max)
{
    return d->is_on_probation ? MIN(max, 1) : max;
}

int quarantine_tick(struct ctl *ctl, struct err *err)
{
    int64_t now = ctl_now(ctl), due = INT64_MAX;

    if (now < ctl->quarantine_due)
        return 0;
    for (int i = 0; i < ctl->n_runners; i++) {
        struct runner *r = ctl->runners[i];
        bool any = false;

        for (int k = 0; k < r->n_devices; k++) {
            struct device *d = &r->devices[k];

            if (!d->is_quarantined || d->quarantined_until > now)
                continue;
            d->is_quarantined = false;
            d->is_on_probation = any = true;
            log_info("runner.probation runner=%" PRId64 " name=%s device=%s", r->row.id,
                     r->row.name, d->is.id);
        }
        if (!any)
            continue;
        state_set(ctl, r);
        ctl->has_news = true; /* its waiting lease call may get work now */
        if (runner_put(ctl, r, err) < 0)
            return -1;
    }
    for (int i = 0; i < ctl->n_runners; i++)
        due = MIN(due, quarantine_ends(ctl->runners[i]));
    ctl->quarantine_due = due;
    return 0;
}

int64_t quarantine_ends(const struct runner *r)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < r->n_devices; i++) {
        if (r->devices[i].is_quarantined)
            first = MIN(first, r->devices[i].quarantined_until);
    }
    return first;
}

void quarantine_reason(const struct ctl *ctl, const struct runner *r, char *out, size_t size)
{
    int64_t ends = quarantine_ends(r);

    str_copy(out, size, r->row.reason ? r->row.reason : "");
    if (ends != INT64_MAX && out[0] && !str_eq(r->row.state, "draining"))
        (void)snprintf(out, size, "%s; it is tried again in %" PRId64 " s", r->row.reason,
                       (MAX(ends - ctl_now(ctl), 0) + 999) / 1000);
}

int64_t quarantine_due(const struct ctl *ctl)
{
    return ctl->quarantine_due;
}
