-- 006_epochs.sql - how the networks of a trial learned, epoch by epoch. One row for each time that its folds began anew
-- (level: the one that they began with); data: at most 256 points as JSON (controller/state/epochs.h). It holds measured
-- speeds, so no journal row speaks of it and no digest reads it.

CREATE TABLE epochs (
    trial INTEGER NOT NULL REFERENCES trial (id),
    level INTEGER NOT NULL CHECK (level >= 1),
    data TEXT NOT NULL,
    PRIMARY KEY (trial, level)
) STRICT;
