/* runner.c - known runners: their rows, their devices, and which of them are here.
 *
 * A runner that registers writes a row, and so does each change of a state or a quarantine.
 * Renewals and lease calls write nothing, because they come all the time. A runner that was silent
 * for ten lease periods and holds nothing leaves memory, and its row says "gone"; if it comes back,
 * the controller does not know it, and it registers again with the same session.
 *
 * Runners are found by id and by session through indexes. There may be ten thousand, so whatever a
 * message or a grant needs is found or counted without walking over all of them. Quarantine is
 * decided in quarantine.c. */
#include "controller/state/runner.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lease periods of silence after which a runner is forgotten: long enough for a machine to restart
 * or for a network to come back. */
enum { GONE_PERIODS = 10, SWEEP_MS = 1000 };

/* Runners of one numeric class: what those that are here add up to. */
struct fleet_class {
    char *sig; /* owned */
    struct fleet_share sum;
};

/* ---- the index ---- */

/* FNV-1a, for the index of sessions. Two sessions may have the same hash: who finds one looks at
 * its session, too. */
static int64_t session_key(const char *session)
{
    uint64_t h = UINT64_C(1469598103934665603);

    for (const char *c = session; *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return h ? (int64_t)h : 1;
}

/* A new runner is not in the index: it has no id until its row is written. */
static void index_put(struct ctl *ctl, int i)
{
    const struct runner_row *row = &ctl->runners[i]->row;

    if (row->id)
        idmap_put(&ctl->runner_at, row->id, i);
    if (row->id && row->session)
        idmap_put(&ctl->session_at, session_key(row->session), i);
}

static void index_all(struct ctl *ctl)
{
    idmap_fini(&ctl->runner_at);
    idmap_fini(&ctl->session_at);
    for (int i = 0; i < ctl->n_runners; i++)
        index_put(ctl, i);
    ctl->runners_moved = false;
}

struct runner *runner_find(struct ctl *ctl, int64_t id)
{
    if (ctl->runners_moved)
        index_all(ctl);
    int i = idmap_find(&ctl->runner_at, id);
    CHECK(i < ctl->n_runners && (i < 0 || ctl->runners[i]->row.id == id));
    return i < 0 ? NULL : ctl->runners[i];
}

static struct runner *find_session(struct ctl *ctl, const char *session)
{
    if (ctl->runners_moved)
        index_all(ctl);
    int i = idmap_find(&ctl->session_at, session_key(session));
    CHECK(i < ctl->n_runners);
    return i >= 0 && str_eq(ctl->runners[i]->row.session, session) ? ctl->runners[i] : NULL;
}

/* ---- what all runners can do ---- */

/* A runner with work reports at least once a lease period, and one without work has a call that
 * waits. One that was killed does neither, and so it stops counting long before it is forgotten. */
static bool is_here_at(const struct ctl *ctl, const struct runner *r, int64_t now)
{
    return now - r->heard_ms <= ctl->conf.lease_ms || r->n_waits > 0;
}

static void share_add(struct fleet_share *to, const struct fleet_share *s, int by)
{
    to->devices += by * s->devices;
    to->idle += by * s->idle;
    to->trials += by * s->trials;
    to->all_gpus += by * s->all_gpus;
    to->idle_gpus += by * s->idle_gpus;
    to->cpus += by * s->cpus;
    to->gpus += by * s->gpus;
    CHECK(to->idle >= 0 && to->idle <= to->devices && to->trials >= 0);
    CHECK(to->cpus >= 0 && to->gpus >= 0);
}

static int class_of(struct ctl *ctl, const char *sig)
{
    for (int i = 0; i < ctl->n_classes; i++) {
        if (str_eq(ctl->classes[i].sig, sig))
            return i;
    }
    MEM_GROW(ctl->classes, ctl->n_classes, ctl->cap_classes);
    ctl->classes[ctl->n_classes] = (struct fleet_class){ .sig = mem_strdup(sig) };
    return ctl->n_classes++;
}

static struct fleet_share share_of(const struct runner *r)
{
    struct fleet_share s = { 0 };

    for (int k = 0; k < r->n_devices; k++) {
        const struct device *d = &r->devices[k];

        if (d->is_quarantined)
            continue;
        s.devices++;
        s.idle += d->n_leases == 0;
        s.trials += d->is.max_trials;
        s.all_gpus += str_eq(d->is.kind, "cuda");
        s.idle_gpus += str_eq(d->is.kind, "cuda") && d->n_leases == 0;
        s.gpus += d->is.commands && str_eq(d->is.kind, "cuda");
        s.cpus += d->is.commands && !str_eq(d->is.kind, "cuda");
    }
    return s;
}

static void uncount(struct ctl *ctl, struct runner *r)
{
    ctl->n_here -= r->was_here;
    r->was_here = false;
    if (r->class_at >= 0)
        share_add(&ctl->classes[r->class_at].sum, &r->share, -1);
    r->class_at = -1;
    CHECK(ctl->n_here >= 0);
}

void runner_count(struct ctl *ctl, struct runner *r)
{
    uncount(ctl, r);
    if (!is_here_at(ctl, r, ctl_now(ctl)))
        return;
    r->was_here = true;
    ctl->n_here++;
    if (r->n_waits == 0)
        ctl->here_due = MIN(ctl->here_due, r->heard_ms + ctl->conf.lease_ms + 1);
    if (!runner_is_enabled(r) || !r->row.numeric_sig)
        return;
    r->class_at = class_of(ctl, r->row.numeric_sig);
    r->share = share_of(r);
    share_add(&ctl->classes[r->class_at].sum, &r->share, 1);
}

/* A runner that falls silent says nothing of it: once one of them may have done so, all are counted
 * again. That is at most once a lease period for each time that one does. */
static void count_all(struct ctl *ctl)
{
    if (ctl_now(ctl) < ctl->here_due)
        return;
    ctl->here_due = INT64_MAX;
    for (int i = 0; i < ctl->n_runners; i++)
        runner_count(ctl, ctl->runners[i]);
}

int runner_here(struct ctl *ctl)
{
    count_all(ctl);
    return ctl->n_here;
}

void runner_heard(struct ctl *ctl, struct runner *r)
{
    r->heard_ms = ctl_now(ctl);
    if (!r->was_here)
        runner_count(ctl, r);
}

void runner_waits(struct ctl *ctl, struct runner *r, int by)
{
    r->n_waits += by;
    CHECK(r->n_waits >= 0);
    if (!r->was_here)
        runner_count(ctl, r);
    else if (r->n_waits == 0)
        ctl->here_due = MIN(ctl->here_due, r->heard_ms + ctl->conf.lease_ms + 1);
}

void runner_leased(struct ctl *ctl, int64_t id, const char *device, int by)
{
    struct runner *r = runner_find(ctl, id);
    struct device *d = r ? runner_device(r, device) : NULL;

    if (r)
        r->n_leases += by;
    if (!d)
        return;
    d->n_leases += by;
    CHECK(d->n_leases >= 0 && r->n_leases >= d->n_leases);
    if (d->n_leases <= 1 && r->class_at >= 0) /* it may have become idle, or ceased to be */
        runner_count(ctl, r);
}

static void leases_forget(struct ctl *ctl, struct runner *r)
{
    r->n_leases = 0;
    for (int k = 0; k < r->n_devices; k++)
        r->devices[k].n_leases = 0;
    runner_count(ctl, r);
}

void runner_leases_forget(struct ctl *ctl, struct runner *r)
{
    for (int i = 0; i < ctl->n_runners; i++) {
        if (!r || r == ctl->runners[i])
            leases_forget(ctl, ctl->runners[i]);
    }
}

/* ---- who speaks ---- */

/* May this token speak for the runner? Token 0 is the Unix socket. Rows from before runners
 * belonged to tokens hold -1: anyone may register for them once. */
static int owner_check(const struct runner_row *row, int64_t token, struct err *err)
{
    if (row->token == token || row->token < 0)
        return 0;
    return err_set(err, ERR_DENIED, "runner %" PRId64 " said hello with another token", row->id);
}

struct runner *runner_of(struct ctl *ctl, int64_t token, int64_t id, const char *session,
                         struct err *err)
{
    struct runner *r = runner_find(ctl, id);

    if (!r) {
        err_set(err, ERR_NOTFOUND, "no runner %" PRId64 ": register again", id);
        return NULL;
    }
    if (!str_eq(r->row.session, session)) {
        err_set(err, ERR_STALE, "runner %" PRId64 " has another session", id);
        return NULL;
    }
    if (owner_check(&r->row, token, err) < 0)
        return NULL;
    runner_heard(ctl, r);
    return r;
}

struct device *runner_device(struct runner *r, const char *id)
{
    CHECK(r->devices || r->n_devices == 0);
    for (int i = 0; i < r->n_devices; i++) {
        if (str_eq(r->devices[i].is.id, id))
            return &r->devices[i];
    }
    return NULL;
}

bool runner_is_here(const struct ctl *ctl, const struct runner *r)
{
    return is_here_at(ctl, r, ctl_now(ctl));
}

int64_t runner_silent_ms(const struct ctl *ctl, const struct runner *r)
{
    return ctl_now(ctl) - r->heard_ms;
}

bool runner_is_enabled(const struct runner *r)
{
    return str_eq(r->row.state, "enabled");
}

static struct fleet_share share_all(struct ctl *ctl, const char *sig)
{
    struct fleet_share all = { 0 };

    count_all(ctl);
    for (int i = 0; i < ctl->n_classes; i++) {
        if (!sig || !sig[0] || str_eq(sig, ctl->classes[i].sig))
            share_add(&all, &ctl->classes[i].sum, 1);
    }
    return all;
}

int runner_gpus(struct ctl *ctl, const char *sig, int *n_idle)
{
    struct fleet_share all = share_all(ctl, sig);

    *n_idle = all.idle_gpus;
    return all.all_gpus;
}

int runner_capacity(struct ctl *ctl, const char *sig, int *n_devices, int *n_idle)
{
    struct fleet_share all = share_all(ctl, sig);

    *n_devices = all.devices;
    *n_idle = all.idle;
    return all.trials;
}

static bool command_wants_gpu(const json_t *command)
{
    return json_integer_value(json_object_get(command, "gpus")) > 0;
}

bool device_takes(const struct device *d, const json_t *command)
{
    return d->is.commands && str_eq(d->is.kind, "cuda") == command_wants_gpu(command);
}

bool runner_takes(const struct runner *r, const json_t *command)
{
    for (int i = 0; i < r->n_devices; i++) {
        if (device_takes(&r->devices[i], command))
            return true;
    }
    return false;
}

int runner_capacity_command(struct ctl *ctl, const json_t *command)
{
    int cpus = 0, gpus = 0;

    count_all(ctl);
    for (int i = 0; i < ctl->n_classes; i++) {
        cpus += ctl->classes[i].sum.cpus;
        gpus += ctl->classes[i].sum.gpus;
    }
    return command_wants_gpu(command) ? gpus : cpus;
}

bool runner_blends(const struct runner *r)
{
    bool any = false;

    for (int i = 0; i < r->n_devices; i++)
        any = any || r->devices[i].is.blends;
    return any;
}

bool runner_any_blends(const struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_runners; i++) {
        if (runner_blends(ctl->runners[i]))
            return true;
    }
    return false;
}

