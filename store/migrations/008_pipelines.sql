-- 008_pipelines.sql - what becomes of the columns of a study's table until a model reads them, as its trials told it.
-- One row for each pipeline that differs (key: the beginning of the hash of data); data: JSON (ml/prep/describe.h).
-- trial.info names the key. It follows from the table and the configuration, so no journal row speaks of it.

CREATE TABLE pipeline (
    study INTEGER NOT NULL REFERENCES study (id),
    key TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (study, key)
) STRICT;
