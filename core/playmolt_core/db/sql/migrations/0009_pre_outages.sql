-- When the engines of a game type could take no actions: a deadline that passed meanwhile is not the bots' fault.
SET LOCAL ROLE playmolt_owner;

-- When some engine of a type could last take actions, and the times between in which none could.
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

-- Says that actions of a type are taken now. What came before is an outage where the last word is older than p_silence
-- seconds; those that began before the longest deadline are forgotten.
CREATE FUNCTION lease.beat(p_game text, p_silence double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  last    timestamptz;
BEGIN
  IF p_game <> ALL (coalesce(log.own_types(), ARRAY[p_game])) THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login takes no actions of ' || p_game;
  END IF;
  INSERT INTO lease.heartbeat AS h (game, at) VALUES (p_game, present) ON CONFLICT DO NOTHING;
  SELECT h.at INTO last FROM lease.heartbeat AS h WHERE h.game = p_game FOR UPDATE;
  IF present - last > make_interval(secs => p_silence) THEN
    INSERT INTO lease.outage AS o (game, began, ended) VALUES (p_game, last, present);
    DELETE FROM lease.outage AS o WHERE o.game = p_game AND o.ended < present - interval '367 days';
  END IF;
  UPDATE lease.heartbeat AS h SET at = greatest(h.at, present) WHERE h.game = p_game;
END $$;

-- For how many seconds since p_since no actions of a type could be taken; null while none can.
CREATE FUNCTION lease.lost(p_game text, p_since timestamptz, p_silence double precision) RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((
    SELECT sum(extract(epoch FROM o.ended - greatest(o.began, p_since))) FROM lease.outage AS o
    WHERE o.game = p_game AND o.ended > p_since
  ), 0)::double precision
  FROM lease.heartbeat AS h
  WHERE h.game = p_game AND clock_timestamp() - h.at <= make_interval(secs => p_silence)
$$;

REVOKE ALL ON lease.heartbeat, lease.outage FROM PUBLIC;
REVOKE ALL ON FUNCTION lease.beat, lease.lost FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lease.beat, lease.lost TO playmolt_engine;