/* ---- devices as stored ---- */

/* The devices as JSON for the row. The end of a quarantine is stored as wall-clock time, because
 * the monotonic clock begins at another value after the machine restarts. */
static char *devices_text(struct ctl *ctl, const struct runner *r)
{
    json_t *list = json_array();
    int64_t clocks = ctl_wall(ctl) - ctl_now(ctl);

    for (int i = 0; i < r->n_devices; i++) {
        const struct device *d = &r->devices[i];
        json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:i, s:b}", "id", d->is.id, "kind", d->is.kind,
                              "name", d->is.name, "memory_bytes", (json_int_t)d->is.memory_bytes,
                              "max_lanes", d->is.max_trials, "quarantined", d->is_quarantined);

        if (d->is.commands)
            json_object_set_new(o, "commands", json_true());
        if (d->is.meets)
            json_object_set_new(o, "meets", json_true());
        if (d->is.blends)
            json_object_set_new(o, "blends", json_true());
        if (d->quarantine_ms) {
            json_object_set_new(o, "probation", json_boolean(d->is_on_probation));
            json_object_set_new(o, "quarantine_ms", json_integer(d->quarantine_ms));
            json_object_set_new(o, "until", json_integer(d->quarantined_until + clocks));
        }
        json_array_append_new(list, o);
    }
    char *text = jsonx_dump(list);
    json_decref(list);
    return text;
}

