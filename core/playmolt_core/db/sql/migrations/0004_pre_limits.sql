CREATE SCHEMA limits AUTHORIZATION playmolt_owner;
SET LOCAL ROLE playmolt_owner;

-- A bucket is the moment at which it is full again: one number tells level and age. Unlogged: a crash of the server
-- fills all buckets, which costs less than a flush for every request.
CREATE UNLOGGED TABLE limits.bucket (
  key     text COLLATE "C" PRIMARY KEY,
  full_at timestamptz      NOT NULL
) WITH (fillfactor = 70);

-- Takes `cost` tokens from a bucket that holds `capacity` and fills within `seconds`. Gives 0 when they were there,
-- else the seconds until they will be.
CREATE FUNCTION limits.take(p_key text, p_capacity double precision, p_seconds double precision, p_cost double precision)
RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
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
  -- The bucket may have been swept meanwhile: then it is full, and the caller may come back at once.
  RETURN greatest(0.001, extract(epoch FROM coalesce(filled, present) + price - present - depth));
END $$;

-- Forgets the full buckets, which are like buckets never used; gives how many.
CREATE FUNCTION limits.sweep() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (DELETE FROM limits.bucket WHERE full_at < clock_timestamp() RETURNING 1) SELECT count(*) FROM gone
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA limits FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA limits FROM PUBLIC;
GRANT USAGE ON SCHEMA limits TO playmolt_gateway, playmolt_relay;
GRANT EXECUTE ON FUNCTION limits.take TO playmolt_gateway;
GRANT EXECUTE ON FUNCTION limits.sweep TO playmolt_relay;
