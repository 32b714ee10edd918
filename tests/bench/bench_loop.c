/* bench_loop.c - one assayd under a crowd: RUNNERS runners that each report a trial about once a second, STREAMS event
 * streams, and an ended study of TRIALS trials that is opened meanwhile. Prints what clients waited (the longest answer of
 * /health, asked all the time, is the longest turn as seen from outside), what assayd says of its own longest turn, and what
 * resuming a study with every runner waiting takes. The data folder is in memory, so that no disk is measured.
 *   [ASSAY=build/gcc/assay] [RUNNERS=1000] [STREAMS=200] [TRIALS=100000] [SECONDS=20] build/gcc/tests/bench/bench_loop */
#include "tests/rig.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/str.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 200000, MODEL_TAG = 5, STEP_MS = 1000, BIG = 1, LIVE = 2, HEALTH_MS = 4 };

struct series {
    const char *name;
    int64_t us[SAMPLES];
    int n, failed;
};
enum {
    S_HEALTH,
    S_STUDY,
    S_LIST,
    S_RUNNERS,
    S_LEASE,
    S_REPORT,
    S_OPEN,
    S_BOARD,
    S_RESUME,
    S_SERIES
};
static const struct series names[S_SERIES] = {
    [S_HEALTH] = { .name = "GET /health" },        [S_STUDY] = { .name = "GET /studies/live" },
    [S_LIST] = { .name = "GET /studies" },         [S_RUNNERS] = { .name = "GET /runners" },
    [S_LEASE] = { .name = "lease, without wait" }, [S_REPORT] = { .name = "report" },
    [S_OPEN] = { .name = "open the ended study" }, [S_BOARD] = { .name = "its first 300 rows" },
};

static struct series *series; /* shared with the process that asks while this one is the crowd */

struct runner_sim {
    struct evhttp_connection *conn;
    struct event *timer;
    char session[33], path[64];
    int64_t id, n, trial, fence, seq, asked_us;
    int to, max;
    enum msg_type next;
    bool has_trial, says;
};

static struct event_base *base;
static char token[200], dir[300], model[SHA256_HEX];
static int port, n_runners, n_streams, n_waiting;
static struct runner_sim *runners;
static int64_t stream_bytes, granted;
static bool resumed;
static int64_t resumed_us, all_served_us;
static int n_served; /* trials granted since the study was resumed */

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void note(int which, int64_t from_us, int status)
{
    struct series *s = &series[which];

    if (s->n < SAMPLES)
        s->us[s->n++] = now_us() - from_us;
    s->failed += status < 200 || status > 299;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static double at(const struct series *s, double share)
{
    return s->n ? (double)s->us[MIN((int)(share * s->n), s->n - 1)] / 1000 : 0;
}

static int setting(const char *name, int otherwise)
{
    const char *v = getenv(name);

    return v && *v ? (int)strtol(v, NULL, 10) : otherwise;
}

/* ---- the data folder: a small ended study whose trials are copied in SQL until there are many ---- */

static void run_sql(sqlite3 *db, const char *text, bool must)
{
    char *why = NULL;

    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK && must)
        fail_msg("%s: %s", text, why);
    sqlite3_free(why);
}

static void trials_copy(const char *path, int most)
{
    static const char
        counts[] = /* as the end of a study stores them; old programs know no counts */
        "UPDATE study SET counts = (SELECT json_object('best', ifnull(study.best_trial, 0),"
        " 'queued', 0, 'running', 0, 'paused', 0,"
        " 'completed', count(*) FILTER (WHERE state = 'completed'),"
        " 'pruned', count(*) FILTER (WHERE state = 'pruned'),"
        " 'failed', count(*) FILTER (WHERE state = 'failed'),"
        " 'cancelled', count(*) FILTER (WHERE state = 'cancelled'))"
        " FROM trial WHERE trial.study = study.id) WHERE counts IS NOT NULL";
    sqlite3 *db = NULL;
    char text[3000];

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(
        text, sizeof text,
        "WITH RECURSIVE c(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < %d)"
        " INSERT INTO trial (study, number, config, config_hash, family, shape_key, seed, state,"
        " reason, detail, fence, msg_seq, msg_answer, level, max_level, run_to, score, score_se,"
        " select_value, test_score, test_se, checkpoint_level, info, crashes_alone, retry_of,"
        " vstart, vcost, created_at, started_at, ended_at) SELECT t.study, 40 + k, t.config,"
        " printf('%%016x', k), t.family, t.shape_key, t.seed, t.state, t.reason, t.detail,"
        " t.fence, t.msg_seq, t.msg_answer, t.level, t.max_level, t.run_to,"
        " t.score - (k * 7919 %% 100003) * 1e-6, t.score_se, t.select_value, t.test_score,"
        " t.test_se, t.checkpoint_level, t.info, t.crashes_alone, t.retry_of, t.vstart, t.vcost,"
        " t.created_at, t.started_at, t.ended_at FROM c JOIN trial t ON t.study = %d AND"
        " t.number = 2 + k %% 38",
        most - 40, BIG);
    run_sql(db, text, true);
    run_sql(db, counts, false);
    sqlite3_close(db);
}

