/* disk.c - see disk.h. */
#include "tests/e2e/disk.h"

#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

bool disk_mount(const char *folder, int64_t bytes)
{
    char options[60];

    (void)!snprintf(options, sizeof options, "size=%" PRId64 ",mode=0700", bytes);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("small", folder, "tmpfs", 0, options) < 0) {
        print_message("a small tmpfs cannot be mounted here: %s\n", strerror(errno));
        return false;
    }
    return true;
}

void disk_unmount(const char *folder)
{
    umount2(folder, MNT_DETACH);
}

void disk_fill(const char *folder)
{
    static char block[1 << 16];
    char path[200];
    ssize_t n = 0;

    (void)!snprintf(path, sizeof path, "%s/filling", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (size_t size = sizeof block; size > 0; size /= 2) {
        while ((n = write(fd, block, size)) > 0) {
        }
    }
    close(fd);
}

void disk_make_room(const char *folder)
{
    char path[200];

    (void)!snprintf(path, sizeof path, "%s/filling", folder);
    unlink(path);
}