static const char *word(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

/* The quarantine as the row has it. If the wall clock was set back meanwhile, the quarantine lasts
 * at most as long as it did at first. */
static void quarantine_load(struct ctl *ctl, struct device *d, const json_t *o)
{
    int64_t left = json_integer_value(json_object_get(o, "until")) - ctl_wall(ctl);

    d->is_quarantined = json_is_true(json_object_get(o, "quarantined"));
    d->is_on_probation = json_is_true(json_object_get(o, "probation"));
    d->quarantine_ms = MAX(json_integer_value(json_object_get(o, "quarantine_ms")), 0);
    d->quarantined_until = ctl_now(ctl) + MIN(MAX(left, 0), d->quarantine_ms);
    if (d->is_quarantined)
        ctl->quarantine_due = MIN(ctl->quarantine_due, d->quarantined_until);
}

static void devices_load(struct ctl *ctl, struct runner *r)
{
    struct err ignored = { 0 };
    const char *text = r->row.devices ? r->row.devices : "[]";
    json_t *list = jsonx_load(text, strlen(text), "devices", &ignored), *v = NULL;
    size_t i = 0;

    r->n_devices = (int)MIN(json_array_size(list), MSG_MAX_DEVICES);
    r->devices = mem_array((size_t)r->n_devices, sizeof *r->devices);
    json_array_foreach(list, i, v)
    {
        struct device *d = &r->devices[i];

        if ((int)i >= r->n_devices)
            break;
        str_copy(d->is.id, sizeof d->is.id, word(v, "id"));
        str_copy(d->is.kind, sizeof d->is.kind, word(v, "kind"));
        str_copy(d->is.name, sizeof d->is.name, word(v, "name"));
        d->is.memory_bytes = json_integer_value(json_object_get(v, "memory_bytes"));
        d->is.max_trials = (int)json_integer_value(json_object_get(v, "max_lanes"));
        d->is.commands = json_is_true(json_object_get(v, "commands"));
        d->is.meets = json_is_true(json_object_get(v, "meets"));
        d->is.blends = json_is_true(json_object_get(v, "blends"));
        quarantine_load(ctl, d, v);
    }
    json_decref(list);
}

int runner_put(struct ctl *ctl, struct runner *r, struct err *err)
{
    ctl_touch_runners(ctl);
    mem_free(r->row.devices);
    r->row.devices = devices_text(ctl, r);
    r->row.last_seen = ctl_wall(ctl);
    runner_count(ctl, r);
    return store_runner_put(ctl->store, &r->row, err);
}

/* ---- load, forget ---- */

static void runner_free(struct runner *r)
{
    for (int i = 0; i < r->n_devices; i++)
        json_decref(r->devices[i].last_grant);
    mem_free(r->devices);
    runner_row_fini(&r->row);
    mem_free(r);
}

/* The caller fills in the row, and then calls index_put if it has an id. */
static struct runner *runner_add(struct ctl *ctl)
{
    struct runner *r = mem_zalloc(sizeof *r);

    MEM_GROW(ctl->runners, ctl->n_runners, ctl->cap_runners);
    ctl->runners[ctl->n_runners++] = r;
    r->heard_ms = ctl_now(ctl);
    r->class_at = -1;
    return r;
}

/* Takes it out of memory; the last one moves to its place. */
static void runner_drop(struct ctl *ctl, int i)
{
    struct runner *r = ctl->runners[i];

    uncount(ctl, r);
    ctl->runners[i] = ctl->runners[--ctl->n_runners];
    ctl->runners_moved = true;
    runner_free(r);
}

/* No runner counts any more. */
static void fleet_clear(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_classes; i++)
        mem_free(ctl->classes[i].sig);
    ctl->n_classes = ctl->n_here = 0;
    ctl->here_due = INT64_MIN;
    ctl->runners_moved = true;
}

