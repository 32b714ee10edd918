/* program.c - see program.h. Between fork and exec only async-signal-safe calls are made. */
#include "trial-runner/command/program.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child was doing when it failed. */
enum { STEP_RIGHTS, STEP_FOLDER, STEP_PROGRAM };
enum { OPEN_FILES = 4096, ENVIRON_LOOK = 256 << 10 };

void program_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* ---- the child ---- */

struct child {
    const struct program_conf *conf;
    const struct cgroup *cgroup;
    char **argv, **env;
    int out_fd, report_fd;
    pid_t parent;
};

static int limit(int what, int64_t n)
{
    struct rlimit r = { (rlim_t)n, (rlim_t)n };

    return setrlimit((__rlimit_resource_t)what, &r);
}

static int child_limits(const struct program_conf *c)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) { /* rather the program than its runner */
        (void)!write(fd, "1000", 4);
        close(fd);
    }
    if (limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_FSIZE, c->file_bytes) < 0)
        return -1;
    (void)limit(RLIMIT_NOFILE, OPEN_FILES);
    /* It counts all processes of a user, so it fits only a user that runs nothing else. */
    return c->uid ? limit(RLIMIT_NPROC, c->processes) : 0;
}

static int child_user(uid_t uid)
{
    if (!uid)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        return -1;
    return setuid(0) == 0 ? -1 : 0; /* it must not be able to come back */
}

static void child_run(const struct child *c) NO_RETURN;
static void child_run(const struct child *c)
{
    int null = open("/dev/null", O_RDONLY), why[2] = { 0, 0 };
    sigset_t none;

    for (int signo = 1; signo < NSIG; signo++) {
        if (signo != SIGKILL && signo != SIGSTOP)
            (void)signal(signo, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(077);
    cgroup_join(c->cgroup);
    if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(c->out_fd, 1) < 0 ||
        dup2(c->out_fd, 2) < 0 || child_limits(c->conf) < 0 || child_user(c->conf->uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        goto fail;
    why[1] = STEP_FOLDER;
    if (chdir(c->conf->folder) < 0)
        goto fail;
    why[1] = STEP_PROGRAM;
    if (getppid() != c->parent)
        _exit(127);
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0) {
        for (int fd = 3; fd < 4096; fd++)
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    execvpe(c->argv[0], c->argv, c->env);
fail:
    why[0] = errno;
    (void)!write(c->report_fd, why, sizeof why);
    _exit(127);
}

/* ---- start ---- */

static char **words_new(const json_t *words)
{
    char **v = mem_array(json_array_size(words) + 1, sizeof *v);

    for (size_t i = 0; i < json_array_size(words); i++)
        v[i] = (char *)(uintptr_t)json_string_value(json_array_get(words, i));
    return v;
}

static char **environment_new(const json_t *environment)
{
    char **v = mem_array(json_object_size(environment) + 1, sizeof *v);
    const char *name = NULL;
    json_t *value = NULL;
    size_t n = 0;

    json_object_foreach((json_t *)(uintptr_t)environment, name, value)
    {
        size_t size = strlen(name) + json_string_length(value) + 2;

        v[n] = mem_alloc(size);
        (void)snprintf(v[n++], size, "%s=%s", name, json_string_value(value));
    }
    return v;
}

static void list_free(char **list, bool owns)
{
    for (size_t i = 0; owns && list[i]; i++)
        mem_free(list[i]);
    mem_free(list);
}

/* The child's PATH decides where the program is found, and execvpe reads it from our own. */
static void path_set(const json_t *environment)
{
    const char *path = json_string_value(json_object_get(environment, "PATH"));

    if (path)
        (void)setenv("PATH", path, 1);
}

static int start_failed(const struct child *c, int step, struct err *err)
{
    if (step == STEP_RIGHTS)
        return err_errno(err, "the program's user and limits cannot be set");
    if (step == STEP_FOLDER)
        return err_errno(err, "user %u cannot enter %s (see --command-dir)", (unsigned)c->conf->uid,
                         c->conf->folder);
    if (errno == ENOENT)
        return err_set(err, ERR_NOTFOUND, "this machine has no program %.200s", c->argv[0]);
    return err_errno(err, "%.200s cannot be started", c->argv[0]);
}

static int start(struct program *p, struct child *c, struct err *err)
{
    int report[2] = { -1, -1 }, out[2] = { -1, -1 }, why[2] = { 0, 0 };
    ssize_t n = 0;
    pid_t pid = 0;

    if (pipe2(report, O_CLOEXEC) < 0)
        return err_errno(err, "pipe");
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(report[0]);
        close(report[1]);
        return err_errno(err, "pipe");
    }
    c->out_fd = out[1];
    c->report_fd = report[1];
    c->parent = getpid();
    pid = fork();
    if (pid == 0)
        child_run(c);
    close(report[1]);
    close(out[1]);
    if (pid > 0) {
        do
            n = read(report[0], why, sizeof why);
        while (n < 0 && errno == EINTR);
    }
    close(report[0]);
    if (pid < 0 || n == (ssize_t)sizeof why) {
        close(out[0]);
        if (pid > 0)
            (void)waitpid(pid, NULL, 0);
        errno = pid < 0 ? errno : why[0];
        return pid < 0 ? err_errno(err, "fork") : start_failed(c, why[1], err);
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    p->pid = pid;
    p->out_fd = out[0];
    return 0;
}

int program_start(struct program *p, const struct program_conf *c, struct err *err)
{
    struct child child = { .conf = c, .cgroup = &p->cgroup };
    int rc = 0;

    *p = (struct program){ .out_fd = -1, .uid = c->uid };
    cgroup_open(&p->cgroup, c->cgroup, c->memory_bytes, c->processes);
    child.argv = words_new(c->words);
    child.env = environment_new(c->environment);
    path_set(c->environment);
    rc = start(p, &child, err);
    list_free(child.argv, false);
    list_free(child.env, true);
    if (rc < 0)
        cgroup_close(&p->cgroup);
    return rc;
}

/* ---- who belongs to it ---- */

struct proc {
    pid_t pid, parent;
    bool is_zombie, is_ours;
};
struct procs {
    struct proc *list;
    int n, room;
};

/* The parent and the state of a process, from /proc/PID/stat: "7 (name) S 1 ..." */
static bool proc_read(pid_t pid, struct proc *out)
{
    char path[40], text[512];
    const char *end = NULL;
    char state = 0;
    int parent = 0, fd = -1;
    ssize_t n = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    end = strrchr(text, ')'); /* the name may hold ')' itself */
    if (!end || strlen(end) < strlen(") S 1"))
        return false;
    state = end[2];
    parent = (int)strtol(end + 3, NULL, 10);
    *out = (struct proc){ .pid = pid, .parent = parent, .is_zombie = state == 'Z' || state == 'X' };
    return true;
}

static void procs_read(struct procs *all)
{
    DIR *dir = opendir("/proc");

    *all = (struct procs){ 0 };
    for (const struct dirent *d = NULL; dir && (d = readdir(dir));) {
        struct proc p;

        if (!isdigit((unsigned char)d->d_name[0]) ||
            !proc_read((pid_t)strtol(d->d_name, NULL, 10), &p))
            continue;
        if (all->n == all->room) {
            all->room = all->room ? all->room * 2 : 256;
            all->list = mem_resize(all->list, (size_t)all->room * sizeof *all->list);
        }
        all->list[all->n++] = p;
    }
    if (dir)
        closedir(dir);
}

/* Marks our descendants, generation by generation. */
static void mark_descendants(struct procs *all)
{
    pid_t *found = mem_array((size_t)all->n + 1, sizeof *found);
    int n = 1;

    found[0] = getpid();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < all->n; k++) {
            struct proc *p = &all->list[k];

            if (p->parent != found[i] || p->is_ours)
                continue;
            p->is_ours = true;
            found[n++] = p->pid;
        }
    }
    mem_free(found);
}

static bool is_user(pid_t pid, uid_t uid)
{
    char path[40];
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return uid != 0 && stat(path, &st) == 0 && st.st_uid == uid;
}

/* Calls `f` for each living process that belongs to the program; returns their number. */
static int each(uid_t uid, void (*f)(pid_t pid, void *arg), void *arg)
{
    struct procs all;
    int n = 0;

    procs_read(&all);
    mark_descendants(&all);
    for (int i = 0; i < all.n; i++) {
        const struct proc *p = &all.list[i];

        if (p->is_zombie || (!p->is_ours && !is_user(p->pid, uid)))
            continue;
        n++;
        f(p->pid, arg);
    }
    mem_free(all.list);
    return n;
}

/* ---- watching and ending ---- */

bool program_ended(struct program *p)
{
    int status = 0;
    pid_t pid = 0;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == p->pid) {
            p->status = status;
            p->pid = 0;
        }
    }
    return p->pid == 0;
}

