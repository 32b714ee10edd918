/* script.c - makes the script and takes items from it (script.h).
 *
 * The items that were taken stand first, in the order in which they were taken; search.script_pos
 * is their number. First trials are taken in the order of the list, but for those of a dear lead and
 * what is dearer. These and the portfolios, which begin at search.script_free, may be taken in another
 * order in a live study: an item is then moved to the end of those taken, so that a replay, which takes
 * by hash, leaves the same list. */
#include "controller/decide/script.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/warm.h"
#include "controller/problem/config.h"
#include "controller/problem/ladder.h"

#include <math.h>
#include <string.h>

enum {
    /* items; a spec's list may be longer, but nobody waits for so many trials */
    SCRIPT_MAX = 20000,
    /* A first trial may take so many times the time of a fold that is aimed at. */
    OVER_FOLD = 2,
    DEAR_TURN = 3,
    TURNS = 5,
    /* A first trial that costs more than SLOW_US by its formula, or a SLOW_SHARE-th of the time, is
     * preceded by a quick one of at most QUICK_US, or a QUICK_SHARE-th of the time. */
    SLOW_US = 2000000,
    SLOW_SHARE = 6,
    QUICK_US = 500000,
    QUICK_SHARE = 20
};

struct script {
    struct script_item *list;
    int n, cap;
    json_t *seen; /* the configurations in the list as texts, as keys */
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
        if (config_parse(&c, v, path, st->space.own, err) < 0)
            return -1;
        if (!(c.family->tasks & st->problem.task))
            return err_at(err, path, "%s does not do the task %s", c.family->name,
                          st->problem.data.task);
        script_add(s, &c, SRC_SCRIPT);
    }
    return 0;
}

/* Whether a family's fold can be afforded as it is: always without a limit in time. */
static bool is_affordable(const struct study *st, const struct config *c)
{
    int64_t cost = budget_fold_us(st, c, ladder_levels(&st->problem, c->family));
    int64_t fold_ms = st->problem.shape.fold_ms;

    return !fold_ms || cost / 1000 <= fold_ms * OVER_FOLD;
}

/* Whether a family's first configuration runs to its highest level at once. In an automatic space
 * only three kinds of family do: the lead family; families with a single level; and families whose
 * lower levels are parts of a fit, because only a whole trial shows how good they are beside the
 * others. The rest must first be good at a lower level, because a forest may cost as much as twenty
 * fits of the lead; but where a list leaves the lead out, that is no reason. */
static bool runs_to_top(const struct study *st, const struct config *c)
{
    const struct family *f = c->family;
    bool has_lead = budget_yardstick(st)->family->is_lead;

    return !st->space.is_auto || f->is_lead || ladder_levels(&st->problem, f) == 1 ||
           ((f->has_partial_levels || !has_lead) && is_affordable(st, c));
}

/* In an automatic space the lead family comes first, because the others may take longer and a study
 * with a short budget should have a good model early. Families that only images have come next:
 * where the table has images, they are the strongest. Where one fold of the lead would take more
 * than its share of the time, as with some hundred classes, it is cut before it has shown what it
 * can do; those whose first trial is cheaper go before it then, so that the time is enough for them
 * in any case. From DEAR_TURN on a live study takes what share.h says: the lead when the others have
 * had their early trials. */
static int turn_of(const struct study *st, const struct config *c)
{
    const struct config *lead = budget_yardstick(st);
    int first = runs_to_top(st, c) ? ladder_levels(&st->problem, c->family) : 1;

    if (!st->space.is_auto)
        return 0;
    if (c->family->needs_images)
        return 1;
    if (!budget_lead_is_dear(st))
        return c->family->is_lead ? 0 : 2;
    if (c->family->is_lead)
        return 3;
    return budget_fold_us(st, c, first) <
                   budget_fold_us(st, lead, ladder_levels(&st->problem, lead->family))
               ? 2
               : 4;
}

/* The parameter that bounds the length of a fit: rounds, trees or epochs; -1 = none. */
static int length_of(const struct family *f)
{
    for (int i = 0; i < f->n_params; i++) {
        if (f->params[i].axis == FA_FREE && f->params[i].kind == FP_INT)
            return i;
    }
    return -1;
}

/* A search with a limit in time should have a model soon that is better than the baseline. Where its
 * first trial takes long, as boosting does with some hundred classes, the same configuration with
 * fewer rounds, trees or epochs goes before it. Otherwise a search of one such family may deliver
 * nothing on a machine that is loaded: what it has when it is cut arrives too late. Where a spec says
 * something of the family's parameters, it says what may be tried. */
static void add_quick(struct script *s, const struct study *st, int family)
{
    struct config c = st->space.first[family];
    int length = length_of(c.family), folds = st->problem.shape.folds;
    int64_t time = st->spec.budget_time_ms * 1000, most = MIN(QUICK_US, time / QUICK_SHARE);

    if (!st->spec.budget_time_ms || st->is_deterministic || length < 0 ||
        !st->space.is_plain[family])
        return;
    int levels = ladder_levels(&st->problem, c.family);
    if (budget_fold_us(st, &c, levels) * folds <= MIN(SLOW_US, time / SLOW_SHARE))
        return;
    double *v = &c.params[length], least = c.family->params[length].hard_lo;
    while (budget_fold_us(st, &c, levels) * folds > most && floor(*v / 2) >= least)
        *v = floor(*v / 2);
    script_add(s, &c, SRC_FIRST);
}

