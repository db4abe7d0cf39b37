-- Erasing a session: who says so, when, and a record of it on a stream of its own.
SET LOCAL ROLE playmolt_owner;

ALTER TABLE log.stream ADD COLUMN erased_at timestamptz, ADD COLUMN erased_by text, ADD COLUMN erased_linked text;

-- What commands of an erased session were answered may go.
CREATE OR REPLACE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME IN ('event', 'outcome') THEN
    IF EXISTS (SELECT FROM log.archived AS a WHERE a.stream = OLD.stream) THEN
      IF TG_TABLE_NAME = 'outcome' THEN
        RETURN OLD;
      ELSIF OLD.type <> 'game_end' THEN
        RETURN OLD;
      END IF;
    END IF;
    IF TG_TABLE_NAME = 'outcome' THEN
      IF EXISTS (SELECT FROM log.stream AS s WHERE s.stream = OLD.stream AND s.erased_at IS NOT NULL) THEN
        RETURN OLD;
      END IF;
    END IF;
  END IF;
  RAISE EXCEPTION 'log.% is append-only', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;

-- A session as who may erase it needs it: whose it is, where its records end, and whether it was erased.
CREATE FUNCTION log.session(p_stream text) RETURNS TABLE (
  owner text, version integer, hash bytea, created_at timestamptz, updated_at timestamptz,
  erased_at timestamptz, erased_by text, erased_linked text
) ROWS 1
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  RETURN QUERY
  SELECT coalesce(k.owner, e.metadata ->> 'actor', ''), s.version, coalesce(a.hash, s.hash), s.created_at, s.updated_at,
    s.erased_at, s.erased_by, s.erased_linked
  FROM log.stream AS s
  LEFT JOIN vault.key AS k ON k.stream = s.stream
  LEFT JOIN log.event AS e ON e.stream = s.stream AND e.version = 1
  LEFT JOIN log.archived AS a ON a.stream = s.stream
  WHERE s.stream = p_stream AND s.version > 0;
END $$;

-- Erases a session that stands at a version and hash, with the record of it, `p_record`, which follows `p_followed` on
-- the stream `erasure-sessions`. Gives false, and changes nothing, where either is not so any more.
--
-- The session's head is locked first, so that no append slips between; that of the log last, as in `log.append`. A session
-- whose records stand in clear leaves the log as an archived one does, without a file.
CREATE FUNCTION log.erase(
  p_stream text, p_version integer, p_hash bytea, p_by text, p_linked text, p_followed bytea, p_record json
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  nothing CONSTANT bytea       := decode(repeat('00', 32), 'hex');
  stated  CONSTANT timestamptz := p_record ->> 'at';
  number  CONSTANT integer     := p_record ->> 'version';
  said    CONSTANT json        := p_record -> 'data';
  present log.stream;
  whose   text;
  is_open boolean;
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  IF (said ->> 'stream', said ->> 'version', said ->> 'hash', said ->> 'by')
    IS DISTINCT FROM (p_stream, p_version::text, encode(p_hash, 'hex'), p_by)
  THEN
    RAISE EXCEPTION 'the record is of another erasure' USING ERRCODE = 'invalid_parameter_value';
  END IF;

  SELECT * INTO present FROM log.stream AS s WHERE s.stream = p_stream FOR UPDATE;
  IF present.erased_at IS NOT NULL OR present.version IS DISTINCT FROM p_version THEN
    RETURN false;
  END IF;
  IF NOT present.archived AND present.hash <> p_hash THEN
    RETURN false;
  END IF;

  IF number = 1 THEN
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    VALUES ('erasure-sessions', 0, nothing, stated, stated) ON CONFLICT DO NOTHING;
  END IF;
  UPDATE log.stream AS s SET version = number, hash = decode(p_record ->> 'hash', 'hex'), updated_at = stated
  WHERE s.stream = 'erasure-sessions' AND s.version = number - 1 AND s.hash = p_followed;
  IF NOT FOUND THEN
    RETURN false;
  END IF;

  SELECT s.owner INTO whose FROM log.session(p_stream) AS s;
  is_open := vault.erase(p_stream) IS NULL;
  IF is_open THEN
    INSERT INTO vault.key (stream, owner, kek, wrapped, created_at, erased_at)
    VALUES (p_stream, whose, '', NULL, present.created_at, stated);
  END IF;
  IF is_open AND NOT present.archived THEN
    INSERT INTO log.archived (stream, version, hash, positions, file, sha256)
    SELECT p_stream, p_version, p_hash, range_agg(int8range(e.position, e.position, '[]')), '', nothing
    FROM log.event AS e WHERE e.stream = p_stream;
    DELETE FROM log.event AS e WHERE e.stream = p_stream;
  END IF;

  DELETE FROM lease.fault AS f WHERE f.stream = p_stream;
  DELETE FROM lease.in_flight AS f WHERE f.stream = p_stream;
  UPDATE log.stream AS s
  SET erased_at = stated, erased_by = p_by, erased_linked = p_linked, archived = present.archived OR is_open, hash = nothing,
      phase = 'erased', over = true, round = 0, seated = 0, needed = 0, due = NULL
  WHERE s.stream = p_stream;
  DELETE FROM log.outcome AS o WHERE o.stream = p_stream;
  DELETE FROM blob.text AS t WHERE t.stream = p_stream;

  UPDATE log.head AS h SET position = h.position + 1;
  INSERT INTO log.event (
    position, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, closes
  )
  SELECT h.position, 'erasure-sessions', number, p_record ->> 'type', (p_record ->> 'schema_version')::smallint, said,
    p_record -> 'metadata', stated, decode(p_record ->> 'salt', 'hex'), p_followed, decode(p_record ->> 'hash', 'hex'), false
  FROM log.head AS h;
  RETURN true;
END $$;

-- Where the stream of erasures ends: what the next one follows.
CREATE FUNCTION log.last_erasure() RETURNS TABLE (version integer, hash bytea) ROWS 1
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.version, s.hash FROM log.stream AS s WHERE s.stream = 'erasure-sessions'
$$;

-- Sessions in which nothing happened since a time, the longest idle first.
CREATE FUNCTION log.idle_sessions(p_game text, p_since timestamptz, p_limit integer) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_game || '-']);
  RETURN QUERY
  SELECT s.stream FROM log.stream AS s
  WHERE s.game = p_game AND s.erased_at IS NULL AND s.version > 0 AND s.updated_at < p_since
  ORDER BY s.updated_at, s.stream LIMIT p_limit;
