-- The schema of 0.1.0. From the first release on this file never changes: every later change is a new migration.
--
--   log         the streams of games, their events and the outcomes of commands; the register of archived streams
--   projection  tables that are computed from the log and can be computed again
--   account     agents, their owners and the keys of both
--   limits      rates, model calls, budgets
--   lease       effects that a worker is executing
--   blob        long texts beside the log
--   vault       the keys of sessions, wrapped
--   pack        uploaded cases, their owners, and the sessions that play them
--
-- `migrate` first creates the group roles, of which the logins of services are members. The login of an engine is a
-- member of playmolt_engine and of the role of each of its game types. playmolt_owner owns everything and cannot log in.
-- If a role may change a table only in a certain way, it has no right on the table but may execute a function with the
-- owner's rights.

CREATE SCHEMA log AUTHORIZATION playmolt_owner;
CREATE SCHEMA projection AUTHORIZATION playmolt_owner;
CREATE SCHEMA account AUTHORIZATION playmolt_owner;
CREATE SCHEMA limits AUTHORIZATION playmolt_owner;
CREATE SCHEMA lease AUTHORIZATION playmolt_owner;
CREATE SCHEMA blob AUTHORIZATION playmolt_owner;
CREATE SCHEMA vault AUTHORIZATION playmolt_owner;
CREATE SCHEMA pack AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;
-- A function can be executed only by roles to which it is granted.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- Log -------------------------------------------------------------------------------------------------------------------

-- The position counter of each shard; the rows are created with the log (see "Shards"). A transaction locks the row last
-- and holds it until the commit, so that positions have no gaps and follow the order of commits.
CREATE TABLE log.head (
  position bigint   NOT NULL DEFAULT 0 CHECK (position >= 0),
  shard    smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 63)
) WITH (fillfactor = 10);

-- A stream's number, which its records contain instead of its name: its kind in the bits from 48 up, its type in the
-- lowest four bits, and a count between them.
CREATE SEQUENCE log.stream_number;

-- Each kind has its own tables: 0 permanent streams (lobbies, erasures, owners of agents, moderation), 1 games and runs,
-- 2 sessions and experiments, 3 results of archived games.
CREATE FUNCTION log.kind_of(p_stream text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN split_part(p_stream, '-', 1) IN ('lobby', 'erasure', 'ownership', 'moderation') THEN 0
  WHEN split_part(p_stream, '-', 1) IN ('legal', 'jury', 'agora', 'experiment', 'tournament', 'panel') THEN 2
  ELSE 1
END;
CREATE FUNCTION log.new_number(p_kind bigint, p_code bigint) RETURNS bigint LANGUAGE sql
RETURN (p_kind << 48) + (nextval('log.stream_number') << 4) + p_code;

CREATE FUNCTION log.code_of(p_type text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_type
  WHEN 'ox' THEN 1 WHEN 'trial' THEN 2 WHEN 'legal' THEN 3 WHEN 'jury' THEN 4 WHEN 'agora' THEN 5 WHEN 'experiment' THEN 6
  WHEN 'tournament' THEN 7 WHEN 'panel' THEN 8
  ELSE 0
END;

-- The shard of a stream, from the SHA-256 of its name.
CREATE FUNCTION log.shard_of(p_stream text) RETURNS smallint LANGUAGE sql STABLE
RETURN (
  ('x' || left(encode(sha256(convert_to(p_stream, 'UTF8')), 'hex'), 8))::bit(32)::bigint
  % (SELECT count(*) FROM log.head)
)::smallint;

-- The row of each stream in lists of games, when it is due, and the version and hash at which the row was written. For
-- finished games, sessions and archived streams these are the last ones; a running game continues without an update if
-- its row would not change. Pages are left half empty, so that most updates stay on the page and change no index.
CREATE TABLE log.stream (
  stream     text COLLATE "C" NOT NULL,
  game       text COLLATE "C" NOT NULL,  -- the type, from the name
  version    integer          NOT NULL CHECK (version >= 0),
  hash       bytea            NOT NULL CHECK (octet_length(hash) = 32),
  phase      text,
  round      integer,
  seated     integer,
  needed     integer,
  over       boolean,
  due        timestamptz,
  created_at timestamptz      NOT NULL,
  updated_at timestamptz      NOT NULL,
  -- An archived stream keeps its version and gets a hash of zeros, which no record can follow; so append refuses it.
  archived   boolean          NOT NULL DEFAULT false,
  -- These values follow from the first event. `invite`: the hex SHA-256 of the invitation to a private game.
  language   text             NOT NULL DEFAULT 'ko',
  pace       text             NOT NULL DEFAULT 'quick',
  invite     text COLLATE "C",
  tournament text COLLATE "C",
  tournament_round integer,
  -- For an erased session: when and by whom it was erased, and which session was opened from it. Its hash is zeros, too.
  erased_at  timestamptz,
  erased_by  text,
  erased_linked text,
  shard      smallint         NOT NULL,
  number     bigint           NOT NULL,
  PRIMARY KEY (stream, shard),
  UNIQUE (number, shard),
  CHECK ((phase IS NULL) = (over IS NULL))
) WITH (fillfactor = 45);
-- The stream is left out: equal times are rare, and each new time writes an entry.
CREATE INDEX stream_due ON log.stream (game, due) WHERE due IS NOT NULL;
CREATE INDEX stream_newest ON log.stream (game, created_at DESC, stream DESC);
CREATE UNIQUE INDEX stream_invite ON log.stream (invite, shard) WHERE invite IS NOT NULL;
CREATE INDEX stream_tournament ON log.stream (tournament, created_at DESC, stream DESC) WHERE tournament IS NOT NULL;
CREATE INDEX stream_running ON log.stream (game, created_at DESC, stream DESC) WHERE NOT over;
-- Finished games by their last phase, so that a query for another phase reads none of them.
CREATE INDEX stream_over ON log.stream (game, phase COLLATE "C", created_at DESC, stream DESC) WHERE over;

-- Sets the columns that follow from the name when the stream is created. Generated columns would be computed again by
-- every update.
CREATE FUNCTION log.name_game() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.game := split_part(NEW.stream, '-', 1);
  NEW.shard := log.shard_of(NEW.stream);
  NEW.number := log.new_number(log.kind_of(NEW.stream), log.code_of(log.type_of(NEW.stream)));
  RETURN NEW;
END $$;
CREATE TRIGGER name_game BEFORE INSERT ON log.stream FOR EACH ROW EXECUTE FUNCTION log.name_game();

-- The types of events. Records contain their numbers, because a name would take a tenth of a record. Indexes and
-- functions use the numbers of the first five; `log.enter_types` must enter all others before `log.append`.
CREATE TABLE log.event_type (
  code smallint         PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(name) BETWEEN 1 AND 100)
);
INSERT INTO log.event_type (code, name)
VALUES (1, 'game_end'), (2, 'game_created'), (3, 'agent_joined'), (4, 'agent_left'), (5, 'session_erased');

-- Enters those of these types that are missing.
CREATE FUNCTION log.enter_types(p_names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF EXISTS (SELECT FROM unnest(p_names) AS n WHERE n NOT IN (SELECT t.name FROM log.event_type AS t)) THEN
    LOCK TABLE log.event_type IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO log.event_type (code, name)
    SELECT (SELECT max(t.code) FROM log.event_type AS t) + row_number() OVER (ORDER BY n.name), n.name
    FROM (SELECT DISTINCT unnest(p_names) AS name) AS n WHERE n.name NOT IN (SELECT t.name FROM log.event_type AS t);
  END IF;
END $$;

-- The records, without values that follow from other columns. The view `log.event` adds those.
--
--   prev_hash  null if it is the hash of the previous record (zeros for the first). Set in the results of archived games.
--   metadata   null if it is {"actor", "causation", "command_id" and "correlation": the command, "request", "trace"}, with
--              "" for null values and without a null request; "HEX" if it also has this "state_hash"; otherwise as hashed
--   decides    whether the answer to the command follows from its records, so that it has no outcome
--
-- Columns of 8 bytes come first, so that no padding is needed.
CREATE TABLE log.record (
  position       bigint      NOT NULL CHECK (position > 0),
  number         bigint      NOT NULL,
  at             timestamptz NOT NULL,
  version        integer     NOT NULL CHECK (version > 0),
  shard          smallint    NOT NULL,
  schema_version smallint    NOT NULL CHECK (schema_version > 0),
  type           smallint    NOT NULL,  -- its number in log.event_type
  command        uuid,
  actor          uuid,
  closes         boolean     NOT NULL,
  decides        boolean     NOT NULL,
  hash           bytea       NOT NULL CHECK (octet_length(hash) = 32),
  salt           bytea       NOT NULL CHECK (octet_length(salt) = 16),
  data           json        NOT NULL,  -- json, not jsonb: the exact bytes that were hashed
  request        bytea       CHECK (octet_length(request) = 16),
  trace          text,
  metadata       json,
  prev_hash      bytea       CHECK (octet_length(prev_hash) = 32),
  PRIMARY KEY (number, version, shard),
  CHECK (octet_length(data::text) + coalesce(octet_length(metadata::text), 0) <= 524288),
  CHECK (metadata IS NOT NULL OR command IS NOT NULL)
) PARTITION BY LIST (shard);
ALTER TABLE log.record
  ALTER COLUMN data SET STORAGE MAIN, ALTER COLUMN metadata SET STORAGE MAIN;
-- The results of games, for leaderboards.
CREATE INDEX record_results ON log.record (position) WHERE type = 1;
-- Seats in a stream, for the list of an agent's games.
CREATE INDEX record_joined ON log.record (hashtext(data ->> 'agent_id'), number) WHERE type = 3;
-- The opener of a stream, for the list of a person's sessions.
CREATE INDEX record_opened_by ON log.record (coalesce('agent-' || actor::text, metadata ->> 'actor') COLLATE "C", number)
  WHERE version = 1;

-- Creates the table for a shard's records of a stream with this number, if it is missing. There is one for each 65,536
-- streams of a kind. It is created separately and then attached, so that this waits for no reader or writer.
CREATE FUNCTION log.open_part(p_shard smallint, p_number bigint) RETURNS void LANGUAGE plpgsql AS $$
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

-- The answer to a command, in case it is repeated, unless the answer follows from the command's records. Here and in
-- `account.join_key`, ids and fingerprints are bytes, which take half as much space as hex digits.
CREATE TABLE log.outcome (
  stream      text COLLATE "C" NOT NULL,
  command_id  uuid             NOT NULL,
  fingerprint bytea            NOT NULL,
  body        bytea            NOT NULL,
  shard       smallint         NOT NULL,
  PRIMARY KEY (stream, command_id, shard)
);

-- Streams whose records were archived, and the file of each. `positions` are those of the archived records: together with
-- them, the positions of the shard have no gap.
CREATE TABLE log.archived (
  stream      text COLLATE "C" NOT NULL,
  version     integer          NOT NULL CHECK (version > 0),
  hash        bytea            NOT NULL CHECK (octet_length(hash) = 32),
  positions   int8multirange   NOT NULL,
  file        text             NOT NULL,
  sha256      bytea            NOT NULL CHECK (octet_length(sha256) = 32),
  archived_at timestamptz      NOT NULL DEFAULT now(),
  shard       smallint         NOT NULL,
  PRIMARY KEY (stream, shard)
);
CREATE INDEX archived_positions ON log.archived USING gist (positions);
CREATE INDEX archived_end ON log.archived (shard, upper(positions)) WHERE NOT isempty(positions);

-- Even the owner cannot change stored rows. It may delete only the records of archived streams, and the outcomes of
-- archived streams and erased sessions.
CREATE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.outcome  FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.archived FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.event_type FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.record   FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.outcome  FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.archived FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.event_type FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();

-- The type of a stream; for a lobby, the type of the games it fills.
CREATE FUNCTION log.type_of(p_stream text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE split_part(p_stream, '-', 1) WHEN 'lobby' THEN split_part(p_stream, '-', 2) ELSE split_part(p_stream, '-', 1) END;

-- The types of streams that this session's login may read and append to; null means all, for members of playmolt_owner.
-- It checks the login, not the current role, so that SET ROLE gives no further rights.
CREATE FUNCTION log.own_types() RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN NOT pg_has_role(session_user, 'playmolt_owner', 'MEMBER') THEN ARRAY(
    SELECT substr(r.rolname, length('playmolt_game_') + 1) FROM pg_roles AS r
    WHERE starts_with(r.rolname, 'playmolt_game_') AND pg_has_role(session_user, r.oid, 'MEMBER')
  ) END
$$;

-- Whether this session's login may append to a stream; faster than a check with `log.own_types`.
CREATE FUNCTION log.writes(p_stream text) RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(pg_has_role(session_user, to_regrole('playmolt_game_' || log.type_of(p_stream)), 'MEMBER'), false);

CREATE FUNCTION log.check_login(p_streams text[]) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT pg_has_role(session_user, 'playmolt_owner', 'MEMBER')
    AND EXISTS (SELECT FROM unnest(p_streams) AS s (stream) WHERE NOT log.writes(s.stream))
  THEN
    RAISE EXCEPTION '% may not append to these streams', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- The same types, as the lowest bits of the streams' numbers.
CREATE FUNCTION log.own_codes() RETURNS bigint[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg(log.code_of(t.name)) FROM unnest(log.own_types()) AS t (name) HAVING log.own_types() IS NOT NULL
$$;

-- The records as they were hashed. Columns that a query does not select cost nothing.
CREATE VIEW log.event WITH (security_invoker = true) AS
  SELECT
    s.stream, r.version, r.position, (SELECT t.name FROM log.event_type AS t WHERE t.code = r.type) AS type,
    r.schema_version, r.data,
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
    r.closes, CASE WHEN r.decides THEN r.command END AS command, r.shard, r.type AS type_code
  FROM log.record AS r JOIN log.stream AS s ON s.number = r.number AND s.shard = r.shard;

-- Streams for lists, with the current version and hash of each, from its records.
CREATE VIEW log.listed WITH (security_invoker = true) AS
  SELECT s.stream, s.game, s.phase, s.round, s.seated, s.needed, s.over, s.created_at, s.language, s.pace, s.invite,
    s.tournament, s.tournament_round,
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

-- The arguments of `log.append`, which itself sets positions, versions and previous hashes, so that none can be wrong.
--
--   new_record   a record; `metadata` as in `log.record`
--   new_part     the records that extend a stream, which ends at `expected` with the hash `followed` (zeros at 0). `unit`
--                is the number of the unit of this part. If it has no records, only the end of the stream is checked
--   new_row      the new values of the row of a stream that is extended in the same call; required for a new stream
--   new_outcome  an answer to a command
CREATE TYPE log.new_record AS (
  type text, schema_version smallint, data text, at timestamptz, salt bytea, hash bytea, closes boolean, decides boolean,
  command uuid, actor uuid, request bytea, trace text, metadata text
);
CREATE TYPE log.new_part AS (unit integer, stream text, expected integer, followed bytea, records log.new_record[]);
CREATE TYPE log.new_row AS (
  unit integer, stream text, expected integer, version integer, hash bytea, at timestamptz,
  phase text, round integer, seated integer, needed integer, over boolean, due timestamptz
);
CREATE TYPE log.new_outcome AS (stream text, command_id text, fingerprint text, body bytea);

-- The units with a part that does not follow the end of its stream. The login sees only streams of its own types.
CREATE FUNCTION log.conflicts(p_parts log.new_part[]) RETURNS integer[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(DISTINCT p.unit), '{}') FROM unnest(p_parts) AS p LEFT JOIN log.stream AS s ON s.stream = p.stream
  WHERE s.archived OR s.erased_at IS NOT NULL
    OR p.expected = 0 AND p.followed <> decode(repeat('00', 32), 'hex')
    OR CASE WHEN p.expected > 0 THEN p.followed END IS DISTINCT FROM (
      SELECT e.hash FROM log.record AS e WHERE e.number = s.number AND e.version = p.expected AND e.shard = s.shard
    )
    OR EXISTS (SELECT FROM log.record AS n WHERE n.number = s.number AND n.version = p.expected + 1 AND n.shard = s.shard)
$$;

-- Appends all units or none. Returns the numbers of the units in conflict, in which case nothing was stored; otherwise,
-- for each of `p_shards`, the position before its first new record. `p_shards` are the shards of the streams with
-- records, in ascending order; `p_amounts` are the numbers of their records. Positions follow the order of the parts. No
-- stream may occur twice. An outcome that exists raises unique_violation.
--
-- If two appends to one stream both find its end as expected, one waits for the counter, and then the key (stream,
-- version) rejects it. A conflict is a result, not an error, because Postgres would log an error.
--
-- It locks only the rows that change and, last, the counter of positions.
--
-- Why the settings: a generic plan made while the tables are empty would scan them for ever, and a hash join would lock
-- streams in another order than by name, so that two batches could deadlock. The LIMITs remove no rows. They let Postgres
-- expect few rows, so that it looks up the streams instead of reading them all.
CREATE FUNCTION log.append(
  p_parts log.new_part[], p_checked log.new_part[], p_rows log.new_row[], p_outcomes log.new_outcome[],
  p_shards smallint[], p_amounts integer[], OUT refused integer[], OUT bases bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  every  CONSTANT boolean := pg_has_role(session_user, 'playmolt_owner', 'MEMBER');
  base   bigint;
  before bigint[];  -- for each part, the number of new records of the same shard that precede its own
  total  bigint := cardinality(p_parts);  -- every part has at least one record
  stored bigint;
  placed bigint := 0;
  broken text;
BEGIN
  bases := '{}';
  -- A login may write only streams of its own types, including outcomes. Parts with records are checked when stored,
  -- below.
  IF cardinality(p_checked) + cardinality(p_rows) + cardinality(p_outcomes) > 0 THEN
    PERFORM log.check_login(ARRAY(
      SELECT p.stream FROM unnest(p_checked) AS p
      UNION ALL SELECT p.stream FROM unnest(p_rows) AS p UNION ALL SELECT p.stream FROM unnest(p_outcomes) AS p
    ));
  END IF;

  IF cardinality(p_checked) > 0 THEN
    refused := log.conflicts(p_checked);
    IF refused <> '{}' THEN
      RETURN;
    END IF;
  END IF;

  BEGIN
    IF cardinality(p_rows) > 0 THEN
      -- Insert a row to lock, so that if two callers create the same stream, one waits for the other.
      INSERT INTO log.stream (
        stream, version, hash, created_at, updated_at, language, pace, invite, tournament, tournament_round
      )
      SELECT p.stream, 0, decode(repeat('00', 32), 'hex'), f.at, f.at, coalesce(f.config ->> 'language', 'ko'),
        coalesce(f.config ->> 'pace', 'quick'), f.config ->> 'invite_sha256', f.config #>> '{tournament,id}',
        (f.config #>> '{tournament,round}')::integer
      FROM unnest(p_rows) AS p
      CROSS JOIN LATERAL (
        SELECT r.at, CASE WHEN r.type = 'game_created' THEN r.data::json -> 'config' END AS config
        FROM unnest(p_parts) AS q, unnest(q.records) AS r WHERE q.stream = p.stream LIMIT 1
      ) AS f
      WHERE p.expected = 0 ORDER BY p.stream
      ON CONFLICT (stream, shard) DO NOTHING;
      PERFORM log.open_part(s.shard, s.number) FROM unnest(p_rows) AS p JOIN log.stream AS s ON s.stream = p.stream
      WHERE p.expected = 0;

      UPDATE log.stream AS s
      SET version = p.version, hash = p.hash, updated_at = p.at, phase = p.phase, round = p.round, seated = p.seated,
          needed = p.needed, over = p.over, due = p.due
      FROM (SELECT * FROM unnest(p_rows) AS a ORDER BY a.stream LIMIT cardinality(p_rows)) AS p
      WHERE s.stream = p.stream AND s.version <= p.expected AND NOT s.archived AND s.erased_at IS NULL;
      GET DIAGNOSTICS stored = ROW_COUNT;
      IF stored < cardinality(p_rows) THEN
        -- A stream was meanwhile erased, archived or created by another caller, or has unreported faults.
        SELECT array_agg(DISTINCT p.unit) INTO refused FROM unnest(p_rows) AS p LEFT JOIN log.stream AS s ON s.stream = p.stream
        WHERE s.hash IS DISTINCT FROM p.hash;
        RAISE SQLSTATE 'PM409';
      END IF;
    END IF;

    IF cardinality(p_outcomes) > 0 THEN
      INSERT INTO log.outcome (stream, command_id, fingerprint, body, shard)
      SELECT a.stream, a.command_id::uuid, decode(a.fingerprint, 'hex'), a.body, log.shard_of(a.stream)
      FROM unnest(p_outcomes) AS a;
    END IF;

    FOR i IN 1 .. cardinality(p_shards) LOOP
      IF cardinality(p_parts) = 1 THEN  -- most appends have one part, and the window function would cost them 10 %
        before := '{0}';
        total := cardinality((p_parts[1]).records);
      ELSE
        SELECT array_agg(a.ends - a.amount ORDER BY a.nth), sum(a.amount) INTO before, total FROM (
          SELECT p.nth, cardinality(p.records) AS amount, sum(
            CASE WHEN cardinality(p_shards) = 1 OR log.shard_of(p.stream) = p_shards[i] THEN cardinality(p.records) ELSE 0 END
          ) OVER (ORDER BY p.nth) AS ends
          FROM unnest(p_parts) WITH ORDINALITY AS p (unit, stream, expected, followed, records, nth)
        ) AS a;
      END IF;
      UPDATE log.head AS h SET position = h.position + p_amounts[i] WHERE h.shard = p_shards[i]
      RETURNING h.position - p_amounts[i] INTO STRICT base;
      bases := bases || base;
      INSERT INTO log.record (
        position, number, at, version, shard, schema_version, command, actor, closes, decides, hash, salt, type, data,
        request, trace, metadata
      )
      SELECT
        base + before[p.nth] + r.nth, s.number, r.at, p.expected + r.nth, s.shard, r.schema_version, r.command, r.actor, r.closes,
        r.decides, r.hash, r.salt, (SELECT t.code FROM log.event_type AS t WHERE t.name = r.type), r.data::json, r.request, r.trace, r.metadata::json
      FROM unnest(p_parts) WITH ORDINALITY AS p (unit, stream, expected, followed, records, nth)
      CROSS JOIN LATERAL (
        SELECT f.number, f.shard FROM log.stream AS f
        WHERE f.stream = p.stream AND f.shard = p_shards[i] AND NOT f.archived AND f.erased_at IS NULL
          AND (every OR log.writes(p.stream))
        LIMIT 1
      ) AS s
      CROSS JOIN LATERAL unnest(p.records) WITH ORDINALITY AS r (
        type, schema_version, data, at, salt, hash, closes, decides, command, actor, request, trace, metadata, nth
      )
      WHERE CASE
        WHEN p.expected = 0 THEN p.followed = decode(repeat('00', 32), 'hex')
        ELSE EXISTS (
          SELECT FROM log.record AS e
          WHERE e.number = s.number AND e.version = p.expected AND e.shard = s.shard AND e.hash = p.followed
        )
      END;
      GET DIAGNOSTICS stored = ROW_COUNT;
      IF stored <> p_amounts[i] THEN
        PERFORM log.check_login(ARRAY(SELECT p.stream FROM unnest(p_parts) AS p));
        SELECT array_agg(DISTINCT p.unit) INTO refused
        FROM unnest(p_parts) AS p LEFT JOIN log.stream AS s ON s.stream = p.stream
        WHERE (s.archived OR s.erased_at IS NOT NULL) IS NOT FALSE
          OR p.expected = 0 AND p.followed <> decode(repeat('00', 32), 'hex')
          OR p.expected > 0 AND NOT EXISTS (
            SELECT FROM log.record AS e
            WHERE e.number = s.number AND e.version = p.expected AND e.shard = s.shard AND e.hash = p.followed
          );
        IF refused IS NULL THEN
          RAISE EXCEPTION 'a part with records names a stream that does not exist' USING ERRCODE = 'not_null_violation';
        END IF;
        RAISE SQLSTATE 'PM409';
      END IF;
      placed := placed + stored;
    END LOOP;
    IF placed < total THEN
      RAISE EXCEPTION 'records of a shard that is not in p_shards' USING ERRCODE = 'not_null_violation';
    END IF;
    refused := '{}';
  EXCEPTION
    WHEN SQLSTATE 'PM409' THEN
      RETURN;
    WHEN unique_violation THEN
      GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
      PERFORM log.check_login(ARRAY(SELECT p.stream FROM unnest(p_parts) AS p));
      refused := log.conflicts(p_parts);
      IF broken NOT LIKE 'record%pkey' OR refused = '{}' THEN
        RAISE;
      END IF;
  END;
END $$;

-- Enters finished streams in the register of archived streams and deletes their records, all or none; returns the number
-- of deleted records. `p_streams` is an array of {stream, version, hash}, as in the file `p_file`, which the caller has
-- read back. Only the owner may call it.
--
-- The records with results, which leaderboards need, move to the tables of archived games; their streams get new numbers.
CREATE FUNCTION log.prune(p_streams json, p_file text, p_sha256 bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
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
    coalesce(range_agg(int8range(e.position, e.position, '[]')) FILTER (WHERE e.type <> 1), '{}'),
    p_file, p_sha256, s.shard
  FROM log.stream AS s JOIN log.record AS e ON e.number = s.number AND e.shard = s.shard
  WHERE s.stream = ANY (names) GROUP BY s.stream, s.shard;

  SELECT array_agg(log.new_number(3, f.number & 15) ORDER BY f.nth) INTO latter
  FROM unnest(former) WITH ORDINALITY AS f (number, nth);
  PERFORM log.open_part(s.shard, a.number)
  FROM unnest(names, latter) AS a (stream, number) JOIN log.stream AS s ON s.stream = a.stream;
  INSERT INTO log.record (
    position, number, at, version, shard, schema_version, command, actor, closes, decides, hash, salt, type, data,
    request, trace, metadata, prev_hash
  )
  SELECT e.position, a.latter, e.at, e.version, e.shard, e.schema_version, e.command, e.actor, e.closes, e.decides, e.hash,
    e.salt, e.type, e.data, e.request, e.trace, e.metadata, b.hash
  FROM unnest(names, former, latter) AS a (stream, number, latter)
  JOIN log.stream AS s ON s.stream = a.stream
  JOIN log.record AS e ON e.number = a.number AND e.shard = s.shard
  JOIN log.record AS b ON b.number = e.number AND b.version = e.version - 1 AND b.shard = e.shard
  WHERE e.type = 1;
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

-- Drops the tables whose records are all archived and returns their names. This frees their disk space immediately. A
-- table that is being read is kept until the next call. Only the owner may call it.
CREATE FUNCTION log.drop_parts() RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' AS $$
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

-- The streams in which an agent has a seat. (For the streams that a person opened, see the vault.) Row security prevents
-- the use of indexes on expressions in `data` or `metadata`, whose operators might reveal other rows. This function is
-- not subject to row security.
CREATE FUNCTION log.joined_by(p_agent text) RETURNS SETOF text ROWS 20 LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT s.stream FROM log.record AS e JOIN log.stream AS s ON s.number = e.number
  WHERE e.type = 3 AND hashtext(e.data ->> 'agent_id') = hashtext(p_agent) AND e.data ->> 'agent_id' = p_agent
    AND NOT EXISTS (
      SELECT FROM log.record AS l
      WHERE l.number = e.number AND l.version > e.version AND l.type = 4 AND l.data ->> 'agent_id' = p_agent
    )
    AND log.type_of(s.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(s.stream)]))
$$;

-- An engine sees only the streams of its own types, which are looked up once per query.
ALTER TABLE log.stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE log.record ENABLE ROW LEVEL SECURITY;
ALTER TABLE log.outcome ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON log.stream FOR SELECT TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
CREATE POLICY own ON log.record FOR SELECT TO playmolt_engine
  USING (number & 15 = ANY (coalesce((SELECT log.own_codes()), ARRAY[number & 15])));
CREATE POLICY own ON log.outcome FOR SELECT TO playmolt_engine
  USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])));
CREATE POLICY everything ON log.stream FOR SELECT TO playmolt_relay, playmolt_reader USING (true);
CREATE POLICY everything ON log.record FOR SELECT TO playmolt_relay, playmolt_reader USING (true);
CREATE POLICY everything ON log.outcome FOR SELECT TO playmolt_reader USING (true);

GRANT USAGE ON SCHEMA log TO playmolt_engine, playmolt_relay, playmolt_reader;
GRANT EXECUTE ON FUNCTION log.append, log.enter_types TO playmolt_engine;
GRANT SELECT ON log.event_type, log.head, log.stream, log.record, log.event, log.listed TO playmolt_engine, playmolt_relay, playmolt_reader;
GRANT SELECT ON log.outcome TO playmolt_engine, playmolt_reader;
GRANT SELECT ON log.archived TO playmolt_relay, playmolt_reader;
GRANT EXECUTE ON FUNCTION log.type_of, log.own_types, log.own_codes, log.code_of, log.joined_by TO playmolt_engine;

-- Vault ----------------------------------------------------------------------------------------------------------------

-- One row per session. `owner` is the agent's id, which no record of a session contains. `wrapped` is the session's key,
-- wrapped (AES key wrap) by the key-encryption key `kek`, which is in a file and never in the database. It is null for an
-- erased session.
CREATE TABLE vault.key (
  stream     text COLLATE "C" PRIMARY KEY,
  owner      text COLLATE "C" NOT NULL,
  kek        text COLLATE "C" NOT NULL,
  wrapped    bytea            CHECK (octet_length(wrapped) = 40),
  created_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
  erased_at  timestamptz,
  CHECK ((wrapped IS NULL) = (erased_at IS NOT NULL))
);
CREATE INDEX key_owner ON vault.key (owner, stream);
CREATE INDEX key_created ON vault.key (created_at);
CREATE INDEX key_kek ON vault.key (kek, stream) WHERE wrapped IS NOT NULL;

-- Refuses streams that are not sessions, and sessions of types whose role the login lacks.
CREATE FUNCTION vault.check_types(p_streams text[]) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  mine  CONSTANT text[] := coalesce(log.own_types(), ARRAY['jury', 'legal']);
  other text;
BEGIN
  SELECT s.stream INTO other FROM unnest(p_streams) AS s (stream)
  WHERE (split_part(s.stream, '-', 1) = ANY (mine) AND split_part(s.stream, '-', 1) IN ('jury', 'legal')) IS NOT TRUE;
  IF FOUND THEN
    RAISE EXCEPTION '% has no key of % in the vault', session_user, other USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Stores the keys of sessions that are being opened and returns the streams whose row is new. Rows are inserted in the
-- order of their names, so that concurrent callers never deadlock.
CREATE FUNCTION vault.make(p_streams text[], p_owners text[], p_keks text[], p_wrapped bytea[]) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM vault.check_types(p_streams);
  RETURN QUERY
  INSERT INTO vault.key AS k (stream, owner, kek, wrapped)
  SELECT n.stream, n.owner, n.kek, n.wrapped
  FROM unnest(p_streams, p_owners, p_keks, p_wrapped) AS n (stream, owner, kek, wrapped) ORDER BY n.stream
  ON CONFLICT DO NOTHING
  RETURNING k.stream;
END $$;

CREATE FUNCTION vault.read(p_streams text[]) RETURNS SETOF vault.key LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
  PERFORM vault.check_types(p_streams);
  RETURN QUERY SELECT * FROM vault.key AS k WHERE k.stream = ANY (p_streams);
END $$;

-- Empties the row of a session and returns the time; null if there is no row. A repeated call returns the same time.
CREATE FUNCTION vault.erase(p_stream text) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  emptied timestamptz;
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  UPDATE vault.key AS k SET wrapped = NULL, erased_at = clock_timestamp()
  WHERE k.stream = p_stream AND k.wrapped IS NOT NULL;
  SELECT k.erased_at INTO emptied FROM vault.key AS k WHERE k.stream = p_stream;
  RETURN emptied;
END $$;

-- At most p_limit rows of the login's own types that another key wraps.
CREATE FUNCTION vault.outdated(p_kek text, p_limit integer) RETURNS SETOF vault.key
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT k.* FROM vault.key AS k
  WHERE k.wrapped IS NOT NULL AND k.kek <> p_kek
    AND log.type_of(k.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(k.stream)]))
  LIMIT p_limit