/* Those of the turns from `from` on, before `to`. Returns how many families have one. */
static int add_firsts(struct script *s, const struct study *st, int from, int to, bool is_first)
{
    int n = 0;

    for (int turn = from; turn < to; turn++) {
        for (int i = 0; i < st->space.n_families; i++) {
            const struct config *c = &st->space.first[i];

            if (turn_of(st, c) != turn)
                continue;
            if (is_first && n == 0)
                add_quick(s, st, i);
            script_add(s, c, runs_to_top(st, c) ? SRC_FIRST : SRC_SCRIPT);
            n++;
        }
    }
    return n;
}

/* Whoever says something of a family's parameters, or names families and a sampler, wants no others. */
static bool has_portfolio(const struct study *st, int family)
{
    const char *sampler = st->spec.sampler;

    return st->space.is_plain[family] &&
           (st->space.is_auto || !sampler[0] || str_eq(sampler, "auto"));
}

/* Rows that say little before they are whole, such as networks that read numbers in other ways, are
 * whole at once. */
static bool row_is_whole(const struct study *st, const struct config *c, int row)
{
    return row < c->family->whole_rows && is_affordable(st, c);
}

/* Row 1 of each family, then row 2 of each, and so on; row 0 is the default, which add_firsts
 * added. */
static void add_portfolios(struct script *s, const struct study *st)
{
    bool more = true;

    for (int row = 1; more; row++) {
        more = false;
        for (int i = 0; i < st->space.n_families; i++) {
            struct config c = { .family = st->space.first[i].family };
            const double *params = c.family->portfolio ? c.family->portfolio(row) : NULL;

            if (!params || !has_portfolio(st, i))
                continue;
            memcpy(c.params, params, (size_t)c.family->n_params * sizeof *params);
            family_suit(c.family, &st->problem.shape, st->problem.data.metric, c.params);
            script_add(s, &c, row_is_whole(st, &c, row) ? SRC_FIRST : SRC_SCRIPT);
            more = true;
        }
    }
}

int script_make(struct study *st, struct err *err)
{
    struct script s = { .seen = json_object() };
    struct config base = { .family = st->families[0] };
    int rc = -1, n_owed = 0;

    family_defaults(base.family, base.params);
    if (!st->space.own)
        script_add(&s, &base, SRC_FIRST);
    if (add_enqueued(&s, st, err) < 0)
        goto out;
    /* What a user's program does best with is unknown, so nothing comes before the sampler. */
    if (!st->space.own)
        n_owed = add_firsts(&s, st, 0, DEAR_TURN, true);
    /* Where nothing is cheaper than a dear lead, there is nothing to wait for. */
    if (!st->space.own && n_owed == 0)
        n_owed = add_firsts(&s, st, DEAR_TURN, TURNS, true);
    for (int i = 0; warm_first(st, i, &base); i++) {
        if (base.family->tasks & st->problem.task)
            script_add(&s, &base, SRC_SCRIPT);
    }
    st->search->script_free = s.n;
    if (n_owed < st->space.n_families && !st->space.own)
        (void)add_firsts(&s, st, DEAR_TURN, TURNS, false);
    add_portfolios(&s, st);
    rc = 0;
out:
    json_decref(s.seen);
    st->search->script = s.list;
    st->search->n_script = s.n;
    st->search->script_pos = 0;
    return rc;
}

/* ---- taking ---- */

/* Takes the item at this place: moves it behind those that were taken before. */
static const struct script_item *take(struct study *st, int at)
{
    CHECK(at >= st->search->script_pos && at < st->search->n_script);
    struct script_item item = st->search->script[at],
                       *to = &st->search->script[st->search->script_pos];

    memmove(to + 1, to, (size_t)(at - st->search->script_pos) * sizeof *to);
    *to = item;
    st->search->script_pos++;
    return to;
}

/* The sampler may have proposed an item's configuration while the item waited for its family's
 * turn. */
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
    struct script_item *item = &st->search->script[at];

    memmove(item, item + 1, (size_t)(--st->search->n_script - at) * sizeof *item);
}

/* Deterministic studies take everything in order, because results come to them in virtual time and
 * the order must not depend on more than that. */
const struct script_item *script_next(struct study *st, const struct family *wanted)
{
    int at = st->search->script_pos;

    if (at < st->search->script_free || (!wanted && at < st->search->n_script))
        return take(st, at);
    while (at < st->search->n_script) {
        if (st->search->script[at].config.family != wanted)
            at++;
        else if (was_tried(st, &st->search->script[at]))
            drop(st, at);
        else
            return take(st, at);
    }
    return NULL;
}

void script_took(struct study *st, uint64_t config)
{
    int at = st->search->script_pos;

    if (at >= st->search->n_script)
        return;
    while (at >= st->search->script_free && at < st->search->n_script &&
           config_hash_of(&st->search->script[at].config) != config)
        at++;
    take(st, at < st->search->n_script ? at : st->search->script_pos);
}