static void folder_make(int trials)
{
    struct rig r;
    char path[400];

    rig_open(&r);
    rig_dataset(&r, "d");
    assert_int_equal(
        rig_study(&r, "{'name':'big','dataset':'d','target':'y','budget':{'trials':40},'seed':7,"
                      "'scheduler':'none'}"),
        BIG);
    rig_run(&r, BIG, 2, 1, 0, 0);
    clk_init_system(&r.clk);
    assert_int_equal(
        rig_study(&r, "{'name':'live','dataset':'d','target':'y','seed':7,'validation':'kfold',"
                      "'budget':{'time':'10h'},'stop':{'no_gain_trials':100000000},"
                      "'sampler':'random','scheduler':'asha'}"),
        LIVE);
    rig_model(&r, "model", model);
    ctl_free(r.ctl);
    snprintf(dir, sizeof dir, "%s", r.dir);
    snprintf(path, sizeof path, "%s/assay.db", dir);
    if (trials > 40)
        trials_copy(path, trials);
}

/* ---- assayd ---- */

static pid_t assayd_start(void)
{
    const char *program = getenv("ASSAY");
    int out[2];
    char line[600] = "";
    size_t n = 0;
    pid_t pid = 0;

    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        dup2(open("/dev/null", O_WRONLY), 2);
        close(out[0]);
        execl(program ? program : "build/gcc/assay", "assay", "serve", "--data-dir", dir,
              "--listen", "127.0.0.1:0", "--log-level", "warn", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n++] != '\n') {
    }
    const char *colon = strstr(line, "http://127.0.0.1:");
    if (!colon) {
        printf("assayd did not start: %s\n", line);
        exit(1);
    }
    port = (int)strtol(colon + strlen("http://127.0.0.1:"), NULL, 10);
    snprintf(line, sizeof line, "%s/admin-token", dir);
    FILE *f = fopen(line, "r");
    assert_non_null(f);
    assert_non_null(fgets(token, sizeof token, f));
    fclose(f);
    token[strcspn(token, "\n")] = '\0';
    return pid;
}

/* ---- requests ---- */

static struct evhttp_connection *connection(void)
{
    struct evhttp_connection *c =
        evhttp_connection_base_new(base, NULL, "127.0.0.1", (ev_uint16_t)port);

    evhttp_connection_set_timeout(c, 120);
    return c;
}

static void send_request(struct evhttp_connection *c, enum evhttp_cmd_type method, const char *path,
                         json_t *body, void (*on_done)(struct evhttp_request *, void *), void *arg)
{
    struct evhttp_request *q = evhttp_request_new(on_done, arg);
    char bearer[256];

    snprintf(bearer, sizeof bearer, "Bearer %s", token);
    evhttp_add_header(evhttp_request_get_output_headers(q), "Host", "127.0.0.1");
    evhttp_add_header(evhttp_request_get_output_headers(q), "Authorization", bearer);
    if (body) {
        char *text = jsonx_dump(body);

        evhttp_add_header(evhttp_request_get_output_headers(q), "Content-Type", "application/json");
        evbuffer_add(evhttp_request_get_output_buffer(q), text, strlen(text));
        free(text);
        json_decref(body);
    }
    evhttp_make_request(c, q, method, path);
}

static int status_of(struct evhttp_request *q)
{
    return q ? evhttp_request_get_response_code(q) : 0;
}

static json_t *json_of(struct evhttp_request *q)
{
    struct evbuffer *in = q ? evhttp_request_get_input_buffer(q) : NULL;
    size_t n = in ? evbuffer_get_length(in) : 0;

    return n && status_of(q) < 300
               ? jsonx_load((const char *)evbuffer_pullup(in, -1), n, "answer", NULL)
               : NULL;
}

