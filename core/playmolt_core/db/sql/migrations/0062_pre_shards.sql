-- The shards of a log, fixed here when the log is made: `playmolt.log_shards` says how many (`migrate` sets it); a log in
-- which there is something has one. Each has its counter of positions and its tables, and how far it was projected.
-- All keys of what belongs to a stream have its shard. See decision 69.
SET LOCAL ROLE playmolt_owner;

ALTER TABLE log.stream DROP CONSTRAINT stream_pkey, DROP CONSTRAINT stream_number_key,
  ADD PRIMARY KEY (stream, shard), ADD UNIQUE (number, shard);
DROP INDEX log.stream_invite;
CREATE UNIQUE INDEX stream_invite ON log.stream (invite, shard) WHERE invite IS NOT NULL;
ALTER TABLE log.outcome ADD COLUMN shard smallint NOT NULL DEFAULT 0, DROP CONSTRAINT outcome_pkey;
ALTER TABLE log.outcome ADD PRIMARY KEY (stream, command_id, shard);
ALTER TABLE log.archived ADD COLUMN shard smallint NOT NULL DEFAULT 0, DROP CONSTRAINT archived_pkey;
ALTER TABLE log.archived ADD PRIMARY KEY (stream, shard);
DROP INDEX log.archived_erased, log.archived_end;
CREATE INDEX archived_erased ON log.archived (shard, upper(positions)) WHERE file = '';
CREATE INDEX archived_end ON log.archived (shard, upper(positions)) WHERE NOT isempty(positions);
ALTER TABLE projection.progress DROP COLUMN one, ADD COLUMN shard smallint PRIMARY KEY DEFAULT 0;

DO $$
DECLARE
  shards CONSTANT integer := coalesce(nullif(current_setting('playmolt.log_shards', true), ''), '1');