static int on_row(void *arg, struct runner_row *row)
{
    struct ctl *ctl = arg;
    struct runner *r = NULL;

    if (str_eq(row->state, "gone"))
        return 0;
    r = runner_add(ctl);
    r->row = *row;
    *row = (struct runner_row){ 0 };
    devices_load(ctl, r);
    return 0;
}

int runner_load_all(struct ctl *ctl, struct err *err)
{
    runner_free_all(ctl);
    ctl->runners_moved = true;
    return store_runner_each(ctl->store, on_row, ctl, err);
}

/* What only memory knows of a runner survives a reload. */
static void live_take(struct runner *now, const struct runner *old)
{
    CHECK(now->row.id == old->row.id);
    now->heard_ms = old->heard_ms;
    now->n_waits = old->n_waits;
    now->waits = old->waits;
    for (int k = 0; k < MIN(now->n_devices, old->n_devices); k++) {
        now->devices[k].last_n = old->devices[k].last_n;
        now->devices[k].grant_turn = old->devices[k].grant_turn;
        now->devices[k].grant_request = old->devices[k].grant_request;
        now->devices[k].last_grant = json_incref(old->devices[k].last_grant);
    }
}

int runner_reload(struct ctl *ctl, struct err *err)
{
    struct runner **old = ctl->runners;
    int n_old = ctl->n_runners, cap_old = ctl->cap_runners, rc = 0;

    ctl->runners = NULL;
    ctl->n_runners = ctl->cap_runners = 0;
    rc = store_runner_each(ctl->store, on_row, ctl, err);
    if (rc < 0) {
        struct runner **new = ctl->runners;

        for (int i = 0; i < ctl->n_runners; i++)
            runner_free(new[i]);
        mem_free(new);
        ctl->runners = old;
        ctl->n_runners = n_old;
        ctl->cap_runners = cap_old;
        return -1;
    }
    fleet_clear(ctl);
    for (int i = 0; i < n_old; i++) {
        struct runner *now = runner_find(ctl, old[i]->row.id);

        if (now)
            live_take(now, old[i]);
        runner_free(old[i]);
    }
    mem_free(old);
    return 0;
}

