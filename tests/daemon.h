/* daemon.h - one assayd as a real process on loopback, for benchmarks: started over a data folder, asked what it has used. */
#ifndef TESTS_DAEMON_H
#define TESTS_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

struct daemon {
    pid_t pid;
    int port;        /* 0 before the first start: any; it is kept at the next one */
    char token[200]; /* of the administrator */
};

/* Starts ASSAY (build/gcc/assay) over the folder; ends this program with a sentence if it cannot. Its log goes to the file
 * ASSAYD_LOG, if that is set. */
void daemon_start(struct daemon *d, const char *dir, bool is_synced);
void daemon_stop(struct daemon *d); /* and waits for its end */
double daemon_cpu_s(pid_t pid);     /* processor seconds of any process, 0 when it is gone */
long daemon_memory_kb(pid_t pid, const char *which); /* "VmRSS" | "VmHWM" */

#endif
