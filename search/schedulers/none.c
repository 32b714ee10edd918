/* none.c - the scheduler that decides nothing: every trial runs straight to the top of its ladder.
 * It keeps no state. */
#include "search/schedulers/schedulers.h"

#include "base/mem.h"

static struct scheduler *none_open(const struct search_setup *setup, struct err *err)
{
    struct scheduler *s = mem_zalloc(sizeof *s);

    (void)err;
    *s = (struct scheduler){ &search_none, setup->seed };
    return s;
}

static void none_close(struct scheduler *s)
{
    mem_free(s);
}

static int none_start(struct scheduler *s, int64_t trial, int family, int max_level,
                      struct err *err)
{
    (void)s, (void)trial, (void)family;
    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    return max_level;
}

static int none_report(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                       struct err *err)
{
    bool is_over = o->state != OBS_RUNNING || o->level >= o->max_level;

    (void)s, (void)err;
    *out = is_over ? (struct sched_decision){ SCHED_DONE, 0 }
                   : (struct sched_decision){ SCHED_RUN_TO, o->max_level };
    return 0;
}

static int none_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                       struct err *err)
{
    (void)s, (void)n, (void)idle, (void)out, (void)err;
    return 0; /* nothing is ever paused */
}

static int none_retire(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err)
{
    (void)s, (void)n, (void)closing, (void)trials, (void)err;
    return 0;
}

const struct scheduler_ops search_none = {
    .name = "none",
    .help = "trains every trial to its top level",
    .open = none_open,
    .close = none_close,
    .start = none_start,
    .report = none_report,
    .resume = none_resume,
    .retire = none_retire,
};
