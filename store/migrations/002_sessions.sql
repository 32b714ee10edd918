-- 002_sessions.sql - sessions of the page outlive a restart, and a runner's session belongs to the token that
-- opened it. Of a session only hashes are kept: reading the database opens nothing.

CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cookie_hash TEXT NOT NULL UNIQUE CHECK (length(cookie_hash) = 64),
    secret_hash TEXT NOT NULL CHECK (length(secret_hash) = 64), -- of the X-Assay-CSRF header
    token INTEGER REFERENCES token (id) ON DELETE CASCADE, -- NULL: by a link made on the machine itself
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'user', 'viewer', 'runner')),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL, -- to the hour
    ends_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_token ON session (token);

-- The token that said hello: its id, 0 = the Unix socket, -1 = from before this step, anyone's.
ALTER TABLE runner ADD COLUMN token INTEGER NOT NULL DEFAULT -1;
