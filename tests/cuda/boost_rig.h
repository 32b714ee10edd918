/* boost_rig.h - lanes of boosting on the emulated device and on the CPU, and whether they are equal. */
#ifndef TESTS_CUDA_BOOST_RIG_H
#define TESTS_CUDA_BOOST_RIG_H

#include "tests/ml/fit_rig.h"

#include "tests/cuda/emu.h"

enum { FOLDS = 3 };

extern struct ml_compute boost_device; /* set rig->d->spec.device to it, or to NULL for the CPU */

int boost_device_open(
    void **state); /* of a group of tests; close fails when memory of the device is left over */
int boost_device_close(void **state);

/* Trains n lanes by so many steps in one call, opening those that are not open: of folds 0, 1 ... and then of all rows. */
void boost_lanes_train(struct rig *r, struct lane *l, int n, const double *params, int64_t steps);
void boost_lanes_equal(struct rig *r, struct lane *a, struct lane *b, int n, const char *what);
void boost_lanes_close(struct lane *l, int n);

#endif
