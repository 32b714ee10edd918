/* show.c - pools as JSON (show.h). Sentences begin in lower case and have no full stop, because they
 * are shown behind the pool's name. */
#include "controller/pool/show.h"

#include "base/str.h"
#include "controller/pool/pool_private.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t seconds_to(const struct pools *p, int64_t ms)
{
    return MAX((ms - ctl_now(p->ctl) + 999) / 1000, 0);
}

/* The reasons that Slurm gives for pending jobs, each once, as "Resources, Priority". */
static void reasons(const struct pools *p, const char *pool, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < p->n_jobs; i++) {
        const struct slurm_job *j = &p->jobs[i].is;
        bool is_new = j->reason[0] != '\0';

        if (!str_eq(j->pool, pool) || (j->state != SLURM_PENDING && j->state != SLURM_LATE))
            continue;
        for (int k = 0; k < i; k++)
            is_new = is_new &&
                     !(str_eq(p->jobs[k].is.pool, pool) && str_eq(p->jobs[k].is.reason, j->reason));
        if (is_new && len + sizeof j->reason + 3 < size)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", j->reason);
    }
}

static const char *jobs_word(int n)
{
    return n == 1 ? "job" : "jobs";
}

/* The state in a word, and why in a sentence ("" = there is nothing to say). */
static const char *pool_why(const struct pools *p, int at, const struct plan_in *in, char *why,
                            size_t size)
{
    const struct pool *pool = &p->pool[at];
    char because[160];
    int n = in->pending + in->late;

    why[0] = '\0';
    if (p->patience.fails > 0) {
        (void)snprintf(why, size, "Slurm does not answer: %.180s; tried again in %" PRId64 " s",
                       p->patience.why, seconds_to(p, p->patience.until_ms));
        return "unreachable";
    }
    if (pool->patience.fails > 0) {
        (void)snprintf(why, size, "%.200s; tried again in %" PRId64 " s", pool->patience.why,
                       seconds_to(p, pool->patience.until_ms));
        return "failing";
    }
    if (n > 0) {
        reasons(p, p->conf.pools[at].name, because, sizeof because);
        (void)snprintf(why, size, "%d %s in Slurm's queue%s%s%s", n,
                       n == 1 ? "job waits" : "jobs wait", because[0] ? " (" : "", because,
                       because[0] ? ")" : "");
        return "waiting";
    }
    if (in->starting > 0) {
        (void)snprintf(why, size, "%d %s started, whose runner comes soon", in->starting,
                       in->starting == 1 ? "job has" : "jobs have");
        return "starting";
    }
    if (pool->wanted > 0 && in->jobs >= in->max) {
        (void)snprintf(why, size, "trials wait for %d more %s, but the pool has all its %d %s",
                       pool->wanted, pool->wanted == 1 ? "device" : "devices", in->max,
                       jobs_word(in->max));
        return "full";
    }
    return in->running > 0 ? "running" : "idle";
}

static json_t *jobs_json(const struct pools *p, const char *pool)
{
    json_t *list = json_array();

    for (int i = 0; i < p->n_jobs; i++) {
        const struct pool_job *j = &p->jobs[i];

        if (str_eq(j->is.pool, pool))
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "job", j->is.id, "state",
                                slurm_state_name[j->is.state], "slurm_state", j->is.says, "reason",
                                j->is.reason, "node", j->is.node, "kept", j->is.is_kept, "runner",
                                j->runner ? json_integer(j->runner) : json_null()));
    }
    return list;
}

static json_t *pool_json(const struct pools *p, int at)
{
    const struct pool_conf *c = &p->conf.pools[at];
    struct plan_in in;
    char why[400];

    pools_count(p, at, &in);
    const char *state = pool_why(p, at, &in, why, sizeof why);
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:o}", "name", c->name,
                     "state", state, "why", why, "min", c->min, "max", c->max, "devices",
                     in.devices, "wanted", p->pool[at].wanted, "running", in.running, "pending",
                     in.pending + in.late, "submitted", (json_int_t)p->pool[at].submitted, "jobs",
                     jobs_json(p, c->name));
}

json_t *pools_json_new(const struct pools *p)
{
    json_t *list = json_array();

    for (int i = 0; p && i < p->conf.n; i++)
        json_array_append_new(list, pool_json(p, i));
    return json_pack("{s:o}", "pools", list);
}
