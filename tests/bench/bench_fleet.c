/* bench_fleet.c - how many whole trials a controller grants, judges and stores in a second. RUNNERS simulated runners speak the
 * real protocol over loopback; their trials take no time and have made-up scores, so that everything that is measured is the
 * controller, its database and the network. Each runner asks for up to GROUP trials, reports the ends of all of them in one
 * report (and uploads of the few that are kept in a second one), and asks again. The data folder is on a real disk (TMPDIR) and
 * every commit is waited for, unless SYNC=0. Simulator and controller share the machine: both processor times are printed.
 *   [ASSAY=build/gcc/assay] [RUNNERS=64] [GROUP=16] [SAMPLER=random] [SCHEDULER=none] [SECONDS=10] [TRIALS=1000000]
 *   [BUDGET=time|trials] [SYNC=1] build/gcc/tests/bench/bench_fleet
 * RATE=2500 lets trials take so long that all runners together end about 2,500 a second. STREAMS=200 opens so many streams of
 * events and reads them. WARM=5 begins to measure after 5 s, when the first rush is over.
 * TRIALS ends the measurement early: TRIALS=2000 SAMPLER=tpe asks for the rate over the first 2,000. RESTART=1 then kills the
 * controller and prints how long a new one takes until it answers, and until a runner has work again. MEMORY=1 prints the
 * controller's memory as the study grows. */
#include "tests/daemon.h"
#include "tests/rig.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STUDY = 1, SAMPLES = 1 << 20 };
enum call { CALL_HELLO, CALL_LEASE, CALL_REPORT, CALLS };

struct held_trial {
    struct msg_trial is; /* without its configuration */
    int64_t seq;
    int max; /* levels of its family */
    enum msg_type next;
};
struct peer {
    struct bufferevent *bev;
    char session[33];
    int64_t id, n, asked_us;
    enum call call;
    struct event *timer; /* while its trials run (RATE) */
    struct held_trial trials[MSG_MAX_TRIALS];
    int n_trials;
};

static const char *const call_names[CALLS] = { "hello", "lease", "report" };
static struct {
    int64_t *us;
    int n, failed;
} waited[CALLS];

static struct event_base *base;
static struct daemon server;
static char dir[300], model[SHA256_HEX];
static struct peer *peers;
static int n_runners, group;
static int64_t n_done, n_grants, most, stream_bytes;
static double cpu_s; /* of this process, when the measurement began */

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int setting(const char *name, int otherwise)
{
    const char *v = getenv(name);

    return v && *v ? (int)strtol(v, NULL, 10) : otherwise;
}

static const char *word(const char *name, const char *otherwise)
{
    const char *v = getenv(name);

    return v && *v ? v : otherwise;
}

static void folder_make(void)
{
    bool by_time = str_eq(word("BUDGET", "time"), "time");
    struct rig r;
    char spec[600];

    rig_open(&r);
    clk_init_system(&r.clk);
    rig_dataset(&r, "d");
    snprintf(spec, sizeof spec,
             "{'name':'fleet','dataset':'d','target':'y','seed':7,'validation':'kfold',"
             "'space':[{'family':'boost'}],'budget':{%s},'stop':{'no_gain_trials':100000000},"
             "'sampler':'%s','scheduler':'%s'}",
             by_time ? "'time':'10h'" : "'trials':1000000", word("SAMPLER", "random"),
             word("SCHEDULER", "none"));
    assert_int_equal(rig_study(&r, spec), STUDY);
    rig_model(&r, "model", model);
    ctl_free(r.ctl);
    /* the test folder is in memory: a disk is wanted */
    snprintf(dir, sizeof dir, "%s/fleet-XXXXXX", word("TMPDIR", "/tmp"));
    char copy[1000];
    snprintf(copy, sizeof copy, "cp -r %s/. %s && rm -r %s", r.dir, mkdtemp(dir), r.dir);
    if (system(copy) != 0)
        exit(1);
}

/* ---- HTTP, as little of it as the controller's answers need ---- */

