-- Tokens, without the tokens themselves. Looked up before the tenant is known, so they belong to nobody's rows.
CREATE TABLE shared_tokens (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    scopes TEXT NOT NULL,
    requests_per_second INTEGER NOT NULL,
    note TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);

-- One row per turn, call or workflow. `files` lists what a run from elsewhere saw, whose numbers are not ours.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    kind TEXT NOT NULL,
    workflow TEXT NOT NULL,
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    principal TEXT NOT NULL,
    snapshot_workspace TEXT NOT NULL,
    snapshot INTEGER NOT NULL,
    files TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    source TEXT,
    source_sequence INTEGER,
    mode TEXT,
    inputs TEXT NOT NULL
);
CREATE INDEX runs_by_start ON runs (tenant, workspace, started_at, id);
CREATE INDEX runs_by_snapshot ON runs (tenant, snapshot_workspace, snapshot);

-- What happened in a run, in order and without gaps.
CREATE TABLE run_events (
    run TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    node TEXT,
    causation TEXT,
    at INTEGER NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (run, sequence)
);

-- Runs that wait for a node, and the node that has them. Only names: a node takes work of every tenant.
CREATE TABLE shared_claims (
    run TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    node TEXT,
    claimed_until INTEGER NOT NULL,
    queued_at INTEGER NOT NULL
);
CREATE INDEX shared_claims_by_age ON shared_claims (queued_at);
