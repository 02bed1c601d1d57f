-- Plain writes of one workspace, as many as wait: a new content in the place of one that is there, whose version is
-- still the expected one. Only the first of several for the same file is made. Gives the number, the version and the time
-- of each that was made; whoever is not among them is to be decided alone.
--
-- The workspace is locked before its files are read, and each statement sees what was stored before it began.
CREATE FUNCTION put_together(of_tenant TEXT, of_name TEXT, at BIGINT, paths TEXT[], expected TEXT[], etags TEXT[],
    content_types TEXT[], principals TEXT[], runs TEXT[], nodes TEXT[], reasons TEXT[], sha256s BYTEA[],
    contents BYTEA[], versions_max BIGINT, bytes_max BIGINT, events_max BIGINT)
RETURNS TABLE (number BIGINT, made_version BIGINT, made_at BIGINT)
LANGUAGE plpgsql
-- Rows are always found by their keys, whatever the server believes about the size of its tables.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    w workspaces%ROWTYPE;
    made BIGINT;
BEGIN
    SELECT * INTO w FROM workspaces WHERE tenant = of_tenant AND name = of_name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY WITH
    asked AS MATERIALIZED (
        SELECT DISTINCT ON (a.path) a.*
        FROM unnest(paths, expected, etags, content_types, principals, runs, nodes, reasons, sha256s, contents)
        WITH ORDINALITY AS a(path, expected, etag, content_type, principal, run, node, reason, sha256, content, number)
        ORDER BY a.path, a.number),
    found AS MATERIALIZED (
        SELECT a.*, f.id AS file, f.version + 1 AS version, greatest(at, f.updated_at) AS updated_at,
            octet_length(a.content)::BIGINT AS bytes, octet_length(a.content) - f.bytes AS more,
            w.sequence + row_number() OVER (ORDER BY a.number) AS sequence
        FROM asked a CROSS JOIN LATERAL (
            SELECT * FROM files WHERE workspace = w.id AND path = a.path OFFSET 0) f
        WHERE f.removed = 0 AND (a.expected IS NULL OR f.etag = a.expected)),
    total AS MATERIALIZED (SELECT count(*) AS files, coalesce(sum(more), 0)::BIGINT AS more FROM found),
    -- Where not all of them have room, each has to ask for itself.
    plain AS MATERIALIZED (
        SELECT found.* FROM found, total WHERE total.more <= 0 OR w.bytes + total.more <= bytes_max),
    new_heads AS (
        UPDATE files SET version = p.version, sequence = p.sequence, etag = p.etag, bytes = p.bytes,
            content_type = p.content_type, updated_at = p.updated_at
        FROM plain p WHERE files.id = p.file),
    new_versions AS (
        INSERT INTO versions (tenant, file, version, sequence, etag, removed, bytes, content_type, updated_at, sha256,
            principal, run, node, reason, content)
        SELECT of_tenant, file, version, sequence, etag, 0, bytes, content_type, updated_at, sha256, principal, run,
            node, reason, content
        FROM plain),
    new_events AS (
        INSERT INTO events (tenant, workspace, sequence, path, version, at, run)
        SELECT of_tenant, w.id, sequence, path, version, updated_at, run FROM plain),
    counted AS (
        UPDATE workspaces SET sequence = w.sequence + total.files, bytes = w.bytes + total.more
        FROM total WHERE workspaces.id = w.id AND EXISTS (SELECT 1 FROM plain)),
    old_versions AS (
        DELETE FROM versions WHERE ctid = ANY (ARRAY(
            SELECT v.ctid FROM plain p CROSS JOIN LATERAL (
                SELECT ctid, file, version, sequence FROM versions
                WHERE file = p.file AND version = p.version - versions_max OFFSET 0) v
            WHERE NOT EXISTS (
                SELECT 1 FROM pins WHERE pins.workspace = w.id AND pins.sequence >= v.sequence AND pins.sequence <
                coalesce((SELECT n.sequence FROM versions n WHERE n.file = v.file AND n.version > v.version
                ORDER BY n.version LIMIT 1), p.sequence)))))
    SELECT plain.number, plain.version, plain.updated_at FROM plain;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF w.sequence + made > events_max THEN
        DELETE FROM events WHERE workspace = w.id
            AND sequence > w.sequence - events_max AND sequence <= w.sequence + made - events_max;
    END IF;
END $$;
