/* task.c - open tasks in memory, and every change of a task's row (task.h).
 *
 * A task has no attempts in the database, as trials have. Instead its `result` column names its
 * holder while it runs, {"runner", "session", "device"}, so that after a restart of the controller
 * the holder's lease can be made again and gets a full period. There are few tasks at a time (one
 * for each dataset being read, one for each study that ends), so they are searched one by one. */
#include "controller/state/task.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <string.h>

/* ---- memory ---- */

struct task *task_find(struct ctl *ctl, int64_t id)
{
    for (int i = 0; i < ctl->n_tasks; i++) {
        if (ctl->tasks[i]->row.id == id)
            return ctl->tasks[i];
    }
    return NULL;
}

static void task_free(struct task *t)
{
    task_row_fini(&t->row);
    mem_free(t);
}

void task_free_all(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_tasks; i++)
        task_free(ctl->tasks[i]);
    ctl->n_tasks = 0;
}

static void rank_read(struct task *t)
{
    json_t *o =
        t->row.config ? jsonx_load(t->row.config, strlen(t->row.config), "rank", NULL) : NULL;

    t->trial = json_integer_value(json_object_get(o, "trial"));
    t->trial_fence = json_integer_value(json_object_get(o, "fence"));
    t->rank = (int)json_integer_value(json_object_get(o, "rank"));
    json_decref(o);
}

static struct task *task_add(struct ctl *ctl, struct task_row *row)
{
    struct task *t = mem_zalloc(sizeof *t);

    t->row = *row;
    *row = (struct task_row){ 0 };
    if (str_eq(t->row.kind, "rank"))
        rank_read(t);
    MEM_GROW(ctl->tasks, ctl->n_tasks, ctl->cap_tasks);
    ctl->tasks[ctl->n_tasks++] = t;
    return t;
}

/* The others keep their order, because the oldest task is leased first. */
static void task_forget(struct ctl *ctl, struct task *t)
{
    int i = 0;

    while (i < ctl->n_tasks && ctl->tasks[i] != t)
        i++;
    CHECK(i < ctl->n_tasks);
    memmove(ctl->tasks + i, ctl->tasks + i + 1,
            (size_t)(ctl->n_tasks - i - 1) * sizeof(struct task *));
    ctl->n_tasks--;
    lease_drop_task(ctl, t->row.id, t->row.fence);
    task_free(t);
}

/* Gives a running task its lease again after a load, unless the lease survived. A holder that
 * cannot be read becomes runner 1 with session "?", which nobody has: then the lease runs out and
 * the task is queued again. */
static void lease_again(struct ctl *ctl, const struct task *t)
{
    int64_t now = ctl_now(ctl);
    struct lease l = { .is_task = true,
                       .id = t->row.id,
                       .fence = t->row.fence,
                       .study = t->row.study,
                       .granted_ms = now,
                       .expires_ms = now + ctl->conf.lease_ms };
    struct lease *old = lease_find(ctl, true, t->row.id);
    json_t *o = NULL;

    if (old && old->fence == t->row.fence)
        return;
    if (old)
        lease_drop_task(ctl, old->id, old->fence);
    o = t->row.result ? jsonx_load(t->row.result, strlen(t->row.result), "holder", NULL) : NULL;
    const char *session = json_string_value(json_object_get(o, "session"));
    const char *device = json_string_value(json_object_get(o, "device"));
    l.runner = MAX(json_integer_value(json_object_get(o, "runner")), 1);
    str_copy(l.session, sizeof l.session, session ? session : "?");
    str_copy(l.device, sizeof l.device, device ? device : "?");
    json_decref(o);
    lease_add(ctl, &l);
}

/* A row that says running and was never granted makes no sense; such a task is granted anew. */
static int on_row(void *arg, struct task_row *row)
{
    if (row->fence < 1 && str_eq(row->state, "running")) {
        mem_free(row->state);
        row->state = mem_strdup("queued");
        row->fence = 0;
    }
    (void)task_add(arg, row);
    return 0;
}

