/* blob_dir.h - private to blob.c and blob_row.c: the lock between commit and collection.
 *
 * A commit (on a pool thread) renames a file into blobs/. Collection (on the loop's thread) compares
 * a file with what it saw before and then removes it. Under this lock no commit can put a new file
 * in place between that comparison and the removal. It is held for a few system calls only. */
#ifndef STORE_BLOB_DIR_H
#define STORE_BLOB_DIR_H

#include <pthread.h>

extern pthread_mutex_t blob_dir_lock;

#endif
