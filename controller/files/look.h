/* look.h - whether a blob's file is on the controller's disk and whole. Dispatch asks it before it
 * gives away work that needs the blob (serve/table.c), and datasets ask it before they rely on one
 * (settle/dataset.c). */
#ifndef CONTROLLER_FILES_LOOK_H
#define CONTROLLER_FILES_LOOK_H

#include "controller/state/ctl.h"

/* 0 = the blob can be read; -1 with ERR_NOTFOUND or ERR_IO and a sentence that says what is wrong.
 * A file of more than 1 MiB that this process has not read is only measured and not hashed, because
 * the loop waits. */
int blob_look(struct ctl *ctl, const char *sha256, struct err *err);

#endif