int task_load_all(struct ctl *ctl, struct err *err)
{
    struct ctl old = { .tasks = ctl->tasks, .n_tasks = ctl->n_tasks, .cap_tasks = ctl->cap_tasks };

    ctl->tasks = NULL;
    ctl->n_tasks = ctl->cap_tasks = 0;
    if (store_task_each(ctl->store, true, on_row, ctl, err) < 0) {
        task_free_all(ctl);
        mem_free(ctl->tasks);
        ctl->tasks = old.tasks;
        ctl->n_tasks = old.n_tasks;
        ctl->cap_tasks = old.cap_tasks;
        return -1;
    }
    task_free_all(&old);
    mem_free(old.tasks);
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        const struct lease *l = &ctl->leases[i];
        const struct task *t = l->is_task ? task_find(ctl, l->id) : NULL;

        if (l->is_task && (!t || !str_eq(t->row.state, "running") || t->row.fence != l->fence))
            lease_remove(ctl, i);
    }
    for (int i = 0; i < ctl->n_tasks; i++) {
        if (str_eq(ctl->tasks[i]->row.state, "running"))
            lease_again(ctl, ctl->tasks[i]);
    }
    return 0;
}

/* ---- changes ---- */

int task_put(struct ctl *ctl, struct task *t, const char *state, struct err *err)
{
    CHECK(task_find(ctl, t->row.id) == t);
    ctl_touch_tasks(ctl);
    if (!str_eq(t->row.state, state)) {
        mem_free(t->row.state);
        t->row.state = mem_strdup(state);
        log_info("task.%s task=%" PRId64 " kind=%s fence=%" PRId64, state, t->row.id, t->row.kind,
                 t->row.fence);
    }
    return store_task_put(ctl->store, &t->row, err);
}

static int create(struct ctl *ctl, const char *kind, int64_t study, int64_t dataset, json_t *config,
                  int64_t *id, struct err *err)
{
    struct task_row row = { .study = study, .dataset = dataset, .created_at = ctl_wall(ctl) };

    CHECK((study > 0) != (dataset > 0)); /* a refit is of a study, an ingest of a dataset */
    row.kind = mem_strdup(kind);
    row.state = mem_strdup("queued");
    row.config = config ? jsonx_dump(config) : NULL;
    json_decref(config);
    ctl_touch_tasks(ctl);
    if (store_task_put(ctl->store, &row, err) < 0) {
        task_row_fini(&row);
        return -1;
    }
    CHECK(row.id > 0 && !task_find(ctl, row.id));
    *id = row.id;
    task_add(ctl, &row);
    return 0;
}

int task_create_ingest(struct ctl *ctl, int64_t dataset, struct err *err)
{
    int64_t id = 0;

    return create(ctl, "ingest", 0, dataset, NULL, &id, err);
}

/* The number of steps (rounds or trees) that validation chose on the training rows of a fold; 0 =
 * the family has none. The engine raises it for all rows where the family wants that. */
static int steps_of(const json_t *info)
{
    const json_t *steps = json_object_get(info, "steps");
    json_int_t n = json_integer_value(steps);

    return n >= 1 && n < INT32_MAX ? (int)n : 0;
}

int task_create_refit(struct study *st, int64_t number, int64_t *id, struct err *err)
{
    struct trial_row row = { 0 };
    json_t *info = NULL, *config = NULL, *task = NULL;
    int rc = trial_load(st, number, &row, err);

    if (rc == 0) {
        info = trial_info(&row);
        config = jsonx_load(row.config, strlen(row.config), "config", err);
        rc = config ? 0 : -1;
    }
    if (rc == 0) {
        json_t *free_values = json_object_get(info, "free");
        task = json_pack("{s:I, s:s, s:O, s:I, s:i, s:O}", "number", (json_int_t)number, "model",
                         row.artifact, "config", config, "seed", (json_int_t)row.seed, "rounds",
                         steps_of(info), "free", free_values ? free_values : json_null());
        CHECK(task);
        rc = create(st->ctl, "refit", st->row.id, 0, task, id, err);
    }
    json_decref(info);
    json_decref(config);
    trial_row_fini(&row);
    return rc;
}

