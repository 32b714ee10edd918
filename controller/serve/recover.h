/* recover.h - the start of the controller: memory is built from the rows, however the last process
 * ended. Called by ctl_new. */
#ifndef CONTROLLER_SERVE_RECOVER_H
#define CONTROLLER_SERVE_RECOVER_H

#include "controller/state/ctl.h"

int recover_all(struct ctl *ctl, struct err *err);

#endif
