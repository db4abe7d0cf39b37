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
  stream     text COLLATE "C" PRIMARY KEY,
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
  CHECK ((phase IS NULL) = (over IS NULL))
) WITH (fillfactor = 45);
CREATE INDEX stream_due ON log.stream (game, due, stream) WHERE due IS NOT NULL;
CREATE INDEX stream_newest ON log.stream (game, created_at DESC, stream DESC);
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

CREATE INDEX event_results ON log.event (position) WHERE type = 'game_end';

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

-- A record that follows (version - 1, prev_hash) of its stream; or, where type is null, the bare statement that the
-- stream stands at (version, prev_hash). Card and due count on a unit's last record of a stream.
CREATE TYPE log.link AS (
  unit integer, stream text, version integer, type text, schema_version smallint, data text, metadata text,
  at timestamptz, salt bytea, prev_hash bytea, hash bytea, public text, lobby text, closes boolean,
  phase text, round integer, seated integer, needed integer, over boolean, due timestamptz
);
CREATE TYPE log.answer AS (unit integer, stream text, command_id text, fingerprint text, body text);

-- Appends units, each whole or not at all, and gives the numbers of those in conflict. `p_links` and `p_answers` are
-- arrays of objects with the fields of log.link and log.answer; texts that were hashed travel as JSON strings, so that
-- they arrive byte for byte.
--
-- The settings: a generic plan made while the tables are empty would scan them for ever after.
CREATE FUNCTION log.append(p_links json, p_answers json) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
  zero     CONSTANT bytea := decode(repeat('00', 32), 'hex');
  links    log.link[];
  answers  log.answer[];
  names    text[];
  fresh    boolean;
  records  bigint;
  streams  text[];
  versions integer[];
  hashes   bytea[];
  refused  integer[];
  base     bigint;
BEGIN
  SELECT array_agg(l), array_agg(l.stream), bool_or(l.version < 2), count(l.type)
  INTO links, names, fresh, records FROM json_populate_recordset(NULL::log.link, p_links) AS l;
  SELECT array_agg(a) INTO answers FROM json_populate_recordset(NULL::log.answer, p_answers) AS a;

  IF fresh THEN
    -- A row to lock, so that of two that make the same stream one waits for the other.
    INSERT INTO log.stream (stream, version, hash, created_at, updated_at)
    SELECT DISTINCT ON (l.stream) l.stream, 0, zero, coalesce(l.at, 'epoch'), coalesce(l.at, 'epoch')
    FROM unnest(links) AS l
    WHERE l.version = CASE WHEN l.type IS NULL THEN 0 ELSE 1 END
    ORDER BY l.stream, l.at NULLS LAST
    ON CONFLICT DO NOTHING;
  END IF;

  -- In one order everywhere, so that two batches never wait for each other.
  SELECT array_agg(s.stream), array_agg(s.version), array_agg(s.hash) INTO streams, versions, hashes
  FROM (
    SELECT k.stream, k.version, k.hash FROM log.stream AS k
    WHERE k.stream = ANY (names) ORDER BY k.stream FOR NO KEY UPDATE
  ) AS s;

  WITH RECURSIVE link AS MATERIALIZED (
    SELECT l.unit, l.stream, l.version, l.type, l.prev_hash, l.hash, l.nth FROM unnest(links) WITH ORDINALITY AS l (
      unit, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes,
      phase, round, seated, needed, over, due, nth
    )
  ), judged AS (
    SELECT
      l.unit,
      l.version - CASE WHEN l.type IS NULL THEN 0 ELSE 1 END
        IS DISTINCT FROM coalesce(lag(l.version) OVER w, s.version)
      OR l.prev_hash IS DISTINCT FROM coalesce(lag(l.hash) OVER w, s.hash) AS broken
    FROM link AS l LEFT JOIN unnest(streams, versions, hashes) AS s (stream, version, hash) USING (stream)
    WINDOW w AS (PARTITION BY l.stream ORDER BY l.nth)
  ), remembered AS (
    SELECT
      a.unit,
      k.there IS NOT NULL OR row_number() OVER (PARTITION BY a.stream, a.command_id ORDER BY a.unit) > 1 AS twice
    FROM unnest(answers) AS a
    LEFT JOIN LATERAL (
      SELECT true AS there FROM log.outcome AS o WHERE o.stream = a.stream AND o.command_id = a.command_id LIMIT 1
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

  IF refused <> '{}' THEN
    SELECT array_agg(l) FILTER (WHERE l.unit <> ALL (refused)), count(l.type) FILTER (WHERE l.unit <> ALL (refused))
    INTO links, records FROM unnest(links) AS l;
    SELECT array_agg(a) INTO answers FROM unnest(answers) AS a WHERE a.unit <> ALL (refused);
  END IF;

  UPDATE log.stream AS s
  SET version = u.version, hash = u.hash, updated_at = u.at, phase = u.phase, round = u.round, seated = u.seated,
      needed = u.needed, over = u.over, due = u.due
  FROM (
    SELECT DISTINCT ON (l.stream) l.* FROM unnest(links) AS l WHERE l.type IS NOT NULL ORDER BY l.stream, l.version DESC
  ) AS u
  WHERE s.stream = u.stream AND s.stream = ANY (names);

  INSERT INTO log.outcome (stream, command_id, fingerprint, body)
  SELECT a.stream, a.command_id, a.fingerprint, convert_to(a.body, 'UTF8') FROM unnest(answers) AS a;

  IF fresh THEN
    DELETE FROM log.stream AS s WHERE s.stream = ANY (names) AND s.version = 0;
  END IF;

  IF records > 0 THEN
    UPDATE log.head AS h SET position = h.position + records RETURNING h.position - records INTO STRICT base;
    INSERT INTO log.event (
      position, stream, version, type, schema_version, data, metadata, at, salt, prev_hash, hash, public, lobby, closes
    )
    SELECT
      base + row_number() OVER (), l.stream, l.version, l.type, l.schema_version, l.data::json, l.metadata::json, l.at,
      l.salt, l.prev_hash, l.hash, convert_to(l.public, 'UTF8'), convert_to(l.lobby, 'UTF8'), l.closes
    FROM unnest(links) AS l WHERE l.type IS NOT NULL;
  END IF;
  RETURN refused;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA log FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA log FROM PUBLIC;
GRANT USAGE ON SCHEMA log TO playmolt_engine, playmolt_relay, playmolt_reader;
GRANT EXECUTE ON FUNCTION log.append TO playmolt_engine;
GRANT SELECT ON log.head, log.stream, log.event, log.outcome TO playmolt_engine, playmolt_reader;
GRANT SELECT ON log.head, log.stream, log.event TO playmolt_relay;
