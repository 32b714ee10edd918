/* blob_dir.h - private to blob.c and blob_row.c: the one lock between a commit that renames a file into blobs/ (pool
 * threads) and the collection that looks at a file's age and then removes it (the loop). */
#ifndef STORE_BLOB_DIR_H
#define STORE_BLOB_DIR_H

#include <pthread.h>

extern pthread_mutex_t blob_dir_lock;

#endif
