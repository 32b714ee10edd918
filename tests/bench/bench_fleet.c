/* bench_fleet.c - how many whole trials a controller grants, judges and stores in a second, and how it carries many runners.
 * RUNNERS simulated runners (tests/swarm.h) speak the real protocol over loopback; their trials have made-up scores, so that
 * everything that is measured is the controller, its database and the network. Each runner asks for up to GROUP trials, reports
 * the ends of all of them in one report (and uploads of the few that are kept in a second one), and asks again. The data folder
 * is on a real disk (TMPDIR) and every commit is waited for, unless SYNC=0. Simulator and controller share the machine: both
 * processor times are printed. At the end every acknowledged end of a trial is looked for in the database.
 *   [ASSAY=build/gcc/assay] [RUNNERS=64] [GROUP=16] [SAMPLER=random] [SCHEDULER=none] [SECONDS=10] [TRIALS=1000000]
 *   [BUDGET=time|trials] [SYNC=1] build/gcc/tests/bench/bench_fleet
 * RATE=2500 lets trials take so long that all runners together end about 2,500 a second; leases are renewed meanwhile.
 * START=5 lets the runners come within 5 s instead of at once. STREAMS=200 opens so many streams of events and reads them. WARM=5 begins to measure after 5 s, when the first rush is over.
 * HEALTH=1 asks for /health without a token 20 times a second. TRIALS ends the measurement early: TRIALS=2000 SAMPLER=tpe asks
 * for the rate over the first 2,000. KILL=1 then kills the controller with -9, starts it again and prints after how many seconds
 * how many runners have had an answer. RESTART=1 does so with new runners, and prints how long the new controller takes until it
 * answers, and until a runner has work again. MEMORY=1 prints the controller's memory as the study grows.
 * KEEP=1 leaves the folder and prints its name; DATA=folder goes on with it. */
#include "tests/daemon.h"
#include "tests/rig.h"
#include "tests/swarm.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"
#include "store/trial.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STUDY = 1, HEALTH_MS = 50 };

static struct daemon server;
static struct swarm swarm;
static char dir[300], model[SHA256_HEX];
static int64_t stream_bytes;

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

static void on_lost(struct bufferevent *bev, short what, void *arg)
{
    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        (*(int *)arg)++;
}

static struct bufferevent *client_new(bufferevent_data_cb on_read, int *n_lost)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server.port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct bufferevent *bev = bufferevent_socket_new(swarm.base, -1, BEV_OPT_CLOSE_ON_FREE);

    bufferevent_setcb(bev, on_read, NULL, on_lost, n_lost);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    bufferevent_socket_connect(bev, (struct sockaddr *)&in, sizeof in);
    return bev;
}

/* ---- streams of events ---- */

struct stream {
    struct bufferevent *bev;
};

static struct stream *streams;
static int streams_lost;

static void on_stream(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);

    (void)arg;
    stream_bytes += (int64_t)evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
}

static void streams_begin(void)
{
    int n = setting("STREAMS", 0);

    streams = mem_array((size_t)n + 1, sizeof *streams);
    for (int i = 0; i < n; i++) {
        streams[i].bev = client_new(on_stream, &streams_lost);
        evbuffer_add_printf(bufferevent_get_output(streams[i].bev),
                            "GET /api/v1/events?study=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Authorization: Bearer %s\r\n\r\n",
                            STUDY, server.token);
    }
}

static void streams_end(void)
{
    for (int i = 0; streams[i].bev; i++)
        bufferevent_free(streams[i].bev);
    mem_free(streams);
}

/* ---- /health of somebody without a token ---- */

static struct {
    struct bufferevent *bev;
    struct event *timer;
    int64_t asked_us; /* 0 = the last one was answered */
    int n_lost, n_dialled;
    struct swarm_times times;
} health;

static void on_health(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);

    (void)arg;
    evbuffer_drain(in, evbuffer_get_length(in)); /* it comes in one piece */
    if (health.asked_us)
        swarm_time_add(&health.times, swarm_now_us() - health.asked_us);
    health.asked_us = 0;
}

static void on_health_time(evutil_socket_t fd, short what, void *arg)
{
    struct timeval tv = { 0, HEALTH_MS * 1000 };

    (void)fd, (void)what, (void)arg;
    event_add(health.timer, &tv);
    if (health.n_lost == health.n_dialled) { /* a stranger's connection may be ended at any time */
        if (health.bev)
            bufferevent_free(health.bev);
        health.bev = client_new(on_health, &health.n_lost);
        health.n_dialled++;
        health.asked_us = 0;
    }
    if (health.asked_us)
        return;
    health.asked_us = swarm_now_us();
    evbuffer_add_printf(bufferevent_get_output(health.bev),
                        "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

static void health_begin(void)
{
    if (!setting("HEALTH", 0))
        return;
    health.timer = evtimer_new(swarm.base, on_health_time, NULL);
    on_health_time(-1, 0, NULL);
}

static void health_end(void)
{
    if (!health.bev)
        return;
    bufferevent_free(health.bev);
    event_free(health.timer);
    health.bev = NULL;
    health.asked_us = 0;
    health.n_lost = health.n_dialled = 0;
}

/* One number of GET /metrics; -1 if it cannot be had. */
static double metric(const char *name)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server.port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    static char text[1 << 16];
    char ask[400], line[100];
    size_t n = 0;
    ssize_t got = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int len = snprintf(ask, sizeof ask,
                       "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       server.token);

    if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof in) < 0 ||
        write(fd, ask, (size_t)len) != len)
        return -1;
    while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(text, line);
    return at ? strtod(at + strlen(line), NULL) : -1;
}

