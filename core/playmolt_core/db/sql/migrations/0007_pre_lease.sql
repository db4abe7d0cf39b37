CREATE SCHEMA lease AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- A wish that somebody holds, or held and was lost with. `attempt` counts the holders; (holder, attempt) is the fence
-- that keeps a holder who was away too long from extending what another one took since.
CREATE TABLE lease.wish (
  id      text COLLATE "C" PRIMARY KEY,
  holder  text             NOT NULL,
  attempt integer          NOT NULL,
  until   timestamptz      NOT NULL
);

-- Takes a wish and gives its attempt number; null while anybody holds it.
CREATE FUNCTION lease.take(p_id text, p_holder text, p_seconds double precision) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  taken integer;
BEGIN
  INSERT INTO lease.wish AS w (id, holder, attempt, until)
  VALUES (p_id, p_holder, 1, clock_timestamp() + make_interval(secs => p_seconds))
  ON CONFLICT (id) DO UPDATE SET
    holder = excluded.holder, attempt = w.attempt + 1, until = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE w.until <= clock_timestamp()
  RETURNING w.attempt INTO taken;
  RETURN taken;
END $$;

-- Holds a wish for so many seconds from now; false when the lease has ended.
CREATE FUNCTION lease.extend(p_id text, p_holder text, p_attempt integer, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE lease.wish AS w SET until = clock_timestamp() + make_interval(secs => p_seconds)
  WHERE w.id = p_id AND w.holder = p_holder AND w.attempt = p_attempt AND w.until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Gives a wish back: forgotten when it is done, free for the next attempt when it was lost; false when it is another's.
CREATE FUNCTION lease.release(p_id text, p_holder text, p_attempt integer, p_lost boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_lost THEN
    UPDATE lease.wish AS w SET until = least(w.until, clock_timestamp())
    WHERE w.id = p_id AND w.holder = p_holder AND w.attempt = p_attempt;
  ELSE
    DELETE FROM lease.wish AS w WHERE w.id = p_id AND w.holder = p_holder AND w.attempt = p_attempt;
  END IF;
  RETURN FOUND;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA lease FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lease FROM PUBLIC;
GRANT USAGE ON SCHEMA lease TO playmolt_engine;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA lease TO playmolt_engine;
