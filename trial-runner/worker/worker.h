/* worker.h - the worker process of one device: takes runs from its supervisor, computes them, tells what comes out. One
 * thread. It may die at any instruction: the supervisor reports what it held. It ends when its pipe closes. */
#ifndef TRIAL_RUNNER_WORKER_WORKER_H
#define TRIAL_RUNNER_WORKER_WORKER_H

/* fd: its end of the socket pair. Returns the exit code. */
int worker_main(int fd);

#endif
