/* bench_turns.c - how long one turn of the controller's loop takes while 64 runners ask and answer, as a study grows: lease
 * calls that need suggestions, reports at rungs, ends, ticks. Then how long a start takes that finds
 * such a study. A turn that takes long is a time in which nobody is answered: the bar is 10 ms. Times are the loop's thread's on the
 * processor: other work on the machine does not count, nor what is made beside the loop.
 * BUDGET="'trials':1000000" makes the study a deterministic one.
 *   [TRIALS=20000] [SAMPLER=auto] [SCHEDULER=auto] [BUDGET='time':'10h'] build/gcc/tests/bench/bench_turns */
#include "tests/rig.h"

#include "controller/decide/propose.h"

#include <event2/event.h>
#include <stdlib.h>
#include <time.h>

enum { RUNNERS = 64, TICK_MS = 250, WINDOW_MAX = 1 << 20 };

static int64_t window[WINDOW_MAX];
static int n_window;
static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void note(int64_t from_us)
{
    if (n_window < WINDOW_MAX)
        window[n_window++] = now_us() - from_us;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void print(const char *what)
{
    int middle = n_window / 2;

    if (n_window == 0)
        return;
    qsort(window, (size_t)n_window, sizeof window[0], compare);
    printf("%-24s %8d turns, median %6.2f ms, 99%% %6.2f ms, longest %6.2f ms\n", what, n_window,
           (double)window[middle] / 1000, (double)window[(int)((double)n_window * 0.99)] / 1000,
           (double)window[n_window - 1] / 1000);
    n_window = 0;
}

static void tick(struct rig *r)
{
    int64_t from = now_us();

    ctl_tick(r->ctl);
    ctl_turn_end(r->ctl);
    note(from);
}

/* What was made beside the loop comes home. */
static void pump(struct rig *r)
{
    int64_t from = now_us();

    (void)event_base_loop(loop_base(r->ctl->loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
    if (r->ctl->in_request || r->ctl->turn_start_us) {
        ctl_turn_end(r->ctl);
        note(from);
    }
}

/* One runner's go: it asks if it has nothing, else says what it has to say. */
static void go(struct rig *r, struct fake *f)
{
    int64_t from = now_us();

    if (f->n_trials == 0) {
        fake_ask(f);
        note(from);
        if (r->ctl->is_deferred)
            tick(r);
        return;
    }
    fake_step(f, 0);
    note(from);
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *v = getenv(name);

    return v && *v ? v : otherwise;
}

int main(void)
{
    static struct fake fakes[RUNNERS];
    struct rig r;
    char spec[600], text[60];
    int most = (int)strtol(setting("TRIALS", "20000"), NULL, 10), next = 1000;

    rig_open(&r);
    rig_dataset(&r, "d");
    clk_init_system(&r.clk);
    snprintf(spec, sizeof spec,
             "{'name':'s','dataset':'d','target':'y','seed':7,'validation':'kfold','budget':{%s},"
             "'stop':{'no_gain_trials':100000000},'sampler':'%s','scheduler':'%s'}",
             setting("BUDGET", "'time':'10h'"), setting("SAMPLER", "auto"),
             setting("SCHEDULER", "auto"));
    int64_t id = rig_study(&r, spec), due_ms = 0;
    struct loop *loop = loop_new(&r.clk, NULL);
    loop_pool_start(loop, 2);
    r.ctl->loop = loop;
    printf("%s / %s, %d runners\n", rig_get(&r, id)->problem.search.sampler,
           rig_get(&r, id)->problem.search.scheduler, RUNNERS);
    for (int i = 0; i < RUNNERS; i++) {
        snprintf(text, sizeof text, "s%d", i);
        fake_open(&fakes[i], &r, text, 1);
    }
    for (int64_t k = 0; rig_get(&r, id)->n_trials < most; k++) {
        go(&r, &fakes[k % RUNNERS]);
        pump(&r);
        if (clk_now_ms(&r.clk) >= due_ms) {
            tick(&r);
            due_ms = clk_now_ms(&r.clk) + TICK_MS;
        }
        if (rig_get(&r, id)->n_trials >= next) {
            snprintf(text, sizeof text, "up to %d trials", next);
            print(text);
            next *= next < 10000 ? 10 : 2;
        }
    }
    print("the rest");
    printf("made beside the loop: %lld\n", (long long)r.ctl->stats.ahead);
    int64_t from = now_us();
    rig_restart(&r);
    printf("a start finds %d trials in %.2f s\n", rig_get(&r, id)->n_trials,
           (double)(now_us() - from) / 1e6);
    ctl_free(r.ctl);
    loop_free(loop);
    return 0;
}
