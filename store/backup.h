/* backup.h - a whole backup, and how it becomes a data folder again. A backup is a folder with
 * assay.db and the blobs that its rows name, laid out as in a data folder. On one file system the
 * blobs are hard links, which take no room and no time. Called by the controller on a pool thread,
 * and by `assay restore`. */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "store/store.h"

struct store_backup {
    int64_t db_bytes;
    int64_t blobs, bytes; /* of files */
    int64_t missing;      /* blobs whose files the data folder has lost */
};

/* Makes the folder `to`, which must not be there. The caller sees to it that no file under
 * `data_dir` is deleted meanwhile. After an error nothing is left. */
int store_backup_folder(struct store *s, const char *data_dir, const char *to,
                        struct store_backup *out, struct err *err);
/* Copies a backup into the folder `to`, which must be empty or not be there, and checks the database
 * and the hash of every file. After an error the folder has no database, so nothing starts in it. */
int store_restore(const char *from, const char *to, struct store_backup *out, struct err *err);

#endif