/* ---- results ---- */

static void print_controller(void)
{
    printf("controller: %ld kB, at most %ld kB; longest turn %.1f ms, of processor time %.1f ms\n",
           daemon_memory_kb(server.pid, "VmRSS"), daemon_memory_kb(server.pid, "VmHWM"),
           metric("assay_turn_max_seconds") * 1e3, metric("assay_turn_cpu_max_seconds") * 1e3);
}

static void times_print(const char *name, struct swarm_times *t)
{
    if (t->n)
        printf("%-8s %8d %9.2f %9.2f %9.2f\n", name, t->n, swarm_ms(t, 50), swarm_ms(t, 99),
               swarm_ms(t, 100));
}

static void calls_print(void)
{
    printf("%-8s %8s %9s %9s %9s\n", "call", "n", "p50 ms", "p99 ms", "max ms");
    for (int i = 0; i < SWARM_CALLS; i++)
        times_print(swarm_call_names[i], &swarm.times[i]);
    times_print("/health", &health.times);
    printf("connections lost %lld, answered 503 %lld, refused %lld, stale %lld, ended twice %lld\n",
           (long long)swarm.n_lost, (long long)swarm.n_busy, (long long)swarm.n_refused,
           (long long)swarm.n_stale, (long long)swarm.n_twice);
}

struct checked {
    int64_t n, ended, missing;
};

static int on_row(void *arg, struct trial_row *row)
{
    struct checked *c = arg;
    bool is_acknowledged = row->id < swarm.cap_ended && swarm.ended[row->id];

    c->n++;
    c->ended += trial_is_final(row->state);
    c->missing += is_acknowledged && !trial_is_final(row->state);
    return 0;
}

/* Whether the database has every end that was acknowledged. */
static void check(void)
{
    struct err err = { 0 };
    struct checked c = { 0 };
    int64_t acknowledged = 0;
    struct store *s = store_open_readonly(dir, &err);

    for (int64_t i = 0; i < swarm.cap_ended; i++)
        acknowledged += swarm.ended[i];
    if (!s || store_trial_each(s, STUDY, on_row, &c, &err) < 0)
        printf("check: %s\n", err.text);
    store_close(s);
    printf(
        "check: %lld ends were acknowledged, %lld of them are missing; the study has %lld trials, %lld ended\n",
        (long long)acknowledged, (long long)c.missing, (long long)c.n, (long long)c.ended);
}

/* ---- memory as the study grows, and restarts ---- */

static struct event *memory_timer;

static void on_memory(evutil_socket_t fd, short what, void *arg)
{
    struct timeval tv = { 10, 0 };

    (void)fd, (void)what, (void)arg;
    printf("%9lld trials  %7ld kB\n", (long long)swarm.n_done,
           daemon_memory_kb(server.pid, "VmRSS"));
    fflush(stdout);
    event_add(memory_timer, &tv);
}

static void kill_and_start(int64_t *from, int64_t *up)
{
    kill(server.pid, SIGKILL);
    waitpid(server.pid, NULL, 0);
    *from = swarm_now_us();
    daemon_start(&server, dir, setting("SYNC", 1) != 0);
    *up = swarm_now_us();
}

/* The same runners come back to a new controller. */
static void herd(void)
{
    static const int marks[] = { 1, 50, 90, 99, 100 };
    int64_t from = 0, up = 0;
    size_t at = 0;
    double used = 0;

    swarm_forget(&swarm);
    health_end();
    kill_and_start(&from, &up);
    printf("killed and started: listens after %.2f s; runners that have had an answer:",
           (double)(up - from) / 1e6);
    while (at < ARRAY_LEN(marks) && swarm_now_us() - from < 120000000) {
        swarm_run(&swarm, .02);
        for (; at < ARRAY_LEN(marks) &&
               (int64_t)swarm.n_answered * 100 >= (int64_t)swarm.conf.runners * marks[at];
             at++)
            printf(" %d %% after %.2f s%s", marks[at], (double)(swarm_now_us() - from) / 1e6,
                   marks[at] == 100 ? "" : ",");
    }
    used = daemon_cpu_s(server.pid);
    printf("\n%d of %d; processor time of the controller %.2f s; leases that ran out %.0f\n",
           swarm.n_answered, swarm.conf.runners, used, metric("assay_leases_expired_total"));
    calls_print();
    health_begin();
    swarm_forget(&swarm);
    health.times.n = 0;
    from = swarm_now_us();
    swarm_run(&swarm, setting("SECONDS", 10));
    used = daemon_cpu_s(server.pid) - used;
    printf("then %.0f trials/s for %d s; controller %.2f s\n",
           (double)swarm.n_done * 1e6 / (double)(swarm_now_us() - from), setting("SECONDS", 10),
           used);
    calls_print();
    print_controller();
}