BEGIN
  IF EXISTS (SELECT FROM log.stream) THEN
    RETURN;
  END IF;
  FOR place IN 1 .. shards - 1 LOOP
    INSERT INTO log.head (shard) VALUES (place);
    INSERT INTO projection.progress (shard) VALUES (place);
    EXECUTE format(
      'CREATE TABLE log.record_%1$s PARTITION OF log.record FOR VALUES IN (%1$s) PARTITION BY RANGE (number)', place
    );
    EXECUTE format(
      'CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.record_%s FOR EACH STATEMENT EXECUTE FUNCTION log.refuse()', place
    );
    PERFORM log.open_part(place::smallint, kind << 48) FROM generate_series(0::bigint, 3) AS kind;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION log.append(
  p_unit text, p_stream text, p_expected text, p_prev_hash text, p_first text, p_moves text,
  p_phase text, p_round text, p_seated text, p_needed text, p_over text, p_due text,
  r_part text, r_type text, r_schema_version text, r_data json, r_metadata json, r_at text,
  r_salt text, r_hash text, r_public json, r_lobby json, r_closes text, r_command text, r_decides text, r_actor text,
  r_request text, r_trace text,
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
  numbers  bigint[];
  shards   smallint[];
  place    smallint;
  amount   bigint;
  base     bigint;
  moved    bigint;
  placed   bigint := 0;
  refused  integer[];
  broken   text;
BEGIN
  -- Only of its own types a login may write, outcomes included.
  IF mine IS NOT NULL AND EXISTS (
    SELECT FROM unnest(names || a_stream::text[]) AS p (stream) WHERE log.type_of(p.stream) <> ALL (mine)
  ) THEN
    RAISE EXCEPTION '% may not append to these streams', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;

  SELECT
    array_agg(s.number ORDER BY p.part), array_agg(s.shard ORDER BY p.part),
    array_agg(p.unit ORDER BY p.part) FILTER (
      WHERE s.archived OR s.erased_at IS NOT NULL
        OR p.expected = 0 AND p.followed <> decode(repeat('00', 32), 'hex')
        OR CASE WHEN p.expected > 0 THEN p.followed END IS DISTINCT FROM (
          SELECT e.hash FROM log.record AS e
          WHERE e.number = s.number AND e.version = p.expected AND e.shard = s.shard
        )
        OR p.first = p.next AND EXISTS (
          SELECT FROM log.record AS n WHERE n.number = s.number AND n.version = p.expected + 1 AND n.shard = s.shard
        )
    )
  INTO numbers, shards, refused
  FROM unnest(units, names, expected, followed, firsts, ends) WITH ORDINALITY
    AS p (unit, stream, expected, followed, first, next, part)
  LEFT JOIN log.stream AS s ON s.stream = p.stream;
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

      SELECT array_agg(s.number ORDER BY p.part), array_agg(s.shard ORDER BY p.part) INTO numbers, shards
      FROM unnest(names) WITH ORDINALITY AS p (stream, part) LEFT JOIN log.stream AS s ON s.stream = p.stream;
      PERFORM log.open_part(p.shard, p.number) FROM unnest(shards, numbers, expected) AS p (shard, number, expected)
      WHERE p.expected = 0 AND p.number IS NOT NULL;
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
        SELECT array_agg(p.unit) INTO refused
        FROM unnest(units, names, expected, firsts, ends, moves) AS p (unit, stream, expected, first, next, moves)
        LEFT JOIN log.stream AS s ON s.stream = p.stream
        WHERE (p.moves OR p.expected = 0) AND p.first < p.next AND s.hash IS DISTINCT FROM hashes[p.next - 1];
        RAISE SQLSTATE 'PM409';
      END IF;
    END IF;

    IF a_stream <> '{}' THEN
      INSERT INTO log.outcome (stream, command_id, fingerprint, body, shard)
      SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8'), log.shard_of(a.stream)
      FROM ROWS FROM (
        unnest(a_stream::text[]), unnest(a_command_id::text[]), unnest(a_fingerprint::text[]), json_array_elements_text(a_body)
      ) AS a (stream, command_id, fingerprint, body);
    END IF;

    FOR place, amount IN
      SELECT p.shard, sum(p.next - p.first) FROM unnest(shards, firsts, ends) AS p (shard, first, next)
      WHERE p.first < p.next GROUP BY p.shard ORDER BY p.shard
    LOOP
      UPDATE log.head AS h SET position = h.position + amount WHERE h.shard = place
      RETURNING h.position - amount INTO STRICT base;
      INSERT INTO log.record (
        position, number, at, version, shard, schema_version, command, actor, closes, decides, hash, salt, type, data,
        public, request, trace, metadata, lobby
      )
      SELECT
        base + row_number() OVER (), numbers[r.part], r.at,
        CASE WHEN r.nth >= firsts[r.part] AND r.nth < ends[r.part] THEN expected[r.part] + r.nth - firsts[r.part] + 1 END,
        place, r.schema_version, r.command, r.actor, r.closes, r.decides, r.hash, r.salt, r.type, r.data,
        r.public, r.request, r.trace, r.metadata::json, convert_to(r.lobby, 'UTF8')
      FROM ROWS FROM (
        unnest(
          owners, r_type::text[], r_schema_version::smallint[], times, r_salt::bytea[], hashes, r_closes::boolean[],
          r_command::uuid[], r_decides::boolean[], r_actor::uuid[], r_request::bytea[], r_trace::text[]
        ),
        json_array_elements(r_data), json_array_elements_text(r_metadata),
        json_array_elements_text(r_public), json_array_elements_text(r_lobby)
      ) WITH ORDINALITY AS r (
        part, type, schema_version, at, salt, hash, closes, command, decides, actor, request, trace, data, metadata,
        public, lobby, nth
      )
      WHERE shards[r.part] = place;
      GET DIAGNOSTICS moved = ROW_COUNT;
      placed := placed + moved;
    END LOOP;
    IF placed < stored THEN
      RAISE EXCEPTION 'records of no stream' USING ERRCODE = 'not_null_violation';
    END IF;
    RETURN '{}';
  EXCEPTION
    WHEN SQLSTATE 'PM409' THEN
      RETURN refused;
    WHEN unique_violation THEN
      GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
      SELECT array_agg(p.unit) INTO refused FROM unnest(units, names, expected) AS p (unit, stream, expected)
      WHERE EXISTS (
        SELECT FROM log.stream AS s JOIN log.record AS n ON n.number = s.number AND n.shard = s.shard
        WHERE s.stream = p.stream AND n.version > p.expected
      );
      IF broken NOT LIKE 'record%pkey' OR refused IS NULL THEN
        RAISE;
      END IF;
      RETURN refused;
  END;
END $$;

CREATE OR REPLACE FUNCTION log.prune(p_streams json, p_file text, p_sha256 bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names   text[];
  former  bigint[];
  latter  bigint[];
  wrong   text;
  removed bigint;
  kept    bigint;
BEGIN
  SELECT array_agg(a.stream ORDER BY a.stream) INTO names FROM json_to_recordset(p_streams) AS a (stream text);

  PERFORM FROM log.stream AS s WHERE s.stream = ANY (names) ORDER BY s.stream FOR NO KEY UPDATE;
  SELECT array_agg(s.number ORDER BY s.stream) INTO former FROM log.stream AS s WHERE s.stream = ANY (names);

  SELECT min(a.stream) INTO wrong
  FROM json_to_recordset(p_streams) AS a (stream text, version integer, hash text)
  LEFT JOIN log.stream AS s ON s.stream = a.stream
  LEFT JOIN log.record AS e ON e.number = s.number AND e.version = s.version AND e.shard = s.shard
  WHERE (s.version = a.version AND s.hash = decode(a.hash, 'hex') AND s.over AND s.due IS NULL AND e.closes
         AND e.hash = s.hash) IS NOT TRUE;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION '% is not finished at the version and hash that the file ends with', wrong
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;

  INSERT INTO log.archived (stream, version, hash, positions, file, sha256, shard)
  SELECT
    s.stream, s.version, s.hash,
    coalesce(range_agg(int8range(e.position, e.position, '[]')) FILTER (WHERE e.type <> 'game_end'), '{}'),
    p_file, p_sha256, s.shard
  FROM log.stream AS s JOIN log.record AS e ON e.number = s.number AND e.shard = s.shard
  WHERE s.stream = ANY (names) GROUP BY s.stream, s.shard;

  SELECT array_agg(log.new_number(3, f.number & 15) ORDER BY f.nth) INTO latter
  FROM unnest(former) WITH ORDINALITY AS f (number, nth);
  PERFORM log.open_part(s.shard, a.number)
  FROM unnest(names, latter) AS a (stream, number) JOIN log.stream AS s ON s.stream = a.stream;
  INSERT INTO log.record (
    position, number, at, version, shard, schema_version, command, actor, closes, decides, hash, salt, type, data, public,
    request, trace, metadata, lobby, prev_hash
  )
  SELECT e.position, a.latter, e.at, e.version, e.shard, e.schema_version, e.command, e.actor, e.closes, e.decides, e.hash,
    e.salt, e.type, e.data, e.public, e.request, e.trace, e.metadata, e.lobby, b.hash
  FROM unnest(names, former, latter) AS a (stream, number, latter)
  JOIN log.stream AS s ON s.stream = a.stream
  JOIN log.record AS e ON e.number = a.number AND e.shard = s.shard
  JOIN log.record AS b ON b.number = e.number AND b.version = e.version - 1 AND b.shard = e.shard
  WHERE e.type = 'game_end';
  GET DIAGNOSTICS kept = ROW_COUNT;
  DELETE FROM log.record AS e WHERE e.number = ANY (former);
  GET DIAGNOSTICS removed = ROW_COUNT;
  DELETE FROM log.outcome AS o WHERE o.stream = ANY (names);
  UPDATE log.stream AS s
  SET archived = true, hash = decode(repeat('00', 32), 'hex'), phase = NULL, round = NULL, seated = NULL, needed = NULL,
      over = NULL, number = a.number
  FROM unnest(names, latter) AS a (stream, number) WHERE s.stream = a.stream;
  RETURN removed - kept;
END $$;

CREATE OR REPLACE FUNCTION log.erase(
  p_stream text, p_version integer, p_hash bytea, p_by text, p_linked text, p_followed bytea, p_record json
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  nothing CONSTANT bytea       := decode(repeat('00', 32), 'hex');
  stated  CONSTANT timestamptz := p_record ->> 'at';
  nth     CONSTANT integer     := p_record ->> 'version';
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

  IF nth = 1 THEN
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    VALUES ('erasure-sessions', 0, nothing, stated, stated) ON CONFLICT DO NOTHING;
  END IF;
  UPDATE log.stream AS s SET version = nth, hash = decode(p_record ->> 'hash', 'hex'), updated_at = stated
  WHERE s.stream = 'erasure-sessions' AND s.version = nth - 1 AND s.hash = p_followed;
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
    INSERT INTO log.archived (stream, version, hash, positions, file, sha256, shard)
    SELECT p_stream, p_version, p_hash, range_agg(int8range(e.position, e.position, '[]')), '', nothing, present.shard
    FROM log.record AS e WHERE e.number = present.number AND e.shard = present.shard;
    DELETE FROM log.record AS e WHERE e.number = present.number AND e.shard = present.shard;
  END IF;

  DELETE FROM lease.fault AS f WHERE f.stream = p_stream;
  DELETE FROM lease.in_flight AS f WHERE f.stream = p_stream;
  UPDATE log.stream AS s
  SET erased_at = stated, erased_by = p_by, erased_linked = p_linked, archived = present.archived OR is_open, hash = nothing,
      phase = 'erased', over = true, round = 0, seated = 0, needed = 0, due = NULL
  WHERE s.stream = p_stream;
  DELETE FROM log.outcome AS o WHERE o.stream = p_stream;
  DELETE FROM blob.text AS t WHERE t.stream = p_stream;

  UPDATE log.head AS h SET position = h.position + 1 WHERE h.shard = log.shard_of('erasure-sessions');
  INSERT INTO log.record (
    position, shard, number, version, type, schema_version, data, metadata, at, salt, hash, closes, decides
  )
  SELECT h.position, h.shard, s.number, nth, p_record ->> 'type', (p_record ->> 'schema_version')::smallint, said,
    p_record -> 'metadata', stated, decode(p_record ->> 'salt', 'hex'), decode(p_record ->> 'hash', 'hex'), false, false
  FROM log.head AS h JOIN log.stream AS s ON s.shard = h.shard WHERE s.stream = 'erasure-sessions';
  RETURN true;
END $$;

-- Records leave out more of what follows: a usual `metadata` with a state hash is that hash alone, as a JSON string;
-- `public` may name members of `data` by a mask, `lobby` be five words of it. See decision 63.
CREATE OR REPLACE VIEW log.event WITH (security_invoker = true) AS
  SELECT
    s.stream, r.version, r.position, r.type, r.schema_version, r.data,
    CASE
      WHEN starts_with(r.metadata::text, '{') THEN r.metadata
      ELSE concat(
        '{"actor":"', 'agent-' || r.actor, '","causation":"', encode(uuid_send(r.command), 'hex'), '","command_id":"',
        encode(uuid_send(r.command), 'hex'), '","correlation":"', encode(uuid_send(r.command), 'hex'), '",',
        '"request":"' || encode(r.request, 'hex') || '",', '"state_hash":' || r.metadata || ',', '"trace":"', r.trace, '"}'
      )::json
    END AS metadata,
    r.at, r.salt,
    coalesce(
      r.prev_hash,
      (SELECT b.hash FROM log.record AS b WHERE b.number = r.number AND b.version = r.version - 1 AND b.shard = r.shard),
      decode(repeat('00', 32), 'hex')
    ) AS prev_hash,
    r.hash,
    convert_to(CASE
      WHEN r.public IS NULL OR starts_with(r.public, '{') THEN r.public
      ELSE concat(
        '{"type":"', r.type, '"',
        CASE
          WHEN r.public = '=' THEN ',' || substr(r.data::text, 2, length(r.data::text) - 2)
          WHEN starts_with(r.public, '#') THEN (
            SELECT string_agg(concat(',"', m.name, '":', m.value), '' ORDER BY m.nth)
            FROM json_each(r.data) WITH ORDINALITY AS m (name, value, nth)
            WHERE ('x' || lpad(substr(r.public, 2), 8, '0'))::bit(32)::integer >> m.nth::integer - 1 & 1 = 1
          )
          WHEN starts_with(r.public, '=') THEN (
            SELECT string_agg(concat(',"', m.name, '":', r.data -> m.name), '')
            FROM string_to_table(substr(r.public, 2), ',') AS m (name)
          )
          ELSE r.public
        END,
        ',"game_id":"', s.stream, '","version":', r.version,
        ',"at":"', to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '"}'
      )
    END, 'UTF8') AS public,
    CASE
      WHEN get_byte(r.lobby, 0) <> ascii(',') THEN r.lobby
      WHEN r.lobby IS NOT NULL THEN (
        SELECT convert_to(concat(
          '{"type":"', l.of[2], '","game_id":"', s.stream, '","gameType":"', s.game, '","phase":"', l.of[3], '","seated":', l.of[4],
          ',"needed":', l.of[5], ',"at":"', to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
          '","language":"', l.of[6], '"}'
        ), 'UTF8')
        FROM string_to_array(convert_from(r.lobby, 'UTF8'), ',') AS l (of)
      )
    END AS lobby, r.closes, CASE WHEN r.decides THEN r.command END AS command, r.shard
  FROM log.record AS r JOIN log.stream AS s ON s.number = r.number AND s.shard = r.shard;
