-- Tokens, without the tokens themselves. Looked up before the tenant is known, so they belong to nobody's rows.
CREATE TABLE shared_tokens (
    id TEXT PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    scopes TEXT NOT NULL,
    requests_per_second BIGINT NOT NULL,
    note TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
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
    snapshot BIGINT NOT NULL,
    files TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    source TEXT,
    source_sequence BIGINT,
    mode TEXT,
    inputs TEXT NOT NULL
);
CREATE INDEX runs_by_start ON runs (tenant, workspace, started_at, id);
CREATE INDEX runs_by_snapshot ON runs (tenant, snapshot_workspace, snapshot);

-- What happened in a run, in order and without gaps.
CREATE TABLE run_events (
    run TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    node TEXT,
    causation TEXT,
    at BIGINT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (run, sequence)
);

-- Runs that wait for a node, and the node that has them. Only names: a node takes work of every tenant.
CREATE TABLE shared_claims (
    run TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    node TEXT,
    claimed_until BIGINT NOT NULL,
    queued_at BIGINT NOT NULL
);
CREATE INDEX shared_claims_by_age ON shared_claims (queued_at);

-- Nobody sees a row of another tenant, whoever owns the table.
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON runs USING (tenant = current_setting('roost.tenant', true));
ALTER TABLE run_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE run_events FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON run_events USING (tenant = current_setting('roost.tenant', true));
