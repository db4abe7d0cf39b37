SET LOCAL ROLE playmolt_owner;

-- Calls of models: those under way (`until` lies ahead) and those of the last minute. Unlogged: a crash of the server
-- forgets them, and the model's own server then says 429.
CREATE UNLOGGED TABLE limits.model_call (
  id     uuid             PRIMARY KEY,
  alias  text COLLATE "C" NOT NULL,
  at     timestamptz      NOT NULL,
  until  timestamptz      NOT NULL,
  tokens bigint           NOT NULL
);
CREATE INDEX model_call_alias ON limits.model_call (alias, at);

-- Admits a call that is expected to take `cost` tokens and gives 0, or gives the seconds after which to ask again. Of a
-- null limit there is no end. The lock makes the counts of one alias true: two callers would else see the same last room.
CREATE FUNCTION limits.admit(
  p_id uuid, p_alias text, p_window double precision, p_lease double precision,
  p_concurrent integer, p_requests integer, p_tokens bigint, p_cost bigint
) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
  span    CONSTANT interval := make_interval(secs => p_window);
  cost    CONSTANT bigint   := least(p_cost, coalesce(p_tokens, p_cost));
  present timestamptz;
  free_at timestamptz;
  used    bigint;
  room_at timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('limits.model_call ' || p_alias, 0));
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

  IF free_at IS NOT NULL THEN
    RETURN greatest(0.001, extract(epoch FROM free_at - present));
  END IF;
  INSERT INTO limits.model_call (id, alias, at, until, tokens)
  VALUES (p_id, p_alias, present, present + make_interval(secs => p_lease), cost);
  RETURN 0;
END $$;

-- Holds a slot for another lease; false when it was lost already.
CREATE FUNCTION limits.hold(p_id uuid, p_lease double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE limits.model_call AS c SET until = clock_timestamp() + make_interval(secs => p_lease)
  WHERE c.id = p_id AND c.until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Gives a slot back; `tokens` is what the call took, null when nobody knows.
CREATE FUNCTION limits.give_back(p_id uuid, p_tokens bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE limits.model_call AS c SET until = least(c.until, clock_timestamp()), tokens = coalesce(p_tokens, c.tokens)
  WHERE c.id = p_id
$$;

REVOKE ALL ON limits.model_call FROM PUBLIC;
REVOKE ALL ON FUNCTION limits.admit, limits.hold, limits.give_back FROM PUBLIC;
GRANT USAGE ON SCHEMA limits TO playmolt_engine;
GRANT EXECUTE ON FUNCTION limits.admit, limits.hold, limits.give_back TO playmolt_engine;
