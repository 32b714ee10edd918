/* migrate.h - private to store/: brings the schema of a database to the newest version.
 *
 * Called by store_open, before any statement is prepared. The version of a database is the number of
 * steps that were applied to it (PRAGMA user_version). */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include "store/db.h"

int store_migrate(sqlite3 *db, struct err *err);
int store_version_newest(void); /* the schema version that this program makes and knows */

#endif
