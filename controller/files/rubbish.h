/* rubbish.h - what nothing can name any more: which blobs and uploads may go, and their going. In memory stand the blobs
 * that were brought or asked for lately and for which trial; a restart forgets that, and gives everything a full age. Ages
 * are counted on the monotonic clock. One thread, the loop's. Private to controller/. */
#ifndef CONTROLLER_FILES_RUBBISH_H
#define CONTROLLER_FILES_RUBBISH_H

#include "controller/state/ctl.h"
#include "store/blob.h"

/* A blob was committed for these hands, or asked for (by NULL): whoever did may name it soon. */
void rubbish_said(struct ctl *ctl, const char *sha256, const struct ctl_upload_by *by);
/* May a message of this trial or task still be applied? */
bool rubbish_owner_lives(struct ctl *ctl, const struct ctl_upload_by *by);
/* One look at blobs that nothing names, inside a request; what was said of those that are gone is forgotten after it. */
int rubbish_collect(struct ctl *ctl, struct err *err);
void rubbish_forget_old(struct ctl *ctl);
void rubbish_free(struct ctl *ctl);

#endif
