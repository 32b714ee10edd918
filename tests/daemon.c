/* daemon.c - one assayd as a real process (daemon.h). */
#include "tests/daemon.h"

#include "base/str.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its first line on standard output names the port. */
static int port_read(int fd)
{
    static const char before[] = "http://127.0.0.1:";
    char line[600] = "";
    size_t n = 0;

    while (n < sizeof line - 1 && read(fd, line + n, 1) == 1 && line[n++] != '\n') {
    }
    const char *at = strstr(line, before);
    if (!at) {
        printf("assayd did not start: %s\n", line);
        exit(1);
    }
    return (int)strtol(at + strlen(before), NULL, 10);
}

static void token_read(const char *dir, char *out, size_t size)
{
    char path[600];

    snprintf(path, sizeof path, "%s/admin-token", dir);
    FILE *f = fopen(path, "r");
    if (!f || !fgets(out, (int)size, f)) {
        printf("%s cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

void daemon_start(struct daemon *d, const char *dir, bool is_synced)
{
    const char *program = getenv("ASSAY"), *log = getenv("ASSAYD_LOG");
    char address[40];
    int out[2];

    (void)!snprintf(address, sizeof address, "127.0.0.1:%d", d->port);

    if (pipe(out) < 0)
        exit(1);
    d->pid = fork();
    if (d->pid == 0) {
        dup2(out[1], 1);
        dup2(open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
        /* Sockets of the simulated runners would take most of its descriptors. */
        syscall(SYS_close_range, 3U, ~0U, 0U);
        execl(program ? program : "build/gcc/assay", "assay", "serve", "--data-dir", dir,
              "--listen", address, "--log-level", "warn", is_synced ? NULL : "--no-sync",
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    d->port = port_read(out[0]);
    token_read(dir, d->token, sizeof d->token);
}

void daemon_stop(struct daemon *d)
{
    kill(d->pid, SIGTERM);
    waitpid(d->pid, NULL, 0);
    d->pid = 0;
}

double daemon_cpu_s(pid_t pid)
{
    char path[60], text[600] = "";
    long ticks = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    char *p = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
    for (int field = 2; p && field < 15; field++) { /* fields 14 and 15 are its ticks */
        p = strchr(p + 1, ' ');
        if (p && field >= 13)
            ticks += strtol(p + 1, NULL, 10);
    }
    if (f)
        fclose(f);
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

long daemon_memory_kb(pid_t pid, const char *which)
{
    char path[60], line[200];
    long kb = 0;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (str_starts(line, which))
            kb = strtol(line + strlen(which) + 1, NULL, 10);
    }
    if (f)
        fclose(f);
    return kb;
}
