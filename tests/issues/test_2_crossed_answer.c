/* test_2_crossed_answer.c - found by stopping studies with a limit in time: the answer to a progress message brings a new
 * deadline, and when it crossed the trial's result on its way to the worker, the worker took it for the answer to that
 * result and dropped the model. The `keep` that followed met nobody, and the trial stayed running for ever under a lease
 * that was renewed. The other side of the pipe is this test. */
#include "tests/unit.h"

#include "base/clk.h"
#include "base/known.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "proto/msg.h"
#include "trial-runner/wire.h"
#include "trial-runner/worker/worker.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, ROWS = 60 };

struct worker_end {
    struct wire wire;
    pid_t pid;
    char dir[300], frame[700]; /* the frame's path */
};

static void say(struct worker_end *w, json_t *msg)
{
    assert_non_null(msg);
    assert_int_equal(wire_send(&w->wire, msg, NULL), 0);
}

/* The next message of this kind; what else it says is skipped. */
static json_t *hear(struct worker_end *w, const char *op)
{
    json_t *msg = NULL;

    while (wire_recv(&w->wire, PATIENCE_MS, &msg, NULL) == 1) {
        if (str_eq(json_string_value(json_object_get(msg, "op")), op))
            return msg;
        json_decref(msg);
    }
    fail_msg("the worker says no \"%s\"", op);
    return NULL;
}

/* The next event, which must be of this type; its file, if it has one. */
static void hear_event(struct worker_end *w, enum msg_type type, char *file, size_t size)
{
    json_t *msg = NULL;
    struct msg_report r = { 0 };
    enum msg_type got = MSG_PROGRESS;

    while (got == MSG_PROGRESS) {
        json_decref(msg);
        msg = hear(w, "event");
        assert_int_equal(msg_report_parse(&r, json_object_get(msg, "report"), NULL), 0);
        got = r.events[0].type;
        msg_report_fini(&r);
    }
    assert_string_equal(msg_type_name[got], msg_type_name[type]);
    if (file)
        str_copy(file, size, json_string_value(json_object_get(msg, "file")));
    json_decref(msg);
}

static void run(struct worker_end *w, int id, const struct msg_grant *g, const char *key,
                const char *path)
{
    char mark[FILE_MARK_TEXT], mark_key[40];

    file_mark_text(path, mark);
    (void)snprintf(mark_key, sizeof mark_key, "%s_mark", key);
    say(w, json_pack("{s:s, s:i, s:o, s:s, s:s, s:{}}", "op", "run", "run", id, "grant",
                     msg_grant_json_new(g), key, path, mark_key, mark, "checkpoints"));
}

static void answer(struct worker_end *w, int64_t trial, const char *action, int64_t deadline_ms)
{
    say(w, json_pack("{s:s, s:I, s:i, s:b, s:s, s:i, s:I}", "op", "answer", "trial",
                     (json_int_t)trial, "fence", 1, "task", 0, "action", action, "to", 0,
                     "deadline_at_ms", (json_int_t)deadline_ms));
}

static void ingest(struct worker_end *w)
{
    struct msg_grant g = { .kind = MSG_INGEST, .task = 1, .fence = 1, .source_name = "t.csv" };
    char path[700];
    FILE *f = NULL;

    snprintf(path, sizeof path, "%s/t.csv", w->dir);
    sha256_hex("t", 1, g.source);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("x,y\n", f);
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%d,%s\n", i * 7 % 11, i % 3 ? "yes" : "no");
    assert_int_equal(fclose(f), 0);
    run(w, 1, &g, "source", path);
    hear_event(w, MSG_TASK_DONE, w->frame, sizeof w->frame);
}

static void fit(struct worker_end *w)
{
    struct msg_trial trial = {
        .trial = 5, .fence = 1, .config = (char *)"{\"family\":\"baseline\"}", .seed = 3, .to = 1
    };
    struct msg_grant g = {
        .kind = MSG_FIT, .group = 1, .study = 1, .n_trials = 1, .trials = &trial
    };

    sha256_hex("f", 1, g.data.frame);
    str_copy(g.data.target, sizeof g.data.target, "y");
    str_copy(g.data.task, sizeof g.data.task, "binary");
    str_copy(g.data.metric, sizeof g.data.metric, "auc");
    g.data.folds = 3;
    run(w, 2, &g, "frame", w->frame);
}

static int worker_open(void **state)
{
    struct worker_end *w = mem_zalloc(sizeof *w);
    int fds[2];

    test_path(w->dir, sizeof w->dir, "crossed-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    w->pid = fork();
    assert_true(w->pid >= 0);
    if (w->pid == 0) {
        close(fds[0]);
        _exit(worker_main(fds[1]));
    }
    close(fds[1]);
    wire_init(&w->wire, fds[0]);
    say(w, json_pack("{s:s, s:s, s:s, s:s}", "op", "config", "device", "cpu0", "scratch", w->dir,
                     "log_level", "error"));
    json_decref(hear(w, "ready"));
    *state = w;
    return 0;
}

static int worker_close(void **state)
{
    struct worker_end *w = *state;

    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
    close(w->wire.fd);
    wire_fini(&w->wire);
    mem_free(w);
    return 0;
}

static void a_new_deadline_is_no_answer_to_a_result(void **state)
{
    struct worker_end *w = *state;
    struct clk clk;
    char file[700] = "";

    clk_init_system(&clk);
    ingest(w);
    fit(w);
    hear_event(w, MSG_FINAL, NULL, 0);
    answer(w, 5, "ok", clk_now_ms(&clk) + 100000);
    answer(w, 5, "keep", 0);
    hear_event(w, MSG_COMPLETE, file, sizeof file);
    assert_int_equal(access(file, R_OK), 0);
}

static void an_answer_that_meets_nobody_is_a_failure_of_the_machine(void **state)
{
    struct worker_end *w = *state;

    answer(w, 99, "ok", 1);
    answer(w, 99, "keep", 0);
    hear_event(w, MSG_FAILED, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_deadline_is_no_answer_to_a_result, worker_open,
                                        worker_close),
        cmocka_unit_test_setup_teardown(an_answer_that_meets_nobody_is_a_failure_of_the_machine,
                                        worker_open, worker_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
