-- 001_start.sql - the first schema. Facts only; whatever can be rebuilt lives in memory.
-- Every migration runs in one transaction with its user_version; a released one is never edited.
-- Ids of things that messages and links may name later are AUTOINCREMENT: an id is never used twice.
-- A column that holds a hash of a blob refers to the blob's row, so no row can name what is not stored.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    key TEXT PRIMARY KEY,
    answer TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE blob (
    sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    kind TEXT NOT NULL,
    added_at INTEGER NOT NULL -- last time somebody said it is there
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_added ON blob (added_at);

-- A deleted dataset keeps its row (ended studies name it) and lets go of its name and its blobs.
CREATE TABLE dataset (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    blob TEXT REFERENCES blob (sha256),
    identity TEXT NOT NULL CHECK (length(identity) = 64),
    columns TEXT,
    file_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('ingesting', 'ready', 'failed')),
    error TEXT,
    frame TEXT REFERENCES blob (sha256),
    schema TEXT,
    rows INTEGER NOT NULL,
    cols INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX dataset_name ON dataset (name) WHERE is_deleted = 0;
CREATE INDEX dataset_identity ON dataset (identity) WHERE is_deleted = 0;
CREATE INDEX dataset_blob ON dataset (blob) WHERE blob IS NOT NULL;
CREATE INDEX dataset_frame ON dataset (frame) WHERE frame IS NOT NULL;

CREATE TABLE study (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    spec TEXT NOT NULL,
    data TEXT,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'finishing', 'completed',
                                         'stopped', 'failed')),
    reason TEXT,
    seed INTEGER NOT NULL,
    numeric_sig TEXT NOT NULL,
    priority INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    dataset INTEGER REFERENCES dataset (id),
    best_trial INTEGER,
    artifact TEXT REFERENCES blob (sha256),
    result TEXT,
    is_archived INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX study_dataset ON study (dataset) WHERE dataset IS NOT NULL;
CREATE INDEX study_artifact ON study (artifact) WHERE artifact IS NOT NULL;

-- Sampler, scheduler and planner as bytes, with the journal sequence that they include.
CREATE TABLE search_state (
    study INTEGER PRIMARY KEY REFERENCES study (id),
    seq INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE trial (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study INTEGER NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    config TEXT NOT NULL,
    config_hash TEXT,
    family TEXT,
    shape_key TEXT,
    seed INTEGER NOT NULL, -- the 64 bits of an unsigned number
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'completed', 'pruned',
                                         'failed', 'cancelled')),
    reason TEXT,
    detail TEXT,
    fence INTEGER NOT NULL,
    msg_seq INTEGER NOT NULL,
    msg_answer TEXT,
    level INTEGER NOT NULL,
    max_level INTEGER NOT NULL,
    run_to INTEGER NOT NULL,
    score REAL,
    score_se REAL,
    select_value REAL,
    test_score REAL,
    test_se REAL,
    checkpoint TEXT REFERENCES blob (sha256),
    checkpoint_level INTEGER NOT NULL,
    artifact TEXT REFERENCES blob (sha256),
    info TEXT,
    crashes_alone INTEGER NOT NULL,
    retry_of INTEGER,
    vstart INTEGER NOT NULL,
    vcost INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    UNIQUE (study, number)
) STRICT;
CREATE INDEX trial_checkpoint ON trial (checkpoint) WHERE checkpoint IS NOT NULL;
CREATE INDEX trial_artifact ON trial (artifact) WHERE artifact IS NOT NULL;

CREATE TABLE report (
    trial INTEGER NOT NULL REFERENCES trial (id),
    level INTEGER NOT NULL,
    value REAL,
    se REAL,
    PRIMARY KEY (trial, level)
) STRICT, WITHOUT ROWID;

CREATE TABLE runner (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    session TEXT NOT NULL UNIQUE,
    numeric_sig TEXT NOT NULL,
    labels TEXT,
    devices TEXT,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'draining', 'quarantined', 'gone')),
    reason TEXT,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL
) STRICT;

-- One attempt is one lease of a trial.
CREATE TABLE attempt (
    trial INTEGER NOT NULL REFERENCES trial (id),
    fence INTEGER NOT NULL,
    runner INTEGER NOT NULL REFERENCES runner (id),
    session TEXT,
    device TEXT,
    from_level INTEGER NOT NULL,
    to_level INTEGER NOT NULL,
    end_reason TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    PRIMARY KEY (trial, fence)
) STRICT, WITHOUT ROWID;

-- Leased work that is no trial.
CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    study INTEGER REFERENCES study (id),
    dataset INTEGER REFERENCES dataset (id),
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    fence INTEGER NOT NULL,
    msg_seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    config TEXT,
    result TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX task_open ON task (id) WHERE state IN ('queued', 'running');
CREATE INDEX task_study ON task (study) WHERE study IS NOT NULL;
CREATE INDEX task_dataset ON task (dataset) WHERE dataset IS NOT NULL;

CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'user', 'viewer', 'runner')),
    hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    created_at INTEGER NOT NULL
) STRICT;

-- Append-only. study and trial are plain numbers: the row of a deletion outlives what it names.
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    study INTEGER,
    trial INTEGER,
    event TEXT NOT NULL,
    data TEXT
) STRICT;
CREATE INDEX journal_study ON journal (study, seq) WHERE study IS NOT NULL;
CREATE INDEX journal_trial ON journal (trial, seq) WHERE trial IS NOT NULL;
