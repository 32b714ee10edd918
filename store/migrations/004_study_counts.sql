-- 004_study_counts.sql - an ended study knows how its trials ended, so that a list of studies is made from their rows:
-- {"best": id of the best trial or 0, "queued": n, ... one number per state}. NULL while it has not ended.

ALTER TABLE study ADD COLUMN counts TEXT;

UPDATE study SET counts = (
    SELECT json_object('best', ifnull(study.best_trial, 0),
        'queued', count(*) FILTER (WHERE state = 'queued'),
        'running', count(*) FILTER (WHERE state = 'running'),
        'paused', count(*) FILTER (WHERE state = 'paused'),
        'completed', count(*) FILTER (WHERE state = 'completed'),
        'pruned', count(*) FILTER (WHERE state = 'pruned'),
        'failed', count(*) FILTER (WHERE state = 'failed'),
        'cancelled', count(*) FILTER (WHERE state = 'cancelled'))
    FROM trial WHERE trial.study = study.id)
WHERE state IN ('completed', 'stopped', 'failed');
