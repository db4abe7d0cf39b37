-- A role for each type of game: a login appends to and reads the streams of the types whose roles it has.
DO $$
DECLARE
  name   text;
  member oid;
BEGIN
  FOREACH name IN ARRAY ARRAY['agora', 'experiment', 'jury', 'legal', 'ox', 'trial'] LOOP
    CONTINUE WHEN to_regrole('playmolt_game_' || name) IS NOT NULL;  -- made for a login that makes none
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', 'playmolt_game_' || name);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END LOOP;
  -- The engines of the release before go on with what they could do. Where logins are made anew, each gets its own types.
  FOR member IN
    SELECT m.member FROM pg_auth_members AS m
    WHERE m.roleid = 'playmolt_engine'::regrole AND NOT pg_has_role(m.member, 'playmolt_owner', 'MEMBER')
      AND NOT EXISTS (
        SELECT FROM pg_roles AS r WHERE starts_with(r.rolname, 'playmolt_game_') AND pg_has_role(m.member, r.oid, 'MEMBER')
      )
  LOOP
    FOREACH name IN ARRAY ARRAY['agora', 'experiment', 'jury', 'legal', 'ox', 'trial'] LOOP
      EXECUTE format('GRANT %I TO %s', 'playmolt_game_' || name, member::regrole);
    END LOOP;
  END LOOP;
END $$;

SET LOCAL ROLE playmolt_owner;

-- The type that a stream belongs to: of a lobby the type whose games it fills.
CREATE FUNCTION log.type_of(p_stream text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE split_part(p_stream, '-', 1) WHEN 'lobby' THEN split_part(p_stream, '-', 2) ELSE split_part(p_stream, '-', 1) END;

-- The types whose streams this session's login may append to and read; null, which is all of them, for whom the log
-- belongs to. It asks for the login, not for the role taken: whoever takes a role gains nothing.
CREATE FUNCTION log.own_types() RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN NOT pg_has_role(session_user, 'playmolt_owner', 'MEMBER') THEN ARRAY(
    SELECT substr(r.rolname, length('playmolt_game_') + 1) FROM pg_roles AS r
    WHERE starts_with(r.rolname, 'playmolt_game_') AND pg_has_role(session_user, r.oid, 'MEMBER')
  ) END
$$;

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
  mine     CONSTANT text[]        := log.own_types();
  moved    bigint;
  refused  integer[];
  base     bigint;
BEGIN
  -- Only of its own types a login may write, outcomes included.
  IF mine IS NOT NULL AND EXISTS (
    SELECT FROM unnest(names || a_stream::text[]) AS p (stream) WHERE log.type_of(p.stream) <> ALL (mine)
  ) THEN
    RAISE EXCEPTION '% may not append to these streams', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;

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

-- The streams in which an agent has a seat, and those a person opened: behind row security no index of what stands within
-- `data` or `metadata` is used, since the operators that look there might tell of rows that are not the caller's.
CREATE FUNCTION log.joined_by(p_agent text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT e.stream FROM log.event AS e
  WHERE e.type = 'agent_joined' AND e.data ->> 'agent_id' = p_agent AND NOT EXISTS (
      SELECT FROM log.event AS l
      WHERE l.stream = e.stream AND l.version > e.version AND l.type = 'agent_left' AND l.data ->> 'agent_id' = p_agent
    )
    AND log.type_of(e.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(e.stream)]))
$$;
CREATE FUNCTION log.opened_by(p_actor text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT e.stream FROM log.event AS e
  WHERE e.version = 1 AND e.metadata ->> 'actor' = p_actor
    AND log.type_of(e.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(e.stream)]))
$$;

-- An engine sees the streams of its own types alone. The types are looked up once a query.
ALTER TABLE log.stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE log.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE log.outcome ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON log.stream FOR SELECT TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
CREATE POLICY own ON log.event FOR SELECT TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
CREATE POLICY own ON log.outcome FOR SELECT TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
CREATE POLICY everything ON log.stream FOR SELECT TO playmolt_relay, playmolt_reader USING (true);
CREATE POLICY everything ON log.event FOR SELECT TO playmolt_relay, playmolt_reader USING (true);
CREATE POLICY everything ON log.outcome FOR SELECT TO playmolt_reader USING (true);

ALTER TABLE lease.in_flight ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON lease.in_flight TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));

REVOKE ALL ON FUNCTION log.type_of, log.own_types, log.joined_by, log.opened_by FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.type_of, log.own_types, log.joined_by, log.opened_by TO playmolt_engine;
