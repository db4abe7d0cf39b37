-- Keys of sessions: each record of a session is sealed under its session's key, which lies here wrapped.
DO $$
BEGIN
  IF to_regrole('playmolt_vault') IS NULL THEN
    CREATE ROLE playmolt_vault NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;
END $$;

CREATE SCHEMA vault AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- A row a session. `owner` is the agent's id: no record of a session names it. `wrapped` is the session's key under AES
-- key wrap by the key-encryption key `kek`, which lies in a file and never here. An erased session has none.
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
CREATE INDEX key_kek ON vault.key (kek, stream) WHERE wrapped IS NOT NULL;

-- Refuses streams that are no sessions, and sessions of types that the login has no role of.
CREATE FUNCTION vault.check_types(p_streams text[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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

-- Keeps the keys of sessions that are being opened, and gives the streams whose row is new. Rows are made in the order of
-- names, so that two who make several never wait for each other in a circle.
CREATE FUNCTION vault.make(p_streams text[], p_owners text[], p_keks text[], p_wrapped bytea[]) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(p_streams);
  RETURN QUERY
  INSERT INTO vault.key AS k (stream, owner, kek, wrapped)
  SELECT n.stream, n.owner, n.kek, n.wrapped
  FROM unnest(p_streams, p_owners, p_keks, p_wrapped) AS n (stream, owner, kek, wrapped) ORDER BY n.stream
  ON CONFLICT DO NOTHING
  RETURNING k.stream;
END $$;

CREATE FUNCTION vault.read(p_streams text[]) RETURNS SETOF vault.key
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(p_streams);
  RETURN QUERY SELECT * FROM vault.key AS k WHERE k.stream = ANY (p_streams);
END $$;

-- The sessions of an owner, of the login's own types.
CREATE FUNCTION vault.owned(p_owner text) RETURNS TABLE (stream text, created_at timestamptz, erased_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.stream, k.created_at, k.erased_at FROM vault.key AS k
  WHERE k.owner = p_owner
    AND log.type_of(k.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(k.stream)]))
$$;

-- Empties the row of a session and says when that was; null where there is none. Said again, it says the same.
CREATE FUNCTION vault.erase(p_stream text) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  emptied timestamptz;
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  UPDATE vault.key AS k SET wrapped = NULL, erased_at = clock_timestamp()
  WHERE k.stream = p_stream AND k.wrapped IS NOT NULL;
  SELECT k.erased_at INTO emptied FROM vault.key AS k WHERE k.stream = p_stream;
  RETURN emptied;
END $$;

-- Rows of the login's own types that lie under another key than this one; at most p_limit.
CREATE FUNCTION vault.outdated(p_kek text, p_limit integer) RETURNS SETOF vault.key
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.* FROM vault.key AS k
  WHERE k.wrapped IS NOT NULL AND k.kek <> p_kek
    AND log.type_of(k.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(k.stream)]))
  LIMIT p_limit
$$;

-- Puts a key that was read as `p_before` under another; false where it was wrapped anew or erased meanwhile.
CREATE FUNCTION vault.rewrap(p_stream text, p_before bytea, p_kek text, p_wrapped bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM vault.check_types(ARRAY[p_stream]);
  UPDATE vault.key AS k SET kek = p_kek, wrapped = p_wrapped WHERE k.stream = p_stream AND k.wrapped = p_before;
  RETURN FOUND;
END $$;

-- Whether new sessions are sealed: not before every engine reads what is.
CREATE FUNCTION vault.seals() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT false';

-- How many sessions of all types need each key-encryption key.
CREATE FUNCTION vault.needed() RETURNS TABLE (kek text, sessions bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.kek, count(*) FROM vault.key AS k WHERE k.wrapped IS NOT NULL GROUP BY k.kek
$$;

REVOKE ALL ON vault.key FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA vault FROM PUBLIC;
GRANT USAGE ON SCHEMA vault TO playmolt_vault;
GRANT EXECUTE ON FUNCTION
  vault.make, vault.read, vault.owned, vault.erase, vault.outdated, vault.rewrap, vault.seals, vault.needed
TO playmolt_vault;

-- Whose a sealed session is stands in the vault alone; of those stored in clear, in their first record.
CREATE OR REPLACE FUNCTION log.opened_by(p_actor text) RETURNS SETOF text ROWS 20
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o.stream FROM (
    SELECT e.stream FROM log.event AS e WHERE e.version = 1 AND (e.metadata ->> 'actor') COLLATE "C" = p_actor
    UNION ALL
    SELECT k.stream FROM vault.key AS k WHERE k.owner = p_actor
  ) AS o
  WHERE log.type_of(o.stream) = ANY (coalesce((SELECT log.own_types()), ARRAY[log.type_of(o.stream)]))
$$;

CREATE OR REPLACE FUNCTION limits.open_session(
  p_owner text, p_game text, p_session text, p_most integer, p_days integer
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  running bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.opening ' || p_game || ' ' || p_owner, 0));
  IF EXISTS (SELECT FROM log.stream AS s WHERE s.stream = p_session)
    OR EXISTS (SELECT FROM limits.opening AS o WHERE o.session = p_session)
  THEN
    RETURN true;
  END IF;
  DELETE FROM limits.opening AS o WHERE o.owner = p_owner AND o.game = p_game
    AND (o.at < present - interval '1 minute' OR EXISTS (SELECT FROM log.stream AS s WHERE s.stream = o.session));
  SELECT count(*) INTO running FROM log.stream AS s
  WHERE s.game = p_game AND NOT s.over AND s.updated_at > present - make_interval(days => p_days) AND s.stream IN (
      SELECT e.stream FROM log.event AS e WHERE e.version = 1 AND (e.metadata ->> 'actor') COLLATE "C" = p_owner
      UNION ALL
      SELECT k.stream FROM vault.key AS k WHERE k.owner = p_owner
    );
  IF running + (SELECT count(*) FROM limits.opening AS o WHERE o.owner = p_owner AND o.game = p_game) >= p_most THEN
    RETURN false;
  END IF;
  INSERT INTO limits.opening (session, owner, game, at) VALUES (p_session, p_owner, p_game, present);
  RETURN true;
END $$;

-- Texts of a session are sealed, lie under a hash that only its key makes, and go with it.
ALTER TABLE blob.text ADD COLUMN stream text COLLATE "C";
