/* disk.h - a small disk for a data folder: a tmpfs in a mount namespace of this process, so that nothing stays mounted, which
 * can be filled to the last byte and be given room again. Call disk_mount before threads are started. */
#ifndef TESTS_E2E_DISK_H
#define TESTS_E2E_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* false: this process has not the right to mount; a message says so. */
bool disk_mount(const char *folder, int64_t bytes);
void disk_unmount(const char *folder);
/* To the last byte; again, what others gave back meanwhile. */
void disk_fill(const char *folder);
void disk_make_room(const char *folder);

#endif
