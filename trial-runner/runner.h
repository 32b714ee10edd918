/* runner.h - the one door into trial-runner/. The executable calls it if its name is assay-runner
 * or its first argument is `agent`. */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

/* argv[0] is the name, flags follow. The runner starts its own children through the same function
 * (--worker, --probe). Returns the exit code. */
int runner_main(int argc, char **argv);

#endif
