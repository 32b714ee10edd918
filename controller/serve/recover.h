/* recover.h - the start of the controller: memory is built from the rows, whatever the end of the last process was. */
#ifndef CONTROLLER_SERVE_RECOVER_H
#define CONTROLLER_SERVE_RECOVER_H

#include "controller/state/ctl.h"

int recover_all(struct ctl *ctl, struct err *err);

#endif