void program_signal(const struct program *p, int signo)
{
    if (p->pid > 0)
        (void)kill(-p->pid, signo);
}

static void kill_one(pid_t pid, void *arg)
{
    (void)arg;
    (void)kill(pid, SIGKILL);
}

bool program_kill(struct program *p)
{
    int n = 0;

    program_signal(p, SIGKILL);
    cgroup_kill(&p->cgroup);
    n = each(p->uid, kill_one, NULL);
    (void)program_ended(p);
    return n == 0 && p->pid == 0 && cgroup_is_empty(&p->cgroup);
}

static void add_memory(pid_t pid, void *arg)
{
    struct program_use *use = arg;
    int64_t bytes = proc_anon_bytes(pid);

    use->memory_bytes += MAX(bytes, 0);
}

void program_use(const struct program *p, struct program_use *use)
{
    use->memory_bytes = 0;
    use->processes = each(p->uid, add_memory, use);
}

void program_close(struct program *p)
{
    if (p->out_fd >= 0)
        close(p->out_fd);
    p->out_fd = -1;
    cgroup_close(&p->cgroup);
}

/* ---- what an earlier process left ---- */

static bool has_mark(pid_t pid, const char *mark)
{
    char path[40], *text = NULL, want[120];
    size_t n = (size_t)snprintf(want, sizeof want, PROGRAM_MARK "=%.90s", mark) + 1;
    int fd = -1;
    ssize_t len = 0;
    bool found = false;

    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    text = mem_alloc(ENVIRON_LOOK);
    len = read(fd, text, ENVIRON_LOOK - 1);
    close(fd);
    if (len > 0) {
        text[len] = '\0';
        for (const char *at = text; at && !found;) {
            at = memmem(at, (size_t)(text + len + 1 - at), want, n);
            found = at && (at == text || at[-1] == '\0');
            at = at ? at + 1 : NULL;
        }
    }
    mem_free(text);
    return found;
}

bool program_sweep(const char *mark, uid_t uid)
{
    struct procs all;
    int n = 0;

    procs_read(&all);
    for (int i = 0; i < all.n; i++) {
        const struct proc *p = &all.list[i];

        if (p->is_zombie || p->pid == getpid() ||
            (!is_user(p->pid, uid) && !has_mark(p->pid, mark)))
            continue;
        n++;
        log_warn("program.left pid=%d action=kill", (int)p->pid);
        (void)kill(p->pid, SIGKILL);
    }
    mem_free(all.list);
    return n == 0;
}
