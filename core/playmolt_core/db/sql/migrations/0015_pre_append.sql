SET LOCAL ROLE playmolt_owner;

-- The type of a stream is named once, when the stream is made: a generated column is worked out anew by every update.
ALTER TABLE log.stream ALTER COLUMN game DROP EXPRESSION;
CREATE FUNCTION log.name_game() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.game := split_part(NEW.stream, '-', 1);
  RETURN NEW;
END $$;
CREATE TRIGGER name_game BEFORE INSERT ON log.stream FOR EACH ROW EXECUTE FUNCTION log.name_game();
REVOKE ALL ON FUNCTION log.name_game FROM PUBLIC;

-- Appends units, all of them or none, and gives the numbers of those in conflict, for which nothing was stored: a stream
-- is not at the expected version and hash. A command id that is there already raises unique_violation.
--
-- One array a column, as text (an array of JSON for what is JSON). p_* say for each stream, each there once, what is
-- expected of it, where its records begin among the r_* (they end where those of the next begin; none: it is only checked)
-- and what becomes of it. a_* are outcomes. Versions, and the hashes that records follow, are not told but taken from the
-- stream: what does not follow cannot be said.
--
-- The settings: a generic plan made while the tables are empty would scan them for ever after, and a hash would lock
-- streams in another order than that of their names: then two batches could wait for each other.
--
-- New here: the update of the streams named them a second time, as a list that was sorted anew for each of them. It kept
-- Postgres from reading all streams instead of looking these up; the limit, which cuts nothing, does so by promising few.
CREATE OR REPLACE FUNCTION log.append(
  p_unit text, p_stream text, p_expected text, p_prev_hash text, p_first text,
  p_phase text, p_round text, p_seated text, p_needed text, p_over text, p_due text,
  r_part text, r_type text, r_schema_version text, r_data json, r_metadata json, r_at text,
  r_salt text, r_hash text, r_public json, r_lobby json, r_closes text,
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
  names    CONSTANT text[]        := p_stream;
  expected CONSTANT integer[]     := p_expected;
  followed CONSTANT bytea[]       := p_prev_hash;
  firsts   CONSTANT integer[]     := p_first;
  owners   CONSTANT integer[]     := r_part;
  hashes   CONSTANT bytea[]       := r_hash;
  times    CONSTANT timestamptz[] := r_at;
  stored   CONSTANT integer       := cardinality(hashes);
  ends     CONSTANT integer[]     := firsts[2:] || stored + 1;
  fresh    CONSTANT boolean       := 0 = ANY (expected);
  moved    bigint;
  refused  integer[];
  base     bigint;
BEGIN
  BEGIN
    IF fresh THEN
      -- A row to lock, so that of two that make the same stream one waits for the other.
      INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
      SELECT p.stream, 0, decode(repeat('00', 32), 'hex'), coalesce(times[p.first], 'epoch'), coalesce(times[p.first], 'epoch')
      FROM unnest(names, expected, firsts) AS p (stream, expected, first) WHERE p.expected = 0
      ORDER BY p.stream
      ON CONFLICT DO NOTHING;
    END IF;
    IF EXISTS (SELECT FROM unnest(firsts, ends) AS p (first, next) WHERE p.first = p.next) THEN
      PERFORM FROM log.stream AS s WHERE s.stream = ANY (names) ORDER BY s.stream FOR NO KEY UPDATE;
    END IF;

    UPDATE log.stream AS s
    SET version = p.expected + p.next - p.first, hash = hashes[p.next - 1], updated_at = times[p.next - 1],
        phase = p.phase, round = p.round, seated = p.seated, needed = p.needed, over = p.over, due = p.due
    FROM (
      SELECT * FROM unnest(
        names, expected, followed, firsts, ends, p_phase::text[], p_round::integer[], p_seated::integer[],
        p_needed::integer[], p_over::boolean[], p_due::timestamptz[]
      ) AS a (stream, expected, followed, first, next, phase, round, seated, needed, over, due)
      WHERE a.first < a.next ORDER BY a.stream LIMIT cardinality(names)
    ) AS p
    WHERE s.stream = p.stream AND (s.version, s.hash) = (p.expected, p.followed);
    GET DIAGNOSTICS moved = ROW_COUNT;

    IF moved < cardinality(names) THEN
      SELECT array_agg(DISTINCT p.unit) INTO refused
      FROM unnest(p_unit::integer[], names, expected, followed, firsts, ends)
        AS p (unit, stream, expected, followed, first, next)
      LEFT JOIN log.stream AS s ON s.stream = p.stream
      WHERE (s.version, s.hash) IS DISTINCT FROM (
        p.expected + p.next - p.first, CASE p.first WHEN p.next THEN p.followed ELSE hashes[p.next - 1] END
      );
      IF refused IS NOT NULL THEN
        RAISE SQLSTATE 'PM409';
      END IF;
    END IF;
  EXCEPTION WHEN SQLSTATE 'PM409' THEN
    RETURN refused;
  END;

  IF a_stream <> '{}' THEN
    INSERT INTO log.outcome (stream, command_id, fingerprint, body)
    SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8')
    FROM ROWS FROM (
      unnest(a_stream::text[]), unnest(a_command_id::text[]), unnest(a_fingerprint::text[]), json_array_elements_text(a_body)
    ) AS a (stream, command_id, fingerprint, body);
  END IF;

  IF fresh THEN
    DELETE FROM log.stream AS s WHERE s.stream = ANY (names) AND s.version = 0;
  END IF;

  IF stored > 0 THEN
    UPDATE log.head AS h SET position = h.position + stored RETURNING h.position - stored INTO STRICT base;
    INSERT INTO log.event (
      position, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes
    )
    SELECT
      base + r.nth, names[r.part],
      CASE WHEN r.nth >= firsts[r.part] AND r.nth < ends[r.part] THEN expected[r.part] + r.nth - firsts[r.part] + 1 END,
      r.type, r.schema_version, r.data, r.metadata, r.at, r.salt,
      CASE r.nth WHEN firsts[r.part] THEN followed[r.part] ELSE hashes[r.nth - 1] END,
      r.hash, convert_to(r.public, 'UTF8'), convert_to(r.lobby, 'UTF8'), r.closes
    FROM ROWS FROM (
      unnest(owners, r_type::text[], r_schema_version::smallint[], times, r_salt::bytea[], hashes, r_closes::boolean[]),
      json_array_elements(r_data), json_array_elements(r_metadata),
      json_array_elements_text(r_public), json_array_elements_text(r_lobby)
    ) WITH ORDINALITY AS r (part, type, schema_version, at, salt, hash, closes, data, metadata, public, lobby, nth);
  END IF;
  RETURN '{}';
END $$;
