-- How many sessions an owner may have open.
SET LOCAL ROLE playmolt_owner;

-- A place for a session that is being opened: until it stands in the log, or its call is refused. Unlogged: a crash of
-- the server opens no sessions.
CREATE UNLOGGED TABLE limits.opening (
  session text COLLATE "C" PRIMARY KEY,
  owner   text COLLATE "C" NOT NULL,
  game    text COLLATE "C" NOT NULL,
  at      timestamptz      NOT NULL
);
CREATE INDEX opening_owner ON limits.opening (owner, game);

-- Keeps a place for a session, and says whether there was one: an owner may have p_most of a type that are not over and
-- in which something happened within p_days. Calls of one owner take turns, so that no two count the same place.
CREATE FUNCTION limits.open_session(p_owner text, p_game text, p_session text, p_most integer, p_days integer)
RETURNS boolean
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
  SELECT count(*) INTO running FROM log.event AS e JOIN log.stream AS s USING (stream)
  WHERE e.version = 1 AND e.metadata ->> 'actor' = p_owner AND s.game = p_game AND NOT s.over
    AND s.updated_at > present - make_interval(days => p_days);
  IF running + (SELECT count(*) FROM limits.opening AS o WHERE o.owner = p_owner AND o.game = p_game) >= p_most THEN
    RETURN false;
  END IF;
  INSERT INTO limits.opening (session, owner, game, at) VALUES (p_session, p_owner, p_game, present);
  RETURN true;
END $$;

CREATE FUNCTION limits.give_session_up(p_session text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM limits.opening AS o WHERE o.session = p_session
$$;

REVOKE ALL ON limits.opening FROM PUBLIC;
REVOKE ALL ON FUNCTION limits.open_session, limits.give_session_up FROM PUBLIC;
GRANT EXECUTE ON FUNCTION limits.open_session, limits.give_session_up TO playmolt_gateway;
