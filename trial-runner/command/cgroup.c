/* cgroup.c - see cgroup.h. All errors mean: go on without. */
#include "trial-runner/command/cgroup.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_text(const char *dir, const char *file, const char *text)
{
    char path[640];
    int n = snprintf(path, sizeof path, "%s/%s", dir, file), fd = -1;
    bool good = false;

    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* The line of `file` that begins with `start`, or contains `word` as its third field. */
static bool find_line(const char *file, const char *start, const char *type, char *out, size_t size)
{
    char line[1024], mount[512], kind[64];
    FILE *f = fopen(file, "re");
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (start && str_starts(line, start)) {
            str_copy(out, size, line + strlen(start));
            found = true;
        } else if (type && sscanf(line, "%*s %511s %63s", mount, kind) == 2 && str_eq(kind, type)) {
            str_copy(out, size, mount);
            found = true;
        }
    }
    if (f)
        fclose(f);
    return found;
}

void cgroup_open(struct cgroup *g, const char *name, int64_t memory_bytes, int64_t processes)
{
    char mount[256], own[256], above[400], text[32];
    int n = 0;

    g->path[0] = '\0';
    if (!find_line("/proc/self/mounts", NULL, "cgroup2", mount, sizeof mount) ||
        !find_line("/proc/self/cgroup", "0::", NULL, own, sizeof own))
        return;
    (void)snprintf(above, sizeof above, "%.200s%.190s", mount, str_eq(own, "/") ? "" : own);
    n = snprintf(g->path, sizeof g->path, "%s/%.100s", above, name);
    if (n < 0 || (mkdir(g->path, 0755) < 0 && errno != EEXIST)) {
        g->path[0] = '\0';
        return;
    }
    cgroup_kill(g);
    /* Allowed only if the group above holds no process itself (Delegate= of systemd). */
    (void)write_text(above, "cgroup.subtree_control", "+memory +pids");
    if (memory_bytes > 0) {
        (void)snprintf(text, sizeof text, "%" PRId64, memory_bytes);
        (void)write_text(g->path, "memory.max", text);
        (void)write_text(g->path, "memory.swap.max", "0");
    }
    (void)snprintf(text, sizeof text, "%" PRId64, processes);
    (void)write_text(g->path, "pids.max", text);
    log_debug("cgroup.made path=%s", g->path);
}

void cgroup_join(const struct cgroup *g)
{
    char path[600];
    size_t n = strlen(g->path);
    static const char file[] = "/cgroup.procs";
    int fd = -1;

    if (n == 0 || n + sizeof file > sizeof path)
        return;
    memcpy(path, g->path, n);
    memcpy(path + n, file, sizeof file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "0", 1);
    close(fd);
}

void cgroup_kill(const struct cgroup *g)
{
    if (g->path[0])
        (void)write_text(g->path, "cgroup.kill", "1");
}

bool cgroup_is_empty(const struct cgroup *g)
{
    char path[600], text[64] = "";

    if (!g->path[0])
        return true;
    (void)snprintf(path, sizeof path, "%s/cgroup.events", g->path);
    return !find_line(path, "populated ", NULL, text, sizeof text) || str_eq(text, "0");
}

void cgroup_close(struct cgroup *g)
{
    if (g->path[0])
        (void)rmdir(g->path);
    g->path[0] = '\0';
}