int task_create_ensemble(struct study *st, json_t *config, int64_t *id, struct err *err)
{
    return create(st->ctl, "ensemble", st->row.id, 0, config, id, err);
}

int task_create_rank(struct study *st, int64_t trial, int64_t fence, int rank, int64_t *id,
                     struct err *err)
{
    json_t *o = json_pack("{s:I, s:I, s:i}", "trial", (json_int_t)trial, "fence", (json_int_t)fence,
                          "rank", rank);

    CHECK(o && rank >= 1);
    return create(st->ctl, "rank", st->row.id, 0, o, id, err);
}

int task_hold(struct ctl *ctl, struct task *t, const struct runner *r, const struct msg_ask *ask,
              struct err *err)
{
    int64_t now = ctl_now(ctl);
    struct lease l = { .is_task = true,
                       .id = t->row.id,
                       .fence = t->row.fence + 1,
                       .study = t->row.study,
                       .runner = r->row.id,
                       .ask_n = ask->n,
                       .granted_ms = now,
                       .expires_ms = now + ctl->conf.lease_ms };
    json_t *holder = json_pack("{s:I, s:s, s:s}", "runner", (json_int_t)r->row.id, "session",
                               ask->session, "device", ask->device);

    str_copy(l.session, sizeof l.session, ask->session);
    str_copy(l.device, sizeof l.device, ask->device);
    CHECK(str_eq(t->row.state, "queued") && !lease_find(ctl, true, t->row.id));
    t->row.fence++;
    t->row.msg_seq = 0;
    t->row.attempts++;
    mem_free(t->row.result);
    t->row.result = jsonx_dump(holder);
    json_decref(holder);
    if (task_put(ctl, t, "running", err) < 0)
        return -1;
    lease_add(ctl, &l);
    return 0;
}

int task_sweep_ranks(struct ctl *ctl, struct err *err)
{
    for (int i = ctl->n_tasks - 1; i >= 0; i--) {
        struct task *t = ctl->tasks[i];
        const struct lease *l = t->trial ? lease_find(ctl, false, t->trial) : NULL;

        /* leases of trials are there only when their study is in memory */
        if (!str_eq(t->row.kind, "rank") || (l && l->fence == t->trial_fence) ||
            !study_loaded(ctl, t->row.study))
            continue;
        if (task_end(ctl, t, "cancelled", err) < 0)
            return -1;
    }
    return 0;
}

int task_end(struct ctl *ctl, struct task *t, const char *state, struct err *err)
{
    CHECK(!str_eq(state, "queued") && !str_eq(state, "running"));
    t->row.ended_at = ctl_wall(ctl);
    if (task_put(ctl, t, state, err) < 0)
        return -1;
    task_forget(ctl, t);
    return 0;
}

static int cancel_where(struct ctl *ctl, int64_t study, int64_t dataset, struct err *err)
{
    for (int i = ctl->n_tasks - 1; i >= 0; i--) {
        struct task *t = ctl->tasks[i];

        if ((study && t->row.study == study) || (dataset && t->row.dataset == dataset)) {
            if (task_end(ctl, t, "cancelled", err) < 0)
                return -1;
        }
    }
    return 0;
}

int task_cancel_of_study(struct ctl *ctl, int64_t study, struct err *err)
{
    return cancel_where(ctl, study, 0, err);
}

int task_cancel_of_dataset(struct ctl *ctl, int64_t dataset, struct err *err)
{
    return cancel_where(ctl, 0, dataset, err);
}
