/* upload.h - uploads that are under way, as the rest of controller/ sees them. Clients use them
 * through the verbs in api.h (ctl_upload_*), whose bodies are in upload.c. */
#ifndef CONTROLLER_FILES_UPLOAD_H
#define CONTROLLER_FILES_UPLOAD_H

#include "controller/state/ctl.h"

/* Deletes uploads whose trial or task has ended, and those to which nothing was added for an
 * hour. */
void uploads_sweep(struct ctl *ctl);
void uploads_free(struct ctl *ctl);
/* How many bytes one more file may have that belongs to the owner of this blob, by the free disk
 * and the quotas; at least 1. */
int64_t upload_room(struct ctl *ctl, const char *sha256);

#endif