/* New runners come to a new controller. */
static void restart(void)
{
    struct swarm_conf conf = swarm.conf;
    int64_t from = 0, up = 0, done = swarm.n_done;

    health_end();
    streams_end();
    streams = NULL;
    swarm_free(&swarm);
    kill_and_start(&from, &up);
    conf.sessions = "again";
    conf.most = INT64_MAX;
    swarm_start(&swarm, &conf);
    while (swarm.n_grants == 0 && swarm_now_us() - from < 120000000)
        swarm_run(&swarm, .01);
    printf("restarted over %lld trials: listens after %.2f s, a runner has work after %.2f s%s; "
           "%ld kB\n",
           (long long)done, (double)(up - from) / 1e6, (double)(swarm_now_us() - from) / 1e6,
           swarm.n_grants ? "" : " (not yet)", daemon_memory_kb(server.pid, "VmRSS"));
}

/* Both programs need a descriptor for each connection. assayd inherits the limits. */
static void descriptors_raise(int n_runners)
{
    struct rlimit limit = { 0 };
    rlim_t need = (rlim_t)n_runners + (rlim_t)setting("STREAMS", 0) + 500;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = limit.rlim_max = MAX(need, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        printf("the limit of open files is %lld, and stays there\n", (long long)limit.rlim_max);
}

static void measure(void)
{
    int64_t from = swarm_now_us();
    double cpu = daemon_cpu_s(getpid()), theirs = daemon_cpu_s(server.pid);

    if (setting("WARM", 0) > 0) {
        swarm_run(&swarm, setting("WARM", 0));
        printf("after %d s: %d of %d runners have had an answer; longest turn so far %.1f ms, of "
               "processor time %.1f ms\n",
               setting("WARM", 0), swarm.n_answered, swarm.conf.runners,
               metric("assay_turn_max_seconds") * 1e3, metric("assay_turn_cpu_max_seconds") * 1e3);
        calls_print();
        swarm_forget(&swarm);
        stream_bytes = health.times.n = 0;
        from = swarm_now_us();
        cpu = daemon_cpu_s(getpid());
        theirs = daemon_cpu_s(server.pid);
    }
    swarm_run(&swarm, setting("SECONDS", 10));
    double s = (double)(swarm_now_us() - from) / 1e6;
    cpu = daemon_cpu_s(getpid()) - cpu;
    theirs = daemon_cpu_s(server.pid) - theirs;
    printf("%d runners, groups of %d, %s, %s: %lld trials in %.2f s = %.0f/s\n", swarm.conf.runners,
           swarm.conf.group, word("SAMPLER", "random"), word("SCHEDULER", "none"),
           (long long)swarm.n_done, s, (double)swarm.n_done / s);
    printf("%.1f trials a grant; processor: controller %.2f s = %.0f %% of one, %.3f ms a trial; "
           "simulated runners %.2f s\n",
           (double)swarm.n_done / (double)MAX(swarm.n_grants, 1), theirs, theirs * 100 / s,
           theirs * 1e3 / (double)MAX(swarm.n_done, 1), cpu);
    calls_print();
    if (setting("STREAMS", 0) > 0)
        printf("%d streams, %d lost: %.1f MB/s in all\n", setting("STREAMS", 0), streams_lost,
               (double)stream_bytes / 1e6 / s);
    print_controller();
}

int main(void)
{
    struct err err = { 0 };
    struct swarm_conf conf = { .runners = setting("RUNNERS", 64),
                               .group = MIN(setting("GROUP", 16), MSG_MAX_TRIALS),
                               .rate = setting("RATE", 0),
                               .start_s = setting("START", 0),
                               .sessions = "fleet",
                               .most = setting("TRIALS", 1000000) };

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    descriptors_raise(conf.runners);
    if (getenv("DATA"))
        str_copy(dir, sizeof dir, getenv("DATA"));
    else
        folder_make();
    daemon_start(&server, dir, setting("SYNC", 1) != 0);
    conf.port = server.port;
    conf.token = server.token;
    sha256_hex("model", 5, conf.model);
    if (model[0])
        str_copy(conf.model, sizeof conf.model, model);
    swarm_start(&swarm, &conf);
    if (setting("MEMORY", 0)) {
        memory_timer = evtimer_new(swarm.base, on_memory, NULL);
        on_memory(-1, 0, NULL);
    }
    streams_begin();
    health_begin();
    measure();
    if (setting("KILL", 0))
        herd();
    daemon_stop(&server);
    if (setting("RESTART", 0)) {
        daemon_start(&server, dir, setting("SYNC", 1) != 0);
        restart();
        daemon_stop(&server);
    }
    check();
    if (setting("KEEP", 0))
        printf("DATA=%s\n", dir);
    else
        io_remove_tree(dir, &err);
    return 0;
}
