SET LOCAL ROLE playmolt_owner;

-- Appends units, all of them or none, and gives the numbers of those in conflict, for which nothing was stored: a stream
-- is not at the expected version and hash. A command id that is there already raises unique_violation, a record that
-- does not follow the one before it check_violation.
--
-- One array a column, as text (an array of JSON for what is JSON): p_* hold what becomes of each stream, each there once,
-- r_* the records in the order of p_*, a_* outcomes. A stream whose version is the expected one is only checked.
--
-- The settings: a generic plan made while the tables are empty would scan them for ever after.
CREATE FUNCTION log.append(
  p_unit text, p_stream text, p_expected text, p_prev_hash text, p_version text, p_hash text, p_at text,
  p_phase text, p_round text, p_seated text, p_needed text, p_over text, p_due text,
  r_stream text, r_version text, r_type text, r_schema_version text, r_data json, r_metadata json, r_at text,
  r_salt text, r_prev_hash text, r_hash text, r_public json, r_lobby json, r_closes text,
  a_stream text, a_command_id text, a_fingerprint text, a_body json
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
  names     CONSTANT text[]    := p_stream;
  expected  CONSTANT integer[] := p_expected;
  followed  CONSTANT bytea[]   := p_prev_hash;
  versions  CONSTANT integer[] := p_version;
  hashes    CONSTANT bytea[]   := p_hash;
  owners    CONSTANT text[]    := r_stream;
  numbers   CONSTANT integer[] := r_version;
  before    CONSTANT bytea[]   := r_prev_hash;
  links     CONSTANT bytea[]   := r_hash;
  outcomes  CONSTANT text[]    := a_stream;
  fresh     CONSTANT boolean   := 0 = ANY (expected);
  refused   integer[];
  strayed   boolean;
  stored    bigint;
  base      bigint;
BEGIN
  IF fresh THEN
    -- A row to lock, so that of two that make the same stream one waits for the other.
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    SELECT p.stream, 0, decode(repeat('00', 32), 'hex'), coalesce(p.at, 'epoch'), coalesce(p.at, 'epoch')
    FROM unnest(names, expected, p_at::timestamptz[]) AS p (stream, expected, at) WHERE p.expected = 0
    ON CONFLICT DO NOTHING;
  END IF;

  -- Locked in one order everywhere, so that two batches never wait for each other.
  WITH standing AS MATERIALIZED (
    SELECT k.stream, k.version, k.hash FROM log.stream AS k
    WHERE k.stream = ANY (names) ORDER BY k.stream FOR NO KEY UPDATE
  )
  SELECT array_agg(DISTINCT p.unit) FILTER (WHERE (p.version, p.hash) IS DISTINCT FROM (s.version, s.hash)) INTO refused
  FROM unnest(p_unit::integer[], names, expected, followed) AS p (unit, stream, version, hash)
  LEFT JOIN standing AS s USING (stream);

  IF refused IS NOT NULL THEN
    IF fresh THEN
      DELETE FROM log.stream AS s WHERE s.stream = ANY (names) AND s.version = 0;
    END IF;
    RETURN refused;
  END IF;

  IF (owners, numbers, before, links) IS DISTINCT FROM (names, versions, followed, hashes) THEN
    SELECT
      count(ends.stream) <> (SELECT count(*) FROM unnest(expected, versions) AS p (a, b) WHERE p.a < p.b)
      OR bool_or((r.version - 1, r.prev_hash) IS DISTINCT FROM CASE
        WHEN r.stream = r.last_stream THEN (r.last_version, r.last_hash) ELSE (starts.version, starts.hash)
      END)
    INTO strayed
    FROM unnest(
      owners, numbers, before, links, array_prepend(NULL, owners), array_prepend(NULL, numbers), array_prepend(NULL, links)
    ) AS r (stream, version, prev_hash, hash, last_stream, last_version, last_hash)
    LEFT JOIN unnest(names, expected, followed) AS starts (stream, version, hash) ON starts.stream = r.stream
    LEFT JOIN unnest(names, versions, hashes) AS ends (stream, version, hash)
      ON ends.stream = r.stream AND ends.version = r.version AND ends.hash = r.hash
    WHERE r.stream IS NOT NULL;
    IF strayed THEN
      RAISE EXCEPTION 'a record does not follow the one before it' USING ERRCODE = 'check_violation';
    END IF;
  END IF;

  UPDATE log.stream AS s
  SET version = p.version, hash = p.hash, updated_at = p.at, phase = p.phase, round = p.round, seated = p.seated,
      needed = p.needed, over = p.over, due = p.due
  FROM unnest(
    names, expected, versions, hashes, p_at::timestamptz[], p_phase::text[], p_round::integer[], p_seated::integer[],
    p_needed::integer[], p_over::boolean[], p_due::timestamptz[]
  ) AS p (stream, expected, version, hash, at, phase, round, seated, needed, over, due)
  WHERE s.stream = p.stream AND p.version > p.expected AND s.stream = ANY (names);

  IF outcomes <> '{}' THEN
    INSERT INTO log.outcome (stream, command_id, fingerprint, body)
    SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8')
    FROM ROWS FROM (
      unnest(outcomes), unnest(a_command_id::text[]), unnest(a_fingerprint::text[]), json_array_elements_text(a_body)
    ) AS a (stream, command_id, fingerprint, body);
  END IF;

  IF fresh THEN
    DELETE FROM log.stream AS s WHERE s.stream = ANY (names) AND s.version = 0;
  END IF;

  stored := cardinality(owners);
  IF stored > 0 THEN
    UPDATE log.head AS h SET position = h.position + stored RETURNING h.position - stored INTO STRICT base;
    INSERT INTO log.event (
      position, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes
    )
    SELECT
      base + r.nth, r.stream, r.version, r.type, r.schema_version, r.data, r.metadata, r.at,
      r.salt, r.prev_hash, r.hash, convert_to(r.public, 'UTF8'), convert_to(r.lobby, 'UTF8'), r.closes
    FROM ROWS FROM (
      unnest(
        owners, numbers, r_type::text[], r_schema_version::smallint[], r_at::timestamptz[], r_salt::bytea[], before, links,
        r_closes::boolean[]
      ),
      json_array_elements(r_data), json_array_elements(r_metadata),
      json_array_elements_text(r_public), json_array_elements_text(r_lobby)
    ) WITH ORDINALITY AS r (
      stream, version, type, schema_version, at, salt, prev_hash, hash, closes, data, metadata, public, lobby, nth
    );
  END IF;
  RETURN '{}';
END $$;

REVOKE ALL ON FUNCTION log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, text, json, json, text, text, text, text, json
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, text, json, json, text, text, text, text, json
) TO playmolt_engine;