void runner_free_all(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_runners; i++)
        runner_free(ctl->runners[i]);
    ctl->n_runners = 0;
    fleet_clear(ctl);
}

void runner_fini(struct ctl *ctl)
{
    runner_free_all(ctl);
    mem_free(ctl->runners);
    mem_free(ctl->classes);
    idmap_fini(&ctl->runner_at);
    idmap_fini(&ctl->session_at);
}

void runner_forget_grants(struct ctl *ctl, bool by_turn)
{
    for (int i = 0; i < ctl->n_runners; i++) {
        for (int k = 0; k < ctl->runners[i]->n_devices; k++) {
            struct device *d = &ctl->runners[i]->devices[k];

            if (by_turn ? d->grant_turn != ctl->turn_no : d->grant_request != ctl->request_no)
                continue;
            json_decref(d->last_grant);
            d->last_grant = NULL;
            d->last_n = 0;
        }
    }
}

static int forget(struct ctl *ctl, int i, struct err *err)
{
    struct runner *r = ctl->runners[i];

    ctl_touch_runners(ctl);
    mem_free(r->row.state);
    r->row.state = mem_strdup("gone");
    if (store_runner_put(ctl->store, &r->row, err) < 0)
        return -1;
    log_info("runner.gone runner=%" PRId64 " name=%s", r->row.id, r->row.name);
    runner_drop(ctl, i);
    return 0;
}

