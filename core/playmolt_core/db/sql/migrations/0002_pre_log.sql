CREATE SCHEMA log AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- The one counter of positions. Its row lock, taken last and held to the commit, makes positions gapless and
-- commit-ordered.
CREATE TABLE log.head (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint  NOT NULL DEFAULT 0 CHECK (position >= 0)
) WITH (fillfactor = 10);
INSERT INTO log.head DEFAULT VALUES;

CREATE TABLE log.stream (
  stream     text COLLATE "C" PRIMARY KEY CHECK (stream ~ '^[a-z][a-z0-9]{0,15}-[a-z0-9-]{1,64}$'),
  game       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(stream, '-', 1)) STORED,
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
  CHECK (num_nulls(phase, round, seated, needed, over) IN (0, 5))
) WITH (fillfactor = 70);
CREATE INDEX stream_due ON log.stream (game, due, stream) WHERE due IS NOT NULL;
CREATE INDEX stream_newest ON log.stream (game, created_at DESC, stream DESC);
CREATE INDEX stream_phase ON log.stream (game, phase, created_at DESC, stream DESC);
CREATE INDEX stream_running ON log.stream (game, created_at DESC, stream DESC) WHERE NOT over;

CREATE TABLE log.event (
  stream         text COLLATE "C" NOT NULL,
  version        integer          NOT NULL CHECK (version > 0),
  position       bigint           NOT NULL UNIQUE CHECK (position > 0),
  type           text             NOT NULL,
  schema_version smallint         NOT NULL CHECK (schema_version > 0),
  data           json             NOT NULL,  -- json, not jsonb: the exact bytes that were hashed
  metadata       json             NOT NULL,
  at             timestamptz      NOT NULL,
  salt           bytea            NOT NULL CHECK (octet_length(salt) = 16),
  prev_hash      bytea            NOT NULL CHECK (octet_length(prev_hash) = 32),
  hash           bytea            NOT NULL CHECK (octet_length(hash) = 32),
  public         bytea            CHECK (octet_length(public) <= 524288),
  lobby          bytea            CHECK (octet_length(lobby) <= 524288),
  closes         boolean          NOT NULL,
  PRIMARY KEY (stream, version),
  CHECK (octet_length(data::text) + octet_length(metadata::text) <= 524288)
);

CREATE TABLE log.outcome (
  stream      text COLLATE "C" NOT NULL,
  command_id  text COLLATE "C" NOT NULL,
  fingerprint text             NOT NULL,
  body        bytea            NOT NULL,
  PRIMARY KEY (stream, command_id)
);

CREATE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'log.% is append-only', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.event   FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON log.outcome FOR EACH ROW EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.event   FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log.outcome FOR EACH STATEMENT EXECUTE FUNCTION log.refuse();

