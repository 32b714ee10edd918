-- 007_output.sql - what the users' programs print while they run as trials (proto/command.h), piece by piece, as the
-- runners sent it. at: wall-clock ms at which it was stored; total: bytes of all pieces of the trial up to this one. The
-- primary key finds the pieces of a trial in order.

CREATE TABLE output (
    trial INTEGER NOT NULL REFERENCES trial (id),
    piece INTEGER NOT NULL CHECK (piece >= 1),
    fence INTEGER NOT NULL,
    at INTEGER NOT NULL,
    total INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (trial, piece)
) STRICT;
