/* recover.h - the start of the controller: memory is built from the rows, whatever the end of the last process was. */
#ifndef CONTROLLER_RECOVER_H
#define CONTROLLER_RECOVER_H

#include "controller/ctl.h"

int recover_all(struct ctl *ctl, struct err *err);

#endif
