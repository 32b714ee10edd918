/* debug.c - the debug commands of a controller that was started with --dev (docs/DEBUG.md): look at
 * what is in memory, move the clock, arm a fault point, hash all facts, rebuild the state from the
 * journal and compare it with the rows, read the database. Arguments come as {"args": [text, ...]}.
 * The table of commands is at the end of the file. */
#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/serve/serve.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/task.h"
#include "store/journal.h"

#include <inttypes.h>
#include <string.h>

enum { ROWS_MAX = 1000 }; /* of one answer */

static const char *arg_at(const json_t *args, size_t i)
{
    return json_string_value(json_array_get(json_object_get(args, "args"), i));
}

/* ---- looking ---- */

static json_t *lease_json(const struct ctl *ctl, const struct lease *l)
{
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:b}", "kind", l->is_task ? "task" : "trial",
        "id", (json_int_t)l->id, "fence", (json_int_t)l->fence, "study", (json_int_t)l->study,
        "runner", (json_int_t)l->runner, "device", l->device, "group", (json_int_t)l->group,
        "expires_in_ms", (json_int_t)(l->expires_ms - ctl_now(ctl)), "probe", l->is_probe);
}

static json_t *study_json(const struct study *st)
{
    static const struct search nothing;
    const struct search *s = st->search ? st->search : &nothing;
    int64_t left = budget_left(st);

    return json_pack("{s:I, s:s, s:s, s:i, s:i, s:i, s:I, s:i, s:i, s:o}", "id",
                     (json_int_t)st->row.id, "name", st->row.name, "state",
                     study_state_name[st->row.state], "trials", st->n_trials, "queued", st->n_queue,
                     "board", st->n_board, "virtual_now", (json_int_t)s->plan.now, "virtual_runs",
                     s->plan.n_runs, "script_pos", s->script_pos, "left_ms",
                     left == INT64_MAX ? json_null() : json_integer((json_int_t)left));
}

static int debug_state(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    json_t *studies = json_array(), *leases = json_array(), *tasks = json_array(), *runners = NULL;

    (void)args;
    for (int i = 0; i < ctl->n_studies; i++)
        json_array_append_new(studies, study_json(ctl->studies[i]));
    for (int i = 0; i < ctl->n_leases; i++)
        json_array_append_new(leases, lease_json(ctl, &ctl->leases[i]));
    for (int i = 0; i < ctl->n_tasks; i++)
        json_array_append_new(
            tasks, json_pack("{s:I, s:s, s:s, s:I}", "id", (json_int_t)ctl->tasks[i]->row.id,
                             "kind", ctl->tasks[i]->row.kind, "state", ctl->tasks[i]->row.state,
                             "fence", (json_int_t)ctl->tasks[i]->row.fence));
    ctl_runners(ctl, 0, 1000, &runners, err);
    *out = json_pack("{s:o, s:o, s:o, s:o, s:b, s:I, s:I}", "studies", studies, "leases", leases,
                     "tasks", tasks, "runners", json_incref(json_object_get(runners, "runners")),
                     "waiting", ctl->serve->waits != NULL, "turn_avg_us",
                     (json_int_t)ctl->turn_avg_us, "events_sent", (json_int_t)ctl->events_sent);
    json_decref(runners);
    return 0;
}

static int debug_trial(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    json_t *trial = NULL, *logs = NULL;
    int64_t id = 0;

    if (!arg_at(args, 0) || str_i64(arg_at(args, 0), 1, INT64_MAX, &id, err) < 0)
        return err_at(err, "args", "needs the id of a trial");
    if (ctl_trial_get(ctl, id, &trial, err) < 0)
        return -1;
    if (ctl_trial_logs(ctl, id, &logs, err) < 0) {
        json_decref(trial);
        return -1;
    }
    *out = json_pack("{s:o, s:O}", "trial", trial, "journal", json_object_get(logs, "events"));
    json_decref(logs);
    return 0;
}