static void send_call(struct peer *p, enum call call, const char *path, json_t *body)
{
    struct evbuffer *out = bufferevent_get_output(p->bev);
    char *text = jsonx_dump(body);

    p->call = call;
    p->asked_us = now_us();
    evbuffer_add_printf(out,
                        "POST /api/v1/runners%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        path, server.token, strlen(text));
    evbuffer_add(out, text, strlen(text));
    mem_free(text);
    json_decref(body);
}

/* The whole answer's body, or NULL while more of it is to come. */
static json_t *answer_take(struct peer *p)
{
    struct evbuffer *in = bufferevent_get_input(p->bev);
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    char head[2000];
    json_t *j = NULL;

    if (end.pos < 0 || end.pos >= (ssize_t)sizeof head)
        return NULL;
    evbuffer_copyout(in, head, (size_t)end.pos);
    head[end.pos] = '\0';
    const char *length = strcasestr(head, "content-length:");
    size_t n = length ? strtoul(length + 15, NULL, 10) : 0;
    if (evbuffer_get_length(in) < (size_t)end.pos + 4 + n)
        return NULL;
    evbuffer_drain(in, (size_t)end.pos + 4);
    j = jsonx_load((const char *)evbuffer_pullup(in, (ssize_t)n), n, "answer", NULL);
    if (strncmp(head, "HTTP/1.1 2", 10) != 0 || !j) {
        if (waited[p->call].failed++ < 3)
            printf("%s: %.40s %.*s\n", call_names[p->call], head, (int)MIN(n, 200U),
                   (const char *)evbuffer_pullup(in, (ssize_t)n));
        json_decref(j);
        j = json_object();
    }
    evbuffer_drain(in, n);
    if (waited[p->call].n < SAMPLES)
        waited[p->call].us[waited[p->call].n++] = now_us() - p->asked_us;
    return j;
}

/* ---- a runner ---- */

static void ask(struct peer *p)
{
    struct msg_ask m = { .n = ++p->n, .max_trials = group, .wait_s = 30 };
    char path[60];

    str_copy(m.session, sizeof m.session, p->session);
    str_copy(m.device, sizeof m.device, "cpu0");
    snprintf(path, sizeof path, "/%lld/lease", (long long)p->id);
    send_call(p, CALL_LEASE, path, msg_ask_json_new(&m));
}

static void event_of(const struct held_trial *t, struct msg_event *e)
{
    msg_event_init(e);
    e->type = t->next;
    e->trial = t->is.trial;
    e->fence = t->is.fence;
    e->seq = t->seq;
    e->level = t->is.to;
    e->value = .5 + .4 * (double)rand() / RAND_MAX;
    e->se = .01;
    e->fit_us = 1000000;
    e->predict_ns_row = 100;
    e->model_bytes = 1000;
    if (e->type == MSG_PAUSED || e->type == MSG_COMPLETE)
        str_copy(e->blob, sizeof e->blob, model);
}

static void report(struct peer *p)
{
    struct msg_event events[MSG_MAX_TRIALS];
    struct msg_held held[MSG_MAX_TRIALS];
    struct msg_asked asked = { .n = p->n };
    struct msg_report m = { .events = events, .held = held, .n_asked = 1, .asked = &asked };
    char path[60];

    for (int i = 0; i < p->n_trials; i++) {
        p->trials[i].seq++;
        event_of(&p->trials[i], &events[i]);
        held[i] = (struct msg_held){ p->trials[i].is.trial, p->trials[i].is.fence };
    }
    m.n_events = m.n_held = p->n_trials;
    str_copy(m.session, sizeof m.session, p->session);
    str_copy(asked.device, sizeof asked.device, "cpu0");
    snprintf(path, sizeof path, "/%lld/report", (long long)p->id);
    send_call(p, CALL_REPORT, path, msg_report_json_new(&m));
}

static enum msg_type at_level(const struct held_trial *t)
{
    return t->is.to < t->max ? MSG_RUNG : MSG_FINAL;
}

static void on_trained(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    report(arg);
}

/* The trials run for as long as RATE wants, half as long to half as long again. */
static void train(struct peer *p)
{
    double s =
        (double)p->n_trials * n_runners / setting("RATE", 0) * (.5 + (double)rand() / RAND_MAX);
    struct timeval tv = { (time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6) };

    if (!p->timer)
        p->timer = evtimer_new(base, on_trained, p);
    event_add(p->timer, &tv);
}

static void on_grant(struct peer *p, const json_t *j)
{
    struct msg_grant g = { 0 };

    p->n_trials = 0;
    if (msg_grant_parse(&g, j, NULL) == 1 && g.kind == MSG_FIT) {
        for (int i = 0; i < g.n_trials; i++) {
            struct held_trial *t = &p->trials[p->n_trials++];
            const struct family *f = family_find("boost");

            *t = (struct held_trial){ .is = g.trials[i], .max = f->levels > 1 ? f->levels : 1 };
            if (!strstr(g.trials[i].config, "\"boost\""))
                t->max = t->is.to; /* the baseline */
            t->is.config = NULL;
            t->next = at_level(t);
        }
    }
    msg_grant_fini(&g);
    n_grants += p->n_trials > 0;
    if (p->n_trials && setting("RATE", 0) > 0)
        train(p);
    else if (p->n_trials)
        report(p);
    else
        ask(p);
}

/* What the controller wants of a trial; false: it is over. */
static bool goes_on(struct held_trial *t, const struct msg_reply *r)
{
    switch (r->action) {
    case MSG_RUN_TO:
        t->is.to = r->to;
        t->next = at_level(t);
        return true;
    case MSG_PAUSE:
        t->next = MSG_PAUSED;
        return true;
    case MSG_KEEP:
        t->next = MSG_COMPLETE;
        return true;
    case MSG_OK:
    case MSG_STOP:
    case MSG_DROP:
    case MSG_STALE:
    default:
        n_done += r->action != MSG_STALE && t->next != MSG_PAUSED;
        return false;
    }
}

static void on_replies(struct peer *p, const json_t *j)
{
    struct msg_answer a = { 0 };
    int kept = 0;

    if (msg_answer_parse(&a, j, NULL) == 0 && a.n_replies == p->n_trials) {
        for (int i = 0; i < p->n_trials; i++) {
            if (goes_on(&p->trials[i], &a.replies[i]))
                p->trials[kept++] = p->trials[i];
        }
    }
    p->n_trials = kept;
    msg_answer_fini(&a);
    if (n_done >= most)
        event_base_loopbreak(base);
    else if (kept)
        report(p);
    else
        ask(p);
}

static void on_hello(struct peer *p, const json_t *j)
{
    struct msg_welcome w = { 0 };

    if (msg_welcome_parse(&w, j, NULL) < 0)
        exit(1);
    p->id = w.runner;
    ask(p);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct peer *p = arg;
    json_t *j = answer_take(p);

    (void)bev;
    if (!j)
        return;
    if (p->call == CALL_HELLO)
        on_hello(p, j);
    else if (p->call == CALL_LEASE)
        on_grant(p, j);
    else
        on_replies(p, j);
    json_decref(j);
}

static void on_lost(struct bufferevent *bev, short what, void *arg)
{
    struct peer *p = arg;

    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        printf("%s: the connection ended\n", p->session);
        exit(1);
    }
}