/* ---- runners ---- */

static void ask(struct runner_sim *s);

static void later(struct runner_sim *s, int ms)
{
    struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

    event_add(s->timer, &tv);
}

static void on_grant(struct evhttp_request *q, void *arg)
{
    struct runner_sim *s = arg;
    json_t *j = json_of(q);
    struct msg_grant g = { 0 };

    n_waiting--;
    if (status_of(q) != 200)
        series[S_LEASE].failed++;
    if (j && msg_grant_parse(&g, j, NULL) == 1 && g.kind == MSG_FIT && g.n_trials > 0) {
        const struct msg_trial *l = &g.trials[0];
        json_t *config = jsonx_load(l->config, strlen(l->config), "config", NULL);
        const struct family *f = family_find(json_string_value(json_object_get(config, "family")));

        s->max = f && f->levels > 1 ? f->levels : 1;
        json_decref(config);
        s->trial = l->trial;
        s->fence = l->fence;
        s->seq = 0;
        s->to = l->to;
        s->next = l->to < s->max ? MSG_RUNG : MSG_FINAL;
        s->has_trial = true;
        granted++;
        if (now_us() - s->asked_us < 3000000 && !resumed)
            note(S_LEASE, s->asked_us, 200);
        if (resumed && !all_served_us) {
            if (++n_served == n_runners * 9 / 10)
                all_served_us = now_us();
        }
    }
    msg_grant_fini(&g);
    json_decref(j);
    later(s, s->has_trial ? STEP_MS / 2 + rand() % STEP_MS : status_of(q) == 200 ? 50 : 1000);
}

static void ask(struct runner_sim *s)
{
    struct msg_ask m = { .n = ++s->n, .max_trials = 1, .wait_s = 30 };
    char path[100];

    str_copy(m.session, sizeof m.session, s->session);
    str_copy(m.device, sizeof m.device, "cpu0");
    snprintf(path, sizeof path, "%s/lease", s->path);
    s->asked_us = now_us();
    n_waiting++;
    send_request(s->conn, EVHTTP_REQ_POST, path, msg_ask_json_new(&m), on_grant, s);
}

static void on_answer(struct evhttp_request *q, void *arg)
{
    struct runner_sim *s = arg;
    json_t *j = json_of(q);
    struct msg_answer a = { 0 };
    enum msg_action action = MSG_STALE;

    note(S_REPORT, s->asked_us, status_of(q));
    if (j && msg_answer_parse(&a, j, NULL) == 0 && a.n_replies == 1)
        action = a.replies[0].action;
    if (action == MSG_RUN_TO) {
        s->to = a.replies[0].to;
        s->next = s->to < s->max ? MSG_RUNG : MSG_FINAL;
    } else if (action == MSG_PAUSE) {
        s->next = MSG_PAUSED;
    } else if (action == MSG_KEEP) {
        s->next = MSG_COMPLETE;
    } else {
        s->has_trial = false;
    }
    msg_answer_fini(&a);
    json_decref(j);
    later(s, s->has_trial ? STEP_MS / 2 + rand() % STEP_MS : 1);
}

static void report(struct runner_sim *s)
{
    struct msg_event e;
    struct msg_held held = { s->trial, s->fence };
    struct msg_asked asked = { .n = s->n };
    struct msg_report m = {
        .n_events = 1, .events = &e, .held = &held, .n_held = 1, .n_asked = 1, .asked = &asked
    };
    char path[100];

    msg_event_init(&e);
    e.type = s->next;
    e.trial = s->trial;
    e.fence = s->fence;
    e.seq = ++s->seq;
    e.level = s->to;
    e.value = .5 + .4 * (double)rand() / RAND_MAX;
    e.se = .01;
    e.fit_us = 1000000;
    e.predict_ns_row = 100;
    e.model_bytes = 1000;
    if (e.type == MSG_PAUSED || e.type == MSG_COMPLETE)
        str_copy(e.blob, sizeof e.blob, model);
    str_copy(m.session, sizeof m.session, s->session);
    str_copy(asked.device, sizeof asked.device, "cpu0");
    snprintf(path, sizeof path, "%s/report", s->path);
    s->asked_us = now_us();
    send_request(s->conn, EVHTTP_REQ_POST, path, msg_report_json_new(&m), on_answer, s);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct runner_sim *s = arg;

    (void)fd, (void)what;
    if (s->has_trial)
        report(s);
    else
        ask(s);
}