$$;

-- Rewraps a key that was read as `p_before`; false if it was rewrapped or erased meanwhile.
CREATE FUNCTION vault.rewrap(p_stream text, p_before bytea, p_kek text, p_wrapped bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  UPDATE vault.key AS k SET kek = p_kek, wrapped = p_wrapped WHERE k.stream = p_stream AND k.wrapped = p_before;
  RETURN FOUND;
END $$;

-- The number of sessions of all types that need each key-encryption key.
CREATE FUNCTION vault.needed() RETURNS TABLE (kek text, sessions bigint) LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT k.kek, count(*) FROM vault.key AS k WHERE k.wrapped IS NOT NULL GROUP BY k.kek
$$;

GRANT USAGE ON SCHEMA vault TO playmolt_vault;
GRANT EXECUTE ON FUNCTION
  vault.make, vault.read, vault.erase, vault.outdated, vault.rewrap, vault.needed
TO playmolt_vault;

-- The owner of a session is stored only here; the owner of an experiment is in its first record.
CREATE FUNCTION log.opened_by(p_actor text) RETURNS SETOF text ROWS 20 LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT o.stream FROM (
    SELECT s.stream FROM log.record AS e JOIN log.stream AS s ON s.number = e.number
    WHERE e.version = 1 AND coalesce('agent-' || e.actor::text, e.metadata ->> 'actor') COLLATE "C" = p_actor
    UNION ALL
    SELECT k.stream FROM vault.key AS k WHERE k.owner = p_actor
  ) AS o
  WHERE log.type_of(o.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(o.stream)]))
$$;

GRANT EXECUTE ON FUNCTION log.opened_by TO playmolt_engine;

-- Projections -----------------------------------------------------------------------------------------------------------

-- The position of each shard that the projections include. A relay whose `rules` differ rebuilds them.
CREATE TABLE projection.progress (
  position bigint   NOT NULL DEFAULT 0 CHECK (position >= 0),
  rules    integer  NOT NULL DEFAULT 0,
  shard    smallint PRIMARY KEY
) WITH (fillfactor = 10);

-- Points and finished games of an agent in one game type, and in all types (game_type '').
CREATE TABLE projection.score (
  agent_id  text COLLATE "C" NOT NULL,
  game_type text COLLATE "C" NOT NULL,
  points    bigint           NOT NULL,
  games     bigint           NOT NULL CHECK (games > 0),
  PRIMARY KEY (agent_id, game_type)
) WITH (fillfactor = 80);
CREATE INDEX score_ranking ON projection.score (game_type, points DESC, agent_id);