static void peer_begin(struct peer *p, int i)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server.port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct msg_hello m = { .protocol = MSG_PROTOCOL, .n_devices = 1 };

    snprintf(p->session, sizeof p->session, "fleet%d", i);
    p->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(p->bev, on_read, NULL, on_lost, p);
    bufferevent_enable(p->bev, EV_READ | EV_WRITE);
    bufferevent_socket_connect(p->bev, (struct sockaddr *)&in, sizeof in);
    str_copy(m.name, sizeof m.name, p->session);
    str_copy(m.session, sizeof m.session, p->session);
    str_copy(m.numeric_sig, sizeof m.numeric_sig, "assay-1/cpu");
    str_copy(m.devices[0].id, sizeof m.devices[0].id, "cpu0");
    str_copy(m.devices[0].kind, sizeof m.devices[0].kind, "cpu");
    m.devices[0].max_trials = group;
    send_call(p, CALL_HELLO, "", msg_hello_json_new(&m));
}

/* ---- streams of events ---- */

static void on_stream(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);

    (void)arg;
    stream_bytes += (int64_t)evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
}

static void stream_begin(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server.port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    static struct peer nobody = { .session = "a stream" };

    bufferevent_setcb(bev, on_stream, NULL, on_lost, &nobody);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    bufferevent_socket_connect(bev, (struct sockaddr *)&in, sizeof in);
    evbuffer_add_printf(bufferevent_get_output(bev),
                        "GET /api/v1/events?study=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Authorization: Bearer %s\r\n\r\n",
                        STUDY, server.token);
}

/* ---- results ---- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void calls_print(void)
{
    printf("%-8s %8s %9s %9s %9s %7s\n", "call", "n", "p50 ms", "p99 ms", "max ms", "failed");
    for (int i = CALL_LEASE; i < CALLS; i++) {
        int n = waited[i].n;
        int64_t *us = waited[i].us;

        qsort(us, (size_t)n, sizeof *us, by_value);
        int middle = n / 2, high = (int)(n * 99LL / 100);
        if (n)
            printf("%-8s %8d %9.2f %9.2f %9.2f %7d\n", call_names[i], n, (double)us[middle] / 1e3,
                   (double)us[high] / 1e3, (double)us[n - 1] / 1e3, waited[i].failed);
    }
}

static void run_s(double s)
{
    struct timeval tv = { (time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6) };

    event_base_loopexit(base, &tv);
    event_base_dispatch(base);
}

/* ---- memory as the study grows, and a restart ---- */

