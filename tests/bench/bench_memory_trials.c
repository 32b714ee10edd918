/* bench_memory_trials.c - how many bytes of heap a controller keeps for each trial of a long study: one live study with the
 * default sampler and scheduler, fake runners that ask and answer until it has so many trials. Printed is what malloc says
 * is in use (mallinfo2) above the level at 1,000 trials, when caches of fixed size are full, divided by the trials made
 * since; then the same after a restart, where everything is built anew from rows. The bar is 600 bytes and the
 * configuration (eight bytes for each of its values).
 *   [TRIALS=20000] [SAMPLER=auto] [SCHEDULER=auto] build/gcc/tests/bench/bench_memory_trials */
#include "tests/rig.h"

#include <event2/event.h>
#include <malloc.h>
#include <stdlib.h>

enum { RUNNERS = 64, TICK_EVERY = 64, BASE = 1000 };

static int64_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return (int64_t)(m.uordblks + m.hblkhd);
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *v = getenv(name);

    return v && *v ? v : otherwise;
}

static void print(const struct study *st, int64_t base)
{
    printf("%7d trials: %6.2f MB in use, %6.0f bytes a trial\n", st->n_trials,
           (double)in_use() / 1e6, (double)(in_use() - base) / (st->n_trials - BASE));
}

static void tick(struct rig *r)
{
    ctl_tick(r->ctl);
    ctl_turn_end(r->ctl);
}

/* What was made beside the loop comes home. */
static void pump(struct rig *r)
{
    (void)event_base_loop(loop_base(r->ctl->loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
    ctl_turn_end(r->ctl);
}

int main(void)
{
    static struct fake fakes[RUNNERS];
    struct rig r;
    char spec[600], text[60];
    int most = (int)strtol(setting("TRIALS", "20000"), NULL, 10), next = 2 * BASE;
    int64_t base = 0, empty = 0;

    rig_open(&r);
    rig_dataset(&r, "d");
    snprintf(
        spec, sizeof spec,
        "{'name':'s','dataset':'d','target':'y','seed':7,'validation':'kfold','budget':{'time':"
        "'8000h'},'stop':{'no_gain_trials':100000000},'sampler':'%s','scheduler':'%s'}",
        setting("SAMPLER", "auto"), setting("SCHEDULER", "auto"));
    int64_t id = rig_study(&r, spec);
    struct loop *loop = loop_new(&r.clk, NULL);
    r.ctl->loop = loop;
    printf("%s / %s, %d parameters\n", rig_get(&r, id)->problem.search.sampler,
           rig_get(&r, id)->problem.search.scheduler, rig_get(&r, id)->space.space->n);
    for (int i = 0; i < RUNNERS; i++) {
        snprintf(text, sizeof text, "s%d", i);
        fake_open(&fakes[i], &r, text, 1);
    }
    empty = in_use();
    for (int64_t k = 0; rig_get(&r, id)->n_trials < most; k++) {
        struct fake *f = &fakes[k % RUNNERS];
        if (f->n_trials == 0)
            fake_ask(f);
        else
            fake_step(f, 0);
        pump(&r);
        if (k % TICK_EVERY == 0)
            rig_pass(&r, 1);
        int n = rig_get(&r, id)->n_trials;
        if (base == 0 && n >= BASE)
            base = in_use();
        if (n >= next) {
            print(rig_get(&r, id), base);
            next *= 2;
        }
    }
    tick(&r);
    print(rig_get(&r, id), base);
    rig_restart(&r);
    printf("after a restart: %.0f bytes a trial\n",
           (double)(in_use() - empty) / rig_get(&r, id)->n_trials);
    ctl_free(r.ctl);
    loop_free(loop);
    return 0;
}
