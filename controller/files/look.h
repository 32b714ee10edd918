/* look.h - can a blob be read here? */
#ifndef CONTROLLER_FILES_LOOK_H
#define CONTROLLER_FILES_LOOK_H

#include "controller/state/ctl.h"

/* 0 = this blob can be read here. A large file that was not read yet is only measured, since this is the loop. */
int blob_look(struct ctl *ctl, const char *sha256, struct err *err);

#endif
