/* rubbish.h - decides which files may be deleted: blobs and uploads that no row names and that
 * nobody can name any more. To know that, memory notes which blobs were uploaded or asked for
 * lately, and for which trial. A restart forgets these notes; every file then gets its full age
 * once more, so that nothing is deleted too early. Ages are counted on the monotonic clock. Called
 * by serve/housekeep.c on a timer, and by upload.c. */
#ifndef CONTROLLER_FILES_RUBBISH_H
#define CONTROLLER_FILES_RUBBISH_H

#include "controller/state/ctl.h"
#include "store/blob.h"

/* Notes that a blob was uploaded by this runner or user, or that somebody asked whether it is here
 * (by = NULL). In both cases a message or a request that names it may follow soon. */
void rubbish_said(struct ctl *ctl, const char *sha256, const struct ctl_upload_by *by);
/* Whether a message under this trial's or task's fence could still be applied, and name a file. */
bool rubbish_owner_lives(struct ctl *ctl, const struct ctl_upload_by *by);
/* Deletes what may go, a part of the blobs at each call. Runs inside a request. */
int rubbish_collect(struct ctl *ctl, struct err *err);
/* Forgets notes about blobs that are named or gone by now. Called after each rubbish_collect. */
void rubbish_forget_old(struct ctl *ctl);
void rubbish_free(struct ctl *ctl);

#endif