static int debug_digest(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    char hex[SHA256_HEX];

    (void)args;
    if (store_digest(ctl->store, hex, err) < 0)
        return -1;
    *out = json_pack("{s:s}", "digest", hex);
    return 0;
}

static void on_diff(void *arg, const char *line)
{
    if (json_array_size(arg) < ROWS_MAX)
        json_array_append_new(arg, json_string(line));
}

static int debug_replay(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    json_t *list = json_array();

    (void)args;
    if (store_replay(ctl->store, on_diff, list, err) < 0) {
        json_decref(list);
        return -1;
    }
    *out = json_pack("{s:o, s:I}", "differences", list, "journal",
                     (json_int_t)journal_last(ctl->store));
    return 0;
}

static int on_sql_row(void *arg, const char *json)
{
    json_t *row = json_loads(json, JSON_DECODE_ANY, NULL);

    json_array_append_new(arg, row ? row : json_string(json));
    return json_array_size(arg) >= ROWS_MAX;
}

static int debug_sql(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    json_t *list = NULL;

    if (!arg_at(args, 0))
        return err_at(err, "args", "needs a statement that only reads");
    list = json_array();
    if (store_sql_readonly(ctl->store, arg_at(args, 0), on_sql_row, list, err) < 0) {
        json_decref(list);
        return -1;
    }
    *out = json_pack("{s:o}", "rows", list);
    return 0;
}

/* ---- changing something ---- */

static int debug_clock(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    const char *by = arg_at(args, 0);
    int64_t ms = 0;

    if (!by || str_duration_ms(by[0] == '+' ? by + 1 : by, &ms, err) < 0)
        return err_at(err, "args", "needs by how much the clock is moved, such as +60s");
    clk_advance(ctl->clk, ms);
    *out = json_pack("{s:I, s:I}", "mono_ms", (json_int_t)ctl_now(ctl), "wall_ms",
                     (json_int_t)ctl_wall(ctl));
    return 0;
}

/* Arguments: name [nth] [kill | on]. The fault happens at the nth time that the point is passed;
 * `kill` ends the process there, `on` makes the fault happen from then on each time. */
static int debug_fault(struct ctl *ctl, const json_t *args, json_t **out, struct err *err)
{
    const char *name = arg_at(args, 0), *nth = arg_at(args, 1);
    int64_t n = 1;

    (void)ctl;
    if (!name || (nth && str_i64(nth, 1, INT32_MAX, &n, err) < 0))
        return err_at(err, "args",
                      "needs the name of a fault point, and may have a number: with 3, "
                      "the third passing of it fails");
    if (str_eq(arg_at(args, 2), "on"))
        fault_arm_from(name, (int)n);
    else
        fault_arm_name(name, (int)n, str_eq(arg_at(args, 2), "kill"));
    *out = json_pack("{s:s, s:I}", "armed", name, "nth", (json_int_t)n);
    return 0;
}

int ctl_debug(struct ctl *ctl, const char *verb, const json_t *args, json_t **out, struct err *err)
{
    static const struct {
        const char *name;
        int (*run)(struct ctl *ctl, const json_t *args, json_t **out, struct err *err);
    } verbs[] = {
        { "state", debug_state },   { "trial", debug_trial }, { "digest", debug_digest },
        { "replay", debug_replay }, { "sql", debug_sql },     { "clock", debug_clock },
        { "fault", debug_fault },
    };
    const char *names[ARRAY_LEN(verbs)];

    if (!ctl->conf.dev)
        return err_set(err, ERR_DENIED, "debug commands need a controller started with --dev");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        names[i] = verbs[i].name;
        if (str_eq(verbs[i].name, verb))
            return verbs[i].run(ctl, args, out, err);
    }
    const char *near = str_nearest(verb, names, ARRAY_LEN(names));
    return err_set(err, ERR_NOTFOUND, "there is no debug command \"%.40s\"%s%s%s", verb,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}
