/* fair.c - see fair.h. The lines are start-time fair queuing: a line that comes in begins at the time of the line served
 * last, so that nobody saves up time by staying away. They are forgotten when nobody waits any more. */
#include "web/request/fair.h"

#include "base/loop.h"
#include "base/mem.h"

#include <time.h>

enum {
    RUNNERS_SHARE = 8,
    /* Bodies of requests that wait. A request that would hold more is handled at once. */
    BODIES_MAX = 16 << 20
};

struct line {
    int64_t key, used_us; /* processor time, divided by the share */
    struct web_req *first, *last;
};

struct fair {
    struct web *web;
    struct loop_timer *timer;
    void (*run)(struct web_req *r);
    struct line *lines; /* since somebody waits */
    size_t n, cap, n_waiting, bytes;
    int64_t served_us; /* the time that the line served last had used */
    bool is_armed;     /* the timer; until it fires nobody is handled at once */
};

int64_t fair_line_of(const struct web_req *r)
{
    if (r->who.token)
        return r->who.token;
    return r->who.session ? -2 - r->who.session : r->is_local ? -1 : 0;
}

static int64_t cpu_us(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct line *line_get(struct fair *f, int64_t key)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->lines[i].key == key)
            return &f->lines[i];
    }
    if (f->n == f->cap) {
        f->cap = mem_more(f->cap);
        f->lines = mem_resize(f->lines, f->cap * sizeof *f->lines);
    }
    f->lines[f->n] = (struct line){ .key = key, .used_us = f->served_us };
    return &f->lines[f->n++];
}

static void wait_in_line(struct fair *f, struct web_req *r)
{
    struct line *l = line_get(f, fair_line_of(r));

    if (!l->first)
        l->used_us = MAX(l->used_us, f->served_us);
    *(l->first ? &l->last->next_waiting : &l->first) = r;
    l->last = r;
    r->next_waiting = NULL;
    f->n_waiting++;
    f->bytes += r->body_len;
}

static struct line *line_next(struct fair *f)
{
    struct line *best = NULL;

    for (size_t i = 0; i < f->n; i++) {
        struct line *l = &f->lines[i];
        if (l->first && (!best || l->used_us < best->used_us))
            best = l;
    }
    CHECK(best);
    return best;
}

static struct web_req *line_pop(struct fair *f, struct line *l)
{
    struct web_req *r = l->first;

    l->first = r->next_waiting;
    f->n_waiting--;
    f->bytes -= r->body_len;
    return r;
}

static void serve_one(struct fair *f)
{
    struct line *l = line_next(f);
    struct web_req *r = line_pop(f, l);
    int64_t from = cpu_us(), share = r->who.role == CTL_RUNNER ? RUNNERS_SHARE : 1;
    size_t at = (size_t)(l - f->lines);

    f->served_us = l->used_us;
    f->run(r);
    f->lines[at].used_us += MAX((cpu_us() - from) / share, 1); /* lines stay while one is served */
}

static void pump(void *arg)
{
    struct fair *f = arg;
    struct loop *loop = f->web->loop;

    bool is_first = true;

    for (; f->n_waiting > 0 && (is_first || !loop_is_late(loop)); is_first = false)
        serve_one(f);
    f->is_armed = f->n_waiting > 0;
    if (f->is_armed) {
        loop_timer_again(f->timer, 0);
    } else {
        f->n = 0;
        f->served_us = 0;
    }
    loop_breathe(loop);
}

/* The timer fires behind everything that is ready now: by then all who are there stand in their lines. */
static struct fair *armed(struct web *web, void (*run)(struct web_req *r))
{
    struct fair *f = web->fair;

    if (!f) {
        f = web->fair = mem_zalloc(sizeof *f);
        f->web = web;
        f->run = run;
        f->timer = loop_timer_new(web->loop, 0, 0, pump, f);
    } else if (!f->is_armed) {
        loop_timer_again(f->timer, 0);
    }
    CHECK(f->run == run);
    f->is_armed = true;
    return f;
}

void fair_run(struct web_req *r, void (*run)(struct web_req *r))
{
    struct web *web = r->web;
    struct fair *f = web->fair;
    bool must_wait = loop_is_late(web->loop) || (f && f->is_armed);

    if (must_wait && (!f || f->bytes + r->body_len <= BODIES_MAX)) {
        wait_in_line(armed(web, run), r);
        return;
    }
    run(r);
    if (loop_is_late(web->loop)) /* this turn ends here, and who is ready may be many */
        (void)armed(web, run);
}

void fair_free(struct fair *f, void (*drop)(struct web_req *r))
{
    if (!f)
        return;
    while (f->n_waiting > 0)
        drop(line_pop(f, line_next(f)));
    loop_timer_free(f->timer);
    mem_free(f->lines);
    mem_free(f);
}