-- A seat of a finished game. `ladder`: the ratings for which it counts, which is the game type, followed by "_slow" for a
-- slow game. `rated`: the game is rated. `competes`: the game rates this seat. `mu` to `line_points`: the agent's rating
-- after this game.
CREATE TABLE projection.result (
  game_id     text COLLATE "C" NOT NULL,
  agent_id    text COLLATE "C" NOT NULL,
  ladder      text COLLATE "C" NOT NULL,
  ended_at    timestamptz      NOT NULL,
  seat        smallint         NOT NULL,
  rank        integer,
  points      bigint           NOT NULL,
  rated       boolean          NOT NULL,
  competes    boolean          NOT NULL,
  version     text COLLATE "C" NOT NULL,
  mu          double precision,
  sigma       double precision,
  line_games  integer,
  line_points bigint,
  PRIMARY KEY (game_id, seat)
);
-- The game is left out: equal times are rare, and the entries are half as long.
CREATE INDEX result_of_agent ON projection.result (agent_id, ended_at DESC);
CREATE INDEX result_order ON projection.result (ladder, ended_at) WHERE rated AND competes;
CREATE INDEX result_newest ON projection.result (ended_at DESC) WHERE seat = 0;

-- The newest finished games that have a page; archived games have none.
CREATE FUNCTION projection.finished(p_limit integer) RETURNS TABLE (game_id text, ended_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT r.game_id, r.ended_at
  FROM (
    SELECT n.game_id, n.ended_at FROM projection.result AS n WHERE n.seat = 0 ORDER BY n.ended_at DESC LIMIT p_limit
  ) AS r
  WHERE EXISTS (SELECT FROM log.stream AS s WHERE s.stream = r.game_id AND NOT s.archived)
  ORDER BY r.ended_at DESC, r.game_id
$$;

-- The rating of each agent in one version ("" for none) on one ladder. The last two columns are the place of its newest
-- game.
CREATE TABLE projection.rating (
  ladder    text COLLATE "C"  NOT NULL,
  agent_id  text COLLATE "C"  NOT NULL,
  version   text COLLATE "C"  NOT NULL,
  mu        double precision  NOT NULL,
  sigma     double precision  NOT NULL,
  games     integer           NOT NULL CHECK (games > 0),
  points    bigint            NOT NULL,
  ended_at  timestamptz       NOT NULL,
  game_id   text COLLATE "C"  NOT NULL,
  PRIMARY KEY (agent_id, ladder, version)
) WITH (fillfactor = 80);
CREATE INDEX rating_active ON projection.rating (ladder, ended_at);

-- Sigma after a rest, as `rested_sigma` of the schemas computes it, to the last bit.
CREATE FUNCTION projection.rested_sigma(p_sigma double precision, p_since timestamptz, p_until timestamptz)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(
  25::float8 / 3,
  sqrt(p_sigma * p_sigma + greatest(0::float8, extract(epoch FROM p_until - p_since)::float8 / 86400) / 12)
);

-- A rated game whose ratings take into account how often a role wins (the prosecution in trials). `content` is the
-- content version; `won` says whether that role won; `games` and `wins` are the counts of the content version up to this
-- game.
CREATE TABLE projection.role_game (
  game_id  text COLLATE "C" PRIMARY KEY,
  content  text COLLATE "C" NOT NULL,
  ended_at timestamptz      NOT NULL,
  won      boolean          NOT NULL,
  games    integer          NOT NULL DEFAULT 0,
  wins     integer          NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX role_game_order ON projection.role_game (content, ended_at);

-- The newest counts of each content version, and the place of the last game that they include.
CREATE TABLE projection.role_rate (
  game_type text COLLATE "C" NOT NULL,
  content   text COLLATE "C" NOT NULL,
  games     integer          NOT NULL CHECK (games > 0),
  wins      integer          NOT NULL CHECK (wins BETWEEN 0 AND games),
  ended_at  timestamptz      NOT NULL,
  game_id   text COLLATE "C" NOT NULL,
  PRIMARY KEY (game_type, content)
) WITH (fillfactor = 80);

-- Scores over all game types, by agent ("overall") or with all agents of a model as one player ("model"). A job computes
-- them from the results; `input` is the digest of the results that it read.
CREATE TABLE projection.score_fit (
  board       text COLLATE "C" PRIMARY KEY CHECK (board IN ('overall', 'model')),
  as_of       timestamptz      NOT NULL,
  input       bytea            NOT NULL,
  unconnected integer          NOT NULL
);
CREATE TABLE projection.fitted_score (
  board text COLLATE "C"  NOT NULL REFERENCES projection.score_fit,
  id    text COLLATE "C"  NOT NULL, -- the id of an agent, or the alias of a model
  model text COLLATE "C"  NOT NULL, -- empty for an agent
  score double precision  NOT NULL,
  low   double precision  NOT NULL,
  high  double precision  NOT NULL,
  games integer           NOT NULL CHECK (games > 0),
  types text[]            NOT NULL,
  PRIMARY KEY (board, model, id)
);

GRANT EXECUTE ON FUNCTION projection.finished TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION projection.rested_sigma TO playmolt_gateway, playmolt_relay, playmolt_reader;
GRANT USAGE ON SCHEMA projection TO playmolt_relay, playmolt_gateway, playmolt_reader;
GRANT SELECT, INSERT, UPDATE, DELETE
  ON projection.score, projection.result, projection.rating, projection.role_game, projection.role_rate
  TO playmolt_relay;
GRANT SELECT, INSERT, UPDATE, DELETE ON projection.score_fit, projection.fitted_score TO playmolt_relay;
GRANT SELECT, UPDATE ON projection.progress TO playmolt_relay;
GRANT SELECT ON ALL TABLES IN SCHEMA projection TO playmolt_gateway, playmolt_reader;

-- Accounts --------------------------------------------------------------------------------------------------------------

-- The owners of agents. All data that identifies a person is here and not in the log, so that it can be erased.
CREATE TABLE account.owner (
  id         text COLLATE "C" PRIMARY KEY,
  name       text             NOT NULL,
  folded     text COLLATE "C" NOT NULL,
  given_name text, -- the name that a decision of the operator replaced (see "Moderation"), also in `folded`
  given_folded text COLLATE "C",
  contact    text,
  created_at timestamptz      NOT NULL DEFAULT now()
);

-- `folded` is the name in the form that searches compare with the beginning of a name. `owner_id` follows from the
-- streams of ownership in the log; `address_group` is the keyed hash of the address from which the agent was registered.
CREATE TABLE account.agent (
  id         text COLLATE "C" PRIMARY KEY,
  name       text             NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now(),
  handle     text COLLATE "C" NOT NULL,
  folded     text COLLATE "C" NOT NULL,
  kind       text             NOT NULL DEFAULT 'bot' CHECK (kind IN ('bot', 'person', 'house')),
  version    text,
  version_day date, -- the UTC day of the last change of `version`, and the changes on that day
  version_changes smallint    NOT NULL DEFAULT 0,
  about      text,
  model      text,
  invite     text COLLATE "C", -- the id of the invite code with which it registered
  owner_id   text COLLATE "C" REFERENCES account.owner,
  address_group bytea CHECK (octet_length(address_group) = 16),
  given_name text, -- the name that a decision of the operator replaced (see "Moderation"), also in `handle` and `folded`
  given_handle text COLLATE "C",
  given_folded text COLLATE "C",
  CHECK (model IS NULL OR kind = 'house')
);
CREATE INDEX agent_newest ON account.agent (created_at DESC, id DESC);
CREATE UNIQUE INDEX agent_handle ON account.agent (handle);
CREATE INDEX agent_folded ON account.agent (folded);
CREATE INDEX agent_owner ON account.agent (owner_id) WHERE owner_id IS NOT NULL;

-- A handle: the slug of the name, and as many of the last characters of the id as make it unique.
CREATE FUNCTION account.name_handle() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  slug  text := regexp_replace(normalize(NEW.name, NFKD), '[^[:ascii:]]', '', 'g');
  shown integer := 6;
BEGIN
  slug := trim(BOTH '-' FROM regexp_replace(lower(slug COLLATE "C"), '[^a-z0-9]+', '-', 'g'));
  slug := coalesce(nullif(trim(BOTH '-' FROM left(slug, 24)), ''), 'agent');
  LOOP
    NEW.handle := slug || '-' || right(NEW.id, shown);
    EXIT WHEN shown >= length(NEW.id) OR NOT EXISTS (SELECT FROM account.agent AS a WHERE a.handle = NEW.handle);
    shown := shown + 2;
  END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER name_handle BEFORE INSERT ON account.agent FOR EACH ROW EXECUTE FUNCTION account.name_handle();

-- One key per agent: of two concurrent rotations the later one wins, and no other key stays valid.
CREATE TABLE account.api_key (
  agent_id   text COLLATE "C" PRIMARY KEY REFERENCES account.agent,
  hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz      NOT NULL DEFAULT now()
);

-- Keys whose cached data is outdated, kept for an hour. Gateways poll for recent ones instead of looking up every key.
CREATE TABLE account.void_key (
  hash bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  at   timestamptz NOT NULL
);
CREATE INDEX void_key_at ON account.void_key (at);

-- It uses `clock_timestamp()`, because the transaction may have begun long before.
CREATE FUNCTION account.note_void_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  void bytea;
BEGIN
  IF TG_TABLE_NAME <> 'agent' THEN
    void := OLD.hash;
  ELSE
    -- Lock the rows, to wait for a key that is being replaced instead of voiding the one before it.
    SELECT k.hash INTO void FROM account.api_key AS k WHERE k.agent_id = OLD.id FOR SHARE;
  END IF;
  DELETE FROM account.void_key AS v WHERE v.hash IN (
    SELECT o.hash FROM account.void_key AS o
    WHERE o.at < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED
  );
  INSERT INTO account.void_key AS v (hash, at) SELECT void, clock_timestamp() WHERE void IS NOT NULL
  ON CONFLICT (hash) DO UPDATE SET at = excluded.at;
  RETURN NULL;
END $$;
CREATE TRIGGER note_void_key AFTER UPDATE OR DELETE ON account.api_key
FOR EACH ROW EXECUTE FUNCTION account.note_void_key();
CREATE TRIGGER note_void_key AFTER UPDATE ON account.agent FOR EACH ROW EXECUTE FUNCTION account.note_void_key();

-- People who open legal and jury sessions. Their tokens belong to no agent and appear in no list.
CREATE TABLE account.visitor (
  id         text COLLATE "C" PRIMARY KEY,
  hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz      NOT NULL DEFAULT now(),
  invite     text COLLATE "C",
  void_at    timestamptz -- since when it is refused, because it opened no session; see `sweep_visitors`
);
CREATE INDEX visitor_created ON account.visitor (created_at);
CREATE TRIGGER note_void_key AFTER UPDATE OR DELETE ON account.visitor
FOR EACH ROW EXECUTE FUNCTION account.note_void_key();

-- One key per owner, as for agents. An owner that signed in and never requested a key has none.
CREATE TABLE account.owner_key (
  owner_id   text COLLATE "C" PRIMARY KEY REFERENCES account.owner ON DELETE CASCADE,
  hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz      NOT NULL DEFAULT now()
);
CREATE TRIGGER note_void_key AFTER UPDATE OR DELETE ON account.owner_key
FOR EACH ROW EXECUTE FUNCTION account.note_void_key();

-- Codes with which an owner replaces its key. Each works once; a used code has no row.
CREATE TABLE account.recovery_code (
  hash     bytea            PRIMARY KEY CHECK (octet_length(hash) = 32),
  owner_id text COLLATE "C" NOT NULL REFERENCES account.owner ON DELETE CASCADE
);
CREATE INDEX recovery_code_owner ON account.recovery_code (owner_id);

-- For each Idempotency-Key of a claim: the fingerprint of the body, and the claimed agent.
CREATE TABLE account.claim_key (
  owner_id    text COLLATE "C" NOT NULL REFERENCES account.owner ON DELETE CASCADE,
  command_id  uuid             NOT NULL,
  fingerprint bytea            NOT NULL,
  agent_id    text COLLATE "C",
  PRIMARY KEY (owner_id, command_id)
);

-- The accounts of an OpenID provider with which owners sign in.
CREATE TABLE account.sign_in (
  issuer   text COLLATE "C" NOT NULL,
  subject  text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C" NOT NULL REFERENCES account.owner ON DELETE CASCADE,
  at       timestamptz      NOT NULL DEFAULT now(),
  id       uuid             NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX sign_in_owner ON account.sign_in (owner_id);

-- Sign-ins in progress, each valid once: the hash of the state, the hash of the browser's cookie, the page to open
-- afterwards, and the owner to which the account will be added, if any.
CREATE TABLE account.sign_in_attempt (
  hash     bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  browser  bytea       NOT NULL CHECK (octet_length(browser) = 32),
  next     text        NOT NULL,
  owner_id text COLLATE "C" REFERENCES account.owner ON DELETE CASCADE,
  at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sign_in_attempt_at ON account.sign_in_attempt (at);
CREATE INDEX sign_in_attempt_owner ON account.sign_in_attempt (owner_id) WHERE owner_id IS NOT NULL;

-- Sessions of signed-in browsers: the hash of the cookie, and the token that calls which change something must carry.
-- They end when the account that opened them is removed.
CREATE TABLE account.browser_session (
  hash       bytea            PRIMARY KEY CHECK (octet_length(hash) = 32),
  owner_id   text COLLATE "C" NOT NULL REFERENCES account.owner ON DELETE CASCADE,
  sign_in    uuid             NOT NULL REFERENCES account.sign_in (id) ON DELETE CASCADE,
  csrf       text             NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now(),
  used_at    timestamptz      NOT NULL DEFAULT now()
);
CREATE INDEX browser_session_owner ON account.browser_session (owner_id);
CREATE INDEX browser_session_sign_in ON account.browser_session (sign_in);
CREATE INDEX browser_session_used ON account.browser_session (used_at);

-- Reports to the operator. Equal reports share one row until it is decided: `digest` is that of the reported thing and
-- the reason. The reporter is not stored.
CREATE TABLE account.report (
  id         text COLLATE "C" PRIMARY KEY,
  digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
  kind       text        NOT NULL CHECK (kind IN ('name', 'speech', 'agent', 'owner')),
  game_id    text COLLATE "C",
  version    bigint,
  agent_id   text COLLATE "C",
  owner_id   text COLLATE "C",
  reason     text        NOT NULL,
  count      integer     NOT NULL DEFAULT 1,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  decision   text CHECK (decision IN ('dismiss', 'hide', 'rename', 'ban', 'restore')),
  note       text,
  until      timestamptz,
  decided_at timestamptz,
  CHECK ((decision IS NULL) = (decided_at IS NULL))
);
CREATE UNIQUE INDEX report_open ON account.report (digest) WHERE decided_at IS NULL;
CREATE INDEX report_newest ON account.report (at DESC, id DESC);
CREATE INDEX report_decided ON account.report (decided_at) WHERE decided_at IS NOT NULL;

-- For each Idempotency-Key of a report, a decision or a ban: the fingerprint of the body, and the answer.
CREATE TABLE account.report_key (
  command_id  uuid        PRIMARY KEY,
  fingerprint bytea       NOT NULL,
  report_id   text COLLATE "C" REFERENCES account.report ON DELETE CASCADE,
  answer      bytea,
  at          timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX report_key_report ON account.report_key (report_id);
CREATE INDEX report_key_at ON account.report_key (at) WHERE report_id IS NULL;

-- Deletes the reports that were decided more than this many days ago, and answers to decisions and bans of that age.
CREATE FUNCTION account.sweep_reports(p_days integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  DELETE FROM account.report_key WHERE report_id IS NULL AND at < clock_timestamp() - make_interval(days => p_days);
  WITH gone AS (
    DELETE FROM account.report WHERE decided_at < clock_timestamp() - make_interval(days => p_days) RETURNING 1
  )
  SELECT count(*) FROM gone
$$;

-- Deletes some tokens that are more than this many days old and own no readable session; returns their number. A token is
-- first refused for an hour; if a session that it was just opening appears in that time, it is accepted again.
CREATE FUNCTION account.sweep_visitors(p_days integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  swept bigint;
BEGIN
  UPDATE account.visitor AS v SET void_at = NULL WHERE v.void_at IS NOT NULL
    AND EXISTS (SELECT FROM vault.key AS k WHERE k.owner = v.id AND k.wrapped IS NOT NULL);
  DELETE FROM account.visitor AS v WHERE v.void_at < clock_timestamp() - interval '1 hour';
  GET DIAGNOSTICS swept = ROW_COUNT;
  UPDATE account.visitor AS v SET void_at = clock_timestamp() WHERE v.id IN (
    SELECT o.id FROM account.visitor AS o
    WHERE o.void_at IS NULL AND o.created_at < clock_timestamp() - make_interval(days => p_days)
      AND NOT EXISTS (SELECT FROM vault.key AS k WHERE k.owner = o.id AND k.wrapped IS NOT NULL)
    ORDER BY o.created_at LIMIT 1000
  );
  RETURN swept;
END $$;

-- Whether two of these agents were registered from one address. House bots, agents with an invite code, and agents whose
-- owner signed in with an OpenID provider do not count.
CREATE FUNCTION account.one_address(p_agents text[]) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT EXISTS (
    SELECT FROM account.agent AS a
    WHERE a.id = ANY (p_agents) AND a.kind <> 'house' AND a.invite IS NULL AND a.address_group IS NOT NULL
      AND NOT EXISTS (SELECT FROM account.sign_in AS s WHERE s.owner_id = a.owner_id)
    GROUP BY a.address_group HAVING count(*) > 1
  )
$$;

-- Invite codes. Each admits `people` agents and visitors in total, until a time. A revoked code has no row.
CREATE TABLE account.invite (
  id         text COLLATE "C" PRIMARY KEY,
  hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  people     integer          NOT NULL CHECK (people > 0),
  used       integer          NOT NULL DEFAULT 0 CHECK (used <= people),
  until      timestamptz      NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now()
);

-- For each Idempotency-Key of a join: the fingerprint of the body. A key with another body is refused for all game types;
-- lobbies cannot check that, because each type has its own and does not know the joins of the others.
CREATE TABLE account.join_key (
  agent_id    text COLLATE "C" NOT NULL REFERENCES account.agent,
  command_id  uuid             NOT NULL,
  fingerprint bytea            NOT NULL,
  PRIMARY KEY (agent_id, command_id)
);

-- The newest hundred games in which an agent took a seat and whose end it has not received yet.
CREATE TABLE account.seat (
  agent_id text COLLATE "C" NOT NULL REFERENCES account.agent,
  game_id  text COLLATE "C" NOT NULL,
  taken_at timestamptz      NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, game_id)
);

-- House bots of the platform: the house process plays their seats in games of tournaments.
CREATE TABLE account.house_bot (
  agent_id text COLLATE "C" PRIMARY KEY REFERENCES account.agent
);

-- Whether this session's login may seat the games of tournaments.
CREATE FUNCTION account.seats_tables() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN coalesce('tournament' = ANY (log.own_types()), true);

-- Agents, as they are seated in games of tournaments.
CREATE FUNCTION account.entrants(p_agents text[])
RETURNS TABLE (id text, name text, handle text, kind text, version text, model text, owner_id text)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT a.id, a.name, a.handle, a.kind, a.version, a.model, a.owner_id
  FROM account.agent AS a WHERE a.id = ANY (p_agents) AND (SELECT account.seats_tables())
$$;

-- The house bots of a tournament by number, each created when it is first needed.
CREATE FUNCTION account.house_bots(p_tournament text, p_numbers integer[])
RETURNS TABLE (number integer, id text, name text, handle text, kind text, version text, model text, owner_id text)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  ids text[] := ARRAY(
    SELECT 'agent-' || md5(p_tournament || '/house/' || n)::uuid FROM unnest(p_numbers) WITH ORDINALITY AS w (n, place)
    ORDER BY place
  );
BEGIN
  IF NOT account.seats_tables() THEN
    RETURN;
  END IF;
  INSERT INTO account.agent (id, name, folded, kind)
  SELECT i, 'house ' || n, 'house ' || n, 'house' FROM unnest(ids, p_numbers) AS w (i, n) ORDER BY i
  ON CONFLICT (id) DO NOTHING;
  INSERT INTO account.house_bot (agent_id) SELECT i FROM unnest(ids) AS w (i) ORDER BY i ON CONFLICT DO NOTHING;
  RETURN QUERY
  SELECT w.n, a.id, a.name, a.handle, a.kind, a.version, a.model, a.owner_id
  FROM unnest(ids, p_numbers) AS w (i, n) JOIN account.agent AS a ON a.id = w.i;
END $$;

-- Whether the projections include every result from before p_ends.
CREATE FUNCTION projection.includes(p_ends timestamptz) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT (SELECT account.seats_tables()) AND NOT EXISTS (
    SELECT FROM projection.progress AS p JOIN log.record AS r ON r.shard = p.shard AND r.position > p.position
    WHERE r.type = 1 AND r.at <= p_ends
  )
$$;

-- Stores the seats of a tournament's game.
CREATE FUNCTION account.note_table(p_game text, p_agents text[]) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  INSERT INTO account.seat (agent_id, game_id)
  SELECT a.id, p_game FROM account.agent AS a WHERE a.id = ANY (p_agents) AND (SELECT account.seats_tables())
  ORDER BY a.id ON CONFLICT DO NOTHING
$$;

-- The points of agents in the rated games of a type that ended within a period.
CREATE FUNCTION projection.season(p_game text, p_begins timestamptz, p_ends timestamptz, p_most integer) RETURNS TABLE (
  id text, name text, handle text, kind text, version text, model text, owner_id text, points bigint, wins bigint, games bigint
) LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT a.id, a.name, a.handle, a.kind, a.version, a.model, a.owner_id, r.points, r.wins, r.games
  FROM (
    SELECT s.agent_id, sum(s.points)::bigint AS points, count(*) FILTER (WHERE s.rank = 1) AS wins, count(*) AS games
    FROM projection.result AS s
    WHERE s.rated AND s.ladder IN (p_game, p_game || '_slow') AND s.ended_at BETWEEN p_begins AND p_ends
    GROUP BY s.agent_id
  ) AS r JOIN account.agent AS a ON a.id = r.agent_id
  WHERE a.kind <> 'house' AND (SELECT account.seats_tables()) ORDER BY r.points DESC, r.wins DESC, a.id LIMIT p_most
$$;

-- Secrets of the installation, created by the first gateway that needs them.
CREATE TABLE account.secret (
  name  text  COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL CHECK (octet_length(value) = 32)
);

-- The address at which the platform calls an agent, and the secret that signs these calls.
CREATE TABLE account.callback (
  agent_id   text COLLATE "C" PRIMARY KEY REFERENCES account.agent,
  url        text             NOT NULL,
  secret     text             NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now()
);

-- A seat whose agent the gateway `holder` calls, until `until`. `refusals` counts the refused answers to the question
-- `turn_id`; `last_error` is the error of the last answer in this game; `calling_until` is when the current call must
-- end.
CREATE TABLE account.called_seat (
  agent_id      text COLLATE "C" NOT NULL,
  game_id       text COLLATE "C" NOT NULL,
  holder        text             NOT NULL,
  until         timestamptz      NOT NULL,
  turn_id       text             NOT NULL DEFAULT '',
  refusals      integer          NOT NULL DEFAULT 0,
  last_error    text,
  calling_until timestamptz,
  PRIMARY KEY (agent_id, game_id),
  FOREIGN KEY (agent_id, game_id) REFERENCES account.seat ON DELETE CASCADE
);
CREATE INDEX called_seat_calling ON account.called_seat (calling_until) WHERE calling_until IS NOT NULL;

-- The address at which an owner receives notices about its agents. The secret that signs the notices follows from `id`,
-- which every change replaces. `begins`: for each shard, the position after which records cause notices. `origin`: the
-- beginning of links in notices. `host`: the host and port of the address. `works`: whether the last call succeeded.
-- `due_at`: when the next notice is due.
CREATE TABLE account.webhook (
  owner_id   text COLLATE "C" PRIMARY KEY REFERENCES account.owner ON DELETE CASCADE,
  id         uuid             NOT NULL,
  url        text             NOT NULL,
  host       text COLLATE "C" NOT NULL,
  origin     text             NOT NULL,
  events     text[]           NOT NULL,
  begins     bigint[]         NOT NULL,
  created_at timestamptz      NOT NULL DEFAULT now(),
  due_at     timestamptz,
  called_at  timestamptz,
  works      boolean,
  worked_at  timestamptz,
  off        text CHECK (off IN ('gone', 'failing')),
  off_at     timestamptz
);
CREATE INDEX webhook_due ON account.webhook (due_at) WHERE off IS NULL;

-- The notices of a webhook. A waiting notice is due at `next_at`; while the gateway `holder` delivers it, `next_at` is
-- the end of the lease. `first_at` is the time of the first call, `changed_at` that of the last call or of the notice's
-- end.
CREATE TABLE account.delivery (
  id         text COLLATE "C" PRIMARY KEY,
  owner_id   text COLLATE "C" NOT NULL REFERENCES account.webhook ON DELETE CASCADE,
  number     bigint           NOT NULL GENERATED ALWAYS AS IDENTITY,
  agent_id   text COLLATE "C",
  type       text             NOT NULL,
  at         timestamptz      NOT NULL,
  data       json             NOT NULL,
  status     text             NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delivered', 'failed', 'dropped')),
  tries      integer          NOT NULL DEFAULT 0,
  next_at    timestamptz      NOT NULL,
  holder     uuid,
  first_at   timestamptz,
  changed_at timestamptz      NOT NULL
);
CREATE INDEX delivery_waiting ON account.delivery (owner_id, next_at) WHERE status = 'waiting';
CREATE INDEX delivery_changed ON account.delivery (owner_id, changed_at DESC, number DESC);
CREATE INDEX delivery_calling ON account.delivery (next_at) WHERE holder IS NOT NULL;
CREATE INDEX delivery_agent ON account.delivery (agent_id) WHERE status = 'waiting';

-- The position up to which each shard's records became notices. It does not move while no webhook is on.
CREATE TABLE account.notice_progress (
  shard    smallint PRIMARY KEY,
  position bigint   NOT NULL DEFAULT 0
);

-- Sets the webhook of an owner and turns it on; false if the owner was erased. Waiting notices become due immediately, at
-- the new address.
CREATE FUNCTION account.put_webhook(
  p_owner text, p_id uuid, p_url text, p_host text, p_origin text, p_events text[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  ends CONSTANT bigint[] := ARRAY(SELECT h.position FROM log.head AS h ORDER BY h.shard);
BEGIN
  PERFORM FROM account.owner AS o WHERE o.id = p_owner FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('account.notice_progress', 0));
  IF NOT EXISTS (SELECT FROM account.webhook AS w WHERE w.off IS NULL) THEN
    UPDATE account.notice_progress AS p SET position = ends[p.shard + 1];
  END IF;
  INSERT INTO account.webhook AS w (owner_id, id, url, host, origin, events, begins)
  VALUES (p_owner, p_id, p_url, p_host, p_origin, p_events, ends)
  ON CONFLICT (owner_id) DO UPDATE SET
    id = p_id, url = p_url, host = p_host, origin = p_origin, events = p_events, created_at = now(),
    begins = CASE WHEN w.off IS NULL THEN w.begins ELSE ends END,
    called_at = NULL, works = NULL, worked_at = NULL, off = NULL, off_at = NULL;
  UPDATE account.delivery AS n SET next_at = clock_timestamp()
  WHERE n.owner_id = p_owner AND n.status = 'waiting' AND n.holder IS NULL;
  PERFORM account.set_due(p_owner);
  RETURN true;
END $$;

-- Sets `due_at` of a webhook to the time of its next waiting notice; null if none waits.
CREATE FUNCTION account.set_due(p_owner text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE account.webhook AS w SET due_at = (
    SELECT min(n.next_at) FROM account.delivery AS n WHERE n.owner_id = p_owner AND n.status = 'waiting'
  ) WHERE w.owner_id = p_owner
$$;

-- Marks the waiting notices of a webhook, or of an agent, as dropped. A notice that is being delivered may still arrive.
-- Here as elsewhere, webhooks are locked before their notices.
CREATE FUNCTION account.drop_notices(p_owner text, p_agent text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  owners CONSTANT text[] := ARRAY(
    SELECT DISTINCT n.owner_id FROM account.delivery AS n
    WHERE n.status = 'waiting' AND (n.owner_id = p_owner OR n.agent_id = p_agent)
  );
BEGIN
  PERFORM FROM account.webhook AS w WHERE w.owner_id = ANY (owners) ORDER BY w.owner_id FOR NO KEY UPDATE;
  UPDATE account.delivery AS n SET status = 'dropped', changed_at = clock_timestamp()
  WHERE n.status = 'waiting' AND (n.owner_id = p_owner OR n.agent_id = p_agent);
  PERFORM account.set_due(o) FROM unnest(owners) AS o;
END $$;

-- Keeps the newest 100 notices of an owner that have ended.
CREATE FUNCTION account.trim_notices(p_owner text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM account.delivery AS n WHERE n.id IN (
    SELECT o.id FROM account.delivery AS o WHERE o.owner_id = p_owner AND o.status <> 'waiting'
    ORDER BY o.changed_at DESC, o.number DESC OFFSET 100
  )
$$;

-- Stores the notices of a shard's records from `p_seen` to `p_position`; returns false and stores nothing if another
-- relay has done so. A notice goes to its owner, or to the current owner of its agent. If more than p_most notices wait,
-- the oldest are dropped.
CREATE FUNCTION account.note_events(
  p_shard smallint, p_seen bigint, p_position bigint, p_notices json, p_most integer
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  owners  text[];
BEGIN
  UPDATE account.notice_progress AS p SET position = p_position WHERE p.shard = p_shard AND p.position = p_seen;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- Lock the rows, so that meanwhile no agent is released and no owner erased.
  PERFORM FROM account.agent AS a
  WHERE a.owner_id IS NOT NULL AND a.id IN (SELECT e ->> 'agent_id' FROM json_array_elements(p_notices) AS e)
  ORDER BY a.id FOR KEY SHARE;
  PERFORM FROM account.webhook AS w WHERE w.owner_id IN (
    SELECT a.owner_id FROM account.agent AS a
    WHERE a.id IN (SELECT e ->> 'agent_id' FROM json_array_elements(p_notices) AS e)
    UNION ALL
    SELECT e ->> 'owner_id' FROM json_array_elements(p_notices) AS e
  ) ORDER BY w.owner_id FOR NO KEY UPDATE;
  WITH wanted AS (
    SELECT e.id, w.owner_id, e.agent_id, e.type, e.at, e.data, e.place
    FROM json_to_recordset(p_notices)
      AS e (id text, agent_id text, owner_id text, type text, at timestamptz, data json, "position" bigint, place integer)
    LEFT JOIN account.agent AS a ON a.id = e.agent_id
    JOIN account.webhook AS w ON w.owner_id = coalesce(e.owner_id, a.owner_id)
    WHERE w.off IS NULL AND e.type = ANY (w.events) AND e.position > w.begins[p_shard + 1]
  ), made AS (
    INSERT INTO account.delivery (id, owner_id, agent_id, type, at, data, next_at, changed_at)
    SELECT w.id, w.owner_id, w.agent_id, w.type, w.at, w.data, present, present FROM wanted AS w ORDER BY w.place
    ON CONFLICT (id) DO NOTHING RETURNING owner_id
  )
  SELECT array_agg(DISTINCT m.owner_id ORDER BY m.owner_id) INTO owners FROM made AS m;
  UPDATE account.delivery AS n SET status = 'dropped', changed_at = present FROM (
    SELECT o.id, row_number() OVER (PARTITION BY o.owner_id ORDER BY o.number DESC) AS place
    FROM account.delivery AS o WHERE o.status = 'waiting' AND o.owner_id = ANY (owners)
  ) AS o
  WHERE n.id = o.id AND o.place > p_most AND n.status = 'waiting';
  UPDATE account.webhook AS w SET due_at = least(w.due_at, present) WHERE w.owner_id = ANY (owners);
  PERFORM account.trim_notices(o) FROM unnest(owners) AS o;
  RETURN true;
END $$;

-- Whether any webhook is on, and up to which position each shard's records became notices.
CREATE FUNCTION account.noted() RETURNS TABLE (shard smallint, "position" bigint)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT p.shard, p.position FROM account.notice_progress AS p
  WHERE EXISTS (SELECT FROM account.webhook AS w WHERE w.off IS NULL) ORDER BY p.shard
$$;

-- Leases due notices for delivery, one per webhook in each call. At most p_each notices of a webhook and p_most in total
-- are in progress. Addresses that hang must not delay the notices of others: so webhooks whose last call failed share a
-- quarter of p_most, new webhooks half of it, and both have at most p_host calls to one host. Webhooks that were called
-- longest ago come first. The lock makes the counts exact.
CREATE FUNCTION account.claim_notices(
  p_holder uuid, p_ahead double precision, p_lease double precision, p_each integer, p_host integer, p_most integer,
  p_room integer
) RETURNS TABLE (
  id text, tries integer, type text, at timestamptz, data json, webhook uuid, url text, origin text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  present CONSTANT timestamptz := clock_timestamp() + make_interval(secs => p_ahead);
  chosen  text[];
  owners  text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('account.delivery', 0));
  WITH calling AS MATERIALIZED (
    SELECT n.owner_id, w.host, CASE WHEN w.works THEN 0 WHEN w.works IS NULL THEN 1 ELSE 2 END AS class
    FROM account.delivery AS n JOIN account.webhook AS w USING (owner_id)
    WHERE n.holder IS NOT NULL AND n.next_at > present AND n.status = 'waiting'
  ), room (class, most) AS (
    SELECT c.class, c.most - (SELECT count(*) FROM calling AS n WHERE n.class = c.class)
    FROM (VALUES (0, p_most), (1, p_most / 2), (2, p_most / 4)) AS c (class, most)
  ), due AS (
    SELECT w.owner_id, w.called_at, CASE WHEN w.works THEN 0 WHEN w.works IS NULL THEN 1 ELSE 2 END AS class,
      coalesce(h.calls, 0)
        + row_number() OVER (PARTITION BY w.host, w.works IS TRUE ORDER BY w.called_at NULLS FIRST, w.owner_id) AS at_host
    FROM account.webhook AS w
    LEFT JOIN (SELECT owner_id, count(*) AS calls FROM calling GROUP BY owner_id) AS o USING (owner_id)
    LEFT JOIN (SELECT host, count(*) AS calls FROM calling WHERE class > 0 GROUP BY host) AS h USING (host)
    WHERE w.off IS NULL AND w.due_at <= present AND coalesce(o.calls, 0) < p_each
  ), placed AS (
    SELECT d.*, row_number() OVER (PARTITION BY d.class ORDER BY d.called_at NULLS FIRST, d.owner_id) AS place
    FROM due AS d WHERE d.class = 0 OR d.at_host <= p_host
  )
  SELECT array_agg(f.owner_id) INTO owners FROM (
    SELECT p.owner_id FROM placed AS p JOIN room AS r USING (class) WHERE p.place <= r.most
    ORDER BY p.class, p.called_at NULLS FIRST, p.owner_id
    LIMIT greatest(least(p_room, p_most - (SELECT count(*) FROM calling)), 0)
  ) AS f;
  IF owners IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(n.id) INTO chosen FROM unnest(owners) AS o CROSS JOIN LATERAL (
    SELECT d.id FROM account.delivery AS d
    WHERE d.owner_id = o AND d.status = 'waiting' AND d.next_at <= present ORDER BY d.next_at, d.number LIMIT 1
  ) AS n;
  PERFORM FROM account.webhook AS w WHERE w.owner_id = ANY (owners) ORDER BY w.owner_id FOR NO KEY UPDATE;
  UPDATE account.delivery AS n
  SET holder = p_holder, next_at = present + make_interval(secs => p_lease), tries = n.tries + 1,
    first_at = coalesce(n.first_at, present), changed_at = present
  WHERE n.id = ANY (chosen) AND n.status = 'waiting' AND n.next_at <= present;
  UPDATE account.webhook AS w SET called_at = present WHERE w.owner_id = ANY (owners);
  PERFORM account.set_due(o) FROM unnest(owners) AS o;
  RETURN QUERY
  SELECT n.id, n.tries, n.type, n.at, n.data, w.id, w.url, w.origin
  FROM account.delivery AS n JOIN account.webhook AS w USING (owner_id)
  WHERE n.id = ANY (chosen) AND n.status = 'waiting' AND n.holder = p_holder AND n.changed_at = present ORDER BY n.number;
END $$;

-- Records the result of a call: 'delivered', 'gone', or null if it failed. A failed notice is due again after p_pause,
-- until p_day seconds after its first call. A webhook that is gone, or has failed for that long, is off until it is set
-- again.
CREATE FUNCTION account.record_call(
  p_id text, p_holder uuid, p_ahead double precision, p_result text, p_pause double precision, p_day double precision
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp() + make_interval(secs => p_ahead);
  target account.webhook;
  called  account.delivery;
  ends    timestamptz;
  cause   text;
BEGIN
  SELECT * INTO target FROM account.webhook AS w
  WHERE w.owner_id = (SELECT n.owner_id FROM account.delivery AS n WHERE n.id = p_id) FOR NO KEY UPDATE;
  SELECT * INTO called FROM account.delivery AS n WHERE n.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;  -- the webhook was removed
  END IF;
  IF p_result = 'delivered' THEN
    UPDATE account.delivery AS n SET status = 'delivered', holder = NULL, changed_at = present WHERE n.id = p_id;
    UPDATE account.webhook AS w SET works = true, worked_at = present WHERE w.owner_id = called.owner_id;
  ELSIF called.holder = p_holder AND called.status = 'waiting' THEN
    ends := called.first_at + make_interval(secs => p_day);
    cause := CASE
      WHEN p_result = 'gone' THEN 'gone'
      WHEN present >= ends AND (target.worked_at >= called.first_at) IS NOT TRUE THEN 'failing'
    END;
    UPDATE account.delivery AS n SET
      status = CASE WHEN cause IS NOT NULL OR present >= ends THEN 'failed' ELSE 'waiting' END,
      next_at = least(present + make_interval(secs => p_pause), ends), holder = NULL, changed_at = present
    WHERE n.id = p_id;
    UPDATE account.webhook AS w
    SET works = false, off = cause, off_at = CASE WHEN cause IS NULL THEN NULL ELSE present END
    WHERE w.owner_id = called.owner_id;
    IF cause IS NOT NULL THEN
      PERFORM account.drop_notices(called.owner_id, NULL);
    END IF;
  END IF;
  PERFORM account.set_due(called.owner_id);
  PERFORM account.trim_notices(called.owner_id);
END $$;

-- The models of agents, for scores by model; agents without a model are left out.
CREATE FUNCTION account.models() RETURNS TABLE (agent text, model text) LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT a.id, a.model FROM account.agent AS a WHERE a.model IS NOT NULL
$$;

-- Takes a slot for a call for `p_seconds`; false if no slot is free for this agent or in total. The lock makes the counts
-- exact; otherwise two callers could take the last slot.
CREATE FUNCTION account.begin_call(
  p_agent text, p_game text, p_holder text, p_seconds double precision, p_each integer, p_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('account.called_seat', 0));
  IF (
    SELECT count(*) >= p_most OR count(*) FILTER (WHERE c.agent_id = p_agent) >= p_each
    FROM account.called_seat AS c
    WHERE c.calling_until > clock_timestamp() AND (c.agent_id, c.game_id) <> (p_agent, p_game)
  ) THEN
    RETURN false;
  END IF;
  UPDATE account.called_seat AS c SET calling_until = clock_timestamp() + make_interval(secs => p_seconds)
  WHERE c.agent_id = p_agent AND c.game_id = p_game AND c.holder = p_holder AND c.until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Sessions and experiments that their owners share. A stream has at most one address. `sections` names the shared parts;
-- null means all.
CREATE TABLE account.share (
  stream    text COLLATE "C" PRIMARY KEY,
  token     text COLLATE "C" NOT NULL UNIQUE CHECK (length(token) >= 22),
  owner     text COLLATE "C" NOT NULL,
  sections  text[],
  shared_at timestamptz      NOT NULL DEFAULT now()
);

-- For each Idempotency-Key of a share: the fingerprint of the body, so that a repetition cannot share other sections.
CREATE TABLE account.share_key (
  stream      text COLLATE "C" NOT NULL,
  command_id  text COLLATE "C" NOT NULL,
  fingerprint text             NOT NULL,
  PRIMARY KEY (stream, command_id)
);

-- An address for one file of a caller, valid for minutes, which a browser can open without the caller's key. It contains
-- a token, which is stored as a hash.
CREATE TABLE account.file_link (
  token_hash bytea            PRIMARY KEY,
  caller     text COLLATE "C" NOT NULL,
  path       text             NOT NULL,
  until      timestamptz      NOT NULL
);
CREATE INDEX file_link_until ON account.file_link (until);

GRANT USAGE ON SCHEMA account TO playmolt_gateway, playmolt_engine, playmolt_relay, playmolt_reader;
GRANT USAGE ON SCHEMA projection TO playmolt_engine;
GRANT EXECUTE ON FUNCTION account.put_webhook, account.drop_notices, account.trim_notices, account.claim_notices,
  account.set_due, account.record_call, account.begin_call TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION account.note_events, account.noted, account.sweep_reports, account.sweep_visitors
  TO playmolt_relay;
GRANT EXECUTE ON FUNCTION account.models TO playmolt_relay, playmolt_reader;
GRANT EXECUTE ON FUNCTION account.entrants, account.house_bots, account.note_table, account.one_address,
  projection.includes, projection.season TO playmolt_engine;
GRANT SELECT ON account.void_key TO playmolt_gateway;
GRANT SELECT, INSERT ON account.agent, account.api_key, account.join_key, account.house_bot, account.secret,
  account.share_key TO playmolt_gateway;
GRANT SELECT, INSERT, UPDATE ON account.report, account.report_key, account.claim_key TO playmolt_gateway;
GRANT SELECT, INSERT, DELETE ON account.owner, account.owner_key, account.recovery_code, account.visitor, account.invite,
  account.seat, account.file_link TO playmolt_gateway;
GRANT SELECT, UPDATE, DELETE ON account.webhook, account.delivery TO playmolt_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON account.sign_in, account.browser_session, account.sign_in_attempt,
  account.callback, account.called_seat, account.share TO playmolt_gateway;
GRANT UPDATE (hash, created_at) ON account.api_key, account.owner_key TO playmolt_gateway;
GRANT UPDATE (version, version_day, version_changes, about) ON account.agent TO playmolt_gateway;
GRANT UPDATE (name, folded, contact) ON account.owner TO playmolt_gateway;
GRANT UPDATE (used) ON account.invite TO playmolt_gateway;

-- Limits: rates ---------------------------------------------------------------------------------------------------------

-- Token buckets. A bucket is stored as the time at which it is full again, from which its level follows. The table is
-- unlogged: a crash of the server fills all buckets, which costs less than a flush for every request.
CREATE UNLOGGED TABLE limits.bucket (
  key     text COLLATE "C" PRIMARY KEY,
  full_at timestamptz      NOT NULL
) WITH (fillfactor = 70);

-- Takes `cost` tokens from a bucket that holds `capacity` and fills within `seconds`. Returns 0 if they were available,
-- otherwise the seconds until they will be.
CREATE FUNCTION limits.take(p_key text, p_capacity double precision, p_seconds double precision, p_cost double precision)
RETURNS double precision LANGUAGE plpgsql SECURITY DEFINER SET enable_seqscan = off AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  price   interval;
  depth   interval;
  filled  timestamptz;
BEGIN
  IF NOT (p_capacity > 0 AND p_seconds > 0 AND p_cost > 0 AND p_cost <= p_capacity) THEN
    RAISE EXCEPTION 'cost % of capacity % in % s can never be taken', p_cost, p_capacity, p_seconds
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  price := make_interval(secs => p_seconds * p_cost / p_capacity);
  depth := make_interval(secs => p_seconds);
  INSERT INTO limits.bucket AS b (key, full_at) VALUES (p_key, present + price)
  ON CONFLICT (key) DO UPDATE SET full_at = greatest(b.full_at, present) + price
    WHERE greatest(b.full_at, present) + price <= present + depth;
  IF FOUND THEN
    RETURN 0;
  END IF;
  SELECT b.full_at INTO filled FROM limits.bucket AS b WHERE b.key = p_key;
  -- If the bucket was swept meanwhile, it is full, and the caller may retry immediately.
  RETURN greatest(0.001, extract(epoch FROM coalesce(filled, present) + price - present - depth));
END $$;

-- The seconds until a bucket has a token. It takes none.
CREATE FUNCTION limits.wait(p_key text, p_capacity double precision, p_seconds double precision)
RETURNS double precision LANGUAGE sql SECURITY DEFINER AS $$
  SELECT greatest(0, coalesce(max(extract(epoch FROM b.full_at - clock_timestamp())), 0) + p_seconds / p_capacity - p_seconds)
  FROM limits.bucket AS b WHERE b.key = p_key
$$;

-- Limits: guesses ------------------------------------------------------------------------------------------------------

-- Tries to guess a secret of a caller. The table is unlogged, as that of buckets.
CREATE UNLOGGED TABLE limits.guess (
  key   text COLLATE "C" PRIMARY KEY,
  tries integer          NOT NULL,
  since timestamptz      NOT NULL -- the time of the first of these tries, or of the lock
);

-- Counts a try and returns 0. After p_most tries within p_seconds it locks the secret and returns the seconds until the
-- lock ends. A lock lasts p_seconds, and for p_seconds after it all tries are admitted, so that guessing cannot
-- permanently lock out the person who knows the secret.
CREATE FUNCTION limits.guess(p_key text, p_most integer, p_seconds double precision) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  span    CONSTANT interval := make_interval(secs => p_seconds);
  found   limits.guess;
BEGIN
  DELETE FROM limits.guess AS g WHERE g.key IN (
    SELECT o.key FROM limits.guess AS o WHERE o.since < present - 2 * span LIMIT 10 FOR UPDATE SKIP LOCKED
  );
  INSERT INTO limits.guess AS g (key, tries, since) VALUES (p_key, 0, present)
  ON CONFLICT (key) DO UPDATE SET since = g.since RETURNING g.* INTO found;
  IF found.tries >= p_most AND found.since + span > present THEN
    RETURN extract(epoch FROM found.since + span - present);
  END IF;
  IF found.tries < p_most THEN
    IF found.since + span <= present THEN
      found.tries := 0;
      found.since := present;
    END IF;
    found.tries := found.tries + 1;
    UPDATE limits.guess AS g
    SET tries = found.tries, since = CASE WHEN found.tries >= p_most THEN present ELSE found.since END
    WHERE g.key = p_key;
  END IF;
  RETURN 0;
END $$;
CREATE INDEX guess_since ON limits.guess (since);

-- Deletes the counted tries, after the right secret was given.
CREATE FUNCTION limits.forgive(p_key text) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  DELETE FROM limits.guess AS g WHERE g.key = p_key
$$;

-- Limits: sessions -----------------------------------------------------------------------------------------------------

-- Reserved places for sessions that are being opened, until the session is in the log or its call is refused. The table
-- is unlogged: a crash of the server opens no sessions.
CREATE UNLOGGED TABLE limits.opening (
  session text COLLATE "C" PRIMARY KEY,
  owner   text COLLATE "C" NOT NULL,
  game    text COLLATE "C" NOT NULL,
  at      timestamptz      NOT NULL
);
CREATE INDEX opening_owner ON limits.opening (owner, game);

-- All sessions that an owner has.
CREATE FUNCTION limits.sessions_of(p_owner text) RETURNS SETOF log.stream
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.* FROM log.stream AS s WHERE s.stream IN (SELECT k.stream FROM vault.key AS k WHERE k.owner = p_owner)
$$;

-- Reserves a place for a session and returns '', or returns the limit that is reached. An owner may have p_most
-- unfinished sessions of a type with activity within p_days ('running'), and may open p_day_most sessions of all types in
-- a UTC day ('day'; 0 means unlimited). Calls of one owner take turns, so that no two reserve the same place.
CREATE FUNCTION limits.open_session(
  p_owner text, p_game text, p_session text, p_most integer, p_days integer, p_day_most integer
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  present  CONSTANT timestamptz := clock_timestamp();
  midnight CONSTANT timestamptz := date_trunc('day', present, 'UTC');
  running  bigint;
  opened   bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.opening ' || p_owner, 0));
  IF EXISTS (SELECT FROM log.stream AS s WHERE s.stream = p_session)
    OR EXISTS (SELECT FROM limits.opening AS o WHERE o.session = p_session)
  THEN
    RETURN '';
  END IF;
  DELETE FROM limits.opening AS o WHERE o.owner = p_owner
    AND (o.at < present - interval '1 minute' OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = o.session));
  SELECT count(*) FILTER (
      WHERE s.game = p_game AND NOT s.over AND s.updated_at > present - make_interval(days => p_days)
    ), count(*) FILTER (WHERE s.game IN ('jury', 'legal') AND s.created_at >= midnight)
  INTO running, opened FROM limits.sessions_of(p_owner) AS s;
  IF running + (SELECT count(*) FROM limits.opening AS o WHERE o.owner = p_owner AND o.game = p_game) >= p_most THEN
    RETURN 'running';
  END IF;
  IF p_day_most > 0
    AND opened + (SELECT count(*) FROM limits.opening AS o WHERE o.owner = p_owner) >= p_day_most
  THEN
    RETURN 'day';
  END IF;
  INSERT INTO limits.opening (session, owner, game, at) VALUES (p_session, p_owner, p_game, present);
  RETURN '';
END $$;

CREATE FUNCTION limits.give_session_up(p_session text) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  DELETE FROM limits.opening AS o WHERE o.session = p_session
$$;

-- Limits: calls of models -----------------------------------------------------------------------------------------------

-- Model calls: pending ones (`until` is in the future) and those of the last minute. The table is unlogged: if a crash of
-- the server loses them, the model's server may answer 429.
CREATE UNLOGGED TABLE limits.model_call (
  id     uuid             PRIMARY KEY,
  alias  text COLLATE "C" NOT NULL,
  at     timestamptz      NOT NULL,
  until  timestamptz      NOT NULL,
  tokens bigint           NOT NULL,
  provider text COLLATE "C"
);
CREATE INDEX model_call_alias ON limits.model_call (alias, at);
CREATE INDEX model_call_provider ON limits.model_call (provider, until);

-- The concurrency that is allowed for a provider after it has refused calls (429). `answered` counts its answers at full
-- concurrency since the last change, `refused` its consecutive refusals; no call is made before `until`.
CREATE UNLOGGED TABLE limits.provider (
  provider text COLLATE "C" PRIMARY KEY,
  allowed  integer          NOT NULL CHECK (allowed >= 1),
  answered integer          NOT NULL,
  refused  integer          NOT NULL,
  halved   timestamptz      NOT NULL,
  until    timestamptz      NOT NULL
);

-- Admits a call that is expected to use `cost` tokens and returns 0, or returns the seconds after which to retry. A null
-- limit means unlimited. The locks make the counts of an alias and its provider exact.
CREATE FUNCTION limits.admit(
  p_id uuid, p_alias text, p_window double precision, p_lease double precision,
  p_concurrent integer, p_requests integer, p_tokens bigint, p_cost bigint,
  p_provider text
) RETURNS double precision LANGUAGE plpgsql SECURITY DEFINER SET enable_seqscan = off AS $$
DECLARE
  span    CONSTANT interval := make_interval(secs => p_window);
  cost    CONSTANT bigint   := least(p_cost, coalesce(p_tokens, p_cost));
  present timestamptz;
  free_at timestamptz;
  used    bigint;
  room_at timestamptz;
  learnt  limits.provider;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.model_call ' || p_alias, 0));
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.provider ' || p_provider, 0));
  present := clock_timestamp();
  DELETE FROM limits.model_call AS c WHERE c.alias = p_alias AND c.at <= present - span AND c.until <= present;

  SELECT count(*), min(c.until) INTO used, room_at
  FROM limits.model_call AS c WHERE c.alias = p_alias AND c.until > present;
  IF used >= p_concurrent THEN
    free_at := room_at;
  END IF;

  IF p_requests IS NOT NULL THEN
    SELECT c.at + span INTO room_at FROM limits.model_call AS c
    WHERE c.alias = p_alias AND c.at > present - span
    ORDER BY c.at DESC OFFSET p_requests - 1 LIMIT 1;
    free_at := greatest(free_at, room_at);
  END IF;

  IF p_tokens IS NOT NULL THEN
    SELECT c.at + span INTO room_at FROM (
      SELECT k.at, sum(k.tokens) OVER (ORDER BY k.at DESC, k.id) AS spent FROM limits.model_call AS k
      WHERE k.alias = p_alias AND k.at > present - span
    ) AS c
    WHERE c.spent + cost > p_tokens ORDER BY c.at DESC LIMIT 1;
    free_at := greatest(free_at, room_at);
  END IF;

  SELECT p.* INTO learnt FROM limits.provider AS p WHERE p.provider = p_provider;
  IF learnt.provider IS NOT NULL THEN
    SELECT count(*), min(c.until) INTO used, room_at
    FROM limits.model_call AS c WHERE c.provider = p_provider AND c.until > present;
    free_at := greatest(
      free_at, CASE WHEN used >= learnt.allowed THEN room_at END, CASE WHEN learnt.until > present THEN learnt.until END
    );
  END IF;

  IF free_at IS NOT NULL THEN
    RETURN greatest(0.001, extract(epoch FROM free_at - present));
  END IF;
  INSERT INTO limits.model_call (id, alias, at, until, tokens, provider)
  VALUES (p_id, p_alias, present, present + make_interval(secs => p_lease), cost, p_provider);
  RETURN 0;
END $$;

-- Extends a slot by another lease; false if it has expired.
CREATE FUNCTION limits.hold(p_id uuid, p_lease double precision) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  UPDATE limits.model_call AS c SET until = clock_timestamp() + make_interval(secs => p_lease)
  WHERE c.id = p_id AND c.until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Releases a slot; `tokens` is what the call used, null if unknown. `refused` is what to learn about the provider: a
-- refusal (429) halves its allowed concurrency and delays all its calls by `wait` seconds, or longer for repeated
-- refusals; ⌈stretch / allowed⌉ answers at full concurrency add one. Calls that were pending at a refusal do not count.
-- All this happens under the lock, so that no other call takes the refused call's slot first.
CREATE FUNCTION limits.give_back(
  p_id uuid, p_tokens bigint, p_refused boolean, p_wait double precision, p_stretch integer,
  p_first double precision, p_most double precision
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  given   limits.model_call;
  learnt  limits.provider;
  present timestamptz;
  used    integer;
BEGIN
  SELECT c.* INTO given FROM limits.model_call AS c WHERE c.id = p_id;
  IF p_refused IS NOT NULL AND given.provider IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('limits.provider ' || given.provider, 0));
    present := clock_timestamp();
    SELECT count(*) INTO used
    FROM limits.model_call AS c WHERE c.provider = given.provider AND (c.until > present OR c.id = p_id);
    SELECT p.* INTO learnt FROM limits.provider AS p WHERE p.provider = given.provider;
    IF learnt.provider IS NULL AND p_refused THEN
      learnt := (given.provider, used, 0, 0, '-infinity', '-infinity');
      INSERT INTO limits.provider SELECT learnt.*;
    END IF;
    IF p_refused THEN
      learnt.until := greatest(learnt.until, present + make_interval(secs => coalesce(p_wait, 0)));
      IF given.at > learnt.halved THEN
        learnt.until := greatest(
          learnt.until, present + make_interval(secs => least(p_most, p_first * 2 ^ least(learnt.refused, 30)))
        );
        learnt.allowed := greatest(1, least(learnt.allowed, used) / 2);
        learnt.refused := learnt.refused + 1;
        learnt.halved := present;
      END IF;
      learnt.answered := 0;
    ELSE
      learnt.refused := 0;
      IF used >= learnt.allowed AND given.at > learnt.halved THEN
        learnt.answered := learnt.answered + 1;
      END IF;
      IF learnt.answered >= ceil(p_stretch::numeric / learnt.allowed) THEN
        learnt.allowed := learnt.allowed + 1;
        learnt.answered := 0;
      END IF;
    END IF;
    UPDATE limits.provider AS p
    SET allowed = learnt.allowed, answered = learnt.answered, refused = learnt.refused, halved = learnt.halved,
      until = learnt.until
    WHERE p.provider = learnt.provider;
  END IF;
  UPDATE limits.model_call AS c SET until = least(c.until, clock_timestamp()), tokens = coalesce(p_tokens, c.tokens)
  WHERE c.id = p_id;
END $$;

-- Limits: budgets -------------------------------------------------------------------------------------------------------

-- The spending of an account. Pending calls count at their worst case; a lost call stays counted like that.
CREATE TABLE limits.budget (
  account text COLLATE "C" PRIMARY KEY,
  calls   bigint  NOT NULL DEFAULT 0,
  tokens  bigint  NOT NULL DEFAULT 0,
  money   numeric NOT NULL DEFAULT 0
);

-- Counts a call on every account at that account's worst case, or on none: returns the first account that cannot pay for
-- it, with its spending, or no row if all can. A null limit means unlimited.
CREATE FUNCTION limits.reserve(
  p_accounts text[], p_calls bigint[], p_tokens bigint[], p_money numeric[], p_take_tokens bigint[], p_take_money numeric[]
) RETURNS SETOF limits.budget LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  short limits.budget;
BEGIN
  INSERT INTO limits.budget (account) SELECT unnest(p_accounts) ON CONFLICT DO NOTHING;
  PERFORM FROM limits.budget AS b WHERE b.account = ANY (p_accounts) ORDER BY b.account FOR NO KEY UPDATE;
  SELECT b.* INTO short
  FROM unnest(p_accounts, p_calls, p_tokens, p_money, p_take_tokens, p_take_money) WITH ORDINALITY
    AS a (account, calls, tokens, money, take_tokens, take_money, nth)
  JOIN limits.budget AS b USING (account)
  WHERE b.calls + 1 > a.calls OR b.tokens + a.take_tokens > a.tokens OR b.money + a.take_money > a.money
  ORDER BY a.nth LIMIT 1;
  IF short.account IS NOT NULL THEN
    RETURN NEXT short;
  ELSE
    UPDATE limits.budget AS b
    SET calls = b.calls + 1, tokens = b.tokens + a.tokens, money = b.money + a.money
    FROM unnest(p_accounts, p_take_tokens, p_take_money) AS a (account, tokens, money)
    WHERE b.account = a.account;
  END IF;
END $$;

-- Corrects the counts of `reserve` to what the call used, which is nothing if it was never made. Accounts are locked in
-- the same order as in `reserve`.
CREATE FUNCTION limits.settle(p_accounts text[], p_calls bigint[], p_tokens bigint[], p_money numeric[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM FROM limits.budget AS b WHERE b.account = ANY (p_accounts) ORDER BY b.account FOR NO KEY UPDATE;
  UPDATE limits.budget AS b SET calls = b.calls + a.calls, tokens = b.tokens + a.tokens, money = b.money + a.money
  FROM unnest(p_accounts, p_calls, p_tokens, p_money) AS a (account, calls, tokens, money)
  WHERE b.account = a.account;
END $$;

-- Deletes full buckets, which equal unused ones, and the spending of days more than a week ago; returns the number of
-- deleted buckets.
CREATE FUNCTION limits.sweep() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  DELETE FROM limits.budget WHERE account >= 'day:' AND account < 'day:' || (current_date - 7)::text;
  WITH gone AS (DELETE FROM limits.bucket WHERE full_at < clock_timestamp() RETURNING 1) SELECT count(*) FROM gone
$$;

-- The spending of a day, in total and by the key that spent most. The account of a day is named `day:YYYY-MM-DD`, that of
-- a key on a day `day:YYYY-MM-DD:AGENT`.
CREATE FUNCTION limits.day_spent(p_day date)
RETURNS TABLE (tokens bigint, money numeric, key_tokens bigint, key_money numeric, key_sessions bigint) ROWS 1
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT coalesce(max(b.tokens) FILTER (WHERE b.account = 'day:' || p_day), 0),
    coalesce(max(b.money) FILTER (WHERE b.account = 'day:' || p_day), 0),
    coalesce(max(b.tokens) FILTER (WHERE b.account <> 'day:' || p_day), 0),
    coalesce(max(b.money) FILTER (WHERE b.account <> 'day:' || p_day), 0),
    coalesce((
      SELECT count(*) FROM vault.key AS k WHERE k.created_at >= p_day::timestamp AT TIME ZONE 'UTC'
      GROUP BY k.owner ORDER BY count(*) DESC LIMIT 1
    ), 0)
  FROM limits.budget AS b WHERE b.account = 'day:' || p_day OR starts_with(b.account, 'day:' || p_day || ':')
$$;

GRANT USAGE ON SCHEMA limits TO playmolt_gateway, playmolt_relay, playmolt_engine;
GRANT EXECUTE ON FUNCTION limits.take, limits.wait, limits.guess, limits.forgive, limits.open_session, limits.give_session_up TO playmolt_gateway;
-- An engine opens the juries of a panel.
GRANT EXECUTE ON FUNCTION limits.open_session TO playmolt_engine;
GRANT EXECUTE ON FUNCTION limits.sweep, limits.day_spent TO playmolt_relay;
GRANT EXECUTE ON FUNCTION limits.admit, limits.hold, limits.give_back, limits.reserve, limits.settle TO playmolt_engine;

-- Leases ----------------------------------------------------------------------------------------------------------------

-- An effect that a worker executes, or executed when it was lost. `attempt` counts the holders; the pair (holder,
-- attempt) prevents an expired holder from extending the lease of its successor.
CREATE TABLE lease.effect (
  id      text COLLATE "C" PRIMARY KEY,
  holder  text             NOT NULL,
  attempt integer          NOT NULL,
  until   timestamptz      NOT NULL
);

-- Leases an effect and returns its attempt number; null while another holder has it.
CREATE FUNCTION lease.take(p_id text, p_holder text, p_seconds double precision) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  taken integer;
BEGIN
  INSERT INTO lease.effect AS e (id, holder, attempt, until)
  VALUES (p_id, p_holder, 1, clock_timestamp() + make_interval(secs => p_seconds))
  ON CONFLICT (id) DO UPDATE SET
    holder = excluded.holder, attempt = e.attempt + 1, until = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE e.until <= clock_timestamp()
  RETURNING e.attempt INTO taken;
  RETURN taken;
END $$;

-- Extends a lease to this number of seconds from now; false if it has expired.
CREATE FUNCTION lease.extend(p_id text, p_holder text, p_attempt integer, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  UPDATE lease.effect AS e SET until = clock_timestamp() + make_interval(secs => p_seconds)
  WHERE e.id = p_id AND e.holder = p_holder AND e.attempt = p_attempt AND e.until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Releases an effect: deleted if it is done, free for the next attempt if it was lost; false if another holder has it.
CREATE FUNCTION lease.release(p_id text, p_holder text, p_attempt integer, p_lost boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF p_lost THEN
    UPDATE lease.effect AS e SET until = least(e.until, clock_timestamp())
    WHERE e.id = p_id AND e.holder = p_holder AND e.attempt = p_attempt;
  ELSE
    DELETE FROM lease.effect AS e WHERE e.id = p_id AND e.holder = p_holder AND e.attempt = p_attempt;
  END IF;
  RETURN FOUND;
END $$;

GRANT USAGE ON SCHEMA lease TO playmolt_engine;
GRANT EXECUTE ON FUNCTION lease.take, lease.extend, lease.release TO playmolt_engine;

-- The model call in flight of a stream, from just before a request is sent until its reply is stored. `logged` is the
-- number of the turn's requests in the log at that time; `requests` counts those since then, and `tokens` and `money` are
-- reserved for them.
CREATE TABLE lease.in_flight (
  stream   text    COLLATE "C" PRIMARY KEY,
  turn     integer NOT NULL,
  agent    text    NOT NULL,
  ask      integer NOT NULL,
  logged   integer NOT NULL,
  requests integer NOT NULL,
  tokens   bigint  NOT NULL,
  money    numeric NOT NULL
);

-- Snapshots of states at a version, so that an endless stream is not folded from its first event. They can be computed
-- again from the log. A snapshot whose record has changed is not used.
CREATE TABLE lease.snapshot (
  stream  text     COLLATE "C" NOT NULL,
  shard   smallint NOT NULL,
  version integer  NOT NULL CHECK (version > 0),
  hash    bytea    NOT NULL CHECK (octet_length(hash) = 32),
  state   json     NOT NULL,
  PRIMARY KEY (stream, shard)
);

-- Questions of an experiment that wait for a batch, or whose answer waits for the run or judge that asked (`asker`, empty
-- for runs). `name` is the requested name of the batch, `batch` its id. A question answered with null must be asked
-- individually. `tokens` and `money` are the amounts reserved for it on `accounts`.
CREATE TABLE lease.batch_call (
  key      bytea            PRIMARY KEY CHECK (octet_length(key) = 32),
  stream   text COLLATE "C" NOT NULL,
  asker    text COLLATE "C" NOT NULL,
  alias    text COLLATE "C" NOT NULL,
  body     text             NOT NULL,
  at       timestamptz      NOT NULL DEFAULT clock_timestamp(),
  name     text COLLATE "C",
  batch    text COLLATE "C",
  answered boolean          NOT NULL DEFAULT false,
  answer   text,
  tokens   bigint           NOT NULL,
  money    numeric          NOT NULL,
  accounts text[]           NOT NULL
);
CREATE INDEX batch_call_stream ON lease.batch_call (stream, alias);

-- Long tasks whose results callers poll for. The worker that takes a job holds it until `until`. `digest` is the digest
-- of the request; `status` and `answer` are the HTTP answer.
CREATE TABLE lease.job (
  stream  text        COLLATE "C" PRIMARY KEY,
  digest  bytea       NOT NULL CHECK (octet_length(digest) = 32),
  request bytea       NOT NULL,
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder  text        COLLATE "C",
  until   timestamptz,
  status  smallint,
  answer  bytea
);
CREATE INDEX job_open ON lease.job (at) WHERE status IS NULL;

-- An engine uses the rows of its own types.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['in_flight', 'snapshot', 'batch_call', 'job'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON lease.%I TO playmolt_engine', name);
    EXECUTE format('ALTER TABLE lease.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own ON lease.%I TO playmolt_engine'
      ' USING (log.type_of(stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(stream)])))', name
    );
  END LOOP;
END $$;
GRANT DELETE ON lease.in_flight, lease.batch_call, lease.job TO playmolt_engine;

-- When an engine of a type could last accept actions, and the periods in which none could.
CREATE TABLE lease.heartbeat (
  game text COLLATE "C" PRIMARY KEY,
  at   timestamptz      NOT NULL
);

CREATE TABLE lease.outage (
  game  text COLLATE "C" NOT NULL,
  began timestamptz      NOT NULL,
  ended timestamptz      NOT NULL,
  PRIMARY KEY (game, ended)
);

-- Records that actions of a type are accepted now. If the previous record is more than p_silence seconds old, the time
-- since then was an outage. Outages older than the longest deadline are deleted.
CREATE FUNCTION lease.beat(p_game text, p_silence double precision) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  last    timestamptz;
BEGIN
  IF p_game <> ALL (coalesce(log.own_types(), ARRAY[p_game])) THEN
    RAISE insufficient_privilege USING MESSAGE = session_user || ' has no rights on games of type ' || p_game;
  END IF;
  INSERT INTO lease.heartbeat AS h (game, at) VALUES (p_game, present) ON CONFLICT DO NOTHING;
  SELECT h.at INTO last FROM lease.heartbeat AS h WHERE h.game = p_game FOR UPDATE;
  IF present - last > make_interval(secs => p_silence) THEN
    INSERT INTO lease.outage AS o (game, began, ended) VALUES (p_game, last, present);
    DELETE FROM lease.outage AS o WHERE o.game = p_game AND o.ended < present - interval '367 days';
  END IF;
  UPDATE lease.heartbeat AS h SET at = greatest(h.at, present) WHERE h.game = p_game;
END $$;

-- The seconds since p_since in which actions of a type could not be accepted; null if they cannot be accepted now.
CREATE FUNCTION lease.lost(p_game text, p_since timestamptz, p_silence double precision) RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT coalesce((
    SELECT sum(extract(epoch FROM o.ended - greatest(o.began, p_since))) FROM lease.outage AS o
    WHERE o.game = p_game AND o.ended > p_since
  ), 0)::double precision
  FROM lease.heartbeat AS h
  WHERE h.game = p_game AND clock_timestamp() - h.at <= make_interval(secs => p_silence)
$$;

GRANT EXECUTE ON FUNCTION lease.beat, lease.lost TO playmolt_engine;

-- Refused actions that count as faults, until the game's closing event contains them. They are here because one replica
-- may refuse an action and another close the game. `reported`: the part of `count` that the closing event contains.
CREATE TABLE lease.fault (
  stream text    COLLATE "C" NOT NULL,
  agent  text    COLLATE "C" NOT NULL,
  kind   text    COLLATE "C" NOT NULL,
  what   text    COLLATE "C" NOT NULL,
  count  integer NOT NULL DEFAULT 1,
  reported integer NOT NULL DEFAULT 0,
  PRIMARY KEY (stream, agent, kind, what)
);

-- Counts a fault; returns false if the game is closed. The lock keeps the game open meanwhile.
CREATE FUNCTION lease.note_fault(p_stream text, p_agent text, p_kind text, p_what text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  closed boolean;
BEGIN
  IF log.type_of(p_stream) <> ALL (coalesce(log.own_types(), ARRAY[log.type_of(p_stream)])) THEN
    RAISE insufficient_privilege USING MESSAGE = session_user || ' has no rights on ' || p_stream;
  END IF;
  SELECT s.over INTO closed FROM log.stream AS s WHERE s.stream = p_stream FOR SHARE;
  IF closed IS DISTINCT FROM false THEN
    RETURN false;
  END IF;
  INSERT INTO lease.fault AS f (stream, agent, kind, what) VALUES (p_stream, p_agent, p_kind, p_what)
  ON CONFLICT (stream, agent, kind, what) DO UPDATE SET count = f.count + 1;
  RETURN true;
END $$;

-- The faults of a game for its closing event. It marks them as reported.
CREATE FUNCTION lease.report_faults(p_stream text) RETURNS TABLE (agent text, kind text, what text, count integer) ROWS 10
LANGUAGE sql SECURITY DEFINER AS $$
  UPDATE lease.fault AS f SET reported = f.count
  WHERE f.stream = p_stream AND log.type_of(f.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(f.stream)]))
  RETURNING f.agent, f.kind, f.what, f.count
$$;

-- Keeps a game open while it has faults that its closing event does not contain: `log.append` then finds that the row was
-- not updated, which is a conflict, and the engine decides again.
CREATE FUNCTION log.hold_for_faults() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF EXISTS (SELECT FROM lease.fault AS f WHERE f.stream = NEW.stream AND f.count > f.reported) THEN
    RETURN NULL;
  END IF;
  DELETE FROM lease.fault AS f WHERE f.stream = NEW.stream;
  RETURN NEW;
END $$;
CREATE TRIGGER hold_for_faults BEFORE UPDATE ON log.stream FOR EACH ROW
  WHEN (NEW.over AND NOT OLD.over) EXECUTE FUNCTION log.hold_for_faults();

GRANT EXECUTE ON FUNCTION lease.note_fault, lease.report_faults TO playmolt_engine;

-- Blobs -----------------------------------------------------------------------------------------------------------------

-- Long texts, which are not in the log: prompts by SHA-256, and models' replies by the key of their request.
CREATE TABLE blob.text (
  hash bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  body text        NOT NULL,
  at   timestamptz NOT NULL DEFAULT now(),
  -- The session of the text. Such a text is sealed, its hash can be computed only with the session's key, and it is
  -- deleted with the session.
  stream text COLLATE "C"
);
CREATE INDEX text_stream ON blob.text (stream) WHERE stream IS NOT NULL;

CREATE TABLE blob.reply (
  key  bytea       PRIMARY KEY CHECK (octet_length(key) = 32),
  body text        NOT NULL,
  at   timestamptz NOT NULL DEFAULT now()
);

GRANT USAGE ON SCHEMA blob TO playmolt_engine, playmolt_reader;
GRANT SELECT, INSERT ON blob.text, blob.reply TO playmolt_engine;
GRANT SELECT ON blob.text, blob.reply TO playmolt_reader;

-- `forget` deletes prompts and replies of experiments that were not used since a time; those of sessions are deleted with
-- their session. `put` records when a text is used again, at most once a day.
CREATE FUNCTION blob.put(p_hashes bytea[], p_bodies text[]) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  INSERT INTO blob.text AS t (hash, body)
  SELECT DISTINCT ON (n.hash) n.hash, n.body FROM unnest(p_hashes, p_bodies) AS n (hash, body) ORDER BY n.hash
  ON CONFLICT (hash) DO UPDATE SET at = now() WHERE t.at < now() - interval '1 day'
$$;
CREATE FUNCTION blob.forget(p_before timestamptz, p_limit integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  WITH texts AS (
    DELETE FROM blob.text WHERE hash IN (
      SELECT t.hash FROM blob.text AS t WHERE t.stream IS NULL AND t.at < p_before LIMIT p_limit
    ) RETURNING 1
  ), replies AS (
    DELETE FROM blob.reply WHERE key IN (SELECT r.key FROM blob.reply AS r WHERE r.at < p_before LIMIT p_limit) RETURNING 1
  )
  SELECT (SELECT count(*) FROM texts) + (SELECT count(*) FROM replies)
$$;
GRANT EXECUTE ON FUNCTION blob.put TO playmolt_engine;
GRANT USAGE ON SCHEMA blob TO playmolt_vault;
GRANT EXECUTE ON FUNCTION blob.forget TO playmolt_vault;

-- Packs ---------------------------------------------------------------------------------------------------------------

-- One row per pack, under the digest of its files; readers compute the digest again.
CREATE TABLE pack.files (
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  files  bytea            NOT NULL CHECK (octet_length(files) <= 2097152),
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);

-- The packs that new sessions may use: for each owner (an agent's id, or '' for the operator), one pack per case id.
-- `about` contains the values that lists show.
CREATE TABLE pack.offer (
  owner  text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL REFERENCES pack.files,
  about  json             NOT NULL,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (owner, id)
);
CREATE INDEX offer_digest ON pack.offer (digest);

-- The pack that a session plays. It is kept as long as the session.
CREATE TABLE pack.played (
  stream text COLLATE "C" PRIMARY KEY,
  digest text COLLATE "C" NOT NULL REFERENCES pack.files,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX played_digest ON pack.played (digest);

-- Packs that a session uses and that engines cannot load; /readyz names them.
CREATE TABLE pack.missing (
  digest text COLLATE "C" PRIMARY KEY,
  at     timestamptz      NOT NULL DEFAULT clock_timestamp()
);

-- Refuses logins without the type jury.
CREATE FUNCTION pack.check_login() RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF 'jury' <> ALL (coalesce(log.own_types(), ARRAY['jury'])) THEN
    RAISE EXCEPTION '% has no rights on packs of juries', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Stores uploaded files. An engine checks them and deletes invalid ones.
CREATE FUNCTION pack.bring(p_digest text, p_files bytea) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  INSERT INTO pack.files AS f (digest, files) VALUES (p_digest, p_files)
  ON CONFLICT (digest) DO UPDATE SET at = clock_timestamp()
$$;

CREATE FUNCTION pack.read(p_digest text) RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  RETURN (SELECT f.files FROM pack.files AS f WHERE f.digest = p_digest);
END $$;

-- Offers a stored pack in place of the one that its owner had under this id. Returns 'new'; 'same' if this pack is
-- already offered; 'taken' if the operator uses the id; 'full' if the owner already offers p_most packs.
CREATE FUNCTION pack.offer(p_owner text, p_id text, p_digest text, p_about json, p_most integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  PERFORM pg_advisory_xact_lock(hashtextextended('pack.offer ' || p_owner, 0));
  IF EXISTS (SELECT FROM pack.offer AS o WHERE (o.owner, o.id, o.digest) = (p_owner, p_id, p_digest)) THEN
    RETURN 'same';
  END IF;
  IF p_owner <> '' AND EXISTS (SELECT FROM pack.offer AS o WHERE (o.owner, o.id) = ('', p_id)) THEN
    RETURN 'taken';
  END IF;
  IF p_owner <> '' AND p_most <= (SELECT count(*) FROM pack.offer AS o WHERE o.owner = p_owner AND o.id <> p_id) THEN
    RETURN 'full';
  END IF;
  INSERT INTO pack.offer AS o (owner, id, digest, about) VALUES (p_owner, p_id, p_digest, p_about)
  ON CONFLICT (owner, id) DO UPDATE SET digest = p_digest, about = p_about, at = clock_timestamp();
  RETURN 'new';
END $$;

-- The packs that an owner may use, oldest first: its own and the operator's. Null gives all packs.
CREATE FUNCTION pack.offers(p_owner text) RETURNS SETOF pack.offer LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  RETURN QUERY
  SELECT * FROM pack.offer AS o WHERE p_owner IS NULL OR o.owner IN ('', p_owner) ORDER BY o.at, o.owner, o.id;
END $$;

-- Withdraws the owner's pack of a case and returns whether it was offered. For a null owner, it withdraws the operator's
-- pack, or if there is none, those of all owners.
CREATE FUNCTION pack.withdraw(p_owner text, p_id text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  DELETE FROM pack.offer AS o WHERE o.id = p_id AND o.owner = coalesce(p_owner, '');
  IF NOT FOUND AND p_owner IS NULL THEN
    DELETE FROM pack.offer AS o WHERE o.id = p_id;
  END IF;
  RETURN FOUND;
END $$;

-- Records which pack a session plays, and stores its files if they are given; false if they are neither stored nor given.
CREATE FUNCTION pack.play(p_stream text, p_digest text, p_files bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  IF EXISTS (SELECT FROM pack.played AS p WHERE (p.stream, p.digest) = (p_stream, p_digest)) THEN
    RETURN true;
  END IF;
  IF p_files IS NOT NULL THEN
    PERFORM pack.bring(p_digest, p_files);
  END IF;
  PERFORM FROM pack.files AS f WHERE f.digest = p_digest FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pack.played AS p (stream, digest) VALUES (p_stream, p_digest)
  ON CONFLICT (stream) DO UPDATE SET digest = p_digest, at = clock_timestamp();
  DELETE FROM pack.missing AS m WHERE m.digest = p_digest;
  RETURN true;
END $$;

CREATE FUNCTION pack.miss(p_digest text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  INSERT INTO pack.missing (digest) VALUES (p_digest) ON CONFLICT DO NOTHING;
END $$;

-- Deletes packs that are neither offered nor used by a session, an hour after their upload, but an invalid one (p_faulty)
-- immediately. A session that is not in the log does not count.
CREATE FUNCTION pack.sweep(p_faulty text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pack.check_login();
  DELETE FROM pack.played AS p WHERE p.at < clock_timestamp() - interval '1 hour'
    AND NOT EXISTS (SELECT FROM log.stream AS s WHERE s.stream = p.stream AND s.phase IS DISTINCT FROM 'erased');
  DELETE FROM pack.files AS f WHERE (f.at < clock_timestamp() - interval '1 hour' OR f.digest = p_faulty)
    AND NOT EXISTS (SELECT FROM pack.offer AS o WHERE o.digest = f.digest)
    AND NOT EXISTS (SELECT FROM pack.played AS p WHERE p.digest = f.digest);
END $$;

GRANT USAGE ON SCHEMA pack TO playmolt_engine, playmolt_gateway;
GRANT EXECUTE ON FUNCTION
  pack.read, pack.offer, pack.offers, pack.withdraw, pack.play, pack.miss, pack.sweep
TO playmolt_engine;
GRANT EXECUTE ON FUNCTION pack.bring TO playmolt_gateway;
GRANT SELECT ON pack.missing TO playmolt_gateway;

-- Erasing -------------------------------------------------------------------------------------------------------------

-- Appends a record to a stream that only the functions below write: erasures, owners of an agent, decisions of the
-- operator. `p_record` follows `p_followed`; if the stream has changed, it raises PM409. Call it after all that
-- may wait for a lock: like `log.append`, it holds the log's counter until the commit.
CREATE FUNCTION log.append_own(p_stream text, p_followed bytea, p_record json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  stated  CONSTANT timestamptz := p_record ->> 'at';
  nth     CONSTANT integer     := p_record ->> 'version';
  digest  CONSTANT bytea       := decode(p_record ->> 'hash', 'hex');
  present log.stream;
BEGIN
  PERFORM log.enter_types(ARRAY[p_record ->> 'type']);
  IF nth = 1 THEN
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    VALUES (p_stream, 0, decode(repeat('00', 32), 'hex'), stated, stated) ON CONFLICT DO NOTHING;
  END IF;
  UPDATE log.stream AS s SET version = nth, hash = digest, updated_at = stated
  WHERE s.stream = p_stream AND s.version = nth - 1 AND s.hash = p_followed RETURNING s.* INTO present;
  IF NOT FOUND THEN
    RAISE SQLSTATE 'PM409';
  END IF;
  PERFORM log.open_part(present.shard, present.number);
  UPDATE log.head AS h SET position = h.position + 1 WHERE h.shard = present.shard;
  INSERT INTO log.record (
    position, shard, number, version, type, schema_version, data, metadata, at, salt, hash, closes, decides
  )
  SELECT h.position, h.shard, present.number, nth,
    (SELECT t.code FROM log.event_type AS t WHERE t.name = p_record ->> 'type'),
    (p_record ->> 'schema_version')::smallint, p_record -> 'data', p_record -> 'metadata', stated,
    decode(p_record ->> 'salt', 'hex'), digest, false, false
  FROM log.head AS h WHERE h.shard = present.shard;
END $$;

-- The data of a session for its erasure: its owner, the end of its records, and whether it is erased.
CREATE FUNCTION log.session(p_stream text) RETURNS TABLE (
  owner text, version integer, hash bytea, created_at timestamptz, updated_at timestamptz,
  erased_at timestamptz, erased_by text, erased_linked text
) ROWS 1 LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  RETURN QUERY
  SELECT k.owner, s.version, coalesce(a.hash, s.hash), s.created_at, s.updated_at,
    s.erased_at, s.erased_by, s.erased_linked
  FROM log.stream AS s JOIN vault.key AS k ON k.stream = s.stream
  LEFT JOIN log.archived AS a ON a.stream = s.stream
  WHERE s.stream = p_stream AND s.version > 0;
END $$;

-- Erases a session that ends at a version and hash, and appends the record of the erasure, `p_record`, which follows
-- `p_followed` in the stream `erasure-sessions`. Returns false and changes nothing if one of the two streams has changed.
--
-- It locks the session's row first, so that no append can come between, and the log's counter last, as `log.append` does.
CREATE FUNCTION log.erase(
  p_stream text, p_version integer, p_hash bytea, p_by text, p_linked text, p_followed bytea, p_record json
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  nothing CONSTANT bytea       := decode(repeat('00', 32), 'hex');
  stated  CONSTANT timestamptz := p_record ->> 'at';
  said    CONSTANT json        := p_record -> 'data';
  present log.stream;
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  IF (said ->> 'stream', said ->> 'version', said ->> 'hash', said ->> 'by')
    IS DISTINCT FROM (p_stream, p_version::text, encode(p_hash, 'hex'), p_by)
  THEN
    RAISE EXCEPTION 'the record describes another erasure' USING ERRCODE = 'invalid_parameter_value';
  END IF;

  SELECT * INTO present FROM log.stream AS s WHERE s.stream = p_stream FOR UPDATE;
  IF present.erased_at IS NOT NULL OR present.version IS DISTINCT FROM p_version THEN
    RETURN false;
  END IF;
  -- The head of an archived stream is a hash of zeros; its last hash is in the register.
  IF coalesce((SELECT a.hash FROM log.archived AS a WHERE a.stream = p_stream), present.hash) <> p_hash THEN
    RETURN false;
  END IF;

  PERFORM vault.erase(p_stream);
  DELETE FROM lease.fault AS f WHERE f.stream = p_stream;
  DELETE FROM lease.in_flight AS f WHERE f.stream = p_stream;
  UPDATE log.stream AS s
  SET erased_at = stated, erased_by = p_by, erased_linked = p_linked, hash = nothing,
      phase = 'erased', over = true, round = 0, seated = 0, needed = 0, due = NULL
  WHERE s.stream = p_stream;
  DELETE FROM log.outcome AS o WHERE o.stream = p_stream;
  DELETE FROM blob.text AS t WHERE t.stream = p_stream;
  PERFORM log.append_own('erasure-sessions', p_followed, p_record);
  RETURN true;
EXCEPTION WHEN SQLSTATE 'PM409' THEN
  RETURN false;
END $$;

-- The end of the stream of erasures.
CREATE FUNCTION log.last_erasure() RETURNS TABLE (version integer, hash bytea) ROWS 1
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT s.version, s.hash FROM log.stream AS s WHERE s.stream = 'erasure-sessions'
$$;

-- Sessions without activity since a time, the longest idle first.
CREATE FUNCTION log.idle_sessions(p_game text, p_since timestamptz, p_limit integer) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_game || '-']);
  RETURN QUERY
  SELECT s.stream FROM log.stream AS s
  WHERE s.game = p_game AND s.erased_at IS NULL AND s.version > 0 AND s.updated_at < p_since
  ORDER BY s.updated_at, s.stream LIMIT p_limit;
END $$;

-- Archive files in which no game has had activity since a time.
CREATE FUNCTION log.old_archives(p_before timestamptz) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT a.file FROM log.archived AS a JOIN log.stream AS s USING (stream) 
  GROUP BY a.file HAVING max(s.updated_at) < p_before ORDER BY a.file
$$;

-- The erased sessions, and whether their keys were destroyed, for verification.
CREATE FUNCTION vault.emptied() RETURNS TABLE (stream text, emptied boolean) LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT k.stream, k.wrapped IS NULL FROM vault.key AS k
  WHERE k.wrapped IS NULL OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = k.stream AND s.erased_at IS NOT NULL)
$$;

GRANT EXECUTE ON FUNCTION log.session, log.erase, log.last_erasure, log.idle_sessions, log.old_archives TO playmolt_vault;
GRANT EXECUTE ON FUNCTION vault.emptied TO playmolt_vault;
GRANT USAGE ON SCHEMA log TO playmolt_vault;

-- Owners of agents ----------------------------------------------------------------------------------------------------

-- The end of the stream of an agent's owners.
CREATE FUNCTION log.last_owner(p_agent text) RETURNS TABLE (version integer, hash bytea) ROWS 1
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT s.version, s.hash FROM log.stream AS s WHERE s.stream = 'ownership-' || substr(p_agent, length('agent-') + 1)
$$;

-- Sets the owner of an agent (null: none) and appends the record of the change, `p_record`, which follows `p_followed` in
-- the stream of the agent's owners. Returns false and changes nothing if that stream has changed or the agent does not
-- exist. It locks the log's counter last, as `log.append` does.
CREATE FUNCTION log.change_owner(p_agent text, p_owner text, p_followed bytea, p_record json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  said   CONSTANT json := p_record -> 'data';
  before text;
BEGIN
  SELECT a.owner_id INTO before FROM account.agent AS a WHERE a.id = p_agent FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF (p_record ->> 'type', said ->> 'agent_id', said ->> 'owner_id') IS DISTINCT FROM (
    CASE WHEN p_owner IS NULL THEN 'agent_released' ELSE 'agent_claimed' END, p_agent, coalesce(p_owner, before)
  ) THEN
    RAISE EXCEPTION 'the record describes another change' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  UPDATE account.agent AS a SET owner_id = p_owner WHERE a.id = p_agent;
  PERFORM account.drop_notices(NULL, p_agent);
  PERFORM log.append_own('ownership-' || substr(p_agent, length('agent-') + 1), p_followed, p_record);
  RETURN true;
EXCEPTION WHEN SQLSTATE 'PM409' THEN
  RETURN false;
END $$;

-- For each agent: its owner by the last record of its stream of owners (null after a release), and its stored owner. An
-- agent without such a stream has no owner. A copy of only the log has no agents.
CREATE FUNCTION log.owners() RETURNS TABLE (agent_id text, stored text, logged text, stream text, version integer)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT a.id, a.owner_id, CASE WHEN t.name = 'agent_claimed' THEN r.data ->> 'owner_id' END, s.stream, s.version
  FROM account.agent AS a
  LEFT JOIN (
    log.stream AS s JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard AND r.version = s.version
    JOIN log.event_type AS t ON t.code = r.type
  ) ON s.game = 'ownership' AND s.stream = 'ownership-' || substr(a.id, length('agent-') + 1)
$$;

-- Sets the owner of each agent to the one in the log, if that owner exists; returns the number of changed agents.
CREATE FUNCTION log.rebuild_owners() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  WITH changed AS (
    UPDATE account.agent AS a SET owner_id = o.logged FROM log.owners() AS o
    WHERE o.agent_id = a.id AND o.stored IS DISTINCT FROM o.logged
      AND (o.logged IS NULL OR EXISTS (SELECT FROM account.owner AS w WHERE w.id = o.logged))
    RETURNING a.id
  )
  SELECT count(*) FROM changed
$$;

GRANT EXECUTE ON FUNCTION log.owners TO playmolt_reader;
GRANT EXECUTE ON FUNCTION log.rebuild_owners TO playmolt_relay;
GRANT USAGE ON SCHEMA log TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION log.last_owner, log.change_owner TO playmolt_gateway;

-- Moderation ----------------------------------------------------------------------------------------------------------

-- The operator's decisions, computed from the streams `moderation-…`. `revision` numbers all decisions: a reader asks for
-- those after the newest that it has seen. A decision that was withdrawn keeps its row.
CREATE TABLE log.hidden (
  stream   text COLLATE "C" NOT NULL,
  version  integer          NOT NULL CHECK (version > 0),
  agent_id text COLLATE "C" NOT NULL,  -- the author; '' for every author in the record
  hidden   boolean          NOT NULL,
  revision bigint           NOT NULL,
  shard    smallint         NOT NULL,
  PRIMARY KEY (stream, version, agent_id, shard)
);
CREATE INDEX hidden_revision ON log.hidden (revision);

-- Decisions about the shown names of agents and owners. `withheld`: the name is hidden; otherwise the handle replaces it.
-- Without a handle, the given name is shown again.
CREATE TABLE account.renamed (
  subject  text COLLATE "C" PRIMARY KEY,
  handle   text COLLATE "C",
  withheld boolean          NOT NULL,
  revision bigint           NOT NULL
);
CREATE INDEX renamed_revision ON account.renamed (revision);

CREATE TABLE account.ban (
  subject  text COLLATE "C" PRIMARY KEY,  -- an agent, or an owner with all its agents
  banned   boolean          NOT NULL,
  until    timestamptz,                   -- null: permanently
  revision bigint           NOT NULL
);
CREATE INDEX ban_revision ON account.ban (revision);

-- The reasons of decisions, for the person and the operator. This is the only text of a decision, and it can be erased.
CREATE TABLE account.notice (
  stream   text COLLATE "C" NOT NULL,
  version  integer          NOT NULL,
  subject  text COLLATE "C" NOT NULL,  -- the agent or owner whom the decision concerns; '' if unknown
  kind     text             NOT NULL,  -- the type of the event
  game_id  text COLLATE "C",
  until    timestamptz,
  note     text             NOT NULL,
  at       timestamptz      NOT NULL,
  PRIMARY KEY (stream, version)
);
CREATE INDEX notice_subject ON account.notice (subject, at DESC);
CREATE INDEX notice_game ON account.notice (game_id) WHERE game_id IS NOT NULL;

CREATE FUNCTION log.moderation_revision() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT greatest(
    (SELECT coalesce(max(h.revision), 0) FROM log.hidden AS h),
    (SELECT coalesce(max(n.revision), 0) FROM account.renamed AS n),
    (SELECT coalesce(max(b.revision), 0) FROM account.ban AS b)
  )
$$;

-- Locks all moderation until the transaction ends, and returns the end of a stream and the time of the newest decision.
CREATE FUNCTION log.begin_moderation(p_stream text, OUT version integer, OUT hash bytea, OUT newest timestamptz)
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('log.moderation', 0));
  SELECT s.version, s.hash INTO version, hash FROM log.stream AS s WHERE s.stream = p_stream;
  SELECT max(s.updated_at) INTO newest FROM log.stream AS s WHERE s.game = 'moderation';
END $$;

-- The records that contain the text of a record, each with the author; none if the text is not public. Usually this is
-- the record itself. If a game first stores a text with its single author (a type in `p_own`) and later publishes it in a
-- record with several authors (a type in `p_public`), these are both records. A record of a type in `p_whole` names no
-- agent: all its texts are hidden together, with author '', and so is a following record of a type in `p_retold`, which
-- repeats them. The texts of archived games and sealed streams (`p_sealed`) cannot be read: for these it returns the record
-- with `p_agent`. The rules of the game give the types.
CREATE FUNCTION log.said(
  p_stream text, p_version integer, p_agent text, p_public text[], p_own text[], p_whole text[], p_retold text[],
  p_sealed boolean
) RETURNS TABLE (version integer, agent_id text) LANGUAGE sql STABLE SECURITY DEFINER AS $$
  WITH stream AS (
    SELECT s.number, s.shard, s.archived, s.version FROM log.stream AS s WHERE s.stream = p_stream AND s.erased_at IS NULL
  ), record AS (
    SELECT r.version, t.name AS type, r.data::jsonb AS data
    FROM stream AS s JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard
    JOIN log.event_type AS t ON t.code = r.type
    WHERE t.name = ANY (p_public || p_own)
  ), near AS (
    SELECT r.version, t.name AS type
    FROM stream AS s JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard
    JOIN log.event_type AS t ON t.code = r.type
    WHERE t.name = ANY (p_whole) AND r.version BETWEEN p_version - 1 AND p_version + 1 AND p_agent IS NULL
  ), author AS (
    SELECT r.version, r.type, r.data -> 'round' AS round, a.id, r.data ? 'agent_id' AS alone
    FROM record AS r CROSS JOIN LATERAL (
      SELECT r.data ->> 'agent_id' AS id WHERE r.data ? 'agent_id'
      UNION
      SELECT e #>> '{}' FROM jsonb_path_query(r.data, '$.*[*].agent_id') AS e WHERE NOT r.data ? 'agent_id'
    ) AS a
    WHERE p_agent IS NULL OR a.id = p_agent
  ), shown AS (
    SELECT a.* FROM author AS a WHERE a.version = p_version AND a.type = ANY (p_public)
    UNION
    SELECT late.* FROM author AS early JOIN author AS late ON late.id = early.id AND late.round = early.round
    WHERE early.version = p_version AND early.type = ANY (p_own) AND late.type = ANY (p_public) AND NOT late.alone
  )
  SELECT s.version, s.id FROM shown AS s
  UNION
  SELECT early.version, early.id FROM shown AS s JOIN author AS early ON early.id = s.id AND early.round = s.round
  WHERE NOT s.alone AND early.type = ANY (p_own)
  UNION ALL
  SELECT other.version, '' FROM near AS said JOIN near AS other
    ON other.version = said.version
    OR (other.version = said.version + 1 AND other.type = ANY (p_retold))
    OR (other.version = said.version - 1 AND said.type = ANY (p_retold))
  WHERE said.version = p_version
  UNION ALL
  SELECT p_version, coalesce(p_agent, '') FROM stream AS s
  WHERE (s.archived OR p_sealed) AND p_version BETWEEN 1 AND s.version
$$;

-- Updates the tables by a decision.
CREATE FUNCTION log.apply_moderation(p_type text, p_data json, p_revision bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  named  CONSTANT text := p_data ->> 'subject';
  shown  CONSTANT text := p_data ->> 'handle';
BEGIN
  IF p_type = 'speech_restored' AND p_data ->> 'agent_id' IS NULL THEN
    UPDATE log.hidden AS h SET hidden = false, revision = p_revision
    WHERE h.stream = p_data ->> 'game_id' AND h.hidden
      AND h.version IN (SELECT v::integer FROM json_array_elements_text(p_data -> 'versions') AS v);
  ELSIF p_type IN ('speech_hidden', 'speech_restored') THEN
    INSERT INTO log.hidden AS h (stream, version, agent_id, hidden, revision, shard)
    SELECT p_data ->> 'game_id', v::integer, coalesce(p_data ->> 'agent_id', ''), p_type = 'speech_hidden', p_revision,
      log.shard_of(p_data ->> 'game_id')
    FROM json_array_elements_text(p_data -> 'versions') AS v
    ON CONFLICT (stream, version, agent_id, shard) DO UPDATE SET hidden = excluded.hidden, revision = excluded.revision;
  ELSIF p_type IN ('name_hidden', 'renamed', 'name_restored') THEN
    INSERT INTO account.renamed AS n (subject, handle, withheld, revision)
    VALUES (named, shown, p_type = 'name_hidden', p_revision)
    ON CONFLICT (subject) DO UPDATE
      SET handle = excluded.handle, withheld = excluded.withheld, revision = excluded.revision;
  ELSIF p_type IN ('banned', 'unbanned') THEN
    INSERT INTO account.ban AS b (subject, banned, until, revision)
    VALUES (named, p_type = 'banned', (p_data ->> 'until')::timestamptz, p_revision)
    ON CONFLICT (subject) DO UPDATE
      SET banned = excluded.banned, until = excluded.until, revision = excluded.revision;
  ELSE
    RAISE EXCEPTION '% is not a decision', p_type USING ERRCODE = 'invalid_parameter_value';
  END IF;
END $$;

-- Writes the shown names of agents and owners with a decision to the accounts, where all readers find them. The update of
-- an agent's row makes gateways drop their cached data of its key.
CREATE FUNCTION account.show_name(p_subject text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  shown  account.renamed;
  called text;
BEGIN
  SELECT * INTO shown FROM account.renamed AS n WHERE n.subject = p_subject;
  called := CASE WHEN shown.withheld THEN '[withheld]' ELSE shown.handle END;
  UPDATE account.agent AS a SET
    given_name = CASE WHEN shown.handle IS NOT NULL THEN coalesce(a.given_name, a.name) END,
    given_handle = CASE WHEN shown.handle IS NOT NULL THEN coalesce(a.given_handle, a.handle) END,
    given_folded = CASE WHEN shown.handle IS NOT NULL THEN coalesce(a.given_folded, a.folded) END,
    name = coalesce(called, a.given_name, a.name), handle = coalesce(shown.handle, a.given_handle, a.handle),
    folded = coalesce(called, a.given_folded, a.folded)
  WHERE a.id = p_subject;
  UPDATE account.owner AS o SET
    given_name = CASE WHEN shown.handle IS NOT NULL THEN coalesce(o.given_name, o.name) END,
    given_folded = CASE WHEN shown.handle IS NOT NULL THEN coalesce(o.given_folded, o.folded) END,
    name = coalesce(called, o.given_name, o.name), folded = coalesce(called, o.given_folded, o.folded)
  WHERE o.id = p_subject;
END $$;

-- Makes gateways drop their cached data of the keys of an agent, or of an owner and its agents.
CREATE FUNCTION account.forget_keys(p_subject text) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  INSERT INTO account.void_key AS v (hash, at)
  SELECT k.hash, clock_timestamp() FROM account.api_key AS k JOIN account.agent AS a ON a.id = k.agent_id
  WHERE a.id = p_subject OR a.owner_id = p_subject
  UNION
  SELECT k.hash, clock_timestamp() FROM account.owner_key AS k WHERE k.owner_id = p_subject
  ON CONFLICT (hash) DO UPDATE SET at = excluded.at
$$;

-- The neutral handle: for an agent, "agent-" and as many of the last characters of its id as make it unique; for an owner
-- or a tournament, its type and the last six characters.
CREATE FUNCTION account.neutral_handle(p_subject text) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
DECLARE
  kind  CONSTANT text := split_part(p_subject, '-', 1);
  shown integer := 6;
  made  text;
BEGIN
  LOOP
    made := kind || '-' || right(p_subject, shown);
    EXIT WHEN kind <> 'agent' OR shown >= length(p_subject) OR NOT EXISTS (
      SELECT FROM account.agent AS a
      WHERE a.id <> p_subject AND (a.handle = made OR a.given_handle = made)
    );
    shown := shown + 2;
  END LOOP;
  RETURN made;
END $$;

-- Appends a decision to its stream, whose end is `p_followed`, and updates tables and accounts accordingly. Returns false
-- and changes nothing if the stream has changed. Call `log.begin_moderation` before.
CREATE FUNCTION log.moderate(p_stream text, p_followed bytea, p_record json, p_subject text, p_note text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  stated  CONSTANT timestamptz := p_record ->> 'at';
  nth     CONSTANT integer     := p_record ->> 'version';
  kind    CONSTANT text        := p_record ->> 'type';
  said    CONSTANT json        := p_record -> 'data';
BEGIN
  IF NOT starts_with(p_stream, 'moderation-') THEN
    RAISE EXCEPTION '% is not a stream of decisions', p_stream USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM log.apply_moderation(kind, said, log.moderation_revision() + 1);
  IF kind IN ('name_hidden', 'renamed', 'name_restored') THEN
    PERFORM account.show_name(said ->> 'subject');
  ELSIF kind IN ('banned', 'unbanned') THEN
    PERFORM account.forget_keys(said ->> 'subject');
  END IF;
  PERFORM log.append_own(p_stream, p_followed, p_record);
  INSERT INTO account.notice (stream, version, subject, kind, game_id, until, note, at)
  VALUES (p_stream, nth, p_subject, kind, said ->> 'game_id', (said ->> 'until')::timestamptz, p_note, stated);
  RETURN true;
EXCEPTION WHEN SQLSTATE 'PM409' THEN
  RETURN false;
END $$;

-- All decisions, oldest first.
CREATE VIEW log.decision WITH (security_invoker = true) AS
  SELECT row_number() OVER (ORDER BY s.created_at, r.version) AS revision, s.stream, r.version,
    (SELECT t.name FROM log.event_type AS t WHERE t.code = r.type) AS type, r.data, r.at
  FROM log.stream AS s JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard
  WHERE s.game = 'moderation';

-- Computes the tables and the shown names again from the streams.
CREATE FUNCTION log.rebuild_moderation() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  one   record;
  total bigint := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('log.moderation', 0));
  DELETE FROM log.hidden;
  DELETE FROM account.renamed;
  DELETE FROM account.ban;
  FOR one IN SELECT d.revision, d.type, d.data FROM log.decision AS d ORDER BY d.revision LOOP
    PERFORM log.apply_moderation(one.type, one.data, one.revision);
    total := one.revision;
  END LOOP;
  PERFORM account.show_name(n.subject) FROM account.renamed AS n;
  RETURN total;
END $$;

-- The records that contain the id of an agent, in the games and tournaments in which it has or had a seat.
CREATE FUNCTION log.naming(p_agent text) RETURNS TABLE (shard smallint, "position" bigint)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT r.shard, r.position FROM log.record AS r
  WHERE r.number IN (
    SELECT e.number FROM log.record AS e
    WHERE e.type = 3 AND hashtext(e.data ->> 'agent_id') = hashtext(p_agent) AND e.data ->> 'agent_id' = p_agent
  ) AND r.data::text LIKE '%' || p_agent || '%'
$$;

-- The records that contain the name of a tournament.
CREATE FUNCTION log.announcing(p_tournament text) RETURNS TABLE (shard smallint, "position" bigint)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT r.shard, r.position FROM log.stream AS s
  JOIN log.record AS r ON r.number = s.number AND r.shard = s.shard
  JOIN log.event_type AS t ON t.code = r.type
  WHERE s.stream = p_tournament AND t.name IN ('tournament_created', 'tournament_changed')
$$;

GRANT SELECT ON log.hidden, account.renamed, account.ban TO playmolt_gateway, playmolt_engine, playmolt_relay, playmolt_reader;
GRANT SELECT ON log.decision TO playmolt_reader;
GRANT EXECUTE ON FUNCTION log.rebuild_moderation, log.naming, log.announcing TO playmolt_relay;
GRANT SELECT, DELETE ON account.notice TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION log.begin_moderation, log.said, log.announcing, log.moderate, account.neutral_handle
  TO playmolt_gateway;

-- Sets a fixed search path for functions, so that they find no objects of their callers. SQL functions with the rights of
-- their caller are left out, because Postgres does not inline a function with settings.
DO $$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN
    SELECT p.oid FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
    WHERE p.proowner = 'playmolt_owner'::regrole AND (p.prosecdef OR l.lanname = 'plpgsql')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', one);
  END LOOP;
END $$;

-- Shards --------------------------------------------------------------------------------------------------------------

-- Creates the shards. Their number, `playmolt.log_shards`, is set by `migrate` and cannot change later. Each shard has
-- its position counter, its tables, and its position in the projections. All keys of a stream's rows include its shard.
DO $$
DECLARE
  shards CONSTANT integer := coalesce(nullif(current_setting('playmolt.log_shards', true), ''), '1');
BEGIN
  FOR place IN 0 .. shards - 1 LOOP
    INSERT INTO log.head (shard) VALUES (place);
    INSERT INTO projection.progress (shard) VALUES (place);
    INSERT INTO account.notice_progress (shard) VALUES (place);
    EXECUTE format(
      'CREATE TABLE log.record_%1$s PARTITION OF log.record FOR VALUES IN (%1$s) PARTITION BY RANGE (number)', place
    );
    EXECUTE format(
      'CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.record_%s FOR EACH STATEMENT EXECUTE FUNCTION log.refuse()', place
    );
    PERFORM log.open_part(place::smallint, kind << 48) FROM generate_series(0::bigint, 3) AS kind;
  END LOOP;
END $$;
