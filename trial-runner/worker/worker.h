/* worker.h - the worker process of one device. It takes runs from its supervisor over a socket
 * pair, computes them, and tells what comes out. It has one thread of its own and ends when its
 * socket closes. It may die at any instruction; the supervisor then reports the trials that it
 * held. */
#ifndef TRIAL_RUNNER_WORKER_WORKER_H
#define TRIAL_RUNNER_WORKER_WORKER_H

/* fd: its end of the socket pair. Returns the exit code. */
int worker_main(int fd);

#endif
