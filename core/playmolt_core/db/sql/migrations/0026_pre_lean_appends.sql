-- An action's answer that follows from its records is not stored beside them, and a stream's row is written where what a
-- list shows, or the due time, changes: two writes less an action. See decision 62.
SET LOCAL ROLE playmolt_owner;

-- The command whose answer follows from this record and its others.
ALTER TABLE log.event ADD COLUMN command uuid;

-- Streams as a list shows them: where they end is told by their records.
CREATE VIEW log.listed WITH (security_invoker = true) AS
  SELECT s.stream, s.game, s.phase, s.round, s.seated, s.needed, s.over, s.created_at, s.language, s.invite,
    coalesce(e.at, s.updated_at) AS updated_at, coalesce(e.version, s.version) AS version
  FROM log.stream AS s
  LEFT JOIN LATERAL (
    SELECT n.version, n.at FROM log.event AS n WHERE n.stream = s.stream AND n.version > s.version
    ORDER BY n.version DESC LIMIT 1
  ) AS e ON true;

-- Whether streams' rows may stand behind their records: not before every engine looks for a stream's end in its records.
CREATE FUNCTION log.rows_lag() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT false';

-- Appends units, all of them or none, and gives the numbers of those in conflict, for which nothing was stored: a stream
-- does not end at the expected version and hash. A command id that is there already raises unique_violation.
--
-- One array a column, as text (an array of JSON for what is JSON). p_* say for each stream, each there once, what is
-- expected of it, where its records begin among the r_* (they end where those of the next begin; none: it is only checked)
-- and, where `p_moves`, what its row says from now on. a_* are outcomes. Versions, and the hashes that records follow, are
-- not told but taken from the log: what does not follow cannot be said.
--
-- Nothing is locked but the rows that move, and the counter of positions, which comes last. Of two that extend a stream at
-- once both find its end as expected, one waits for the counter, and (stream, version) then lets no second in.
--
-- The settings: a generic plan made while the tables are empty would scan them for ever after, and a hash would lock
-- streams in another order than that of their names: then two batches could wait for each other.
--
-- The limit in the update of the streams cuts nothing; it promises few rows, so that Postgres looks the streams up instead
-- of reading them all.
CREATE FUNCTION log.append(
  p_unit text, p_stream text, p_expected text, p_prev_hash text, p_first text, p_moves text,
  p_phase text, p_round text, p_seated text, p_needed text, p_over text, p_due text,
  r_part text, r_type text, r_schema_version text, r_data json, r_metadata json, r_at text,
  r_salt text, r_hash text, r_public json, r_lobby json, r_closes text, r_command text,
  a_stream text, a_command_id text, a_fingerprint text, a_body json
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
DECLARE
  units    CONSTANT integer[]     := p_unit;
  names    CONSTANT text[]        := p_stream;
  expected CONSTANT integer[]     := p_expected;
  followed CONSTANT bytea[]       := p_prev_hash;
  firsts   CONSTANT integer[]     := p_first;
  moves    CONSTANT boolean[]     := p_moves;
  owners   CONSTANT integer[]     := r_part;
  hashes   CONSTANT bytea[]       := r_hash;
  times    CONSTANT timestamptz[] := r_at;
  stored   CONSTANT integer       := cardinality(hashes);
  ends     CONSTANT integer[]     := firsts[2:] || stored + 1;
  fresh    CONSTANT boolean       := 0 = ANY (expected);
  mine     CONSTANT text[]        := log.own_types();
  moved    bigint;
  refused  integer[];
  broken   text;
  base     bigint;
BEGIN
  -- Only of its own types a login may write, outcomes included.
  IF mine IS NOT NULL AND EXISTS (
    SELECT FROM unnest(names || a_stream::text[]) AS p (stream) WHERE log.type_of(p.stream) <> ALL (mine)
  ) THEN
    RAISE EXCEPTION '% may not append to these streams', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;

  SELECT array_agg(DISTINCT p.unit) INTO refused
  FROM unnest(units, names, expected, followed, firsts, ends) AS p (unit, stream, expected, followed, first, next)
  LEFT JOIN log.event AS e ON e.stream = p.stream AND e.version = p.expected
  WHERE coalesce(e.hash, decode(repeat('00', 32), 'hex')) <> p.followed OR (e.hash IS NULL) <> (p.expected = 0)
    OR p.first = p.next AND (
      EXISTS (SELECT FROM log.event AS n WHERE n.stream = p.stream AND n.version = p.expected + 1)
      OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = p.stream AND (s.archived OR s.erased_at IS NOT NULL))
    );
  IF refused IS NOT NULL THEN
    RETURN refused;
  END IF;

  BEGIN
    IF fresh THEN
      -- A row to lock, so that of two that make the same stream one waits for the other.
      INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
      SELECT p.stream, 0, decode(repeat('00', 32), 'hex'), times[p.first], times[p.first]
      FROM unnest(names, expected, firsts, ends) AS p (stream, expected, first, next)
      WHERE p.expected = 0 AND p.first < p.next
      ORDER BY p.stream
      ON CONFLICT DO NOTHING;
    END IF;

    IF fresh OR true = ANY (moves) THEN
      UPDATE log.stream AS s
      SET version = p.expected + p.next - p.first, hash = hashes[p.next - 1], updated_at = times[p.next - 1],
          phase = p.phase, round = p.round, seated = p.seated, needed = p.needed, over = p.over, due = p.due
      FROM (
        SELECT * FROM unnest(
          names, expected, firsts, ends, moves, p_phase::text[], p_round::integer[], p_seated::integer[],
          p_needed::integer[], p_over::boolean[], p_due::timestamptz[]
        ) AS a (stream, expected, first, next, moves, phase, round, seated, needed, over, due)
        WHERE (a.moves OR a.expected = 0) AND a.first < a.next ORDER BY a.stream LIMIT cardinality(names)
      ) AS p
      WHERE s.stream = p.stream AND s.version <= p.expected AND NOT s.archived AND s.erased_at IS NULL;
      GET DIAGNOSTICS moved = ROW_COUNT;
      IF moved < (
        SELECT count(*) FROM unnest(moves, expected, firsts, ends) AS p (moves, expected, first, next)
        WHERE (p.moves OR p.expected = 0) AND p.first < p.next
      ) THEN
        -- Erased, archived, held for its faults, or made by another meanwhile.
        SELECT array_agg(DISTINCT p.unit) INTO refused
        FROM unnest(units, names, expected, firsts, ends, moves) AS p (unit, stream, expected, first, next, moves)
        LEFT JOIN log.stream AS s ON s.stream = p.stream
        WHERE (p.moves OR p.expected = 0) AND p.first < p.next AND s.hash IS DISTINCT FROM hashes[p.next - 1];
        RAISE SQLSTATE 'PM409';
      END IF;
    END IF;

    IF a_stream <> '{}' THEN
      INSERT INTO log.outcome (stream, command_id, fingerprint, body)
      SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8')
      FROM ROWS FROM (
        unnest(a_stream::text[]), unnest(a_command_id::text[]), unnest(a_fingerprint::text[]), json_array_elements_text(a_body)
      ) AS a (stream, command_id, fingerprint, body);
    END IF;

    IF stored > 0 THEN
      UPDATE log.head AS h SET position = h.position + stored RETURNING h.position - stored INTO STRICT base;
      INSERT INTO log.event (
        position, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes,
        command
      )
      SELECT
        base + r.nth, names[r.part],
        CASE WHEN r.nth >= firsts[r.part] AND r.nth < ends[r.part] THEN expected[r.part] + r.nth - firsts[r.part] + 1 END,
        r.type, r.schema_version, r.data, r.metadata, r.at, r.salt,
        CASE r.nth WHEN firsts[r.part] THEN followed[r.part] ELSE hashes[r.nth - 1] END,
        r.hash, convert_to(r.public, 'UTF8'), convert_to(r.lobby, 'UTF8'), r.closes, r.command
      FROM ROWS FROM (
        unnest(
          owners, r_type::text[], r_schema_version::smallint[], times, r_salt::bytea[], hashes, r_closes::boolean[],
          r_command::uuid[]
        ),
        json_array_elements(r_data), json_array_elements(r_metadata),
        json_array_elements_text(r_public), json_array_elements_text(r_lobby)
      ) WITH ORDINALITY AS r (
        part, type, schema_version, at, salt, hash, closes, command, data, metadata, public, lobby, nth
      );
    END IF;
    RETURN '{}';
  EXCEPTION
    WHEN SQLSTATE 'PM409' THEN
      RETURN refused;
    WHEN unique_violation THEN
      GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
      SELECT array_agg(DISTINCT p.unit) INTO refused FROM unnest(units, names, expected) AS p (unit, stream, expected)
      WHERE EXISTS (SELECT FROM log.event AS n WHERE n.stream = p.stream AND n.version > p.expected);
      IF broken <> 'event_pkey' OR refused IS NULL THEN
        RAISE;
      END IF;
      RETURN refused;
  END;
END $$;

REVOKE ALL ON log.listed FROM PUBLIC;
GRANT SELECT ON log.listed TO playmolt_engine, playmolt_relay, playmolt_reader;
REVOKE ALL ON FUNCTION log.rows_lag, log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, json, json, text, text, text, text, text, json
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.rows_lag, log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, json, json, text, text, text, text, text, json
) TO playmolt_engine;