static void on_welcome(struct evhttp_request *q, void *arg)
{
    struct runner_sim *s = arg;
    json_t *j = json_of(q);
    struct msg_welcome w = { 0 };

    if (!j || msg_welcome_parse(&w, j, NULL) < 0)
        fail_msg("hello: status %d", status_of(q));
    s->id = w.runner;
    snprintf(s->path, sizeof s->path, "/api/v1/runners/%lld", (long long)s->id);
    json_decref(j);
    later(s, rand() % 2000);
}

static void runner_begin(struct runner_sim *s, int i)
{
    struct msg_hello m = { .protocol = MSG_PROTOCOL, .n_devices = 1 };

    s->conn = connection();
    s->timer = event_new(base, -1, 0, on_turn, s);
    snprintf(s->session, sizeof s->session, "bench-%d", i);
    str_copy(m.name, sizeof m.name, s->session);
    str_copy(m.session, sizeof m.session, s->session);
    str_copy(m.numeric_sig, sizeof m.numeric_sig, "assay-1/cpu");
    str_copy(m.devices[0].id, sizeof m.devices[0].id, "cpu0");
    str_copy(m.devices[0].kind, sizeof m.devices[0].kind, "cpu");
    m.devices[0].max_trials = 1;
    send_request(s->conn, EVHTTP_REQ_POST, "/api/v1/runners", msg_hello_json_new(&m), on_welcome,
                 s);
}

/* ---- streams, probes ---- */

static void on_chunk(struct evhttp_request *q, void *arg)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(q);

    (void)arg;
    stream_bytes += (int64_t)evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
}

static void on_stream_end(struct evhttp_request *q, void *arg)
{
    (void)q, (void)arg;
}

static void stream_begin(void)
{
    struct evhttp_request *q = evhttp_request_new(on_stream_end, NULL);
    char bearer[256];

    snprintf(bearer, sizeof bearer, "Bearer %s", token);
    evhttp_add_header(evhttp_request_get_output_headers(q), "Host", "127.0.0.1");
    evhttp_add_header(evhttp_request_get_output_headers(q), "Authorization", bearer);
    evhttp_request_set_chunked_cb(q, on_chunk);
    evhttp_make_request(connection(), q, EVHTTP_REQ_GET, "/api/v1/events?study=2");
}

struct probe {
    struct evhttp_connection *conn;
    struct event *timer;
    const char *path;
    int which, every_ms;
    int64_t from_us;
    bool once;
};

static void on_probed(struct evhttp_request *q, void *arg)
{
    struct probe *p = arg;
    struct timeval tv = { p->every_ms / 1000, p->every_ms % 1000 * 1000 };

    note(p->which, p->from_us, status_of(q));
    if (!p->once)
        event_add(p->timer, &tv);
}

static void on_probe(evutil_socket_t fd, short what, void *arg)
{
    struct probe *p = arg;

    (void)fd, (void)what;
    p->from_us = now_us();
    send_request(p->conn, EVHTTP_REQ_GET, p->path, NULL, on_probed, p);
}

static void probe_begin(struct probe *p, int which, const char *path, int every_ms)
{
    struct timeval tv = { 0, 1000 };

    *p = (struct probe){
        .which = which, .path = path, .every_ms = MAX(every_ms, 1), .once = !every_ms
    };
    p->conn = connection();
    p->timer = event_new(base, -1, 0, on_probe, p);
    event_add(p->timer, &tv);
}

static void run_ms(int ms)
{
    struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

    event_base_loopexit(base, &tv);
    event_base_dispatch(base);
}

/* In a process of its own, or it would measure how busy the crowd is. */
static pid_t probes_start(int seconds)
{
    static struct probe probes[6];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    base = event_base_new();
    probe_begin(&probes[0], S_HEALTH, "/health", HEALTH_MS);
    probe_begin(&probes[1], S_STUDY, "/api/v1/studies/live", 50);
    probe_begin(&probes[2], S_RUNNERS, "/api/v1/runners", 1000);
    run_ms(seconds * 500);
    probe_begin(&probes[3], S_OPEN, "/api/v1/studies/big", 0);
    run_ms(seconds * 250);
    probe_begin(&probes[4], S_BOARD, "/api/v1/studies/big/leaderboard?limit=300", 0);
    probe_begin(&probes[5], S_LIST, "/api/v1/studies", 500);
    run_ms(seconds * 250);
    _exit(0);
}

