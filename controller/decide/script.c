/* script.c - the list and its order; see script.h. What was taken stands first, in the order of taking. All but the
 * portfolios is taken in the order of the list. */
#include "controller/decide/script.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/searchers.h"
#include "controller/decide/warm.h"
#include "controller/problem/config.h"
#include "controller/problem/ladder.h"

#include <string.h>

enum { SCRIPT_MAX = 20000, LATE_EVERY = 4 };

struct script {
    struct script_item *list;
    int n, cap;
    json_t *seen; /* texts, so that nothing is tried twice */
};

static void script_add(struct script *s, const struct config *c, enum trial_source source)
{
    char *text = config_text_new(c);

    if (s->n < SCRIPT_MAX && !json_object_get(s->seen, text)) {
        json_object_set_new(s->seen, text, json_true());
        MEM_GROW(s->list, s->n, s->cap);
        s->list[s->n++] = (struct script_item){ *c, source };
    }
    mem_free(text);
}

static int add_enqueued(struct script *s, const struct study *st, struct err *err)
{
    char path[40];
    json_t *v = NULL;
    size_t i = 0;

    json_array_foreach(st->spec.enqueue, i, v)
    {
        struct config c;

        jsonx_path_at(path, sizeof path, "enqueue", i);
        if (config_parse(&c, v, path, err) < 0)
            return -1;
        if (!(c.family->tasks & st->problem.task))
            return err_at(err, path, "%s does not do the task %s", c.family->name,
                          st->problem.data.task);
        script_add(s, &c, SRC_SCRIPT);
    }
    return 0;
}

/* Of an automatic space the lead and those that have no lower rung run to their top; the others must earn it: a forest may
 * cost as much as twenty fits of the lead. */
static bool runs_to_top(const struct study *st, const struct family *f)
{
    return !st->space.is_auto || f->is_lead || ladder_levels(&st->problem, f) == 1;
}

/* The lead of an automatic space first: the others may take longer than it does. */
static void add_firsts(struct script *s, const struct study *st)
{
    for (int late = 0; late < 2; late++) {
        for (int i = 0; i < st->space.n_families; i++) {
            const struct config *c = &st->space.first[i];

            if ((st->space.is_auto && !c->family->is_lead) == late)
                script_add(s, c, runs_to_top(st, c->family) ? SRC_FIRST : SRC_SCRIPT);
        }
    }
}

static void add_portfolios(struct script *s, const struct study *st)
{
    bool more = st->space.is_auto;

    for (int row = 1; more; row++) {
        more = false;
        for (int i = 0; i < st->space.n_families; i++) {
            struct config c = { .family = st->space.first[i].family };
            const double *params = c.family->portfolio ? c.family->portfolio(row) : NULL;

            if (!params)
                continue;
            memcpy(c.params, params, (size_t)c.family->n_params * sizeof *params);
            script_add(s, &c, SRC_SCRIPT);
            more = true;
        }
    }
}

int script_make(struct study *st, struct err *err)
{
    struct script s = { .seen = json_object() };
    struct config base = { .family = st->families[0] };
    int rc = -1;

    family_defaults(base.family, base.params);
    script_add(&s, &base, SRC_FIRST);
    if (add_enqueued(&s, st, err) < 0)
        goto out;
    add_firsts(&s, st);
    for (int i = 0; warm_first(st, i, &base); i++) {
        if (base.family->tasks & st->problem.task)
            script_add(&s, &base, SRC_SCRIPT);
    }
    st->script_free = s.n;
    add_portfolios(&s, st);
    rc = 0;
out:
    json_decref(s.seen);
    st->script = s.list;
    st->n_script = s.n;
    st->script_pos = 0;
    return rc;
}

void script_fini(struct study *st)
{
    mem_free(st->script);
    st->script = NULL;
    st->n_script = st->script_pos = st->script_free = 0;
}

/* ---- taking ---- */

static const struct script_item *take(struct study *st, int at)
{
    struct script_item item = st->script[at], *to = &st->script[st->script_pos];

    memmove(to + 1, to, (size_t)(at - st->script_pos) * sizeof *to);
    *to = item;
    st->script_pos++;
    return to;
}

static bool is_behind(const struct study *st, const struct script_item *item)
{
    const struct scheduler_ops *ops = st->scheduler->ops;

    return ops->is_behind &&
           ops->is_behind(st->scheduler, searchers_group(st, item->config.family->name));
}

/* While others wait the sampler may propose the same. */
static bool was_tried(const struct study *st, const struct script_item *item)
{
    uint64_t config = config_hash_of(&item->config);

    for (int i = 0; i < st->n_trials; i++) {
        if (st->trials[i].config == config)
            return true;
    }
    return false;
}

static void drop(struct study *st, int at)
{
    struct script_item *item = &st->script[at];

    memmove(item, item + 1, (size_t)(--st->n_script - at) * sizeof *item);
}

const struct script_item *script_next(struct study *st)
{
    int at = st->script_pos;

    if (at < st->script_free || (st->is_deterministic && at < st->n_script))
        return take(st, at);
    while (at < st->n_script && is_behind(st, &st->script[at]))
        at++;
    if (at == st->n_script) {
        if (st->n_trials % LATE_EVERY != 0)
            return NULL;
        at = st->script_pos;
    }
    while (at < st->n_script && was_tried(st, &st->script[at]))
        drop(st, at);
    return at < st->n_script ? take(st, at) : NULL;
}

void script_took(struct study *st, uint64_t config)
{
    int at = st->script_pos;

    if (at >= st->n_script)
        return;
    while (at >= st->script_free && at < st->n_script &&
           config_hash_of(&st->script[at].config) != config)
        at++;
    take(st, at < st->n_script ? at : st->script_pos);
}
