-- 003_loose_blobs.sql - which blobs may be named by nothing, so that collection need not look at all of them.
-- A blob is entered when it is added and when a row lets go of it; collection takes it out again when it finds it named.
-- was_named: some row let go of it; 0 = nothing has named it yet.

CREATE TABLE blob_loose (
    sha256 TEXT PRIMARY KEY,
    was_named INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO blob_loose SELECT sha256, 0 FROM blob;

-- Whose token brought it, for quotas. '' = a program on this machine, or a runner.
ALTER TABLE blob ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX blob_owner ON blob (owner, bytes) WHERE owner != '';

CREATE TRIGGER blob_added AFTER INSERT ON blob BEGIN
    INSERT INTO blob_loose VALUES (new.sha256, 0) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER blob_dropped AFTER DELETE ON blob BEGIN
    DELETE FROM blob_loose WHERE sha256 = old.sha256;
END;

CREATE TRIGGER trial_checkpoint_freed AFTER UPDATE OF checkpoint ON trial
WHEN old.checkpoint IS NOT NULL AND old.checkpoint IS NOT new.checkpoint BEGIN
    INSERT INTO blob_loose VALUES (old.checkpoint, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER trial_artifact_freed AFTER UPDATE OF artifact ON trial
WHEN old.artifact IS NOT NULL AND old.artifact IS NOT new.artifact BEGIN
    INSERT INTO blob_loose VALUES (old.artifact, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER study_artifact_freed AFTER UPDATE OF artifact ON study
WHEN old.artifact IS NOT NULL AND old.artifact IS NOT new.artifact BEGIN
    INSERT INTO blob_loose VALUES (old.artifact, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER dataset_blob_freed AFTER UPDATE OF blob ON dataset
WHEN old.blob IS NOT NULL AND old.blob IS NOT new.blob BEGIN
    INSERT INTO blob_loose VALUES (old.blob, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER dataset_frame_freed AFTER UPDATE OF frame ON dataset
WHEN old.frame IS NOT NULL AND old.frame IS NOT new.frame BEGIN
    INSERT INTO blob_loose VALUES (old.frame, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;

CREATE TRIGGER trial_deleted AFTER DELETE ON trial
WHEN old.checkpoint IS NOT NULL OR old.artifact IS NOT NULL BEGIN
    INSERT INTO blob_loose SELECT old.checkpoint, 1 WHERE old.checkpoint IS NOT NULL
        ON CONFLICT DO UPDATE SET was_named = 1;
    INSERT INTO blob_loose SELECT old.artifact, 1 WHERE old.artifact IS NOT NULL
        ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER study_deleted AFTER DELETE ON study WHEN old.artifact IS NOT NULL BEGIN
    INSERT INTO blob_loose VALUES (old.artifact, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER dataset_deleted AFTER DELETE ON dataset
WHEN old.blob IS NOT NULL OR old.frame IS NOT NULL BEGIN
    INSERT INTO blob_loose SELECT old.blob, 1 WHERE old.blob IS NOT NULL
        ON CONFLICT DO UPDATE SET was_named = 1;
    INSERT INTO blob_loose SELECT old.frame, 1 WHERE old.frame IS NOT NULL
        ON CONFLICT DO UPDATE SET was_named = 1;
END;