static void on_done(struct evhttp_request *q, void *arg)
{
    int *status = arg;

    *status = status_of(q);
    if (resumed && !resumed_us) {
        resumed_us = now_us();
    }
}

static void metric_print(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    if (line)
        printf("%s %.1f ms\n", name + 1, strtod(line + strlen(name), NULL) * 1000);
}

static void on_metrics(struct evhttp_request *q, void *arg)
{
    struct evbuffer *in = q ? evhttp_request_get_input_buffer(q) : NULL;

    (void)arg;
    if (!in)
        return;
    evbuffer_add(in, "", 1);
    metric_print((const char *)evbuffer_pullup(in, -1), "\nassay_turn_max_seconds");
    metric_print((const char *)evbuffer_pullup(in, -1), "\nassay_turn_cpu_max_seconds");
}

static void memory_print(pid_t pid)
{
    char path[60], line[200];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (str_starts(line, "VmRSS") || str_starts(line, "VmHWM"))
            printf("%s", line);
    }
    if (f)
        fclose(f);
}

/* Fields 14 and 15 of its line, in ticks. */
static void cpu_print(pid_t pid, const char *what)
{
    char path[60], text[600] = "";
    long ticks = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    char *p = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
    for (int field = 2; p && field < 15; field++) {
        p = strchr(p + 1, ' ');
        if (p && field >= 13)
            ticks += strtol(p + 1, NULL, 10);
    }
    if (f)
        fclose(f);
    printf("%s: processor %.1f s\n", what, (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

static void resume_all(void)
{
    struct evhttp_connection *c = connection();
    int status = 0;
    int64_t from = 0;

    send_request(c, EVHTTP_REQ_POST, "/api/v1/studies/live/pause", NULL, on_done, &status);
    for (int i = 0; i < 80 && n_waiting < n_runners * 98 / 100; i++)
        run_ms(250);
    printf("paused (status %d), %d of %d runners wait\n", status, n_waiting, n_runners);
    resumed = true;
    from = now_us();
    send_request(c, EVHTTP_REQ_POST, "/api/v1/studies/live/resume", NULL, on_done, &status);
    for (int i = 0; i < 100 && !all_served_us; i++)
        run_ms(100);
    printf("resumed: answered after %.1f ms, ", (double)(resumed_us - from) / 1000);
    if (all_served_us)
        printf("90%% of the runners at work after %.0f ms\n",
               (double)(all_served_us - from) / 1000);
    else
        printf("only %d of the runners at work after %.0f ms\n", n_served,
               (double)(now_us() - from) / 1000);
}

static void print_all(void)
{
    printf("%-24s %8s %9s %9s %9s %7s\n", "", "n", "p50 ms", "p99 ms", "max ms", "failed");
    for (int i = 0; i < S_SERIES; i++) {
        struct series *s = &series[i];

        qsort(s->us, (size_t)s->n, sizeof s->us[0], by_value);
        printf("%-24s %8d %9.2f %9.2f %9.2f %7d\n", s->name, s->n, at(s, .5), at(s, .99), at(s, 1),
               s->failed);
    }
}

int main(void)
{
    int seconds = setting("SECONDS", 20);
    struct err err = { 0 };

    series = mmap(NULL, sizeof names, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memcpy(series, names, sizeof names);
    n_runners = setting("RUNNERS", 1000);
    n_streams = setting("STREAMS", 200);
    folder_make(setting("TRIALS", 100000));
    base = event_base_new();
    pid_t pid = assayd_start();
    memory_print(pid);
    runners = calloc((size_t)n_runners, sizeof *runners);
    for (int i = 0; i < n_runners; i++) {
        runner_begin(&runners[i], i);
        if (i % 50 == 49)
            run_ms(50);
    }
    for (int i = 0; i < n_streams; i++)
        stream_begin();
    run_ms(3000);
    cpu_print(pid, "before");
    pid_t prober = probes_start(seconds);
    run_ms(seconds * 1000);
    waitpid(prober, NULL, 0);
    cpu_print(pid, "after the load");
    send_request(connection(), EVHTTP_REQ_GET, "/metrics", NULL, on_metrics, NULL);
    run_ms(200);
    print_all();
    printf("lanes granted %lld, streams got %.1f MB\n", (long long)granted,
           (double)stream_bytes / 1e6);
    resume_all();
    send_request(connection(), EVHTTP_REQ_GET, "/metrics", NULL, on_metrics, NULL);
    run_ms(200);
    memory_print(pid);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    io_remove_tree(dir, &err);
    return 0;
}
