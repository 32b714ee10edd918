/* runner.c - the verbs on runners: register, list, drain, enable. (Lease calls are in serve/wait.c,
 * reports in serve/report.c.)
 *
 * A runner's state is what a user or the quarantine wants of it (enabled, draining, quarantined) as
 * long as the runner is there. If it was not heard of for a lease period and none of its calls
 * waits, it is shown as "lost", because it takes no work whatever is wanted. Its row does not
 * change by that, so that a runner that comes back has the state that it had before. */
#include "controller/state/runner.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/serve/expire.h"
#include "controller/settle/settle.h"
#include "controller/state/quarantine.h"
#include "controller/view/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A page of the list ends after so many devices, because a runner may have many. */
enum { DEVICES_MAX = 2000 };

/* An earlier runner has ended, as the one that has its cache folder now says (cache_before in
 * trial-runner/agent/cache.h). What it held is queued again at once instead of when its leases run
 * out. It is forgotten, so that a message of it which is still on its way takes nothing back. */
static int follow(struct ctl *ctl, int64_t token, const struct msg_hello *m, struct err *err)
{
    struct runner *before = NULL;

    if (m->follows[0] && !str_eq(m->follows, m->session))
        before = runner_known(ctl, token, m->follows);
    if (!before)
        return 0;
    if (lease_lose_all(ctl, before->row.id, err) < 0)
        return -1;
    /* It may still hold a trial of a study whose rows are damaged; its lease runs out later. */
    if (before->n_leases == 0 && runner_forget(ctl, before, err) < 0)
        return -1;
    return study_settle_all(ctl, err);
}

int ctl_runner_hello(struct ctl *ctl, int64_t token, const json_t *body, json_t **out,
                     struct err *err)
{
    struct msg_hello m;
    struct msg_welcome w = { .lease_ms = ctl->conf.lease_ms };
    struct runner *r = NULL;

    if (msg_hello_parse(&m, body, err) < 0)
        return -1;
    r = runner_of_session(ctl, token, m.session, err);
    if (!r || runner_hello(ctl, r, token, &m, err) < 0)
        return -1;
    w.runner = r->row.id;
    log_info("runner.hello runner=%" PRId64 " name=%s devices=%d sig=%s", r->row.id, r->row.name,
             r->n_devices, r->row.numeric_sig);
    if (follow(ctl, token, &m, err) < 0)
        return -1;
    *out = msg_welcome_json_new(&w);
    return 0;
}

/* ---- list ---- */

static json_t *device_json(const struct ctl *ctl, const struct device *d)
{
    json_int_t until = d->quarantined_until - ctl_now(ctl) + ctl_wall(ctl);

    return json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:b, s:i, s:i, s:b, s:o, s:b}", "id", d->is.id, "kind",
        d->is.kind, "name", d->is.name, "memory_bytes", (json_int_t)d->is.memory_bytes, "max_lanes",
        d->is.max_trials, "commands", d->is.commands, "running", d->n_leases, "failures", d->fails,
        "quarantined", d->is_quarantined, "quarantined_until",
        d->is_quarantined ? json_integer(until) : json_null(), "on_probation", d->is_on_probation);
}

/* The stored reason, or how long ago a lost runner was heard of. */
static json_t *reason_json(const struct ctl *ctl, const struct runner *r)
{
    char text[300];

    quarantine_reason(ctl, r, text, sizeof text);
    if (runner_is_here(ctl, r))
        return show_text(text);
    (void)snprintf(text, sizeof text, "nothing was heard of it for %" PRId64 " s%s%s",
                   runner_silent_ms(ctl, r) / 1000, r->row.reason ? "; before that: " : "",
                   r->row.reason ? r->row.reason : "");
    return show_text(text);
}

static json_t *runner_json(struct ctl *ctl, struct runner *r)
{
    json_t *devices = json_array();
    bool is_here = runner_is_here(ctl, r);

    for (int i = 0; i < r->n_devices; i++)
        json_array_append_new(devices, device_json(ctl, &r->devices[i]));
    return json_pack("{s:I, s:s, s:s, s:o, s:s, s:s?, s:b, s:I, s:I, s:i, s:o}", "id",
                     (json_int_t)r->row.id, "name", r->row.name, "state",
                     is_here ? r->row.state : "lost", "reason", reason_json(ctl, r), "numeric_sig",
                     r->row.numeric_sig, "labels", r->row.labels, "alive", is_here, "first_seen",
                     (json_int_t)r->row.first_seen, "last_seen",
                     (json_int_t)(ctl_wall(ctl) - runner_silent_ms(ctl, r)), "lanes", r->n_leases,
                     "devices", devices);
}

static int by_id(const void *a, const void *b)
{
    const struct runner *x = *(struct runner *const *)a, *y = *(struct runner *const *)b;

    return x->row.id < y->row.id ? -1 : x->row.id > y->row.id;
}

int ctl_runners(struct ctl *ctl, int64_t after, int limit, json_t **out, struct err *err)
{
    struct runner **list = mem_array((size_t)ctl->n_runners + 1, sizeof(struct runner *));
    json_t *rows = json_array();
    int64_t last = 0;
    int i = 0, n_devices = 0;

    (void)err;
    for (int k = 0; k < ctl->n_runners; k++)
        list[k] = ctl->runners[k];
    qsort(list, (size_t)ctl->n_runners, sizeof(struct runner *), by_id);
    while (i < ctl->n_runners && list[i]->row.id <= after)
        i++;
    for (; i < ctl->n_runners && (int)json_array_size(rows) < limit && n_devices < DEVICES_MAX;
         i++) {
        json_array_append_new(rows, runner_json(ctl, list[i]));
        n_devices += list[i]->n_devices;
        last = list[i]->row.id;
    }
    *out = json_pack("{s:i, s:o, s:o}", "total", ctl->n_runners, "next",
                     i < ctl->n_runners ? json_integer((json_int_t)last) : json_null(), "runners",
                     rows);
    mem_free(list);
    return 0;
}

/* ---- drain, enable ---- */

int ctl_runner_act(struct ctl *ctl, int64_t id, const char *verb, json_t **out, struct err *err)
{
    struct runner *r = runner_find(ctl, id);
    bool drain = str_eq(verb, "drain");

    if (!r)
        return err_set(err, ERR_NOTFOUND, "no runner %" PRId64, id);
    if (!drain && !str_eq(verb, "enable"))
        return err_set(err, ERR_ARG, "\"%.40s\" is neither drain nor enable", verb);
    ctl_touch_runners(ctl);
    mem_free(r->row.state);
    r->row.state = mem_strdup(drain ? "draining" : "enabled");
    mem_free(r->row.reason);
    r->row.reason = drain ? mem_strdup("drained by a user") : NULL;
    if (!drain)
        quarantine_lift(r);
    if (runner_put(ctl, r, err) < 0)
        return -1;
    *out = runner_json(ctl, r);
    return 0;
}