-- Appends units, each whole or not at all, and gives the numbers of those in conflict.
--
-- Row i of the first arrays is a link of unit p_unit[i] to its stream: a record that follows (p_version[i] - 1,
-- p_prev_hash[i]), or, where p_type[i] is null, the bare statement that the stream stands at (p_version[i],
-- p_prev_hash[i]). The card (p_phase to p_over) and p_due count on a unit's last record of a stream.
--
-- The settings: a generic plan made while the tables are empty would scan them for ever after.
CREATE FUNCTION log.append(
  p_unit integer[], p_stream text[], p_version integer[], p_type text[], p_schema_version smallint[],
  p_data json[], p_metadata json[], p_at timestamptz[], p_salt bytea[], p_prev_hash bytea[], p_hash bytea[],
  p_public bytea[], p_lobby bytea[], p_closes boolean[],
  p_phase text[], p_round integer[], p_seated integer[], p_needed integer[], p_over boolean[], p_due timestamptz[],
  p_outcome_unit integer[], p_outcome_stream text[], p_command_id text[], p_fingerprint text[], p_body bytea[]
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
  zero     CONSTANT bytea := decode(repeat('00', 32), 'hex');
  fresh    CONSTANT boolean := 1 = ANY (p_version) OR 0 = ANY (p_version);
  streams  text[];
  versions integer[];
  hashes   bytea[];
  refused  integer[];
  records  bigint;
  base     bigint;
BEGIN
  IF fresh THEN
    -- A row to lock, so that of two that make the same stream one waits for the other.
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    SELECT DISTINCT ON (l.stream) l.stream, 0, zero, coalesce(l.at, 'epoch'), coalesce(l.at, 'epoch')
    FROM unnest(p_stream, p_version, p_type, p_at) AS l (stream, version, type, at)
    WHERE l.version = CASE WHEN l.type IS NULL THEN 0 ELSE 1 END
    ORDER BY l.stream, l.at NULLS LAST
    ON CONFLICT DO NOTHING;
  END IF;

  -- In one order everywhere, so that two batches never wait for each other.
  SELECT array_agg(s.stream), array_agg(s.version), array_agg(s.hash) INTO streams, versions, hashes
  FROM (
    SELECT k.stream, k.version, k.hash FROM log.stream AS k
    WHERE k.stream = ANY (p_stream) ORDER BY k.stream FOR NO KEY UPDATE
  ) AS s;

  WITH RECURSIVE link AS MATERIALIZED (
    SELECT * FROM unnest(p_unit, p_stream, p_version, p_type, p_prev_hash, p_hash)
      WITH ORDINALITY AS l (unit, stream, version, type, prev_hash, hash, nth)
  ), judged AS (
    SELECT
      l.unit,
      l.version - CASE WHEN l.type IS NULL THEN 0 ELSE 1 END
        IS DISTINCT FROM coalesce(lag(l.version) OVER w, s.version)
      OR l.prev_hash IS DISTINCT FROM coalesce(lag(l.hash) OVER w, s.hash) AS broken
    FROM link AS l LEFT JOIN unnest(streams, versions, hashes) AS s (stream, version, hash) USING (stream)
    WINDOW w AS (PARTITION BY l.stream ORDER BY l.nth)
  ), remembered AS (
    SELECT o.unit, k.there IS NOT NULL OR row_number() OVER (PARTITION BY o.stream, o.command_id ORDER BY o.nth) > 1 AS twice
    FROM unnest(p_outcome_unit, p_outcome_stream, p_command_id) WITH ORDINALITY AS o (unit, stream, command_id, nth)
    LEFT JOIN LATERAL (
      SELECT true AS there FROM log.outcome AS x WHERE x.stream = o.stream AND x.command_id = o.command_id LIMIT 1
    ) AS k ON true
  ), bad (unit) AS (
    (SELECT j.unit FROM judged AS j WHERE j.broken UNION SELECT r.unit FROM remembered AS r WHERE r.twice)
    UNION
    -- What was decided on top of a unit that is not stored must not be stored either.
    SELECT later.unit
    FROM bad JOIN link AS earlier ON earlier.unit = bad.unit
    JOIN link AS later ON later.stream = earlier.stream AND later.unit > earlier.unit
  )
  SELECT coalesce(array_agg(b.unit ORDER BY b.unit), '{}') INTO refused FROM bad AS b;

  UPDATE log.stream AS s
  SET version = u.version, hash = u.hash, updated_at = u.at, phase = u.phase, round = u.round, seated = u.seated,
      needed = u.needed, over = u.over, due = u.due
  FROM (
    SELECT DISTINCT ON (l.stream) l.*
    FROM unnest(p_unit, p_stream, p_version, p_type, p_at, p_hash, p_phase, p_round, p_seated, p_needed, p_over, p_due)
      WITH ORDINALITY AS l (unit, stream, version, type, at, hash, phase, round, seated, needed, over, due, nth)
    WHERE l.type IS NOT NULL AND l.unit <> ALL (refused)
    ORDER BY l.stream, l.nth DESC
  ) AS u
  WHERE s.stream = u.stream AND s.stream = ANY (p_stream);

  INSERT INTO log.outcome (stream, command_id, fingerprint, body)
  SELECT o.stream, o.command_id, o.fingerprint, o.body
  FROM unnest(p_outcome_unit, p_outcome_stream, p_command_id, p_fingerprint, p_body)
    AS o (unit, stream, command_id, fingerprint, body)
  WHERE o.unit <> ALL (refused);

  IF fresh THEN
    DELETE FROM log.stream AS s WHERE s.stream = ANY (p_stream) AND s.version = 0;
  END IF;

  SELECT count(*) INTO records FROM unnest(p_unit, p_type) AS l (unit, type)
  WHERE l.type IS NOT NULL AND l.unit <> ALL (refused);
  IF records > 0 THEN
    UPDATE log.head AS h SET position = h.position + records RETURNING h.position - records INTO STRICT base;
    INSERT INTO log.event (
      stream, version, position, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes
    )
    SELECT
      l.stream, l.version, base + row_number() OVER (ORDER BY l.nth), l.type, l.schema_version, l.data, l.metadata, l.at,
      l.salt, l.prev_hash, l.hash, l.public, l.lobby, l.closes
    FROM unnest(
      p_unit, p_stream, p_version, p_type, p_schema_version, p_data, p_metadata, p_at, p_salt, p_prev_hash, p_hash,
      p_public, p_lobby, p_closes
    ) WITH ORDINALITY AS l (
      unit, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes, nth
    )
    WHERE l.type IS NOT NULL AND l.unit <> ALL (refused)
    ORDER BY l.nth;
  END IF;
  RETURN refused;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA log FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA log FROM PUBLIC;
GRANT USAGE ON SCHEMA log TO playmolt_engine, playmolt_relay, playmolt_reader;
GRANT EXECUTE ON FUNCTION log.append TO playmolt_engine;
GRANT SELECT ON log.head, log.stream, log.event, log.outcome TO playmolt_engine, playmolt_reader;
GRANT SELECT ON log.head, log.stream, log.event TO playmolt_relay;
