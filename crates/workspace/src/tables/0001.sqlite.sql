-- One row per workspace. `sequence` counts its writes: the number of its newest event.
CREATE TABLE workspaces (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    UNIQUE (tenant, name)
);

-- The newest version of each file, without its content. A file that was removed stays, to go on counting.
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    workspace INTEGER NOT NULL,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    etag TEXT NOT NULL,
    removed INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (workspace, path)
);

-- Every version that is kept, the newest too. One that says `removed` has no content.
CREATE TABLE versions (
    tenant TEXT NOT NULL,
    file INTEGER NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    etag TEXT NOT NULL,
    removed INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    principal TEXT NOT NULL,
    run TEXT,
    node TEXT,
    reason TEXT,
    content BLOB,
    PRIMARY KEY (file, version)
);

-- What happened, in order and without gaps.
CREATE TABLE events (
    tenant TEXT NOT NULL,
    workspace INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    run TEXT,
    PRIMARY KEY (workspace, sequence)
) WITHOUT ROWID;

-- Moments that somebody still needs: what was the newest version then is kept.
CREATE TABLE pins (
    tenant TEXT NOT NULL,
    workspace INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (workspace, sequence)
) WITHOUT ROWID;

-- Answers to requests that may be sent twice.
CREATE TABLE answers (
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    outcome TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, workspace, operation, key)
) WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (at);

-- What agents may do with files whose name begins so.
CREATE TABLE rules (
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    prefix TEXT NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (tenant, workspace, prefix)
) WITHOUT ROWID;

-- What agents propose and a person has not decided yet.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    etag TEXT,
    content_type TEXT NOT NULL,
    removes INTEGER NOT NULL,
    principal TEXT NOT NULL,
    run TEXT,
    node TEXT,
    reason TEXT,
    at INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE INDEX proposals_by_owner ON proposals (tenant, workspace, id);
