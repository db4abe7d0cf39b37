-- Budgets of a day (UTC): sessions that a key opens, and what models take.
SET LOCAL ROLE playmolt_owner;

CREATE INDEX key_created ON vault.key (created_at);

-- The sessions of an owner, over or not.
CREATE FUNCTION limits.sessions_of(p_owner text) RETURNS SETOF log.stream
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.* FROM log.stream AS s WHERE s.stream IN (
    SELECT e.stream FROM log.event AS e WHERE e.version = 1 AND (e.metadata ->> 'actor') COLLATE "C" = p_owner
    UNION ALL
    SELECT k.stream FROM vault.key AS k WHERE k.owner = p_owner
  )
$$;

-- Keeps a place for a session and gives '', or what there is no place in: an owner may have p_most of a type that are not
-- over and in which something happened within p_days ('running'), and open p_day_most of all types in a day of UTC ('day';
-- 0: as many as it likes). Calls of one owner take turns, so that no two count the same place.
CREATE FUNCTION limits.open_session(
  p_owner text, p_game text, p_session text, p_most integer, p_days integer, p_day_most integer
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- What is spent of a day, in all and by the key that spent most. A day's accounts are named `day:YYYY-MM-DD`, those of a
-- key with the agent behind another colon.
CREATE FUNCTION limits.day_spent(p_day date)
RETURNS TABLE (tokens bigint, money numeric, key_tokens bigint, key_money numeric, key_sessions bigint) ROWS 1
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- Forgets the full buckets, which are like buckets never used, and what was spent on days that are over for a week; gives
-- how many buckets.
CREATE OR REPLACE FUNCTION limits.sweep() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM limits.budget WHERE account >= 'day:' AND account < 'day:' || (current_date - 7)::text;
  WITH gone AS (DELETE FROM limits.bucket WHERE full_at < clock_timestamp() RETURNING 1) SELECT count(*) FROM gone
$$;

REVOKE ALL ON FUNCTION
  limits.sessions_of, limits.open_session(text, text, text, integer, integer, integer), limits.day_spent
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION limits.open_session(text, text, text, integer, integer, integer) TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION limits.day_spent TO playmolt_relay;
