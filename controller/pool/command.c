/* command.c - see command.h. The child is the leader of a session of its own, so that whatever it
 * starts can be killed with it. It counts as ended when both its pipes are closed and it can be
 * reaped; a child that closed its pipes and lives on is looked at until its time is over. */
#include "controller/pool/command.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/proc.h"
#include "controller/pool/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMPLAINT_MAX = 16 << 10, REAP_MS = 10, KILLED_WAIT_MS = 2000 };

struct command {
    struct command_spec spec;
    char name[24];
    pid_t pid;
    int fd[2]; /* our ends of its output and its complaints; -1 = closed */
    struct loop_watch *watch[2];
    struct buf text[2];
    struct loop_timer *limit, *reap;
    bool is_late, is_long;
};

static void stop_reading(struct command *c, int i)
{
    loop_watch_free(c->watch[i]);
    c->watch[i] = NULL;
    if (c->fd[i] >= 0)
        close(c->fd[i]);
    c->fd[i] = -1;
}

static void kill_all(const struct command *c)
{
    if (c->pid > 0)
        kill(-c->pid, SIGKILL);
}

void command_free(struct command *c)
{
    int status = 0;

    if (!c)
        return;
    kill_all(c);
    if (c->pid > 0)
        (void)proc_wait_ms(c->pid, KILLED_WAIT_MS, &status, NULL);
    for (int i = 0; i < 2; i++) {
        stop_reading(c, i);
        buf_fini(&c->text[i]);
    }
    loop_timer_free(c->limit);
    loop_timer_free(c->reap);
    mem_free(c);
}

/* What is wrong with how it ended; ERR_NONE = nothing. */
static void judge(const struct command *c, int status, struct err *err)
{
    char how[80], says[160] = "";

    if (c->text[1].data)
        slurm_complaint(c->text[1].data, says, sizeof says);
    proc_describe(status, how, sizeof how);
    if (c->is_late)
        err_set(err, ERR_TIMEOUT, "%s did not answer within %lld s", c->name,
                (long long)(c->spec.limit_ms / 1000));
    else if (c->is_long)
        err_set(err, ERR_TOOBIG, "%s printed more than %zu bytes", c->name, c->spec.max_output);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        err_set(err, ERR_IO, "%s: %s", c->name, says[0] ? says : how);
}

static void on_reap(void *arg)
{
    struct command *c = arg;
    struct err err = { 0 };
    int status = 0, rc = proc_poll(c->pid, &status, &err);

    if (rc == 0) {
        loop_timer_again(c->reap, REAP_MS);
        return;
    }
    kill_all(c); /* what it may have left behind */
    c->pid = 0;
    loop_timer_free(c->limit);
    c->limit = NULL;
    if (rc == 1)
        judge(c, status, &err);
    /* The callback may free the command. */
    c->spec.on_end(c->spec.arg, c->text[0].data ? c->text[0].data : "",
                   err.code == ERR_NONE ? NULL : &err);
}

static void read_some(struct command *c, int i)
{
    char part[16384];
    ssize_t got = read(c->fd[i], part, sizeof part);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && buf_add(&c->text[i], part, (size_t)got, NULL) == 0)
        return;
    if (got > 0 && i == 1)
        return; /* more complaints than anybody reads */
    if (got > 0) {
        c->is_long = true;
        kill_all(c);
    }
    stop_reading(c, i);
    if (c->fd[0] < 0 && c->fd[1] < 0)
        c->reap = loop_timer_new(c->spec.loop, 0, 0, on_reap, c);
}

static void on_output(int fd, void *arg)
{
    (void)fd;
    read_some(arg, 0);
}

static void on_complaint(int fd, void *arg)
{
    (void)fd;
    read_some(arg, 1);
}

static void on_limit(void *arg)
{
    struct command *c = arg;

    c->is_late = true;
    kill_all(c);
}

/* A pipe that holds the whole input, which is shorter than a pipe's buffer. Returns the end to be
 * read. */
static int input_pipe(const char *input, struct err *err)
{
    int rd = -1, wr = -1;
    size_t n = input ? strlen(input) : 0;

    if (proc_pipe(&rd, &wr, err) < 0)
        return -1;
    ssize_t put = n > 0 ? write(wr, input, n) : 0;
    close(wr);
    if (put == (ssize_t)n)
        return rd;
    close(rd);
    return err_set(err, ERR_IO, "the input of a command does not fit into a pipe");
}

/* What the commands and the jobs inherit; a job's environment is that of sbatch. No token. */
static const char *const kept_env[] = { "PATH",
                                        "HOME",
                                        "USER",
                                        "LOGNAME",
                                        "LANG",
                                        "LC_*",
                                        "TZ",
                                        "SLURM_CONF",
                                        "LD_LIBRARY_PATH",
                                        "ASAN_OPTIONS",
                                        "LSAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        NULL };

static int spawn(struct command *c, struct err *err)
{
    int in = input_pipe(c->spec.input, err), wr[2] = { -1, -1 }, rc = -1;

    if (in >= 0 && proc_pipe(&c->fd[0], &wr[0], err) == 0 &&
        proc_pipe(&c->fd[1], &wr[1], err) == 0) {
        struct proc_fd fds[] = { { in, 0 }, { wr[0], 1 }, { wr[1], 2 } };
        struct proc_spec spec = { .path = c->spec.argv[0],
                                  .argv = c->spec.argv,
                                  .env_keep = kept_env,
                                  .fds = fds,
                                  .n_fds = 3,
                                  .new_session = true,
                                  .die_with_parent = true };

        rc = proc_spawn(&spec, &c->pid, err);
    }
    for (int i = 0; i < 2; i++) {
        if (wr[i] >= 0)
            close(wr[i]);
    }
    if (in >= 0)
        close(in);
    if (rc < 0)
        c->pid = 0;
    return rc;
}

struct command *command_start(const struct command_spec *spec, struct err *err)
{
    struct command *c = mem_zalloc(sizeof *c);

    c->spec = *spec;
    c->fd[0] = c->fd[1] = -1;
    (void)snprintf(c->name, sizeof c->name, "%.20s", spec->argv[0]);
    buf_init(&c->text[0], spec->max_output);
    buf_init(&c->text[1], COMPLAINT_MAX);
    if (spawn(c, err) < 0) {
        command_free(c);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(c->fd[i], F_SETFL, O_NONBLOCK);
        c->watch[i] = loop_watch_new(spec->loop, c->fd[i], i == 0 ? on_output : on_complaint, c);
    }
    c->limit = loop_timer_new(spec->loop, spec->limit_ms, 0, on_limit, c);
    return c;
}
