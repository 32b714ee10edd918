/* runner.h - the one door into trial-runner/: what the executable calls when its name is assay-runner. */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

/* argv[0] is a name; flags follow. Also the entry of its own children (--worker, --probe). Returns the exit code. */
int runner_main(int argc, char **argv);

#endif