END $$;

-- Files of archived games in none of which anything happened since a time.
CREATE FUNCTION log.old_archives(p_before timestamptz) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.file FROM log.archived AS a JOIN log.stream AS s USING (stream) WHERE a.file <> ''
  GROUP BY a.file HAVING max(s.updated_at) < p_before ORDER BY a.file
$$;

-- Which sessions were erased, and whether their keys are gone: what a log is verified against.
CREATE FUNCTION vault.emptied() RETURNS TABLE (stream text, emptied boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.stream, k.wrapped IS NULL FROM vault.key AS k
  WHERE k.wrapped IS NULL OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = k.stream AND s.erased_at IS NOT NULL)
$$;

REVOKE ALL ON FUNCTION
  log.session, log.erase, log.last_erasure, log.idle_sessions, log.old_archives, vault.emptied
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.session, log.erase, log.last_erasure, log.idle_sessions, log.old_archives TO playmolt_vault;
GRANT EXECUTE ON FUNCTION vault.emptied TO playmolt_vault;
GRANT USAGE ON SCHEMA log TO playmolt_vault;

-- Prompts and replies of experiments that nobody has used since a time; those of sessions go with their session. Used
-- again, a text counts as new: once a day is enough to know.
CREATE FUNCTION blob.put(p_hashes bytea[], p_bodies text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO blob.text AS t (hash, body)
  SELECT DISTINCT ON (n.hash) n.hash, n.body FROM unnest(p_hashes, p_bodies) AS n (hash, body) ORDER BY n.hash
  ON CONFLICT (hash) DO UPDATE SET at = now() WHERE t.at < now() - interval '1 day'
$$;
CREATE FUNCTION blob.forget(p_before timestamptz, p_limit integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH texts AS (
    DELETE FROM blob.text WHERE hash IN (
      SELECT t.hash FROM blob.text AS t WHERE t.stream IS NULL AND t.at < p_before LIMIT p_limit
    ) RETURNING 1
  ), replies AS (
    DELETE FROM blob.reply WHERE key IN (SELECT r.key FROM blob.reply AS r WHERE r.at < p_before LIMIT p_limit) RETURNING 1
  )
  SELECT (SELECT count(*) FROM texts) + (SELECT count(*) FROM replies)
$$;
REVOKE ALL ON FUNCTION blob.put, blob.forget FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blob.put TO playmolt_engine;
GRANT USAGE ON SCHEMA blob TO playmolt_vault;
GRANT EXECUTE ON FUNCTION blob.forget TO playmolt_vault;
