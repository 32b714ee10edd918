-- 009_predictions.sql - the file with what a trial predicted out of fold, from which ensembles are made.
-- A completed trial whose model is kept may name one until its study ends.

ALTER TABLE trial ADD COLUMN predictions TEXT REFERENCES blob (sha256);
CREATE INDEX trial_predictions ON trial (predictions) WHERE predictions IS NOT NULL;

CREATE TRIGGER trial_predictions_freed AFTER UPDATE OF predictions ON trial
WHEN old.predictions IS NOT NULL AND old.predictions IS NOT new.predictions BEGIN
    INSERT INTO blob_loose VALUES (old.predictions, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
CREATE TRIGGER trial_predictions_deleted AFTER DELETE ON trial WHEN old.predictions IS NOT NULL BEGIN
    INSERT INTO blob_loose VALUES (old.predictions, 1) ON CONFLICT DO UPDATE SET was_named = 1;
END;
