SET LOCAL ROLE playmolt_owner;

-- Takes a wish and gives its attempt number; null while anybody holds it.
--
-- New here: a holder may be named <place>/<life>, and of a place there is never more than one process at a time. What a
-- former life of the same place holds is free at once: it is dead, and nobody need wait for the end of its lease.
CREATE OR REPLACE FUNCTION lease.take(p_id text, p_holder text, p_seconds double precision) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place CONSTANT text := substring(p_holder FROM '^[^/]*/');
  taken integer;
BEGIN
  INSERT INTO lease.wish AS w (id, holder, attempt, until)
  VALUES (p_id, p_holder, 1, clock_timestamp() + make_interval(secs => p_seconds))
  ON CONFLICT (id) DO UPDATE SET
    holder = excluded.holder, attempt = w.attempt + 1, until = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE w.until <= clock_timestamp() OR (w.holder <> p_holder AND starts_with(w.holder, place))
  RETURNING w.attempt INTO taken;
  RETURN taken;
END $$;
