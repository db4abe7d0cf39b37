-- Records take half the room: a stream is a number in them, what follows from the rest of a record is left out, and they
-- lie in tables that are dropped once all of it was archived. `log.event` is a view of them. See decision 63.
--
-- Nobody reads or writes the log while its records are copied, some 100,000 a second.
SET LOCAL ROLE playmolt_owner;
LOCK TABLE log.event, log.stream, log.head IN ACCESS EXCLUSIVE MODE;

ALTER TABLE log.head DROP CONSTRAINT head_pkey;
ALTER TABLE log.head DROP COLUMN one;
ALTER TABLE log.head ADD COLUMN shard smallint PRIMARY KEY DEFAULT 0 CHECK (shard BETWEEN 0 AND 63);

-- A stream's number, which its records carry in place of its name: its kind in the bits from 48 up, the type it belongs to
-- in the lowest four, a count between them.
CREATE SEQUENCE log.stream_number;

-- The kinds, each in tables of its own: 0 what stands for as long as the log does, 1 games and runs, 2 sessions and
-- experiments, 3 what is left of archived games.
CREATE FUNCTION log.kind_of(p_stream text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN split_part(p_stream, '-', 1) IN ('lobby', 'erasure') THEN 0
  WHEN split_part(p_stream, '-', 1) IN ('legal', 'jury', 'agora', 'experiment') THEN 2
  ELSE 1
END;
CREATE FUNCTION log.new_number(p_kind bigint, p_code bigint) RETURNS bigint LANGUAGE sql
RETURN (p_kind << 48) + (nextval('log.stream_number') << 4) + p_code;

CREATE FUNCTION log.code_of(p_type text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_type
  WHEN 'ox' THEN 1 WHEN 'trial' THEN 2 WHEN 'legal' THEN 3 WHEN 'jury' THEN 4 WHEN 'agora' THEN 5 WHEN 'experiment' THEN 6
  ELSE 0
END;

-- The shard of a stream, of as many as there are: its place follows from the SHA-256 of its name.
CREATE FUNCTION log.shard_of(p_stream text) RETURNS smallint LANGUAGE sql STABLE
RETURN (
  ('x' || left(encode(sha256(convert_to(p_stream, 'UTF8')), 'hex'), 8))::bit(32)::bigint
  % (SELECT count(*) FROM log.head)
)::smallint;

ALTER TABLE log.stream ADD COLUMN shard smallint, ADD COLUMN number bigint;
UPDATE log.stream AS s
SET shard = 0, number = (CASE WHEN s.archived THEN 3 ELSE log.kind_of(s.stream) END << 48) + (n.nth << 4)
  + log.code_of(log.type_of(s.stream))
FROM (SELECT o.stream, row_number() OVER (ORDER BY o.created_at, o.stream) AS nth FROM log.stream AS o) AS n
WHERE n.stream = s.stream;
SELECT setval('log.stream_number', 1 + (SELECT count(*) FROM log.stream), false);
ALTER TABLE log.stream ALTER COLUMN shard SET NOT NULL, ALTER COLUMN number SET NOT NULL, ADD UNIQUE (number);
CREATE OR REPLACE FUNCTION log.name_game() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.game := split_part(NEW.stream, '-', 1);
  NEW.shard := log.shard_of(NEW.stream);
  NEW.number := log.new_number(log.kind_of(NEW.stream), log.code_of(log.type_of(NEW.stream)));
  RETURN NEW;
END $$;

DROP VIEW log.listed;
ALTER TABLE log.event RENAME TO event_before;

-- The records, without what follows from the rest of them. `log.event` is how they are read.
--
--   prev_hash  null: the hash of the record before it, or of none. What is left of an archived game has it.
--   metadata   null: {"actor", "causation", "command_id" and "correlation": the command, "request", "trace"}, where null
--              is "", but for a null request, which is left out; else as it was hashed
--   decides    whether the command's answer follows from this record and its others: it has no outcome
--   public     null: none; {…: the message as it is; else what stands in it between its type and `game_id`,
--              '=' for the members of `data`, '=a,b' for these of them
--
-- What takes 8 bytes comes first: nothing is lost between columns.
CREATE TABLE log.record (
  position       bigint      NOT NULL CHECK (position > 0),
  number         bigint      NOT NULL,
  at             timestamptz NOT NULL,
  version        integer     NOT NULL CHECK (version > 0),
  shard          smallint    NOT NULL,
  schema_version smallint    NOT NULL CHECK (schema_version > 0),
  command        uuid,
  actor          uuid,
  closes         boolean     NOT NULL,
  decides        boolean     NOT NULL,
  hash           bytea       NOT NULL CHECK (octet_length(hash) = 32),
  salt           bytea       NOT NULL CHECK (octet_length(salt) = 16),
  type           text        NOT NULL,
  data           json        NOT NULL,  -- json, not jsonb: the exact bytes that were hashed
  public         text        CHECK (octet_length(public) <= 524288),
  request        bytea       CHECK (octet_length(request) = 16),
  trace          text,
  metadata       json,
  lobby          bytea       CHECK (octet_length(lobby) <= 524288),
  prev_hash      bytea       CHECK (octet_length(prev_hash) = 32),
  PRIMARY KEY (number, version, shard),
  CHECK (octet_length(data::text) + coalesce(octet_length(metadata::text), 0) <= 524288),
  CHECK (metadata IS NOT NULL OR command IS NOT NULL)
) PARTITION BY LIST (shard);
ALTER TABLE log.record
  ALTER COLUMN data SET STORAGE MAIN, ALTER COLUMN public SET STORAGE MAIN, ALTER COLUMN metadata SET STORAGE MAIN;
CREATE TABLE log.record_0 PARTITION OF log.record FOR VALUES IN (0) PARTITION BY RANGE (number);
-- The results of games, from which leaderboards are made.
CREATE INDEX record_results ON log.record (position) WHERE type = 'game_end';
-- Who took a seat in a stream: the list of an agent's games.
CREATE INDEX record_joined ON log.record ((data ->> 'agent_id') COLLATE "C", number) WHERE type = 'agent_joined';
-- Who opened a stream: the list of a person's sessions.
CREATE INDEX record_opened_by ON log.record (coalesce('agent-' || actor::text, metadata ->> 'actor') COLLATE "C", number)
  WHERE version = 1;

-- Opens the table in which a shard's records of a stream of this number lie, where it is not there: one for each 65,536
-- streams of a kind. It is made by itself and then attached: so nobody who reads or writes is waited for.
CREATE FUNCTION log.open_part(p_shard smallint, p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  span  CONSTANT bigint := 1 << 20;
  first CONSTANT bigint := p_number - p_number % span;
  name  CONSTANT text   := format(
    'record_%s_%s_%s', p_shard, (ARRAY['standing', 'game', 'session', 'kept'])[(p_number >> 48) + 1],
    (p_number & (1::bigint << 48) - 1) / span
  );
BEGIN
  IF to_regclass('log.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('log.' || name, 0));
  IF to_regclass('log.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  EXECUTE format(
    'CREATE TABLE log.%I (LIKE log.record INCLUDING CONSTRAINTS INCLUDING STORAGE)', name
  );
  EXECUTE format('ALTER TABLE log.%1$I ADD CONSTRAINT %1$s_position UNIQUE (position)', name);
  EXECUTE format(
    'CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.%I FOR EACH STATEMENT EXECUTE FUNCTION log.refuse()', name
  );
  EXECUTE format(
    'ALTER TABLE log.%I ATTACH PARTITION log.%I FOR VALUES FROM (%s) TO (%s)', 'record_' || p_shard, name, first, first + span
  );
END $$;

CREATE OR REPLACE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'outcome' THEN
    IF EXISTS (SELECT FROM log.archived AS a WHERE a.stream = OLD.stream)
      OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = OLD.stream AND s.erased_at IS NOT NULL)
    THEN
      RETURN OLD;
    END IF;
  ELSIF TG_OP = 'DELETE' AND starts_with(TG_TABLE_NAME, 'record') THEN
    IF OLD.number >> 48 < 3 AND EXISTS (
      SELECT FROM log.stream AS s JOIN log.archived AS a ON a.stream = s.stream WHERE s.number = OLD.number
    ) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'log.% is append-only', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.record   FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.record   FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.record_0 FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
SELECT log.open_part(0::smallint, kind << 48) FROM generate_series(0::bigint, 3) AS kind;

SELECT log.open_part(0::smallint, n.first) FROM (SELECT DISTINCT s.number - s.number % (1 << 20) AS first FROM log.stream AS s) AS n;
INSERT INTO log.record (
  position, number, at, version, shard, schema_version, command, actor, closes, decides, hash, salt, type, data, public,
  metadata, lobby, prev_hash
)
SELECT e.position, s.number, e.at, e.version, 0, e.schema_version, e.command, NULL,
  e.closes, e.command IS NOT NULL, e.hash, e.salt, e.type, e.data, convert_from(e.public, 'UTF8'), e.metadata, e.lobby,
  CASE WHEN s.archived THEN e.prev_hash END
FROM log.event_before AS e JOIN log.stream AS s ON s.stream = e.stream ORDER BY e.position;
DROP TABLE log.event_before;

CREATE OR REPLACE FUNCTION log.note_opening() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE log.stream AS s
  SET language = coalesce(NEW.data #>> '{config,language}', s.language), invite = NEW.data #>> '{config,invite_sha256}'
  WHERE s.number = NEW.number;
  RETURN NULL;
END $$;
CREATE TRIGGER note_opening AFTER INSERT ON log.record FOR EACH ROW
  WHEN (NEW.version = 1 AND NEW.type = 'game_created') EXECUTE FUNCTION log.note_opening();

-- The same as the lowest bits of streams' numbers.
CREATE FUNCTION log.own_codes() RETURNS bigint[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg(log.code_of(t.name)) FROM unnest(log.own_types()) AS t (name) HAVING log.own_types() IS NOT NULL
$$;

-- The records as they were hashed. Columns that nobody asks for are not made.
CREATE VIEW log.event WITH (security_invoker = true) AS
  SELECT
    s.stream, r.version, r.position, r.type, r.schema_version, r.data,
    coalesce(r.metadata, concat(
      '{"actor":"', 'agent-' || r.actor, '","causation":"', encode(uuid_send(r.command), 'hex'), '","command_id":"',
      encode(uuid_send(r.command), 'hex'), '","correlation":"', encode(uuid_send(r.command), 'hex'), '",',
      '"request":"' || encode(r.request, 'hex') || '",', '"trace":"', r.trace, '"}'
    )::json) AS metadata,
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
    r.lobby, r.closes, CASE WHEN r.decides THEN r.command END AS command, r.shard
  FROM log.record AS r JOIN log.stream AS s ON s.number = r.number AND s.shard = r.shard;

-- Streams as a list shows them: where they end is told by their records.
CREATE VIEW log.listed WITH (security_invoker = true) AS
  SELECT s.stream, s.game, s.phase, s.round, s.seated, s.needed, s.over, s.created_at, s.language, s.invite,
    coalesce(e.at, s.updated_at) AS updated_at, coalesce(e.version, s.version) AS version, coalesce(e.hash, s.hash) AS hash,
    s.archived, s.erased_at, s.shard, s.number
  FROM log.stream AS s
  LEFT JOIN LATERAL (
    SELECT n.version, n.at, n.hash FROM log.record AS n
    WHERE n.number = s.number AND n.shard = s.shard AND n.version > s.version
    ORDER BY n.version DESC LIMIT 1
  ) AS e ON true;

CREATE TRIGGER append_only INSTEAD OF INSERT OR UPDATE OR DELETE ON log.event
FOR EACH ROW EXECUTE FUNCTION log.refuse();

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
      INSERT INTO log.outcome (stream, command_id, fingerprint, body)
      SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8')
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

-- For engines of the release before.
CREATE OR REPLACE FUNCTION log.append(
  p_unit text, p_stream text, p_expected text, p_prev_hash text, p_first text, p_moves text,
  p_phase text, p_round text, p_seated text, p_needed text, p_over text, p_due text,
  r_part text, r_type text, r_schema_version text, r_data json, r_metadata json, r_at text,
  r_salt text, r_hash text, r_public json, r_lobby json, r_closes text, r_command text,
  a_stream text, a_command_id text, a_fingerprint text, a_body json
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = auto
SET enable_seqscan = on
SET enable_bitmapscan = on
SET enable_hashjoin = on
SET enable_mergejoin = on
SET jit = off
AS $$
BEGIN
  RETURN log.append(
    p_unit, p_stream, p_expected, p_prev_hash, p_first, p_moves, p_phase, p_round, p_seated, p_needed, p_over, p_due,
    r_part, r_type, r_schema_version, r_data, r_metadata, r_at, r_salt, r_hash,
    coalesce((SELECT json_agg(m.text ORDER BY m.nth) FROM json_array_elements_text(r_public) WITH ORDINALITY AS m (text, nth)), '[]'),
    r_lobby, r_closes, r_command,
    coalesce((SELECT array_agg(c.id IS NOT NULL ORDER BY c.nth) FROM unnest(r_command::text[]) WITH ORDINALITY AS c (id, nth)), '{}')::text,
    '{}', '{}', '{}', a_stream, a_command_id, a_fingerprint, a_body
  );
END $$;

DROP FUNCTION log.prune;
-- Enters finished streams in the register of archived ones and deletes their records, all or none, and gives the number
-- of records deleted. `p_streams` is an array of {stream, version, hash}, as the file `p_file` holds them; whoever calls
-- has read the file back. Nobody may call it but the owner.
--
-- The results, from which leaderboards are made, move to where what is kept lies, and their streams with them.
CREATE FUNCTION log.prune(p_streams json, p_file text, p_sha256 bytea) RETURNS bigint
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

  INSERT INTO log.archived (stream, version, hash, positions, file, sha256)
  SELECT
    s.stream, s.version, s.hash,
    coalesce(range_agg(int8range(e.position, e.position, '[]')) FILTER (WHERE e.type <> 'game_end'), '{}'),
    p_file, p_sha256
  FROM log.stream AS s JOIN log.record AS e ON e.number = s.number AND e.shard = s.shard
  WHERE s.stream = ANY (names) GROUP BY s.stream;

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

-- Drops the tables whose records have all left the log, and names them: their room on the disk is free at once. One that
-- somebody reads is left for the next time. Nobody may call it but the owner.
CREATE FUNCTION log.drop_parts() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part   record;
  unused boolean;
BEGIN
  FOR part IN
    SELECT c.relname AS name, h.shard FROM log.head AS h
    JOIN pg_inherits AS i ON i.inhparent = format('log.record_%s', h.shard)::regclass
    JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE pg_relation_size(c.oid) > 0 ORDER BY c.relname
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM log.%I)', part.name) INTO unused;
    CONTINUE WHEN NOT unused;
    BEGIN
      EXECUTE format('LOCK TABLE log.record_%s, log.%I IN ACCESS EXCLUSIVE MODE', part.shard, part.name);
      EXECUTE format('SELECT NOT EXISTS (SELECT FROM log.%I)', part.name) INTO unused;
      IF unused THEN
        EXECUTE format('DROP TABLE log.%I', part.name);
        RETURN NEXT part.name;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      CONTINUE;
    END;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION log.joined_by(p_agent text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.stream FROM log.record AS e JOIN log.stream AS s ON s.number = e.number
  WHERE e.type = 'agent_joined' AND (e.data ->> 'agent_id') COLLATE "C" = p_agent AND NOT EXISTS (
      SELECT FROM log.record AS l
      WHERE l.number = e.number AND l.version > e.version AND l.type = 'agent_left' AND l.data ->> 'agent_id' = p_agent
    )
    AND log.type_of(s.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(s.stream)]))
$$;

CREATE OR REPLACE FUNCTION log.opened_by(p_actor text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o.stream FROM (
    SELECT s.stream FROM log.record AS e JOIN log.stream AS s ON s.number = e.number
    WHERE e.version = 1 AND coalesce('agent-' || e.actor::text, e.metadata ->> 'actor') COLLATE "C" = p_actor
    UNION ALL
    SELECT k.stream FROM vault.key AS k WHERE k.owner = p_actor
  ) AS o
  WHERE log.type_of(o.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(o.stream)]))
$$;

CREATE OR REPLACE FUNCTION limits.sessions_of(p_owner text) RETURNS SETOF log.stream
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.* FROM log.stream AS s WHERE s.stream IN (
    SELECT o.stream FROM log.record AS e JOIN log.stream AS o ON o.number = e.number
    WHERE e.version = 1 AND coalesce('agent-' || e.actor::text, e.metadata ->> 'actor') COLLATE "C" = p_owner
    UNION ALL
    SELECT k.stream FROM vault.key AS k WHERE k.owner = p_owner
  )
$$;

CREATE OR REPLACE FUNCTION log.session(p_stream text) RETURNS TABLE (
  owner text, version integer, hash bytea, created_at timestamptz, updated_at timestamptz,
  erased_at timestamptz, erased_by text, erased_linked text
) ROWS 1
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  RETURN QUERY
  SELECT coalesce(k.owner, 'agent-' || e.actor::text, e.metadata ->> 'actor', ''), s.version, coalesce(a.hash, s.hash), s.created_at, s.updated_at,
    s.erased_at, s.erased_by, s.erased_linked
  FROM log.stream AS s
  LEFT JOIN vault.key AS k ON k.stream = s.stream
  LEFT JOIN log.record AS e ON e.number = s.number AND e.version = 1
  LEFT JOIN log.archived AS a ON a.stream = s.stream
  WHERE s.stream = p_stream AND s.version > 0;
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
    INSERT INTO log.archived (stream, version, hash, positions, file, sha256)
    SELECT p_stream, p_version, p_hash, range_agg(int8range(e.position, e.position, '[]')), '', nothing
    FROM log.record AS e WHERE e.number = present.number;
    DELETE FROM log.record AS e WHERE e.number = present.number;
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

REVOKE ALL ON log.record, log.event, log.listed FROM PUBLIC;
REVOKE ALL ON SEQUENCE log.stream_number FROM PUBLIC;
ALTER TABLE log.record ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON log.record FOR SELECT TO playmolt_engine
  USING (number & 15 = ANY (coalesce((SELECT log.own_codes()), ARRAY[number & 15])));
CREATE POLICY everything ON log.record FOR SELECT TO playmolt_relay, playmolt_reader USING (true);
GRANT SELECT ON log.record, log.event, log.listed TO playmolt_engine, playmolt_relay, playmolt_reader;
REVOKE ALL ON FUNCTION
  log.kind_of, log.new_number, log.shard_of, log.code_of, log.open_part, log.own_codes, log.prune, log.drop_parts,
  log.append(
    text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
    text, text, json, json, text, text, text, text, text, text, text, text, text, json
  )
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.append(
  text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, json, json, text,
  text, text, json, json, text, text, text, text, text, text, text, text, text, json
) TO playmolt_engine;
GRANT EXECUTE ON FUNCTION log.own_codes, log.code_of TO playmolt_engine;
