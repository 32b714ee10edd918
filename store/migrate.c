/* migrate.c - brings a database to the newest schema, one numbered step per transaction.
 *
 * The steps are store/migrations/NNN_name.sql, embedded by migrations.S. `PRAGMA user_version` counts
 * the steps that were applied; a step and its number are committed together, so an interrupted start
 * goes on at the right step. A released step is never edited; a change of the schema is a new step.
 * To add a step: write the file, add its .incbin to migrations.S and its name to the table below.
 * Called by store_open only, before statements are prepared. */
#include "store/migrate.h"

#include "base/fault.h"

#include <stdio.h>

extern const char store_migration_001[], store_migration_002[], store_migration_003[],
    store_migration_004[], store_migration_005[], store_migration_006[], store_migration_007[],
    store_migration_008[], store_migration_009[];

static const char *const steps[] = {
    store_migration_001, store_migration_002, store_migration_003,
    store_migration_004, store_migration_005, store_migration_006,
    store_migration_007, store_migration_008, store_migration_009,
};

int store_version_newest(void)
{
    return (int)ARRAY_LEN(steps);
}

/* Applies one step and sets the version, both or neither. */
static int step_apply(sqlite3 *db, int version, const char *text, struct err *err)
{
    char set_version[64];
    int rc = SQLITE_OK;

    snprintf(set_version, sizeof set_version, "%s%d", setup_text[SETUP_SET_VERSION], version);
    if (db_setup(db, SETUP_MIGRATE_BEGIN, err) < 0)
        return -1;
    rc = FAULT("store.migrate") ? SQLITE_IOERR : sqlite3_exec(db, text, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, set_version, NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        db_fail(db, rc, err);
    } else if (db_setup(db, SETUP_MIGRATE_COMMIT, err) == 0) {
        return 0;
    }
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, setup_text[SETUP_MIGRATE_ROLLBACK], NULL, NULL, NULL);
    return err_wrap(err, "schema step %d", version);
}

int store_migrate(sqlite3 *db, struct err *err)
{
    int64_t at = 0;

    if (db_setup_i64(db, SETUP_READ_VERSION, &at, err) < 0)
        return -1;
    CHECK(at >= 0 && at <= store_version_newest()); /* store_open refused newer ones */
    for (int i = (int)at; i < store_version_newest(); i++) {
        if (step_apply(db, i + 1, steps[i], err) < 0)
            return -1;
    }
    return 0;
}
