/* upload.h - uploads under way, as the rest of controller/ sees them: whose they are, when they go, what room there is. The
 * verbs are in api.h. One thread, the loop's. */
#ifndef CONTROLLER_FILES_UPLOAD_H
#define CONTROLLER_FILES_UPLOAD_H

#include "controller/state/ctl.h"

/* Deletes those whose trial has ended, and those that nobody went on with. */
void uploads_sweep(struct ctl *ctl);
void uploads_free(struct ctl *ctl);
/* Bytes that one more file of the same owner may take, by the disk and the quotas; at least 1. */
int64_t upload_room(struct ctl *ctl, const char *sha256);

#endif