static struct event *memory_timer;

static void on_memory(evutil_socket_t fd, short what, void *arg)
{
    struct timeval tv = { 10, 0 };

    (void)fd, (void)what, (void)arg;
    printf("%9lld trials  %7ld kB\n", (long long)n_done, daemon_memory_kb(server.pid, "VmRSS"));
    fflush(stdout);
    event_add(memory_timer, &tv);
}

static bool has_work; /* a runner was given trials after the restart */

static void on_read_again(struct bufferevent *bev, void *arg)
{
    struct peer *p = arg;
    json_t *j = answer_take(p);
    struct msg_welcome w = { 0 };

    (void)bev;
    if (!j)
        return;
    if (p->call == CALL_LEASE && json_is_object(json_object_get(j, "grant"))) {
        has_work = true;
        event_base_loopbreak(base);
    } else {
        if (p->call == CALL_HELLO && msg_welcome_parse(&w, j, NULL) == 0)
            p->id = w.runner;
        ask(p);
    }
    json_decref(j);
}

static void restart(void)
{
    int64_t from = 0, up = 0;

    for (int i = 0; i < n_runners; i++)
        bufferevent_free(peers[i].bev);
    kill(server.pid, SIGKILL);
    waitpid(server.pid, NULL, 0);
    from = now_us();
    daemon_start(&server, dir, setting("SYNC", 1) != 0);
    up = now_us();
    peers[0].n = 0;
    peer_begin(&peers[0], n_runners); /* a new session */
    bufferevent_setcb(peers[0].bev, on_read_again, NULL, on_lost, &peers[0]);
    run_s(120);
    printf("restarted over %lld trials: listens after %.2f s, a runner has work after %.2f s%s; "
           "%ld kB\n",
           (long long)n_done, (double)(up - from) / 1e6, (double)(now_us() - from) / 1e6,
           has_work ? "" : " (not yet)", daemon_memory_kb(server.pid, "VmRSS"));
}

int main(void)
{
    struct err err = { 0 };

    n_runners = setting("RUNNERS", 64);
    group = MIN(setting("GROUP", 16), MSG_MAX_TRIALS);
    most = setting("TRIALS", 1000000);
    for (int i = 0; i < CALLS; i++)
        waited[i].us = mem_array(SAMPLES, sizeof(int64_t));
    folder_make();
    daemon_start(&server, dir, setting("SYNC", 1) != 0);
    base = event_base_new();
    peers = mem_array((size_t)n_runners, sizeof *peers);
    int64_t from = now_us();
    cpu_s = daemon_cpu_s(getpid());
    double theirs = daemon_cpu_s(server.pid);
    for (int i = 0; i < n_runners; i++)
        peer_begin(&peers[i], i);
    if (setting("MEMORY", 0)) {
        memory_timer = evtimer_new(base, on_memory, NULL);
        on_memory(-1, 0, NULL);
    }
    for (int i = 0; i < setting("STREAMS", 0); i++)
        stream_begin();
    if (setting("WARM", 0) > 0) {
        run_s(setting("WARM", 0));
        for (int i = 0; i < CALLS; i++)
            waited[i].n = 0;
        n_done = n_grants = stream_bytes = 0;
        from = now_us();
        cpu_s = daemon_cpu_s(getpid());
        theirs = daemon_cpu_s(server.pid);
    }
    run_s(setting("SECONDS", 10));
    double s = (double)(now_us() - from) / 1e6;
    printf("%d runners, groups of %d, %s, %s: %lld trials in %.2f s = %.0f/s\n", n_runners, group,
           word("SAMPLER", "random"), word("SCHEDULER", "none"), (long long)n_done, s,
           (double)n_done / s);
    printf(
        "%.1f trials a grant; processor: controller %.2f s (%.3f ms a trial), simulated runners %.2f s\n",
        (double)n_done / (double)MAX(n_grants, 1), daemon_cpu_s(server.pid) - theirs,
        (daemon_cpu_s(server.pid) - theirs) * 1e3 / (double)MAX(n_done, 1),
        daemon_cpu_s(getpid()) - cpu_s);
    calls_print();
    if (setting("STREAMS", 0) > 0)
        printf("%d streams: %.1f MB/s in all\n", setting("STREAMS", 0),
               (double)stream_bytes / 1e6 / s);
    printf("controller: %ld kB, at most %ld kB\n", daemon_memory_kb(server.pid, "VmRSS"),
           daemon_memory_kb(server.pid, "VmHWM"));
    if (setting("RESTART", 0))
        restart();
    daemon_stop(&server);
    io_remove_tree(dir, &err);
    return 0;
}
