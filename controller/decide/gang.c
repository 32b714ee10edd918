/* gang.c - see gang.h. The lists are short: every device of the fleet, a few dozen as a rule. */
#include "controller/decide/gang.h"

#include "base/base.h"
#include "base/str.h"

static int count(const struct gang_device *d, int n, const char *kind, bool only_free)
{
    int of_kind = 0;

    for (int i = 0; i < n; i++)
        of_kind += str_eq(d[i].kind, kind) && (d[i].is_free || !only_free);
    return of_kind;
}

static bool is_chosen(const int *chosen, int n, int i)
{
    for (int k = 0; k < n; k++) {
        if (chosen[k] == i)
            return true;
    }
    return false;
}

/* Free devices of the runner that are not chosen yet. */
static int left_of(const struct gang_device *d, int n, int64_t runner, const char *kind,
                   const int *chosen, int n_chosen)
{
    int left = 0;

    for (int i = 0; i < n; i++)
        left += d[i].runner == runner && d[i].is_free && str_eq(d[i].kind, kind) &&
                !is_chosen(chosen, n_chosen, i);
    return left;
}

/* The next device: one of the runner that the last one is of; else one of the runner that has the
 * most, or the first of those that have equally many. */
static int next(const struct gang_device *d, int n, const int *chosen, int n_chosen)
{
    const struct gang_device *last = &d[chosen[n_chosen - 1]];
    int best = -1, most = 0;

    for (int i = 0; i < n; i++) {
        if (!d[i].is_free || !str_eq(d[i].kind, last->kind) || is_chosen(chosen, n_chosen, i))
            continue;
        if (d[i].runner == last->runner)
            return i;
        int left = left_of(d, n, d[i].runner, last->kind, chosen, n_chosen);
        if (left > most) {
            most = left;
            best = i;
        }
    }
    return best;
}

enum gang_answer gang_choose(const struct gang_device *d, int n, int asker, int need, int *chosen)
{
    const char *kind = d[asker].kind;

    CHECK(asker >= 0 && asker < n && need >= 1 && d[asker].is_free);
    if (count(d, n, kind, false) < need)
        return GANG_NEVER;
    if (count(d, n, kind, true) < need)
        return GANG_WAITS;
    chosen[0] = asker;
    for (int k = 1; k < need; k++) {
        chosen[k] = next(d, n, chosen, k);
        CHECK(chosen[k] >= 0);
    }
    return GANG_GOES;
}

int gang_most(const struct gang_device *d, int n, const char **kind)
{
    int most = 0;

    *kind = "";
    for (int i = 0; i < n; i++) {
        int of_kind = count(d, n, d[i].kind, false);
        if (of_kind > most) {
            most = of_kind;
            *kind = d[i].kind;
        }
    }
    return most;
}

int gang_compare(const void *pa, const void *pb)
{
    const struct gang_claim *a = pa, *b = pb;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->holds != b->holds)
        return a->holds ? -1 : 1;
    if (a->running != b->running)
        return a->running < b->running ? -1 : 1;
    if (a->served != b->served)
        return a->served < b->served ? -1 : 1;
    return a->study < b->study ? -1 : 1;
}

bool gang_yields(const struct gang_claim *first, const struct gang_claim *c)
{
    return !first->holds && c->priority == first->priority && c->served < first->served;
}