int runner_tick(struct ctl *ctl, struct err *err)
{
    int64_t silence = GONE_PERIODS * ctl->conf.lease_ms + ctl->conf.max_wait_ms;
    int64_t now = ctl_now(ctl);

    if (now - ctl->runners_swept_ms < SWEEP_MS)
        return 0;
    ctl->runners_swept_ms = now;
    for (int i = ctl->n_runners - 1; i >= 0; i--) {
        struct runner *r = ctl->runners[i];

        if (now - r->heard_ms <= silence || r->n_leases > 0 || r->n_waits > 0)
            continue;
        if (forget(ctl, i, err) < 0)
            return -1;
    }
    return 0;
}

int runner_forget(struct ctl *ctl, struct runner *r, struct err *err)
{
    int i = 0;

    CHECK(r->n_leases == 0);
    while (i < ctl->n_runners && ctl->runners[i] != r)
        i++;
    CHECK(i < ctl->n_runners);
    return forget(ctl, i, err);
}

/* ---- registering ---- */

struct runner *runner_of_session(struct ctl *ctl, int64_t token, const char *session,
                                 struct err *err)
{
    struct runner_row row = { 0 };
    struct runner *r = find_session(ctl, session);

    if (r)
        return owner_check(&r->row, token, err) < 0 ? NULL : r;
    int rc = store_runner_find(ctl->store, session, &row, err);
    if (rc < 0 || (rc == 1 && owner_check(&row, token, err) < 0)) {
        runner_row_fini(&row);
        return NULL;
    }
    r = rc == 1 ? runner_find(ctl, row.id) : NULL;
    if (r) { /* another session with the same hash hid it */
        runner_row_fini(&row);
        return r;
    }
    ctl_touch_runners(ctl);
    r = runner_add(ctl);
    r->row = row;
    return r;
}

struct runner *runner_known(struct ctl *ctl, int64_t token, const char *session)
{
    struct runner *r = find_session(ctl, session);

    return r && r->row.token == token ? r : NULL;
}

static void devices_take(struct runner *r, const struct msg_hello *m)
{
    struct device *devices = mem_array((size_t)m->n_devices, sizeof *devices);

    for (int i = 0; i < m->n_devices; i++) {
        struct device *old = runner_device(r, m->devices[i].id);

        if (old) {
            devices[i] = *old;
            old->last_grant = NULL; /* moved */
        }
        devices[i].is = m->devices[i];
    }
    for (int i = 0; i < r->n_devices; i++)
        json_decref(r->devices[i].last_grant);
    mem_free(r->devices);
    r->devices = devices;
    r->n_devices = m->n_devices;
}

int runner_hello(struct ctl *ctl, struct runner *r, int64_t token, const struct msg_hello *m,
                 struct err *err)
{
    struct runner_row *row = &r->row;

    ctl_touch_runners(ctl);
    row->token = token;
    mem_free(row->name);
    mem_free(row->numeric_sig);
    mem_free(row->labels);
    row->name = mem_strdup(m->name);
    row->numeric_sig = mem_strdup(m->numeric_sig);
    row->labels = mem_strdup(m->labels);
    if (!row->session)
        row->session = mem_strdup(m->session);
    if (!row->state || str_eq(row->state, "gone")) {
        mem_free(row->state);
        row->state = mem_strdup("enabled");
    }
    if (!row->first_seen)
        row->first_seen = ctl_wall(ctl);
    devices_take(r, m);
    r->heard_ms = ctl_now(ctl);
    if (runner_put(ctl, r, err) < 0)
        return -1;
    if (!ctl->runners_moved && idmap_find(&ctl->runner_at, row->id) < 0) {
        CHECK(ctl->runners[ctl->n_runners - 1] == r); /* only now it has got an id */
        index_put(ctl, ctl->n_runners - 1);
    }
    return 0;
}
